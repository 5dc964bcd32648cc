"""Counting rows of keys: unsigned integers or fixed-size bytes, for every combination of the other columns.

Blocks of keys are counted by `bulk.count_keys`, about a nanosecond per key; the other columns become labels, one small
number for each of their combinations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from reticent.bulk import count_keys
from reticent.engines.column_types import plain_type, python_values, settled
from reticent.engines.groups import PARTIAL_GROUPS, Groups, compact
from reticent.keys import Keys, join_keys, split_keys

COUNTER_BYTES = 2**27
"""What the counters of all labels may take together; the keys of further labels are sorted."""


class KeyCounter:
    """Counts of the rows of record batches, added batch by batch.

    `columns` and their Arrow `types`: at least one is a key (see `is_key`). Missing keys are part of the label.
    """

    def __init__(self, columns: Sequence[str], types: Sequence[Any]) -> None:
        self._columns, self._types = list(columns), [plain_type(kind) for kind in types]
        self._keys = [i for i, kind in enumerate(self._types) if is_key(kind)]
        self._others = [i for i in range(len(self._columns)) if i not in self._keys]
        self._bits = [self._types[i].bit_width for i in self._keys]
        self._labels: dict[tuple[Any, ...], int] = {}
        self._counts: list[_Counts] = []
        self._held, self._limit, self._counter_bytes = 0, PARTIAL_GROUPS, 0

    def add(self, batch: Mapping[str, Any]) -> None:
        """Count the rows of one record batch."""
        columns = [batch[self._columns[i]] for i in self._keys]
        if not len(columns[0]):
            return
        parts = [key_values(column) for column in columns]
        keys = parts[0] if len(parts) == 1 else join_keys(parts, self._bits)
        labels, place = self._label_rows(batch, columns)
        bits = sum(self._bits)
        if place is None:
            self._add(labels[0], *count_keys(keys))
        elif bits + len(self._counts).bit_length() < 63:
            small = bits + len(self._counts).bit_length() < 31
            shifted = np.array(labels, dtype=np.int32 if small else np.int64) << bits
            composed = shifted[place]
            composed |= keys.astype(composed.dtype)
            composed, counts = count_keys(composed)
            own = (composed & ((1 << bits) - 1)).astype(keys.dtype)
            for rows in _runs(composed >> bits):
                self._add(int(composed[rows.start]) >> bits, own[rows], counts[rows])
        else:
            of_rows = np.array(labels, dtype=np.int64)[place]
            order = np.argsort(of_rows, kind="stable")
            for rows in _runs(of_rows[order]):
                self._add(int(of_rows[order[rows.start]]), *count_keys(keys[order[rows]]))

    def _add(self, label: int, keys: Keys, counts: NDArray[np.int64]) -> None:
        """Count more keys of a label; each stands once among `keys`."""
        one = self._counts[label]
        size = 8 * 2 ** (8 * keys.itemsize) if keys.ndim == 1 else COUNTER_BYTES + 1
        if not one.any() and self._counter_bytes + size <= COUNTER_BYTES:
            one.count_all(keys.dtype)
            self._counter_bytes += size
        self._held += one.add(keys, counts)
        if self._held > self._limit:
            self._held = sum(other.merge() for other in self._counts)
            self._limit = max(PARTIAL_GROUPS, 2 * self._held)

    def _label_rows(self, batch: Mapping[str, Any], keys: Sequence[Any]) -> tuple[list[int], NDArray[Any] | None]:
        """Labels, and the place of each row's label among them; no places when all rows have the first."""
        seen: list[tuple[Any, ...]] = [()]
        place: NDArray[Any] | None = None
        for codes, values in [*(_coded(batch[self._columns[i]]) for i in self._others), *map(_coded_nulls, keys)]:
            if codes is None:
                seen = [(*label, values[0]) for label in seen]
            elif place is None:
                seen, place = [(*label, value) for label in seen for value in values], codes
            else:
                combined = place.astype(np.int64) * len(values) + codes
                different, place = compact(combined, len(seen) * len(values))
                seen = [(*seen[code // len(values)], values[code % len(values)]) for code in different.tolist()]
        return [self._label(label) for label in seen], place

    def _label(self, label: tuple[Any, ...]) -> int:
        if label not in self._labels:
            self._labels[label] = len(self._counts)
            self._counts.append(_Counts())
        return self._labels[label]

    def groups(self) -> Groups:
        """Everything counted so far."""
        held = [(label, self._counts[i].merged()) for label, i in self._labels.items() if self._counts[i].any()]
        if not held:
            empty = tuple(pa.array([], kind) for kind in self._types)
            return Groups(empty, np.zeros(0, dtype=np.int64))
        sizes = [len(counts) for _, (_, counts) in held]
        keys = np.concatenate([keys for _, (keys, _) in held])
        parts = [keys] if len(self._bits) == 1 else split_keys(keys, self._bits)
        values: list[Any] = [None] * len(self._columns)
        for place, i in enumerate(self._others):
            values[i] = pa.array([label[place] for label, _ in held], self._types[i]).take(_repeat(sizes))
        for place, (i, part) in enumerate(zip(self._keys, parts, strict=True), len(self._others)):
            absent = np.array([label[place] for label, _ in held], dtype=np.bool_)
            values[i] = key_array(part, np.repeat(absent, sizes), self._types[i])
        return Groups(tuple(values), np.concatenate([counts for _, (_, counts) in held]))


class _Counts:
    """Counts by key: a counter for each possible key, or sorted parts that are merged as they grow."""

    def __init__(self) -> None:
        self._counters: NDArray[np.int64] | None = None
        self._kind: np.dtype[Any] | None = None
        self._parts: list[tuple[Keys, NDArray[np.int64]]] = []

    def any(self) -> bool:
        """Whether anything was counted."""
        return self._counters is not None or bool(self._parts)

    def count_all(self, kind: np.dtype[Any]) -> None:
        """From now on, a counter for each key of this type."""
        self._counters, self._kind = np.zeros(2 ** (8 * kind.itemsize), dtype=np.int64), kind

    def add(self, keys: Keys, counts: NDArray[np.int64]) -> int:
        """Count more keys; how many entries that takes."""
        if self._counters is not None:
            self._counters[keys] += counts
            return 0
        self._parts.append((keys, counts))
        return len(keys)

    def merge(self) -> int:
        """Make one part of all parts; how many entries remain."""
        if self._counters is not None or not self._parts:
            return 0
        self._parts = [self.merged()]
        return len(self._parts[0][0])

    def merged(self) -> tuple[Keys, NDArray[np.int64]]:
        """The keys that came, ascending, and their counts."""
        if self._counters is not None:
            seen = np.flatnonzero(self._counters)
            return seen.astype(self._kind), self._counters[seen]
        if len(self._parts) == 1:
            return self._parts[0]
        keys, counts = (np.concatenate(column) for column in zip(*self._parts, strict=True))
        return count_keys(keys, counts)


def is_key(kind: Any) -> bool:
    """Whether a column of this Arrow type can hold keys: unsigned integers, or more than 64 bits as fixed-size bytes."""
    return bool(pa.types.is_unsigned_integer(kind) or (pa.types.is_fixed_size_binary(kind) and kind.byte_width > 8))


def key_values(column: Any) -> Keys:
    """The keys of an Arrow column, 0 where missing: unsigned integers, or rows of bytes."""
    if not pa.types.is_fixed_size_binary(column.type):
        filled = pc.fill_null(column, 0) if column.null_count else column
        return np.asarray(filled.to_numpy(zero_copy_only=False))
    width = column.type.byte_width
    data = column.buffers()[1]
    rows = np.frombuffer(data, dtype=np.uint8, count=len(column) * width, offset=column.offset * width)
    rows = rows.reshape(len(column), width)
    if column.null_count:
        rows = np.where(column.is_null().to_numpy(zero_copy_only=False)[:, None], np.uint8(0), rows)
    return rows


def key_array(keys: Keys, missing: NDArray[np.bool_], kind: Any) -> Any:
    """Keys as an Arrow column, null where missing."""
    if keys.ndim == 1:
        return pa.array(keys, mask=missing if missing.any() else None).cast(kind)
    validity = pa.py_buffer(np.packbits(~missing, bitorder="little").tobytes()) if missing.any() else None
    return pa.FixedSizeBinaryArray.from_buffers(kind, len(keys), [validity, pa.py_buffer(keys.tobytes())])


def _coded(column: Any) -> tuple[NDArray[Any] | None, list[Any]]:
    """Positions of a column's values in the list of them, which ends with None for missing."""
    encoded = settled(column) if pa.types.is_dictionary(column.type) else settled(column).dictionary_encode()
    values = python_values(encoded.dictionary)
    codes = pc.fill_null(encoded.indices, len(values)) if encoded.indices.null_count else encoded.indices
    return codes.to_numpy(zero_copy_only=False), [*values, None]


def _coded_nulls(column: Any) -> tuple[NDArray[Any] | None, list[Any]]:
    """Whether each key is missing; no codes when none is."""
    if not column.null_count:
        return None, [False]
    return column.is_null().to_numpy(zero_copy_only=False).astype(np.int8), [False, True]


def _runs(values: NDArray[Any]) -> list[slice]:
    """Where runs of equal neighbours stand."""
    starts = [0, *(np.flatnonzero(values[1:] != values[:-1]) + 1).tolist(), len(values)]
    return [slice(first, last) for first, last in pairwise(starts)]


def _repeat(sizes: Sequence[int]) -> Any:
    return pa.array(np.repeat(np.arange(len(sizes)), sizes))
