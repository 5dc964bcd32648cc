"""A smooth curve through the maximum likelihood law, for pictures.

Source: section 5 of our specification of interval privacy.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from reticent.errors import EstimateError, ParameterError
from reticent.thresholds.anchor_density import EVERYWHERE, Domain
from reticent.thresholds.answers import Floats
from reticent.thresholds.step_cdf import StepCDF

LABEL = "smoothed"


@dataclass(frozen=True, eq=False)
class SmoothedLaw:
    """Normal kernels at the middles of the intervals with mass, reflected at finite ends of the domain.

    For the eye only: it has no intervals, and its bandwidth is a convention. Pictures must say `label`.
    """

    middle: Floats
    mass: Floats
    bandwidth: float
    domain: Domain = EVERYWHERE
    label: str = LABEL

    def pdf(self, t: ArrayLike) -> Floats:
        """The smoothed density at t; 0 outside the domain."""
        values = np.asarray(t, dtype=np.float64)
        standard = (values[..., None] - self._centres) / self.bandwidth
        density = np.exp(-(standard**2) / 2) @ self._weights / (self.bandwidth * np.sqrt(2 * np.pi))
        inside = (values >= self.domain[0]) & (values <= self.domain[1])
        return np.asarray(np.where(inside, density, 0.0) / self._total)

    def cdf(self, t: ArrayLike) -> Floats:
        """The smoothed distribution function at t."""
        values = np.clip(np.asarray(t, dtype=np.float64), *self.domain)
        return np.asarray((self._raw(values) - self._raw(np.asarray(self.domain[0]))) / self._total)

    @property
    def _centres(self) -> Floats:
        mirrored = [2 * end - self.middle for end in self.domain if np.isfinite(end)]
        return np.concatenate([self.middle, *mirrored])

    @property
    def _weights(self) -> Floats:
        return np.tile(self.mass, 1 + int(np.isfinite(self.domain).sum()))

    @property
    def _total(self) -> float:
        low, high = (self._raw(np.asarray(end)) for end in self.domain)
        return float(high - low)

    def _raw(self, values: Floats) -> Floats:
        return np.asarray(ndtr((values[..., None] - self._centres) / self.bandwidth) @ self._weights)


def smoothed(cdf: StepCDF, domain: Domain = EVERYWHERE, bandwidth: float | None = None) -> SmoothedLaw:
    """F̃(t) = Σ_j p_j K((t − x_j)/b): normal kernels of width b at the middles x_j of the intervals with mass p_j.

    b = sd of that law · n^(−1/5) unless given. Finite ends of the domain reflect, so that no mass leaves it.

    Source: section 5 of our specification of interval privacy.
    Raises EstimateError when all answers were equal, when mass lies on an interval without end (give the domain), or
    when all mass lies in one interval and no bandwidth is given; ParameterError for a bandwidth that is not positive.

    >>> law = smoothed(StepCDF(np.array([1.0, 2.0, 3.0]), np.array([0.0, 0.5, 1.0]), n=32.0))
    >>> law.middle.tolist(), round(law.bandwidth, 3), law.cdf(2.0).round(3).tolist()
    ([1.5, 2.5], 0.25, 0.5)
    """
    if cdf.degenerate:
        raise EstimateError("All answers are equal: there is no shape to draw.")
    left, right, mass = cdf.masses(*domain)
    if not (np.isfinite(left).all() and np.isfinite(right).all()):
        raise EstimateError(
            "Some of the mass lies beyond every threshold, where it has no middle. Give domain=(low, high)."
        )
    middle, mass = (left + right) / 2, mass / mass.sum()
    if bandwidth is None:
        spread = float(np.sqrt(mass @ (middle - mass @ middle) ** 2))
        if spread == 0:
            raise EstimateError("All mass lies in one interval, so there is no scale to smooth on; give bandwidth=.")
        bandwidth = spread * cdf.n ** (-1 / 5)
    if not (np.isfinite(bandwidth) and bandwidth > 0):
        raise ParameterError(f"bandwidth is {bandwidth}; give a positive number.", bandwidth=bandwidth)
    return SmoothedLaw(middle, mass, float(bandwidth), domain)
