"""Mutual information between answer and report."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from reticent.channel import Channel, Subset, Table
from reticent.measures.enumeration import drawn_keys, enough_draws, likelihood_rows, listable, sampled_rows
from reticent.measures.measure import ByCategory, Method, Unit, nonnegative, per_unit
from reticent.measures.prior import as_prior
from reticent.measures.sizes import kept_and_stray, sizes_of
from reticent.rows import MaskRows

Floats = NDArray[np.float64]
_EXACT_CATEGORIES = 20


def mutual_information(channel: Channel, prior: Any, unit: Unit = "nats", n_draws: int | None = None) -> float:
    """What a report tells about the answer on average, I = Σ_x w(x) Σ_z P(z|x) log( P(z|x) / P(z) ).

    For subset designs it is E[−log w(A)]; for independent ones the mean entropy of the yes/no question, at most 1 bit.
    Exact while the reports can be listed (subset designs: up to 20 categories), else a mean of up to 200,000 draws with
    a fixed seed, whose error `leakage` states. `n_draws` asks for draws in any case. Nats, or bits.

    Source: Wang and Ding, Subset Privacy (section 7 of our specification).
    Raises ParameterError for a prior that is not a distribution.

    >>> from reticent.domain import Categorical
    >>> letters = Subset(Categorical("letter", ["a", "b", "c", "d"]))
    >>> round(mutual_information(letters, [0.5, 0.25, 0.15, 0.1], unit="bits"), 12)
    0.905432258096
    """
    factor, weights = per_unit(unit), as_prior(channel.domain, prior).probabilities
    return factor * nonnegative(float(weights @ information_by_category(channel, weights, n_draws).values))


def information_by_category(channel: Channel, prior: Floats, n_draws: int | None = None) -> ByCategory:
    """Expected log( P(z|x) / P(z) ) of an answer x, in nats; zero-probability reports are skipped."""
    if n_draws is None and isinstance(channel, Table) and channel.keep is not None:
        return _exact(_symmetric_table(channel, prior), "closed form")
    if n_draws is None and isinstance(channel, Subset) and len(channel.domain) <= _EXACT_CATEGORIES:
        return _exact(_every_subset(channel, prior))
    if n_draws is None and listable(channel):
        return _exact(_sum_over_rows(likelihood_rows(channel), prior)[0])
    n_draws = enough_draws(channel) if n_draws is None else n_draws
    if isinstance(channel, Subset):
        values, each = _drawn_subsets(channel, prior, n_draws)
    else:
        values, each = _sum_over_rows(sampled_rows(channel, prior, n_draws), prior)
        each = each * n_draws
    return ByCategory(values, values, "Monte Carlo", float(each.std(ddof=1) / np.sqrt(n_draws)), n_draws)


def _exact(values: Floats, method: Method = "exact") -> ByCategory:
    return ByCategory(values, values, method)


def log_ratio(numerator: Floats, denominator: Floats) -> Floats:
    """numerator · log(numerator / denominator), 0 where either is 0."""
    possible = (numerator > 0) & (denominator > 0)
    return np.asarray(
        xlogy(numerator * possible, np.divide(numerator, denominator, out=np.ones_like(numerator), where=possible))
    )


def _sum_over_rows(rows: Iterable[Floats], prior: Floats) -> tuple[Floats, Floats]:
    values, each = np.zeros(len(prior)), []
    for chunk in rows:
        terms = log_ratio(chunk, np.broadcast_to((chunk @ prior)[:, None], chunk.shape))
        values += terms.sum(axis=0)
        each.append(terms @ prior)
    return values, np.concatenate(each)


def _symmetric_table(channel: Table, prior: Floats) -> Floats:
    keep, stray = kept_and_stray(channel)
    own, other = np.full(len(prior), keep), np.full(len(prior), stray)
    reported = other + (keep - stray) * prior
    strayed = log_ratio(other, reported)
    return np.asarray(log_ratio(own, reported) + strayed.sum() - strayed)


def _every_subset(channel: Subset, prior: Floats) -> Floats:
    # Sums over all 2^p sets, by doubling: the sets with and without one more category.
    p = len(prior)
    inside = np.zeros(1)
    for weight in prior:
        inside = np.concatenate([inside, inside + weight])
    size = np.bitwise_count(np.arange(2**p, dtype=np.uint32))
    hit, miss = (
        np.array([float(law.get(k, 0)) for k in range(p + 1)])[size]
        for law in (channel.hit_by_size(), channel.miss_by_size())
    )
    total = hit * inside + miss * inside[::-1]  # the complement of set i is set 2^p − 1 − i
    held, missed = log_ratio(hit, total), log_ratio(miss, total)
    return np.array([_with_bit(held, x, 1) + _with_bit(missed, x, 0) for x in range(p)])


def _with_bit(values: Floats, bit: int, value: int) -> float:
    return float(values.reshape(-1, 2, 2**bit)[:, value, :].sum())


def _drawn_subsets(channel: Subset, prior: Floats, n_draws: int) -> tuple[Floats, Floats]:
    p = len(prior)
    ratio = np.zeros(p + 1)
    sizes = sizes_of(channel)
    ratio[sizes.size.astype(int)] = sizes.ratio
    values, each = np.zeros(p), []
    for keys in drawn_keys(channel, prior, n_draws):
        rows = MaskRows(keys, p)
        inside = rows.mv(prior)
        outside = np.clip(1 - inside, 0.0, None)
        if channel.independent:
            # The pair {A, complement} has the same law whatever the answer: average over which side it is on.
            held, missed = -_log(inside), -_log(outside)
            each.append(inside * held + outside * missed)
        else:
            r = ratio[_popcount(keys)]
            with np.errstate(divide="ignore", invalid="ignore"):
                lift = np.where(np.isinf(r), 0.0, 1 / (inside + np.where(np.isinf(r), 0.0, r) * outside))
                lift_missed = np.where(np.isinf(r), 1 / outside, r * lift)
            held, missed = xlogy(lift, lift), xlogy(lift_missed, lift_missed)
            each.append(inside * held + outside * missed)
        values += rows.rmv(held - missed) + missed.sum()
    return values / n_draws, np.concatenate(each)


def _log(values: Floats) -> Floats:
    return np.log(values, out=np.zeros_like(values), where=values > 0)


def _popcount(keys: NDArray[Any]) -> NDArray[np.int64]:
    bits = np.bitwise_count(keys).astype(np.int64)
    return bits if keys.ndim == 1 else np.asarray(bits.sum(axis=1))
