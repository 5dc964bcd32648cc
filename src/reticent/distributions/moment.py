"""A moment of a number whose places within cells are not known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from reticent.errors import EstimateError
from reticent.intervals import ConfidenceInterval, check_level
from reticent.results import Scalar


@dataclass(frozen=True)
class Moment(Scalar):
    """E X^order with each mass at the middle of its cell, and its range, `least` to `greatest`, over all places in cells.

    `standard_error` is by the delta method. It is NaN where some cell has an estimated mass of 0, for there it does not
    hold, above 500 cells, and where other laws fit as well; profile intervals hold there too. `bounds` are what the
    domain allows.

    >>> Moment(2.0, 0.5, least=1.0, greatest=3.0, bounds=(0.0, 2.5)).confidence_interval().high.tolist()
    [2.5]
    """

    least: float = field(kw_only=True)
    greatest: float = field(kw_only=True)
    bounds: tuple[float, float] = field(kw_only=True)
    widest: Callable[[float], tuple[float, float]] | None = field(default=None, repr=False, compare=False, kw_only=True)

    def confidence_interval(self, confidence_level: float = 0.95) -> ConfidenceInterval:
        """For masses at the middles of their cells: profile likelihood, wald for weighted reports; within the bounds."""
        interval = super().confidence_interval(confidence_level)
        low, high = (np.clip(end, *self.bounds) for end in (interval.low, interval.high))
        return ConfidenceInterval(low, high, confidence_level, interval.method)

    def placement_interval(self, confidence_level: float = 0.95) -> ConfidenceInterval:
        """Wherever in their cells the masses lie: the lower limit of the least moment, the upper limit of the greatest.

        Raises EstimateError for a moment without reports.
        """
        check_level(confidence_level)
        if self.widest is None:
            raise EstimateError("This moment carries no reports; take it from a distribution of reports.")
        low, high = self.widest(confidence_level)
        method = "wald, any placement" if self.ends is None else "profile, any placement"
        return ConfidenceInterval(np.array([low]), np.array([high]), confidence_level, method)

    def to_json(self) -> dict[str, Any]:
        """Value, standard error and range as JSON."""
        return {**super().to_json(), "least": self.least, "greatest": self.greatest}
