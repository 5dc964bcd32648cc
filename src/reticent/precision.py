"""How precise an estimate can be: information and asymptotic covariance of the estimators of the shares.

With K = P(report | x) and w the true shares, n·Cov → V:

    maximum likelihood, one step   V = J(w)⁻¹ − w wᵀ,           J(w) = Kᵀ diag(1/Kw) K
    moments with scores S          V = Sᵀ diag(Kw) S − w wᵀ,    Kᵀ S = I
    a sample of the answers        V = diag(w) − w wᵀ

Source: Wang and Ding, Subset Privacy (arXiv 2107.02013); sections 11 and 12 of our specification.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from math import inf, prod
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import null_space

from reticent.channel import Channel, Product, Progressive, Ranges, Refusable, Subset, Table, Transformed
from reticent.errors import EstimateError, ParameterError
from reticent.keys import Keys
from reticent.measures.prior import as_prior
from reticent.measures.sizes import sizes_of
from reticent.rows import DenseRows, KroneckerRows

Floats = NDArray[np.float64]
Form = Literal["centred", "inverse", "affine"]
Estimator = Literal["maximum_likelihood", "moments", "sample"]
LISTED = 2**22
ILL_CONDITIONED = 1e6
ROUNDING = 1e-13  # an eigenvalue of J below this share of the largest is 0


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
    return _curvature(channel)[0]


def condition_number(channel: Channel) -> float:
    """How unevenly a channel tells shares apart: largest over smallest eigenvalue of J(w) at equal shares w.

    Infinite when the shares cannot be told from reports. Where reports are too many and J has no closed form, that of
    Q = (P(j supported | x)), or NaN. Source: section 10 of our specification.
    """
    return _curvature(channel)[1]


@lru_cache(maxsize=256)
def _curvature(channel: Channel) -> tuple[int, float]:
    """Rank and condition number of J at equal shares, whose largest eigenvalue is p."""
    p = channel.n_categories
    if isinstance(channel, Product):
        parts = [_curvature(part) for part in channel.channels]
        return prod(own for own, _ in parts), prod(number for _, number in parts)
    if _symmetric(channel):
        told = _told_apart(channel)
        return (p, p / told) if told > 0 else (1, inf)
    if lists_its_reports(channel):
        values = np.linalg.eigvalsh(_information_at_equal_shares(channel))
        kept = values > ROUNDING * p
        return int(kept.sum()), p / float(values[0]) if kept.all() else inf
    rates = distinct_rates(channel)
    if rates is None:
        return p, float("nan")
    spread, along = abs(float(rates[0] - rates[1])), float(rates[0] + (p - 1) * rates[1])
    return p, max(spread, along) / min(spread, along)


def _symmetric(channel: Channel) -> bool:
    """Whether the law is the same after any renaming of the categories, in a form whose J is known."""
    return isinstance(channel, Subset) or (isinstance(channel, Table) and channel.keep is not None)


def _told_apart(channel: Channel) -> float:
    """The eigenvalue of J at equal shares that all vectors of sum 0 share, for symmetric channels.

    p/(p−1) Σ_k (h_k (p−k) − m_k k)² / (k (p−k) (h_k + m_k)), h_k and m_k the chances of a set of size k with and without
    the answer; randomised response reports sets of one category.
    """
    p = channel.n_categories
    if isinstance(channel, Subset):
        law = sizes_of(channel)
        some = (law.size < p) & (law.hit + law.miss > 0)
        k, hit, miss = law.size[some], law.hit[some], law.miss[some]
    else:
        kept, stray = (float(rate) for rate in channel.support_rates or (0, 0))
        k, hit, miss = np.ones(1), np.array([kept]), np.array([(p - 1) * stray])
    excess = (hit * (p - k) - miss * k) ** 2 / (k * (p - k) * (hit + miss))
    told = float(p * excess.sum() / (p - 1))
    return told if told > ROUNDING * ROUNDING else 0.0


def _information_at_equal_shares(channel: Channel) -> Floats:
    """J at equal shares, shape `(p, p)`; the identity for a channel too large to say."""
    p = channel.n_categories
    if isinstance(channel, Product):
        parts = [DenseRows(_information_at_equal_shares(part)) for part in channel.channels]
        cells = np.unravel_index(np.arange(p), [part.n_rows for part in parts])
        return KroneckerRows(parts, list(cells)).dense()
    if _symmetric(channel):
        told = _told_apart(channel)
        return told * np.eye(p) + (1 - told / p)
    return information(channel.matrix(), np.full(p, 1 / p)) if lists_its_reports(channel) else np.eye(p)


def distinct_rates(channel: Channel) -> tuple[Fraction, Fraction] | None:
    """(keep, stray) of a channel with constant support rates that differ; None for any other."""
    rates = channel.support_rates
    return None if rates is None or rates[0] == rates[1] else rates


def has_linear_scores(channel: Channel) -> bool:
    """Whether `linear_scores` works: support rates that differ, few enough reports to list, or a product of such."""
    if isinstance(channel, Product):
        return all(has_linear_scores(part) for part in channel.channels)
    return distinct_rates(channel) is not None or lists_its_reports(channel)


def require_identifiable(*channels: Channel) -> None:
    """Raises EstimateError when different shares give the same reports, of every one of these channels."""
    different = list(dict.fromkeys(channels))
    p, found = different[0].n_categories, max(rank(one) for one in different)
    if found < p and sum(rank(one) - 1 for one in different) >= p - 1:
        together = np.sum([_information_at_equal_shares(one) for one in different], axis=0)
        found = int((np.linalg.eigvalsh(together) > ROUNDING * p).sum())
    if found < p:
        raise EstimateError(
            f"{_names(different)} has rank {found} of {p}: different shares give "
            f"the same reports, so they cannot be estimated. {_remedy(different)}",
            rank=found,
        )


def _remedy(channels: Sequence[Channel]) -> str:
    """What to do about channels that do not identify the shares, with the categories they confuse where those are known."""
    if any(isinstance(one, Refusable) for one in channels):
        return "Nothing is known of the values of people who refuse; nonresponse(tally) says what can be said."
    remedy = "Use a channel whose reports tell the categories apart."
    known = [one.unresolved for one in channels if isinstance(one, (Progressive, Ranges, Transformed))]
    if len(known) < len(channels) or not known[0]:
        return remedy
    confused = [label for label in known[0] if all(label in other for other in known)]
    listed = ", ".join(f'"{label}"' for label in confused[:5]) + (", …" if len(confused) > 5 else "")
    return f"Not told apart: {listed}. {remedy}" if confused else remedy


def warn_if_ill_conditioned(*channels: Channel) -> None:
    """Warns when every channel that identifies the shares by itself has a condition number above 1e6."""
    numbers = [number for number in map(condition_number, channels) if number < inf]
    if numbers and min(numbers) > ILL_CONDITIONED:
        warnings.warn(
            f"{_names(channels)} has condition number {min(numbers):.1e}: some differences between shares hardly change the "
            "reports, so it takes very many to see them. Prefer a channel that tells the categories apart better.",
            stacklevel=3,
        )


def _names(channels: Sequence[Channel]) -> str:
    names = dict.fromkeys(channel.name for channel in channels)
    return f'{" with ".join(names)} on "{channels[0].domain.name}"'


def linear_scores(channel: Channel, keys: Keys, form: Form = "centred") -> Floats:
    """Scores s(report), shape `(n_reports, p)`, whose mean over reports estimates the shares without bias.

    Channels with constant support rates: (1_A − stray)/(keep − stray) is "affine"; "centred" moves it to sum 1;
    "inverse" is Q⁻¹ 1_A. Others: the efficient scores at equal shares, K-weighted, which sum to 1. A product's scores
    are the Kronecker products of its parts'.
    """
    if form not in ("centred", "inverse", "affine"):
        raise ParameterError(f'form is {form!r}; allowed: "centred", "inverse", "affine".', form=form)
    require_identifiable(channel)
    if isinstance(channel, Product):
        parts = zip(channel.channels, channel.split(keys), strict=True)
        one_each = np.arange(len(keys))
        scores = [DenseRows(linear_scores(part, own, form)) for part, own in parts]
        return KroneckerRows(scores, [one_each] * len(scores)).dense()
    p, rates = channel.n_categories, distinct_rates(channel)
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
        return _efficient_covariance(matrix, w)
    scores = linear_scores(channel, channel.keys(), form)
    return np.asarray(scores.T @ ((matrix @ w)[:, None] * scores)) - np.outer(w, w)


def _efficient_covariance(matrix: Floats, w: Floats) -> Floats:
    """J⁻¹ − wwᵀ, with its limit where some reports never come: what they would say of the shares is then known."""
    never = matrix[matrix @ w <= 0]
    inside = information(matrix, w)
    if not never.any():
        return np.linalg.inv(inside) - np.outer(w, w)
    free = null_space(never)
    return np.asarray(free @ np.linalg.inv(free.T @ inside @ free) @ free.T - np.outer(w, w))


def membership_rates(channel: Channel) -> tuple[Fraction, Fraction]:
    """(keep, stray) of the channel. Raises EstimateError when it has no constant pair."""
    rates = distinct_rates(channel)
    if rates is None:
        raise EstimateError(
            f"{channel.name} has no pair of constant support rates, which a Clopper–Pearson interval needs. "
            'Use method="profile".'
        )
    return rates
