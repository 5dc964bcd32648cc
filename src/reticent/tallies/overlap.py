"""Whether two tallies hold the same reports, which must not be read as those of different people.

A tally does not know its reports, only their counts. So these are told: one tally given twice, two parts of one tally, and
equal counts on a question asked through one channel, also of patterns on one side and support on the other. What was
added to other reports before is not told: keep tallies of different people apart.

Equal counts can be chance. With c of n reports of a kind, a Binomial(n, c/n) number is c again with its largest chance;
the product over the kinds, less the least likely one (the kinds sum to a constant), is about the chance of all counts.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, xlogy

from reticent.bulk import count_keys
from reticent.channel import Channel, Product
from reticent.keys import Keys
from reticent.tallies.addition import Tally
from reticent.tallies.pattern import PatternTally
from reticent.tallies.support import SupportTally, parts_of
from reticent.tallies.weighted import WeightedTally

Integers = NDArray[np.int64]
Patterns = PatternTally | WeightedTally
SMALL = 100
RARE = 1e-3


def counted_twice(one: Tally, other: Tally) -> bool:
    """Whether an estimate must not read both: one tally, parts of one, or equal counts of more than 100 reports.

    Two small tallies can be equal by chance. Larger ones with two or three different reports can too, but nothing is lost
    by refusing them: their sum gives the same estimate, and says that these are different people.
    """
    return _one_whole(one, other) or (min(one.n, other.n) > SMALL and chance_of_equality(one, other) is not None)


def same_reports(one: Tally, other: Tally) -> bool:
    """Whether a difference must not be taken: one tally, parts of one, or counts equal by a chance below 0.001.

    Equal counts that may well be chance pass (results warn): no sum would stand in for the difference, and if the reports
    are the same after all, it is about 0 and its standard error too large.
    """
    if _one_whole(one, other):
        return True
    chance = chance_of_equality(one, other)
    return chance is not None and chance < RARE


def chance_of_equality(one: Tally, other: Tally) -> float | None:
    """About how likely counts of other people would be the same; None where the counts differ."""
    if not one.n or not other.n:
        return None
    if isinstance(one, (PatternTally, WeightedTally)) and isinstance(other, (PatternTally, WeightedTally)):
        if one.channel.digest == other.channel.digest:
            return _chance(one.counts, one.n) if _equal_patterns(one, other) else None
    asked = {part.digest for part in parts_of(other.channel)}
    shared = [part for part in parts_of(one.channel) if part.digest in asked]
    names = [part.domain.name for part in shared]
    chances = []
    for part in shared:
        (n, kinds, counts), (m, others, theirs) = (_column(tally, part, names) for tally in (one, other))
        if not n == m > 0 or not np.array_equal(kinds, others) or not np.array_equal(counts, theirs):
            return None
        chances.append(_chance(counts, n))
    return min(chances, default=None)


def supported(channel: Channel, keys: Keys, counts: Integers) -> Integers:
    """How many reports support each category, in batches so that no large matrix is made."""
    total = np.zeros(channel.n_categories, dtype=np.int64)
    batch = max(1, 2**24 // channel.n_categories)
    for first in range(0, len(keys), batch):
        part = slice(first, first + batch)
        total += counts[part] @ channel.support(keys[part])
    return total


def _one_whole(one: Tally, other: Tally) -> bool:
    first, second = (tally.whole if isinstance(tally, SupportTally) else tally for tally in (one, other))
    return bool(one.n and other.n) and first is second


def _equal_patterns(one: Patterns, other: Patterns) -> bool:
    if not np.array_equal(one.keys, other.keys) or not np.array_equal(one.counts, other.counts):
        return False
    if isinstance(one, WeightedTally) and isinstance(other, WeightedTally):
        return np.allclose(one.weights, other.weights, rtol=1e-9, atol=0)
    return True


def _column(tally: Tally, part: Channel, shared: list[str]) -> tuple[int, Keys, Integers]:
    """How many answered the shared questions, and how often each category of this one is supported, or each report came."""
    categories = np.arange(part.n_categories)
    if isinstance(tally, SupportTally):
        n, counts = tally.support(part.domain.name, among=shared)
        return n, categories, counts
    assert isinstance(tally, (PatternTally, WeightedTally))
    keys = tally.keys
    if isinstance(tally.channel, Product):
        keys = tally.channel.split(keys)[tally.channel.channels.index(part)]
    if part.support_rates is None:
        return tally.n, *count_keys(keys, tally.counts)
    return tally.n, categories, supported(part, keys, tally.counts)


def _chance(counts: Integers, n: int) -> float:
    c = counts[(counts > 0) & (counts < n)].astype(np.float64)
    logs = gammaln(n + 1) - gammaln(c + 1) - gammaln(n - c + 1) + xlogy(c, c / n) + xlogy(n - c, 1 - c / n)
    return float(np.exp(np.sort(logs)[1:].sum()))
