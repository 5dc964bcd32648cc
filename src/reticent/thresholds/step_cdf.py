"""The distribution function that one threshold per person tells, as a step function.

Source: Ding and Ding, Interval Privacy (arXiv 2106.09565); Ayer and others, An empirical distribution function for sampling
with incomplete information (1955); section 3.1 of our specification.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from reticent.censoring.isotonic import isotonic as pooled
from reticent.errors import EstimateError, ParameterError, ReportError
from reticent.thresholds.answers import Floats, Merged, merge

NO_MASS = 1e-12  # sums of a float step function leave differences of this size where there is no mass


@dataclass(frozen=True, eq=False)
class StepCDF:
    """F̂ at each distinct threshold, in increasing order; between thresholds it is not determined.

    `degenerate` says that all answers were equal: F̂ is 0 or 1 throughout and says nothing about the distribution.
    """

    threshold: Floats
    value: Floats
    n: float
    degenerate: bool = False

    def __call__(self, t: ArrayLike) -> Floats:
        """F̂(t), right-continuous: its value at the largest threshold ≤ t, and 0 before the first."""
        place = np.searchsorted(self.threshold, np.asarray(t, dtype=np.float64), side="right")
        return np.append(0.0, self.value)[place]

    def bounds(self, t: ArrayLike) -> tuple[Floats, Floats]:
        """Smallest and largest F(t) of all distribution functions that agree with F̂ at the thresholds."""
        after = np.searchsorted(self.threshold, np.asarray(t, dtype=np.float64), side="left")
        return self(t), np.append(self.value, 1.0)[after]

    def masses(self, low: float = -np.inf, high: float = np.inf) -> tuple[Floats, Floats, Floats]:
        """Left ends, right ends and masses of the intervals (left, right] that carry mass, on the domain [low, high].

        Where in its interval a mass lies is not determined; the domain includes its lower end, which can carry mass by
        itself. Raises ReportError when a mass lies outside the domain.
        """
        if not low < high:
            raise ParameterError(f"The domain is [{low}, {high}]; give low < high.")
        steps = np.diff(np.concatenate([[0.0], self.value, [1.0]]))
        carries = steps > NO_MASS
        left = np.append(low, self.threshold)[carries]
        right = np.append(self.threshold, high)[carries]
        left, right = np.maximum(left, low), np.minimum(right, high)
        if (left > right).any() or ((left == right) & (left == high)).any():
            raise ReportError(f"Some answers are impossible for values in [{low}, {high}]; check the domain.")
        return left, right, steps[carries]


def threshold_cdf(thresholds: ArrayLike, below: ArrayLike, weights: ArrayLike | None = None) -> StepCDF:
    """The nonparametric maximum likelihood estimate of F from answers δ = 1{y ≤ u}.

    F̂ maximises Σ w [δ log F(u) + (1 − δ) log(1 − F(u))] over non-decreasing F: with W_k answers at the distinct threshold
    t_k and S_k of them 1, it is the weighted isotonic regression of S_k/W_k. No knowledge of the law of the thresholds is
    needed. O(n log n).

    Source: section 3.1 of our specification of interval privacy. Arrays of shape `(n,)`; `weights` are counts or
    survey weights. Warns when all answers are equal. Raises ReportError for answers that are not 0 or 1.

    >>> cdf = threshold_cdf(range(1, 9), [0, 1, 0, 0, 1, 0, 1, 1])
    >>> cdf.value.round(4).tolist()
    [0.0, 0.3333, 0.3333, 0.3333, 0.5, 0.5, 1.0, 1.0]
    >>> [end.round(4).tolist() for end in cdf.bounds(4.5)]
    [0.3333, 0.5]
    """
    merged = merge(thresholds, below, weights)
    if merged.all_equal:
        warnings.warn(
            "All answers are equal, so the estimated distribution is 0 or 1 throughout and says nothing. Ask at thresholds that "
            "lie among the values.",
            stacklevel=2,
        )
    return fitted(merged)


def fitted(merged: Merged) -> StepCDF:
    """As `threshold_cdf`, from merged answers and without a warning."""
    return StepCDF(merged.threshold, isotonic(merged.below / merged.total, merged.total), merged.n, merged.all_equal)


def isotonic(values: Floats, weights: Floats) -> Floats:
    """Weighted isotonic regression, within [0, 1]; of nothing, nothing."""
    if not len(values):
        return values
    return np.asarray(np.clip(pooled(values, weights), 0.0, 1.0))


def refuse_equal_answers(merged: Merged, what: str) -> None:
    """Raises EstimateError when all answers are equal."""
    if merged.all_equal:
        raise EstimateError(
            f"All {merged.n:,.0f} answers are equal, so {what} cannot be given: nothing says how far the values lie beyond the "
            'thresholds. Guaranteed intervals for F still hold (method="guaranteed").'
        )
