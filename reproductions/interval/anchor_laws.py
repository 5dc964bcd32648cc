"""Fig. 5: the distribution estimated under several laws of thresholds, and accuracy of the mean against coverage.

Values are N(0, 1). Source: section 2.3 of our specification.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import stats

from reproductions.interval import theory
from reproductions.interval.theory import NORMAL, BestLaw, Floats
from reticent.thresholds import ThresholdLaw, augmented, threshold_cdf

N, SEED = 1000, 2106_09565
AT = np.linspace(-3, 3, 61)
# Smallest √n · rmse of a mean that cannot be beaten but in the limit: the simulation may lie this far from it at n = 1000.
NEAR = 0.15


@dataclass(frozen=True, eq=False)
class Law:
    """A law of thresholds: its name in the pictures, its density and how to draw from it."""

    name: str
    anchors: ThresholdLaw
    draw: Callable[[int, np.random.Generator], Floats]

    @cached_property
    def coverage(self) -> float:
        """Exact coverage of N(0, 1)."""
        return theory.normal_case(self.anchors)[0]

    @cached_property
    def variance(self) -> float:
        """n times the smallest variance of the mean."""
        return theory.normal_case(self.anchors)[1]


BEST = BestLaw()
LAWS = (
    Law("most accurate", BEST, BEST.draw),
    Law("logistic", stats.logistic(), lambda n, random: random.logistic(size=n)),
    Law("normal, sd 3", stats.norm(0, 3), lambda n, random: random.normal(0, 3, n)),
    Law("uniform on ±6", stats.uniform(-6, 12), lambda n, random: random.uniform(-6, 6, n)),
)


@dataclass(frozen=True, eq=False)
class Estimated:
    """One law in the simulation: coverage, n·variance in theory and seen, and F̂ at the points `AT`.

    `first` is F̂ in the first replicate, `low` and `high` its 5 % and 95 % quantiles over all, `rmse` its error.
    """

    law: Law
    seen: float
    seen_error: float
    first: Floats
    low: Floats
    high: Floats
    rmse: Floats

    @property
    def agrees(self) -> bool:
        """Whether √(n·variance) is within 15 % of its limit, or within three simulation errors of that."""
        return abs(math.sqrt(self.seen / self.law.variance) - 1) <= NEAR + 3 * self.seen_error / (2 * self.seen)

    def to_json(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "law": self.law.name,
            "coverage": self.law.coverage,
            "variance": self.law.variance,
            "seen": self.seen,
            "seen_error": self.seen_error,
            "agrees": self.agrees,
            "at": AT.tolist(),
            "rmse": self.rmse.tolist(),
        }


def estimated(law: Law, replicates: int) -> Estimated:
    """F̂ and the mean under one law of thresholds, n = 1000."""
    random = np.random.default_rng([SEED, 5, [one.name for one in LAWS].index(law.name)])
    curves, means = np.empty((replicates, len(AT))), np.empty(replicates)
    for run in range(replicates):
        u = law.draw(N, random)
        delta = random.normal(size=N) <= u
        curves[run] = threshold_cdf(u, delta)(AT)
        means[run] = augmented(u, delta, law.anchors, clip=True, seed=run).value
    squares = N * means**2
    low, high = np.quantile(curves, [0.05, 0.95], axis=0)
    rmse = np.sqrt(((curves - NORMAL.cdf(AT)) ** 2).mean(axis=0))
    error = float(squares.std(ddof=1)) / math.sqrt(replicates)
    return Estimated(law, float(squares.mean()), error, curves[0], low, high, rmse)


@dataclass(frozen=True, eq=False)
class Curve:
    """n·variance of the best estimator of the mean against coverage, along a family of laws."""

    name: str
    coverage: Floats
    variance: Floats

    def to_json(self) -> dict[str, Any]:
        """As JSON."""
        return {"family": self.name, "coverage": self.coverage.tolist(), "variance": self.variance.tolist()}


def curves() -> tuple[Curve, ...]:
    """The best laws, and those of three families over their widths."""
    families: dict[str, list[ThresholdLaw]] = {
        "best": [BestLaw(ratio) for ratio in (math.inf, *np.geomspace(1, 1e-18, 28))],
        "logistic": [stats.logistic(0, scale) for scale in np.geomspace(0.6, 5, 20)],
        "normal": [stats.norm(0, scale) for scale in np.geomspace(1.15, 7, 20)],
        "uniform": [stats.uniform(-end, 2 * end) for end in np.geomspace(5, 9, 12)],
    }
    found = []
    for name, laws in families.items():
        covered, variance = np.array([theory.normal_case(law) for law in laws]).T
        found.append(Curve(name, covered, variance))
    return tuple(found)
