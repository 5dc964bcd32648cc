"""The linear estimate from one tally of reports, of support counts, or from weighted tallies, with its covariance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod

import numpy as np
from numpy.typing import NDArray

from reticent.channel import Channel
from reticent.errors import EstimateError
from reticent.estimators.sandwich import sandwich
from reticent.estimators.support_scores import ScoreLaw, score_law, second_at_equal_shares
from reticent.likelihood import simplex_projection
from reticent.precision import Form, asymptotic_covariance, linear_scores, lists_its_reports, require_identifiable
from reticent.tallies import PatternTally, SupportTally, WeightedTally, parts_of

Floats = NDArray[np.float64]
MANY_CATEGORIES = 500
BATCH = 2**22
QUIET = 1e-12  # a variance below this share of 1 + mean² is rounding


@dataclass(frozen=True)
class Linear:
    """An unbiased estimate with its variances, and its covariance where that is kept."""

    mean: Floats
    variances: Floats
    covariance: Floats | None


def from_patterns(tally: PatternTally, form: Form) -> Linear:
    """The mean of the scores, and their sample covariance over n (variances only above 500 categories)."""
    p = tally.channel.n_categories
    few = p <= MANY_CATEGORIES
    mean, second = np.zeros(p), np.zeros((p, p) if few else p)
    weights = tally.counts / tally.n
    batch = max(1, BATCH // p)
    for first in range(0, len(tally.keys), batch):
        part = slice(first, first + batch)
        scores = linear_scores(tally.channel, tally.keys[part], form)
        mean += weights[part] @ scores
        second += scores.T @ (weights[part, None] * scores) if few else weights[part] @ scores**2
    covariance = (second - (np.outer(mean, mean) if few else mean**2)) / tally.n
    return _never_certain(_linear(mean, covariance), [(tally.channel, 1 / tally.n)], form)


def from_weights(tallies: Sequence[WeightedTally], form: Form) -> Linear:
    """The weighted mean of the scores over all strata, with its linearised covariance."""
    for tally in tallies:
        require_identifiable(tally.channel)
    total = sum(tally.total_weight for tally in tallies)
    p = tallies[0].channel.n_categories
    mean = np.zeros(p)
    batch = max(1, BATCH // p)
    for tally in tallies:
        for first in range(0, len(tally.keys), batch):
            part = slice(first, first + batch)
            mean += tally.weights[part] @ linear_scores(tally.channel, tally.keys[part], form) / total

    def influence(tally: WeightedTally, part: slice) -> Floats:
        return linear_scores(tally.channel, tally.keys[part], form) - mean

    linear = _linear(mean, sandwich(tallies, influence, p <= MANY_CATEGORIES))
    return _never_certain(linear, [(tally.channel, float(tally.squares.sum()) / total**2) for tally in tallies], form)


def from_support(tally: SupportTally, form: Form) -> Linear:
    """The estimate of all the tally's columns together; the tally must have counted that set.

    Scores multiply over the columns, and every score is a line in the counts, so the counts of a set and of its smaller
    sets give the mean of any form. E[score²] is a line in the shares for each column, so the same counts give the
    variances (for the affine form exactly those of the sample). Up to 500 cells the covariance follows from the law of
    the channels at the estimate; where pairs of categories were counted, it is that of the sample.
    """
    return _never_certain(_from_support(tally, form), [(tally.channel, 1 / tally.n)], form)


def _from_support(tally: SupportTally, form: Form) -> Linear:
    columns = tally.columns
    laws = [score_law(part, form) for part in parts_of(tally.channel)]
    means = {one: _mean(tally, one, form) for one in _within(columns)}
    mean = means[columns]
    paired = columns * 2 if len(columns) == 1 and columns * 2 in tally.sets else None
    if paired:
        n, pairs = tally.support(*paired)
        gamma = tally.support(*columns)[1] / n
        return _linear(mean, laws[0].covariance_of(pairs / n - np.outer(gamma, gamma)) / n)
    variances = ((_squares(means, columns, laws) - mean**2) / tally.n).ravel()
    mean = mean.ravel()
    if mean.size > MANY_CATEGORIES:
        return Linear(mean, variances, None)
    shares = _mean(tally, columns, "centred")
    covariance = (_second(shares, laws) - np.outer(mean, mean)) / tally.n
    np.fill_diagonal(covariance, variances)
    return Linear(mean, variances, covariance)


def _linear(mean: Floats, covariance: Floats) -> Linear:
    """From a covariance, or from variances alone."""
    if covariance.ndim == 1:
        return Linear(mean, covariance, None)
    return Linear(mean, np.diag(covariance), covariance)


def _never_certain(linear: Linear, parts: Sequence[tuple[Channel, float]], form: Form) -> Linear:
    """The estimate, with the covariance by the law of the channels where the sample shows none.

    Equal reports, or a single one, have no sample variance in a share, and yet say nothing certain through a channel that
    hides answers. The covariance is then that of the scores when the shares are the projected estimate, Σ part · V; each
    part is the sum of the squared weights of that channel's reports over the squared sum of all weights, 1/n without
    weights. A channel that hides nothing keeps its 0, and variances that have no formula are NaN.
    """
    reports = 1 / sum(part for _, part in parts)
    rounding = QUIET * (1 + linear.mean**2)
    quiet = linear.variances * reports <= rounding
    if not quiet.any():
        return linear
    shares, full = simplex_projection(linear.mean), linear.covariance is not None
    law = np.sum([part * _law_covariance(channel, shares, form, full) for channel, part in parts], axis=0)
    certain = (np.diag(law) if full else law) * reports <= rounding
    return linear if certain[quiet].all() else _linear(linear.mean, law)


def _law_covariance(channel: Channel, shares: Floats, form: Form, full: bool) -> Floats:
    """Covariance of the scores of one report when these are the shares; without `full` its diagonal."""
    try:
        laws = [score_law(part, form) for part in parts_of(channel)]
    except EstimateError:
        if not lists_its_reports(channel):
            return np.full((len(shares),) * (2 if full else 1), np.nan)
        covariance = asymptotic_covariance(channel, shares, "moments", form)
        return covariance if full else np.diag(covariance)
    table = shares.reshape([law.p for law in laws])
    if full:
        return _second(table, laws) - np.outer(shares, shares)
    names = tuple(part.domain.name for part in parts_of(channel))
    margins = {
        one: table.sum(axis=tuple(axis for axis, name in enumerate(names) if name not in one)) for one in _within(names)
    }
    return np.asarray(_squares(margins, names, laws).ravel() - shares**2)


def _squares(means: Mapping[tuple[str, ...], Floats], columns: tuple[str, ...], laws: Sequence[ScoreLaw]) -> Floats:
    """E[score²] of the products of scores, from the shares of every set of columns."""
    squares = np.zeros([law.p for law in laws])
    for one, shares in means.items():
        factor = prod(
            law.squares()[1] if name in one else law.squares()[0] for name, law in zip(columns, laws, strict=True)
        )
        squares = squares + factor * shares[tuple(slice(None) if name in one else None for name in columns)]
    return squares


def combined(estimates: Sequence[Linear], tallies: Sequence[PatternTally | SupportTally], form: Form) -> Linear:
    """Estimates of the same shares, averaged by n over the trace of n · covariance at equal shares.

    These weights do not depend on the reports, so the average stays unbiased.
    """
    precision = [
        tally.n / (second_at_equal_shares(tally.channel, form) - 1 / tally.channel.n_categories) for tally in tallies
    ]
    shares = np.array(precision) / sum(precision)
    covariances = [one.covariance for one in estimates]
    kept = [matrix for matrix in covariances if matrix is not None]
    return Linear(
        np.sum([a * one.mean for a, one in zip(shares, estimates, strict=True)], axis=0),
        np.sum([a**2 * one.variances for a, one in zip(shares, estimates, strict=True)], axis=0),
        None
        if len(kept) < len(estimates)
        else np.sum([a**2 * one for a, one in zip(shares, kept, strict=True)], axis=0),
    )


def chosen_columns(tally: SupportTally, columns: Sequence[str] | None) -> SupportTally:
    """The tally of the columns asked for, by default all; raises EstimateError when they were not counted together."""
    wanted = tuple(columns) if columns is not None else tally.columns
    if tuple(sorted(wanted)) not in {tuple(sorted(one)) for one in tally.sets} or len(set(wanted)) < len(wanted):
        counted = ", ".join(repr(one) for one in tally.sets if len(set(one)) == len(one))
        raise EstimateError(
            f"{' × '.join(wanted)} was not counted together. Choose columns= from {counted}, or tally the reports again "
            f"with sets=[{wanted!r}]."
        )
    return tally.only(*wanted)


def _mean(tally: SupportTally, one: tuple[str, ...], form: Form) -> Floats:
    """Mean of the product of the scores of some columns over the people who answered all, shape of their categories."""
    laws = {part.domain.name: score_law(part, form) for part in parts_of(tally.channel)}
    total = np.zeros([laws[name].p for name in one])
    for counted in _within(one):
        n, support = tally.support(*counted, among=tally.columns) if counted else (1, np.ones(()))
        gamma = support / n  # of no column: 1, the chance of anything
        for axis, name in enumerate(counted):
            moved = np.moveaxis(gamma, axis, 0)
            gamma = np.moveaxis(laws[name].mean(moved) - laws[name].e, 0, axis)
        constant = prod(laws[name].e for name in one if name not in counted)
        total = total + constant * gamma[tuple(slice(None) if name in counted else None for name in one)]
    return total


def _within(columns: tuple[str, ...]) -> list[tuple[str, ...]]:
    """All sets of these columns, the empty one first."""
    return [one for size in range(len(columns) + 1) for one in combinations(columns, size)]


def _second(shares: Floats, laws: Sequence[ScoreLaw]) -> Floats:
    """E[s sᵀ] of the products of scores, shape `(n_cells, n_cells)`, when the cells have these shares."""
    moments = shares
    for law in laws:  # the first axis goes, and two come at the end
        second = law.second(moments)
        moments = np.moveaxis(second, (0, 1), (-2, -1))
    order = [*range(0, moments.ndim, 2), *range(1, moments.ndim, 2)]
    return moments.transpose(order).reshape(shares.size, shares.size)
