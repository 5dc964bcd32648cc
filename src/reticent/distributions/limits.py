"""Confidence limits of a mean over a law, Σ_j c_j w_j: profile likelihood, by adding reports that nobody sent, and wald.

For θ(w) = Σ_j c_j w_j with 0 ≤ c_j ≤ 1, let w_a maximise l(w) + a log θ(w). Among all laws with θ(w) = θ(w_a) it has the
greatest likelihood, for there the added term is the same. So a > 0 runs up the profile of θ, one maximum likelihood
problem with one more row each, its slope dl/dθ = −a/θ known at every point. With 1 − c it runs down. With c = 1 on the first
cells, θ is a value of the distribution function and the added reports are "up to that edge".

Source: section 5 of our specification of interval privacy; the added reports follow from concavity of l.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from math import sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2, norm

from reticent.censoring.active_set import polish
from reticent.intervals import check_level
from reticent.rows import DenseRows, Rows, StackedRows

Floats = NDArray[np.float64]
Held = Callable[[float], tuple[float, float]]
CLOSE = 1e-3
"""How near a root is to be met, as a share of it; the known slope then takes it to about the square of that."""
FITS = 60
SMALL = 2**15
"""Reports times cells below which a matrix is quicker."""
AT_THE_END = 1e-10


def allowed_fall(confidence_level: float) -> float:
    """The chi-square quantile with one degree of freedom, which twice the fall in log-likelihood may reach.

    Raises ParameterError for a level outside (0, 1).

    >>> round(allowed_fall(0.95), 6)
    3.841459
    """
    check_level(confidence_level)
    return float(chi2.ppf(confidence_level, 1))


def upper_end(held: Held, best: float, allowed: float, guess: float) -> float:
    """The greatest θ in [0, 1] with 2 (best − profile of l at θ) ≤ allowed.

    `held(a)` gives θ(w_a) and l(w_a) at w_a, where l + a log θ is greatest; `best` is the maximum of l; `guess` is about
    the a of the end, a > 0.

    >>> def held(a):  # 3 of 10 reports of a threshold said "below"
    ...     theta = (3 + a) / (10 + a)
    ...     return theta, 3 * np.log(theta) + 7 * np.log(1 - theta)
    >>> round(upper_end(held, held(0.0)[1], allowed_fall(0.95), 5.0), 6)
    0.606539
    """
    target, a = sqrt(allowed), guess
    below, above = (0.0, 0.0), (np.inf, np.inf)  # a, and the root of the fall there
    theta, fall = 0.0, 0.0
    for _ in range(FITS):
        theta, likelihood = held(a)
        fall = sqrt(max(2 * (best - likelihood), 0.0))
        if abs(fall - target) <= CLOSE * target or (theta >= 1 - AT_THE_END and fall <= target):
            break
        if fall < target:
            below = (a, fall)
        else:
            above = (a, fall)
        if np.isinf(above[0]):
            a *= min(4.0, 1.05 * target / fall) if fall > 0 else 4.0
        else:
            share = (target - below[1]) / (above[1] - below[1])
            a = below[0] + min(max(share, 0.02), 0.98) * (above[0] - below[0])
    if theta >= 1 - AT_THE_END and fall <= target:
        return 1.0
    return float(min(theta + (target - fall) * theta * fall / a, 1.0))


class LawProfile:
    """Ends of profile likelihood intervals for means Σ c_j w_j over the cells of a law.

    `rows` and `counts` are the reports, `probabilities`, shape (n_cells,), the most likely law, `best` its
    log-likelihood. Ends are kept, so that asking again is free.
    """

    def __init__(self, rows: Rows, counts: Floats, probabilities: Floats, best: float) -> None:
        small = rows.n_rows * rows.n_categories <= SMALL
        self.rows: Rows = DenseRows(rows.dense()) if small else rows
        self.counts, self.probabilities, self.best = counts, probabilities, best
        self._known: dict[tuple[bytes, float], float] = {}
        self._told = 1.0  # how much less the reports tell than the answers themselves, judged by the last end

    def greatest(self, c: Floats, confidence_level: float) -> float:
        """The upper end for Σ c_j w_j; c of any scale."""
        low, high = float(c.min()), float(c.max())
        if low == high:
            return high
        return low + (high - low) * self._unit((c - low) / (high - low), allowed_fall(confidence_level))

    def least(self, c: Floats, confidence_level: float) -> float:
        """The lower end for Σ c_j w_j."""
        return 0.0 - self.greatest(-c, confidence_level)

    def interval(self, c: Floats) -> Callable[[float], tuple[float, float]]:
        """Both ends for Σ c_j w_j, as a function of the level."""
        return lambda level: (self.least(c, level), self.greatest(c, level))

    def _unit(self, c: Floats, allowed: float) -> float:
        key = (c.tobytes(), allowed)
        if key not in self._known:
            self._known[key] = self._solve(c, allowed)
        return self._known[key]

    def _solve(self, c: Floats, allowed: float) -> float:
        estimate = float(c @ self.probabilities)
        if estimate >= 1 - AT_THE_END:
            return 1.0
        rows = self._with(c)
        n = float(self.counts.sum())
        start, last = self.probabilities, 0.0

        def held(a: float) -> tuple[float, float]:
            nonlocal start, last
            if not c @ start > 0:
                start = 0.99 * start + 0.01 / len(start)
            start, last = polish(rows, np.append(self.counts, a), start)[0], a
            return min(float(c @ start), 1.0), float(self.counts @ np.log(self.rows.mv(start)))

        share = max(estimate, 1 / n)
        if_told = sqrt(allowed * n * share / (1 - share))  # the a of the end if every report were the answer itself
        end = upper_end(held, self.best, allowed, self._told * if_told)
        self._told = min(last / if_told, 1.0)
        return max(end, estimate)

    def _with(self, c: Floats) -> Rows:
        """The reports, and one that the cells give with chances c."""
        if isinstance(self.rows, DenseRows):
            return DenseRows(np.vstack([self.rows.matrix, c]))
        return StackedRows([self.rows, DenseRows(c[None])])


class LawWald:
    """Limits Σ c_j w_j ± z · standard error, from the covariance of the masses, shape (n_cells, n_cells)."""

    def __init__(self, probabilities: Floats, covariance: Floats) -> None:
        self.probabilities, self.covariance = probabilities, covariance

    def standard_error(self, c: Floats) -> float:
        """√(cᵀ Cov c)."""
        return sqrt(max(float(c @ self.covariance @ c), 0.0))

    def greatest(self, c: Floats, confidence_level: float) -> float:
        """The upper limit for Σ c_j w_j, at most the greatest c_j."""
        check_level(confidence_level)
        half = float(norm.ppf(0.5 + confidence_level / 2)) * self.standard_error(c)
        return min(float(c @ self.probabilities) + half, float(c.max()))

    def least(self, c: Floats, confidence_level: float) -> float:
        """The lower limit for Σ c_j w_j, at least the least c_j."""
        return 0.0 - self.greatest(-c, confidence_level)


Limits = LawProfile | LawWald


def cells_of_quantile(limits: Limits, n_cells: int, share: float, confidence_level: float) -> tuple[int, int]:
    """The first and the last cell that the share-quantile may lie in, by the limits for F at the edges.

    Before the first cell no upper limit reaches the share; after the last every lower limit does. Profile limits never
    fall along the edges, for they are extremes of F over one set of laws; of them few are worked out.
    """
    cells, edges = np.arange(n_cells), range(1, n_cells)

    def reached(limit: Callable[[Floats, float], float]) -> Callable[[int], bool]:
        return lambda edge: limit((cells < edge).astype(np.float64), confidence_level) >= share

    may, must = reached(limits.greatest), reached(limits.least)
    if isinstance(limits, LawProfile):
        return bisect_left(edges, True, key=may), bisect_left(edges, True, key=must)
    first = next((edge for edge in edges if may(edge)), n_cells)
    return first - 1, max((edge for edge in edges if not must(edge)), default=0)
