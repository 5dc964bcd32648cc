"""The few numbers that the closed forms need: the law of a subset's size, or keep and stray of randomised response."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reticent.channel import Subset, Table

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Sizes:
    """`hit[i]` = P(|A| = size[i] and A holds the answer), `miss[i]` the same without it; p = n_categories.

    `ratio` = P(a | x outside a) / P(a | x in a): 0 where a set of that size always holds the answer, infinite where it
    never does. One set of size k has P(a | x) = hit / C(p−1, k−1) for x in a and miss / C(p−1, k) otherwise. Only ratios of
    binomials are ever needed, so that nothing overflows at thousands of categories.
    """

    size: Floats
    hit: Floats
    miss: Floats
    ratio: Floats
    p: int


def sizes_of(channel: Subset) -> Sizes:
    """The law of sizes of a subset channel, in floats rounded from its integers."""
    p, one = len(channel.domain), 2**64
    hits, misses = channel.size_weights, dict(channel.miss_sizes)
    hit_total, miss_total = one * sum(hits.values()), one * max(sum(misses.values()), 1)
    size = sorted({*hits, *misses})
    hit = [(channel.keep * hits.get(k, 0), hit_total) for k in size]
    miss = [((one - channel.keep) * misses.get(k, 0), miss_total) for k in size]
    ratio = [
        _divide(m * hit_total * k, h * miss_total * (p - k)) if m else 0.0
        for k, (h, _), (m, _) in zip(size, hit, miss, strict=True)
    ]
    held, missed = (np.array([weight / total for weight, total in law]) for law in (hit, miss))
    return Sizes(np.array(size, dtype=np.float64), held, missed, np.array(ratio), p)


def _divide(numerator: int, denominator: int) -> float:
    beyond = not denominator or numerator.bit_length() - denominator.bit_length() > 1000
    return math.inf if beyond else numerator / denominator


def kept_and_stray(channel: Table) -> tuple[float, float]:
    """Chance of reporting the answer, and of one given other category, under the symmetric law."""
    assert channel.keep is not None
    return channel.keep / 2**64, float(channel.stray)
