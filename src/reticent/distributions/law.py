"""The law of a number, known as masses on intervals."""

from __future__ import annotations

import html
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reticent.errors import EstimateError, ParameterError
from reticent.intervals import ConfidenceInterval, check_level

Floats = NDArray[np.float64]
Place = Literal["left", "middle", "right"]
Ends = Callable[[float, float], tuple[float, float]]
QUARTILES = (0.25, 0.5, 0.75)


@dataclass(frozen=True, eq=False)
class Distribution:
    """Masses on intervals (left, right], or points where left = right, in increasing order.

    Where inside its interval a mass lies is not known: `place` puts it at the left end, the middle or the right end, and
    the left and right versions enclose every law with these masses. `n` is the number of reports (their total weight).
    `gap` and `shortfall` bound what the log-likelihood still lacks, per report and in total, in nats. `unique` is
    whether no other masses are as likely (None: not settled). `degenerate` is True when the reports left one interval
    only, so that they say nothing within it. `domain` bounds the number.

    >>> law = Distribution(np.array([0.0, 2.0]), np.array([1.0, 2.0]), np.array([0.25, 0.75]), n=4)
    >>> law.cdf([0.5, 2.0]).tolist(), law.quantile(0.5), law.mean(), law.moment_range()
    ([0.0, 1.0], 2.0, 1.625, (1.5, 1.75))
    """

    left: Floats
    right: Floats
    mass: Floats
    n: float
    log_likelihood: float = math.nan
    gap: float = 0.0
    shortfall: float = 0.0
    converged: bool = True
    iterations: int = 0
    unique: bool | None = None
    degenerate: bool = False
    domain: tuple[float, float] = (-math.inf, math.inf)
    closed: bool = False
    ends: Ends | None = field(default=None, repr=False)
    edges: Floats | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        for array in (self.left, self.right, self.mass):
            array.setflags(write=False)

    def cdf(self, t: ArrayLike, place: Place = "right") -> Floats:
        """P(X <= t), right-continuous, in the shape of t; with place="left" the greatest it can be, "right" the least.

        Raises ParameterError for a place that is not known or t that is NaN.
        """
        at = np.asarray(t, dtype=np.float64)
        if np.isnan(at).any():
            raise ParameterError("cdf was asked at NaN; give numbers.")
        total = np.append(0.0, np.cumsum(self.mass))
        total[-1] = 1.0
        if place == "left":
            # An open interval's mass lies just right of its left end; a point's, or that of a closed first cell, at it.
            begins = np.where(self._holds_left, self.left, np.nextafter(self.left, np.inf))
            return np.asarray(total[np.searchsorted(begins, at, side="right")])
        return np.asarray(total[np.searchsorted(self._placed(place), at, side="right")])

    def cdf_range(self, t: ArrayLike) -> tuple[Floats, Floats]:
        """The least and the greatest P(X <= t) of all laws with these masses."""
        return self.cdf(t, "right"), self.cdf(t, "left")

    def quantile(self, q: ArrayLike, place: Place = "right") -> Any:
        """The smallest t with P(X <= t) >= q, for shares q in (0, 1]; a float for one q, else an array.

        May be infinite where a mass is on an unbounded interval. Raises ParameterError for q outside (0, 1].
        """
        share = np.asarray(q, dtype=np.float64)
        if not ((share > 0) & (share <= 1)).all():
            raise ParameterError("quantile needs shares above 0 and up to 1, such as 0.5 for the median.")
        total = np.cumsum(self.mass)
        cell = np.searchsorted(total, share - 1e-12)  # a sum of masses may round to just below the share it is
        found = self._placed(place)[np.minimum(cell, len(total) - 1)]
        return float(found) if found.ndim == 0 else found

    def mean(self, place: Place = "middle") -> float:
        """E X with each mass at the middle of its interval, or at an end. Raises what `moment` raises."""
        return self.moment(1, place)

    def moment(self, order: int = 1, place: Place = "middle") -> float:
        """E X^order with each mass at the place named.

        Middles have the smaller bias; placing all masses at right ends overstates the mean.
        Raises EstimateError when a mass lies on an unbounded interval or the reports left one interval only.
        """
        self._require_moments(order)
        return float(self.mass @ self._placed(place) ** order)

    def moment_range(self, order: int = 1) -> tuple[float, float]:
        """The least and the greatest E X^order of all laws with these masses. Raises what `moment` raises."""
        self._require_moments(order)
        least, greatest = power_range(self.left, self.right, order)
        return float(self.mass @ least), float(self.mass @ greatest)

    def confidence_interval(
        self, confidence_level: float = 0.95, method: str | None = None, *, at: ArrayLike | None = None
    ) -> ConfidenceInterval:
        """An interval for F(t) at each t of `at`, by itself; without it, at the inner edges of the grid.

        {θ : 2 (l(maximum) − l(F(t) = θ)) ≤ χ²₁ quantile}. Where thresholds came from a known grid, that is the limit law at
        its edges, and between them F is enclosed by its neighbours. For intervals of unknown origin no limit law is
        proven: no interval unless method="profile" asks for this one, which is then conservative as far as is known.

        Source: section 5 of our specification of interval privacy.
        Raises EstimateError without a method where none is proven, for method="bootstrap", which does not hold its level,
        and where all reports agree; ParameterError for a level, method or t that is not allowed.

        >>> from reticent.estimators.interval_censoring import npmle
        >>> law = npmle([0, 1, 0, 2] * 10, [2, 3, 1, 3] * 10, domain=(0, 3))
        >>> interval = law.confidence_interval(method="profile", at=1.0)
        >>> interval.low.round(3).tolist(), interval.high.round(3).tolist(), interval.method
        ([0.291], [0.651], 'profile, heuristic')
        """
        check_level(confidence_level)
        if method not in (None, "profile"):
            raise self._no_method(method, ("profile",))
        if method is None and self.edges is None:
            raise EstimateError(
                "These intervals come from thresholds of unknown law, for which no confidence interval of F(t) is proven. "
                'method="profile" gives one that is heuristic and, as far as is known, conservative; for one threshold per '
                "person use cdf_interval(thresholds, below, t)."
            )
        if self.ends is None:
            raise EstimateError(
                "This distribution carries no reports, so it has no intervals; estimate it from reports."
            )
        self._require_disagreement("likelihood intervals")
        points = self._points(self.edges[1:-1] if at is None and self.edges is not None else at)
        found = np.array([self.ends(float(t), confidence_level) for t in points])
        label = "profile, heuristic" if self.edges is None else "profile"
        return ConfidenceInterval(found[:, 0], found[:, 1], confidence_level, label)

    def _no_method(self, method: str, allowed: tuple[str, ...]) -> Exception:
        if method == "bootstrap":
            return EstimateError(
                "A bootstrap of F(t) does not hold its level, for the estimate converges at a cube-root rate. Use "
                'method="profile".'
            )
        listed = ", ".join(f'"{one}"' for one in allowed)
        return ParameterError(f"method is {method!r}; allowed: {listed}.", method=method)

    def _require_disagreement(self, what: str) -> None:
        if self.degenerate:
            raise EstimateError(
                f"All reports agree, so {what} cannot be given: nothing says how far the numbers lie beyond the thresholds. "
                "Collect reports with other thresholds."
            )

    def _points(self, at: ArrayLike | None) -> Floats:
        if at is None:
            raise ParameterError("There is no grid here: say at which t the intervals for F(t) are wanted, at=[...].")
        points = np.atleast_1d(np.asarray(at, dtype=np.float64))
        if points.ndim != 1 or not len(points) or np.isnan(points).any():
            raise ParameterError("at is one number or a list of numbers.")
        return points

    @property
    def _holds_left(self) -> NDArray[np.bool_]:
        return np.asarray((self.left == self.right) | (self.left == self.domain[0]) | self.closed)

    def _placed(self, place: Place) -> Floats:
        if place == "left":
            return self.left
        if place == "right":
            return self.right
        if place == "middle":
            with np.errstate(invalid="ignore"):  # the middle of the whole line is nowhere
                return np.asarray(self.left + (self.right - self.left) / 2)
        raise ParameterError(f'place is {place!r}; allowed: "left", "middle", "right".', place=place)

    def _require_moments(self, order: int) -> None:
        if isinstance(order, bool) or not isinstance(order, int) or order < 1:
            raise ParameterError(f"order is {order!r}; give a whole number from 1 up.", order=order)
        unbounded = ~(np.isfinite(self.left) & np.isfinite(self.right))
        if unbounded.any():
            raise EstimateError(
                f"A mass of {float(self.mass[unbounded].sum()):.4g} lies on an interval without an end, so the moments are not "
                "known. Give the domain=(low, high) of the answer, or ask for quantiles.",
                unbounded=float(self.mass[unbounded].sum()),
            )
        if self.degenerate and self.left[0] < self.right[0]:
            raise EstimateError(
                "The reports leave one interval only and say nothing within it, so the moments are not known. Collect "
                "reports with other thresholds."
            )

    def to_json(self) -> dict[str, Any]:
        """Everything as JSON; infinite ends as null."""
        return {
            "n": self.n,
            "log_likelihood": finite(self.log_likelihood),
            "gap": self.gap,
            "shortfall": self.shortfall,
            "converged": self.converged,
            "iterations": self.iterations,
            "unique": self.unique,
            "degenerate": self.degenerate,
            "domain": [finite(end) for end in self.domain],
            "masses": [
                {"left": finite(left), "right": finite(right), "mass": mass}
                for left, right, mass in zip(self.left.tolist(), self.right.tolist(), self.mass.tolist(), strict=True)
            ],
        }

    def to_frame(self) -> Any:
        """A pandas data frame with one row per interval. Needs pandas: pip install "reticent[pandas]"."""
        try:
            import pandas as pd
        except ImportError as fault:
            raise EstimateError('to_frame needs pandas: pip install "reticent[pandas]"; or use to_json().') from fault
        return pd.DataFrame(self._columns())

    def _columns(self) -> dict[str, Any]:
        return {"left": self.left, "right": self.right, "mass": self.mass}

    def summary(self) -> str:
        """A plain text for the terminal: how many reports, and between which ends the quartiles lie."""
        return "\n".join([f"{self.n:,.6g} reports, {len(self.mass)} intervals with mass", *self._quartile_lines()])

    def _quartile_lines(self) -> list[str]:
        left, right = self.quantile(QUARTILES, "left"), self.quantile(QUARTILES, "right")
        rows = zip(("a quarter", "half", "three quarters"), left.tolist(), right.tolist(), strict=True)
        lines = [f"  {words:<14}  up to {_between(low, high)}" for words, low, high in rows]
        if not self.converged:
            lines.append(f"  The solver stopped early (gap {self.gap:.1e}): do not rely on this distribution.")
        return lines

    def plot(self) -> Any:
        """A matplotlib figure: the distribution function, enclosed where it is not known."""
        from reticent.plots.distributions import cumulative  # matplotlib loads only when a picture is asked for

        return cumulative(self.left.tolist(), self.right.tolist(), self.mass.tolist())

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{html.escape(_between(left, right))}</td><td>{mass:.4f}</td></tr>"
            for left, right, mass in zip(self.left.tolist(), self.right.tolist(), self.mass.tolist(), strict=True)
        )
        head = f"<caption>{self.n:,.6g} reports</caption><tr><th>interval</th><th>mass</th></tr>"
        return f"<table>{head}{rows}</table>"

    def __repr__(self) -> str:
        return f"<distribution, {len(self.mass)} intervals with mass, {self.n:,.6g} reports>"


def power_range(left: Floats, right: Floats, order: int) -> tuple[Floats, Floats]:
    """The least and the greatest x^order within each interval.

    >>> [ends.tolist() for ends in power_range(np.array([-1.0]), np.array([2.0]), 2)]
    [[0.0], [4.0]]
    """
    ends = left**order, right**order
    least, greatest = np.minimum(*ends), np.maximum(*ends)
    if order % 2 == 0:
        least = np.where((left < 0) & (right > 0), 0.0, least)
    return least, greatest


def _between(left: float, right: float) -> str:
    return f"{left:.6g}" if left == right else f"{left:.6g} to {right:.6g}"


def finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
