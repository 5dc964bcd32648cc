"""When a range may be told: it holds a floor of the planning masses, and a coin falls.

Letters of Ding and Ding (Interval Privacy, arXiv 2106.09565): L = share of the planning masses in a range, τ = floor,
ρ = rho / 2^64.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, pairwise
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.bulk import inverse_cdf
from reticent.channel.channel import integer_from_json, json_integer
from reticent.choose import Source, Words
from reticent.errors import ChannelError

WORD = 2**64


@dataclass(frozen=True)
class Floors:
    """The law of the floor of a person: values[i] with chance weights[i] / total, drawn without looking at the answer.

    One floor for everybody is the law of one element, of weight 1. Values ascend within [0, 1]; weights are whole numbers.
    Raises ChannelError for anything else.

    >>> law = Floors((Fraction(1, 4), Fraction(1, 2)), (1, 2))
    >>> law.total, law.sums.tolist()
    (3, [0, 1, 3])
    """

    values: tuple[Fraction, ...]
    weights: tuple[int, ...] = (1,)

    def __post_init__(self) -> None:
        if not self.values or len(self.values) != len(self.weights) or min(self.weights) <= 0:
            raise ChannelError("A law of floors has as many values as weights, at least one, no weight below 1.")
        if not 0 <= self.values[0] <= self.values[-1] <= 1 or any(a >= b for a, b in pairwise(self.values)):
            raise ChannelError(
                f"A selection has the floors {', '.join(map(str, self.values))}; they ascend from 0 to 1 at most.",
                floors=self.values,
            )
        if len(self.values) == 1 and self.weights != (1,):
            raise ChannelError(f"A single floor has the weight {self.weights[0]}; write 1.")

    @property
    def total(self) -> int:
        """What the weights are counted in."""
        return int(self.sums[-1])

    @cached_property
    def sums(self) -> NDArray[np.object_]:
        """The weight of the i lowest floors, shape `(n_floors + 1,)`: that of τ ≤ L when a range meets i of them."""
        return np.array([*accumulate(self.weights, initial=0)], dtype=object)

    def draw(self, source: Source) -> int:
        """The place of a floor in `values`. A single one needs no choice."""
        return source.pick(self.weights) if len(self.values) > 1 else 0

    def draw_many(self, n: int, words: Words) -> NDArray[Any] | int:
        """The places of n floors; 0 for all where there is one, at no cost."""
        if len(self.values) == 1:
            return 0
        return inverse_cdf(np.zeros(n, dtype=np.int64), [[weight] for weight in self.weights], self.total, words)

    def to_json(self) -> dict[str, Any]:
        """As fractions in text: `floor`, or with several `floors`, a list of [floor, weight]."""
        if len(self.values) == 1:
            return {"floor": str(self.values[0])}
        listed = zip(self.values, self.weights, strict=True)
        return {"floors": [[str(value), json_integer(weight)] for value, weight in listed]}

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Floors:
        """The law that `to_json` wrote."""
        if ("floor" in document) == ("floors" in document):
            raise ChannelError("A selection has either one floor or a list of floors.")
        if "floor" in document:
            return cls((_floor_from_json(document["floor"]),))
        listed = document["floors"]
        if not isinstance(listed, list) or len(listed) < 2:
            raise ChannelError(
                "floors is a list of at least two pairs [floor, weight]; a single one is written as floor."
            )
        return cls(
            tuple(_floor_from_json(value) for value, _ in listed),
            tuple(integer_from_json(weight) for _, weight in listed),
        )


@dataclass(frozen=True)
class Selection:
    """Report a range only if it holds at least the share τ of the planning masses, and a coin of rho / 2^64 falls.

    τ is a draw of `floors`; `masses` are integers, one per cell. With a step, a range of one possible value meets no floor.
    Raises ChannelError for masses that are negative or all zero, or a rho outside 0..2^64.
    """

    masses: tuple[int, ...]
    floors: Floors
    rho: int

    def __post_init__(self) -> None:
        if not self.masses or min(self.masses) < 0 or not sum(self.masses):
            raise ChannelError("The planning masses are integers, one per cell, none negative, not all zero.")
        if not 0 <= self.rho <= WORD:
            raise ChannelError(f"A selection has rho {self.rho}; allowed is 0..2^64.", rho=self.rho)

    def floors_met(self, held: NDArray[Any]) -> NDArray[Any]:
        """How many floors, from the lowest, ranges meet that hold these sums of planning masses."""
        if len(self._least) == 1:
            return np.asarray(held >= self._least[0], dtype=np.bool_).view(np.int8)
        return np.searchsorted(np.array(self._least, dtype=held.dtype), held, side="right")

    @cached_property
    def _least(self) -> list[int]:
        """The smallest sum of planning masses that meets each floor."""
        total = sum(self.masses)
        return [ceil(floor * total) for floor in self.floors.values]

    def to_json(self) -> dict[str, Any]:
        """Masses, floors and rho."""
        masses = [json_integer(mass) for mass in self.masses]
        return {"masses": masses, **self.floors.to_json(), "rho": json_integer(self.rho)}

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Selection:
        """The selection that `to_json` wrote."""
        masses = tuple(integer_from_json(mass) for mass in document["masses"])
        return cls(masses, Floors.from_json(document), integer_from_json(document["rho"]))


def _floor_from_json(text: object) -> Fraction:
    try:
        floor = Fraction(text) if isinstance(text, str) else None
    except (ValueError, ZeroDivisionError):
        floor = None
    if floor is None or str(floor) != text:
        raise ChannelError(f"The floor of a selection is {text!r}; it is written as a reduced fraction in text.")
    return floor
