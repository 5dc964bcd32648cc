"""The one-step estimator: one scoring step from the moment estimate, as precise as maximum likelihood."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reticent.errors import ParameterError
from reticent.estimators.linear import QUIET
from reticent.estimators.moments import projected_moments
from reticent.estimators.sandwich import sandwich
from reticent.intervals import ScoringStep, inverse
from reticent.likelihood import simplex_projection
from reticent.precision import require_identifiable, warn_if_ill_conditioned
from reticent.results import Shares
from reticent.tallies import Patterns, Tally, WeightedTally, require_patterns, weighted

Floats = NDArray[np.float64]


def one_step(*tallies: Tally, reference: ArrayLike | None = None) -> Shares:
    """One step of Fisher scoring: ŵ = w⁰ + [J(w⁰)⁻¹ − w⁰w⁰ᵀ] Σ_a f_a L_a/(Lw⁰)_a.

    `reference` is w⁰; by default the projected moment estimate, a share n^(−1/2) of the way to equal shares. Linear
    and unbiased given w⁰, efficient at w⁰. Expected information where the channel's reports can be listed, observed
    otherwise. `unconstrained` is this estimate, `probabilities` its projection on the simplex. Several tallies are read
    together; weighted tallies are strata, with the sandwich covariance.

    Source: Wang and Ding, Subset Privacy (arXiv 2107.02013); section 11.3 of our specification.
    Raises EstimateError for an empty tally, support counts or channels that cannot identify the shares, ParameterError for a
    reference that is not inside the simplex. Warns above a condition number of 1e6 of every channel.

    >>> import reticent as rt
    >>> channel = rt.uniform_subset(rt.Categorical("letter", ["a", "b", "c", "d"]))
    >>> tally = rt.PatternTally.from_counts(channel, {0b0011: 30, 0b0101: 25, 0b1001: 20, 0b0110: 15, 0b1010: 12, 0b1100: 8})
    >>> rt.one_step(tally).probabilities.round(3).tolist()
    [0.518, 0.272, 0.157, 0.053]
    """
    patterns = require_patterns(tallies)
    channels = [one.channel for one in patterns if one.n]
    require_identifiable(*channels)
    warn_if_ill_conditioned(*channels)
    start = _reference(patterns, reference)
    step = ScoringStep(patterns)
    linear, _ = step(start)
    shares = simplex_projection(linear)
    if weighted(patterns):
        covariance = _weighted_covariance(patterns, step, start, linear)
    else:
        _, covariance = step((1 - 1e-9) * shares + 1e-9 / len(shares))
    return Shares(
        domain=patterns[0].channel.domain,
        probabilities=shares,
        standard_errors=np.sqrt(np.maximum(np.diag(covariance), 0.0)),
        covariance=covariance,
        tallies=patterns,
        estimator="one_step",
        unconstrained=linear,
    )


def _weighted_covariance(tallies: Sequence[WeightedTally], step: ScoringStep, start: Floats, linear: Floats) -> Floats:
    """The sandwich at the estimate, in which a report's influence is its own one-step estimate less that of all."""
    variance = inverse(step.information(start)) - np.outer(start, start)

    def influence(tally: WeightedTally, part: slice) -> Floats:
        rows = tally.channel.rows(tally.keys[part]).dense()
        return np.asarray(start - linear + (rows / (rows @ start)[:, None]) @ variance)

    covariance = sandwich(tallies, influence)
    if (np.diag(covariance) * step.n > QUIET * (1 + linear**2)).all():
        return covariance
    # No variance in the sample (all reports are equal): what the channels' law says, for the effective number of reports.
    shares = (1 - 1e-9) * simplex_projection(linear) + 1e-9 / len(linear)
    squares, total = sum(float(one.squares.sum()) for one in tallies), sum(one.total_weight for one in tallies)
    law = (inverse(step.information(shares)) - np.outer(shares, shares)) * squares / total**2
    return covariance if (np.diag(law) * step.n < 1e-6).all() else law


def _reference(tallies: Sequence[Patterns], reference: ArrayLike | None) -> Floats:
    p = tallies[0].channel.n_categories
    if reference is None:
        moment = projected_moments(tallies)
        start = np.full(p, 1 / p) if moment is None else moment
        share = sum(one.n for one in tallies) ** -0.5
        return np.asarray((1 - share) * start + share / p)
    try:
        start = np.asarray(reference, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ParameterError(f"reference must be {p} positive numbers that sum to 1.") from None
    if start.shape != (p,) or not np.isfinite(start).all() or start.min() <= 0 or abs(start.sum() - 1) > 1e-9:
        raise ParameterError(f"reference must be {p} positive numbers that sum to 1.")
    return start
