"""A band that holds the whole distribution function, and intervals for its quantiles.

Source: section 5 of our specification of interval privacy.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from reticent.errors import ParameterError
from reticent.intervals import check_level
from reticent.thresholds.anchor_density import EVERYWHERE, Domain
from reticent.thresholds.answers import Floats, merge_people
from reticent.thresholds.cdf_intervals import guaranteed

POINTS = 20


@dataclass(frozen=True, eq=False)
class Band:
    """low ≤ F ≤ high at every t at once, with probability of at least `confidence_level`, for every n.

    `low` and `high` are the limits at the points `at`; in between a limit carries on to the next point.
    """

    at: Floats
    low: Floats
    high: Floats
    confidence_level: float

    def __call__(self, t: ArrayLike) -> tuple[Floats, Floats]:
        """Both limits at each t."""
        values = np.asarray(t, dtype=np.float64)
        low = np.append(0.0, self.low)[np.searchsorted(self.at, values, side="right")]
        return low, np.append(self.high, 1.0)[np.searchsorted(self.at, values, side="left")]

    def quantile(self, p: float, domain: Domain = EVERYWHERE) -> tuple[float, float]:
        """The interval (after, up to] for the p-quantile inf{t : F(t) ≥ p}, from the band turned round.

        The intervals of all quantiles hold together. An end that the band does not reach is that of the domain.
        Raises ParameterError unless 0 < p < 1.
        """
        if not 0 < p < 1:
            raise ParameterError(f"p is {p}; a quantile needs 0 < p < 1.", p=p)
        before, reached = self.at[self.high < p], self.at[self.low >= p]
        low = float(before[-1]) if len(before) else domain[0]
        return low, float(reached[0]) if len(reached) else domain[1]


def uniform_band(
    thresholds: ArrayLike,
    below: ArrayLike,
    points: ArrayLike | int = POINTS,
    *,
    confidence_level: float = 0.95,
    counts: ArrayLike | None = None,
) -> Band:
    """A band for F from guaranteed intervals at J points, each with 1/J of the error, carried on by monotonicity.

    `points` are the points, or how many: then quantiles of the thresholds, which do not depend on the answers. The limits
    hold for every n and any law of the thresholds; the price is width.

    Source: section 5 of our specification of interval privacy. Raises ParameterError for fewer than one point.

    >>> u = np.linspace(0, 1, 400)
    >>> band = uniform_band(u, u >= 0.3, points=[0.2, 0.5, 0.8])
    >>> [end.round(2).tolist() for end in band([0.1, 0.9])], band.quantile(0.5, (0, 1))
    ([[0.0, 0.92], [0.44, 1.0]], (0.2, 0.5))
    """
    check_level(confidence_level)
    merged = merge_people(thresholds, below, counts)
    if isinstance(points, (int, np.integer)):
        if points < 1:
            raise ParameterError(f"points is {points}; a band needs at least one point.", points=int(points))
        shares = (np.arange(points) + 0.5) / points
        place = np.searchsorted(np.cumsum(merged.total) / merged.n, shares)
        at = np.unique(merged.threshold[np.minimum(place, len(merged.threshold) - 1)])
    else:
        at = np.unique(np.asarray(points, dtype=np.float64))
    if not len(at) or not np.isfinite(at).all():
        raise ParameterError("points are finite numbers, at least one.")
    each = guaranteed(merged, at, 1 - (1 - confidence_level) / len(at))
    high = np.minimum.accumulate(each.high[::-1])[::-1]
    return Band(at, np.maximum.accumulate(each.low), high, confidence_level)
