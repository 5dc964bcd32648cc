"""The engine for columns that are already in memory: lists, NumPy arrays, pandas, polars or Arrow columns."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from reticent.engines.groups import Groups, WeightCheck
from reticent.errors import FileFormatError

BATCH_ROWS = 2**17


class MemoryEngine:
    """Columns by name, all of one length: a mapping, or a pandas, polars or Arrow table.

    Raises FileFormatError when the columns differ in length or one is asked for that is not there.

    >>> engine = MemoryEngine({"region": ["north", "south", "north"]})
    >>> engine.count(["region"]).to_dict()
    {('north',): 2, ('south',): 1}
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

    def count(self, columns: Sequence[str], weight: str | None = None) -> Groups:
        """How often each combination of values of these columns occurs, and the sums of a column of weights.

        Raises TallyError when a weight is missing, not positive or not finite; FileFormatError for a column of mixed types.
        """
        total: Counter[tuple[Any, ...]] = Counter()
        weights: dict[tuple[Any, ...], float] = defaultdict(float)
        squares: dict[tuple[Any, ...], float] = defaultdict(float)
        check = WeightCheck(weight or "")
        for batch in self.batches([*columns, *([weight] if weight is not None else [])]):
            rows = list(zip(*([_settled(value) for value in batch[name]] for name in columns), strict=True))
            total.update(Counter(rows))
            if weight is not None:
                for row, w in zip(rows, check.clean(_arrow(weight, batch[weight])).to_pylist(), strict=True):
                    weights[row] += w
                    squares[row] += w * w
        check.refuse()
        values = tuple(_arrow(name, [row[i] for row in total]) for i, name in enumerate(columns))
        counts = np.array([*total.values()], dtype=np.int64)
        if weight is None:
            return Groups(values, counts)
        sums = (np.array([by[row] for row in total], dtype=np.float64) for by in (weights, squares))
        return Groups(values, counts, *sums)


def _names(table: Any) -> list[Any]:
    if hasattr(table, "keys"):  # mappings, pandas
        return list(table.keys())
    return list(getattr(table, "column_names", None) or table.columns)  # Arrow; polars


def _to_list(values: Any) -> list[Any]:
    for method in ("to_pylist", "to_list", "tolist"):  # Arrow; pandas and polars; NumPy
        if hasattr(values, method):
            return list(getattr(values, method)())
    return list(values)


def _settled(value: Any) -> Any:
    if value is None or value != value:
        return None
    return value + 0.0 if isinstance(value, float) else value  # one zero, not two


def _arrow(name: str, values: list[Any]) -> Any:
    for kind in (None, pa.uint64()):  # whole numbers above 2^63 are taken for signed ones unless told
        try:
            return pa.array(values, kind)
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
            continue
    raise FileFormatError(f'The column "{name}" mixes types of values; make it all text or all numbers.')
