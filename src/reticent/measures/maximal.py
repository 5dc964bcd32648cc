"""Maximal leakage: the most that a report can help anyone who wants to guess anything about the answer."""

from __future__ import annotations

import math

import numpy as np

from reticent.channel import Channel, Subset, Table
from reticent.measures.enumeration import likelihood_rows, require_listable
from reticent.measures.measure import Unit, nonnegative, per_unit
from reticent.measures.sizes import kept_and_stray, sizes_of


def maximal_leakage(channel: Channel, unit: Unit = "nats") -> float:
    """log Σ_z max_x P(z|x), whatever the prior; at most log(n_categories). Nats, or bits.

    Subset designs: log Σ_a μ_a, which is exactly 1 bit for independent ones that never report the full set.

    Source: Issa, Wagner and Kamath, An operational approach to information leakage (2020).
    Raises ChannelError for a channel without closed form whose reports are too many to list.

    >>> from reticent.domain import Categorical
    >>> maximal_leakage(Subset(Categorical("letter", ["a", "b", "c", "d"])), unit="bits")
    1.0
    """
    return per_unit(unit) * nonnegative(math.log(_sum_of_maxima(channel)))


def is_closed_form(channel: Channel) -> bool:
    """Whether the leakages that need no prior follow from a few numbers, without going through the reports."""
    return isinstance(channel, Subset) or (isinstance(channel, Table) and channel.keep is not None)


def _sum_of_maxima(channel: Channel) -> float:
    if isinstance(channel, Subset):
        sizes = sizes_of(channel)
        outside = sizes.p - sizes.size
        missed = np.divide(sizes.miss, outside, out=np.zeros_like(outside), where=outside > 0)
        return float(sizes.p * np.maximum(sizes.hit / sizes.size, missed).sum())
    if isinstance(channel, Table) and channel.keep is not None:
        return len(channel.domain) * max(kept_and_stray(channel))
    require_listable(channel, "The maximal leakage")
    return float(sum(rows.max(axis=1).sum() for rows in likelihood_rows(channel)))
