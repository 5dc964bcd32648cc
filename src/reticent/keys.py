"""Keys: the one integer under which a report travels and is stored.

An array of keys holds unsigned integers of the narrowest type, shape `(n,)`; above 64 bits, rows of little-endian
bytes, shape `(n, width)`.
"""

from __future__ import annotations

from collections.abc import Iterable
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
