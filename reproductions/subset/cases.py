"""Fig. 4: four people of the table, the set each might report, and what that one report gives away."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import reticent as rt
from reproductions.subset.adult import CASES, Adult

SEED = 2107_02013


@dataclass(frozen=True)
class Reported:
    """One set, and what it gives away of the person who reports it.

    `bits` is −log2 w(a); `size` the share of the population ruled out, 1 − w(a); `prediction` 1 when the person's own
    category is the most common one of the set, else 0.
    """

    members: tuple[int, ...]
    bits: float
    size: float
    prediction: float


@dataclass(frozen=True)
class Case:
    """One person: row of the table, category, every set that can be reported, and the one drawn with a fixed seed.

    All sets are equally likely. `open_bits`, `open_size` and prediction 1 are what the answer itself gives away.
    """

    row: int
    category: int
    label: str
    share: float
    sets: tuple[Reported, ...]
    drawn: Reported

    @property
    def open_bits(self) -> float:
        """−log2 of the share of the person's own category."""
        return -math.log2(self.share)

    @property
    def open_size(self) -> float:
        """The share of the population that the answer itself rules out."""
        return 1 - self.share

    def span(self, measure: str) -> tuple[float, float]:
        """Smallest and largest value of a measure over the sets that can be reported."""
        values = [float(getattr(reported, measure)) for reported in self.sets]
        return min(values), max(values)

    def to_json(self) -> dict[str, Any]:
        """The case as JSON; members of a set are positions in the list of categories."""
        spans = {measure: self.span(measure) for measure in ("bits", "size", "prediction")}
        return {**asdict(self), "open_bits": self.open_bits, "open_size": self.open_size, "spans": spans}


def cases(found: Adult) -> tuple[Case, ...]:
    """Cases 12 to 15 of the paper. Which sets the paper drew is not stated, so every possible one is given."""
    answers = [found.answers[row] for row in CASES]
    drawn = found.channel.draw_many(answers, seed=SEED).keys.tolist()
    return tuple(_case(found, row, key) for row, key in zip(CASES, drawn, strict=True))


def _case(found: Adult, row: int, key: int) -> Case:
    category = found.case(row)
    overview = rt.leakage(found.channel, found.shares)
    keys = [int(possible) for possible in found.channel.keys() if int(possible) >> category & 1]
    sets = {possible: _reported(overview, possible, category) for possible in keys}
    return Case(
        row=row,
        category=category,
        label=found.labels[category],
        share=float(found.shares[category]),
        sets=tuple(sets.values()),
        drawn=sets[key],
    )


def _reported(overview: rt.Leakage, key: int, category: int) -> Reported:
    given_away = overview.report(key)
    members = tuple(j for j in range(len(overview.prior)) if key >> j & 1)
    return Reported(members, given_away.bits, given_away.size, given_away.prediction[category])
