"""Integrals against a law of numbers, panel by panel on its quantile scale.

Panels end at the quantiles of log-odds 0, ±1, …, out to 1e-300, so that both tails are followed as far as floats go; on
each panel a Gauss-Legendre rule of 16 nodes is exact for polynomials of degree 31.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.polynomial import legendre
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Function = Callable[[Floats], Floats]
NODES, WEIGHTS = legendre.leggauss(16)
_LOG_ODDS = np.concatenate([np.arange(40.0), np.arange(40.0, 690.0, 10.0), [690.0]])


class Law(Protocol):
    """A continuous law of numbers, such as a frozen distribution of scipy.stats."""

    def cdf(self, x: Any, /) -> Any:
        """P(Y ≤ x)."""
        ...

    def ppf(self, q: Any, /) -> Any:
        """The quantile of q."""
        ...


def upper_tail(law: Law, x: Floats) -> Floats:
    """P(Y > x), with all digits where the law has a method `sf`."""
    return np.asarray(law.sf(x) if hasattr(law, "sf") else 1 - law.cdf(x), dtype=np.float64)


def upper_quantile(law: Law, q: Floats) -> Floats:
    """The value above which a share q lies, with all digits where the law has a method `isf`."""
    return np.asarray(law.isf(q) if hasattr(law, "isf") else law.ppf(1 - q), dtype=np.float64)


def variance_of_indicator(law: Law, x: Floats) -> Floats:
    """F (1 − F) at x."""
    return np.asarray(law.cdf(x), dtype=np.float64) * upper_tail(law, x)


def panels(law: Law, low: float = -np.inf, high: float = np.inf, within: float = 690.0) -> Floats:
    """Ends of panels on the scale of the numbers, clipped to low..high and to log-odds `within`, ascending."""
    tail = 1 / (1 + np.exp(_LOG_ODDS[_LOG_ODDS <= within]))
    points = np.concatenate([np.asarray(law.ppf(tail), dtype=np.float64), upper_quantile(law, tail)])
    ends = [float(end) for end in (low, high) if np.isfinite(end)]
    inside = points[np.isfinite(points) & (points > low) & (points < high)]
    return np.unique(np.concatenate([inside, ends]))


def integral(function: Function, points: Floats) -> float:
    """The integral over the panels between the points."""
    half = np.diff(points)[:, None] / 2
    nodes = points[:-1, None] + half * (1 + NODES)
    return float((function(nodes) * WEIGHTS * half).sum())


def cumulative(function: Function, points: Floats, x: Floats) -> Floats:
    """The integral from the first point to each x, none of which lies beyond the points."""
    half = np.diff(points)[:, None] / 2
    before = np.append(0.0, np.cumsum((function(points[:-1, None] + half * (1 + NODES)) * WEIGHTS * half).sum(axis=1)))
    panel = np.clip(np.searchsorted(points, x, side="right") - 1, 0, len(points) - 2)
    start, part = points[panel][..., None], (x - points[panel])[..., None] / 2
    return np.asarray(before[panel] + (function(start + part * (1 + NODES)) * WEIGHTS * part).sum(axis=-1))


class QuantileRule:
    """Nodes q in (0, 1), their values F⁻¹(q) and weights, so that E f(Y) = Σ weight · f(value).

    `breaks` are values at which the integrand has a kink. Shapes `(n_panels, 16)`, ascending.
    """

    def __init__(self, law: Law, breaks: Iterable[float] = ()) -> None:
        at = np.array([value for value in breaks if np.isfinite(value)], dtype=np.float64)
        below = np.asarray(law.cdf(at), dtype=np.float64)
        lower = np.unique(np.concatenate([_half_line(), below[below < 0.5], [0.5]]))
        above = upper_tail(law, at)
        upper = np.unique(np.concatenate([_half_line(), above[above < 0.5], [0.5]]))
        left, right = _nodes(lower), _nodes(upper)
        self.q = np.concatenate([left, (1 - right)[::-1, ::-1]])
        self.values = _filled(np.concatenate([np.asarray(law.ppf(left)), upper_quantile(law, right)[::-1, ::-1]]))
        self.half = np.concatenate([np.diff(lower), np.diff(upper)[::-1]])[:, None] / 2
        self.weights = WEIGHTS * self.half

    def mean(self, values: Floats) -> float:
        """Σ weight · value over the nodes."""
        return float((self.weights * values).sum())

    def running(self, values: Floats) -> Floats:
        """∫₀^q of the integrand up to each node, values and result of shape `(n_panels, 16)`."""
        totals = (self.weights * values).sum(axis=1)
        before = np.append(0.0, np.cumsum(totals)[:-1])
        return np.asarray(before[:, None] + self.half * (values @ _partial_weights().T))


def _filled(values: Floats) -> Floats:
    """Quantiles that a law could not compute, far in a tail, replaced by the nearest one that it could."""
    flat = values.ravel()
    known = np.flatnonzero(~np.isnan(flat))
    return np.interp(np.arange(len(flat)), known, flat[known]).reshape(values.shape)


def _half_line() -> Floats:
    """Ends of panels of q from 0 to 1/2, geometric towards 0."""
    return np.append(0.0, (1 / (1 + np.exp(_LOG_ODDS)))[::-1])


def _nodes(points: Floats) -> Floats:
    return np.asarray(points[:-1, None] + np.diff(points)[:, None] / 2 * (1 + NODES))


@lru_cache(maxsize=1)
def _partial_weights() -> Floats:
    """Row i: the integral from −1 to node i, from the values at the nodes (exact for degree 15)."""
    n = len(NODES)
    series = legendre.legvander(NODES, n - 1) * WEIGHTS[:, None] * (2 * np.arange(n) + 1) / 2
    integrals = [legendre.legval(NODES, legendre.legint(np.eye(n)[k], lbnd=-1)) for k in range(n)]
    return np.asarray((series @ np.array(integrals)).T)
