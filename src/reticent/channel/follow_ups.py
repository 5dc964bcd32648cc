"""Follow-ups: which threshold is asked next, given the set that earlier answers left, and how often each set is reached.

Letters of section 1.5 of our specification of interval privacy: C = the set so far, a run of cells (start, stop). A(C) =
P(C was left | x), the same for all x in C.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.channel.cuts import Exact, Integers
from reticent.choose import WORD, Words
from reticent.errors import ChannelError


@dataclass(frozen=True)
class Cuts:
    """The cuts that a set allows, ascending, and the chances of each over 2^64; none where the questions end."""

    places: Integers
    chances: tuple[int, ...]

    @cached_property
    def _ends(self) -> NDArray[np.uint64]:
        """Words below ends[i] mean one of the cuts up to i; the last cut has all that is left."""
        return np.array([*accumulate(self.chances)][:-1], dtype=np.uint64)

    def of_words(self, words: NDArray[np.uint64]) -> Integers:
        """The cut of each 64-bit word."""
        return self.places[np.searchsorted(self._ends, words, side="right")]


@dataclass(frozen=True)
class FollowUps:
    """A threshold within the set so far, drawn by integer weights among the cuts that leave both parts wide enough.

    `weights`, one per inner edge, and `masses`, one per cell, are integers. A cut is allowed where both parts hold at least
    the share `floor` of the masses and neither is one of the `lone` cells. With s the sums of the allowed weights up to each
    cut and W their total, a cut has the chance ⌊2^64 s / W⌋ less that of the cut before, over 2^64.

    Source: section 1.5 of our specification of interval privacy (progressive questions, rule (e)).
    Raises ChannelError for weights or masses that are negative, all zero or not one for each, or a floor outside [0, 1].

    >>> steps = FollowUps((1, 1, 1), (1, 1, 1, 1), Fraction(1, 4))
    >>> cuts = steps.cuts(1, 4)
    >>> cuts.places.tolist(), [chance / 2**64 for chance in cuts.chances], len(steps.cuts(1, 2).places)
    ([2, 3], [0.5, 0.5], 0)
    """

    weights: tuple[int, ...]
    masses: tuple[int, ...]
    floor: Fraction
    lone: frozenset[int] = frozenset()

    def __post_init__(self) -> None:
        if len(self.weights) + 1 != len(self.masses):
            raise ChannelError(
                f"{len(self.weights)} weights of thresholds and {len(self.masses)} planning masses; give one weight for each "
                "inner edge and one mass for each cell."
            )
        for numbers, what in ((self.weights, "weights of the thresholds"), (self.masses, "planning masses")):
            if not numbers or min(numbers) < 0 or not sum(numbers):
                raise ChannelError(f"The {what} are integers, none negative, not all zero.")
        if not 0 <= self.floor <= 1:
            raise ChannelError(f"The floor is {self.floor}; allowed is 0 to 1.", floor=self.floor)

    @property
    def n_cells(self) -> int:
        """How many cells there are."""
        return len(self.masses)

    @cached_property
    def mass_before(self) -> NDArray[Any]:
        """The masses before each boundary, shape `(n_cells + 1,)`."""
        exact = np.int64 if sum(self.masses) < 2**63 else np.object_
        return np.array([*accumulate(self.masses, initial=0)], dtype=exact)

    def held(self, start: Any, stop: Any) -> NDArray[Any]:
        """The masses of runs of cells."""
        return np.asarray(self.mass_before[stop] - self.mass_before[start])

    @cached_property
    def _known(self) -> dict[tuple[int, int], Cuts]:
        return {}

    def cuts(self, start: int, stop: int) -> Cuts:
        """The cuts that the set allows, and their chances."""
        if (start, stop) not in self._known:
            self._known[start, stop] = self._found(start, stop)
        return self._known[start, stop]

    @cached_property
    def _weight(self) -> Exact:
        """The weight of a cut at each boundary; 0 at the two ends."""
        return np.array([0, *self.weights, 0], dtype=object)

    @cached_property
    def _possible(self) -> NDArray[np.bool_]:
        return np.asarray(self._weight > 0, dtype=np.bool_)

    def _found(self, start: int, stop: int) -> Cuts:
        wide = self._possible[start + 1 : stop].copy()
        least, before = ceil(self.floor * sum(self.masses)), self.mass_before
        wide &= (before[start + 1 : stop] - before[start] >= least) & (before[stop] - before[start + 1 : stop] >= least)
        if len(wide) and start in self.lone:
            wide[0] = False
        if len(wide) and stop - 1 in self.lone:
            wide[-1] = False
        places = start + 1 + np.flatnonzero(wide)
        return Cuts(places, _over_a_word(self._weight[places]))

    def drawn(self, start: Integers, stop: Integers, words: Words) -> Integers:
        """A cut for each set, shape `(n,)`; 0 where none is allowed."""
        word, keys = words.u64(len(start)), start * (self.n_cells + 1) + stop
        order = np.argsort(keys, kind="stable")
        drawn = np.zeros(len(start), dtype=np.int64)
        for lanes in np.split(order, 1 + np.flatnonzero(np.diff(keys[order]))) if len(keys) else ():
            cuts = self.cuts(int(start[lanes[0]]), int(stop[lanes[0]]))
            if len(cuts.places):
                drawn[lanes] = cuts.of_words(word[lanes])
        return drawn

    def reached(self, n_questions: int) -> tuple[Exact, Exact]:
        """Where up to n_questions answers lead, exactly; two arrays of shape `(n_cells, n_cells + 1)`, by start and stop.

        First A(C) of the sets at which the questions end, all asked or no cut allowed, over 2^(64 n). Then, summed over
        the questions, A(C) of the sets within which one more is asked, over 2^(64 (n − 1)).

            A_0(all cells) = 1;   A_(j+1)(part of C) += A_j(C) · chance of the cut
        """
        shape = (self.n_cells, self.n_cells + 1)
        now, ended, asked = (np.zeros(shape, dtype=object) for _ in range(3))
        now[0, self.n_cells] = 1
        for left in reversed(range(n_questions)):
            following = np.zeros(shape, dtype=object)
            for start, stop in np.argwhere(now).tolist():
                cuts, weight = self.cuts(start, stop), now[start, stop]
                if not len(cuts.places):
                    ended[start, stop] += weight * WORD ** (left + 1)
                    continue
                asked[start, stop] += weight * WORD**left
                to_parts = np.array(cuts.chances, dtype=object) * weight
                following[start, cuts.places] += to_parts
                following[cuts.places, stop] += to_parts
            now = following
        return ended + now, asked


def _over_a_word(weights: Exact) -> tuple[int, ...]:
    """Chances over 2^64 that sum to it, from weights; none from none."""
    if not len(weights):
        return ()
    sums = np.cumsum(weights)
    return tuple(np.diff(sums * WORD // sums[-1], prepend=0).tolist())
