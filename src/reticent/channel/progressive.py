"""Progressive: thresholds one after another, each within the set that the answers so far have left.

Letters of section 1.5 of our specification of interval privacy: C = the set so far, L(C) = its share of the planning
masses, τ = the floor of one person, G(l) = P(τ ≤ l), k = n_questions.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.channel.channel import Channel, check_title, integer_from_json, json_integer
from reticent.channel.cuts import Arc, Exact, Integers, resolved
from reticent.channel.follow_ups import FollowUps
from reticent.channel.selection import Floors, Selection
from reticent.choose import WORD, Source, Words, from_os
from reticent.domain import Numbers, domain_from_json
from reticent.errors import ChannelError, ReportError
from reticent.keys import Keys, key_dtype
from reticent.rows import DenseRows, Rows, StackedRows
from reticent.rows.runs import RunRows

MOST_CELLS = 200
MOST_QUESTIONS = 16
HIDDEN = 1e-12  # an eigenvalue below this share of the largest is 0
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Choice:
    """One answer to a question: the set it would leave, in words and as a key, and the share of the planning law in it."""

    key: int
    label: str
    coverage: Fraction


@dataclass(frozen=True)
class Offer:
    """The next question, as a respondent should see it before answering: where they stand, and what each answer leaves.

    Coverage is under the planning law; it is not differential privacy.
    """

    so_far: Choice
    choices: tuple[Choice, Choice]


@dataclass(frozen=True, eq=False, repr=False)
class Progressive(Channel, kind="progressive"):
    """Up to n_questions thresholds, each drawn within the set so far, and the set that all answers left as the report.

    The law of the next threshold depends on the set so far only (see `FollowUps`); where no cut leaves both parts the
    share `floor` of the masses, the questions end. With A(C) = P(C is left | x), the same for all x in C,

        P(C | x) = A(C) · 1{x ∈ C},

    so the report is the set alone. With `floors`, a law of floors of their own, each device draws the τ of its person
    without looking at the number, and stops, answering no more, once the part that holds the number has a share below τ:

        P(C | x)            = A(C) G(L(C)) · 1{x ∈ C}
        P(stopped at C | x) = A'(C) Σ_cut P(cut | C) [G(L(C)) − G(L(part of x))] · 1{x ∈ C}

    where A' sums over the questions asked within C. Stopping tells on which side of the cut x was likely to be: its row is
    not constant on C, and it must enter the likelihood. After how many answers somebody stopped only scales the row, so it
    is not reported. With a step and a floor, or floors, no cut leaves one possible value.

    There is one question as far as `public` goes, and the cell is the number of the report. The key of a set is start ·
    (K + 1) + stop as for ranges; that of "stopped at" it is K (K + 1) higher.

    Source: section 1.5 of our specification of interval privacy, after Ding and Ding.
    Raises ChannelError for a domain without numbers or above 200 cells, n_questions outside 1..16, weights or masses that
    do not fit, or a floor at which nothing can be asked.

    >>> age = Numbers("age", 0, 100, edges=[25, 50, 75])
    >>> channel = Progressive(age, 2, (1, 1, 1), (1, 1, 1, 1), Fraction(1, 4))
    >>> [channel.describe(int(key)) for key in channel.keys()]
    ['up to 25', 'up to 50', '(25, 50]', '(25, 75]', '(50, 75]', 'above 50', 'above 75']
    """

    domain: Numbers
    n_questions: int
    weights: tuple[int, ...]
    masses: tuple[int, ...]
    floor: Fraction
    floors: Floors | None = None
    title: str = "progressive questions"

    def __post_init__(self) -> None:
        check_title(self.title)
        if not isinstance(self.domain, Numbers):
            raise ChannelError(f'"{self.domain.name}" has categories, not numbers; thresholds need Numbers.')
        n_cells = len(self.domain)
        if n_cells > MOST_CELLS:
            raise ChannelError(
                f'"{self.domain.name}" has {n_cells:,} cells; progressive questions are worked out for at most {MOST_CELLS}. '
                "Take coarser edges.",
                n_cells=n_cells,
            )
        asked = self.n_questions
        if isinstance(asked, bool) or not isinstance(asked, int) or not 1 <= asked <= MOST_QUESTIONS:
            raise ChannelError(f"n_questions is {asked!r}; allowed are 1 to {MOST_QUESTIONS}.", n_questions=asked)
        if len(self.masses) != n_cells:
            raise ChannelError(f"{len(self.masses)} planning masses for {n_cells} cells; give one per cell.")
        if not len(self.steps.cuts(0, n_cells).places):
            raise ChannelError(
                f"No threshold leaves the share {self.floor} of the planning masses on both sides, so nothing could be asked. "
                "Lower the floor, or take finer edges.",
                floor=self.floor,
            )

    @property
    def name(self) -> str:
        return self.title

    # --- the law of the sets -------------------------------------------------------------------------------------
    @cached_property
    def steps(self) -> FollowUps:
        """The law of the next threshold."""
        guarded = self.floor > 0 or self.floors is not None
        cells = range(len(self.domain)) if guarded else range(0)
        lone = frozenset(cell for cell in cells if self.domain.holds_one_value(cell, cell + 1))
        return FollowUps(self.weights, self.masses, self.floor, lone)

    @property
    def whole(self) -> int:
        """The key of the whole domain, where everybody starts."""
        return len(self.domain)

    @property
    def _stopped_from(self) -> int:
        """The lowest key that says "stopped at"."""
        return len(self.domain) * (len(self.domain) + 1)

    def arcs(self, keys: Keys) -> tuple[Integers, Integers]:
        """The starts and the stops of the sets of keys, shapes `(n_reports,)`."""
        own = keys.astype(np.int64) % self._stopped_from
        return own // (len(self.domain) + 1), own % (len(self.domain) + 1)

    def arc(self, key: int) -> Arc:
        """The start and the stop of the set of a key."""
        return divmod(key % self._stopped_from, len(self.domain) + 1)

    def pieces(self, key: int) -> list[Arc]:
        """The set of a report as runs of cells: one."""
        return [self.arc(key)]

    @cached_property
    def _selection(self) -> Selection | None:
        return None if self.floors is None else Selection(self.masses, self.floors, WORD)

    def _floors_met(self, start: Any, stop: Any) -> NDArray[Any]:
        """How many floors of their own, from the lowest, sets meet; 1 where nobody has one."""
        held = self.steps.held(start, stop)
        return np.ones(held.shape, dtype=np.int64) if self._selection is None else self._selection.floors_met(held)

    def _content(self, start: Any, stop: Any) -> Exact:
        """G of the sets' shares, over `_people`."""
        sums = np.array([0, 1], dtype=object) if self.floors is None else self.floors.sums
        return np.asarray(sums[self._floors_met(start, stop)], dtype=object)

    @property
    def _people(self) -> int:
        return 1 if self.floors is None else self.floors.total

    @property
    def _total(self) -> int:
        """What all weights of reports are counted in."""
        return int(WORD**self.n_questions * self._people)

    @cached_property
    def _ends(self) -> tuple[Integers, Exact]:
        """Ascending keys of the sets at which somebody ends, and P(set | x in it) over `_total`."""
        weights = self._reached[0].ravel()
        keys = np.flatnonzero(weights)
        weights = weights[keys] * self._content(*self.arcs(keys))
        return keys[weights > 0], weights[weights > 0]

    @cached_property
    def _reached(self) -> tuple[Exact, Exact]:
        return self.steps.reached(self.n_questions)

    @cached_property
    def _stops(self) -> dict[int, Exact]:
        """Key of "stopped at" a set → P(report | x) for every cell x, over `_total`; ascending."""
        if self.floors is None:
            return {}
        rows = {}
        for start, stop in np.argwhere(self._reached[1]).tolist():
            row = self._reached[1][start, stop] * self._discontent(start, stop)
            if row.any():
                rows[self._stopped_from + start * (len(self.domain) + 1) + stop] = row
        return rows

    def _discontent(self, start: int, stop: int) -> Exact:
        """Σ_cut chance · [G(set) − G(part of x)] for every cell x, 0 outside the set; over 2^64 · `_people`."""
        cuts = self.steps.cuts(start, stop)
        places, chances = cuts.places, np.array(cuts.chances, dtype=object)
        before = chances * (self._content(start, stop) - self._content(start, places))
        after = chances * (self._content(start, stop) - self._content(places, stop))
        turns = np.zeros(len(self.domain) + 1, dtype=object)
        turns[start] += before.sum()
        turns[places] += after - before
        turns[stop] -= after.sum()
        return np.asarray(np.cumsum(turns)[:-1], dtype=object)

    @cached_property
    def _known(self) -> Integers:
        """Every possible key, ascending."""
        return np.append(self._ends[0], np.array([*self._stops], dtype=np.int64))

    @cached_property
    def _chances(self) -> Floats:
        """P(report | x) of each key for an x it holds; 0 for "stopped at", whose row is not constant."""
        ended = [weight / self._total for weight in self._ends[1].tolist()]
        return np.append(ended, np.zeros(len(self._stops)))

    @property
    def n_reports(self) -> int:
        return len(self._known)

    @property
    def key_bits(self) -> int:
        return int(self._stopped_from * (1 if self.floors is None else 2) - 1).bit_length()

    def _find(self, keys: Keys) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        place = np.minimum(np.searchsorted(self._known, keys.astype(np.int64)), len(self._known) - 1)
        return place, np.asarray(self._known[place].astype(np.uint64) == keys)

    def possible(self, keys: Keys) -> NDArray[np.bool_]:
        return self._find(keys)[1]

    def _listed_keys(self) -> Keys:
        return self._known.astype(key_dtype(self.key_bits))

    def exact_row(self, key: int) -> tuple[Fraction, ...]:
        cells, none = range(len(self.domain)), (Fraction(0),) * len(self.domain)
        if key >= self._stopped_from:
            row = self._stops.get(key)
            return none if row is None else tuple(Fraction(weight, self._total) for weight in row.tolist())
        keys, weights = self._ends
        place = int(np.searchsorted(keys, key))
        if place == len(keys) or int(keys[place]) != key:
            return none
        start, stop = self.arc(key)
        chance = Fraction(weights[place], self._total)
        return tuple(chance if start <= x < stop else Fraction(0) for x in cells)

    def sets(self, keys: Keys) -> RunRows:
        """Which cells each reported set holds, as rows of 0 and 1; of "stopped at", the set of that moment."""
        start, stop = self.arcs(keys)
        return RunRows(start, stop, len(self.domain))

    def likelihood(self, keys: Keys) -> Floats:
        place, known = self._find(keys)
        rows = self.sets(keys).dense() * np.where(known, self._chances[place], 0.0)[:, None]
        for row in np.flatnonzero(keys.astype(np.int64) >= self._stopped_from).tolist():
            weights = self._stops.get(int(keys[row]))
            if weights is not None:
                rows[row] = [weight / self._total for weight in weights.tolist()]
        return np.asarray(rows)

    def rows(self, keys: Keys) -> Rows:
        """Runs of cells, their constant factor dropped; "stopped at" keeps its own row."""
        stopped = keys.astype(np.int64) >= self._stopped_from
        if not stopped.any():
            return self.sets(keys)
        if stopped.all() or (np.diff(stopped.astype(np.int8)) < 0).any():
            return DenseRows(self.likelihood(keys))
        return StackedRows([self.sets(keys[~stopped]), DenseRows(self.likelihood(keys[stopped]))])

    @cached_property
    def unresolved(self) -> tuple[str, ...]:
        """The cells whose shares the reports do not tell apart from those of others.

        Sets join their two ends (see `resolved`). The rows of "stopped at" tell more: with them a cell is unresolved where
        a change of the shares that no report shows would change it.

        Source: section 1.2 of our specification (resolvable).
        """
        start, stop = self.arcs(self._ends[0])
        told = resolved(len(self.domain), zip(start.tolist(), stop.tolist(), strict=True))
        if self._stops and not all(told):
            rows = self.likelihood(self.keys())
            rows /= rows.max(axis=1, keepdims=True)
            values, ways = np.linalg.eigh(rows.T @ rows)
            hidden = ways[:, values <= HIDDEN * values[-1]]
            told = (np.abs(hidden).max(axis=1, initial=0.0) <= HIDDEN**0.5).tolist()
        return tuple(label for label, known in zip(self.domain.categories, told, strict=True) if not known)

    @property
    def likelihood_ratio(self) -> Fraction | None:
        if (self._ends[0] != self.whole).any():
            return None
        rows = [self.exact_row(int(key)) for key in self._known.tolist()]
        return None if any(min(row) == 0 for row in rows) else max(max(row) / min(row) for row in rows)

    # --- asking --------------------------------------------------------------------------------------------------
    def offer(self, key: int, answered: int, source: Source | None = None) -> Offer | None:
        """The next question for somebody whose answers have left the set `key`, with the coverage of every choice.

        To be shown before it is answered: a respondent can then stop, which leaves the set as it is. None when the
        questions end: all are answered, or no cut is allowed. Start from `whole` with 0 answered. Coins come from the
        operating system unless a source is given.

        Source: section 1.5 of our specification of interval privacy, rule (a).
        Raises ReportError for a key that is no set the questions lead to, or a number of answers that is not 0..n_questions.

        >>> age = Numbers("age", 0, 100, edges=[50])
        >>> channel = Progressive(age, 1, (1,), (3, 1), Fraction(1, 4))
        >>> offer = channel.offer(channel.whole, 0)
        >>> [(choice.label, str(choice.coverage)) for choice in offer.choices]
        [('up to 50', '3/4'), ('above 50', '1/4')]
        """
        if isinstance(answered, bool) or not isinstance(answered, int) or not 0 <= answered <= self.n_questions:
            raise ReportError(f"{answered!r} questions are answered; allowed are 0 to {self.n_questions}.")
        start, stop = self.arc(key) if 0 <= key < self._stopped_from else (0, 0)
        if not start < stop or not (self._reached[0][start, stop] or self._reached[1][start, stop]):
            raise ReportError("This key is no set that the questions lead to; begin with the key `whole`.")
        cut = 0 if answered == self.n_questions else self._cut(start, stop, source if source is not None else from_os())
        if not cut:
            return None
        return Offer(self._choice(start, stop), (self._choice(start, cut), self._choice(cut, stop)))

    def _choice(self, start: int, stop: int) -> Choice:
        share = Fraction(int(self.steps.held(start, stop)), sum(self.masses))
        return Choice(start * (len(self.domain) + 1) + stop, self.domain.label(start, stop), share)

    def _cut(self, start: int, stop: int, source: Source) -> int:
        """The next cut within a set; 0 where none is allowed."""
        cuts = self.steps.cuts(start, stop)
        return int(cuts.places[source.pick(cuts.chances)]) if len(cuts.places) else 0

    # --- drawing -------------------------------------------------------------------------------------------------
    def draw_public(self, source: Source) -> int:
        return 0

    def n_cells(self, public: int) -> int:
        return self.n_reports

    def key(self, public: int, cell: int) -> int:
        return int(self._known[cell])

    def draw_cell(self, x: int, public: int, source: Source) -> int:
        """The number of the report, in the order of the keys."""
        floor = -1 if self.floors is None else self.floors.draw(source)
        start, stop, stopped = 0, len(self.domain), 0
        for _ in range(self.n_questions):
            cut = self._cut(start, stop, source)
            if not cut:
                break
            part = (start, cut) if x < cut else (cut, stop)
            if int(self._floors_met(*part)) <= floor:
                stopped = self._stopped_from
                break
            start, stop = part
        return int(np.searchsorted(self._known, stopped + start * (len(self.domain) + 1) + stop))

    def draw_keys(self, codes: NDArray[np.int64], words: Words) -> Keys:
        floor = -1 if self.floors is None else np.broadcast_to(self.floors.draw_many(len(codes), words), codes.shape)
        start, stop = np.zeros_like(codes), np.full_like(codes, len(self.domain))
        stopped = np.zeros(codes.shape, dtype=np.bool_)
        asking = np.ones(codes.shape, dtype=np.bool_)
        for _ in range(self.n_questions):
            cut = np.zeros_like(codes)
            cut[asking] = self.steps.drawn(start[asking], stop[asking], words)
            asking &= cut > 0
            first, last = np.where(cut <= codes, cut, start), np.where(cut <= codes, stop, cut)
            first, last = np.where(asking, first, start), np.where(asking, last, stop)
            stopped |= asking & (self._floors_met(first, last) <= floor)
            asking &= ~stopped
            start, stop = np.where(asking, first, start), np.where(asking, last, stop)
        keys = start * (len(self.domain) + 1) + stop + stopped * self._stopped_from
        return keys.astype(key_dtype(self.key_bits))

    # --- as a document -------------------------------------------------------------------------------------------
    def describe(self, key: int) -> str:
        label = self.domain.label(*self.arc(key))
        return f"{label}, then stopped" if key >= self._stopped_from else label

    def law_json(self) -> dict[str, Any]:
        document: dict[str, Any] = {
            "kind": "progressive",
            "title": self.title,
            "n_questions": self.n_questions,
            "weights": [json_integer(weight) for weight in self.weights],
            "masses": [json_integer(mass) for mass in self.masses],
            **Floors((self.floor,)).to_json(),
        }
        return document if self.floors is None else document | {"own_floors": self.floors.to_json()}

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Progressive:
        """The channel that `to_json` wrote."""
        domain, own = domain_from_json(document["domain"]), document.get("own_floors")
        if not isinstance(domain, Numbers):
            raise ChannelError("The document of progressive questions needs a domain of numbers.")
        return cls(
            domain,
            integer_from_json(document["n_questions"]),
            tuple(integer_from_json(weight) for weight in document["weights"]),
            tuple(integer_from_json(mass) for mass in document["masses"]),
            Floors.from_json({"floor": document["floor"]}).values[0],
            None if own is None else Floors.from_json(own),
            document.get("title", "progressive questions"),
        )
