"""Sets of possible answers: what interval reports say, checked once.

A set is an interval (low, high], a point where low = high, or a union of such components. On a bounded domain an
infinite end means the domain's own, and the first cell is closed.

Source: Ding and Ding, Interval Privacy, arXiv 2106.09565; sections 3.2 and 7 of our specification of interval privacy.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reticent.errors import EstimateError, ParameterError, ReportError
from reticent.rows import Floats
from reticent.rows.runs import Positions


@dataclass(frozen=True, eq=False)
class IntervalSets:
    """Components (low, high] of sets with positive weights; `owner` says whose each is, None where each is a set."""

    low: Floats
    high: Floats
    weights: Floats
    owner: Positions | None = None
    domain: tuple[float, float] = (-np.inf, np.inf)


def interval_sets(
    low: ArrayLike,
    high: ArrayLike,
    weights: ArrayLike | None = None,
    owner: ArrayLike | None = None,
    domain: tuple[float, float] = (-np.inf, np.inf),
) -> IntervalSets:
    """Checked sets; those of weight 0 are left out.

    `low` and `high` have shape (n_components,), `weights` one per set. `owner`, where given, has the number of the set
    of each component, 0 to n_sets − 1. Raises ReportError for NaN, low > high, empty or overlapping components or sets
    outside the domain, ParameterError for shapes, weights or a domain that do not fit, EstimateError for no sets.

    >>> interval_sets([0, 5], [3, 5], domain=(0, 10)).low.tolist()
    [-inf, 5.0]
    """
    lows, highs = _ends(low, high)
    owners = None if owner is None else _owners(owner, len(lows))
    lows, highs = _inside(lows, highs, _domain(domain))
    n_sets = len(lows) if owners is None else int(owners.max()) + 1
    if owners is not None:
        _refuse_overlaps(lows, highs, owners)
    sized = _weights(weights, n_sets)
    kept = sized > 0
    if not kept.any():
        raise EstimateError("Every weight is 0: there is nothing to estimate from.")
    if not kept.all():
        components = kept if owners is None else kept[owners]
        lows, highs, sized = lows[components], highs[components], sized[kept]
        owners = None if owners is None else (np.cumsum(kept) - 1)[owners[components]]
    return IntervalSets(lows, highs, sized, owners, (float(domain[0]), float(domain[1])))


def _ends(low: ArrayLike, high: ArrayLike) -> tuple[Floats, Floats]:
    try:
        lows, highs = np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)
    except (TypeError, ValueError) as fault:
        raise ReportError(
            "Interval ends are not numbers; give two columns of numbers, -inf and inf allowed."
        ) from fault
    if lows.ndim != 1 or lows.shape != highs.shape:
        raise ParameterError(
            f"low has shape {lows.shape} and high {highs.shape}; give two columns of one length.", shape=lows.shape
        )
    if not lows.size:
        raise EstimateError("There are no intervals: nothing to estimate from. Collect reports first.")
    _refuse(np.isnan(lows) | np.isnan(highs), "have an end that is NaN; use -inf or inf for an open side")
    _refuse(lows > highs, "have low > high; an interval is (low, high]")
    _refuse((lows == highs) & np.isinf(lows), "lie at infinity; an exact answer is a finite number")
    return lows, highs


def _refuse(wrong: NDArray[np.bool_], why: str) -> None:
    """Raises ReportError where anything is wrong: how many and where, never what."""
    if wrong.any():
        raise ReportError(
            f"{int(wrong.sum())} of {wrong.size} intervals {why} (first at position {int(wrong.argmax())}, "
            "counting from 0).",
            n_wrong=int(wrong.sum()),
            first=int(wrong.argmax()),
        )


def _domain(domain: tuple[float, float]) -> tuple[float, float]:
    start, end = (float(bound) for bound in domain)
    if not start < end:
        raise ParameterError(f"domain is ({start}, {end}); its low end must be below its high end.", domain=domain)
    return start, end


def _inside(low: Floats, high: Floats, domain: tuple[float, float]) -> tuple[Floats, Floats]:
    """Ends at or beyond the domain's become infinite, so that equal sets look equal; points stay."""
    start, end = domain
    if start == -np.inf and end == np.inf:
        return low, high
    point = low == high
    outside = np.where(point, (low < start) | (low > end), (low >= end) | (high < start))
    _refuse(outside, f"have nothing in common with the domain [{start:g}, {end:g}]")
    return (
        np.where((low <= start) & ~point, -np.inf, low),
        np.where((high >= end) & ~point, np.inf, high),
    )


def _owners(owner: ArrayLike, n_components: int) -> Positions:
    owners = np.asarray(owner)
    if owners.shape != (n_components,) or owners.dtype.kind not in "iu":
        raise ParameterError(
            f"owner has shape {owners.shape} and type {owners.dtype}; give one whole number per component, that of its set."
        )
    owners = owners.astype(np.intp)
    if owners.min() < 0 or (np.bincount(owners) == 0).any():
        raise ParameterError("owner must use every number from 0 to n_sets − 1: a set without components is empty.")
    return owners


def _weights(weights: ArrayLike | None, n_sets: int) -> Floats:
    if weights is None:
        return np.ones(n_sets)
    sized = np.asarray(weights, dtype=np.float64)
    if sized.shape != (n_sets,) or not np.isfinite(sized).all() or (sized < 0).any():
        raise ParameterError(
            f"weights have shape {sized.shape} for {n_sets} sets; give one finite, non-negative number per set.",
            shape=sized.shape,
        )
    return sized


def _refuse_overlaps(low: Floats, high: Floats, owner: Positions) -> None:
    point = low == high
    # In order of where they begin within one set; a point begins before an interval that opens at its value.
    order = np.lexsort((~point, low, owner))
    low, high, owner, point = low[order], high[order], owner[order], point[order]
    shared = owner[1:] == owner[:-1]
    # The next component begins inside this one: before its end, or as a point at its end.
    overlap = shared & ((low[1:] < high[:-1]) | ((low[1:] == high[:-1]) & point[1:]))
    if overlap.any():
        raise ReportError(
            f"{len(np.unique(owner[1:][overlap]))} sets have components that overlap (first in set "
            f"{int(owner[1:][overlap][0])}); write each set as intervals apart from each other.",
            first=int(owner[1:][overlap][0]),
        )
