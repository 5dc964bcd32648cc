"""One measure of leakage: a number between what no report and what the answer itself would give away."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from reticent.errors import ParameterError

Unit = Literal["nats", "bits"]
Method = Literal["exact", "closed form", "Monte Carlo"]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Measure:
    """A measured leakage.

    `floor` is its value when nothing is reported, `ceiling` when the answer itself is. `standard_error` joins the
    error of an estimated prior (delta method) and of the draws (`n_draws`, Monte Carlo only); None where there is none.
    """

    name: str
    value: float
    floor: float
    ceiling: float
    unit: str
    standard_error: float | None = None
    method: Method = "exact"
    n_draws: int | None = None

    def to_json(self) -> dict[str, Any]:
        """The measure as JSON; an infinite number is the text "infinity" or "-infinity"."""
        return {name: json_number(value) for name, value in asdict(self).items()}


@dataclass(frozen=True, eq=False)
class ByCategory:
    """What an answer in each category gives away on average, shape `(n_categories,)`, in nats or as probabilities.

    The population measure is the mean under the prior; `gradient` is its derivative with respect to the prior, up to
    a constant. `standard_error` is that of the draws alone, 0 when nothing was drawn.
    """

    values: Floats
    gradient: Floats
    method: Method
    standard_error: float = 0.0
    n_draws: int | None = None


def per_unit(unit: str) -> float:
    """How many of `unit` are in one nat. Raises ParameterError for a unit that is neither nats nor bits."""
    if unit not in ("nats", "bits"):
        raise ParameterError(f'unit is {unit!r}; allowed: "nats", "bits".', unit=unit)
    return 1.0 if unit == "nats" else 1 / math.log(2)


def json_number(value: Any) -> Any:
    """A value as strict JSON allows it: infinities as text."""
    if isinstance(value, float) and math.isinf(value):
        return "infinity" if value > 0 else "-infinity"
    return value


def nonnegative(value: float) -> float:
    """A number that cannot be below zero, freed from rounding that puts it there."""
    return max(float(value), 0.0)
