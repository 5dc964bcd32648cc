"""Rows that are runs of neighbouring cells: what an interval, or a union of intervals, says about an ordered answer.

With c the prefix sums of w, a run from cell a up to but not including cell b has probability c[b] − c[a]; L'v is the
prefix sum of what opens minus what closes at each cell. Both take O(n_rows + n_cells), and no matrix exists.

Source: section 3.2 of our specification of interval privacy.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reticent.errors import ParameterError
from reticent.rows.dense import DenseRows
from reticent.rows.held import HeldRows
from reticent.rows.structure import Columns, Floats, Rows

Positions = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class ExtraRuns:
    """Further runs of rows that have more than one: run t belongs to row row[t], cells first[t] <= j < stop[t]."""

    row: Positions
    first: Positions
    stop: Positions


class RunRows:
    """Row i is factor[i] on the cells first[i] <= j < stop[i], and on its extra runs; 0 elsewhere.

    The runs of one row must not overlap. `factor` is one number for all rows or one per row. Raises ParameterError for
    positions outside 0..n_categories or arrays of different lengths.

    >>> rows = RunRows([0, 1], [2, 4], 4)
    >>> rows.mv(np.array([0.125, 0.25, 0.5, 0.125])).tolist()
    [0.375, 0.875]
    >>> rows.rmv(np.array([1.0, 10.0])).tolist()
    [1.0, 11.0, 10.0, 10.0]
    """

    def __init__(
        self,
        first: ArrayLike,
        stop: ArrayLike,
        n_categories: int,
        extra: ExtraRuns | None = None,
        factor: ArrayLike = 1.0,
    ) -> None:
        self.first: Positions = np.asarray(first, dtype=np.intp)
        self.stop: Positions = np.asarray(stop, dtype=np.intp)
        self.extra = extra if extra is not None and extra.row.size else None
        self.factor: Floats = np.asarray(factor, dtype=np.float64)
        self._n_categories = n_categories
        if (
            self.first.ndim != 1
            or self.first.shape != self.stop.shape
            or self.factor.shape not in ((), self.first.shape)
        ):
            raise ParameterError(
                f"runs have {self.first.shape} first cells, {self.stop.shape} ends and {self.factor.shape} factors; give "
                "one of each per row.",
                shape=self.first.shape,
            )
        for start, end in self._runs():
            if start.size and (start.min() < 0 or end.max() > n_categories or (start > end).any()):
                raise ParameterError(f"A run must lie within cells 0 to {n_categories}, its end not before its start.")

    def _runs(self) -> Iterator[tuple[Positions, Positions]]:
        yield self.first, self.stop
        if self.extra is not None:
            yield self.extra.first, self.extra.stop

    @property
    def n_rows(self) -> int:
        return len(self.first)

    @property
    def n_categories(self) -> int:
        return self._n_categories

    def mv(self, w: Floats) -> Floats:
        total, lost = prefix_sums(w)
        fitted = total[self.stop] - total[self.first]
        fitted += lost[self.stop] - lost[self.first]
        if self.extra is not None:
            more = total[self.extra.stop] - total[self.extra.first] + (lost[self.extra.stop] - lost[self.extra.first])
            fitted += _sums(self.extra.row, more, self.n_rows)
        return fitted if self._plain else fitted * self.factor

    def rmv(self, v: Floats) -> Floats:
        opened, closed = self.ends(v)
        total, lost = prefix_sums(opened - closed)
        return total[1:-1] + lost[1:-1]

    def ends(self, v: Floats) -> tuple[Floats, Floats]:
        """The sums of factor · v over the runs that begin at each boundary, and over those that end there.

        Boundary j lies before cell j; both have shape (n_categories + 1,).
        """
        scaled = v if self._plain else v * self.factor
        size = self.n_categories + 1
        opened, closed = _sums(self.first, scaled, size), _sums(self.stop, scaled, size)
        if self.extra is not None:
            more = scaled[self.extra.row]
            opened += _sums(self.extra.first, more, size)
            closed += _sums(self.extra.stop, more, size)
        return opened, closed

    @property
    def _plain(self) -> bool:
        return self.factor.ndim == 0 and bool(self.factor == 1.0)

    def gram(self, d: Floats, columns: Columns) -> Floats:
        order = np.argsort(columns, kind="stable")
        narrow = self._among(columns[order])
        weight = d * self.factor**2
        k = len(columns)
        # Rows by first and last retained cell; those that hold both s <= t begin at or before s and end after t.
        seen = narrow.first < narrow.stop
        corner = narrow.first[seen] * k + narrow.stop[seen] - 1
        both = _rectangles(_sums(corner, weight[seen], k * k).reshape(k, k))
        if narrow.extra is not None:
            both += _extra_pairs(narrow, narrow.extra, weight, k)
        both = np.triu(both)
        both += np.triu(both, 1).T
        back = np.argsort(order)
        return both[np.ix_(back, back)]

    def _among(self, columns: Columns) -> "RunRows":
        """The same rows over some of the cells only, in increasing order."""
        before = np.zeros(self.n_categories + 1, dtype=np.intp)
        before[columns + 1] = 1
        before = np.cumsum(before)
        extra = self.extra and ExtraRuns(self.extra.row, before[self.extra.first], before[self.extra.stop])
        return RunRows(before[self.first], before[self.stop], len(columns), extra, self.factor)

    def restrict(self, counts: Floats, columns: Columns) -> tuple["RunRows", Floats]:
        """The rows over some of the cells, in increasing order, with equal rows counted together.

        Rows with several runs stay apart. Factors are kept where rows stay apart and dropped, being constants of the
        likelihood, where equal rows merge.
        """
        narrow = self._among(columns)
        if self.extra is not None:
            return narrow, counts
        first, stop, merged = merge_runs(narrow.first, narrow.stop, counts, len(columns))
        return RunRows(first, stop, len(columns)), merged

    def dense(self) -> Floats:
        matrix = np.zeros((self.n_rows, self.n_categories + 1))
        for row, (start, end) in zip(self._owners(), self._runs(), strict=True):
            np.add.at(matrix, (row, start), 1.0)
            np.add.at(matrix, (row, end), -1.0)
        return np.asarray(np.cumsum(matrix, axis=1)[:, :-1] * self.factor.reshape(-1, 1))

    def _owners(self) -> Iterator[Positions]:
        yield np.arange(self.n_rows)
        if self.extra is not None:
            yield self.extra.row

    def fix(self, j: int, t: float) -> Rows:
        return DenseRows(self.dense()).fix(j, t) if self.n_rows * self.n_categories < 10_000 else HeldRows(self, j, t)


def prefix_sums(w: Floats) -> tuple[Floats, Floats]:
    """The sums of w before each position, shape (len(w) + 1,), and what rounding lost in each of them.

    A difference of two prefix sums near 1 has lost the digits of a small run; with the second array it has them all.

    >>> total, lost = prefix_sums(np.array([1.0, 1e-20]))
    >>> float(total[2] - total[1] + (lost[2] - lost[1]))
    1e-20
    """
    total = np.zeros(len(w) + 1)
    np.cumsum(w, out=total[1:])
    before, after = total[:-1], total[1:]
    added = after - before  # Knuth's exact sum of two numbers, for all positions at once
    lost = np.zeros(len(w) + 1)
    np.cumsum((before - (after - added)) + (w - added), out=lost[1:])
    return total, lost


def merge_runs(first: Positions, stop: Positions, counts: Floats, n_cells: int) -> tuple[Positions, Positions, Floats]:
    """Equal runs counted together, in the order of their first and then their last cell.

    >>> [part.tolist() for part in merge_runs(np.array([1, 0, 1]), np.array([2, 2, 2]), np.ones(3), 2)]
    [[0, 1], [2, 2], [1.0, 2.0]]
    """
    bits = int(n_cells).bit_length()
    key = (first << bits) | stop
    if 1 << 2 * bits <= 4 * len(key):
        held = _sums(key, counts, 1 << 2 * bits)
        different = np.flatnonzero(held)
        merged = held[different]
    elif counts.size and (counts == counts[0]).all():
        key = np.sort(key)
        begin = np.flatnonzero(np.append(True, key[1:] != key[:-1]))
        different, merged = key[begin], counts[0] * np.diff(np.append(begin, len(key)))
    else:
        order = np.argsort(key, kind="stable")
        key = key[order]
        begin = np.flatnonzero(np.append(True, key[1:] != key[:-1])[: len(key)])
        different, merged = key[begin], np.add.reduceat(counts[order], begin)
    return different >> bits, different & ((1 << bits) - 1), merged


def _sums(index: Positions, weights: Floats, size: int) -> Floats:
    """The weights added up at each index below size."""
    return np.asarray(np.bincount(index, weights, size), dtype=np.float64)


def _rectangles(corners: Floats) -> Floats:
    """Σ of corners[a, b] over a <= s and b >= t, for every s and t."""
    return np.asarray(np.cumsum(np.cumsum(corners, axis=0)[:, ::-1], axis=1)[:, ::-1])


def _extra_pairs(narrow: RunRows, extra: ExtraRuns, weight: Floats, k: int) -> Floats:
    """What the pairs of runs of one row add to the upper triangle: rectangles off the diagonal, triangles on it."""
    row = np.concatenate([np.arange(narrow.n_rows), extra.row])
    first = np.concatenate([narrow.first, extra.first])
    stop = np.concatenate([narrow.stop, extra.stop])
    own = narrow.n_rows + np.flatnonzero(extra.first < extra.stop)
    both = _rectangles(_sums(first[own] * k + stop[own] - 1, weight[row[own]], k * k).reshape(k, k))
    order = np.lexsort((first, row))
    row, first, stop = row[order], first[order], stop[order]
    corners = np.zeros((k + 1) * (k + 1))
    for apart in range(1, len(row)):
        near, far = np.arange(len(row) - apart), np.arange(apart, len(row))
        same = row[near] == row[far]
        if not same.any():
            break
        near, far = near[same], far[same]
        for (a, b), sign in (((first, first), 1), ((first, stop), -1), ((stop, first), -1), ((stop, stop), 1)):
            corners += _sums(a[near] * (k + 1) + b[far], sign * weight[row[near]], len(corners))
    between = np.cumsum(np.cumsum(corners.reshape(k + 1, k + 1), axis=0), axis=1)[:k, :k]
    return np.asarray(both + between)
