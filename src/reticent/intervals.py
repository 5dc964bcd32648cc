"""Confidence intervals for shares, from the counts behind an estimate (section 12 of our specification)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.stats import beta, chi2, norm

from reticent.errors import EstimateError, ParameterError
from reticent.likelihood import Fit, fit, profile_interval
from reticent.precision import information, lists_its_reports, membership_rates
from reticent.rows import DenseRows
from reticent.tallies import PatternTally, SupportTally, Tally, require_patterns, stack, supported, weighted, weights_of

Floats = NDArray[np.float64]
CORNERS = 2000


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


def wald_of_shares(centre: Floats, standard_errors: Floats, confidence_level: float) -> ConfidenceInterval:
    """Wald for shares: c ± z · standard error, cut at 0 and 1, with c the estimate put between 0 and 1.

    Holds a share whenever centre ± z · standard error does, so it covers at least as often: where the estimate lies
    below 0, [0, z·se] reaches further than what is left of the plain interval above 0; above 1 likewise.

    >>> wald_of_shares(np.array([-0.05, 0.5]), np.array([0.01, 0.01]), 0.95).low.round(2).tolist()
    [0.0, 0.48]
    """
    ends = wald(np.clip(centre, 0.0, 1.0), standard_errors, confidence_level)
    low, high = (np.clip(end, 0.0, 1.0) + 0.0 for end in (ends.low, ends.high))  # never −0
    return ConfidenceInterval(low, high, confidence_level, "wald")


def profile(tallies: Sequence[Tally], fit: Fit, confidence_level: float) -> ConfidenceInterval:
    """Profile likelihood: the shares the likelihood cannot rule out, one category at a time."""
    check_level(confidence_level)
    rows, counts = stack(tallies)
    ends = [profile_interval(rows, counts, fit, j, confidence_level) for j in range(rows.n_categories)]
    return _interval(ends, confidence_level, "profile")


def clopper_pearson(tallies: Sequence[Tally], confidence_level: float) -> ConfidenceInterval:
    """Exact: reports that support j are Binomial(n, stray + (keep − stray) w_j). Valid for every n.

    Source: Clopper and Pearson (1934), mapped. Raises EstimateError for channels without constant support rates and for
    weighted tallies.
    """
    check_level(confidence_level)
    if len(tallies) != 1:
        raise EstimateError("Clopper–Pearson intervals take one tally; use profile intervals for several.")
    (only,) = tallies
    if not isinstance(only, (PatternTally, SupportTally)):
        raise EstimateError("Sums of weights are not binomial counts: weighted tallies have wald intervals only.")
    keep, stray = (float(rate) for rate in membership_rates(only.channel))
    hits = support_counts(only)
    tail, n = (1 - confidence_level) / 2, only.n
    with np.errstate(invalid="ignore"):
        low = np.where(hits > 0, beta.ppf(tail, hits, n - hits + 1), 0.0)
        high = np.where(hits < n, beta.ppf(1 - tail, hits + 1, n - hits), 1.0)
    ends = np.clip((np.array([low, high]) - stray) / (keep - stray), 0, 1)
    return _interval(np.sort(ends, axis=0).T, confidence_level, "clopper-pearson")


def efficient_score(tallies: Sequence[Tally], shares: Floats, confidence_level: float) -> ConfidenceInterval:
    """{t : |efficient score at w_j = t| ≤ z}, the other shares held in the proportions of the estimate.

    The score for w_j is the one-step estimate from the reference with w_j = t, less t, over its standard error there.
    """
    check_level(confidence_level)
    z = float(norm.ppf(0.5 + confidence_level / 2))
    step = ScoringStep(tallies)
    ends = [[_score_end(step, shares, j, sign * z) for sign in (1, -1)] for j in range(len(shares))]
    return _interval(ends, confidence_level, "score")


def _score_end(step: ScoringStep, shares: Floats, j: int, z: float) -> float:
    p = len(shares)
    others = np.where(np.arange(p) == j, 0.0, shares)
    if not others.any():
        others = np.where(np.arange(p) == j, 0.0, 1.0)
    others /= others.sum()

    def excess(t: float) -> float:
        reference = (1 - t) * others
        reference[j] = t
        estimate, covariance = step((1 - 1e-9) * reference + 1e-9 / p)
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

    def __init__(self, tallies: Sequence[Tally]) -> None:
        self.rows, self.counts = stack(tallies)
        self.n = float(self.counts.sum())
        self.matrices: list[tuple[float, Floats]] | None = None
        patterns = [one for one in require_patterns(tallies) if one.n]
        if all(lists_its_reports(one.channel) for one in patterns):
            heavy = [float(weights_of(one).sum()) for one in patterns]
            self.matrices = [(own / sum(heavy), one.channel.matrix()) for own, one in zip(heavy, patterns, strict=True)]

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
        variance = inverse(self.information(reference)) - np.outer(reference, reference)
        return reference + variance @ self.rows.rmv(self.counts / self.n / fitted), variance / self.n


def support_counts(tally: PatternTally | SupportTally) -> NDArray[np.int64]:
    """How many reports support each category."""
    if isinstance(tally, SupportTally):
        return tally.support(*tally.columns)[1]
    return supported(tally.channel, tally.keys, tally.counts)


def inverse(information: Floats) -> Floats:
    """The pseudo-inverse of an information matrix: directions that the reports say nothing about count as 0."""
    values, vectors = np.linalg.eigh(information)
    kept = values > 1e-15 * values[-1]
    return np.asarray((vectors[:, kept] / values[kept]) @ vectors[:, kept].T)


def profile_contrast(tallies: Sequence[Tally], found: Fit, c: Floats, confidence_level: float) -> tuple[float, float]:
    """Profile likelihood interval for Σ c_j w_j: {t : 2[l_n(maximum) − max_{cᵀw = t} l_n(w)] ≤ χ²₁ quantile}.

    The shares with cᵀw = t are a polytope whose corners mix at most two categories, so w = V u with u on a simplex: the
    same likelihood problem with rows L V, and the same solver and certificate. At a true share of 0 it is conservative.
    Raises EstimateError when the polytope has more than 2,000 corners, or for weighted tallies.
    """
    check_level(confidence_level)
    if weighted(tallies):
        raise EstimateError("Weighted reports have no likelihood; combine the shares of the moments estimate instead.")
    order = np.sort(c)
    changes = np.flatnonzero(np.diff(order)) + 1  # between two values of c, all pairs above and below are corners
    if len(c) + int((changes * (len(c) - changes)).max(initial=0)) > CORNERS:
        raise EstimateError(
            "A combined category has an estimated share of 0, and the weights pair too many categories for a profile "
            "interval. Combine the shares of the moments estimate instead."
        )
    rows, counts = stack(tallies)
    likelihood, n = rows.dense(), float(counts.sum())
    allowed = float(np.sqrt(chi2.ppf(confidence_level, 1)))
    lowest, highest = float(c.min()), float(c.max())  # a root finder may step past them by rounding

    def excess(t: float) -> float:
        try:
            held = fit(DenseRows(likelihood @ _corners(c, min(max(t, lowest), highest))), counts)
        except EstimateError:  # some counted report is impossible there
            return float(np.sqrt(n)) + 10.0
        return float(np.sqrt(max(2 * (found.log_likelihood - held.log_likelihood), 0.0))) - allowed

    centre = float(c @ found.probabilities)
    step = float(np.ptp(c)) / np.sqrt(n)
    return _first_excess(excess, centre, lowest, step), _first_excess(excess, centre, highest, step)


def _corners(c: Floats, t: float) -> Floats:
    """The corners of {w ≥ 0, Σw = 1, cᵀw = t} as columns, shape `(p, n_corners)`."""
    at, above, below = (np.flatnonzero(chosen) for chosen in (c == t, c > t, c < t))
    j, k = (one.ravel() for one in np.meshgrid(above, below, indexing="ij"))
    corners = np.zeros((len(c), len(j) + len(at)))
    share = (t - c[k]) / (c[j] - c[k])
    corners[j, np.arange(len(j))] = share
    corners[k, np.arange(len(j))] = 1 - share
    corners[at, len(j) + np.arange(len(at))] = 1
    return corners


def _first_excess(excess: Callable[[float], float], centre: float, limit: float, step: float) -> float:
    """Where the excess turns positive on the way from the centre to the limit; the limit if it never does."""
    inner, direction = centre, np.sign(limit - centre)
    while abs(limit - inner) > 1e-12:
        outer = float(inner + direction * min(step, abs(limit - inner)))
        if excess(outer) > 0:
            return float(brentq(excess, inner, outer, xtol=1e-8, rtol=1e-10))
        inner, step = outer, 2.0 * step
    return limit
