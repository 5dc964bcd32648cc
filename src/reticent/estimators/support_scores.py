"""Linear scores of support counts, with their first and second moments in closed form.

A report A of a channel with constant rates has P(j ∈ A | x = j) = keep, P(j ∈ A | x ≠ j) = stray. Symmetry gives two
more numbers, P(j, k ∈ A | x = j) = with_one and P(j, k ∈ A | x other than both) = with_none, from the law of |A|. Every
linear form of moments (section 11.1) is, with S the 0/1 vector of A and d = keep − stray,

    s = (S − c|A|)/d + e:   affine c = 0, e = −stray/d;   centred c = e = 1/p;   inverse c = stray/(d + p·stray), e = 0

E[s | x] is the x-th unit vector, and E[s sᵀ] is linear in the shares, so that an unbiased estimate of the shares gives
one of the second moments.

Source: Wang and Ding, Subset Privacy (arXiv 2107.02013); sections 11.1 and 12 of our specification.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from math import prod
from typing import get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reticent.channel import Channel, Product, Subset, Table
from reticent.errors import EstimateError, ParameterError
from reticent.measures.sizes import sizes_of
from reticent.precision import Form, asymptotic_covariance, distinct_rates, lists_its_reports

Floats = NDArray[np.float64]
SMALL = 32


@dataclass(frozen=True)
class ScoreLaw:
    """One form of score of one channel: its coefficients, and the chances its moments are made of."""

    p: int
    keep: float
    stray: float
    with_one: float
    with_none: float
    c: float
    e: float

    @property
    def spread(self) -> float:
        """keep − stray."""
        return self.keep - self.stray

    def mean(self, support: ArrayLike) -> Floats:
        """The mean score from the shares of reports that support each category, along the first axis."""
        gamma = np.asarray(support, dtype=np.float64)
        return self._map(gamma) + self.e

    def _map(self, gamma: Floats) -> Floats:
        """(I − c 11ᵀ)/d along the first axis."""
        return np.asarray((gamma - self.c * gamma.sum(axis=0)) / self.spread)

    def squares(self) -> tuple[float, float]:
        """(α, β) with E[s_j²] = α + β w_j."""
        p, c, d = self.p, self.c, self.spread
        # Var of S around its pairs: E[S_j S_k] = with_none + (with_one − with_none)(w_j + w_k), plus v_j where j = k.
        pair = self.with_one - self.with_none
        slope = d - 2 * pair
        v0, total = self.stray - self.with_none, p * (self.stray - self.with_none) + slope
        rest = 1 - c * p
        at_zero = self.with_none * rest**2 - 2 * pair * rest * c + v0 * (1 - 2 * c) + c**2 * total
        per_share = 2 * pair * rest + slope * (1 - 2 * c)
        return at_zero / d**2 - self.e**2, per_share / d**2 + 2 * self.e

    def second(self, shares: Floats) -> Floats:
        """E[s sᵀ] on the two first axes of `(p, p, ...)`, linear in the shares `(p, ...)`, which need not sum to 1."""
        total = shares.sum(axis=0)
        pair = self.with_one - self.with_none
        both = self.with_none * total + pair * (shares[:, None] + shares[None, :])
        both[np.arange(self.p), np.arange(self.p)] = self.stray * total + self.spread * shares
        mapped = self.covariance_of(both)
        once = self.e * self._map(self.stray * total + self.spread * shares)
        return np.asarray(mapped + once[:, None] + once[None, :] + self.e**2 * total)

    def covariance_of(self, support: Floats) -> Floats:
        """The linear map of the score applied on both sides of a (p, p, ...) moment of S."""
        return np.swapaxes(self._map(np.swapaxes(self._map(support), 0, 1)), 0, 1)


@lru_cache(maxsize=64)
def score_law(channel: Channel, form: Form) -> ScoreLaw:
    """The law of a channel's scores.

    Raises EstimateError for channels whose support has no symmetric law, ParameterError for a form that is not known.
    """
    if form not in get_args(Form):
        raise ParameterError(f'form is {form!r}; allowed: "centred", "inverse", "affine".', form=form)
    rates = distinct_rates(channel)
    if rates is None:
        raise EstimateError(f"{channel.name} has no pair of different support rates; count patterns instead.")
    p, keep, stray = channel.n_categories, float(rates[0]), float(rates[1])
    d = float(rates[0] - rates[1])
    with_one, with_none = _pair_rates(channel)
    c, e = {
        "affine": (0.0, -stray / d),
        "centred": (1 / p, 1 / p),
        "inverse": (stray / (d + p * stray), 0.0),
    }[form]
    return ScoreLaw(p, keep, stray, with_one, with_none, c, e)


def _pair_rates(channel: Channel) -> tuple[float, float]:
    """P(j, k ∈ A | x = j) and P(j, k ∈ A | x other than both), for any two categories j, k."""
    p = channel.n_categories
    if isinstance(channel, Table):
        return 0.0, 0.0
    if isinstance(channel, Subset):
        law = sizes_of(channel)
        k, others = law.size, max(p - 2, 1)
        with_one = float(law.hit @ (k - 1)) / (p - 1)
        with_none = float(law.hit @ ((k - 1) * (k - 2)) + law.miss @ (k * (k - 1))) / ((p - 1) * others)
        return with_one, with_none if p > 2 else 0.0
    return _listed_pair_rates(channel)


def _listed_pair_rates(channel: Channel) -> tuple[float, float]:
    p = channel.n_categories
    if p <= SMALL and lists_its_reports(channel):
        support, law = channel.support(channel.keys()).astype(np.float64), channel.matrix()
        pairs = np.array([(support.T * law[:, x]) @ support for x in range(p)])
        one = [pairs[x, j, k] for j, k in combinations(range(p), 2) for x in (j, k)]
        none = [pairs[x, j, k] for j, k in combinations(range(p), 2) for x in range(p) if x not in (j, k)] or [0.0]
        if np.ptp(one) < 1e-9 and np.ptp(none) < 1e-9:
            return float(one[0]), float(none[0])
    raise EstimateError(
        f"How often two categories are supported together is not known for {channel.name}; count patterns "
        '(kind="patterns", --kind patterns).'
    )


def second_at_equal_shares(channel: Channel, form: Form) -> float:
    """Σ_j E[s_j²] when all categories are equally common: how noisy the scores are, whatever the data say."""
    if isinstance(channel, Product):
        return prod(second_at_equal_shares(part, form) for part in channel.channels)
    p = channel.n_categories
    if distinct_rates(channel) is None:
        return float(np.trace(asymptotic_covariance(channel, np.full(p, 1 / p), "moments", form))) + 1 / p
    intercept, slope = score_law(channel, form).squares()
    return p * intercept + slope
