"""Moment estimates: linear in the reports, unbiased, and good for any number of categories."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reticent.errors import EstimateError
from reticent.intervals import support_counts
from reticent.likelihood import simplex_projection
from reticent.precision import Form, linear_scores, lists_its_reports, require_identifiable
from reticent.results import Shares
from reticent.tallies import PatternTally, stack

Floats = NDArray[np.float64]
MANY_CATEGORIES = 500
_BATCH = 2**22


def moments(tally: PatternTally, form: Form = "centred") -> Shares:
    """Shares from the mean of linear scores, with E[score | x] the x-th unit vector.

    For channels that support the answer with probability keep and every other category with probability stray, with
    γ the share of reports that support each category:

        affine  (γ − stray)/(keep − stray)        coordinate by coordinate; does not sum to 1
        centred (γ − mean γ)/(keep − stray) + 1/p  sums to 1 (default)
        inverse Q⁻¹γ, Q = (keep − stray) I + stray 11ᵀ

    Other channels: the efficient scores at equal shares. `unconstrained` is this estimate, unbiased, maybe negative;
    `probabilities` its Euclidean projection on the simplex. The covariance is the sample covariance of the scores over
    n; above 500 categories only standard errors are kept.

    Source: Wang and Ding, Subset Privacy (arXiv 2107.02013); sections 11.1 and 12 of our specification.
    Raises EstimateError for an empty tally or a channel that cannot identify the shares.

    >>> import reticent as rt
    >>> channel = rt.uniform_subset(rt.Categorical("letter", ["a", "b", "c", "d"]))
    >>> tally = rt.PatternTally.from_counts(channel, {0b0011: 30, 0b1100: 10})
    >>> rt.moments(tally).unconstrained.round(6).tolist()
    [0.625, 0.625, -0.125, -0.125]
    """
    stack((tally,))
    mean, second = _score_moments(tally, form)
    if second.ndim == 2:
        covariance = (second - np.outer(mean, mean)) / tally.n
        variances = np.diag(covariance)
    else:
        covariance, variances = None, (second - mean**2) / tally.n
    return Shares(
        domain=tally.channel.domain,
        probabilities=simplex_projection(mean),
        standard_errors=np.sqrt(np.maximum(variances, 0.0)),
        covariance=covariance,
        tallies=(tally,),
        estimator="moments",
        unconstrained=mean,
    )


def _score_moments(tally: PatternTally, form: Form) -> tuple[Floats, Floats]:
    """Mean of the scores and their mean outer product (or square, above 500 categories), in batches of reports."""
    p = tally.channel.n_categories
    few = p <= MANY_CATEGORIES
    mean, second = np.zeros(p), np.zeros((p, p) if few else p)
    weights = tally.counts / tally.n
    batch = max(1, _BATCH // p)
    for first in range(0, len(tally.keys), batch):
        part = slice(first, first + batch)
        scores = linear_scores(tally.channel, tally.keys[part], form)
        mean += weights[part] @ scores
        second += scores.T @ (weights[part, None] * scores) if few else weights[part] @ scores**2
    return mean, second


def projected_moments(tallies: tuple[PatternTally, ...]) -> Floats | None:
    """A cheap point on the simplex to start a solver from; None where there is no linear estimate."""
    total, n = np.zeros(tallies[0].channel.n_categories), 0
    for tally in tallies:
        try:
            require_identifiable(tally.channel)
        except EstimateError:
            continue
        if not tally.n:
            continue
        rates = tally.channel.support_rates
        if rates is not None:
            gamma, spread = support_counts(tally) / tally.n, float(rates[0] - rates[1])
            linear = (gamma - gamma.mean()) / spread + 1 / len(gamma)
        elif lists_its_reports(tally.channel):
            linear = (tally.counts / tally.n) @ linear_scores(tally.channel, tally.keys)
        else:
            continue
        total, n = total + tally.n * linear, n + tally.n
    return simplex_projection(total / n) if n else None
