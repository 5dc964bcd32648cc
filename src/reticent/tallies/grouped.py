"""GroupedTally: a tally for each combination of public columns."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce

from reticent.errors import TallyError
from reticent.tallies.addition import Tally


@dataclass(frozen=True)
class GroupedTally:
    """A tally for each combination of public columns, `groups[("north", "2024")]`, all of one kind. They add.

    Raises TallyError when the groups are tallies of different kinds.
    """

    by: tuple[str, ...]
    groups: dict[tuple[str, ...], Tally] = field(default_factory=dict)

    def __post_init__(self) -> None:
        kinds = sorted({type(one).__name__ for one in self.groups.values()})
        if len(kinds) > 1:
            raise TallyError(f"The groups are of different kinds: {', '.join(kinds)}. Count all of them in one way.")

    def __add__(self, other: object) -> GroupedTally:
        if not isinstance(other, GroupedTally):
            return NotImplemented
        if self.by != other.by:
            raise TallyError(
                f"One tally is grouped by {list(self.by)}, the other by {list(other.by)}; they must be the same."
            )
        merged = dict(self.groups)
        for group, tally in other.groups.items():
            merged[group] = merged[group] + tally if group in merged else tally
        return GroupedTally(self.by, dict(sorted(merged.items())))

    def total(self) -> Tally:
        """All groups together. Raises TallyError when there are none."""
        if not self.groups:
            raise TallyError("There is no group to add up.")
        return reduce(lambda one, two: one + two, self.groups.values())
