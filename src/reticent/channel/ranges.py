"""Ranges: the report is the range of a drawn partition that holds the answer.

Letters of Ding and Ding (Interval Privacy, arXiv 2106.09565): T = the cut set, R = the range of it that holds the
answer, A = acceptable, τ = floor, ρ = rho / 2^64. `told` of a cut law are the numbers of the acceptable ranges.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.channel.channel import Channel, integer_from_json, json_integer
from reticent.channel.cuts import Arc, Exact, IndependentCuts, Integers, ListedCuts, cuts_from_json, resolved
from reticent.channel.selection import WORD, Selection
from reticent.choose import Source, Words
from reticent.domain import Numbers, domain_from_json
from reticent.errors import ChannelError
from reticent.keys import Keys, key_dtype
from reticent.rows import DenseRows, Rows, StackedRows
from reticent.rows.runs import ExtraRuns, RunRows

NULL = 0
Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False, repr=False)
class Ranges(Channel, kind="ranges"):
    """Draw cuts without looking at the answer, report the range between them that holds it.

    A report is an arc (start, stop) of the K cells, start ≤ j < stop, or the two tails together where stop ≤ start. Its
    key is start · (K + 1) + stop with 0 ≤ start < K and 1 ≤ stop ≤ K: (0, K) is the whole domain, "nothing asked". Key 0
    is "no range" of a selective channel. With acceptable cells A, an answer in A is reported as its cell, and the report
    (start, stop) of any other means the arc without A; ends that lie in A are moved to its edge, so that one set has one
    key.

        P(arc | x) = ask · ρ · P(arc is cut out)  for x in the arc;   P(no range | x) = ask · (1 − ρ a(x))

    where a(x) is the chance that the range of x meets the floor; ρ = a = 1 without a selection. Where each person has a
    floor of their own, P(arc | x) has the further factor P(τ ≤ L(arc)), the same for all x in the arc. With acceptable
    ranges the cut law gives cells in place of those ranges. The number of a question is 0 when nothing is asked, else
    that of its cut set. The coin of ρ and the draw of τ are private and leave no trace in the report.

    Source: Ding and Ding, Interval Privacy; sections 1.1, 1.3 and 1.4 of our specification.
    Raises ChannelError for a law of cuts on another number of cells, acceptable cells that are not a run of some of them,
    masses for another number of cells, or acceptable ranges beside acceptable cells or a selection.

    >>> age = Numbers("age", 0, 100, edges=[20, 40, 60])
    >>> channel = Ranges(age, IndependentCuts((1, 1, 1), 2))
    >>> [channel.describe(int(key)) for key in channel.keys()[:4]], str(channel.exact_row(1)[0])
    (['up to 20', 'up to 40', 'up to 60', '(20, 40]'], '5/9')
    """

    domain: Numbers
    cuts: IndependentCuts | ListedCuts
    acceptable: Arc | None = None
    selection: Selection | None = None
    ask: int = WORD
    title: str = "random ranges"

    def __post_init__(self) -> None:
        if not isinstance(self.domain, Numbers):
            raise ChannelError(f"Ranges are of a domain of Numbers, not of {type(self.domain).__name__}.")
        n_cells = len(self.domain)
        cut_cells = len(self.cuts.weights) + 1 if isinstance(self.cuts, IndependentCuts) else self.cuts.n_cells
        if cut_cells != n_cells:
            raise ChannelError(f'The cuts are of {cut_cells} cells, "{self.domain.name}" has {n_cells}.')
        if self.acceptable is not None:
            first, stop = self.acceptable
            if not 0 <= first < stop <= n_cells or stop - first == n_cells:
                raise ChannelError(f"The acceptable cells {first} to {stop} must be some, not all, of {n_cells} cells.")
        if self.selection is not None and len(self.selection.masses) != n_cells:
            raise ChannelError(f"{len(self.selection.masses)} planning masses for {n_cells} cells; give one per cell.")
        if self._told_ranges and (self.acceptable is not None or self.selection is not None):
            raise ChannelError("Acceptable ranges go with neither acceptable cells nor a selection; use one of them.")
        if not 0 < self.ask <= WORD:
            raise ChannelError(f"ask is {self.ask}; it must be in 1..2^64.", ask=self.ask)

    # --- arcs and keys -------------------------------------------------------------------------------------------
    @property
    def name(self) -> str:
        return self.title

    @cached_property
    def key_bits(self) -> int:
        """Bits of the largest key, or of the number of a cut set if that is longer: a question fits where its report does."""
        n_cells = len(self.domain)
        return max(int(n_cells * (n_cells + 1) - 1).bit_length(), self.cuts.public_bits)

    @property
    def _told_ranges(self) -> tuple[int, ...]:
        """The numbers of the acceptable ranges: an answer in one of them is reported as its cell."""
        return self.cuts.told if isinstance(self.cuts, ListedCuts) else ()

    @property
    def whole(self) -> int:
        """The key of the whole domain: nothing was asked."""
        return len(self.domain)

    def arc(self, key: int) -> Arc:
        """The start and the stop of a key; (0, 0) for "no range"."""
        return divmod(key, len(self.domain) + 1)

    def _reported(self, start: Integers, stop: Integers) -> Integers:
        """The keys of arcs, ends inside A moved to its edge; 0 for arcs within A, which are never reported."""
        n_cells = len(self.domain)
        if self.acceptable is None:
            return start * (n_cells + 1) + stop
        first, last = self.acceptable
        within = (first <= start) & (start < stop) & (stop <= last)
        start = np.where((start >= first) & (start < last), last % n_cells, start)
        stop = np.where((stop > first) & (stop <= last), first or n_cells, stop)
        return np.where(within, NULL, start * (n_cells + 1) + stop)

    @property
    def _disclosed(self) -> range:
        """The acceptable cells."""
        return range(*self.acceptable) if self.acceptable is not None else range(0)

    def _in_acceptable(self, cells: Integers) -> Bools:
        own = self._disclosed
        return np.asarray((cells >= own.start) & (cells < own.stop), dtype=np.bool_)

    def _cell_key(self, x: int) -> int:
        return x * (len(self.domain) + 1) + x + 1

    def arcs(self, keys: Keys) -> tuple[Integers, Integers]:
        """The starts and the stops of keys, shapes `(n_reports,)`."""
        wide = keys.astype(np.int64)
        return wide // (len(self.domain) + 1), wide % (len(self.domain) + 1)

    def _runs(self, keys: Keys) -> tuple[Integers, Integers, Integers]:
        """The sets of reports as runs of cells on the line: row, first and stop of each, ascending; none for "no range"."""
        n_cells, own = len(self.domain), self._disclosed
        start, stop = self.arcs(keys)
        row = np.arange(len(start))
        wraps = (stop <= start) & (stop > 0)
        first, last = np.where(wraps, 0, start), np.where(stop > 0, stop, start)
        pieces = [(row, first, last), (row[wraps], start[wraps], np.full(int(wraps.sum()), n_cells))]
        if own:
            # Disclosed cells and the whole domain stand for themselves, other arcs for what A leaves of them.
            alone = ((start >= own.start) & (start < own.stop) & (stop == start + 1)) | (
                (start == 0) & (stop == n_cells)
            )
            low_end, high_end = np.where(alone, n_cells, own.start), np.where(alone, n_cells, own.stop)
            pieces = [(r, f, np.minimum(s, low_end[r])) for r, f, s in pieces] + [
                (r, np.maximum(f, high_end[r]), s) for r, f, s in pieces
            ]
        row, first, last = (np.concatenate(part) for part in zip(*pieces, strict=True))
        kept = first < last
        row, first, last = row[kept], first[kept], last[kept]
        order = np.lexsort((first, row))
        return row[order], first[order], last[order]

    def sets(self, keys: Keys) -> RunRows:
        """Which cells each reported range holds, as rows of 0 and 1. Raises ChannelError for "no range"."""
        row, first, stop = self._runs(keys)
        again = np.append(False, row[1:] == row[:-1])[: len(row)]
        if (~again).sum() < len(keys):
            raise ChannelError('"No range" stands for no set of cells; leave it out.')
        extra = ExtraRuns(row[again], first[again], stop[again])
        return RunRows(first[~again], stop[~again], len(self.domain), extra)

    def pieces(self, key: int) -> list[Arc]:
        """The set of a report as runs of neighbouring cells on the line, ascending; empty for "no range"."""
        _, first, stop = self._runs(np.array([key], dtype=np.int64))
        return list(zip(first.tolist(), stop.tolist(), strict=True))

    # --- chances -------------------------------------------------------------------------------------------------
    @cached_property
    def _cut_out(self) -> tuple[Integers, Exact]:
        """Ascending keys that meet a floor, and the chances over `_cut_total` that the set is a range that meets it."""
        start, stop, weights = self.cuts.arcs()
        keys = self._reported(start, stop)
        met = self._floors_met(keys)
        kept = (keys != NULL) & (met > 0)
        keys, weights, met = keys[kept], weights[kept], met[kept]
        if self.selection is not None and self.selection.floors.total > 1:
            weights = weights * self.selection.floors.sums[met]
        different, place = np.unique(keys, return_inverse=True)
        chances = np.zeros(len(different), dtype=object)
        np.add.at(chances, place, weights)
        return different, chances

    @property
    def _cut_total(self) -> int:
        return self.cuts.total * (1 if self.selection is None else self.selection.floors.total)

    def _floors_met(self, keys: Integers) -> NDArray[Any]:
        """How many floors the ranges meet, from the lowest; 1 without a selection."""
        if self.selection is None:
            return np.ones(keys.shape, dtype=np.int8)
        met = self.selection.floors_met(self._total(self._mass_before, keys))
        if self.domain.step is None:
            return met
        return np.asarray(met * (self._total(self._values_before, keys) > 1))

    def _summed(self, values: Sequence[int]) -> NDArray[Any]:
        """Integers summed up to each boundary, those of acceptable cells taken as 0."""
        outside = [0 if x in self._disclosed else value for x, value in enumerate(values)]
        exact = np.int64 if sum(outside) < 2**63 else np.object_
        return np.array([*accumulate(outside, initial=0)], dtype=exact)

    def _total(self, before: NDArray[Any], keys: Integers) -> NDArray[Any]:
        """The sums over the sets of ranges."""
        start, stop = self.arcs(keys)
        return np.asarray(before[stop] - before[start] + np.where(stop <= start, before[-1], 0))

    @cached_property
    def _mass_before(self) -> NDArray[Any]:
        assert self.selection is not None
        return self._summed(self.selection.masses)

    @cached_property
    def _values_before(self) -> NDArray[Any]:
        return self._summed(self.domain.values_per_cell)

    @property
    def rho(self) -> int:
        """The coin with which a range is reported, over 2^64."""
        return WORD if self.selection is None else self.selection.rho

    @cached_property
    def _spoken(self) -> Fraction:
        """The chance that somebody is asked and the coin falls for reporting."""
        return Fraction(self.ask, WORD) * Fraction(self.rho, WORD)

    @cached_property
    def reaching_floor(self) -> tuple[Fraction, ...]:
        """a(x): the chance that the range of an answer in each cell meets the person's floor, exact; 1 without a selection.

        0 for acceptable cells, which are reported themselves. Source: section 1.4 of our specification.
        """
        keys, weights = self._cut_out
        start, stop = self.arcs(keys)
        steps = np.zeros(len(self.domain) + 1, dtype=object)
        np.add.at(steps, start, weights)
        np.subtract.at(steps, stop, weights)
        steps[0] += sum(weights[stop <= start].tolist())  # both tails
        over = accumulate(steps[:-1].tolist())
        return tuple(
            Fraction(0) if x in self._disclosed else Fraction(reached, self._cut_total)
            for x, reached in enumerate(over)
        )

    @cached_property
    def no_range(self) -> tuple[Fraction, ...]:
        """P("no range" | x) for every cell x, exact; 0 for acceptable cells and without a selection."""
        if self.selection is None:
            return (Fraction(0),) * len(self.domain)
        asked, rho = Fraction(self.ask, WORD), Fraction(self.rho, WORD)
        silent = [asked * (1 - rho * a) for a in self.reaching_floor]
        return tuple(Fraction(0) if x in self._disclosed else chance for x, chance in enumerate(silent))

    @cached_property
    def _possible(self) -> tuple[Integers, NDArray[np.float64]]:
        """Every possible key, ascending, and its chance for a cell it holds (0 for "no range")."""
        keys, weights = self._cut_out
        scale = self._spoken
        over = self._cut_total * scale.denominator
        chances = [weight * scale.numerator / over for weight in weights.tolist()]
        others = {self._cell_key(x): self.ask / WORD for x in self._disclosed}
        if self.ask < WORD:
            others[self.whole] = (WORD - self.ask) / WORD
        if any(self.no_range):
            others[NULL] = 0.0
        spoken = slice(None) if scale else slice(0)
        every = np.concatenate([keys[spoken], np.array([*others], dtype=np.int64)])
        order = np.argsort(every)
        return every[order], np.array([*chances[spoken], *others.values()])[order]

    def chances(self, keys: Keys) -> NDArray[np.float64]:
        """P(report | x) for a cell x that the report holds, shape `(n_reports,)`; 0 for "no range" and the impossible."""
        place, known = self._find(keys)
        return np.where(known, self._possible[1][place], 0.0)

    def _find(self, keys: Keys) -> tuple[NDArray[np.intp], Bools]:
        known = self._possible[0]
        place = np.minimum(np.searchsorted(known, keys.astype(np.int64)), len(known) - 1)
        return place, np.asarray(known[place].astype(np.uint64) == keys)

    @property
    def n_reports(self) -> int:
        return len(self._possible[0])

    def possible(self, keys: Keys) -> Bools:
        return self._find(keys)[1]

    def _listed_keys(self) -> Keys:
        return self._possible[0].astype(key_dtype(self.key_bits))

    def exact_row(self, key: int) -> tuple[Fraction, ...]:
        if key == NULL:
            return self.no_range
        n_cells = len(self.domain)
        if key == self.whole:
            return (1 - Fraction(self.ask, WORD),) * n_cells
        start, stop = self.arc(key)
        if start in self._disclosed and stop == start + 1:
            chance = Fraction(self.ask, WORD)
        else:
            chance = self._exact_chance(key) * self._spoken
        if not chance:
            return (Fraction(0),) * n_cells
        runs = self.pieces(key)
        return tuple(chance if any(a <= x < b for a, b in runs) else Fraction(0) for x in range(n_cells))

    def _exact_chance(self, key: int) -> Fraction:
        keys, weights = self._cut_out
        place = int(np.searchsorted(keys, min(key, self.whole**2 + self.whole)))
        known = place < len(keys) and int(keys[place]) == key
        return Fraction(weights[place], self._cut_total) if known else Fraction(0)

    def members(self, keys: Keys) -> Bools:
        """Which cells each reported range holds, shape `(n_reports, n_categories)`; none for "no range"."""
        row, first, stop = self._runs(keys)
        steps = np.zeros((len(keys), len(self.domain) + 1), dtype=np.int8)
        np.add.at(steps, (row, first), 1)
        np.add.at(steps, (row, stop), -1)
        return np.cumsum(steps, axis=1, dtype=np.int8)[:, :-1] > 0

    def likelihood(self, keys: Keys) -> NDArray[np.float64]:
        rows = self.members(keys) * self.chances(keys)[:, None]
        rows[keys == NULL] = [float(chance) for chance in self.no_range]
        return np.asarray(rows)

    def rows(self, keys: Keys) -> Rows:
        """Runs of cells, the constant factor of a range dropped; "no range" keeps its own row."""
        silent = np.flatnonzero(keys == NULL)
        if not silent.size:
            return self.sets(keys)
        if silent.size > 1 or silent[0] > 0:
            return DenseRows(self.likelihood(keys))
        parts: list[Rows] = [DenseRows(self.likelihood(keys[:1]))]
        return StackedRows([*parts, self.sets(keys[1:])] if len(keys) > 1 else parts)

    @cached_property
    def unresolved(self) -> tuple[str, ...]:
        """The cells whose shares the reported ranges do not tell apart from those of others.

        Source: section 1.2 of our specification (resolvable); see `resolved`.
        """
        start, stop = self.arcs(self._cut_out[0])
        ranges = zip(start.tolist(), stop.tolist(), strict=True) if self.rho else iter(())
        told = resolved(len(self.domain), chain(ranges, ((x, x + 1) for x in self._disclosed)))
        return tuple(label for label, known in zip(self.domain.categories, told, strict=True) if not known)

    # --- drawing -------------------------------------------------------------------------------------------------
    def draw_public(self, source: Source) -> int:
        if self.ask < WORD and not source.bern(self.ask):
            return 0
        return self.cuts.draw(source)

    def _answers(self, public: int) -> list[int]:
        """The keys a question can have as its report: ranges, acceptable cells, "no range"."""
        if public == 0:
            return [self.whole]
        keys = self._reported(*np.array(self.cuts.arcs_of(public), dtype=np.int64).T)
        keys = keys[keys != NULL]
        met = self._floors_met(keys)
        told = keys[met > 0].tolist() if self.rho else []
        every = 1 if self.selection is None else len(self.selection.floors.values)
        silent = [NULL] if self.rho < WORD or bool((met < every).any()) else []
        return [*told, *map(self._cell_key, self._disclosed), *silent]

    def n_cells(self, public: int) -> int:
        return len(self._answers(public))

    def draw_cell(self, x: int, public: int, source: Source) -> int:
        """The place of the report among those the question can have."""
        answers = np.array(self._answers(public), dtype=np.int64)
        silent = len(answers) - 1
        row, first, stop = self._runs(answers)
        own = row[(first <= x) & (x < stop)]
        if not own.size:
            return silent
        cell = int(own[0])
        if public == 0 or x in self._disclosed or self.selection is None:
            return cell
        met = int(self._floors_met(answers[[cell]])[0])
        shown = met > self.selection.floors.draw(source) and source.bern(self.rho)
        return cell if shown else silent

    def key(self, public: int, cell: int) -> int:
        return self._answers(public)[cell]

    def draw_keys(self, codes: NDArray[np.int64], words: Words) -> Keys:
        keys = self._reported(*self.cuts.draw_arcs(codes, words))
        if self.selection is not None:
            told = words.bern(self.rho, len(codes))
            told &= self._floors_met(keys) > self.selection.floors.draw_many(len(codes), words)
            keys = np.where(told, keys, NULL)
        keys = np.where(self._in_acceptable(codes), codes * (len(self.domain) + 1) + codes + 1, keys)
        if self.ask < WORD:
            keys = np.where(words.bern(self.ask, len(codes)), keys, self.whole)
        return keys.astype(key_dtype(self.key_bits))

    # --- as a document -------------------------------------------------------------------------------------------
    @property
    def likelihood_ratio(self) -> Fraction | None:
        """None, for ranges rule answers out; 1 where every report is "no range" or the whole domain."""
        return None if self._disclosed or (len(self._cut_out[0]) and self._spoken) else Fraction(1)

    def describe(self, key: int) -> str:
        if key == NULL:
            return "no range"
        return " or ".join(self.domain.label(first, stop) for first, stop in self.pieces(key))

    def law_json(self) -> dict[str, Any]:
        document: dict[str, Any] = {"kind": "ranges", "title": self.title, "cuts": self.cuts.to_json()}
        if self.acceptable is not None:
            document["acceptable"] = list(self.acceptable)
        if self.selection is not None:
            document["selection"] = self.selection.to_json()
        if self.ask < WORD:
            document["ask"] = json_integer(self.ask)
        return document

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Ranges:
        """The channel that `to_json` wrote."""
        domain = domain_from_json(document["domain"])
        if not isinstance(domain, Numbers):
            raise ChannelError("The document of ranges needs a domain of numbers.")
        acceptable, chosen = document.get("acceptable"), document.get("selection")
        if acceptable is not None and (not isinstance(acceptable, list) or len(acceptable) != 2):
            raise ChannelError("acceptable is a list of two cells, the first and the one after the last.")
        return cls(
            domain,
            cuts_from_json(document["cuts"], len(domain)),
            None if acceptable is None else (integer_from_json(acceptable[0]), integer_from_json(acceptable[1])),
            None if chosen is None else Selection.from_json(chosen),
            integer_from_json(document.get("ask", WORD)),
            document.get("title", "random ranges"),
        )
