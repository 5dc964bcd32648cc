"""Fig. 3: N(0, 1) values told by the side of a logistic threshold, and by Laplace noise after truncation to [−3, 3].

The two promise different things. An interval report is always true, and rules out part of the line for certain; it is not
differentially private at any epsilon. A noisy report rules nothing out, and says little about one person. What can be
compared is the error of what the collector wants to know.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy import stats
from scipy.integrate import quad

from reproductions.interval import theory
from reproductions.interval.theory import NORMAL, Floats
from reticent.thresholds import augmented, npmle_plug_in, threshold_cdf

EPSILON, CUT = 2.0, 3.0
NOISE = 2 * CUT / EPSILON  # the scale of Laplace noise for values in [−3, 3]
N, SEED, FAR = 1000, 2106_09565, 4.5
POINTS = (-1.0, 0.0, 1.0)


@dataclass(frozen=True)
class Error:
    """√n times the root mean squared error of the mean, and the root mean squared error of F, of one kind of report.

    `limit` is the value that theory gives for the first, `z` the distance in simulation errors where it is exact. `of_cdf` is
    over the points −1, 0 and 1.
    """

    report: str
    of_mean: float
    limit: float
    z: float | None
    of_cdf: float

    @property
    def agrees(self) -> bool:
        """Whether the exact value is within `FAR` simulation errors."""
        return self.z is None or abs(self.z) <= FAR

    def to_json(self) -> dict[str, Any]:
        """The row as JSON."""
        return {**asdict(self), "agrees": self.agrees}


@dataclass(frozen=True, eq=False)
class People:
    """A few people, in the order of their values: value, threshold and noisy report."""

    values: Floats
    thresholds: Floats
    noisy: Floats


@dataclass(frozen=True, eq=False)
class Comparison:
    """Everything Fig. 3 shows."""

    leakage: float
    outside: float
    errors: tuple[Error, ...]
    people: People
    replicates: int

    def to_json(self) -> dict[str, Any]:
        """As JSON."""
        people = {name: values.tolist() for name, values in vars(self.people).items()}
        return {
            "leakage": self.leakage,
            "noisy_reports_outside": self.outside,
            "epsilon": EPSILON,
            "noise_scale": NOISE,
            "n": N,
            "replicates": self.replicates,
            "errors": [row.to_json() for row in self.errors],
            "people": people,
        }


def comparison(replicates: int) -> Comparison:
    """The errors by simulation with a fixed seed, and two dozen people."""
    means: dict[str, list[float]] = {name: [] for name in ("value", "midpoints", "augmented", "laplace")}
    cdfs: dict[str, list[Floats]] = {name: [] for name in ("value", "interval", "laplace")}
    random, law, points = np.random.default_rng([SEED, 3]), stats.logistic(), np.array(POINTS)
    for run in range(replicates):
        y, u = random.normal(size=N), random.logistic(size=N)
        noisy = np.clip(y, -CUT, CUT) + random.laplace(0, NOISE, N)
        means["value"].append(float(y.mean()))
        means["laplace"].append(float(noisy.mean()))
        means["midpoints"].append(npmle_plug_in(u, y <= u, domain=(-20, 20), n_resamples=0).value)
        means["augmented"].append(augmented(u, y <= u, law, seed=run).value)
        cdfs["value"].append((y[:, None] <= points).mean(axis=0))
        cdfs["laplace"].append((noisy[:, None] <= points).mean(axis=0))
        cdfs["interval"].append(threshold_cdf(u, y <= u)(points))
    error = {name: _rmse(np.array(found) - NORMAL.cdf(points)) for name, found in cdfs.items()}
    best = math.sqrt(theory.smallest_variance(NORMAL, law))
    errors = (
        _error("the value itself", means["value"], 1.0, True, error["value"]),
        _error("threshold, augmented", means["augmented"], best, False, error["interval"]),
        _error("threshold, midpoints", means["midpoints"], best, False, error["interval"]),
        _error("truncation and Laplace noise", means["laplace"], math.sqrt(noisy_variance()), True, error["laplace"]),
    )
    return Comparison(1 - theory.coverage(NORMAL, law), outside(), errors, people(24), replicates)


def noisy_variance() -> float:
    """Var clip(Y, −3, 3) + 2·scale²."""
    inside = 1 - 2 * NORMAL.sf(CUT)
    clipped = inside - 2 * CUT * NORMAL.pdf(CUT) + 2 * CUT**2 * NORMAL.sf(CUT)
    return float(clipped + 2 * NOISE**2)


def outside() -> float:
    """Chance that a noisy report lies outside [−3, 3]: E cosh(y/b) e^(−3/b) for y truncated to [−3, 3], b the scale."""
    inner = 2 * quad(lambda y: NORMAL.pdf(y) * math.cosh(y / NOISE), 0, CUT, epsabs=1e-13)[0]
    ends = 2 * NORMAL.sf(CUT) * math.cosh(CUT / NOISE)
    return float((inner + ends) * math.exp(-CUT / NOISE))


def people(n: int) -> People:
    """n people drawn with a fixed seed."""
    random = np.random.default_rng([SEED, 33])
    y = np.sort(random.normal(size=n))
    return People(y, random.logistic(size=n), np.clip(y, -CUT, CUT) + random.laplace(0, NOISE, n))


def _rmse(errors: Floats) -> float:
    return math.sqrt(float((errors**2).mean()))


def _error(report: str, means: list[float], limit: float, exact: bool, of_cdf: float) -> Error:
    squares = N * np.array(means) ** 2
    spread = float(squares.std(ddof=1)) / math.sqrt(len(squares))
    z = (float(squares.mean()) - limit**2) / spread if exact else None
    return Error(report, math.sqrt(float(squares.mean())), limit, z, of_cdf)
