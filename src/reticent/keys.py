"""Keys: the one integer under which a report travels and is stored.

An array of keys holds unsigned integers of the narrowest type, shape `(n,)`; above 64 bits, rows of little-endian
bytes, shape `(n, width)`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

Keys = NDArray[Any]


def key_dtype(bits: int) -> np.dtype[Any]:
    """The narrowest unsigned type for keys of so many bits; uint8, for rows of bytes, above 64."""
    return np.dtype(next((f"u{width}" for width in (1, 2, 4, 8) if bits <= 8 * width), "u1"))


def keys_from_integers(integers: Iterable[int], bits: int) -> Keys:
    """Python integers as an array of keys: unsigned integers, or rows of little-endian bytes above 64 bits."""
    values = list(integers)
    if bits <= 64:
        return np.array(values, dtype=key_dtype(bits))
    width = -(-bits // 8)
    buffer = b"".join(value.to_bytes(width, "little") for value in values)
    return np.frombuffer(buffer, dtype=np.uint8).reshape(len(values), width).copy()


def integers_from_keys(keys: Keys) -> list[int]:
    """The inverse of `keys_from_integers`."""
    if keys.ndim == 1:
        return [int(key) for key in keys.tolist()]
    return [int.from_bytes(row.tobytes(), "little") for row in keys]


def join_keys(parts: Sequence[Keys], bits: Sequence[int]) -> Keys:
    """One key from several of so many bits each, the first in the lowest bits.

    >>> join_keys([np.array([1, 0], dtype=np.uint8), np.array([2, 3], dtype=np.uint8)], [1, 2]).tolist()
    [5, 6]
    """
    total = sum(bits)
    if total <= 64:
        joined = np.zeros(len(parts[0]), dtype=np.uint64)
        for part, start in zip(parts, accumulate(bits, initial=0), strict=False):
            joined |= part.astype(np.uint64) << np.uint64(start)
        return joined.astype(key_dtype(total))
    columns = [_bits(part, width) for part, width in zip(parts, bits, strict=True)]
    return np.packbits(np.concatenate(columns, axis=1), axis=1, bitorder="little")


def split_keys(keys: Keys, bits: Sequence[int]) -> list[Keys]:
    """The inverse of `join_keys`."""
    starts = list(accumulate(bits, initial=0))
    if starts[-1] <= 64:
        wide = keys.astype(np.uint64)
        return [
            ((wide >> np.uint64(start)) & np.uint64(2**width - 1)).astype(key_dtype(width))
            for start, width in zip(starts, bits, strict=False)
        ]
    columns = _bits(keys, starts[-1])
    return [_packed(columns[:, start : start + width]) for start, width in zip(starts, bits, strict=False)]


def _bits(keys: Keys, width: int) -> NDArray[np.uint8]:
    if keys.ndim == 1:
        little = np.ascontiguousarray(keys).astype(keys.dtype.newbyteorder("<"), copy=False)
        keys = little.view(np.uint8).reshape(len(keys), keys.dtype.itemsize)
    return np.unpackbits(keys, axis=1, count=width, bitorder="little")


def _packed(bits: NDArray[np.uint8]) -> Keys:
    rows = np.packbits(bits, axis=1, bitorder="little")
    if bits.shape[1] > 64:
        return rows
    dtype = key_dtype(bits.shape[1])
    padded = np.zeros((len(rows), dtype.itemsize), dtype=np.uint8)
    padded[:, : rows.shape[1]] = rows
    return padded.view(dtype.newbyteorder("<"))[:, 0].astype(dtype, copy=False)
