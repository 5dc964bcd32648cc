"""How many categories m independent reports of one value leave possible, and how often only the value itself.

Letters of section 8 of our specification: m = n_answers, p = n_categories, q_t = P(T ⊆ A | x) for a set T of t
categories with the answer x in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import comb, lcm
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from reticent.channel import Channel, Product, Subset, Table, Transformed
from reticent.domain import Numbers
from reticent.errors import ChannelError
from reticent.keys import integers_from_keys
from reticent.repeated_ranges import pair_matrix, pinned_by_neighbours

Floats = NDArray[np.float64]
WORD = 2**64
MOST_ANSWERS = 1000
_MOST_CATEGORIES = 16
_EXACT_REPORTS = 4096
_DECIMALS_IN_BITS = 1100  # below the smallest float, so that rounding never shows
_MOST_BITS = 2048  # of a power taken exactly
_FEWER_BITS = 256  # of one in fixed point
_MOST_STEPS = 10**7


@dataclass(frozen=True, eq=False)
class Intersection:
    """`pinned[x]` = P(only x is left | x), `candidates[x]` = expected number of categories left; `(n_categories,)`.

    With `pinned_is_bound`, `pinned` is not exceeded: the chance that both neighbours of x are ruled out.
    """

    pinned: Floats
    candidates: Floats
    method: Literal["closed form", "exact"]
    pinned_is_bound: bool = False


def intersection(channel: Channel, m: int) -> Intersection:
    """What m independent reports of one value leave.

    Raises ChannelError without closed form above 16 categories, for numbers above 4,096 cells.
    """
    p = channel.n_categories
    if isinstance(channel, Product):
        return _of_product([intersection(part, m) for part in channel.channels])
    if isinstance(channel, Subset) or (isinstance(channel, Table) and channel.keep is not None):
        pinned, left = _symmetric(channel, m)
        return Intersection(np.full(p, pinned), np.full(p, left), "closed form")
    if p > _MOST_CATEGORIES:
        if channel.n_reports <= _EXACT_REPORTS and channel.likelihood_ratio is not None:  # rules nothing out
            return Intersection(np.zeros(p), np.full(p, float(p)), "closed form")
        if isinstance(channel, Transformed):
            return _of_transformed(channel, m)
        if isinstance(channel.domain, Numbers):
            left = (pair_matrix(channel) ** m).sum(axis=1)
            pinned_cells, is_bound = pinned_by_neighbours(channel, m)
            return Intersection(pinned_cells, left, "exact", is_bound)
        raise ChannelError(
            f"{channel.name} has {p} categories and no closed form; what repeated answers leave of it is enumerated up to "
            f"{_MOST_CATEGORIES} categories. Use a subset design or randomised response, or ask about fewer categories.",
            n_categories=p,
        )
    return _enumerated(channel, m)


def law_of_size(channel: Subset, m: int) -> dict[int, Fraction]:
    """P(m reports leave k categories), exact, for a design that always holds the answer; sizes with chance 0 left out.

    P(k = 1 + r) = C(p−1, r) Σ_s (−1)^s C(p−1−r, s) q_{r+s+1}^m: p² terms, for few categories.
    """
    others = channel.n_categories - 1
    held = [channel.joint_support(t) ** m for t in range(1, others + 2)]
    law = {}
    for r in range(others + 1):
        terms = (Fraction((-1) ** s * comb(others - r, s)) * held[r + s] for s in range(others - r + 1))
        share = comb(others, r) * sum(terms, Fraction(0))
        if share:
            law[1 + r] = share
    return law


def _of_product(parts: list[Intersection]) -> Intersection:
    # Reports of the parts are independent given the answers, and what they leave is a product of sets.
    pinned, left = np.ones(1), np.ones(1)
    for part in parts:
        pinned = np.multiply.outer(pinned, part.pinned).ravel()
        left = np.multiply.outer(left, part.candidates).ravel()
    closed = all(part.method == "closed form" for part in parts)
    bound = any(part.pinned_is_bound for part in parts)
    return Intersection(pinned, left, "closed form" if closed else "exact", bound)


def _of_transformed(channel: Transformed, m: int) -> Intersection:
    # Answers with one g(Y) stay or go together, so that none of them is ever left alone.
    inside = intersection(channel.inner, m)
    pinned = inside.pinned * (channel.sharing == 1)
    left = pair_matrix(channel.inner) ** m @ channel.sharing
    return Intersection(channel.pulled(pinned), channel.pulled(left), inside.method, inside.pinned_is_bound)


# --- closed form -----------------------------------------------------------------------------------------------------


def _symmetric(channel: Subset | Table, m: int) -> tuple[float, float]:
    """(pinned, candidates): Σ_s (−1)^s C(p−1, s) q_{s+1}^m and 1 + (p−1) q_2^m.

    Fixed point: every q is an integer over 2^bits, at most p² units too small; each power at most 3·m·(p² + 1) units;
    the binomials sum to 2^(p−1). With the bits below the error of the sum is under 2^−1090.
    """
    others = channel.n_categories - 1
    if not _is_uniform(channel) and _others_left(channel) == {others: 1}:
        return 0.0, float(channel.n_categories)
    bits = others + m.bit_length() + 2 * others.bit_length() + _DECIMALS_IN_BITS + 16
    total, ways, left = 0, 1, float(channel.n_categories)
    for s, held in enumerate(_containment(channel, bits)):
        power = _power(held, m, bits)
        if s == 1:
            left = 1 + others * (power / (1 << bits))
        if not power:  # q never increases with s: nothing but zeros follows
            break
        total += -ways * power if s % 2 else ways * power
        ways = ways * (others - s) // (s + 1)
    noise = 1 << (bits - _DECIMALS_IN_BITS + 20)
    return (max(total, 0) / (1 << bits) if abs(total) > noise else 0.0), left


def _containment(channel: Subset | Table, bits: int) -> Iterator[int]:
    """q_1, q_2, …, q_p over 2^bits, rounded down: the chance that s given others all stay possible."""
    p = channel.n_categories
    if _is_uniform(channel):
        # (2^(p−t) − 1 − (p−t)) / D with one division; the error stays below 2 units.
        inverse = (1 << (bits + p)) // (2 ** (p - 1) - p - 1)
        yield 1 << bits
        for t in range(2, p + 1):
            yield ((inverse << (p - t)) - (1 + p - t) * inverse) >> p
        return
    # Given that j others are left, s given ones are among them with probability C(j, s) / C(p−1, s).
    law = _others_left(channel)
    if len(law) * p > _MOST_STEPS:
        raise ChannelError(
            f"{channel.name} draws {len(law):,} sizes on {p:,} categories: too many to follow through repeated answers. "
            "Use the uniform design or fewer sizes.",
            n_sizes=len(law),
        )
    masses = {j: (share.numerator << bits) // share.denominator for j, share in law.items()}
    for s in range(p):
        yield sum(masses.values())
        masses = {j: mass * (j - s) // (p - 1 - s) for j, mass in masses.items() if j > s}


def _is_uniform(channel: Subset | Table) -> bool:
    return isinstance(channel, Subset) and channel.sizes == "uniform" and channel.keep == WORD


def _others_left(channel: Subset | Table) -> dict[int, Fraction]:
    """P(one report leaves j other categories possible), all sets of j others being equally likely."""
    p = channel.n_categories
    if isinstance(channel, Table):
        return {0 if channel.keep == WORD else p - 1: Fraction(1)}
    hits, misses = channel.size_weights, dict(channel.miss_sizes)
    law: dict[int, Fraction] = {}
    for weights, share, other in ((hits, channel.kept, misses), (misses, 1 - channel.kept, hits)):
        total = sum(weights.values())
        for k, weight in weights.items():
            # A size drawn for hits and for misses leaves everything possible; a size only for misses, what is outside.
            j = p - 1 if k in other else k - 1 if weights is hits else p - 1 - k
            law[j] = law.get(j, Fraction(0)) + share * Fraction(weight, total)
    return law


def _power(base: Any, exponent: int, bits: int) -> Any:
    """base^exponent over 2^bits, rounded down at every step; of an integer or of an array of them."""
    result: Any = 1 << bits
    while exponent:
        if exponent & 1:
            result = result * base >> bits
        base = base * base >> bits
        exponent >>= 1
    return result


# --- inclusion–exclusion over all sets -----------------------------------------------------------------------------------


def _enumerated(channel: Channel, m: int) -> Intersection:
    p = channel.n_categories
    held, scale = _held_together(channel)
    signs = 1 - 2 * (np.bitwise_count(np.arange(2 ** (p - 1))).astype(np.int64) % 2)
    pinned, left = np.zeros(p), np.ones(p)
    for x, chances in enumerate(held):
        powers, one = _powers(chances, scale, m)
        pinned[x] = max(_ratio((signs * powers).sum(), one), 0.0)
        left[x] += _ratio(sum(powers[1 << bit] for bit in range(p - 1)), one)
    return Intersection(pinned, left, "exact")


def _powers(chances: NDArray[Any], scale: int | float, m: int) -> tuple[NDArray[Any], int | float]:
    """(chances / scale)^m as numerators over one denominator; of long powers the first 256 bits."""
    if isinstance(scale, float) or m * scale.bit_length() <= _MOST_BITS:
        return chances**m, scale**m
    return np.asarray(_power((chances << _FEWER_BITS) // scale, m, _FEWER_BITS)), 1 << _FEWER_BITS


def _ratio(numerator: Any, denominator: Any) -> float:
    # Python's division of integers is correctly rounded however large they are.
    return float(int(numerator) / denominator if isinstance(denominator, int) else numerator / denominator)


@lru_cache(maxsize=4)
def _held_together(channel: Channel) -> tuple[list[NDArray[Any]], int | float]:
    """For each answer x, scale · P(all of T stay possible | x) over the sets T of other categories (bits, x left out).

    Integers, so that the alternating sum is exact; floats above 4,096 reports (error below 1e−10).
    """
    p = channel.n_categories
    rows, scale = _rows_over(channel)
    masks = (rows != 0).astype(np.int64) @ (1 << np.arange(p))
    held = []
    for x in range(p):
        chances = np.zeros(2**p, dtype=rows.dtype)
        np.add.at(chances, masks, rows[:, x])
        chances = chances.reshape(-1, 2, 2**x)[:, 1, :].reshape(-1)
        for bit in range(p - 1):  # sums over all supersets, one category at a time
            pairs = chances.reshape(-1, 2, 2**bit)
            pairs[:, 0, :] += pairs[:, 1, :]
        held.append(chances)
    return held, scale


def _rows_over(channel: Channel) -> tuple[NDArray[Any], int | float]:
    if channel.n_reports > _EXACT_REPORTS:
        return channel.matrix(), 1.0
    exact = [channel.exact_row(key) for key in integers_from_keys(channel.keys())]
    scale = lcm(*(chance.denominator for row in exact for chance in row))
    rows = np.array([[int(chance * scale) for chance in row] for row in exact], dtype=object)
    return rows.reshape(-1, channel.n_categories), scale
