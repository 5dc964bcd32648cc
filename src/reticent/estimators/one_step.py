"""The one-step estimator: one scoring step from the moment estimate, as precise as maximum likelihood."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reticent.errors import ParameterError
from reticent.estimators.moments import projected_moments
from reticent.intervals import ScoringStep
from reticent.likelihood import simplex_projection
from reticent.precision import require_identifiable
from reticent.results import Shares
from reticent.tallies import PatternTally, stack

Floats = NDArray[np.float64]


def one_step(tally: PatternTally, reference: ArrayLike | None = None) -> Shares:
    """One step of Fisher scoring: ŵ = w⁰ + [J(w⁰)⁻¹ − w⁰w⁰ᵀ] Σ_a f_a L_a/(Lw⁰)_a.

    `reference` is w⁰; by default the projected moment estimate, a share n^(−1/2) of the way to equal shares. Linear
    and unbiased given w⁰, efficient at w⁰. Expected information where the channel's reports can be listed, observed
    otherwise. `unconstrained` is this estimate, `probabilities` its projection on the simplex.

    Source: Wang and Ding, Subset Privacy (arXiv 2107.02013); section 11.3 of our specification.
    Raises EstimateError for an empty tally or a channel that cannot identify the shares, ParameterError for a
    reference that is not inside the simplex.

    >>> import reticent as rt
    >>> channel = rt.uniform_subset(rt.Categorical("letter", ["a", "b", "c", "d"]))
    >>> tally = rt.PatternTally.from_counts(channel, {0b0011: 30, 0b0101: 25, 0b1001: 20, 0b0110: 15, 0b1010: 12, 0b1100: 8})
    >>> rt.one_step(tally).probabilities.round(3).tolist()
    [0.518, 0.272, 0.157, 0.053]
    """
    stack((tally,))
    require_identifiable(tally.channel)
    start = _reference(tally, reference)
    step = ScoringStep((tally,))
    linear, _ = step(start)
    shares = simplex_projection(linear)
    _, covariance = step((1 - 1e-9) * shares + 1e-9 / len(shares))
    return Shares(
        domain=tally.channel.domain,
        probabilities=shares,
        standard_errors=np.sqrt(np.maximum(np.diag(covariance), 0.0)),
        covariance=covariance,
        tallies=(tally,),
        estimator="one_step",
        unconstrained=linear,
    )


def _reference(tally: PatternTally, reference: ArrayLike | None) -> Floats:
    p = tally.channel.n_categories
    if reference is None:
        moment = projected_moments((tally,))
        start = np.full(p, 1 / p) if moment is None else moment
        share = tally.n**-0.5
        return np.asarray((1 - share) * start + share / p)
    start = np.asarray(reference, dtype=np.float64)
    if start.shape != (p,) or not np.isfinite(start).all() or start.min() <= 0 or abs(start.sum() - 1) > 1e-9:
        raise ParameterError(f"reference must be {p} positive numbers that sum to 1.")
    return start
