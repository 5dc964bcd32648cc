"""Moment estimates: linear in the reports, unbiased, and good for any number of categories."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from reticent.errors import EstimateError
from reticent.estimators.linear import BATCH, chosen_columns, combined, from_patterns, from_support, from_weights
from reticent.intervals import support_counts
from reticent.likelihood import simplex_projection
from reticent.precision import (
    Form,
    distinct_rates,
    has_linear_scores,
    linear_scores,
    require_identifiable,
    warn_if_ill_conditioned,
)
from reticent.results import Shares
from reticent.tallies import PatternTally, SupportTally, Tally, WeightedTally, check_tallies, weighted, weights_of

Floats = NDArray[np.float64]


def moments(*tallies: Tally, form: Form = "centred", columns: Sequence[str] | None = None) -> Shares:
    """Shares from the mean of linear scores, with E[score | x] the x-th unit vector.

    For channels that support the answer with probability keep and every other category with probability stray, with
    γ the share of reports that support each category:

        affine  (γ − stray)/(keep − stray)        coordinate by coordinate; does not sum to 1
        centred (γ − mean γ)/(keep − stray) + 1/p  sums to 1 (default)
        inverse Q⁻¹γ, Q = (keep − stray) I + stray 11ᵀ

    Other channels: the efficient scores at equal shares; products: products of scores. `unconstrained` is this estimate,
    unbiased, maybe negative; `probabilities` its Euclidean projection on the simplex. The covariance is the sample
    covariance of the scores over n; from support counts, what the channel's law says at the estimate (the sample's where
    pairs of categories were counted); above 500 categories only standard errors are kept. Where the reports show no
    variance of a share (there is one report, or all are equal), all of it is what the law says at the projected estimate.

    Several tallies are averaged with weights n / trace of the covariance per report at equal shares, which do not depend
    on the reports: the average stays unbiased. Weighted tallies are strata of one sample: one weighted mean, with the
    linearised (sandwich) covariance. `columns` picks columns of a support tally; those must have been counted together,
    and the people who answered all of them count.

    Source: Wang and Ding, Subset Privacy (arXiv 2107.02013); sections 11.1 and 12 of our specification.
    Raises EstimateError for an empty tally, different domains, a channel that cannot identify the shares, or columns
    that were not counted together. Warns above a condition number of 1e6 of every channel.

    >>> import reticent as rt
    >>> channel = rt.uniform_subset(rt.Categorical("letter", ["a", "b", "c", "d"]))
    >>> tally = rt.PatternTally.from_counts(channel, {0b0011: 30, 0b1100: 10})
    >>> rt.moments(tally).unconstrained.round(6).tolist()
    [0.625, 0.625, -0.125, -0.125]
    """
    chosen = _chosen(tallies, columns)
    check_tallies(chosen)
    answered = [one for one in chosen if one.n]
    for one in answered:
        require_identifiable(one.channel)
    warn_if_ill_conditioned(*(one.channel for one in answered))
    if weighted(answered):
        linear = from_weights(answered, form)
    else:
        unweighted = [one for one in answered if isinstance(one, (PatternTally, SupportTally))]
        estimates = [
            from_support(one, form) if isinstance(one, SupportTally) else from_patterns(one, form) for one in unweighted
        ]
        linear = estimates[0] if len(estimates) == 1 else combined(estimates, unweighted, form)
    return Shares(
        domain=chosen[0].channel.domain,
        probabilities=simplex_projection(linear.mean),
        standard_errors=np.sqrt(np.maximum(linear.variances, 0.0)),
        covariance=linear.covariance,
        tallies=chosen,
        estimator="moments",
        unconstrained=linear.mean,
    )


def _chosen(tallies: tuple[Tally, ...], columns: Sequence[str] | None) -> tuple[Tally, ...]:
    if columns is not None and not all(isinstance(one, SupportTally) for one in tallies):
        raise EstimateError("columns= picks columns of support tallies; other tallies are of one question already.")
    if isinstance(columns, str):
        columns = (columns,)
    return tuple(chosen_columns(one, columns) if isinstance(one, SupportTally) else one for one in tallies)


def projected_moments(tallies: Sequence[PatternTally | WeightedTally]) -> Floats | None:
    """A cheap point on the simplex to start a solver from; None where there is no linear estimate."""
    total, weight = np.zeros(tallies[0].channel.n_categories), 0.0
    for tally in tallies:
        try:
            require_identifiable(tally.channel)
        except EstimateError:
            continue
        if not tally.n or not has_linear_scores(tally.channel):
            continue
        own = weights_of(tally)
        total, weight = total + _summed_scores(tally, own), weight + float(own.sum())
    return simplex_projection(total / weight) if weight else None


def _summed_scores(tally: PatternTally | WeightedTally, weights: Floats) -> Floats:
    """Σ weight · score; for channels with constant rates from the support counts, which needs no scores."""
    rates = distinct_rates(tally.channel)
    if rates is not None and isinstance(tally, PatternTally):
        gamma, spread = support_counts(tally), float(rates[0] - rates[1])
        return np.asarray((gamma - gamma.mean()) / spread + tally.n / len(gamma))
    total = np.zeros(tally.channel.n_categories)
    batch = max(1, BATCH // len(total))
    for first in range(0, len(tally.keys), batch):
        part = slice(first, first + batch)
        total += weights[part] @ linear_scores(tally.channel, tally.keys[part])
    return total
