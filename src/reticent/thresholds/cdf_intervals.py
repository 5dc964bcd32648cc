"""Confidence intervals for F(t) from one threshold per person.

The estimate of F(t) converges at the rate n^(−1/3) to a law that is not normal, so it has no standard error: intervals come
from the likelihood ratio, whose limit is the same for all F, or from binomial bounds that hold for every n.

Source: Ding and Ding, Interval Privacy (arXiv 2106.09565); Banerjee and Wellner, Likelihood ratio tests for monotone functions
(2001); section 5 of our specification.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import xlogy
from scipy.stats import beta, chi2

from reticent.errors import ParameterError
from reticent.intervals import ConfidenceInterval, check_level
from reticent.thresholds.answers import Floats, Merged, merge_people
from reticent.thresholds.grids import lies_on_grid
from reticent.thresholds.step_cdf import StepCDF, fitted, isotonic, refuse_equal_answers

CdfMethod = Literal["likelihood", "guaranteed"]
# Quantiles of the limit law for thresholds from a density: 95 % from the literature, the others simulated (n = 2000, 6000 runs).
CRITICAL = {0.90: 1.60, 0.95: 2.26916, 0.99: 3.97}
FAR = 1e3  # a likelihood ratio beyond every critical value, in place of infinity


def cdf_interval(
    thresholds: ArrayLike,
    below: ArrayLike,
    t: ArrayLike,
    *,
    confidence_level: float = 0.95,
    method: CdfMethod = "likelihood",
    on_grid: bool | None = None,
    counts: ArrayLike | None = None,
) -> ConfidenceInterval:
    """An interval for F(t), at one or several t; each holds by itself, not all together (see `uniform_band`).

    "likelihood": {θ : LR(θ) ≤ c}. Thresholds from a density: c = 1.60, 2.26916 or 3.97 at level 0.90, 0.95 or 0.99, the
    only ones whose critical values are known; on a grid: the chi-square quantile, right at the grid's points,
    conservative between them, where F is known up to its values at the neighbours only, and conservative for fine grids.
    `on_grid`: None looks whether thresholds repeat.
    "guaranteed": holds its level for every n and any thresholds. The k = ⌈n^(2/3)⌉ nearest answers with u ≤ t have
    chances of at most F(t): lower end the Clopper–Pearson limit of their number of ones; upper end alike from u ≥ t. People at
    one threshold are taken all together. About 1.7 times as wide.

    Arrays of shape `(n,)`, `counts` says how many people gave each row; the interval has one entry for each t.
    Source: section 5 of our specification of interval privacy.
    Raises ParameterError for the bootstrap, whose intervals for F(t) do not hold, for other levels, or for on_grid=False
    when thresholds repeat; EstimateError for a likelihood interval when all answers are equal.

    >>> u, delta = range(1, 9), [0, 1, 0, 0, 1, 0, 1, 1]
    >>> found = cdf_interval(u, delta, 4.5)
    >>> found.low.round(4).tolist(), found.high.round(4).tolist()
    ([0.0531], [0.9118])
    >>> cdf_interval(u, delta, 4.5, method="guaranteed").low.round(4).tolist()
    [0.0063]
    """
    check_level(confidence_level)
    points = _points(t)
    if method == "guaranteed":
        return guaranteed(merge_people(thresholds, below, counts), points, confidence_level)
    if method != "likelihood":
        raise ParameterError(
            f'method is {method!r}; allowed: "likelihood", "guaranteed". A bootstrap of F(t) does not hold its level, for '
            "the estimate converges at a cube-root rate.",
            method=method,
        )
    merged = merge_people(thresholds, below, counts)
    refuse_equal_answers(merged, "a likelihood interval")
    allowed = critical_value(confidence_level, lies_on_grid(merged, on_grid))
    law = fitted(merged)
    ends = np.array([_likelihood_ends(_Ratio(merged, law, float(at)), allowed) for at in points])
    return ConfidenceInterval(ends[:, 0], ends[:, 1], confidence_level, "likelihood")


def critical_value(confidence_level: float, on_grid: bool) -> float:
    """What the likelihood ratio at the true F(t) stays below with this chance.

    Raises ParameterError for thresholds from a density at a level other than 0.90, 0.95 and 0.99: that limit law is known by
    simulation only.

    >>> critical_value(0.95, on_grid=False), round(critical_value(0.95, on_grid=True), 6)
    (2.26916, 3.841459)
    """
    if on_grid:
        return float(chi2.ppf(confidence_level, 1))
    for level, value in CRITICAL.items():
        if math.isclose(confidence_level, level):
            return value
    raise ParameterError(
        f"confidence_level is {confidence_level}; critical values of the likelihood ratio for thresholds from a density are "
        f'known at {", ".join(f"{level:.2f}" for level in CRITICAL)}. Use one of them, or method="guaranteed" for any level.',
        confidence_level=confidence_level,
    )


def likelihood_ratio(
    thresholds: ArrayLike, below: ArrayLike, t: float, theta: float, counts: ArrayLike | None = None
) -> float:
    """LR(θ) = 2 [l(F̂) − l(F̂ with F(t) = θ)], for one t.

    The constrained fit is isotonic on u < t capped by θ, isotonic on u > t floored by θ, and θ at u = t. Infinite where
    θ makes an answer impossible. Raises ParameterError unless 0 ≤ θ ≤ 1.

    >>> round(likelihood_ratio(range(1, 9), [0, 1, 0, 0, 1, 0, 1, 1], 4, 0.5), 6)
    0.339798
    """
    if not 0 <= theta <= 1:
        raise ParameterError(f"theta is {theta}; a value of F lies between 0 and 1.", theta=theta)
    merged = merge_people(thresholds, below, counts)
    return _Ratio(merged, fitted(merged), float(_points(t)[0]))(theta)


class _Ratio:
    """LR as a function of θ, with everything that does not depend on θ worked out once."""

    def __init__(self, merged: Merged, law: StepCDF, t: float) -> None:
        before = slice(0, int(np.searchsorted(merged.threshold, t, side="left")))
        after = slice(int(np.searchsorted(merged.threshold, t, side="right")), len(merged.threshold))
        self.left, self.right = _Blocks(merged, before), _Blocks(merged, after)
        at = slice(before.stop, after.start)
        self.ones_at = float(merged.below[at].sum())
        self.zeros_at = float(merged.total[at].sum()) - self.ones_at
        self.best = float(_log_likelihood(merged.below, merged.total - merged.below, law.value).sum())
        self.start = float(np.mean(law.bounds(t)))  # here LR = 0

    def __call__(self, theta: float) -> float:
        held = self.left.log_likelihood(np.minimum(self.left.value, theta))
        held += self.right.log_likelihood(np.maximum(self.right.value, theta))
        held += float(_log_likelihood(self.ones_at, self.zeros_at, theta))
        return 2 * (self.best - held)


class _Blocks:
    """The isotonic fit of a run of thresholds, and the ones and zeros under each of its flat parts."""

    def __init__(self, merged: Merged, run: slice) -> None:
        ones, total = merged.below[run], merged.total[run]
        fit = isotonic(ones / total, total)
        starts = np.flatnonzero(np.diff(fit, prepend=-1.0))
        self.value = fit[starts]
        self.ones = np.add.reduceat(ones, starts) if len(starts) else ones
        self.zeros = np.add.reduceat(total - ones, starts) if len(starts) else ones

    def log_likelihood(self, f: Floats) -> float:
        return float(_log_likelihood(self.ones, self.zeros, f).sum())


def _log_likelihood(ones: ArrayLike, zeros: ArrayLike, f: ArrayLike) -> Floats:
    return np.asarray(xlogy(ones, f) + xlogy(zeros, 1 - np.asarray(f)))


def _likelihood_ends(ratio: _Ratio, allowed: float) -> tuple[float, float]:
    def excess(theta: float) -> float:
        return min(ratio(theta), FAR) - allowed

    ends = []
    for limit in (0.0, 1.0):
        inside = limit == ratio.start or excess(limit) <= 0
        ends.append(limit if inside else float(brentq(excess, limit, ratio.start, xtol=1e-13)))
    return ends[0], ends[1]


def guaranteed(merged: Merged, points: Floats, confidence_level: float) -> ConfidenceInterval:
    """The guaranteed intervals of `cdf_interval`, from merged answers."""
    tail = (1 - confidence_level) / 2
    total, ones = np.append(0.0, np.cumsum(merged.total)), np.append(0.0, np.cumsum(merged.below))
    k = math.ceil(round(merged.n ** (2 / 3), 9))
    upto = np.searchsorted(merged.threshold, points, side="right")
    first = np.maximum(np.searchsorted(total, total[upto] - k, side="right") - 1, 0)
    n, hits = total[upto] - total[first], ones[upto] - ones[first]
    with np.errstate(invalid="ignore"):
        low = np.where(hits > 0, beta.ppf(tail, hits, n - hits + 1), 0.0)
    start = np.searchsorted(merged.threshold, points, side="left")
    stop = np.minimum(np.searchsorted(total, total[start] + k, side="left"), len(merged.threshold))
    n, hits = total[stop] - total[start], ones[stop] - ones[start]
    with np.errstate(invalid="ignore"):
        high = np.where(hits < n, beta.ppf(1 - tail, hits + 1, n - hits), 1.0)
    return ConfidenceInterval(low, high, confidence_level, "guaranteed")


def _points(t: ArrayLike) -> Floats:
    points = np.atleast_1d(np.asarray(t, dtype=np.float64))
    if points.ndim != 1 or not len(points) or np.isnan(points).any():
        raise ParameterError("t is one number or a list of numbers.")
    return points
