"""Rows of a product of channels: each is the Kronecker product of one row per column.

With the table of cells as an array W of one axis per column, L w for the reports (a, b) is a row of A W Bᵀ. So a
product never needs its rows written out: the different rows of each column are enough.

Source: Wang and Ding, Subset Privacy, arXiv 2107.02013, product mechanism.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from math import prod

import numpy as np
from numpy.typing import NDArray

from reticent.errors import ParameterError
from reticent.rows.held import HeldRows
from reticent.rows.structure import Columns, Floats, Rows

GRID_LIMIT = 2**22
"""Up to this many combinations of different rows are worked out as one table."""
PAIR_LIMIT = 600
"""Up to this many cells the Gram matrix is made for all of them at once."""
BATCH_CELLS = 2**22


class KroneckerRows:
    """Row i is the Kronecker product of row index[k][i] of every part k; the last part moves fastest.

    >>> from reticent.rows.dense import DenseRows
    >>> one = DenseRows([[1.0, 0.0], [0.5, 0.5]])
    >>> KroneckerRows([one, one], [np.array([1]), np.array([0])]).dense().tolist()
    [[0.5, 0.0, 0.5, 0.0]]
    """

    def __init__(self, parts: Sequence[Rows], index: Sequence[NDArray[np.intp]]) -> None:
        if len(parts) != len(index) or len({len(positions) for positions in index}) != 1:
            raise ParameterError("Kronecker rows need one index per part, all of one length.")
        self.parts, self.index = tuple(parts), tuple(index)
        self._shape = tuple(part.n_categories for part in parts)
        self._different = tuple(part.n_rows for part in parts)

    @property
    def n_rows(self) -> int:
        return len(self.index[0])

    @property
    def n_categories(self) -> int:
        return prod(self._shape)

    @cached_property
    def _matrices(self) -> tuple[Floats, ...]:
        return tuple(part.dense() for part in self.parts)

    @cached_property
    def _grid(self) -> NDArray[np.intp] | None:
        """Where each row stands in the table of all combinations; None when that table is not worth making."""
        if prod(self._different) > min(GRID_LIMIT, 64 * self.n_rows):
            return None
        return np.ravel_multi_index(self.index, self._different)

    def mv(self, w: Floats) -> Floats:
        if self._grid is not None:
            return _contract(w.reshape(self._shape), self._matrices).take(self._grid)
        pieces = [_read(w.reshape(1, -1), rows) for _, rows in self._batches(self.n_categories)]
        return np.concatenate(pieces)

    def rmv(self, v: Floats) -> Floats:
        if self._grid is not None:
            summed = self._summed(self._grid, v)
            return np.asarray(_contract(summed, [matrix.T for matrix in self._matrices]).ravel())
        total = np.zeros(self.n_categories)
        for part, (first, *rest) in self._batches(self.n_categories):
            total += (first.T @ (v[part, None] * _products(rest))).ravel()
        return total

    def gram(self, d: Floats, columns: Columns) -> Floats:
        if self._grid is not None and self.n_categories <= PAIR_LIMIT:
            return self._every_pair(self._grid, d)[np.ix_(columns, columns)]
        total = np.zeros((len(columns),) * 2)
        cells = np.unravel_index(columns, self._shape)
        for part, rows in self._batches(len(columns)):
            half = np.sqrt(d[part])[:, None] * np.prod([row[:, j] for row, j in zip(rows, cells, strict=True)], axis=0)
            total += half.T @ half
        return total

    def dense(self) -> Floats:
        return _products([matrix[positions] for matrix, positions in zip(self._matrices, self.index, strict=True)])

    def fix(self, j: int, t: float) -> Rows:
        return HeldRows(self, j, t)

    def _summed(self, grid: NDArray[np.intp], v: Floats) -> Floats:
        """v added up in the table of all combinations."""
        return np.asarray(np.bincount(grid, v, prod(self._different)), dtype=np.float64).reshape(self._different)

    def _every_pair(self, grid: NDArray[np.intp], d: Floats) -> Floats:
        pairs = [(m[:, :, None] * m[:, None, :]).reshape(len(m), -1).T for m in self._matrices]
        summed = _contract(self._summed(grid, d), pairs)
        n_parts = len(self._shape)
        halves = summed.reshape([size for size in self._shape for _ in range(2)])
        order = [*range(0, 2 * n_parts, 2), *range(1, 2 * n_parts, 2)]
        return np.asarray(halves.transpose(order).reshape(self.n_categories, self.n_categories))

    def _batches(self, width: int) -> Iterator[tuple[slice, list[Floats]]]:
        """The rows of every part, some reports at a time; `width` is how many numbers each report costs."""
        step = max(1, BATCH_CELLS // max(1, width))
        for start in range(0, self.n_rows, step):
            part = slice(start, start + step)
            yield part, [m[positions[part]] for m, positions in zip(self._matrices, self.index, strict=True)]


def _contract(table: Floats, matrices: Sequence[Floats]) -> Floats:
    """The table with every axis multiplied by its matrix."""
    for axis, matrix in enumerate(matrices):
        table = np.moveaxis(np.tensordot(matrix, table, axes=(1, axis)), 0, axis)
    return table


def _read(w: Floats, rows: Sequence[Floats]) -> Floats:
    """Σ over the cells of w times the product of the rows, one number per report; w has shape (1, n_cells)."""
    first, *rest = rows
    left = first @ w.reshape(first.shape[1], -1)
    for row in rest:
        left = np.einsum("ij,ijk->ik", row, left.reshape(len(row), row.shape[1], -1))
    return np.asarray(left[:, 0])


def _products(rows: Sequence[Floats]) -> Floats:
    """Kronecker products row by row, shape (n_rows, n_cells)."""
    first, *rest = rows
    product = first
    for row in rest:
        product = (product[:, :, None] * row[:, None, :]).reshape(len(row), -1)
    return product
