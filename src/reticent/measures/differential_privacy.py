"""Local differential privacy: how differently two answers report."""

from __future__ import annotations

import math

import numpy as np

from reticent.channel import Channel, Subset, Table
from reticent.errors import ParameterError
from reticent.measures.enumeration import likelihood_rows, require_listable
from reticent.measures.sizes import kept_and_stray, sizes_of


def ldp_epsilon(channel: Channel) -> float:
    """The largest log( P(z|x) / P(z|y) ) over reports z and answers x, y, in nats, rounded up.

    Infinite for every subset design that always holds the answer, unless it only reports the full set: a report rules
    answers out with certainty. `binary_dummy`, `ternary_dummy` and `randomized_response` are the ways to a finite one.

    Source: Kasiviswanathan and others, What can we learn privately? (2011).

    >>> from reticent.domain import Categorical
    >>> ldp_epsilon(Subset(Categorical("letter", ["a", "b", "c", "d"])))
    inf
    """
    return channel.epsilon


def ldp_delta(channel: Channel, epsilon: float = 0.0) -> float:
    """The smallest δ of (ε, δ) local differential privacy, max over x ≠ y of Σ_z max(0, P(z|x) − e^ε P(z|y)).

    At ε = 0 it is the largest total variation distance. Subset designs that always hold the answer: 1 − stray for
    every finite ε. `epsilon` in nats; a probability.

    Raises ParameterError unless epsilon ≥ 0, ChannelError when the reports are too many to list and have no closed form.

    >>> from reticent.domain import Categorical
    >>> round(ldp_delta(Subset(Categorical("letter", ["a", "b", "c", "d"])), epsilon=5), 12)
    0.666666666667
    """
    if isinstance(epsilon, bool) or not isinstance(epsilon, (int, float)) or not 0 <= epsilon < math.inf:
        raise ParameterError(f"epsilon is {epsilon!r}; allowed is a finite number from 0, in nats.", epsilon=epsilon)
    factor = math.exp(min(epsilon, 700.0))
    if isinstance(channel, Subset):
        return _subset(channel, factor)
    if isinstance(channel, Table) and channel.keep is not None:
        keep, stray = kept_and_stray(channel)
        return max(0.0, keep - factor * stray) + max(0.0, stray - factor * keep)
    require_listable(channel, "The delta")
    p = len(channel.domain)
    excess = np.zeros((p, p))
    for rows in likelihood_rows(channel):
        for x in range(p):
            excess[x] += np.maximum(rows[:, [x]] - factor * rows, 0.0).sum(axis=0)
    return float(excess.max())


def _subset(channel: Subset, factor: float) -> float:
    sizes = sizes_of(channel)
    if not sizes.miss.any():
        return float(1 - channel.stray)
    # Only the sets that hold exactly one of the two answers tell them apart.
    held = sizes.hit * (sizes.p - sizes.size) / (sizes.p - 1)
    missed = sizes.miss * sizes.size / (sizes.p - 1)
    return float((np.maximum(held - factor * missed, 0) + np.maximum(missed - factor * held, 0)).sum())
