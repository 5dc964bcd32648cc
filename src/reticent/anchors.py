"""Laws of anchors: where the cuts between ranges fall, drawn before the answer and without it.

Each law has its continuous density for analysis; on the grid of a domain it is settled to integer weights.

Letters of section 2.3 of our specification: F = the pilot law of the number, g = density, v = F (1 − F), h = what is to
be estimated the mean of.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize, special

from reticent.domain import Numbers
from reticent.errors import ParameterError
from reticent.quadrature import Floats, Law, cumulative, integral, panels, variance_of_indicator

_DENOMINATOR = 2**53
Slope = Callable[[Floats], Floats]


class Anchors(Protocol):
    """A law of one anchor. With a mass below 1 nothing is asked otherwise."""

    @property
    def support(self) -> tuple[float, float]:
        """The ends between which anchors fall."""
        ...

    @property
    def mass(self) -> float:
        """The chance that an anchor is drawn at all."""
        ...

    def pdf(self, u: ArrayLike) -> Floats:
        """The density at u."""
        ...

    def cdf(self, u: ArrayLike) -> Floats:
        """P(an anchor is drawn and is at most u)."""
        ...


@dataclass(frozen=True)
class UniformAnchors:
    """Anchors equally likely between `low` and `high`.

    >>> UniformAnchors(0, 4).cdf([1, 5]).tolist()
    [0.25, 1.0]
    """

    low: float
    high: float
    mass: float = 1.0

    def __post_init__(self) -> None:
        _require(
            math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high, "low < high, both finite"
        )

    @property
    def support(self) -> tuple[float, float]:
        return float(self.low), float(self.high)

    def pdf(self, u: ArrayLike) -> Floats:
        points = np.asarray(u, dtype=np.float64)
        return np.where((points >= self.low) & (points <= self.high), 1 / (self.high - self.low), 0.0)

    def cdf(self, u: ArrayLike) -> Floats:
        return np.clip((np.asarray(u, dtype=np.float64) - self.low) / (self.high - self.low), 0, 1)


@dataclass(frozen=True)
class _LocationScale:
    """Anchors of a symmetric law on the whole line, moved and stretched."""

    location: float = 0.0
    scale: float = 1.0
    mass: float = 1.0

    def __post_init__(self) -> None:
        _require(math.isfinite(self.location) and 0 < self.scale < math.inf, "a finite location and a scale above 0")

    @property
    def support(self) -> tuple[float, float]:
        return -math.inf, math.inf

    def _z(self, u: ArrayLike) -> Floats:
        return np.asarray((np.asarray(u, dtype=np.float64) - self.location) / self.scale)


@dataclass(frozen=True)
class LogisticAnchors(_LocationScale):
    """Logistic anchors, density e^−z / (scale · (1 + e^−z)²) with z = (u − location) / scale.

    >>> LogisticAnchors(0, 1).cdf(0.0).item()
    0.5
    """

    def pdf(self, u: ArrayLike) -> Floats:
        z = self._z(u)
        return np.asarray(special.expit(z) * special.expit(-z) / self.scale)

    def cdf(self, u: ArrayLike) -> Floats:
        return np.asarray(special.expit(self._z(u)))


@dataclass(frozen=True)
class NormalAnchors(_LocationScale):
    """Normal anchors with mean `location` and standard deviation `scale`.

    >>> NormalAnchors(0, 1).cdf(0.0).item()
    0.5
    """

    def pdf(self, u: ArrayLike) -> Floats:
        return np.asarray(np.exp(-(self._z(u) ** 2) / 2) / (self.scale * math.sqrt(2 * math.pi)))

    def cdf(self, u: ArrayLike) -> Floats:
        return np.asarray(special.ndtr(self._z(u)))


@dataclass(frozen=True)
class LogNormalAnchors:
    """Anchors whose logarithm is normal: half of them below `median`, `spread` the deviation of the logarithm.

    >>> LogNormalAnchors(38000, 0.58).cdf(38000).item()
    0.5
    """

    median: float
    spread: float
    mass: float = 1.0

    def __post_init__(self) -> None:
        _require(0 < self.median < math.inf and 0 < self.spread < math.inf, "a median and a spread above 0")

    @property
    def support(self) -> tuple[float, float]:
        return 0.0, math.inf

    def _z(self, u: ArrayLike) -> Floats:
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(np.maximum(np.asarray(u, dtype=np.float64), 0) / self.median) / self.spread)

    def pdf(self, u: ArrayLike) -> Floats:
        points, z = np.asarray(u, dtype=np.float64), self._z(u)
        height = np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
        return np.divide(height, self.spread * points, out=np.zeros_like(z), where=points > 0)

    def cdf(self, u: ArrayLike) -> Floats:
        return np.asarray(special.ndtr(self._z(u)))


@dataclass(frozen=True)
class QuantileBetaAnchors:
    """U = F⁻¹(B), B ~ Beta(shape, shape): the coverage under F is (shape + 1) / (2 shape + 1); see `quantile_beta`."""

    pilot: Law
    shape: float
    mass: float = 1.0

    @property
    def support(self) -> tuple[float, float]:
        return float(self.pilot.ppf(0.0)), float(self.pilot.ppf(1.0))

    def pdf(self, u: ArrayLike) -> Floats:
        points = np.asarray(u, dtype=np.float64)
        if not hasattr(self.pilot, "pdf"):
            raise ParameterError("The density of quantile anchors needs a pilot law with a density; this one has none.")
        with np.errstate(divide="ignore"):
            log = (self.shape - 1) * np.log(variance_of_indicator(self.pilot, points))
        density = np.exp(log - special.betaln(self.shape, self.shape)) * np.asarray(self.pilot.pdf(points))
        return np.asarray(density)

    def cdf(self, u: ArrayLike) -> Floats:
        below = np.asarray(self.pilot.cdf(np.asarray(u, dtype=np.float64)))
        return np.asarray(special.betainc(self.shape, self.shape, below))


@dataclass(frozen=True)
class OptimalAnchors:
    """g = height · |h'| · √(v / (v + ratio)), or height · |h'| · √v where the ratio is infinite; between low and high.

    See `variance_optimal` and `coverage_optimal`, which choose height and ratio.
    """

    pilot: Law
    height: float
    ratio: float = math.inf
    low: float = -math.inf
    high: float = math.inf
    slope: Slope | None = None

    @property
    def support(self) -> tuple[float, float]:
        return max(self.low, float(self.pilot.ppf(0.0))), min(self.high, float(self.pilot.ppf(1.0)))

    def pdf(self, u: ArrayLike) -> Floats:
        points = np.asarray(u, dtype=np.float64)
        density = self.height * _shape(self.pilot, points, self.ratio, self.slope)
        return np.where((points >= self.low) & (points <= self.high), density, 0.0)

    @cached_property
    def _panels(self) -> Floats:
        return panels(self.pilot, self.low, self.high)

    @cached_property
    def mass(self) -> float:
        """The chance that an anchor is drawn at all; below 1 where asking nobody at times is best."""
        return integral(self.pdf, self._panels)

    def cdf(self, u: ArrayLike) -> Floats:
        points = np.clip(np.asarray(u, dtype=np.float64), self._panels[0], self._panels[-1])
        return cumulative(self.pdf, self._panels, points)


@dataclass(frozen=True)
class MixedAnchors:
    """An anchor from the first law with chance `share`, else from the second; see `two_phase`."""

    first: Anchors
    second: Anchors
    share: float

    def __post_init__(self) -> None:
        _require(0 <= self.share <= 1, "a share from 0 to 1")

    @property
    def support(self) -> tuple[float, float]:
        (a, b), (c, d) = self.first.support, self.second.support
        return min(a, c), max(b, d)

    @property
    def mass(self) -> float:
        """The chance that an anchor is drawn at all."""
        return self.share * self.first.mass + (1 - self.share) * self.second.mass

    def pdf(self, u: ArrayLike) -> Floats:
        return np.asarray(self.share * self.first.pdf(u) + (1 - self.share) * self.second.pdf(u))

    def cdf(self, u: ArrayLike) -> Floats:
        return np.asarray(self.share * self.first.cdf(u) + (1 - self.share) * self.second.cdf(u))


# --- choosing a law ----------------------------------------------------------------------------------------------------


def quantile_beta(pilot: Law, coverage: float) -> QuantileBetaAnchors:
    """One anchor per person with a stated coverage under the pilot law: U = F⁻¹(B), B ~ Beta(a, a).

    a = (1 − coverage) / (2 · coverage − 1). With a ≥ 1, that is a coverage of 2/3 or less, the mean of a number without
    ends has infinite variance: mix in some uniform anchors.

    Source: section 2.1 of our specification of interval privacy. Raises ParameterError unless 1/2 < coverage < 1; one
    half itself asks only about the median, and no distribution can be learned from that.

    >>> from scipy import stats
    >>> quantile_beta(stats.norm(), 0.75).shape
    0.5
    """
    if not 0.5 < coverage < 1:
        raise ParameterError(
            f"The coverage of one anchor per person is {coverage!r}; allowed is 1/2 < coverage < 1. At 1/2 only the share "
            "below the median is asked; for 1 ask nothing.",
            coverage=coverage,
        )
    return QuantileBetaAnchors(pilot, (1 - coverage) / (2 * coverage - 1))


def variance_optimal(
    pilot: Law, slope: Slope | None = None, low: float = -math.inf, high: float = math.inf
) -> OptimalAnchors:
    """The density that estimates a mean best: g ∝ |h'| √(F(1 − F)), for E h(Y); without a slope h', the mean of Y.

    Its efficient variance is (∫ |h'| √(F(1 − F)) du)².

    Source: section 2.3 of our specification of interval privacy (Cauchy-Schwarz).
    Raises ParameterError when the integral is infinite, as for a pilot law without a variance.

    >>> from scipy import stats
    >>> variance_optimal(stats.uniform()).pdf([0.5]).round(6).tolist()
    [1.27324]
    """
    inner, whole = (
        integral(lambda u: _shape(pilot, u, math.inf, slope), panels(pilot, low, high, within))
        for within in (345.0, 690.0)
    )
    if not math.isfinite(whole) or whole <= 0 or whole - inner > 1e-6 * whole:
        raise ParameterError(
            "The best density does not exist: the integral of |h'| √(F(1 − F)) is not finite under the pilot law. Give "
            "low and high, or a pilot law with lighter tails."
        )
    return OptimalAnchors(pilot, 1 / whole, math.inf, low, high, slope)


def coverage_optimal(
    pilot: Law, coverage: float, slope: Slope | None = None, low: float = -math.inf, high: float = math.inf
) -> OptimalAnchors:
    """The density that estimates a mean best among those with at least the coverage.

    Minimises ∫ h'² v / g subject to 2 ∫ v g ≤ 1 − coverage and ∫ g ≤ 1; the rest of the mass asks nothing. The
    solution is g = |h'| √(v / (2 λ v + μ)): √v for a low coverage, uniform for a high one.

    Source: section 2.3 of our specification of interval privacy. Always V ≥ 2 (∫ |h'| v du)² / (1 − coverage).
    Raises ParameterError unless 1/2 < coverage < 1, or when anchors would have to lie beyond every number in floats.

    >>> from scipy import stats
    >>> wide = coverage_optimal(stats.uniform(), 0.8)
    >>> round(wide.mass, 6), round(float(wide.pdf(0.5)), 6)
    (0.6, 0.6)
    """
    if not 0.5 < coverage < 1:
        raise ParameterError(f"coverage is {coverage!r}; allowed is 1/2 < coverage < 1.", coverage=coverage)
    allowed = 1 - coverage
    best = variance_optimal(pilot, slope, low, high)
    points = panels(pilot, low, high)

    def sizes(ratio: float) -> tuple[float, float]:
        """∫ g and the leakage 2 ∫ v g at height 1."""
        mass = integral(lambda u: _shape(pilot, u, ratio, slope), points)
        leak = integral(lambda u: 2 * variance_of_indicator(pilot, u) * _shape(pilot, u, ratio, slope), points)
        return mass, leak

    mass, leak = sizes(math.inf)
    if leak / mass <= allowed:
        return best
    mass, leak = sizes(0.0)
    if leak / mass >= allowed:
        support = OptimalAnchors(pilot, 1.0, 0.0, low, high, slope).support
        if not all(map(math.isfinite, support)):
            raise ParameterError(
                f"A coverage of {coverage!r} needs anchors further out than floats reach under this pilot law; give low and "
                "high, the ends of the domain.",
                coverage=coverage,
            )
        return OptimalAnchors(pilot, allowed / leak, 0.0, low, high, slope)

    def excess(log_ratio: float) -> float:
        total, lost = sizes(math.exp(log_ratio))
        return lost / total - allowed

    ratio = math.exp(optimize.brentq(excess, -690.0, 30.0, xtol=1e-12))
    return OptimalAnchors(pilot, 1 / sizes(ratio)[0], ratio, low, high, slope)


def two_phase(pilot: Law, low: float, high: float, share: float = 0.9, slope: Slope | None = None) -> MixedAnchors:
    """Anchors of the second phase: the best density under what the first phase found, mixed with some uniform ones.

    g = share · g* + (1 − share) / (high − low), g* of `variance_optimal`. Phase 1 asks a fifth of the people with
    `UniformAnchors(low, high)`; the pilot law is the smoothed estimate from their reports.

    Source: section 2.3 of our specification of interval privacy. Raises ParameterError for a share outside 0..1.
    """
    return MixedAnchors(variance_optimal(pilot, slope, low, high), UniformAnchors(low, high), share)


# --- on the grid of a domain ---------------------------------------------------------------------------------------------


def edge_weights(anchors: Anchors, domain: Numbers) -> tuple[int, ...]:
    """Integer weights of the inner edges, over 2^53: an anchor within the domain falls on the nearest edge.

    Raises ParameterError when no anchor falls within the domain.

    >>> edge_weights(UniformAnchors(0, 4), Numbers("x", 0, 4, edges=[1, 3]))
    (4503599627370496, 4503599627370496)
    """
    inner = domain.boundaries[1:-1]
    middles = np.concatenate([domain.boundaries[:1], (inner[1:] + inner[:-1]) / 2, domain.boundaries[-1:]])
    shares = np.diff(anchors.cdf(middles))
    if not shares.sum() > 0:
        raise ParameterError(f'No anchor falls within "{domain.name}"; change the law of the anchors.')
    return integer_weights(shares / shares.sum())


def share_inside(anchors: Anchors, domain: Numbers) -> float:
    """The chance that an anchor is drawn and falls within the domain; the others would ask nothing."""
    low, high = anchors.cdf(domain.boundaries[[0, -1]]).tolist()
    return float(min(1.0, max(0.0, high - low)))


def integer_weights(shares: Sequence[float] | Floats) -> tuple[int, ...]:
    """Shares that sum to 1 as integers that sum to 2^53, the largest taking the rounding."""
    values = np.asarray(shares, dtype=np.float64)
    integers = [round(Fraction(float(share)) * _DENOMINATOR) for share in values]
    integers[int(np.argmax(values))] += _DENOMINATOR - sum(integers)
    return tuple(integers)


def _shape(pilot: Law, u: Floats, ratio: float, slope: Slope | None) -> Floats:
    v = variance_of_indicator(pilot, u)
    if math.isinf(ratio):
        height = np.sqrt(v)
    else:
        height = np.sqrt(np.divide(v, v + ratio, out=np.zeros_like(v), where=v > 0))
    return np.asarray(height if slope is None else np.abs(slope(u)) * height)


def _require(holds: bool, what: Any) -> None:
    if not holds:
        raise ParameterError(f"The law of the anchors needs {what}.")
