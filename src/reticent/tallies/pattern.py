"""PatternTally: how often each report came."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reticent.bulk import count_keys
from reticent.channel import Channel
from reticent.errors import TallyError
from reticent.keys import Keys, integers_from_keys, keys_from_integers
from reticent.tallies.addition import MOST_REPORTS, Tally, check_missing


@dataclass(frozen=True, eq=False, repr=False)
class PatternTally(Tally):
    """Report → count, with the channel that sent the reports. Missing answers are counted apart.

    `keys` ascend and are distinct, `counts` are positive. Tallies of one channel add; `PatternTally.empty(channel)`
    is the identity. Raises TallyError for counts that are negative or not whole, or on adding different channels.
    """

    channel: Channel
    keys: Keys
    counts: NDArray[np.int64]
    missing: int = 0
    simulated: bool = False

    def __post_init__(self) -> None:
        if len(self.keys) != len(self.counts):
            raise TallyError(
                f"{len(self.keys)} reports and {len(self.counts)} counts; there must be one count per report."
            )
        if self.counts.dtype != np.int64 or (self.counts <= 0).any():
            raise TallyError("Counts are whole numbers above 0, of type int64; leave out reports that never came.")
        check_missing(self.missing)
        if float(self.counts.sum(dtype=np.float64)) >= MOST_REPORTS:
            raise TallyError("A tally holds fewer than 2^62 reports.")
        check_distinct(self.keys)
        self.channel.check_keys(self.keys)

    @classmethod
    def empty(cls, channel: Channel) -> PatternTally:
        """The tally of nobody."""
        return cls(channel, keys_from_integers([], channel.key_bits), np.zeros(0, dtype=np.int64))

    @classmethod
    def from_counts(cls, channel: Channel, counts: Mapping[int, int], missing: int = 0) -> PatternTally:
        """A tally from counts by key. Raises TallyError for counts that are negative or not whole numbers."""
        for key, count in counts.items():
            if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or count < 0:
                raise TallyError(
                    f"The count of report {key} is {count!r}; counts are whole numbers from 0 on. Weights need a weighted "
                    "tally: rt.tally(reports, weights=...)."
                )
        if sum(int(count) for count in counts.values()) >= MOST_REPORTS:
            raise TallyError("A tally holds fewer than 2^62 reports.")
        kept = {int(key): int(count) for key, count in counts.items() if count}
        if any(key < 0 or key.bit_length() > channel.key_bits for key in kept):
            raise TallyError(f"A key is outside the {channel.key_bits} bits of {channel.name}'s reports.")
        keys = keys_from_integers(kept, channel.key_bits)
        return cls(channel, *count_keys(keys, np.array([*kept.values()], dtype=np.int64)), missing)

    @property
    def n(self) -> int:
        """How many reports, missing answers not included."""
        return int(self.counts.sum())

    def to_dict(self) -> dict[int, int]:
        """Counts by key."""
        return dict(zip(integers_from_keys(self.keys), self.counts.tolist(), strict=True))

    def __add__(self, other: object) -> PatternTally:
        if not isinstance(other, Tally):
            return NotImplemented
        self._check_addition(other)
        assert isinstance(other, PatternTally)
        keys, counts = count_keys(np.concatenate([self.keys, other.keys]), np.concatenate([self.counts, other.counts]))
        missing, simulated = self.missing + other.missing, self.simulated or other.simulated
        return PatternTally(self.channel, keys, counts, missing, simulated)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, PatternTally)
            and self.channel == other.channel
            and self.missing == other.missing
            and np.array_equal(self.keys, other.keys)
            and np.array_equal(self.counts, other.counts)
        )

    def __repr__(self) -> str:
        return (
            f"<tally of {self.n} reports, {len(self.keys)} different, {self.missing} missing{self._mark}, "
            f"from {self.channel!r}>"
        )


def check_distinct(keys: Keys) -> None:
    """Raises TallyError unless the keys ascend and are distinct (rows of bytes: distinct neighbours)."""
    if keys.ndim == 1:
        good = bool((keys[1:] > keys[:-1]).all())
    else:
        good = bool((keys[1:] != keys[:-1]).any(axis=1).all())
    if not good:
        raise TallyError(
            "The keys of a tally ascend and are distinct; count reports with rt.tally, or use from_counts."
        )
