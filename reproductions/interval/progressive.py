"""Progressive questions on the hours that people of the Adult table work, among people with floors of their own.

Everybody is asked up to four thresholds, each within the range that the answers so far have left, and gives no further
answer once the part that holds the number has less than their own share τ of the planning law. τ is drawn from 0.1, 0.2, …,
0.9, independent of the hours. Coins differ from replicate to replicate, people do not.

Source: section 1.5 of our specification (rule c), after Ding and Ding, Interval Privacy.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

import reticent as rt
from reticent.choose import Words
from reticent.demo import EXPECTED_HOURS, HOURS, answers
from reticent.likelihood import fit
from reticent.mechanisms import progressive
from reticent.rows import DenseRows

Floats = NDArray[np.float64]
QUESTIONS, SEED = 4, "interval privacy, section 1.5"
FLOORS = {f"{tenth}/10": 1 for tenth in range(1, 10)}
EDGES = [15, 20, 25, 30, 35, 39, 40, 45, 50, 55, 60]
READINGS = ("stopping has its row", "stopping says nothing", "who stopped is left out")


@cache
def channel() -> rt.Channel:
    """Four questions with the floors of people's own; the planning law is the guess of the demonstration."""
    hours = rt.Numbers(HOURS, 1, 99, unit="hours", step=1, edges=EDGES)
    return progressive(hours, QUESTIONS, 0, EXPECTED_HOURS, floors=FLOORS)


@cache
def people() -> NDArray[np.int64]:
    """The cell of everybody's hours."""
    return channel().domain.encode(answers()[HOURS])


@cache
def truth() -> Floats:
    """The share of people in every cell."""
    return np.bincount(people(), minlength=channel().n_categories) / len(people())


@dataclass(frozen=True, eq=False)
class Reading:
    """F at the inner edges as read in one way: its mean over the replicates, and the simulation error of that."""

    name: str
    cdf: Floats
    error: Floats

    @property
    def bias(self) -> Floats:
        """Against the people themselves."""
        return self.cdf - np.cumsum(truth())[:-1]

    @property
    def largest(self) -> float:
        """The largest bias in absolute value."""
        return float(np.abs(self.bias).max())


@dataclass(frozen=True, eq=False)
class Asked:
    """What four questions get and give away: people who stopped, the coverage they kept, and F read in three ways."""

    replicates: int
    stopped: float
    nothing: float
    coverage: float
    least: float
    readings: tuple[Reading, ...]

    @property
    def agrees(self) -> bool:
        """Whether the row of stopping leaves no bias above four simulation errors and 0.001, and leaving it out does."""
        with_row, without, removed = self.readings
        right = bool((np.abs(with_row.bias) <= 4 * with_row.error + 0.001).all())
        return right and min(without.largest, removed.largest) > 10 * with_row.largest

    def to_json(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "people": len(people()), "replicates": self.replicates, "questions": QUESTIONS, "stopped": self.stopped,
            "no_answer_at_all": self.nothing, "coverage": self.coverage, "least_coverage": self.least,
            "edges": EDGES, "truth": np.cumsum(truth())[:-1].tolist(), "agrees": self.agrees,
            "readings": [
                {"name": one.name, "cdf": one.cdf.tolist(), "largest_bias": one.largest, "error": one.error.tolist()}
                for one in self.readings
            ],
        }  # fmt: skip


def asked(replicates: int) -> Asked:
    """Everybody answers once in every replicate; estimates of F in three ways."""
    words, found = Words(SEED), np.empty((replicates, len(READINGS), len(EDGES)))
    for run in range(replicates):
        reports = channel().draw_codes(people(), words, simulated=True)
        found[run] = _read(rt.tally(reports))
    mean, error = found.mean(axis=0), found.std(axis=0, ddof=1) / np.sqrt(replicates)
    keys = channel().keys()
    chances = channel().matrix() @ truth()
    held = (channel().matrix() > 0) @ truth()
    stopped = _stopped(keys)
    whole = stopped & (held > 1 - 1e-12)
    readings = tuple(Reading(*parts) for parts in zip(READINGS, mean, error, strict=True))
    return Asked(
        replicates, float(chances[stopped].sum()), float(chances[whole].sum()), float(chances @ held), float(held.min()),
        readings,
    )  # fmt: skip


def _read(counted: rt.PatternTally) -> Floats:
    """F at the inner edges: with the row of stopping, with the set alone, and without the people who stopped."""
    sets = (counted.channel.likelihood(counted.keys) > 0).astype(np.float64)
    kept = ~_stopped(counted.keys)
    laws = [
        rt.distribution(counted).shares.probabilities,
        fit(DenseRows(sets), counted.counts).probabilities,
        fit(DenseRows(sets[kept]), counted.counts[kept]).probabilities,
    ]
    return np.cumsum(laws, axis=1)[:, :-1]


def _stopped(keys: NDArray[Any]) -> NDArray[np.bool_]:
    return np.array([channel().describe(int(key)).endswith("then stopped") for key in keys])
