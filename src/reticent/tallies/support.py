"""SupportTally: how many reports support each category, and each combination of categories of listed columns.

With support 1_A(j) of a report A for category j, a channel with constant rates keeps P(j in A | x = j) = keep and
P(j in A | x ≠ j) = stray, so that these counts are enough for unbiased estimates: p numbers however many reports are
possible. Source: Wang and Ding, Subset Privacy (arXiv 2107.02013); section 9 of our specification.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod

import numpy as np
from numpy.typing import NDArray

from reticent.channel import Channel, Product
from reticent.errors import TallyError
from reticent.tallies.addition import MOST_REPORTS, Tally, check_missing

Integers = NDArray[np.int64]
Columns = tuple[str, ...]
MOST_CELLS = 2**27


@dataclass(frozen=True, eq=False)
class SupportCounts:
    """`n` people who answered the same columns, and for each set of columns how many reports support each combination.

    `arrays[("race", "sex")][j, k]` = number of people whose two reports support race j and sex k.
    """

    n: int
    arrays: Mapping[Columns, Integers]

    def __add__(self, other: SupportCounts) -> SupportCounts:
        return SupportCounts(
            self.n + other.n, {columns: self.arrays[columns] + other.arrays[columns] for columns in self.arrays}
        )

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, SupportCounts)
            and self.n == other.n
            and self.arrays.keys() == other.arrays.keys()
            and all(np.array_equal(mine, other.arrays[columns]) for columns, mine in self.arrays.items())
        )


@dataclass(frozen=True, eq=False, repr=False)
class SupportTally(Tally):
    """Counts of supported categories, by which columns were answered: O(categories) numbers for any number of reports.

    `sets` are the counted sets of columns: ("race",) first order, ("race", "race") pairs of categories of one report,
    ("race", "sex") combinations of two columns. Every smaller set inside a set is counted too. `blocks` maps the
    columns that were answered, in column order, to their counts; `missing` is how many people answered none. `part_of` is
    the tally from which `only` took the columns.

    Tallies of one channel and the same sets add. Raises TallyError for a channel without different support rates, for
    sets that are not known or not complete, and for counts that cannot be.
    """

    channel: Channel
    sets: tuple[Columns, ...]
    blocks: Mapping[Columns, SupportCounts]
    missing: int = 0
    simulated: bool = False
    part_of: SupportTally | None = None

    def __post_init__(self) -> None:
        check_missing(self.missing)
        complete = complete_sets(self.channel, self.sets)
        if complete != self.sets:
            raise TallyError(
                f"The sets {self.sets} are not complete or not in order; use complete_sets(channel, sets): {complete}."
            )
        if self.n >= MOST_REPORTS:
            raise TallyError("A tally holds fewer than 2^62 reports.")
        sizes = dict(zip(self.columns, (part.n_categories for part in parts_of(self.channel)), strict=True))
        for answered, block in self.blocks.items():
            if not answered or answered != tuple(name for name in self.columns if name in answered):
                raise TallyError(
                    f"A block is named by the columns answered, in the order {self.columns}, not {answered}."
                )
            _check_block(block, sets_within(self.sets, answered), sizes)

    @classmethod
    def empty(cls, channel: Channel, sets: Iterable[Sequence[str]] | None = None) -> SupportTally:
        """The tally of nobody; by default of every column by itself."""
        return cls(channel, complete_sets(channel, sets), {})

    @property
    def columns(self) -> Columns:
        """The names of the columns, in order."""
        return tuple(part.domain.name for part in parts_of(self.channel))

    @property
    def whole(self) -> SupportTally:
        """The tally with all columns of these people."""
        return self if self.part_of is None else self.part_of

    @property
    def n(self) -> int:
        """How many people answered at least one column."""
        return sum(block.n for block in self.blocks.values())

    def support(self, *columns: str, among: Iterable[str] = ()) -> tuple[int, Integers]:
        """(n, counts) of a counted set, over the people who answered all its columns (and those in `among`).

        Raises TallyError for a set that was not counted.
        """
        wanted = self.ordered(columns)
        needed = {*wanted, *among}
        shape = [part.n_categories for name in wanted for part in parts_of(self.channel) if part.domain.name == name]
        n, counts = 0, np.zeros(shape, dtype=np.int64)
        for answered, block in self.blocks.items():
            if needed <= set(answered):
                n, counts = n + block.n, counts + block.arrays[wanted]
        return n, counts

    def only(self, *columns: str) -> SupportTally:
        """The same counts for some columns, over the people who answered all of them; the others count as missing.

        Raises TallyError for columns that were not counted together.
        """
        wanted = self.ordered(columns)
        names = tuple(dict.fromkeys(wanted))
        parts = [part for part in parts_of(self.channel) if part.domain.name in names]
        channel = parts[0] if len(parts) == 1 else Product(parts)
        sets = sets_within(self.sets, names)
        counted = {one: self.support(*one, among=names)[1] for one in sets}
        n = sum(block.n for answered, block in self.blocks.items() if set(names) <= set(answered))
        blocks = {names: SupportCounts(n, counted)} if n else {}
        return SupportTally(channel, sets, blocks, self.missing + self.n - n, self.simulated, self.whole)

    def ordered(self, columns: Iterable[str]) -> Columns:
        """The columns in the order of the tally. Raises TallyError when they were not counted together."""
        names = tuple(columns)
        wanted = tuple(sorted(names, key=self.columns.index)) if set(names) <= set(self.columns) else names
        if wanted not in self.sets:
            counted = ", ".join(" × ".join(one) for one in self.sets)
            raise TallyError(
                f"{' × '.join(names)} was not counted; counted are {counted}. Tally the reports again with "
                f"sets=[{names!r}]."
            )
        return wanted

    def __add__(self, other: object) -> SupportTally:
        if not isinstance(other, Tally):
            return NotImplemented
        self._check_addition(other)
        assert isinstance(other, SupportTally)
        if self.sets != other.sets:
            raise TallyError(
                f"One tally counts the sets {self.sets}, the other {other.sets}; only tallies of the same sets add."
            )
        blocks = dict(self.blocks)
        for answered, block in other.blocks.items():
            blocks[answered] = blocks[answered] + block if answered in blocks else block
        missing, simulated = self.missing + other.missing, self.simulated or other.simulated
        return SupportTally(self.channel, self.sets, blocks, missing, simulated)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, SupportTally)
            and self.channel == other.channel
            and self.sets == other.sets
            and self.missing == other.missing
            and _not_empty(self.blocks) == _not_empty(other.blocks)
        )

    def __repr__(self) -> str:
        sets = ", ".join(" × ".join(one) for one in self.sets)
        return (
            f"<support counts of {self.n} reports ({sets}), {self.missing} missing{self._mark}, from {self.channel!r}>"
        )


def parts_of(channel: Channel) -> tuple[Channel, ...]:
    """The channels of the columns: those of a product, or the channel itself."""
    return channel.channels if isinstance(channel, Product) else (channel,)


def counts_support(channel: Channel) -> bool:
    """Whether support can be counted: every column's channel has constant support rates that differ."""
    rates = [part.support_rates for part in parts_of(channel)]
    return all(pair is not None and pair[0] != pair[1] for pair in rates)


def complete_sets(channel: Channel, sets: Iterable[Sequence[str]] | None = None) -> tuple[Columns, ...]:
    """The sets to count, with every column by itself and every smaller set inside a listed one, in a fixed order.

    Raises TallyError for a channel without constant support rates, unknown columns, or a column more than twice.
    """
    for part in parts_of(channel):
        if not counts_support(part):
            raise TallyError(
                f'{part.name} on "{part.domain.name}" has no pair of different support rates, so support counts would not '
                'be enough to estimate from; count patterns (kind="patterns", --kind patterns).'
            )
    names = tuple(part.domain.name for part in parts_of(channel))
    found: set[Columns] = {(name,) for name in names}
    for given in sets or ():
        if isinstance(given, str) or not given or any(name not in names for name in given):
            raise TallyError(f"{given!r} is not a set of columns; give tuples of {list(names)}.")
        ordered = tuple(sorted(given, key=names.index))
        if len(set(ordered)) < len(ordered) and not (len(ordered) == 2 and ordered[0] == ordered[1]):
            raise TallyError(f"{given!r} repeats a column; only a pair of one column with itself may.")
        found.add(ordered)
        found.update(part for size in range(1, len(ordered)) for part in combinations(ordered, size))
    sizes = dict(zip(names, (part.n_categories for part in parts_of(channel)), strict=True))
    for one in found:
        if prod(sizes[name] for name in one) > MOST_CELLS:
            raise TallyError(f"{' × '.join(one)} has more than 2^27 cells to count; take fewer columns together.")
    return tuple(sorted(found, key=lambda one: (len(one), [names.index(name) for name in one])))


def sets_within(sets: Iterable[Columns], answered: Columns) -> tuple[Columns, ...]:
    """The sets whose columns were all answered."""
    return tuple(one for one in sets if set(one) <= set(answered))


def _not_empty(blocks: Mapping[Columns, SupportCounts]) -> dict[Columns, SupportCounts]:
    return {answered: block for answered, block in blocks.items() if block.n}


def _check_block(block: SupportCounts, sets: tuple[Columns, ...], sizes: Mapping[str, int]) -> None:
    if isinstance(block.n, bool) or not isinstance(block.n, (int, np.integer)) or block.n < 0:
        raise TallyError(f"n is {block.n!r}; it is a whole number from 0 on.")
    if set(block.arrays) != set(sets):
        raise TallyError(f"A block counts {sorted(block.arrays)}; it must count {sorted(sets)}.")
    for columns, counts in block.arrays.items():
        shape = tuple(sizes[name] for name in columns)
        if counts.dtype != np.int64 or counts.shape != shape:
            raise TallyError(f"The counts of {' × '.join(columns)} must be int64 of shape {shape}.")
        if counts.size and (counts.min() < 0 or counts.max() > block.n):
            raise TallyError(
                f"The counts of {' × '.join(columns)} must lie between 0 and {block.n}, the number of people."
            )
