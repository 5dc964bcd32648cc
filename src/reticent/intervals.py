"""Confidence intervals for shares, from the counts behind an estimate (section 12 of our specification)."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.stats import beta, norm

from reticent.errors import EstimateError, ParameterError
from reticent.likelihood import Fit, profile_interval
from reticent.precision import information, lists_its_reports, membership_rates
from reticent.tallies import PatternTally, stack

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ConfidenceInterval:
    """`low` and `high`, one per category, with the level and the method that gave them."""

    low: Floats
    high: Floats
    confidence_level: float
    method: str


def _interval(ends: ArrayLike, confidence_level: float, method: str) -> ConfidenceInterval:
    """From pairs (low, high), shape `(p, 2)`."""
    low, high = np.asarray(ends, dtype=np.float64).T
    return ConfidenceInterval(low, high, confidence_level, method)


def check_level(confidence_level: float) -> None:
    """Raises ParameterError unless 0 < confidence_level < 1."""
    if isinstance(confidence_level, bool) or not isinstance(confidence_level, Real) or not 0 < confidence_level < 1:
        raise ParameterError(
            f"confidence_level is {confidence_level!r}; allowed is a number between 0 and 1, such as 0.95.",
            confidence_level=confidence_level,
        )


def wald(centre: Floats, standard_errors: Floats, confidence_level: float) -> ConfidenceInterval:
    """centre ± z · standard error, not cut at 0 and 1; NaN where there is no standard error."""
    check_level(confidence_level)
    half = float(norm.ppf(0.5 + confidence_level / 2)) * standard_errors
    return ConfidenceInterval(centre - half, centre + half, confidence_level, "wald")


def profile(tallies: tuple[PatternTally, ...], fit: Fit, confidence_level: float) -> ConfidenceInterval:
    """Profile likelihood: the shares the likelihood cannot rule out, one category at a time."""
    check_level(confidence_level)
    rows, counts = stack(tallies)
    ends = [profile_interval(rows, counts, fit, j, confidence_level) for j in range(rows.n_categories)]
    return _interval(ends, confidence_level, "profile")


def clopper_pearson(tallies: tuple[PatternTally, ...], confidence_level: float) -> ConfidenceInterval:
    """Exact: reports that support j are Binomial(n, stray + (keep − stray) w_j). Valid for every n.

    Source: Clopper and Pearson (1934), mapped. Raises EstimateError for channels without constant support rates.
    """
    check_level(confidence_level)
    if len(tallies) != 1:
        raise EstimateError("Clopper–Pearson intervals take one tally; use profile intervals for several.")
    (only,) = tallies
    keep, stray = (float(rate) for rate in membership_rates(only.channel))
    hits = support_counts(only)
    tail, n = (1 - confidence_level) / 2, only.n
    with np.errstate(invalid="ignore"):
        low = np.where(hits > 0, beta.ppf(tail, hits, n - hits + 1), 0.0)
        high = np.where(hits < n, beta.ppf(1 - tail, hits + 1, n - hits), 1.0)
    ends = np.clip((np.array([low, high]) - stray) / (keep - stray), 0, 1)
    return _interval(np.sort(ends, axis=0).T, confidence_level, "clopper-pearson")


def efficient_score(tallies: tuple[PatternTally, ...], shares: Floats, confidence_level: float) -> ConfidenceInterval:
    """{t : |efficient score at w_j = t| ≤ z}, the other shares held in the proportions of the estimate.

    The score for w_j is the one-step estimate from the reference with w_j = t, less t, over its standard error there.
    """
    check_level(confidence_level)
    z = float(norm.ppf(0.5 + confidence_level / 2))
    step = ScoringStep(tallies)
    ends = [[_score_end(step, shares, j, sign * z) for sign in (1, -1)] for j in range(len(shares))]
    return _interval(ends, confidence_level, "score")


def _score_end(step: ScoringStep, shares: Floats, j: int, z: float) -> float:
    others = np.delete(shares, j)
    others = others / others.sum() if others.sum() > 0 else np.full(len(others), 1 / len(others))

    def excess(t: float) -> float:
        reference = np.insert((1 - t) * others, j, t)
        reference = (1 - 1e-9) * reference + 1e-9 / len(reference)
        estimate, covariance = step(reference)
        return float(estimate[j] - t - z * np.sqrt(max(covariance[j, j], 0.0)))

    if excess(0.0) <= 0:
        return 0.0
    if excess(1.0) >= 0:
        return 1.0
    return float(brentq(excess, 0.0, 1.0, xtol=1e-7, rtol=1e-8))


class ScoringStep:
    """The one-step estimate and its covariance as functions of the reference shares w⁰.

    ŵ = w⁰ + [J⁻¹ − w⁰w⁰ᵀ] Σ f_a L_a/(Lw⁰)_a, with expected information where all reports can be listed, else observed.
    """

    def __init__(self, tallies: tuple[PatternTally, ...]) -> None:
        self.rows, self.counts = stack(tallies)
        self.n = float(self.counts.sum())
        self.matrices: list[tuple[float, Floats]] | None = None
        if all(lists_its_reports(one.channel) for one in tallies):
            self.matrices = [(one.n / self.n, one.channel.matrix()) for one in tallies if one.n]

    def information(self, shares: Floats) -> Floats:
        """J(w) per report, shape `(p, p)`."""
        if self.matrices is None:
            weights = self.counts / self.n / self.rows.mv(shares) ** 2
            return self.rows.gram(weights, np.arange(self.rows.n_categories))
        return np.asarray(np.sum([share * information(matrix, shares) for share, matrix in self.matrices], axis=0))

    def __call__(self, reference: Floats) -> tuple[Floats, Floats]:
        fitted = self.rows.mv(reference)
        if (fitted <= 0).any():
            raise EstimateError(
                "A reference share of 0 makes a counted report impossible; give one inside the simplex."
            )
        variance = np.linalg.pinv(self.information(reference), hermitian=True) - np.outer(reference, reference)
        return reference + variance @ self.rows.rmv(self.counts / self.n / fitted), variance / self.n


def support_counts(tally: PatternTally) -> NDArray[np.int64]:
    """How many reports support each category, in batches so that no large matrix is made."""
    total = np.zeros(tally.channel.n_categories, dtype=np.int64)
    batch = max(1, 2**24 // tally.channel.n_categories)
    for first in range(0, len(tally.keys), batch):
        part = slice(first, first + batch)
        total += tally.counts[part] @ tally.channel.support(tally.keys[part])
    return total
