"""Randomised response and the two ends of every scale: the full answer and no answer at all."""

from __future__ import annotations

import math
from fractions import Fraction
from numbers import Real

from reticent.channel import Table
from reticent.choose import exp_lower_bound
from reticent.domain import Categorical
from reticent.errors import ParameterError

WORD = 2**64


def randomized_response(domain: Categorical, epsilon: float | Fraction) -> Table:
    """Report the answer with probability keep = e^ε/(e^ε + p − 1), every other category with 1/(e^ε + p − 1).

    keep is rounded down to a multiple of 2^−64, so that the exact epsilon is never above the one asked for.

    Source: Warner (1965) for p = 2; Kairouz, Bonawitz and Ramage (2016), k-ary; known as GRR or kRR.
    Raises ParameterError unless 0 < epsilon ≤ 30, in nats.

    >>> import math
    >>> channel = randomized_response(Categorical("smoker", ["yes", "no"]), math.log(3))
    >>> channel.epsilon <= math.log(3), round(channel.keep / 2**64, 6)
    (True, 0.75)
    """
    if isinstance(epsilon, bool) or not isinstance(epsilon, Real) or not 0 < epsilon <= 30:
        raise ParameterError(f"epsilon is {epsilon!r}; allowed is 0 < epsilon <= 30, in nats.", epsilon=epsilon)
    ratio = exp_lower_bound(Fraction(epsilon))
    keep = math.floor(WORD * ratio / (ratio + len(domain) - 1))
    if keep * len(domain) <= WORD:
        raise ParameterError(
            f"epsilon {epsilon!r} is too small: at 64 bits every report would be equally likely. Use a larger epsilon, "
            "or no_response.",
            epsilon=epsilon,
        )
    return Table(domain, domain.categories, keep, title="randomised response")


def full_response(domain: Categorical) -> Table:
    """Report the answer itself: the end of the scale with no privacy, for comparison and for public columns.

    >>> full_response(Categorical("sex", ["Female", "Male"])).epsilon
    inf
    """
    return Table(domain, domain.categories, WORD, title="full response")


def no_response(domain: Categorical) -> Table:
    """Report nothing but that somebody took part: the end of the scale with full privacy.

    >>> no_response(Categorical("sex", ["Female", "Male"])).epsilon
    0.0
    """
    return Table(domain, ("no answer",), None, ((1,) * len(domain),), 1, title="no response")
