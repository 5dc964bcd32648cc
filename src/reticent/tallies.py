"""Tallies: how often each report came. Integers that add, in any order and any partition of the reports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from reticent.bulk import count_keys
from reticent.channel import Channel
from reticent.errors import EstimateError, TallyError
from reticent.keys import Keys, integers_from_keys, keys_from_integers
from reticent.reports import Reports
from reticent.rows import Rows, StackedRows

MOST_REPORTS = 2**62  # so that sums of counts stay within 64 bits


@dataclass(frozen=True, eq=False)
class PatternTally:
    """Report → count, with the channel that sent the reports. Missing answers are counted apart.

    `keys` ascend and are distinct, `counts` are positive. Tallies of one channel add; `PatternTally.empty(channel)`
    is the identity. Raises TallyError for counts that are negative or not whole, or on adding different channels.
    """

    channel: Channel
    keys: Keys
    counts: NDArray[np.int64]
    missing: int = 0

    def __post_init__(self) -> None:
        if len(self.keys) != len(self.counts):
            raise TallyError(
                f"{len(self.keys)} reports and {len(self.counts)} counts; there must be one count per report."
            )
        if self.counts.dtype != np.int64 or (self.counts <= 0).any():
            raise TallyError("Counts are whole numbers above 0, of type int64; leave out reports that never came.")
        if isinstance(self.missing, bool) or not isinstance(self.missing, (int, np.integer)) or self.missing < 0:
            raise TallyError(f"missing is {self.missing!r}; it is a whole number from 0 on.")
        if float(self.counts.sum(dtype=np.float64)) >= MOST_REPORTS:
            raise TallyError("A tally holds fewer than 2^62 reports.")
        if len(self.keys) > 1 and not _distinct_neighbours(self.keys):
            raise TallyError(
                "The keys of a tally ascend and are distinct; count reports with rt.tally, or use from_counts."
            )
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
                    f"The count of report {key} is {count!r}; counts are whole numbers from 0 on. Weights need a weighted tally."
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

    def __add__(self, other: PatternTally) -> PatternTally:
        if not isinstance(other, PatternTally):
            return NotImplemented
        if self.channel.digest != other.channel.digest:
            raise TallyError(
                f"These tallies come from different channels ({self.channel.digest[:12]} and {other.channel.digest[:12]}); "
                "only tallies of one channel add. Give both to one estimator instead.",
                digests=(self.channel.digest, other.channel.digest),
            )
        if self.n + other.n >= MOST_REPORTS:
            raise TallyError("A tally holds fewer than 2^62 reports.")
        keys, counts = count_keys(np.concatenate([self.keys, other.keys]), np.concatenate([self.counts, other.counts]))
        return PatternTally(self.channel, keys, counts, self.missing + other.missing)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, PatternTally)
            and self.channel == other.channel
            and self.missing == other.missing
            and np.array_equal(self.keys, other.keys)
            and np.array_equal(self.counts, other.counts)
        )

    __hash__ = None  # type: ignore[assignment]  # arrays inside

    def __repr__(self) -> str:
        return f"<tally of {self.n} reports, {len(self.keys)} different, {self.missing} missing, from {self.channel!r}>"


@dataclass(frozen=True)
class GroupedTally:
    """A tally for each combination of public columns, `groups[("north", "2024")]`. Grouped tallies add."""

    by: tuple[str, ...]
    groups: dict[tuple[str, ...], PatternTally] = field(default_factory=dict)

    def __add__(self, other: GroupedTally) -> GroupedTally:
        if not isinstance(other, GroupedTally):
            return NotImplemented
        if self.by != other.by:
            raise TallyError(
                f"One tally is grouped by {list(self.by)}, the other by {list(other.by)}; they must be the same."
            )
        merged = dict(self.groups)
        for group, tally_ in other.groups.items():
            merged[group] = merged[group] + tally_ if group in merged else tally_
        return GroupedTally(self.by, dict(sorted(merged.items())))

    def total(self) -> PatternTally:
        """All groups together. Raises TallyError when there are none."""
        if not self.groups:
            raise TallyError("There is no group to add up.")
        return reduce(PatternTally.__add__, self.groups.values())


def tally(reports: Reports) -> PatternTally:
    """Count equal reports. Order and partition of the reports never change a result.

    >>> import reticent as rt
    >>> channel = rt.uniform_subset(rt.Categorical("letter", ["a", "b", "c", "d"]))
    >>> rt.tally(channel.draw_many(["a"] * 100, seed=1)).n
    100
    """
    if not isinstance(reports, Reports):
        raise TallyError(
            f"tally counts Reports, not {type(reports).__name__}; make them with channel.draw_many(answers)."
        )
    return PatternTally(reports.channel, *count_keys(reports.present), reports.missing)


def tally_by(reports: Reports, by: Mapping[str, Iterable[object]]) -> GroupedTally:
    """Count equal reports for each combination of public columns, given by name with one value per report.

    Raises TallyError when a column does not have one value per report.
    """
    columns = [[str(value) for value in values] for values in by.values()]
    for name, column in zip(by, columns, strict=True):
        if len(column) != len(reports):
            raise TallyError(f'Column "{name}" has {len(column)} values for {len(reports)} reports.')
    members: dict[tuple[str, ...], list[int]] = {}
    for position, group in enumerate(zip(*columns, strict=True)):
        members.setdefault(group, []).append(position)
    groups = {}
    for group, positions in sorted(members.items()):
        valid = None if reports.valid is None else reports.valid[positions]
        groups[group] = tally(Reports(reports.channel, reports.keys[positions], valid, reports.simulated))
    return GroupedTally(tuple(by), groups)


def stack(tallies: tuple[PatternTally, ...]) -> tuple[Rows, NDArray[np.float64]]:
    """Likelihood rows and counts of several tallies over one domain, as one problem.

    Raises EstimateError for no tally, no report, or different domains.
    """
    if not tallies:
        raise EstimateError("An estimate needs at least one tally.")
    for one in tallies:
        if not isinstance(one, PatternTally):
            hint = (
                " Estimate each of its groups, or .total()."
                if isinstance(one, GroupedTally)
                else " Use rt.tally(reports)."
            )
            raise EstimateError(f"An estimate takes tallies, not {type(one).__name__}.{hint}")
    if any(one.channel.domain != tallies[0].channel.domain for one in tallies):
        raise EstimateError("The tallies are over different domains; estimate each domain by itself.")
    if sum(one.n for one in tallies) == 0:
        raise EstimateError(
            f'There is no report on "{tallies[0].channel.domain.name}" in the tally; collect at least one.'
        )
    parts = [one.channel.rows(one.keys) for one in tallies if one.n]
    counts = np.concatenate([one.counts for one in tallies]).astype(np.float64)
    return (parts[0] if len(parts) == 1 else StackedRows(parts)), counts


def _distinct_neighbours(keys: Keys) -> bool:
    if keys.ndim == 1:
        return bool((keys[1:] > keys[:-1]).all())
    return bool((keys[1:] != keys[:-1]).any(axis=1).all())
