"""What is estimated, E h(Y), and the result: a number that says what it estimates."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from reticent.results import Scalar
from reticent.thresholds.answers import Floats


@dataclass(frozen=True)
class Functional:
    """E h(Y): h, its derivative, and the values where h turns between rising and falling.

    Both functions take and return arrays of one shape.

    >>> Functional("share at most about 3", lambda y: 1 / (1 + np.exp(y - 3)), lambda y: -0.25 / np.cosh((y - 3) / 2) ** 2).name
    'share at most about 3'
    """

    name: str
    h: Callable[[Floats], Floats]
    slope: Callable[[Floats], Floats]
    turns: tuple[float, ...] = ()

    def at(self, value: float) -> float:
        """h at one value."""
        return float(self.h(np.array([value]))[0])

    def range_on(self, left: Floats, right: Floats) -> tuple[Floats, Floats]:
        """Smallest and largest h on each interval [left, right]."""
        candidates = [self.h(left), self.h(right)]
        candidates += [self.h(np.clip(turn, left, right)) for turn in self.turns]
        return np.min(candidates, axis=0), np.max(candidates, axis=0)


MEAN = Functional("mean", lambda y: y, np.ones_like)
SECOND_MOMENT = Functional("second moment", lambda y: y**2, lambda y: 2 * y, turns=(0.0,))


@dataclass(frozen=True, kw_only=True)
class FunctionalEstimate(Scalar):
    """An estimate of E h(Y) from thresholds.

    `estimand` says in words what it estimates; with thresholds on [a, b] and values beyond, that is E h(Y clipped to [a, b]),
    and `clipped_to` is (a, b). `lowest` and `highest` bound what the answers leave open, where the method gives that (else NaN).
    """

    method: str
    estimand: str
    n: int
    clipped_to: tuple[float, float] | None = None
    lowest: float = math.nan
    highest: float = math.nan

    def to_json(self) -> dict[str, Any]:
        """Everything as JSON; NaN as null."""
        extremes = None if math.isnan(self.lowest) else [self.lowest, self.highest]
        return {
            **super().to_json(),
            "method": self.method,
            "estimand": self.estimand,
            "n": self.n,
            "clipped_to": None if self.clipped_to is None else list(self.clipped_to),
            "extremes": extremes,
        }
