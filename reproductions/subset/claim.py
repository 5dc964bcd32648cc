"""What the paper says, what we get, and whether its words hold: every number is computed, none is written down.

Sources: Wang and Ding, Subset Privacy (arXiv 2107.02013), and section 15 of our specification.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

import reticent as rt
from reproductions.subset.adult import Adult, Floats
from reproductions.subset.cases import Case
from reproductions.subset.leakages import CategoryRow, Row
from reproductions.subset.loss import Simulation
from reproductions.subset.power import Power

MANY = (4, 5, 6, 8)  # numbers of categories for which a rule of the paper is tried
TRIED = ", ".join(map(str, MANY))


@dataclass(frozen=True)
class Results:
    """Everything the claims are read from."""

    found: Adult
    simulation: Simulation
    measures: tuple[Row, ...]
    categories: tuple[CategoryRow, ...]
    cases: tuple[Case, ...]
    powers: tuple[Power, ...]

    def measure(self, name: str) -> Row:
        """One measure of Fig. 3."""
        return next(row for row in self.measures if row.measure == name)

    def case(self, row: int) -> Case:
        """One person of Fig. 4."""
        return next(case for case in self.cases if case.row == row)


@dataclass(frozen=True)
class Claim:
    """One sentence of the paper: what we get, the verdict in words, and the numbers behind both.

    `holds` is True where the paper's words hold as they stand, False where they do not, None where they cannot be
    checked.
    """

    name: str
    paper: str
    we_get: str
    verdict: str
    holds: bool | None
    numbers: dict[str, Any]

    def to_json(self) -> dict[str, Any]:
        """The claim as JSON."""
        return asdict(self)


def uniform_design(p: int) -> tuple[rt.Channel, Floats]:
    """The uniform design on p categories, and equal shares."""
    domain = rt.Categorical("value", [str(j) for j in range(p)])
    return rt.uniform_subset(domain), np.full(p, 1 / p)


def listed(values: dict[Any, float], digits: int) -> str:
    return ", ".join(f"{value:.{digits}f}" for value in values.values())
