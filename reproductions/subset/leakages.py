"""Fig. 3 and the table by category: what the uniform design gives away, between nothing and the answer itself."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import reticent as rt
from reproductions.subset.adult import Adult

MEASURES = ("mutual_information", "size", "prediction")


@dataclass(frozen=True)
class Row:
    """One measure under the three designs. `floor` and `ceiling` are what the package says they can be."""

    measure: str
    unit: str
    no_privacy: float
    uniform: float
    full_privacy: float
    floor: float
    ceiling: float


@dataclass(frozen=True)
class CategoryRow:
    """What an answer in one category gives away, reported as it is and through the uniform design.

    `size_*` is the share of the population ruled out, `bits_*` the information, `best_guess` the chance that the best
    guess after the report is right; all are means over the reports that the answer can lead to.
    """

    label: str
    share: float
    size_openly: float
    size_uniform: float
    bits_openly: float
    bits_uniform: float
    best_guess: float

    @property
    def size_factor(self) -> float:
        """How much of the size leakage is left."""
        return self.size_uniform / self.size_openly

    @property
    def bits_factor(self) -> float:
        """How much of the information is left."""
        return self.bits_uniform / self.bits_openly

    def to_json(self) -> dict[str, Any]:
        """The row as JSON."""
        return {**asdict(self), "size_factor": self.size_factor, "bits_factor": self.bits_factor}


def designs(found: Adult) -> dict[str, rt.Channel]:
    """The three designs of Fig. 3, from what gives away most to what gives away nothing."""
    domain = found.channel.domain
    return {
        "no_privacy": rt.full_response(domain),
        "uniform": found.channel,
        "full_privacy": rt.no_response(domain),
    }


def table(found: Adult) -> tuple[Row, ...]:
    """Three measures by three designs."""
    overviews = {name: rt.leakage(channel, found.shares) for name, channel in designs(found).items()}
    rows = []
    for name in MEASURES:
        measured = {design: overview[name].value for design, overview in overviews.items()}
        uniform = overviews["uniform"][name]
        rows.append(Row(name, uniform.unit, **measured, floor=uniform.floor, ceiling=uniform.ceiling))
    return tuple(rows)


def by_category(found: Adult) -> tuple[CategoryRow, ...]:
    """One row for each category, most common first."""
    openly = rt.leakage(rt.full_response(found.channel.domain), found.shares).per_category
    uniform = rt.leakage(found.channel, found.shares).per_category
    return tuple(
        CategoryRow(
            label=before.label,
            share=before.share,
            size_openly=before.size,
            size_uniform=after.size,
            bits_openly=before.bits,
            bits_uniform=after.bits,
            best_guess=after.prediction,
        )
        for before, after in zip(openly, uniform, strict=True)
    )
