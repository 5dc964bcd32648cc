"""Several answers about one number: how much of the population fits all of them, exactly.

Letters of section 1.6 of our specification of interval privacy: S_j = the set that answer j leaves, S = their
intersection, L(S) = the share of the population in it, q_j(x, y) = P(y ∈ S_j | the answer is x).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.channel import Channel, Product, Ranges, Subset, Table, Transformed
from reticent.channel.cuts import IndependentCuts
from reticent.channel.ranges import NULL
from reticent.errors import ChannelError, ParameterError
from reticent.measures.enumeration import likelihood_rows, listable
from reticent.measures.prior import as_prior
from reticent.measures.size import size_by_category

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Positions = NDArray[np.intp]
MOST_CELLS = 4096
_CHUNK = 2**22


# --- joint coverage ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class JointCoverage:
    """What several independent answers by one person about one value leave; made by `joint_coverage`.

    `by_cell` is E[L(S) | x], `candidates_by_cell` the number of cells left on average, both of shape `(n_categories,)`;
    `each` the leakage 1 − E[L(S_j)] of every answer by itself. All but the cells are shares of the population.
    """

    question: str
    prior: Floats
    by_cell: Floats
    candidates_by_cell: Floats
    each: tuple[float, ...]

    @property
    def n_answers(self) -> int:
        """How many answers there are."""
        return len(self.each)

    @cached_property
    def coverage(self) -> float:
        """E[L(S)]: the share of the population that fits all the answers, on average."""
        return min(float(self.prior @ self.by_cell), 1.0)

    @cached_property
    def exact(self) -> float:
        """1 − E[L(S)], the leakage of the answers together."""
        return 1 - self.coverage

    @cached_property
    def sum_bound(self) -> float:
        """The sum of the leakages, at most 1: a bound that also holds where answers are not independent."""
        return min(sum(self.each), 1.0)

    @property
    def leakage(self) -> float:
        """The smaller of the two: what to report."""
        return min(self.exact, self.sum_bound)

    @cached_property
    def expected_candidates(self) -> float:
        """How many cells remain possible on average."""
        return float(self.prior @ self.candidates_by_cell)

    def to_json(self) -> dict[str, Any]:
        """Everything but the numbers by cell, as JSON."""
        return {
            "question": self.question,
            "n_answers": self.n_answers,
            "coverage": self.coverage,
            "leakage": self.leakage,
            "exact_leakage": self.exact,
            "sum_bound": self.sum_bound,
            "leakage_of_each": list(self.each),
            "expected_candidates": self.expected_candidates,
        }

    def summary(self) -> str:
        """What the answers leave, in two lines."""
        answers = "1 answer" if self.n_answers == 1 else f"{self.n_answers} independent answers"
        return f'{answers} by one person to "{self.question}":\n{self.line()}'

    def line(self) -> str:
        """The coverage and both leakages in one line."""
        return f"  joint coverage       {self.coverage:.4f}: leakage {self.exact:.4f}, by the sum bound {self.sum_bound:.4f}"


def joint_coverage(channels: Channel | Sequence[Channel], prior: Any) -> JointCoverage:
    """The share of the population that fits several independent answers by one person about one value, exactly.

        E[L(S)] = Σ_x Σ_y w(x) w(y) Π_j q_j(x, y)

    beside the bound of the paper, 1 − E[L(S)] ≤ Σ_j (1 − E[L(S_j)]). One channel for each answer, the same one as often
    as it is asked; all of one domain. For ranges and what is made of them (`transformed`), and any channel whose reports
    can be listed. "No range" leaves every cell that can lead to it: that it makes some of them less likely does not show
    in coverage.

    Source: Ding and Ding, Interval Privacy; section 1.6 of our specification (composition).
    Raises ParameterError for no channel, different domains or a prior that is not a distribution; ChannelError above
    4,096 cells or for too many reports.

    >>> from reticent.domain import Numbers
    >>> digit = Ranges(Numbers("digit", 0, 9, step=1), IndependentCuts((1,) * 9, 1))
    >>> three = joint_coverage([digit] * 3, [0.1] * 10)
    >>> round(three.exact, 6), three.sum_bound, round(three.expected_candidates, 6)
    (0.623786, 1.0, 3.76214)
    """
    asked = [channels] if isinstance(channels, Channel) else list(channels)
    if not asked or not all(isinstance(channel, Channel) for channel in asked):
        raise ParameterError("Joint coverage is of one or more channels, one for each answer.")
    domain = asked[0].domain
    if any(channel.domain != domain for channel in asked):
        raise ParameterError(
            f'The answers must be about one question on one grid; besides "{domain.name}" there is another domain. Declare '
            "the channels on one domain (see transformed)."
        )
    weights = as_prior(domain, prior).probabilities
    together, each = np.ones((1, 1)), {}
    for channel, times in Counter(asked).items():
        pairs = pair_matrix(channel)
        each[channel] = max(1 - float(weights @ pairs @ weights), 0.0)
        together = together * pairs**times
    leakages = tuple(each[channel] for channel in asked)
    return JointCoverage(domain.name, weights, together @ weights, together.sum(axis=1), leakages)


# --- which cells stay possible together ----------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def pair_matrix(channel: Channel) -> Floats:
    """q(x, y): the chance that y remains possible after the report of an answer x, shape `(n_categories, n_categories)`.

    Raises ChannelError above 4,096 categories, and for reports that are too many to list.

    >>> from reticent.domain import Numbers
    >>> pair_matrix(Ranges(Numbers("x", 0, 3, edges=[1, 2]), IndependentCuts((1, 3), 1))).tolist()
    [[1.0, 0.75, 0.0], [0.75, 1.0, 0.25], [0.0, 0.25, 1.0]]
    """
    if channel.n_categories > MOST_CELLS:
        raise ChannelError(
            f'"{channel.domain.name}" has {channel.n_categories:,} categories; what several answers leave is computed up to '
            f"{MOST_CELLS:,}. Take coarser edges.",
            n_categories=channel.n_categories,
        )
    pairs = np.clip(_pairs(channel), 0.0, 1.0)
    np.fill_diagonal(pairs, 1.0)
    pairs.flags.writeable = False
    return pairs


def _pairs(channel: Channel) -> Floats:
    p = channel.n_categories
    if isinstance(channel, Subset) or (isinstance(channel, Table) and channel.keep is not None):
        equal = np.full(p, 1 / p)
        return np.full((p, p), 1 - float(size_by_category(channel, equal).values[0]) / (1 - 1 / p))
    if isinstance(channel, Product):
        together: Floats = np.ones((1, 1))
        for part in channel.channels:
            together = np.asarray(np.kron(together, _pairs_with_itself(part)))
        return together
    if isinstance(channel, Transformed):
        return np.asarray(_pairs_with_itself(channel.inner)[np.ix_(channel.cells, channel.cells)])
    if isinstance(channel, Ranges):
        return _of_cuts(channel) if _plain(channel) else _of_arcs(channel)
    _require_listable(channel)
    held = np.zeros((p, p))
    for rows in likelihood_rows(channel):
        held += rows.T @ (rows > 0)
    return held


def _pairs_with_itself(channel: Channel) -> Floats:
    pairs = _pairs(channel)
    np.fill_diagonal(pairs, 1.0)
    return pairs


def _plain(channel: Ranges) -> bool:
    """Whether every range between independent cuts is reported as it is."""
    return isinstance(channel.cuts, IndependentCuts) and channel.acceptable is None and channel.selection is None


def _of_cuts(channel: Ranges) -> Floats:
    """Two cells share a range when no cut falls between them: (1 − weight between them / weight of all)^n_cuts."""
    assert isinstance(channel.cuts, IndependentCuts)
    total = sum(channel.cuts.weights)
    before = np.append(0.0, np.cumsum([weight / total for weight in channel.cuts.weights]))
    asked = channel.ask / 2**64
    shared = np.maximum(1 - np.abs(before[:, None] - before), 0.0) ** channel.cuts.n_cuts
    return np.asarray(1 - asked + asked * shared)


def _of_arcs(channel: Ranges) -> Floats:
    """Σ chance of the sets that hold both, by sums over rectangles, and of "no range"."""
    keys = channel.keys()
    keys = keys[keys != NULL]
    silent, maybe_silent = _silence(channel)
    pairs = np.outer(silent, maybe_silent)
    if len(keys):
        pairs += channel.sets(keys).gram(channel.chances(keys), np.arange(len(silent)))
    return pairs


def _silence(channel: Ranges) -> tuple[Floats, Bools]:
    """P("no range" | x), and which cells that is possible for."""
    silent = channel.no_range
    return np.array([float(chance) for chance in silent]), np.array([chance > 0 for chance in silent])


def _require_listable(channel: Channel) -> None:
    if not listable(channel):
        raise ChannelError(
            f"{channel.name} has too many reports to go through; what several answers leave is computed for ranges, subset "
            "designs and randomised response.",
            n_categories=channel.n_categories,
        )


# --- only the answer itself ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The two cells next to each cell, and P(both stay possible | x), all of shape `(n_categories,)`.

    `decide` says that every report leaves a run of cells in one order, so that without its neighbours only x is left.
    """

    left: Positions
    right: Positions
    both: Floats
    decide: bool


def pinned_by_neighbours(channel: Channel, m: int) -> tuple[Floats, bool]:
    """P(after m answers only x is left), shape `(n_categories,)`, and whether it is an upper bound rather than exact.

        1 − q(x, left)^m − q(x, right)^m + P(both neighbours stay possible | x)^m

    is the chance that both neighbours are ruled out. Where reports leave intervals nothing else can remain then, since
    the intersection of intervals is an interval; arcs of a ring may meet again on its far side.

    Source: section 1.6 of our specification; inclusion and exclusion.
    Raises ChannelError as `pair_matrix`.
    """
    pairs, beside = pair_matrix(channel), neighbours(channel)
    cells = np.arange(len(pairs))
    pinned = 1 - pairs[cells, beside.left] ** m - pairs[cells, beside.right] ** m + np.clip(beside.both, 0, 1) ** m
    return np.clip(pinned, 0.0, 1.0), not beside.decide


def neighbours(channel: Channel) -> Neighbours:
    """The cells next to each cell, in an order in which ranges are runs where there is one; the last is next to the first."""
    cells = np.arange(channel.n_categories)
    groups = [cells]
    if isinstance(channel, Ranges) and channel.acceptable is not None:
        # Acceptable cells are reported alone or left out, so the ranges are runs of the others.
        own = (cells >= channel.acceptable[0]) & (cells < channel.acceptable[1])
        groups = [cells[~own], cells[own]]
    left, right = np.empty_like(cells), np.empty_like(cells)
    for group, other in zip(groups, reversed(groups), strict=True):
        left[group], right[group] = np.roll(group, 1), np.roll(group, -1)
        if len(group) == 1:
            left[group] = right[group] = other[0]
    if isinstance(channel, Ranges) and _plain(channel):
        ends = np.sort([left, cells, right], axis=0)
        return Neighbours(left, right, pair_matrix(channel)[ends[0], ends[2]], True)
    return _counted(channel, left, right, np.concatenate(groups))


def _counted(channel: Channel, left: Positions, right: Positions, order: Positions) -> Neighbours:
    both, decide = np.zeros(channel.n_categories), True
    for sets, chances in _sets(channel):
        both += ((sets & sets[:, left] & sets[:, right]) * chances).sum(axis=0)
        ordered = sets[:, order]
        runs = ordered[:, 0] + (ordered[:, 1:] & ~ordered[:, :-1]).sum(axis=1)
        decide = decide and bool((runs <= 1).all())
    return Neighbours(left, right, both, decide)


def _sets(channel: Channel) -> Iterator[tuple[Bools, Floats]]:
    """Which cells each report leaves, shape `(n, n_categories)`, and its chances for the answers it holds, in chunks."""
    if not isinstance(channel, Ranges):
        _require_listable(channel)
        yield from ((rows > 0, rows) for rows in likelihood_rows(channel))
        return
    keys = channel.keys()
    keys = keys[keys != NULL]
    step = max(1, _CHUNK // channel.n_categories)
    for start in range(0, len(keys), step):
        some = keys[start : start + step]
        yield channel.members(some), channel.chances(some)[:, None]
    silent, maybe_silent = _silence(channel)
    yield maybe_silent[None, :], silent[None, :]
