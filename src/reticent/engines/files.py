"""`save` and `load`: one pair of functions for the files of reports, tallies and designs."""

from __future__ import annotations

from pathlib import Path

from reticent.design import Design
from reticent.engines.arrow import ArrowEngine, is_parquet
from reticent.engines.report_file import read_reports, write_reports
from reticent.engines.storage import replacing
from reticent.engines.tally_file import read_tally, write_tally
from reticent.errors import FileFormatError
from reticent.reports import Reports
from reticent.tallies import GroupedTally, Tally


def save(value: Reports | Tally | GroupedTally | Design, path: str | Path) -> None:
    """Write reports, a tally or a design to a file; a file is replaced whole or not at all.

    Reports: Parquet, or CSV with a JSON sidecar if the name does not end in `.parquet`. Tallies: Parquet.
    Designs: JSON.
    """
    if isinstance(value, Design):
        with replacing(Path(path)) as part:
            value.save(part)
    elif isinstance(value, Reports):
        write_reports(value, path)
    elif isinstance(value, (Tally, GroupedTally)):
        if not is_parquet(path):
            raise FileFormatError(f"A tally is written as Parquet; give {path} the ending .parquet.")
        write_tally(value, path)
    else:
        raise FileFormatError(f"save takes reports, tallies and designs, not {type(value).__name__}.")


def load(path: str | Path) -> Reports | Tally | GroupedTally | Design:
    """Read what `save` wrote. Raises FileFormatError for a damaged or foreign file."""
    if str(path).endswith(".json"):
        return Design.load(path)
    if is_parquet(path) and (ArrowEngine(path).metadata or {}).get("kind") == "tally":
        return read_tally(path)
    return read_reports(path)
