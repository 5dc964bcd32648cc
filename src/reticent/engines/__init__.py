"""Engines bring columns to the mathematics: they iterate record batches and count groups of equal rows.

Files of answers, reports and tallies are read and written here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from reticent.engines.arrow import ArrowEngine
from reticent.engines.duckdb import DuckDBEngine
from reticent.engines.files import load, save
from reticent.engines.groups import Groups
from reticent.engines.memory import MemoryEngine
from reticent.engines.report_file import ReportFile, privatize_file, read_reports, write_reports
from reticent.engines.storage import replacing
from reticent.engines.tally_file import read_tally, write_tally
from reticent.engines.tallying import tally_files

__all__ = [
    "ArrowEngine",
    "DuckDBEngine",
    "Engine",
    "Groups",
    "MemoryEngine",
    "ReportFile",
    "load",
    "privatize_file",
    "read_reports",
    "read_tally",
    "replacing",
    "save",
    "tally_files",
    "write_reports",
    "write_tally",
]


class Engine(Protocol):
    """Where the rows are."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""

    def batches(self, columns: Sequence[str]) -> Iterator[Mapping[str, Any]]:
        """The rows in order, a batch at a time, restricted to some columns."""

    def count(self, columns: Sequence[str], weight: str | None = None) -> Groups:
        """How often each combination of values of these columns occurs, and the sums of a column of weights."""
