"""Maximum likelihood shares for any channel, with a certificate."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray

from reticent.errors import EstimateError
from reticent.estimators.moments import MANY_CATEGORIES, projected_moments
from reticent.intervals import ScoringStep
from reticent.likelihood import Fit, fit, maximiser_ranges
from reticent.precision import rank
from reticent.results import Shares
from reticent.tallies import PatternTally, stack

Floats = NDArray[np.float64]


def maximum_likelihood(*tallies: PatternTally) -> Shares:
    """The shares that make the tallied reports most likely: max Σ_a n_a log Σ_x P(a | x) w_x over the simplex.

    Several tallies over one domain (two waves, two channels) are read together. Solved by active-set Newton from the
    moment estimate, to a shortfall of 1e-6 in log-likelihood; the covariance is J(w)⁻¹ − wwᵀ over n, restricted to
    the positive shares. Where the reports do not identify the shares, `unique` is False and the ranges say what is
    possible; above 500 categories neither this nor the covariance is computed.

    Source: Wang and Ding, Subset Privacy (arXiv 2107.02013); section 11.2 of our specification.
    Raises EstimateError for an empty tally, different domains, or channels that cannot identify the shares. Warns
    when the solver stops early.

    >>> import reticent as rt
    >>> channel = rt.uniform_subset(rt.Categorical("letter", ["a", "b", "c", "d"]))
    >>> shares = rt.maximum_likelihood(rt.tally(channel.draw_many(["a"] * 300 + ["b"] * 100, seed=1)))
    >>> bool(abs(shares.probabilities[0] - 0.75) < 0.1), shares.converged, shares.unique
    (True, True, True)
    """
    rows, counts = stack(tallies)
    _require_identifiable(tallies)
    found = fit(rows, counts, projected_moments(tallies))
    if not found.converged:
        warnings.warn(f"The solver stopped after {found.steps} steps with gap {found.gap:.1e}.", stacklevel=2)
    p = rows.n_categories
    low, high = (None, None) if p > MANY_CATEGORIES else maximiser_ranges(rows, counts, found)
    covariance = None if p > MANY_CATEGORIES else _covariance(tallies, found)
    positive = found.probabilities > 0
    if covariance is None:
        errors = np.full(p, np.nan)
    else:
        errors = np.where(positive, np.sqrt(np.maximum(np.diag(covariance), 0.0)), np.nan)
    return Shares(
        domain=tallies[0].channel.domain,
        probabilities=found.probabilities,
        standard_errors=errors,
        covariance=covariance,
        tallies=tallies,
        estimator="maximum_likelihood",
        fit=found,
        range_low=low,
        range_high=high,
    )


def _require_identifiable(tallies: tuple[PatternTally, ...]) -> None:
    ranks = [rank(one.channel) for one in tallies]
    p = tallies[0].channel.n_categories
    if max(ranks) < p and sum(ranks) - len(ranks) + 1 < p:
        raise EstimateError(
            f'{tallies[0].channel.name} on "{tallies[0].channel.domain.name}" has rank {max(ranks)} of {p}: different shares '
            "give the same reports, so they cannot be estimated. Use a channel whose reports tell the categories apart.",
            rank=max(ranks),
        )


def _covariance(tallies: tuple[PatternTally, ...], found: Fit) -> Floats:
    """J⁻¹ − wwᵀ over n on the positive shares; rows and columns of the others are 0."""
    w = found.probabilities
    step = ScoringStep(tallies)
    positive = np.flatnonzero(w > 0)
    info = step.information(w)
    covariance = np.zeros((len(w), len(w)))
    inner = np.linalg.pinv(info[np.ix_(positive, positive)], hermitian=True) - np.outer(w[positive], w[positive])
    covariance[np.ix_(positive, positive)] = inner / step.n
    return covariance
