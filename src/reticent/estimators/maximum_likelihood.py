"""Maximum likelihood shares for any channel, with a certificate."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray

from reticent.estimators.linear import MANY_CATEGORIES
from reticent.estimators.moments import projected_moments
from reticent.estimators.sandwich import sandwich
from reticent.intervals import ScoringStep, inverse
from reticent.likelihood import Fit, fit, maximiser_ranges
from reticent.precision import require_identifiable, warn_if_ill_conditioned
from reticent.results import Shares
from reticent.tallies import Patterns, Tally, WeightedTally, require_patterns, stack, weighted

Floats = NDArray[np.float64]


def maximum_likelihood(*tallies: Tally) -> Shares:
    """The shares that make the tallied reports most likely: max Σ_a n_a log Σ_x P(a | x) w_x over the simplex.

    Several tallies over one domain (two waves, two channels) are read together. Solved by active-set Newton from the
    moment estimate, to a shortfall of 1e-6 in log-likelihood; the covariance is J(w)⁻¹ − wwᵀ over n, restricted to
    the positive shares. Where the reports do not identify the shares, `unique` is False and the ranges say what is
    possible; above 500 categories neither this nor the covariance is computed.

    Weighted tallies are strata of one sample: the weighted log-likelihood (pseudo-likelihood) is maximised, and the
    covariance is the sandwich A⁻¹BA⁻¹. Support counts hold too little for a likelihood: use moments.

    Source: Wang and Ding, Subset Privacy (arXiv 2107.02013); section 11.2 of our specification.
    Raises EstimateError for an empty tally, different domains, or channels that cannot identify the shares even
    together. Warns when the solver stops early, and above a condition number of 1e6 of every channel.

    >>> import reticent as rt
    >>> channel = rt.uniform_subset(rt.Categorical("letter", ["a", "b", "c", "d"]))
    >>> shares = rt.maximum_likelihood(rt.tally(channel.draw_many(["a"] * 300 + ["b"] * 100, seed=1)))
    >>> bool(abs(shares.probabilities[0] - 0.75) < 0.1), shares.converged, shares.unique
    (True, True, True)
    """
    patterns = require_patterns(tallies)
    rows, counts = stack(patterns)
    channels = [one.channel for one in patterns if one.n]
    require_identifiable(*channels)
    warn_if_ill_conditioned(*channels)
    found = fit(rows, counts, projected_moments(patterns))
    if not found.converged:
        warnings.warn(f"The solver stopped after {found.steps} steps with gap {found.gap:.1e}.", stacklevel=2)
    p = rows.n_categories
    low, high = (None, None) if p > MANY_CATEGORIES else maximiser_ranges(rows, counts, found)
    covariance = None if p > MANY_CATEGORIES else _covariance(patterns, found)
    positive = found.probabilities > 0
    if positive.sum() == 1:  # a share of 1 is on the boundary too
        positive = np.zeros(p, dtype=np.bool_)
    if covariance is None:
        errors = np.full(p, np.nan)
    else:
        errors = np.where(positive, np.sqrt(np.maximum(np.diag(covariance), 0.0)), np.nan)
    return Shares(
        domain=patterns[0].channel.domain,
        probabilities=found.probabilities,
        standard_errors=errors,
        covariance=covariance,
        tallies=patterns,
        estimator="maximum_likelihood",
        fit=found,
        range_low=low,
        range_high=high,
    )


def _covariance(tallies: tuple[Patterns, ...], found: Fit) -> Floats:
    """J⁻¹ − wwᵀ over n (or the sandwich) on the positive shares; rows and columns of the others are 0."""
    w = found.probabilities
    step = ScoringStep(tallies)
    positive = np.flatnonzero(w > 0)
    inverted = inverse(step.information(w)[np.ix_(positive, positive)])
    covariance = np.zeros((len(w), len(w)))
    if not weighted(tallies):
        inner = inverted - np.outer(w[positive], w[positive])
        covariance[np.ix_(positive, positive)] = inner / step.n
        return covariance

    def influence(tally: WeightedTally, part: slice) -> Floats:
        psi = np.zeros((len(tally.keys[part]), len(w)))
        rows = tally.channel.rows(tally.keys[part]).dense()
        psi[:, positive] = (rows[:, positive] / (rows @ w)[:, None]) @ inverted - w[positive]
        return psi

    return sandwich(tallies, influence)
