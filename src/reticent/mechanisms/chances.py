"""Probabilities as they are given to a mechanism: fractions, whole numbers, floats, or text such as "1/3"."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from numbers import Rational, Real
from typing import Any

from reticent.errors import ParameterError

Chance = str | Fraction | float | int


def as_chance(value: Any, what: str) -> Fraction:
    """The value as a fraction, a float as exactly the number it is. `what` names it in the error.

    Raises ParameterError for a negative, infinite or missing value, and for what is no number.

    >>> as_chance("1/3", "rate"), as_chance("0.1", "rate"), as_chance(0.25, "rate")
    (Fraction(1, 3), Fraction(1, 10), Fraction(1, 4))
    """
    fraction = _fraction(value)
    if fraction is None or fraction < 0:
        raise ParameterError(
            f'{what} is {value!r}; give a finite number that is not negative, or a text such as "1/3".', value=value
        )
    return fraction


def all_exact(values: Iterable[Any]) -> bool:
    """Whether no value is a float, so that sums can be asked to be exact."""
    return all(isinstance(value, (str, Rational)) for value in values)


def _fraction(value: Any) -> Fraction | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, Rational):
        return Fraction(int(value.numerator), int(value.denominator))
    if isinstance(value, Real):
        return Fraction(float(value)) if math.isfinite(value) else None
    try:
        return Fraction(value) if isinstance(value, str) else None
    except (ValueError, ZeroDivisionError):
        return None
