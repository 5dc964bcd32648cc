"""How precise an estimate can be: information and asymptotic covariance of the estimators of the shares.

With K = P(report | x) and w the true shares, n·Cov → V:

    maximum likelihood, one step   V = J(w)⁻¹ − w wᵀ,           J(w) = Kᵀ diag(1/Kw) K
    moments with scores S          V = Sᵀ diag(Kw) S − w wᵀ,    Kᵀ S = I
    a sample of the answers        V = diag(w) − w wᵀ

Source: Wang and Ding, Subset Privacy (arXiv 2107.02013); sections 11 and 12 of our specification.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from reticent.channel import Channel
from reticent.errors import EstimateError, ParameterError
from reticent.keys import Keys
from reticent.measures.prior import as_prior

Floats = NDArray[np.float64]
Form = Literal["centred", "inverse", "affine"]
Estimator = Literal["maximum_likelihood", "moments", "sample"]
LISTED = 2**22


def lists_its_reports(channel: Channel) -> bool:
    """Whether all reports of the channel fit in memory as a dense matrix."""
    return channel.n_reports * channel.n_categories <= LISTED


def information(matrix: Floats, shares: Floats) -> Floats:
    """J(w) = Kᵀ diag(1/Kw) K per report, shape `(p, p)`; reports of probability 0 carry none."""
    chance = matrix @ shares
    weighted = np.divide(matrix, chance[:, None], out=np.zeros_like(matrix), where=chance[:, None] > 0)
    return np.asarray(matrix.T @ weighted)


def rank(channel: Channel) -> int:
    """Rank of the channel: the shares can be told from reports only when it equals the number of categories."""
    rates = channel.support_rates
    if rates is not None:
        return channel.n_categories if rates[0] != rates[1] else 1
    if not lists_its_reports(channel):
        return channel.n_categories
    uniform = np.full(channel.n_categories, 1 / channel.n_categories)
    return int(np.linalg.matrix_rank(information(channel.matrix(), uniform), hermitian=True, tol=1e-10))


def require_identifiable(channel: Channel) -> None:
    """Raises EstimateError when different shares give the same reports."""
    found = rank(channel)
    if found < channel.n_categories:
        raise EstimateError(
            f'{channel.name} on "{channel.domain.name}" has rank {found} of {channel.n_categories}: different shares give '
            "the same reports, so they cannot be estimated. Use a channel whose reports tell the categories apart.",
            rank=found,
        )


def linear_scores(channel: Channel, keys: Keys, form: Form = "centred") -> Floats:
    """Scores s(report), shape `(n_reports, p)`, whose mean over reports estimates the shares without bias.

    Channels with constant support rates: (1_A − stray)/(keep − stray) is "affine"; "centred" moves it to sum 1;
    "inverse" is Q⁻¹ 1_A. Others: the efficient scores at equal shares, K-weighted, which sum to 1.
    """
    if form not in ("centred", "inverse", "affine"):
        raise ParameterError(f'form is {form!r}; allowed: "centred", "inverse", "affine".', form=form)
    require_identifiable(channel)
    p, rates = channel.n_categories, channel.support_rates
    if rates is None:
        return _efficient_scores(channel, keys)
    keep, spread = float(rates[0]), float(rates[0] - rates[1])
    stray = float(rates[1])
    support = channel.support(keys).astype(np.float64)
    if form == "affine":
        return np.asarray((support - stray) / spread)
    size = support.sum(axis=1, keepdims=True)
    if form == "centred":
        return np.asarray((support - size / p) / spread + 1 / p)
    return np.asarray((support - size * (stray / (keep - stray + p * stray))) / spread)


def _efficient_scores(channel: Channel, keys: Keys) -> Floats:
    if not lists_its_reports(channel):
        raise EstimateError(f"{channel.name} has too many reports to invert; use maximum_likelihood.")
    p = channel.n_categories
    uniform = np.full(p, 1 / p)
    rows = channel.likelihood(keys)
    inverse = np.linalg.inv(information(channel.matrix(), uniform))
    return np.asarray((rows / (rows @ uniform)[:, None]) @ inverse)


def asymptotic_covariance(
    channel: Channel, shares: Any, estimator: Estimator = "maximum_likelihood", form: Form = "centred"
) -> Floats:
    """n · Cov of an estimator of the shares when the true shares are `shares`, shape `(p, p)`.

    Divide by the number of respondents and take roots of the diagonal for standard errors. "sample" is what the raw
    answers of the same respondents would give.

    Raises EstimateError for a channel that does not identify the shares or has too many reports to list;
    ParameterError for an estimator that is not known or shares that are not a distribution.

    >>> from reticent.mechanisms import uniform_subset
    >>> from reticent.domain import Categorical
    >>> channel = uniform_subset(Categorical("letter", ["a", "b", "c", "d"]))
    >>> float(asymptotic_covariance(channel, [0.5, 0.25, 0.15, 0.1])[0, 0].round(6))
    0.49125
    """
    w = as_prior(channel.domain, shares).probabilities
    if estimator == "sample":
        return np.diag(w) - np.outer(w, w)
    if estimator not in ("maximum_likelihood", "moments"):
        raise ParameterError(f'estimator is {estimator!r}; allowed: "maximum_likelihood", "moments", "sample".')
    require_identifiable(channel)
    if not lists_its_reports(channel):
        raise EstimateError(
            f"{channel.name} on {channel.n_categories} categories has too many reports to list; its exact covariance is "
            "not computed. The covariance of an estimate from reports is.",
        )
    matrix = channel.matrix()
    if estimator == "maximum_likelihood":
        return np.linalg.inv(information(matrix, w)) - np.outer(w, w)
    scores = linear_scores(channel, channel.keys(), form)
    return np.asarray(scores.T @ ((matrix @ w)[:, None] * scores)) - np.outer(w, w)


def membership_rates(channel: Channel) -> tuple[Fraction, Fraction]:
    """(keep, stray) of the channel. Raises EstimateError when it has no constant pair."""
    rates = channel.support_rates
    if rates is None or rates[0] == rates[1]:
        raise EstimateError(
            f"{channel.name} has no pair of constant support rates, which a Clopper–Pearson interval needs. "
            'Use method="profile".'
        )
    return rates
