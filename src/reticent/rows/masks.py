"""Rows that are sets of categories, one bit per category.

Source: Wang and Ding, Subset Privacy, arXiv 2107.02013 (a subset's row is its 0/1 vector, up to a factor).
"""

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reticent.errors import ParameterError
from reticent.rows.dense import DenseRows
from reticent.rows.structure import Columns, Floats, Rows

# Below this many rows one dense product is cheaper than looking masks up in tables.
DENSE_BELOW = 1000
CHUNK_BITS = 12


class MaskRows:
    """Rows that are sets of categories: L[i, j] = scale * (bit j of mask i) + offset[i].

    Category j is bit j. `masks` is a 1-d array of unsigned integers, or a uint8 array of shape
    (n_rows, ceil(n_categories/8)) with bit j of a set in byte j>>3, bit j&7. From DENSE_BELOW rows
    up, products go through tables indexed by 12 bits of the mask (mv, rmv) or by a pair of bytes (gram),
    about 17 bytes a row at 50 categories.

    >>> rows = MaskRows(np.array([0b0011, 0b0101], dtype=np.uint8), 4)
    >>> rows.mv(np.array([0.5, 0.25, 0.125, 0.125])).tolist()
    [0.75, 0.625]
    """

    def __init__(self, masks: NDArray[Any], n_categories: int, offset: ArrayLike = 0.0, scale: float = 1.0) -> None:
        masks = np.asarray(masks)
        bytewise = masks.ndim == 2 and masks.itemsize == 1
        if masks.dtype.kind not in "iu" or not (masks.ndim == 1 or bytewise):
            raise ParameterError(
                f"masks have type {masks.dtype} and {masks.ndim} dimensions; give unsigned integers, "
                "or a uint8 matrix with eight categories to a byte.",
                dtype=str(masks.dtype),
            )
        if masks.ndim == 1:
            little = np.ascontiguousarray(masks).astype(masks.dtype.newbyteorder("<"), copy=False)
            packed = little.view(np.uint8).reshape(len(masks), masks.itemsize)
        else:
            packed = masks.view(np.uint8)
        width = -(-n_categories // 8)
        if packed.shape[1] < width:
            raise ParameterError(
                f"masks hold {8 * packed.shape[1]} bits for {n_categories} categories; use a wider type.",
                bits=8 * packed.shape[1],
                n_categories=n_categories,
            )
        self._bytes = np.array(packed[:, :width].T, order="C")  # a copy: the masks are the caller's
        if n_categories % 8:
            self._bytes[-1] &= np.uint8(2 ** (n_categories % 8) - 1)
        self._n_categories = n_categories
        self.offset: Floats = np.asarray(offset, dtype=np.float64)
        self.scale = scale

    @property
    def n_rows(self) -> int:
        return int(self._bytes.shape[1])

    @property
    def n_categories(self) -> int:
        return self._n_categories

    @cached_property
    def _small(self) -> DenseRows | None:
        return DenseRows(self.dense()) if self.n_rows < DENSE_BELOW else None

    @cached_property
    def _chunks(self) -> list[NDArray[np.uint16]]:
        """Twelve bits of every mask at a time: one and a half bytes."""
        wide = np.vstack([self._bytes, np.zeros(self.n_rows, np.uint8)]).astype(np.uint16)
        chunks = []
        for start in range(0, self.n_categories, CHUNK_BITS):
            byte, half = divmod(start, 8)
            pair = wide[byte] | (wide[byte + 1] << np.uint16(8))
            chunks.append((pair >> np.uint16(half)) & np.uint16(2**CHUNK_BITS - 1))
        return chunks

    def _padded(self, w: Floats) -> Floats:
        """w as one row for each chunk, zeros beyond the last category; shape (n_chunks, CHUNK_BITS)."""
        padded = np.zeros((len(self._chunks), CHUNK_BITS))
        padded.flat[: self.n_categories] = w
        return padded

    def mv(self, w: Floats) -> Floats:
        if self._small is not None:
            return self._small.mv(w)
        tables = self._padded(w) @ CHUNK_TABLE.T
        total: Floats = tables[0].take(self._chunks[0])
        for table, chunk in zip(tables[1:], self._chunks[1:], strict=True):
            total += table.take(chunk)
        return self.scale * total + self.offset * float(w.sum())

    def rmv(self, v: Floats) -> Floats:
        if self._small is not None:
            return self._small.rmv(v)
        return self.scale * self._bit_sums(v) + float(np.sum(self.offset * v))

    def _bit_sums(self, v: Floats) -> Floats:
        sums = [np.bincount(chunk, v, CHUNK_TABLE.shape[0]) @ CHUNK_TABLE for chunk in self._chunks]
        return np.concatenate(sums)[: self.n_categories]

    def gram(self, d: Floats, columns: Columns) -> Floats:
        if self._small is not None:
            return self._small.gram(d, columns)
        both = self._bit_pairs(d, np.unique(columns >> 3))[np.ix_(columns, columns)]
        if not self.offset.any():
            return self.scale**2 * both
        once = self.scale * self._bit_sums(d * self.offset)[columns]
        return self.scale**2 * both + once[:, None] + once + float(np.sum(d * self.offset**2))

    def _bit_pairs(self, d: Floats, used: Columns) -> Floats:
        """Sum of d over the masks that hold both i and j, for categories in the bytes `used`."""
        pairs = np.zeros((8 * len(self._bytes),) * 2)
        for a in used:
            high = self._bytes[a].astype(np.uint16) << np.uint16(8)
            for b in used[used > a] if a != used[-1] else used[-1:]:
                # A histogram of two bytes also holds, as a margin, the pairs inside each of them.
                joint = np.bincount(high | self._bytes[b], d, 65536).reshape(256, 256)
                for i, j, table in (
                    (a, b, BYTE_TABLE.T @ joint @ BYTE_TABLE),
                    (a, a, (BYTE_TABLE.T * joint.sum(axis=1)) @ BYTE_TABLE),
                ):
                    pairs[8 * i : 8 * i + 8, 8 * j : 8 * j + 8] = table
                    pairs[8 * j : 8 * j + 8, 8 * i : 8 * i + 8] = table.T
        return pairs

    def dense(self) -> Floats:
        return self.scale * self._bits().astype(np.float64) + np.reshape(self.offset, (-1, 1))

    def _bits(self) -> NDArray[np.uint8]:
        return np.unpackbits(self._bytes.T, axis=1, count=self.n_categories, bitorder="little")

    def fix(self, j: int, t: float) -> Rows:
        if self._small is not None:
            return self._small.fix(j, t)
        bits = self._bits()
        kept = np.packbits(np.delete(bits, j, axis=1), axis=1, bitorder="little")
        held = self.offset + t * self.scale * bits[:, j]
        return MaskRows(kept, self.n_categories - 1, held, (1.0 - t) * self.scale)


def _bit_table(bits: int) -> Floats:
    """Every integer below 2**bits as its bits; shape (2**bits, bits)."""
    return (np.arange(2**bits)[:, None] >> np.arange(bits) & 1).astype(np.float64)


CHUNK_TABLE = _bit_table(CHUNK_BITS)
BYTE_TABLE = _bit_table(8)
