"""A normal, logistic or log-normal law for values known by intervals, by maximum likelihood.

Source: Ding and Ding, Interval Privacy (arXiv 2106.09565); sections 5 and 6 of our specification, with an intercept only. That the
likelihood is concave in (location/scale, 1/scale): Burridge, A note on maximum likelihood estimation for regression models using
grouped data (1981).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from reticent.errors import EstimateError, ParameterError, ReportError
from reticent.intervals import ConfidenceInterval, wald
from reticent.results import Scalar
from reticent.thresholds.answers import Floats, checked
from reticent.thresholds.standard_laws import LOGISTIC, NORMAL, StandardLaw

FamilyName = Literal["normal", "logistic", "lognormal"]
NARROW = 1e-7  # of the spread of the ends: below it an interval is a point, whose density does not cancel
FAR = 1e4  # in units of that spread: beyond it the likelihood has no maximum
PERFECT = 1e-3  # where a maximum exists, answers contradict every law a little: the log-likelihood is below −0.6
MAX_STEPS = 200
DECREMENT = 1e-12


@dataclass(frozen=True, eq=False)
class FamilyFit:
    """A fitted law: Y, or log Y for "lognormal", is location + scale · standard normal or logistic.

    `covariance` is that of (location, scale), from the observed information. All of it holds only if the family does.
    """

    family: FamilyName
    location: Scalar
    scale: Scalar
    covariance: Floats
    log_likelihood: float
    n: float

    def cdf(self, t: ArrayLike) -> Floats:
        """F(t)."""
        return np.exp(self._law.log_cdf(self._z(t)))

    def pdf(self, t: ArrayLike) -> Floats:
        """The density at t."""
        values = np.asarray(t, dtype=np.float64)
        density = np.exp(self._law.log_pdf(self._z(values))) / self.scale.value
        if self.family != "lognormal":
            return density
        return np.divide(density, values, out=np.zeros_like(density), where=values > 0)

    def quantile(self, p: ArrayLike) -> Floats:
        """The p-quantile."""
        found = self.location.value + self.scale.value * self._law.quantile(np.asarray(p, dtype=np.float64))
        return np.exp(found) if self.family == "lognormal" else found

    @property
    def mean(self) -> Scalar:
        """The mean: the location, or exp(location + scale²/2) with its standard error by the delta method."""
        if self.family != "lognormal":
            return self.location
        value = math.exp(self.location.value + self.scale.value**2 / 2)
        gradient = value * np.array([1.0, self.scale.value])
        return Scalar(value, math.sqrt(float(gradient @ self.covariance @ gradient)))

    def cdf_interval(self, t: ArrayLike, confidence_level: float = 0.95) -> ConfidenceInterval:
        """An interval for F(t) at each t: (t − location)/scale ± z · standard error, through the standard law."""
        z = np.atleast_1d(self._z(t))
        gradient = np.stack([np.ones_like(z), np.where(np.isfinite(z), z, 0.0)]) / self.scale.value
        errors = np.sqrt(np.einsum("ij,ik,kj->j", gradient, self.covariance, gradient))
        ends = wald(z, errors, confidence_level)
        low, high = (np.exp(self._law.log_cdf(end)) for end in (ends.low, ends.high))
        return ConfidenceInterval(low, high, confidence_level, f"{self.family} family")

    @property
    def _law(self) -> StandardLaw:
        return LOGISTIC if self.family == "logistic" else NORMAL

    def _z(self, t: ArrayLike) -> Floats:
        values = np.asarray(t, dtype=np.float64)
        if self.family == "lognormal":
            values = _logarithms(values)
        return np.asarray((values - self.location.value) / self.scale.value)


def sides(thresholds: ArrayLike, below: ArrayLike) -> tuple[Floats, Floats]:
    """The intervals (low, high] of answers to thresholds: (−inf, u] for 1 and (u, inf] for 0.

    >>> [end.tolist() for end in sides([1.0, 2.0], [1, 0])]
    [[-inf, 2.0], [1.0, inf]]
    """
    u, delta = checked(thresholds, below)
    return np.where(delta == 1, -np.inf, u), np.where(delta == 1, u, np.inf)


def fit_family(
    low: ArrayLike, high: ArrayLike, family: FamilyName = "normal", *, weights: ArrayLike | None = None
) -> FamilyFit:
    """The law of a family that makes the reported intervals (low, high] most likely; low = high is the exact value.

    Maximises Σ w log[F((high − m)/s) − F((low − m)/s)], with log[f((y − m)/s)/s] for exact values, by Newton's method in
    (m/s, 1/s), where it is concave. "lognormal" takes logarithms of the ends, whose values below 0 count as 0.

    Arrays of shape `(n,)`; ends may be infinite; `weights` are counts. `sides` makes intervals from thresholds.
    Source: sections 5 and 6 of our specification of interval privacy.
    Raises ReportError for low > high, NaN or intervals without values, ParameterError for other families, EstimateError when
    no single law is most likely: equal thresholds, all answers equal, or a threshold that parts them without overlap.

    >>> rng = np.random.default_rng(0)
    >>> u = rng.uniform(-4, 6, 4000)
    >>> found = fit_family(*sides(u, rng.normal(1, 2, 4000) <= u))
    >>> abs(found.location.value - 1) < 0.2, abs(found.scale.value - 2) < 0.3
    (True, True)
    """
    if family not in get_args(FamilyName):
        raise ParameterError(f"family is {family!r}; allowed: {', '.join(get_args(FamilyName))}.", family=family)
    left, right, w = _checked_intervals(low, high, weights)
    if family == "lognormal":
        if (right <= 0).any():
            raise ReportError("A log-normal value is positive; some intervals hold no positive value.")
        left, right = _logarithms(left), _logarithms(right)
    ends = np.concatenate([left[np.isfinite(left)], right[np.isfinite(right)]])
    if len(ends) < 2 or np.ptp(ends) == 0:
        raise EstimateError(
            "All finite ends are equal, so location and scale cannot be told apart. Vary the thresholds."
        )
    centre, unit = float(ends.mean()), float(ends.std())
    law = LOGISTIC if family == "logistic" else NORMAL
    likelihood = _Likelihood((left - centre) / unit, (right - centre) / unit, w, law)
    (a, b), value, hessian = _newton(likelihood)
    jacobian = unit * np.array([[1 / b, -a / b**2], [0.0, -1 / b**2]])
    covariance = jacobian @ np.linalg.inv(-hessian) @ jacobian.T
    errors = np.sqrt(np.diag(covariance))
    exact = float(w[left == right].sum())
    jacobian_of_log = float(w[left == right] @ left[left == right]) if family == "lognormal" else 0.0
    return FamilyFit(
        family,
        Scalar(centre + unit * a / b, float(errors[0])),
        Scalar(unit / b, float(errors[1])),
        covariance,
        value - exact * math.log(unit) - jacobian_of_log,
        float(w.sum()),
    )


class _Likelihood:
    """Log-likelihood, gradient and Hessian in (a, b) = (location/scale, 1/scale), at z = b·end − a."""

    def __init__(self, left: Floats, right: Floats, weights: Floats, law: StandardLaw) -> None:
        narrow = right - left < NARROW
        self.law = law
        self.points, self.point_weights = (left[narrow] + right[narrow]) / 2, weights[narrow]
        widths = (right - left)[narrow]
        self.constant = float(self.point_weights[widths > 0] @ np.log(widths[widths > 0]))
        self.left, self.right, self.weights = left[~narrow], right[~narrow], weights[~narrow]

    def value(self, a: float, b: float) -> float:
        z = b * self.points - a
        wide = self.weights @ self.law.log_mass(b * self.left - a, b * self.right - a)
        return float(wide + self.point_weights @ (self.law.log_pdf(z) + math.log(b)) + self.constant)

    def is_perfect(self, value: float) -> bool:
        """Whether intervals only are nearly certain, all of them: then a smaller scale is always better."""
        return not len(self.points) and value > -PERFECT * float(self.weights.min())

    def derivatives(self, a: float, b: float) -> tuple[Floats, Floats]:
        low, high = b * self.left - a, b * self.right - a
        mass = self.law.log_mass(low, high)
        first, second = np.zeros((2, len(mass))), np.zeros((3, len(mass)))
        for sign, end, z in ((1.0, self.right, high), (-1.0, self.left, low)):
            finite = np.isfinite(z)
            y, ratio = end[finite], sign * np.exp(self.law.log_pdf(z[finite]) - mass[finite])
            bend = ratio * self.law.slope(z[finite])
            first[:, finite] += np.stack([-ratio, y * ratio])
            second[:, finite] += np.stack([bend, -y * bend, y**2 * bend])
        second -= np.stack([first[0] ** 2, first[0] * first[1], first[1] ** 2])
        gradient, parts = first @ self.weights, second @ self.weights
        y, z = self.points, b * self.points - a
        slope, curvature = self.law.slope(z), self.law.curvature(z)
        gradient = gradient + np.stack([-slope, y * slope + 1 / b]) @ self.point_weights
        parts = parts + np.stack([curvature, -y * curvature, y**2 * curvature - 1 / b**2]) @ self.point_weights
        return gradient, np.array([[parts[0], parts[1]], [parts[1], parts[2]]])


def _newton(likelihood: _Likelihood) -> tuple[tuple[float, float], float, Floats]:
    """Newton's method with step halving. Raises EstimateError where the likelihood has no maximum at a positive scale."""
    a, b = 0.0, 1.0
    value = likelihood.value(a, b)
    for _ in range(MAX_STEPS):
        gradient, hessian = likelihood.derivatives(a, b)
        try:
            step = np.linalg.solve(-hessian, gradient)
        except np.linalg.LinAlgError:
            break
        decrement = float(gradient @ step)
        if likelihood.is_perfect(value):
            break
        if 0 <= decrement < DECREMENT * max(1.0, abs(value)):
            return (a, b), value, hessian
        size = 1.0 if step[1] > -b else -0.9 * b / float(step[1])
        while size > 1e-12 and not (found := likelihood.value(a + size * step[0], b + size * step[1])) > value:
            size /= 2
        if size <= 1e-12 or decrement < 0:
            break
        a, b, value = a + size * float(step[0]), b + size * float(step[1]), found
        if b < 1 / FAR or max(abs(a), b) > FAR:
            break
    raise EstimateError(
        "No single law makes the answers most likely: all are equal, or one threshold parts them without overlap, or larger "
        "thresholds are not more often above the value. Collect more answers, at thresholds among the values.",
        inverse_scale=b,
    )


def _checked_intervals(low: ArrayLike, high: ArrayLike, weights: ArrayLike | None) -> tuple[Floats, Floats, Floats]:
    left, right = np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)
    if left.ndim != 1 or left.shape != right.shape or not len(left):
        raise ReportError(f"The ends have shapes {left.shape} and {right.shape}; give one low and one high per person.")
    if not (left <= right).all() or (np.isinf(left) & (left == right)).any():
        raise ReportError(
            "Some intervals have low > high, an end that is no number, or no value in them. Give (low, high] with low ≤ high."
        )
    w = np.ones(len(left)) if weights is None else np.asarray(weights, dtype=np.float64)
    if w.shape != left.shape or not np.isfinite(w).all() or (w < 0).any() or not w.any():
        raise ParameterError("weights must be finite, at least 0 and not all 0, one for each interval.")
    return left[w > 0], right[w > 0], w[w > 0]


def _logarithms(values: Floats) -> Floats:
    """log, and −inf for 0 and below."""
    return np.log(values, out=np.full_like(values, -np.inf), where=values > 0)
