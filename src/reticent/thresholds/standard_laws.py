"""The standard normal and logistic laws, in logarithms, so that far tails stay exact."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import log_expit, log_ndtr, logit, ndtri

from reticent.thresholds.answers import Floats

Curve = Callable[[Floats], Floats]


@dataclass(frozen=True)
class StandardLaw:
    """A symmetric law: log F, log f, (log f)', (log f)'' and F⁻¹."""

    name: str
    log_cdf: Curve
    log_pdf: Curve
    slope: Curve
    curvature: Curve
    quantile: Curve

    def log_mass(self, low: Floats, high: Floats) -> Floats:
        """log[F(high) − F(low)] for low < high, with intervals on the right mirrored to the left tail.

        >>> float(NORMAL.log_mass(np.array([30.0]), np.array([31.0])).round(6)[0])
        -454.321244
        """
        mirrored = low > 0
        start, end = np.where(mirrored, -high, low), np.where(mirrored, -low, high)
        top, bottom = self.log_cdf(end), self.log_cdf(start)
        return np.asarray(top + np.log(-np.expm1(bottom - top)))


NORMAL = StandardLaw(
    "normal",
    log_ndtr,
    lambda z: -(z**2) / 2 - 0.5 * np.log(2 * np.pi),
    lambda z: -z,
    lambda z: -np.ones_like(z),
    ndtri,
)
LOGISTIC = StandardLaw(
    "logistic",
    log_expit,
    lambda z: log_expit(z) + log_expit(-z),
    lambda z: -np.tanh(z / 2),
    lambda z: -0.5 / np.cosh(z / 2) ** 2,
    logit,
)
