"""The law of the cuts that make a number's ranges: independent draws of edges, or a list of cut sets.

Boundary j of K cells lies before cell j, so that the inner edges are 1..K−1 and 0 and K are the two ends. An arc
(start, stop) holds the cells start ≤ j < stop; with stop ≤ start it joins both tails. An arc's chance is exact: an
integer over `total`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, chain, pairwise
from math import comb, gcd
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from reticent.bulk import inverse_cdf
from reticent.channel.channel import integer_from_json, json_integer
from reticent.choose import Source, Words
from reticent.errors import ChannelError

Arc = tuple[int, int]
Integers = NDArray[np.int64]
Exact = NDArray[np.object_]
MOST_SETS = 2**17


class CutLaw(Protocol):
    """How the cuts are drawn, before and without the answer."""

    @property
    def total(self) -> int:
        """What the chances of `arcs` are counted in."""
        ...

    @property
    def public_bits(self) -> int:
        """Bits of the largest number of a cut set."""
        ...

    def draw(self, source: Source) -> int:
        """The number of a cut set, at least 1."""
        ...

    def arcs_of(self, public: int) -> list[Arc]:
        """The arcs of a cut set, by its number."""
        ...

    def arcs(self) -> tuple[Integers, Integers, Exact]:
        """Starts, stops and weights: the arc is one of the drawn ones with chance weight / total. An arc may come more
        than once; its chances then add."""
        ...

    def draw_arcs(self, codes: Integers, words: Words) -> tuple[Integers, Integers]:
        """The start and the stop of the arc that holds each answer, cuts drawn anew for each."""
        ...

    def to_json(self) -> dict[str, Any]:
        """The law as JSON."""
        ...


@dataclass(frozen=True)
class IndependentCuts:
    """`n_cuts` independent draws of an inner edge by integer weights, equal draws counted once; ranges on a line.

    With g the weight outside the open arc (s, e), w the weight of an edge and n = n_cuts, the arc has the chance

        (gⁿ − (g − w_s)ⁿ − (g − w_e)ⁿ + (g − w_s − w_e)ⁿ) / (Σ w)ⁿ,   without the terms of an end of the domain.

    The number of a cut set is Σ c_i Kⁱ over its cuts c_0 < c_1 < …

    Source: section 1.1 of our specification of interval privacy (Case I, Case II, canonical); inclusion and exclusion.
    Raises ChannelError for weights that are negative or all zero, no cuts, or numbers of cut sets above 64 bits.

    >>> [part.tolist() for part in IndependentCuts((1, 2), 1).arcs()]
    [[0, 0, 1, 2], [1, 2, 3, 3], [1, 2, 1, 2]]
    """

    weights: tuple[int, ...]
    n_cuts: int

    def __post_init__(self) -> None:
        if not self.weights or min(self.weights) < 0 or not sum(self.weights):
            raise ChannelError("The weights of the cuts are integers, one per inner edge, none negative, not all zero.")
        if isinstance(self.n_cuts, bool) or not isinstance(self.n_cuts, int) or not 1 <= self.n_cuts <= 64:
            raise ChannelError(f"n_cuts is {self.n_cuts}; ranges need 1 to 64 cuts.", n_cuts=self.n_cuts)
        if self.public_bits > 64:
            raise ChannelError(
                f"{self.n_cuts} cuts on {len(self.weights)} edges need {self.public_bits} bits to name; at most 64 are "
                "used. Take fewer ranges or coarser edges.",
                bits=self.public_bits,
            )

    @property
    def total(self) -> int:
        return int(sum(self.weights) ** self.n_cuts)

    @property
    def public_bits(self) -> int:
        return int((len(self.weights) + 1) ** self.n_cuts - 1).bit_length()

    def draw(self, source: Source) -> int:
        cuts = sorted({1 + source.pick(self.weights) for _ in range(self.n_cuts)})
        return sum(cut * (len(self.weights) + 1) ** place for place, cut in enumerate(cuts))

    def arcs_of(self, public: int) -> list[Arc]:
        n_cells = len(self.weights) + 1
        ends = [0]
        while public:
            public, cut = divmod(public, n_cells)
            ends.append(cut)
        return list(zip(ends, [*ends[1:], n_cells], strict=True))

    def arcs(self) -> tuple[Integers, Integers, Exact]:
        n_cells, n = len(self.weights) + 1, self.n_cuts
        weight = np.array([0, *self.weights, 0], dtype=object)
        before = np.cumsum(weight)
        possible = np.flatnonzero(weight)
        starts, stops, chances = [], [], []
        for start in (0, *possible.tolist()):
            further = possible[possible > start] if n > 1 or start == 0 else possible[:0]
            stop = np.append(further, n_cells) if start else further
            outside = before[-1] - (before[stop - 1] - before[start])
            ends = weight[stop]  # 0 at the end of the domain, where nothing need be drawn
            chance = outside**n - (outside - ends) ** n * (stop < n_cells)
            if start:
                chance = chance - (outside - weight[start]) ** n
                chance = chance + (outside - weight[start] - ends) ** n * (stop < n_cells)
            starts.append(np.full(len(stop), start))
            stops.append(stop)
            chances.append(chance)
        return np.concatenate(starts), np.concatenate(stops), np.concatenate(chances)

    def listed(self, told: tuple[int, ...] = ()) -> ListedCuts:
        """The same law as a list of cut sets, exact, with the numbers of the ranges that are told by cell.

        Raises ChannelError above 2^17 cut sets.

        >>> cuts = IndependentCuts((1, 2), 2).listed()
        >>> cuts.sets, cuts.weights
        (((1,), (1, 2), (2,)), (1, 4, 4))
        """
        drawn = [(edge, weight) for edge, weight in enumerate(self.weights, 1) if weight]
        n_sets = sum(comb(len(drawn), size) for size in range(1, min(self.n_cuts, len(drawn)) + 1))
        if n_sets > MOST_SETS:
            raise ChannelError(
                f"{self.n_cuts} cuts on {len(drawn)} edges make {n_sets:,} cut sets; at most {MOST_SETS:,} are listed. Take "
                "coarser edges or fewer ranges.",
                n_sets=n_sets,
            )
        law: dict[tuple[int, ...], int] = {(): 1}
        for _ in range(self.n_cuts):
            before, law = law, {}
            for cuts, chance in before.items():
                for edge, weight in drawn:
                    more = cuts if edge in cuts else tuple(sorted((*cuts, edge)))
                    law[more] = law.get(more, 0) + chance * weight
        sets = tuple(sorted(law))
        divisor = gcd(*law.values())
        return ListedCuts(len(self.weights) + 1, sets, tuple(law[cuts] // divisor for cuts in sets), told=told)

    def draw_arcs(self, codes: Integers, words: Words) -> tuple[Integers, Integers]:
        start, stop = np.zeros_like(codes), np.full_like(codes, len(self.weights) + 1)
        column = [[weight] for weight in self.weights]
        for _ in range(self.n_cuts):
            cut = 1 + inverse_cdf(np.zeros_like(codes), column, sum(self.weights), words).astype(np.int64)
            below = cut <= codes
            np.maximum(start, cut, out=start, where=below)
            np.minimum(stop, cut, out=stop, where=~below)
        return start, stop

    def to_json(self) -> dict[str, Any]:
        return {"n_cuts": self.n_cuts, "weights": [json_integer(weight) for weight in self.weights]}


@dataclass(frozen=True)
class ListedCuts:
    """One of the listed cut sets, by integer weights; on a line, or on a ring where one arc joins both tails.

    On a line the cuts are inner edges, at least one; on a ring boundaries 0..K−1, at least two. A cut set is numbered by
    its place in the list, from 1. `told` are numbers of ranges on a line, from 1 at the low end: whoever is in one of them
    has the arc of a single cell instead, and the rest of that cut set stays as it is.

    Source: sections 1.1 and 1.3 of our specification of interval privacy (canonical, acceptable ranges, ring).
    Raises ChannelError for cuts out of place or order, a set listed twice, weights that are not positive, more than
    2^17 sets, or told numbers that do not ascend, that no set has, that are all there are, or that are on a ring.

    >>> ListedCuts(5, ((2,), (3,)), (1, 1), told=(1,)).arcs_of(2)
    [(0, 1), (1, 2), (2, 3), (3, 5)]
    """

    n_cells: int
    sets: tuple[tuple[int, ...], ...]
    weights: tuple[int, ...]
    ring: bool = False
    told: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if not 0 < len(self.sets) == len(self.weights) <= MOST_SETS:
            raise ChannelError(
                f"{len(self.sets):,} cut sets and {len(self.weights):,} weights; list 1 to {MOST_SETS:,} of each."
            )
        if min(self.weights) <= 0 or len(set(self.sets)) < len(self.sets):
            raise ChannelError("Every cut set is listed once, with a positive integer as weight.")
        fewest = 2 if self.ring else 1
        for cuts in self.sets:
            ascending = all(left < right for left, right in zip(cuts, cuts[1:], strict=False))
            if len(cuts) < fewest or not ascending or cuts[0] < 1 - self.ring or cuts[-1] >= self.n_cells:
                raise ChannelError(
                    f"The cut set {cuts} is not allowed: at least {fewest}, ascending, from {1 - self.ring} to "
                    f"{self.n_cells - 1}.",
                    cuts=cuts,
                )
        most = 1 + max(map(len, self.sets))
        if self.told and (
            self.ring
            or not 1 <= self.told[0] <= self.told[-1] <= most
            or len(self.told) == most
            or any(a >= b for a, b in pairwise(self.told))
        ):
            raise ChannelError(
                f"The told ranges {self.told} are not allowed: ascending numbers from 1 to {most}, not all, and on a line.",
                told=self.told,
            )

    @cached_property
    def total(self) -> int:
        return sum(self.weights)

    @property
    def public_bits(self) -> int:
        return len(self.sets).bit_length()

    def draw(self, source: Source) -> int:
        return 1 + source.pick(self.weights)

    def arcs_of(self, public: int) -> list[Arc]:
        drawn = self._ranges(self.sets[public - 1])
        if not self.told:
            return drawn
        return [
            arc
            for number, (start, stop) in enumerate(drawn, 1)
            for arc in (pairwise(range(start, stop + 1)) if number in self.told else [(start, stop)])
        ]

    def _ranges(self, cuts: tuple[int, ...]) -> list[Arc]:
        if not self.ring:
            return list(pairwise((0, *cuts, self.n_cells)))
        return [*pairwise(cuts), (cuts[-1], cuts[0] or self.n_cells)]

    def arcs(self) -> tuple[Integers, Integers, Exact]:
        found: list[tuple[int, int, int]] = []
        steps = [0] * (self.n_cells + 1)  # of the chance that the range of a cell is told
        for cuts, weight in zip(self.sets, self.weights, strict=True):
            for number, (start, stop) in enumerate(self._ranges(cuts), 1):
                if number in self.told:
                    steps[start] += weight
                    steps[stop] -= weight
                else:
                    found.append((start, stop, weight))
        found += [(cell, cell + 1, weight) for cell, weight in enumerate(accumulate(steps)) if weight]
        starts, stops, weights = zip(*found, strict=True)
        return np.array(starts), np.array(stops), np.array(weights, dtype=object)

    @cached_property
    def _padded(self) -> Integers:
        """The cut sets as rows, the last cut repeated where a set is shorter."""
        width = max(map(len, self.sets))
        return np.array([cuts + cuts[-1:] * (width - len(cuts)) for cuts in self.sets], dtype=np.int64)

    def draw_arcs(self, codes: Integers, words: Words) -> tuple[Integers, Integers]:
        column = [[weight] for weight in self.weights]
        drawn = inverse_cdf(np.zeros_like(codes), column, self.total, words)
        cuts = self._padded[drawn]
        below = cuts <= codes[:, None]
        start = np.where(below, cuts, -1).max(axis=1)
        stop = np.where(below, self.n_cells, cuts).min(axis=1)
        if self.ring:
            stop = np.where(below.all(axis=1) & (cuts[:, 0] > 0), cuts[:, 0], stop)
            return np.where(start < 0, cuts[:, -1], start), stop
        start = np.maximum(start, 0)
        if self.told:
            lengths = np.array(list(map(len, self.sets)))[drawn]
            own = np.isin(1 + np.minimum(below.sum(axis=1), lengths), self.told)
            start, stop = np.where(own, codes, start), np.where(own, codes + 1, stop)
        return start, stop

    def to_json(self) -> dict[str, Any]:
        listed = [[json_integer(weight), list(cuts)] for cuts, weight in zip(self.sets, self.weights, strict=True)]
        told = {"told": list(self.told)} if self.told else {}
        return {"shape": "ring" if self.ring else "line", "listed": listed, **told}


def cuts_from_json(document: dict[str, Any], n_cells: int) -> IndependentCuts | ListedCuts:
    """The law that `to_json` wrote."""
    if "listed" not in document:
        return IndependentCuts(
            tuple(integer_from_json(weight) for weight in document["weights"]), integer_from_json(document["n_cuts"])
        )
    sets = tuple(tuple(integer_from_json(cut) for cut in cuts) for _, cuts in document["listed"])
    weights = tuple(integer_from_json(weight) for weight, _ in document["listed"])
    told = document.get("told", [])
    if not isinstance(told, list) or ("told" in document and not told):
        raise ChannelError("told is a list of the numbers of ranges, at least one.")
    numbers = tuple(integer_from_json(number) for number in told)
    return ListedCuts(n_cells, sets, weights, {"ring": True, "line": False}[document["shape"]], numbers)


def resolved(n_cells: int, arcs: Iterable[Arc]) -> list[bool]:
    """Which cells have their share determined by the chances of the arcs and by their sum to 1.

    An arc tells the difference of the distribution between its two ends. Boundaries that arcs join, in however many
    steps, have a known difference; the two ends of the domain are joined. A cell is resolved when its ends are.

    Source: section 1.2 of our specification of interval privacy.

    >>> resolved(3, [(0, 1)]), resolved(3, [(0, 1), (1, 2)])
    ([True, False, False], [True, True, True])
    """
    parent, apart = list(range(n_cells + 1)), n_cells

    def root(place: int) -> int:
        while parent[place] != place:
            parent[place] = parent[parent[place]]
            place = parent[place]
        return place

    for start, stop in chain([(0, n_cells)], arcs):
        one, other = root(start), root(stop)
        if one != other:
            parent[one] = other
            apart -= 1
            if not apart:
                break
    return [root(x) == root(x + 1) for x in range(n_cells)]
