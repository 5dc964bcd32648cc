"""What every tally has: a channel, a number of reports, a number of missing answers, and addition."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self

import numpy as np

from reticent.channel import Channel
from reticent.errors import TallyError

MOST_REPORTS = 2**62  # so that sums of counts stay within 64 bits


class Tally(ABC):
    """Counts of the reports of one channel. Tallies of one channel and kind add, in any order and any partition.

    `simulated` says that the coins of some of the reports came from a seed; equal counts are equal with or without it.
    """

    channel: Channel
    missing: int
    simulated: bool

    @property
    @abstractmethod
    def n(self) -> int:
        """How many reports, missing answers not included."""

    @abstractmethod
    def __add__(self, other: object) -> Self: ...

    @property
    def _mark(self) -> str:
        """What a short description adds about the coins."""
        return ", simulated" if self.simulated else ""

    def _check_addition(self, other: Tally) -> None:
        """Raises TallyError unless the other tally is of the same kind and channel, and the sum is not too large."""
        if type(self) is not type(other):
            raise TallyError(
                f"A {type(self).__name__} and a {type(other).__name__} do not add: they count different things. Count "
                "both batches of reports in the same way."
            )
        if self.channel.digest != other.channel.digest:
            raise TallyError(
                f"These tallies come from different channels ({self.channel.digest[:12]} and {other.channel.digest[:12]}); "
                "only tallies of one channel add. Give both to one estimator instead.",
                digests=(self.channel.digest, other.channel.digest),
            )
        if self.n + other.n >= MOST_REPORTS:
            raise TallyError("A tally holds fewer than 2^62 reports.")


def check_missing(missing: object) -> None:
    """Raises TallyError unless `missing` is a whole number from 0 on."""
    if isinstance(missing, bool) or not isinstance(missing, (int, np.integer)) or missing < 0:
        raise TallyError(f"missing is {missing!r}; it is a whole number from 0 on.")
