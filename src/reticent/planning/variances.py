"""Variances before anybody has answered: at expected shares, or the largest over all shares.

Unbiased scores s_j(report) with second moments m_jx = E[s_j² | x] give per answer

    Var_j(w) = Σ_x m_jx w_x − w_j²,      total(w) = Σ_j Var_j(w) = Σ_x w_x Σ_j m_jx − Σ_j w_j².

Both are concave, so their largest values over the simplex are exact: for Var_j put w_j = t on j and the rest on the other
category with the largest m_jx, and t = (m_jj − max m_jx)/2 within 0..1; for the total w is the projection of
½ Σ_j m_jx on the simplex. No unbiased estimate is asymptotically better than maximum likelihood, so these bound its
variance as well. Letters of section 12 of our specification: p = n_categories, h_k, m_k = chance that a set has k members and
holds, or misses, the answer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from reticent.channel import Channel, Product, Subset, Table
from reticent.likelihood import simplex_projection
from reticent.measures.sizes import sizes_of
from reticent.precision import (
    asymptotic_covariance,
    linear_scores,
    lists_its_reports,
    membership_rates,
    require_identifiable,
)

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SecondMoments:
    """m_jx of unbiased scores: `own` = m_jj, `other` = the largest m_jx of another x = `rival`, `total` = Σ_j m_jx by x.

    `mean(w)` = Σ_x m_jx w_x by j. All have shape `(n_categories,)`.
    """

    own: Floats
    other: Floats
    rival: NDArray[np.intp]
    total: Floats
    mean: Callable[[Floats], Floats]

    def variances(self, shares: Floats) -> Floats:
        """Var_j(w) by category, per answer."""
        return np.maximum(self.mean(shares) - shares**2, 0.0)

    def worst(self) -> Floats:
        """The largest Var_j(w) over all shares, for each category on its own."""
        t = self._worst_share()
        return self.other + (self.own - self.other) * t - t**2

    def _worst_share(self) -> Floats:
        return np.clip((self.own - self.other) / 2, 0.0, 1.0)

    def worst_shares(self, j: int) -> Floats:
        """Shares at which category j is hardest to estimate."""
        shares, t = np.zeros(len(self.own)), self._worst_share()[j]
        shares[self.rival[j]] = 1 - t
        shares[j] = t
        return shares

    def worst_total_shares(self) -> Floats:
        """Shares with the largest total variance."""
        return np.asarray(simplex_projection(self.total / 2))


def second_moments(channel: Channel) -> SecondMoments:
    """m_jx of the scores of `moments`: closed forms for subsets, randomised response and products, else all reports.

    Raises EstimateError when the channel does not identify the shares, or has too many reports and no closed form.
    """
    require_identifiable(channel)
    if isinstance(channel, Product):
        return reduce(_product, (second_moments(part) for part in channel.channels))
    if isinstance(channel, Subset) or (isinstance(channel, Table) and channel.keep is not None):
        return _symmetric(*_centred(channel), channel.n_categories)
    if lists_its_reports(channel):
        scores = linear_scores(channel, channel.keys())
        return _dense((scores**2).T @ channel.matrix())
    keep, stray = (float(rate) for rate in membership_rates(channel))  # the affine scores
    own = (keep * (1 - stray) ** 2 + (1 - keep) * stray**2) / (keep - stray) ** 2
    return _symmetric(own, stray * (1 - stray) / (keep - stray) ** 2, channel.n_categories)


def open_moments(n_categories: int) -> SecondMoments:
    """m_jx when the answers themselves are counted: 1 for x = j, else 0."""
    return _symmetric(1.0, 0.0, n_categories)


def likelihood_variances(channel: Channel, shares: Floats) -> Floats | None:
    """Var_j of maximum likelihood at these shares, per answer; None where it is not known.

    It is not known for a share of 0 (there it is no normal law) and for many reports without a closed form: subset
    channels have one at equal shares, randomised response everywhere.
    """
    if (shares <= 0).any():
        return None
    if isinstance(channel, Table) and channel.keep is not None:
        return second_moments(channel).variances(shares)  # as many reports as categories: every estimate is the same
    if lists_its_reports(channel):
        return np.maximum(np.diag(asymptotic_covariance(channel, shares)), 0.0)
    if isinstance(channel, Subset) and np.ptp(shares) <= 1e-12:
        p = channel.n_categories
        return np.full(p, (p - 1) ** 2 / (p**2 * _excess(channel)))
    return None


def _size_law(channel: Subset | Table) -> tuple[Floats, Floats, Floats]:
    """k, h_k and m_k; randomised response reports sets of one category."""
    if isinstance(channel, Subset):
        sizes = sizes_of(channel)
        return sizes.size, sizes.hit, sizes.miss
    assert channel.keep is not None
    kept = channel.keep / 2**64
    return np.ones(1), np.array([kept]), np.array([1 - kept])


def _excess(channel: Subset | Table) -> float:
    """J_jj − 1 at equal shares: Σ_k (h_k (p−k) − m_k k)² / (k (p−k) (h_k + m_k)) over k < p."""
    p, (k, hit, miss) = channel.n_categories, _size_law(channel)
    k, hit, miss = (column[(k < p) & (hit + miss > 0)] for column in (k, hit, miss))
    return float(((hit * (p - k) - miss * k) ** 2 / (k * (p - k) * (hit + miss))).sum())


def _centred(channel: Subset | Table) -> tuple[float, float]:
    """m_jj and m_jx of the centred scores (1{j in A} − |A|/p)/(keep − stray) + 1/p."""
    p, (k, hit, miss) = channel.n_categories, _size_law(channel)
    rates = membership_rates(channel)
    spread = float(rates[0] - rates[1])
    inside, outside = (1 - k / p) ** 2, (k / p) ** 2
    own = float((hit * inside + miss * outside).sum())
    held = (hit * (k - 1) + miss * k) / (p - 1)
    other = float((held * inside + (hit + miss - held) * outside).sum())
    return own / spread**2 + 2 / p - 1 / p**2, other / spread**2 - 1 / p**2


def _symmetric(own: float, other: float, p: int) -> SecondMoments:
    rival = np.where(np.arange(p) == 0, 1, 0)
    total = np.full(p, own + (p - 1) * other)
    return SecondMoments(
        np.full(p, own), np.full(p, other), rival, total, lambda w: other * w.sum() + (own - other) * w
    )


def _dense(table: Floats) -> SecondMoments:
    others = table.copy()
    np.fill_diagonal(others, -np.inf)
    return SecondMoments(
        np.diag(table).copy(), others.max(axis=1), others.argmax(axis=1), table.sum(axis=0), lambda w: table @ w
    )


def _product(first: SecondMoments, second: SecondMoments) -> SecondMoments:
    """Scores of a product are products of scores, so m is the Kronecker product of the two."""
    p, q = len(first.own), len(second.own)
    i, j = np.divmod(np.arange(p * q), q)
    # The largest m off the diagonal differs from the answer in the first part, in the second, or in both.
    options = np.stack(
        [
            first.other[i] * second.own[j],
            first.own[i] * second.other[j],
            first.other[i] * second.other[j],
        ]
    )
    rivals = np.stack([first.rival[i] * q + j, i * q + second.rival[j], first.rival[i] * q + second.rival[j]])
    best = options.argmax(axis=0)
    cells = np.arange(p * q)

    def mean(w: Floats) -> Floats:
        by_second = np.array([second.mean(row) for row in w.reshape(p, q)])
        return np.array([first.mean(column) for column in by_second.T]).T.ravel()

    return SecondMoments(
        np.outer(first.own, second.own).ravel(),
        options[best, cells],
        rivals[best, cells],
        np.outer(first.total, second.total).ravel(),
        mean,
    )
