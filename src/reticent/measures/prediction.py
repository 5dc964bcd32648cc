"""Prediction and min-entropy leakage: how well the best guess does after a report."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.channel import Channel, Subset, Table
from reticent.measures.enumeration import enough_draws, likelihood_rows, listable, sampled_rows
from reticent.measures.measure import ByCategory, Unit, nonnegative, per_unit
from reticent.measures.prior import as_prior
from reticent.measures.sizes import kept_and_stray, sizes_of

Floats = NDArray[np.float64]
_NEGLIGIBLE = 1e-25
_TIE = 1 - 1e-12  # products of floats that should be equal may differ in the last digits


def prediction_leakage(channel: Channel, prior: Any) -> float:
    """Chance that the best guess after the report is right, Σ_z max_x w(x) P(z|x).

    Read it beside its floor max w: one guesses that well without any report. A probability.

    Source: Wang and Ding, Subset Privacy (section 7 of our specification, with the closed form for subset designs).
    Raises ParameterError for a prior that is not a distribution.

    >>> from reticent.domain import Categorical
    >>> letters = Subset(Categorical("letter", ["a", "b", "c", "d"]))
    >>> round(prediction_leakage(letters, [0.5, 0.25, 0.15, 0.1]), 12)
    0.716666666667
    """
    weights = as_prior(channel.domain, prior).probabilities
    return float(weights @ prediction_by_category(channel, weights).values)


def min_entropy_leakage(channel: Channel, prior: Any, unit: Unit = "nats") -> float:
    """How much a report multiplies the chance of a right guess, log( prediction / max w ). Nats, or bits.

    Source: Smith, On the foundations of quantitative information flow (2009).
    Raises ParameterError for a prior that is not a distribution.

    >>> from reticent.domain import Categorical
    >>> letters = Subset(Categorical("letter", ["a", "b", "c", "d"]))
    >>> round(min_entropy_leakage(letters, [0.25] * 4, unit="bits"), 12)
    1.0
    """
    weights = as_prior(channel.domain, prior).probabilities
    return per_unit(unit) * nonnegative(math.log(prediction_leakage(channel, weights) / weights.max()))


def prediction_by_category(channel: Channel, prior: Floats) -> ByCategory:
    """Chance that the best guess is right when the answer is x; among tied guesses each is as likely."""
    if isinstance(channel, Subset):
        values = _shared_by_ties(_ranked(_by_rank(channel, np.sort(prior)[::-1]), prior), prior)
        return ByCategory(values, values, "closed form")
    if isinstance(channel, Table) and channel.keep is not None:
        values = _shared_by_ties(_symmetric_table(channel, prior), prior)
        return ByCategory(values, values, "closed form")
    if listable(channel):
        values, _ = _sum_over_rows(likelihood_rows(channel), prior)
        return ByCategory(values, values, "exact")
    n_draws = enough_draws(channel)
    values, each = _sum_over_rows(sampled_rows(channel, prior, n_draws), prior)
    error = math.sqrt(n_draws) * float(each.std(ddof=1))
    return ByCategory(values, values, "Monte Carlo", error, n_draws)


def right_guess(rows: Floats, prior: Floats) -> Floats:
    """1 / (number of tied best guesses) where x is one of them, else 0; shape of `rows`."""
    joint = rows * prior
    best = joint >= joint.max(axis=1, keepdims=True) * _TIE
    return np.asarray(best / best.sum(axis=1, keepdims=True))


def _sum_over_rows(rows: Iterable[Floats], prior: Floats) -> tuple[Floats, Floats]:
    values, each = np.zeros(len(prior)), []
    for chunk in rows:
        values += (right_guess(chunk, prior) * chunk).sum(axis=0)
        each.append((chunk * prior).max(axis=1))
    return values, np.concatenate(each)


def _by_rank(channel: Subset, descending: Floats) -> Floats:
    """Probability of a right guess for the answer of each rank, most common first.

    A set without rank 1 is guessed by its first member i, or by rank 1 where missing sets are likely enough; a set
    with rank 1 by it, or by the first rank j outside. C(p−i, k−1)/C(p−1, k−1) of the sets start at i, and
    C(p−j, p−k−1)/C(p−1, p−k−1) leave out j first; both ratios follow by multiplication from the rank before.
    """
    sizes = sizes_of(channel)
    p, k, hit, miss = sizes.p, sizes.size, sizes.hit, sizes.miss
    outside = p - k
    # Mass of the sets without rank 1 if all were missing sets, and of those with it if all were hits.
    missed = np.divide(miss * k, outside, out=np.zeros_like(k), where=outside > 0)
    held = hit * outside / k
    values = np.zeros(p)
    values[0] = hit[outside == 0].sum() if miss.any() else hit.sum()
    first_in, first_out = np.ones(len(k)), np.ones(len(k))
    top = descending[0]
    for i in range(2, p + 1):
        w = descending[i - 1]
        first_in = first_in * np.maximum(p - i - k + 2, 0) / (p - i + 1)
        guess_member = hit * w >= missed * top
        values[i - 1] += first_in @ (hit * guess_member)
        values[0] += first_in @ (missed * ~guess_member)
        remaining = first_in @ (hit + missed)
        if miss.any():
            first_out = first_out * np.maximum(k - i + 2, 0) / (p - i + 1)
            guess_top = held * top >= miss * w
            values[0] += first_out @ (held * guess_top)
            values[i - 1] += first_out @ (miss * ~guess_top)
            remaining += first_out @ (held + miss)
        if remaining < _NEGLIGIBLE:
            break
    return values


def _ranked(values: Floats, prior: Floats) -> Floats:
    by_category = np.empty_like(values)
    by_category[np.argsort(-prior, kind="stable")] = values
    return by_category


def _shared_by_ties(values: Floats, prior: Floats) -> Floats:
    _, group, size = np.unique(prior, return_inverse=True, return_counts=True)
    return np.asarray((np.bincount(group, weights=values) / size)[group])


def _symmetric_table(channel: Table, prior: Floats) -> Floats:
    keep, stray = kept_and_stray(channel)
    second, top = np.argsort(prior, kind="stable")[-2:]
    rival = np.where(np.arange(len(prior)) == top, prior[second], prior[top])
    believed = keep * prior >= stray * rival
    values = keep * believed
    values[top] += stray * (~believed).sum() - stray * (not believed[top])
    values[second] += stray * (not believed[top])
    return np.asarray(values)
