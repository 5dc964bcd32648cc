"""Log-lift: how far one report can move what is believed of one answer."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.channel import Channel, Subset, Table
from reticent.measures.enumeration import likelihood_rows, require_listable
from reticent.measures.prior import as_prior
from reticent.measures.sizes import kept_and_stray, sizes_of

Floats = NDArray[np.float64]


def log_lift(channel: Channel, prior: Any) -> tuple[float, float]:
    """The lowest and highest log( P(x|z) / w(x) ) over reports z and answers x that can occur, in nats.

    The lowest is −infinity where a report rules an answer out; for subset designs the highest is the largest
    −log w(a): a rare answer in rare company.

    Source: Zarrabian, Ding and Sadeghi, On the lift, related privacy measures, and applications (2023).
    Raises ParameterError for a prior that is not a distribution, ChannelError when the reports are too many to list
    and have no closed form.

    >>> from reticent.domain import Categorical
    >>> letters = Subset(Categorical("letter", ["a", "b", "c", "d"]))
    >>> low, high = log_lift(letters, [0.5, 0.25, 0.15, 0.1])
    >>> low, round(high, 6)
    (-inf, 1.386294)
    """
    weights = as_prior(channel.domain, prior).probabilities
    lifts = np.concatenate([np.ravel(some) for some in _extreme_lifts(channel, weights)])
    return _log(lifts.min()), _log(lifts.max())


def _log(value: float) -> float:
    return math.log(value) if value > 0 else -math.inf


def _extreme_lifts(channel: Channel, prior: Floats) -> Iterator[Floats]:
    """Lifts P(z|x) / P(z), the lowest and the highest among them."""
    positive = prior > 0
    if isinstance(channel, Subset):
        yield _subset(channel, prior[positive], int((~positive).sum()))
    elif isinstance(channel, Table) and channel.keep is not None:
        keep, stray = kept_and_stray(channel)
        total = stray + (keep - stray) * prior
        yield keep / total[positive]
        # A category strays from any other that occurs.
        strays = total[(total > 0) & (positive.sum() - positive > 0)]
        yield stray / strays
    else:
        require_listable(channel, "The log-lift")
        for rows in likelihood_rows(channel):
            total = rows @ prior
            lifts = rows[:, positive][total > 0] / total[total > 0, None]
            if lifts.size:
                yield np.array([lifts.min(), lifts.max()])


def _subset(channel: Subset, occurring: Floats, n_never: int) -> Floats:
    """By size: the lift inside and outside the lightest and the heaviest sets."""
    sizes = sizes_of(channel)
    p, k = sizes.p, sizes.size.astype(int)
    ascending = np.concatenate([[0.0] * n_never, np.sort(occurring)])
    lightest = np.concatenate([[0.0], np.cumsum(ascending)])
    heaviest = 1 - lightest[::-1]
    # The lightest set that holds a category that occurs: the rarest of them, and then what weighs least.
    holding = np.where(np.arange(p + 1) <= n_never, occurring.min(), lightest)
    inside = np.stack([holding[k], np.minimum(heaviest[k], 1.0)])
    outside = np.stack([lightest[k], 1 - holding[p - k]])
    r, never_held = sizes.ratio, np.isinf(sizes.ratio)
    finite = np.where(never_held, 0.0, r)
    with np.errstate(divide="ignore", invalid="ignore"):
        hits = 1 / (inside + finite * (1 - inside))
        misses = np.where(never_held, 1 / (1 - outside), finite / (outside + finite * (1 - outside)))
    # Where sets of a size always hold the answer, or never do, one that tells answers apart rules some out.
    hits[:, never_held], misses[:, r == 0] = 0.0, 0.0
    telling = (k < p) & (len(occurring) > 1)
    return np.concatenate([hits[:, telling | ~never_held].ravel(), misses[:, telling].ravel()])
