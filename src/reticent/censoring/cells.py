"""Turnbull's cells: the only places where a maximum of an interval likelihood needs mass.

An interval (low, high] opens just right of `low` and closes at `high`; a point opens and closes at its value. Walk
along all ends, and where several fall on one value take first the points' openings, then the closings, then the
openings of intervals. Each opening followed at once by a closing is a cell. Every set then covers a run of
neighbouring cells, and mass outside the cells only lowers the likelihood.

So an interval that ends at a point's value holds it, and one that begins there does not.

Source: Turnbull, The empirical distribution function with arbitrarily grouped, censored and truncated data (1976);
Peto (1973); section 3.2 of our specification of interval privacy, which settles the ties.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reticent.rows import Floats
from reticent.rows.runs import Positions

Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Cells:
    """Cells (left, right] in increasing order, or points where left = right, and the run of cells of each set.

    Set i covers the cells first[i] <= j < stop[i], at least one.
    """

    left: Floats
    right: Floats
    first: Positions
    stop: Positions


def turnbull(low: Floats, high: Floats) -> Cells:
    """The cells of the sets (low, high], or {low} where low = high; infinite ends are allowed.

    O(n log n) time; both arrays have shape (n,), hold no NaN, and low <= high.

    >>> cells = turnbull(np.array([0.0, 1.0, 2.0]), np.array([2.0, 3.0, 2.0]))
    >>> cells.left.tolist(), cells.right.tolist(), cells.first.tolist(), cells.stop.tolist()
    ([2.0], [2.0], [0, 0, 0], [1, 1, 1])
    """
    point = low == high
    starts, ends = np.isneginf(low), np.isposinf(high)
    some_points = bool(point.any())
    opening = np.flatnonzero(~(starts | point) if some_points else ~starts)
    closing = np.flatnonzero(~ends)
    at_point = np.flatnonzero(point) if some_points else opening[:0]
    # Where ends share one value they come in this order.
    groups = [(at_point, low), (closing, high), (opening, low)]
    owners = [positions[np.argsort(ends_of[positions])] for positions, ends_of in groups]
    order, values = merged([ends_of[sorted_] for sorted_, (_, ends_of) in zip(owners, groups, strict=True)])
    closes = (order >= len(at_point)) & (order < len(at_point) + len(closing))
    cell = _followed_by_closing(closes, bool(starts.any()), bool(ends.any()))
    first = np.zeros(len(low), dtype=np.intp)
    stop = np.empty(len(low), dtype=np.intp)
    n_closed = np.cumsum(cell, dtype=np.intp)
    stop.fill(n_closed[-1])
    owner = np.concatenate(owners)[order]
    stop[owner[closes]] = n_closed[:-1][closes]  # element s of n_closed counts the cells that open before end s
    opens = ~closes
    first[owner[opens]] = n_closed[:-1][opens]
    around = np.concatenate([[-np.inf], values, [np.inf]])
    at = np.flatnonzero(cell)
    return Cells(around[at], around[at + 1], first, stop)


def _followed_by_closing(closes: Flags, starts: bool, ends: bool) -> Flags:
    """For the start of the line and then every end in order: is it an opening that a closing follows at once?"""
    opens = np.concatenate([[starts], ~closes])
    return np.asarray(opens & np.concatenate([closes, [ends]]))


def merged(parts: Sequence[Floats]) -> tuple[Positions, Floats]:
    """Sorted arrays merged into one, with the place of each value in their concatenation; equal ones by part.

    NumPy's stable sort merges runs that are sorted already, in linear time.

    >>> [part.tolist() for part in merged([np.array([1.0, 2.0]), np.array([0.0, 2.0])])]
    [[2, 0, 1, 3], [0.0, 1.0, 2.0, 2.0]]
    """
    values = np.concatenate(parts)
    order = np.argsort(values, kind="stable")
    return order, values[order]


def runs_on_edges(low: Floats, high: Floats, edges: Floats) -> tuple[Positions, Positions]:
    """The run of cells (edges[j], edges[j+1]] that each set covers; ends must be edges, or beyond the outer ones."""
    return np.searchsorted(edges, low), np.searchsorted(edges, high)
