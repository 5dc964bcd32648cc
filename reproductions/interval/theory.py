"""Exact numbers: coverage of thresholds, the smallest variance of a mean, and the laws of thresholds that reach it.

Source: Ding and Ding, Interval Privacy (arXiv 2106.09565); sections 2 and 4 of our specification.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from scipy.integrate import quad

from reticent.thresholds import ThresholdLaw

Floats = NDArray[np.float64]
NORMAL = stats.norm()
D = 1 / math.sqrt(math.pi)  # ∫ F(1 − F) for N(0, 1)
REACH, STEPS = 12.0, 48_001  # beyond ±12 the normal law has no mass that a float can hold


def _integral(function: Callable[[float], float], low: float, high: float, middle: float) -> float:
    """∫ function, in two parts, so that the quadrature finds the mass."""
    parts = [quad(function, a, b, epsabs=1e-13, epsrel=1e-12, limit=400)[0] for a, b in ((low, middle), (middle, high))]
    return float(sum(parts))


def coverage(values: stats.rv_continuous, anchors: ThresholdLaw) -> float:
    """τ = 1 − 2 E[F(U)(1 − F(U))] for thresholds U.

    >>> round(coverage(NORMAL, stats.logistic()), 10)
    0.7604718198
    """
    low, high = anchors.support()
    inner = _integral(
        lambda u: values.cdf(u) * values.sf(u) * anchors.pdf(u), max(low, -40.0), min(high, 400.0), values.median()
    )
    return 1 - 2 * inner


def smallest_variance(values: stats.rv_continuous, anchors: ThresholdLaw) -> float:
    """∫ F(1 − F)/g: n times the variance of the best estimator of the mean.

    >>> round(smallest_variance(NORMAL, stats.logistic()), 8)
    2.84469761
    """
    low, high = anchors.support()
    return _integral(
        lambda u: values.cdf(u) * values.sf(u) / anchors.pdf(u), max(low, -15.0), min(high, 400.0), values.median()
    )


def clipped_mean(values: stats.rv_continuous, low: float, high: float, c: float) -> float:
    """The mean of the values clipped to [low, high], c between."""
    above = quad(values.sf, c, high, epsabs=1e-13, epsrel=1e-12, limit=400)[0]
    return float(c + above - quad(values.cdf, low, c, epsabs=1e-13, epsrel=1e-12, limit=400)[0])


def weighting_variance(values: stats.rv_continuous, anchors: ThresholdLaw, c: float) -> float:
    """n times the variance of the inverse-density estimator of the mean with reference point c."""
    low, high = anchors.support()
    upper = quad(lambda u: values.sf(u) / anchors.pdf(u), c, high, epsabs=1e-13, epsrel=1e-12, limit=400)[0]
    lower = quad(lambda u: values.cdf(u) / anchors.pdf(u), low, c, epsabs=1e-13, epsrel=1e-12, limit=400)[0]
    return float(upper + lower - (clipped_mean(values, low, high, c) - c) ** 2)


@dataclass(frozen=True, eq=False)
class BestLaw:
    """The law of thresholds with the smallest variance of the mean of N(0, 1) among laws of the same leakage.

    Density in proportion to √(v/(2v + r)), v = F(1 − F). r → ∞ is √v, the most accurate of all; r → 0 is flat.
    """

    ratio: float = math.inf
    grid: Floats = field(default_factory=lambda: np.linspace(-REACH, REACH, STEPS), repr=False)

    def _shape(self, u: ArrayLike) -> Floats:
        v = NORMAL.cdf(u) * NORMAL.sf(u)
        return np.asarray(np.sqrt(v if math.isinf(self.ratio) else v / (2 * v + self.ratio)))

    @cached_property
    def _cumulative(self) -> Floats:
        shape = self._shape(self.grid)
        return np.append(0.0, np.cumsum((shape[1:] + shape[:-1]) / 2) * (self.grid[1] - self.grid[0]))

    def pdf(self, x: ArrayLike) -> Floats:
        """Density."""
        return self._shape(x) / self._cumulative[-1]

    def support(self) -> tuple[float, float]:
        """The part of the line where a float can hold the density."""
        return -REACH, REACH

    def median(self) -> float:
        """0, by symmetry."""
        return 0.0

    def draw(self, n: int, random: np.random.Generator) -> Floats:
        """n thresholds."""
        return np.interp(random.uniform(0, self._cumulative[-1], n), self._cumulative, self.grid)


def normal_case(anchors: ThresholdLaw) -> tuple[float, float]:
    """Coverage and smallest variance for N(0, 1) values by the trapezoid rule, for laws that a curve passes through.

    >>> [round(value, 9) for value in normal_case(stats.logistic())]
    [0.76047182, 2.844697607]
    """
    low, high = anchors.support()
    grid = np.linspace(max(low, -REACH), min(high, REACH), STEPS)
    v, g = NORMAL.cdf(grid) * NORMAL.sf(grid), np.asarray(anchors.pdf(grid))
    variance = np.divide(v, g, out=np.zeros_like(v), where=g > 0)
    return float(1 - 2 * np.trapezoid(v * g, grid)), float(np.trapezoid(variance, grid))


def least_variance_at(covered: float) -> float:
    """2D²/(1 − τ), below which no law of thresholds comes at coverage τ, for N(0, 1)."""
    return 2 * D**2 / (1 - covered)
