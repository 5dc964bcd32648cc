"""Privacy coverage estimated from the answers themselves: how much of the population an answer leaves open, on average.

Coverage is τ = E[F(U)² + (1 − F(U))²], the chance that a second person would give the same answer to the same threshold.
It depends on the law of the values, and is no statement about the worst case.

Source: Ding and Ding, Interval Privacy (arXiv 2106.09565); section 2.2 of our specification.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import norm

from reticent.errors import EstimateError
from reticent.intervals import check_level
from reticent.results import Scalar
from reticent.thresholds.answers import Floats, Merged, each_person, merge, merge_people
from reticent.thresholds.folds import folds, other_folds
from reticent.thresholds.grids import lies_on_grid
from reticent.thresholds.step_cdf import fitted, refuse_equal_answers


@dataclass(frozen=True)
class CoverageEstimate(Scalar):
    """An estimated coverage; privacy is claimed from its lower bound. `n_pairs` disjoint pairs of people were compared."""

    n_pairs: int = 0

    def lower_bound(self, confidence_level: float = 0.95) -> float:
        """value − z · standard error, one-sided, between 0 and (1 − level)^(1/n_pairs); NaN where no standard error holds.

        The cap matters when everybody agrees, and the standard error is 0: n pairs that agree with chances τ_i all do so
        with a chance of Π τ_i ≤ (mean τ)^n.
        """
        check_level(confidence_level)
        if math.isnan(self.standard_error):
            return math.nan
        bound = self.value - float(norm.ppf(confidence_level)) * self.standard_error
        return min(max(bound, 0.0), float((1 - confidence_level) ** (1 / self.n_pairs)))


def agreement_coverage(
    thresholds: ArrayLike, below: ArrayLike, *, on_grid: bool | None = None, counts: ArrayLike | None = None
) -> CoverageEstimate:
    """How often people asked at neighbouring thresholds agree; the default estimate of coverage.

    Continuous thresholds: sorted, τ̂ = mean of e_i = 1{δ_(i+1) = δ_(i)}. The bias of a pair is −(F_(i+1) − F_(i))², so
    the sum is negligible. Standard error √(Σ ẽ² + 2 Σ ẽ_i ẽ_(i+1)) / (n − 1), ẽ centred, mildly conservative.
    On a grid: within each threshold with W ≥ 2 answers, S of them 1, the share of agreeing pairs
    [S(S − 1) + (W − S)(W − S − 1)] / [W(W − 1)], averaged with weights W; unbiased, with the standard error of a U-statistic.

    `on_grid`: None looks whether thresholds repeat. Arrays of shape `(n,)`. Source: section 2.2 of our specification.
    Raises EstimateError with fewer than three pairs to compare, ParameterError for on_grid=False when thresholds repeat.

    >>> found = agreement_coverage(range(1, 9), [0, 1, 0, 0, 1, 0, 1, 1])
    >>> round(found.value, 4)
    0.2857
    >>> agreement_coverage([1, 1, 1, 2, 2, 2], [0, 0, 1, 1, 1, 1]).value.__round__(4)
    0.6667
    """
    merged = merge_people(thresholds, below, counts)
    return _within_cells(merged) if lies_on_grid(merged, on_grid) else _neighbours(merged.below)


def _neighbours(delta: Floats) -> CoverageEstimate:
    """From the 0/1 answers in the order of their thresholds."""
    if len(delta) < 4:
        raise EstimateError(
            f"{len(delta)} answers have {len(delta) - 1} neighbours; coverage needs at least 4 answers."
        )
    agree = (delta[1:] == delta[:-1]).astype(np.float64)
    centred = agree - agree.mean()
    spread = float(centred @ centred + 2 * centred[1:] @ centred[:-1])
    return CoverageEstimate(float(agree.mean()), math.sqrt(max(spread, 0.0)) / len(agree), n_pairs=len(delta) // 2)


def _within_cells(merged: Merged) -> CoverageEstimate:
    shared = merged.total >= 2
    total, ones = merged.total[shared], merged.below[shared]
    n = float(total.sum())
    if n < 3:
        raise EstimateError("Fewer than three people share a threshold with somebody, so no pairs can be compared.")
    zeros = total - ones
    agreeing = (ones * (ones - 1) + zeros * (zeros - 1)) / (total * (total - 1))
    value = float(total @ agreeing) / n
    # Each person's part: twice the chance to agree with another one at the same threshold, less the cell's mean.
    influence_one = 2 * (ones - 1) / (total - 1) - agreeing - value
    influence_zero = 2 * (zeros - 1) / (total - 1) - agreeing - value
    spread = float(ones @ influence_one**2 + zeros @ influence_zero**2)
    return CoverageEstimate(value, math.sqrt(spread / (n * (n - 1))), n_pairs=int((total // 2).sum()))


def plug_in_coverage(thresholds: ArrayLike, below: ArrayLike, weights: ArrayLike | None = None) -> CoverageEstimate:
    """mean of F̂(u)² + (1 − F̂(u))², equal to the mean of F̂ over the reported sets.

    Consistent, but biased upward by an order of n^(−2/3), so that it overstates privacy: by 0.025 at n = 200 for normal
    values and logistic thresholds. It has no standard error here; prefer `agreement_coverage`.
    Raises EstimateError when all answers are equal.

    >>> plug_in_coverage(range(1, 9), [0, 1, 0, 0, 1, 0, 1, 1]).value.__round__(6)
    0.708333
    """
    merged = merge(thresholds, below, weights)
    refuse_equal_answers(merged, "a coverage")
    f = fitted(merged).value
    return CoverageEstimate(float(merged.total @ (f**2 + (1 - f) ** 2)) / merged.n, math.nan)


def cross_fit_coverage(
    thresholds: ArrayLike,
    below: ArrayLike,
    *,
    n_folds: int = 5,
    seed: int = 0,
    counts: ArrayLike | None = None,
) -> CoverageEstimate:
    """The mean of F̃ over the reported sets, F̃ estimated from the other folds; about half the bias of the plug-in.

    It needs no neighbours, so its form holds for any interval mechanism. Folds are drawn with `seed`.
    Raises EstimateError with fewer than two people per fold, or when all answers are equal.
    """
    u, delta = each_person(thresholds, below, counts)
    refuse_equal_answers(merge(u, delta), "a coverage")
    total = 0.0
    for own in folds(len(u), n_folds, seed):
        f = fitted(other_folds(u, delta, own))(u[own])
        total += float(np.where(delta[own] == 1, f, 1 - f).sum())
    return CoverageEstimate(total / len(u), math.nan)
