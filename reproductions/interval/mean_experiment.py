"""Table II: the mean and the second moment of 100 values, some of them wild, from one threshold each.

Y ~ N(0.5, 1), U uniform on [−T, T], T = 2 n^(1/3), for the mean; Y² and U uniform on [0, 2T] for the second moment. 0, 1 or 5 of
the 100 values are replaced by 999 (or 999²). Source: section 8 of our specification.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from reproductions.interval import theory
from reproductions.interval.published import EARLIER, TABLE, Printed
from reproductions.interval.theory import Floats
from reticent.thresholds import augmented, inverse_density, npmle_plug_in

N, MU, WILD = 100, 0.5, 999.0
T = 2 * N ** (1 / 3)
SEED = 2106_09565
FAR = 4.5  # simulation errors; 60 comparisons, so a false alarm has a chance below 5e-4
OUTLIERS = (0, 1, 5)
METHODS = {
    "ipw": "inverse density (4.1)",
    "npmle": "maximum likelihood, midpoints",
    "cross_fit": "augmented, cross-fitted (4.2)",
    "mean": "raw mean",
    "median": "raw median",
}


@dataclass(frozen=True)
class Target:
    """What is estimated: its name and true value, the law of the values and the interval of the thresholds."""

    name: str
    title: str
    truth: float
    low: float
    high: float
    c: float
    values: Any

    @property
    def anchors(self) -> Any:
        """The law of the thresholds."""
        return stats.uniform(self.low, self.high - self.low)

    @property
    def coverage(self) -> float:
        """The exact coverage."""
        return theory.coverage(self.values, self.anchors)


MEAN = Target("mean", "E Y = 0.5", MU, -T, T, 0.0, stats.norm(MU, 1))
SQUARE = Target("square", "E Y² = 1.25", MU**2 + 1, 0.0, 2 * T, 0.0, stats.ncx2(1, MU**2))
TARGETS = (MEAN, SQUARE)


@dataclass(frozen=True)
class Cell:
    """One entry of the table: our mean and standard deviation, those of the specification, and exact values if known.

    z compares the means of both simulations, and the standard deviations; `exact_z` the mean with its exact value. `n_estimates`
    is the number of replicates that allowed an estimate.
    """

    target: str
    outliers: int
    method: str
    n_estimates: int
    mean: float
    sd: float
    rmse: float
    printed: Printed
    z_mean: float
    z_sd: float
    exact_mean: float | None
    exact_sd: float | None
    exact_z: float | None

    @property
    def agrees(self) -> bool:
        """Whether everything is within `FAR` simulation errors."""
        return max(abs(z) for z in (self.z_mean, self.z_sd, self.exact_z or 0.0)) <= FAR

    def to_json(self) -> dict[str, Any]:
        """The entry as JSON."""
        return {**asdict(self), "agrees": self.agrees}


def experiment(replicates: int, say: Callable[[str], None] = lambda _: None) -> tuple[Cell, ...]:
    """Every entry of the table."""
    cells = []
    for target in TARGETS:
        for outliers in OUTLIERS:
            say(f"{target.title}, {outliers} % outliers: {replicates} replicates")
            found = simulate(target, outliers, replicates)
            cells += [compared(target, outliers, method, found[method]) for method in METHODS]
    return tuple(cells)


def simulate(target: Target, outliers: int, replicates: int) -> dict[str, Floats]:
    """The estimates of every method in every replicate that allows one.

    In about one of a thousand replicates of Y² without outliers, everybody's value is below the threshold: the estimators
    refuse, and the replicate is left out.
    """
    random = np.random.default_rng([SEED, TARGETS.index(target), outliers])
    power, found = (1 if target is MEAN else 2), []
    for run in range(replicates):
        y = random.normal(MU, 1, N) ** power
        y[:outliers] = WILD**power  # the values come in no order, so which ones are replaced does not matter
        u = random.uniform(target.low, target.high, N)
        delta = y <= u
        if 0 < delta.sum() < N:
            found.append((*_from_thresholds(target, u, delta, run), float(y.mean()), float(np.median(y))))
    return dict(zip(METHODS, np.array(found).T, strict=True))


def _from_thresholds(target: Target, u: Floats, delta: NDArray[np.bool_], seed: int) -> tuple[float, float, float]:
    anchors, domain = target.anchors, (target.low, target.high)
    return (
        inverse_density(u, delta, anchors, c=target.c, clip=True).value,
        npmle_plug_in(u, delta, domain=domain, n_resamples=0).value,
        augmented(u, delta, anchors, clip=True, seed=seed).value,
    )


def exact(target: Target, outliers: int) -> tuple[float, float | None]:
    """Mean of the inverse-density estimate with outliers (each counts as the largest threshold), sd without any."""
    share = outliers / N
    clean = theory.clipped_mean(target.values, target.low, target.high, target.c)
    mean = clean * (1 - share) + target.high * share
    if outliers:
        return mean, None
    return mean, math.sqrt(theory.weighting_variance(target.values, target.anchors, target.c) / N)


def compared(target: Target, outliers: int, method: str, found: Floats) -> Cell:
    """The entry of one method, beside the earlier one."""
    printed = TABLE[target.name, outliers, method]
    runs, mean, sd = len(found), float(found.mean()), float(found.std(ddof=1))
    error = math.sqrt(sd**2 / runs + printed.sd_value**2 / EARLIER + printed.half_unit("mean") ** 2 / 3)
    # Var of a sample variance is (κ − 1)σ⁴/n, so that of the sd is (κ − 1)σ²/(4n).
    kurtosis = float(stats.kurtosis(found, fisher=False))
    sd_error = math.sqrt((kurtosis - 1) / 4 * sd**2 * (1 / runs + 1 / EARLIER) + printed.half_unit("sd") ** 2 / 3)
    exact_mean, exact_sd = exact(target, outliers) if method == "ipw" else (None, None)
    return Cell(
        target.name, outliers, method, runs, mean, sd, math.sqrt(float(((found - target.truth) ** 2).mean())), printed,
        z_mean=(mean - printed.mean_value) / error,
        z_sd=(sd - printed.sd_value) / sd_error,
        exact_mean=exact_mean,
        exact_sd=exact_sd,
        exact_z=None if exact_mean is None else (mean - exact_mean) / (sd / math.sqrt(runs)),
    )  # fmt: skip
