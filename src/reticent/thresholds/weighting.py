"""Means from thresholds by dividing through the density that the thresholds were drawn from.

Source: Ding and Ding, Interval Privacy (arXiv 2106.09565), Example 2; sections 4.1 and 4.3 of our specification.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from reticent.errors import EstimateError, ReportError
from reticent.thresholds.anchor_density import (
    EVERYWHERE,
    Domain,
    ThresholdLaw,
    anchor_density,
    clipped_to,
    in_words,
    refuse_grid,
)
from reticent.thresholds.answers import Floats, checked, merge, whole_counts
from reticent.thresholds.functional import MEAN, Functional, FunctionalEstimate
from reticent.thresholds.step_cdf import refuse_equal_answers


def inverse_density(
    thresholds: ArrayLike,
    below: ArrayLike,
    anchors: ThresholdLaw | Sequence[ThresholdLaw],
    functional: Functional = MEAN,
    *,
    c: float | None = None,
    domain: Domain = EVERYWHERE,
    clip: bool = False,
    counts: ArrayLike | None = None,
) -> FunctionalEstimate:
    """E h(Y), exactly unbiased, from answers δ = 1{y ≤ u} at thresholds u drawn from a known density g.

        θ̂ = h(c) + mean of h'(U) (1{U > c} − δ) / g(U),        standard error: sd of the terms / √n

    With several thresholds per person, all answered, arrays of shape `(n, k)` and one marginal law g_j for each:
    θ̂ = h(c) + mean over people of Σ_j h'(U_j) (1{U_j > c} − δ_j) / Σ_i g_i(U_j). `anchors` are frozen distributions such
    as scipy.stats.uniform(−6, 12). `c` is best near the median of the values, by default the median of the thresholds.

    Where thresholds do not reach all of `domain`, h(Y) is estimated as if values were clipped to where they do: `clip=True`
    says that this is meant, and the result says it too. `counts` says how many people gave each row.

    Source: sections 4.1 and 4.3 of our specification of interval privacy. Below 200 answers its intervals are the better ones;
    above, `augmented` has smaller errors.
    Raises ParameterError without a density, for one that leaves out a part of the domain, or for c outside; ReportError for
    thresholds of density 0; EstimateError for thresholds on a coarse grid, equal answers, or one person.

    >>> from scipy.stats import uniform
    >>> found = inverse_density([-3, -1, 0.5, 2], [0, 1, 0, 1], uniform(-4, 8), clip=True)
    >>> round(found.value, 4), round(found.standard_error, 4), found.estimand
    (0.0, 3.266, 'mean of the values clipped to [-4, 4]')
    """
    u, delta = _people_by_threshold(thresholds, below)
    times = np.ones(len(u)) if counts is None else whole_counts(counts, len(u))
    density = anchor_density(anchors, u.shape[1])
    weights = density.at(u)
    clipped = clipped_to(density, domain, clip, u)
    each = merge(u.ravel(), delta.ravel(), np.repeat(times, u.shape[1]))
    refuse_grid(each)
    refuse_equal_answers(each, "an estimate of E h(Y)")
    centre = density.reference(c)
    terms = (functional.slope(u) * ((u > centre) - delta) / weights).sum(axis=1)
    n = times.sum()
    if n < 2:
        raise EstimateError("A standard error needs at least two people.")
    mean = float(times @ terms / n)
    variance = float(times @ (terms - mean) ** 2 / (n - 1))
    return FunctionalEstimate(
        functional.at(centre) + mean,
        math.sqrt(variance / n),
        method="inverse density",
        estimand=in_words(functional.name, clipped),
        n=int(n),
        clipped_to=clipped,
    )


def _people_by_threshold(thresholds: ArrayLike, below: ArrayLike) -> tuple[Floats, Floats]:
    """Shape `(n, k)`. Raises ReportError where y ≤ u and y > u' contradict each other."""
    u, delta = checked(thresholds, below)
    if u.ndim == 1:
        return u[:, None], delta[:, None]
    if u.ndim != 2:
        raise ReportError(f"thresholds have shape {u.shape}; give one row per person and one column per threshold.")
    order = np.argsort(u, axis=1, kind="stable")
    sorted_u, sorted_delta = np.take_along_axis(u, order, 1), np.take_along_axis(delta, order, 1)
    falls = np.diff(sorted_delta, axis=1) < 0
    splits = (np.diff(sorted_u, axis=1) == 0) & (np.diff(sorted_delta, axis=1) != 0)
    contradictory = (falls | splits).any(axis=1)
    if contradictory.any():
        raise ReportError(
            f"{int(contradictory.sum())} people contradict themselves: a value cannot be below one threshold and above a larger "
            "one. Check that all answers use y ≤ u.",
            people=int(contradictory.sum()),
        )
    return u, delta
