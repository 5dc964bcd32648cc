"""Groups of equal rows: what every engine counts, as Arrow columns of the different values with their counts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from reticent.engines.column_types import as_numbers, plain, plain_type, public_texts, settled
from reticent.errors import FileFormatError, TallyError

PARTIAL_GROUPS = 2**20
"""Counts of single batches are merged when together they hold more groups than this."""


Group = tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Groups:
    """The different combinations of values of some columns, each once, in no particular order.

    `values` holds an Arrow array for each column; `counts` the number of rows of each combination; with weights,
    `weights` and `squares` the sums of the weights and of their squares.
    """

    values: tuple[Any, ...]
    counts: NDArray[np.int64]
    weights: NDArray[np.float64] | None = None
    squares: NDArray[np.float64] | None = None

    def __len__(self) -> int:
        return len(self.counts)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        """The combinations, as Python values."""
        return zip(*(column.to_pylist() for column in self.values), strict=True)

    @property
    def n(self) -> int:
        """How many rows were counted."""
        return int(self.counts.sum())

    def to_dict(self) -> dict[tuple[Any, ...], int]:
        """Counts by combination, as Python values."""
        return dict(zip(self, self.counts.tolist(), strict=True))


class WeightCheck:
    """Reads a column of weights and remembers how many cannot be used; they count as 0 until `refuse` is called."""

    def __init__(self, name: str) -> None:
        self.name, self.rows, self.missing, self.not_positive, self.not_finite = name, 0, 0, 0, 0

    def clean(self, column: Any) -> Any:
        """The weights as numbers, 0 where they cannot be used."""
        numbers = settled(as_numbers(column))
        finite, positive = pc.is_finite(numbers), pc.greater(numbers, 0)
        self.add(
            len(numbers),
            numbers.null_count,
            _count(pc.and_(finite, pc.invert(positive))),
            len(numbers) - numbers.null_count - _count(finite),
        )
        return pc.if_else(pc.fill_null(pc.and_(finite, positive), False), numbers, 0.0)

    def add(self, rows: int, missing: int, not_positive: int, not_finite: int) -> None:
        """Rows that were read, and how many of their weights are of no use."""
        self.rows += rows
        self.missing += missing
        self.not_positive += not_positive
        self.not_finite += not_finite

    def refuse(self) -> None:
        """Raises TallyError when a weight was missing, not positive or not finite."""
        if self.missing or self.not_positive or self.not_finite:
            raise TallyError(
                f'Of {self.rows:,} weights in "{self.name}", {self.missing:,} are missing or no number, '
                f"{self.not_positive:,} are zero or negative and {self.not_finite:,} are not finite. Weights are positive numbers; "
                "correct them, or leave those rows out.",
                missing=self.missing,
                not_positive=self.not_positive,
                not_finite=self.not_finite,
            )


def _count(flags: Any) -> int:
    return pc.sum(flags).as_py() or 0


def count_batches(
    batches: Iterable[Mapping[str, Any]], columns: Sequence[str], types: Sequence[Any], weight: str | None = None
) -> Groups:
    """Groups over record batches by Arrow's own grouping, a batch at a time; partial groups are merged as they grow."""
    check = WeightCheck(weight) if weight is not None else None
    merged = merge_groups((_group(batch, columns, check) for batch in batches), columns, types, weight is not None)
    if check is not None:
        check.refuse()
    return merged


def _group(batch: Mapping[str, Any], columns: Sequence[str], check: WeightCheck | None) -> pa.Table:
    keys = {f"c{i}": settled(batch[name]) for i, name in enumerate(columns)}
    if check is None:
        sums: dict[str, Any] = {}
    else:
        weights = check.clean(batch[check.name])
        sums = {"w": weights, "s": pc.multiply(weights, weights)}
    table = pa.table({**keys, **sums})
    try:
        grouped = table.group_by(list(keys), use_threads=False).aggregate(
            [([], "count_all"), *((name, "sum") for name in sums)]
        )
    except pa.ArrowNotImplementedError:
        raise FileFormatError(
            f"A column among {list(columns)} is of a nested type, whose values cannot be counted; leave it out."
        ) from None
    counted = {"n": grouped["count_all"].cast(pa.int64())} | {name: grouped[f"{name}_sum"] for name in sums}
    return pa.table({name: plain(grouped[name]) for name in keys} | counted)


def merge_groups(partial: Iterator[pa.Table], columns: Sequence[str], types: Sequence[Any], weighted: bool) -> Groups:
    """The groups of all parts together. The parts have columns c0, c1, …, n and, with weights, w and s."""
    keys, sums = [f"c{i}" for i in range(len(columns))], ["n", "w", "s"][: 3 if weighted else 1]
    held: list[pa.Table] = []
    limit = PARTIAL_GROUPS
    for table in partial:
        held.append(table)
        if sum(map(len, held)) > limit:
            held = [_merge(held, keys, sums)]
            limit = max(PARTIAL_GROUPS, 2 * len(held[0]))
    if not held:
        nothing = np.zeros(0)
        empty = tuple(pa.array([], plain_type(kind)) for kind in types)
        return Groups(empty, nothing.astype(np.int64), *((nothing, nothing) if weighted else ()))
    whole = _merge(held, keys, sums)
    values = tuple(whole[name].combine_chunks() for name in keys)
    return Groups(values, *(whole[name].to_numpy() for name in sums))


def _merge(tables: Sequence[pa.Table], keys: Sequence[str], sums: Sequence[str]) -> pa.Table:
    grouped = (
        pa.concat_tables(tables).group_by(list(keys), use_threads=False).aggregate([(name, "sum") for name in sums])
    )
    return pa.table({name: grouped[name] for name in keys} | {name: grouped[f"{name}_sum"] for name in sums})


def labelled(columns: Sequence[Any], n_rows: int) -> Iterator[tuple[Group, NDArray[np.intp]]]:
    """The combinations of the public columns, as text, in order, each with the rows that have it; "" is missing."""
    if columns and not n_rows:
        return
    labels: list[Group] = [()]
    place = np.zeros(n_rows, dtype=np.int64)
    for column in columns:
        values, indices = public_texts(column)
        texts = [value or "" for value in (*values, None)]
        different = sorted({*texts})
        places = {text: i for i, text in enumerate(different)}
        codes = np.array([places[text] for text in texts], dtype=np.int64)
        rows = indices.fill_null(len(texts) - 1).to_numpy(zero_copy_only=False)
        seen, place = compact(place * len(different) + codes[rows], len(labels) * len(different))
        labels = [(*labels[code // len(different)], different[code % len(different)]) for code in seen.tolist()]
    order = np.argsort(place, kind="stable")
    ends = np.searchsorted(place[order], np.arange(1, len(labels)))
    yield from zip(labels, np.split(order, ends), strict=True)


def compact(codes: NDArray[np.int64], bound: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The different codes, and the place of each row's code among them."""
    if bound > 2**20:
        seen, position = np.unique(codes, return_inverse=True)
        return seen, position
    present = np.zeros(bound, dtype=np.bool_)
    present[codes] = True
    return np.flatnonzero(present), (np.cumsum(present) - 1)[codes]
