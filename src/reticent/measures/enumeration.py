"""The reports of a channel, one chunk of likelihood rows at a time: all of them, or a weighted sample."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from reticent.channel import Channel, Table
from reticent.channel.channel import MAX_LISTED
from reticent.choose import Words
from reticent.errors import ChannelError, ParameterError

Floats = NDArray[np.float64]
_MOST_DRAWS, _FEWEST_DRAWS, _DRAWN_CELLS = 200_000, 10_000, 2**27
_EXACT_CELLS = 2**24
_CHUNK_CELLS = 2**20
_SEED = b"reticent.measures"  # the same channel and prior give the same number every time


def listable(channel: Channel) -> bool:
    """Whether all reports of the channel are few enough to go through one by one."""
    if isinstance(channel, Table):
        return True
    return channel.n_reports <= MAX_LISTED and channel.n_reports * channel.n_categories <= _EXACT_CELLS


def require_listable(channel: Channel, measure: str) -> None:
    """Raises ChannelError when a measure would need every report and there are too many."""
    if not listable(channel):
        raise ChannelError(
            f"{measure} of {channel.name} on {channel.n_categories} categories needs every one of its reports, and there "
            "are too many to list. Use a subset design or randomised response, which have a closed form.",
            n_categories=channel.n_categories,
        )


def enough_draws(channel: Channel) -> int:
    """How many reports to draw where no number is given: fewer above some 700 categories, so that it takes seconds."""
    return min(_MOST_DRAWS, max(_FEWEST_DRAWS, _DRAWN_CELLS // channel.n_categories))


def likelihood_rows(channel: Channel) -> Iterator[Floats]:
    """P(report | x) of every report, in chunks of shape `(n, n_categories)`."""
    keys = channel.keys()
    step = max(1, _CHUNK_CELLS // channel.n_categories)
    for start in range(0, len(keys), step):
        yield channel.likelihood(keys[start : start + step])


def sampled_rows(channel: Channel, prior: Floats, n_draws: int) -> Iterator[Floats]:
    """Rows of reports drawn under the prior, each scaled to probability 1 / n_draws under it.

    A sum over all reports of a function that scales with its row, such as Σ_z max_x w(x) P(z|x), is the mean of
    f(row / P(z)) over reports drawn from P(z); so these rows stand in for those of `likelihood_rows`.
    """
    for keys in drawn_keys(channel, prior, n_draws):
        rows = channel.rows(keys).dense()
        yield rows / (rows @ prior)[:, None] / n_draws


def drawn_keys(channel: Channel, prior: Floats, n_draws: int) -> Iterator[NDArray[np.generic]]:
    """Reports of answers drawn from the prior, in chunks. Raises ParameterError for fewer than 2 draws."""
    if isinstance(n_draws, bool) or not isinstance(n_draws, int) or n_draws < 2:
        raise ParameterError(f"n_draws is {n_draws!r}; allowed are whole numbers from 2.", n_draws=n_draws)
    words = Words(_SEED)
    cumulative = np.cumsum(prior)
    last = int(np.flatnonzero(prior)[-1])
    step = max(1, 8 * _CHUNK_CELLS // channel.n_categories)
    for start in range(0, n_draws, step):
        uniform = (words.u64(min(step, n_draws - start)) >> np.uint64(11)) / 2.0**53
        codes = np.minimum(np.searchsorted(cumulative, uniform, side="right"), last)
        yield channel.draw_keys(codes.astype(np.int64), words)
