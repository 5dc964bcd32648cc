"""Planning masses: a law of the answers as integers, one per cell, so that floors are checked exactly."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import gcd, lcm
from typing import Any

import numpy as np

from reticent.anchors import integer_weights
from reticent.domain import Numbers
from reticent.errors import ParameterError
from reticent.measures.prior import as_prior

_MOST = 2**53


def planning_masses(domain: Numbers, pilot: Any = None) -> tuple[int, ...]:
    """Masses of the cells under a pilot law: None for equal ones, one probability per cell, or a law with a `cdf`.

    Probabilities that are decimals, as 0.1 is, stay exact; others become integers over 2^53.
    Raises ParameterError for what is no distribution over the cells.

    >>> planning_masses(Numbers("x", 0, 3, edges=[1, 2]), [0.5, 0.3, 0.2])
    (5, 3, 2)
    """
    if pilot is None:
        return (1,) * len(domain)
    if hasattr(pilot, "cdf"):
        below = np.asarray(pilot.cdf(domain.boundaries), dtype=np.float64)
        below[[0, -1]] = 0, 1
        shares = np.diff(below)
        if not np.isfinite(shares).all() or (shares < 0).any():
            raise ParameterError(f'The pilot law has no ascending distribution on "{domain.name}".')
        return integer_weights(shares)
    shares = as_prior(domain, pilot).probabilities
    if hasattr(pilot, "probabilities"):
        return integer_weights(shares)
    given = [pilot[label] for label in domain.categories] if isinstance(pilot, Mapping) else pilot
    exact = [exact_share(share, "A probability of the pilot") for share in given]
    common = lcm(*(share.denominator for share in exact))
    if sum(exact) != 1 or common > _MOST:
        return integer_weights(shares)
    masses = [int(share * common) for share in exact]
    divisor = gcd(*masses)
    return tuple(mass // divisor for mass in masses)


def exact_share(value: Any, what: str) -> Fraction:
    """A share from 0 to 1 as a fraction; a float is read as the decimal it prints as, a text may be "1/3".

    Raises ParameterError for anything else.

    >>> exact_share(0.2, "floor"), exact_share("1/3", "floor")
    (Fraction(1, 5), Fraction(1, 3))
    """
    share: Fraction | None = None
    if isinstance(value, (int, float, str, Fraction, np.floating, np.integer)) and not isinstance(value, bool):
        text = repr(float(value)) if isinstance(value, (float, np.floating)) else str(value)
        try:
            share = Fraction(text)
        except (ValueError, ZeroDivisionError, OverflowError):
            share = None
    if share is None or not 0 <= share <= 1:
        raise ParameterError(f'{what} is {value!r}; give a share from 0 to 1, such as 0.1 or "1/3".', value=value)
    return share
