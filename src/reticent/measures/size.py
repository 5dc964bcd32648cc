"""Size leakage: how much of the population a report rules out."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.channel import Channel, Subset, Table
from reticent.measures.enumeration import enough_draws, likelihood_rows, listable, sampled_rows
from reticent.measures.measure import ByCategory
from reticent.measures.prior import as_prior
from reticent.measures.sizes import kept_and_stray, sizes_of

Floats = NDArray[np.float64]


def size_leakage(channel: Channel, prior: Any) -> float:
    """Expected share of the population that a report rules out, 1 − E[w(S)] (1 − coverage).

    S is the set of answers that could have given the report; the answer itself leaves 1 − Σw². For subset designs that
    always hold the answer it is (1 − stray)(1 − Σw²). A probability.

    Source: Wang and Ding, Subset Privacy (section 7 of our specification).
    Raises ParameterError for a prior that is not a distribution.

    >>> from reticent.domain import Categorical
    >>> letters = Subset(Categorical("letter", ["a", "b", "c", "d"]))
    >>> round(size_leakage(letters, [0.5, 0.25, 0.15, 0.1]), 12)
    0.436666666667
    """
    weights = as_prior(channel.domain, prior).probabilities
    return float(weights @ size_by_category(channel, weights).values)


def size_by_category(channel: Channel, prior: Floats) -> ByCategory:
    """Expected share of the population ruled out by the report of an answer x."""
    if isinstance(channel, Subset):
        values = (1 - prior) * _excluded(channel)
        return ByCategory(values, 2 * values, "closed form")
    if isinstance(channel, Table) and channel.keep is not None:
        values = (1 - prior) if kept_and_stray(channel)[1] == 0 else np.zeros(len(prior))
        return ByCategory(values, 2 * values, "closed form")
    if listable(channel):
        values, gradient, _ = _sum_over_rows(likelihood_rows(channel), prior)
        return ByCategory(values, gradient, "exact")
    n_draws = enough_draws(channel)
    values, gradient, each = _sum_over_rows(sampled_rows(channel, prior, n_draws), prior)
    error = math.sqrt(n_draws) * float(each.std(ddof=1))
    return ByCategory(values, gradient, "Monte Carlo", error, n_draws)


def _excluded(channel: Subset) -> float:
    """Chance that the report of one category rules out one given other."""
    sizes = sizes_of(channel)
    if not sizes.ratio.any():
        return float(1 - channel.stray)
    by_holding = np.where(sizes.ratio == 0, sizes.hit * (sizes.p - sizes.size), 0.0)
    by_missing = np.where(np.isinf(sizes.ratio), sizes.miss * sizes.size, 0.0)
    return float((by_holding + by_missing).sum() / (sizes.p - 1))


def _sum_over_rows(rows: Iterable[Floats], prior: Floats) -> tuple[Floats, Floats, Floats]:
    values, fitting, each = np.zeros(len(prior)), np.zeros(len(prior)), []
    for chunk in rows:
        excluded = (chunk == 0) @ prior
        values += excluded @ chunk
        fitting += (chunk @ prior) @ (chunk > 0)
        each.append((chunk @ prior) * excluded)
    return values, values - fitting, np.concatenate(each)
