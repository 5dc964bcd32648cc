"""The engine for columns that are already in memory: lists, NumPy arrays, pandas, polars or Arrow columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from reticent.errors import FileFormatError

BATCH_ROWS = 2**17


class MemoryEngine:
    """Columns by name, all of one length: a mapping, or a pandas, polars or Arrow table.

    Raises FileFormatError when the columns differ in length or one is asked for that is not there.

    >>> engine = MemoryEngine({"region": ["north", "south", "north"]})
    >>> engine.count(["region"])
    Counter({('north',): 2, ('south',): 1})
    """

    def __init__(self, table: Any, batch_rows: int = BATCH_ROWS) -> None:
        self._table = {str(name): _to_list(table[name]) for name in _names(table)}
        self._batch_rows = batch_rows
        lengths = {name: len(values) for name, values in self._table.items()}
        if len(set(lengths.values())) > 1:
            raise FileFormatError(f"The columns differ in length: {lengths}.", lengths=lengths)
        self._n_rows = next(iter(lengths.values()), 0)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self._table)

    def batches(self, columns: Sequence[str]) -> Iterator[Mapping[str, Any]]:
        """The rows in order, a batch at a time, restricted to some columns."""
        for name in columns:
            if name not in self._table:
                raise FileFormatError(f'There is no column "{name}"; the columns are {list(self._table)}.')
        for start in range(0, self._n_rows, self._batch_rows):
            yield {name: self._table[name][start : start + self._batch_rows] for name in columns}

    def count(self, columns: Sequence[str]) -> Counter[tuple[Any, ...]]:
        """How often each combination of values of these columns occurs."""
        total: Counter[tuple[Any, ...]] = Counter()
        for batch in self.batches(columns):
            total.update(zip(*(batch[name] for name in columns), strict=True))
        return total


def _names(table: Any) -> list[Any]:
    if hasattr(table, "keys"):  # mappings, pandas
        return list(table.keys())
    return list(getattr(table, "column_names", None) or table.columns)  # Arrow; polars


def _to_list(values: Any) -> list[Any]:
    for method in ("to_pylist", "to_list", "tolist"):  # Arrow; pandas and polars; NumPy
        if hasattr(values, method):
            return list(getattr(values, method)())
    return list(values)
