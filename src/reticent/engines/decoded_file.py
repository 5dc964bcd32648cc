"""Reports as people and other packages read them: in words, and for numbers as the ends of the range.

For each question a column of that name in words and, for a number, `<question>_low` and `<question>_high`: the report is the
set (low, high], closed at the lowest number of the domain. Where reports can be unions of several ranges both are lists, in
CSV joined by ";". They are null where a report is no such set: for a missing answer, and for "no range" and others that are
likelier for some numbers than for others, which need the channel to be read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
from numpy.typing import NDArray

from reticent.channel import Channel, Ranges
from reticent.channel.cuts import ListedCuts
from reticent.distributions.report_sets import report_sets
from reticent.domain import Numbers
from reticent.engines.arrow import ArrowEngine, is_parquet
from reticent.engines.report_file import ReportFile, files_of, keys_from_arrow
from reticent.engines.storage import check_output, replacing
from reticent.errors import FileFormatError, ParameterError
from reticent.keys import Keys, integers_from_keys

Ends = tuple[list[float], list[float]]


def decode_files(paths: Sequence[str | Path], columns: Sequence[str], out: str | Path) -> int:
    """Write the reports of files of one design in words and as intervals, public columns beside them; returns the rows.

    `columns` names the questions (none: all). Parquet, or by the name's ending CSV.
    Raises FileFormatError for files of different designs or a place that is an input, ParameterError for two columns of
    one name.
    """
    described = [ReportFile.open(path) for path in paths]
    asked = list(columns) or list(described[0].channels)
    channels = {name: described[0].channel(name) for name in asked}
    check_output(out, [one for path in paths for one in files_of(path)])
    for other in described[1:]:
        if other.public != described[0].public or any(other.channel(n).digest != channels[n].digest for n in asked):
            raise FileFormatError(
                f"{other.path} and {described[0].path} are of different designs; decode each by itself."
            )
    _check_names([*described[0].public, *(name for column in channels for name in _names(channels[column]))])
    rows, writer = 0, None
    with replacing(Path(out)) as part:
        for table in _tables(described, channels, is_parquet(out)):
            if writer is None:
                writer = _writer(part, table.schema, is_parquet(out))
            writer.write_table(table.cast(writer.schema) if is_parquet(out) else table)
            rows += table.num_rows
        if writer is not None:
            writer.close()
    return rows


def intervals(channel: Channel, keys: Keys) -> list[Ends | None]:
    """The ends of the set that each report is, low and high of its pieces ascending; None for what is no set.

    Raises ParameterError for a channel that is not of a number.

    >>> from reticent.mechanisms import ring
    >>> channel = ring(Numbers("age", 18, 90, step=1, edges=[30, 45, 60, 75]), 0.3)
    >>> found = [*filter(None, intervals(channel, channel.keys()))]
    >>> found[0], next(one for one in found if len(one[0]) == 2)
    (([18.0], [45.0]), ([18.0, 60.0], [30.0, 90.0]))
    """
    if not isinstance(channel.domain, Numbers):
        raise ParameterError(f'"{channel.domain.name}" has categories, so its reports are no intervals.')
    ends = _boundaries(channel.domain)
    return [
        None if runs is None else ([ends[first] for first, _ in runs], [ends[stop] for _, stop in runs])
        for runs in report_sets(channel, keys)
    ]


def _boundaries(domain: Numbers) -> list[float]:
    """The edges as people read them: with a step, the largest possible value below each."""
    half = 0.0 if domain.step is None else float(domain.step) / 2
    low, *inner, high = domain.boundaries.tolist()
    return [low, *(edge - half for edge in inner), high]


def _of_one_piece(channel: Channel) -> bool:
    """Whether every report is one range."""
    joined = isinstance(channel, Ranges) and isinstance(channel.cuts, ListedCuts) and channel.cuts.ring
    return isinstance(channel, Ranges) and channel.acceptable is None and not joined


def _names(channel: Channel) -> list[str]:
    name = channel.domain.name
    return [name, f"{name}_low", f"{name}_high"] if isinstance(channel.domain, Numbers) else [name]


def _check_names(names: list[str]) -> None:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ParameterError(f"The output would hold the columns {twice} twice; give one of them another name first.")


def _tables(files: Sequence[ReportFile], channels: Mapping[str, Channel], lists: bool) -> Iterator[pa.Table]:
    for file in files:
        wanted = [*file.public, *channels]
        for batch in ArrowEngine(file.path).batches(wanted):
            columns: dict[str, Any] = {name: batch[name] for name in file.public}
            for name, channel in channels.items():
                columns |= _columns(channel, *keys_from_arrow(channel, batch[name], file.path), lists)
            yield pa.table(columns)


def _columns(channel: Channel, keys: Keys, valid: NDArray[np.bool_], lists: bool) -> dict[str, Any]:
    """The reports on one question in words and as ends, null where the answer was missing."""
    different, place = np.unique(keys[valid], axis=0, return_inverse=True)
    take = np.full(len(valid), len(different))
    take[valid] = place.reshape(-1)
    words = [channel.describe(key) for key in integers_from_keys(different)]
    columns = [pa.array([*words, None], pa.string())]
    if isinstance(channel.domain, Numbers):
        found = [*intervals(channel, different), None]
        columns += [_ends([None if one is None else one[side] for one in found], channel, lists) for side in (0, 1)]
    return {name: column.take(pa.array(take)) for name, column in zip(_names(channel), columns, strict=True)}


def _ends(values: list[list[float] | None], channel: Channel, lists: bool) -> Any:
    if _of_one_piece(channel):
        return pa.array([None if one is None else one[0] for one in values], pa.float64())
    if lists:
        return pa.array(values, pa.list_(pa.float64()))
    return pa.array([None if one is None else ";".join(f"{end:.15g}" for end in one) for one in values], pa.string())


def _writer(path: Path, schema: Any, parquet: bool) -> Any:
    return pq.ParquetWriter(path, schema, compression="zstd") if parquet else pa_csv.CSVWriter(path, schema)
