"""The law of sizes that estimates best under a bound on leakage, at equal shares."""

from __future__ import annotations

import math
from fractions import Fraction
from numbers import Real
from typing import Any, Literal, get_args

from reticent.channel import Subset
from reticent.choose import exp_lower_bound, log_upper_bound
from reticent.domain import Categorical
from reticent.errors import DomainError, ParameterError
from reticent.measures.measure import Unit, per_unit
from reticent.mechanisms.subsets import subset_of_law

WORD = 2**64
_FEWEST = WORD // 10**6
Bounded = Literal["information", "size", "prediction", "maximal", "delta"]
_IN_UNITS = ("information", "maximal")


def optimal_sizes(
    domain: Categorical,
    at_most: float,
    measure: Bounded = "information",
    unit: Unit = "nats",
    independent: bool = False,
) -> Subset:
    """The subset design with the most precise shares under a bound on leakage, when all answers are equally common.

    Minimises tr V = (p−1)² / (p · (p·E[1/K] − 1)), V = lim n·Cov of the maximum-likelihood shares, over the laws of the
    size K in 2..p with leakage at most `at_most`. `measure` is what is bounded: "information" E log(p/K) and "maximal"
    log(p·E[1/K]) in the unit, "size" 1 − E[K]/p, "prediction" E[1/K], "delta" (p − E[K])/(p − 1) as probabilities. The
    best law has two sizes, 2 and p (nothing asked). With `independent`, so that one yes/no question drawn without looking
    at the answer gives the report, it has the sizes 2 and p − 2, in proportion, and p.

    Beside `uniform_subset` at the same information it is more precise and has a higher prediction and maximal leakage;
    `leakage` shows them all. For shares far from equal another design may be better.

    Source: section 14 of our specification, for Wang and Ding, Subset Privacy (arXiv 2107.02013); 1/k is convex in
    log k and in k, so that every other law is beaten. Weights are multiples of 2^−64, rounded inside the bound.
    Raises DomainError below 3 categories (independent: 4), ParameterError for a bound that no useful
    design meets.

    >>> letters = Categorical("letter", ["a", "b", "c", "d", "e"])
    >>> law = optimal_sizes(letters, 0.970950594455, unit="bits").size_law()
    >>> {size: round(float(chance), 9) for size, chance in law.items()}
    {2: 0.73449577, 5: 0.26550423}
    """
    p = len(domain)
    if p < (4 if independent else 3):
        raise DomainError(
            f'optimal_sizes needs at least {4 if independent else 3} categories; "{domain.name}" has {p}. Use '
            f"{'binary_dummy' if p == 2 else 'optimal_sizes without independent, or ternary_dummy'}.",
            n_categories=p,
        )
    bound = _bound(at_most, measure, unit)
    base = {2: Fraction(2, p), p - 2: Fraction(p - 2, p)} if independent and p > 4 else {2: Fraction(1)}
    asked = _asked(base, p, bound, measure, unit)
    weight = min(WORD, math.floor(WORD * asked))
    if weight < _FEWEST:
        low, high = _reach(base, p, measure, unit)
        raise ParameterError(
            f"With {measure} at most {at_most!r}{_named(measure, unit)} a design would ask nothing, or less than once in a "
            f"million; give a bound above {low:.6g} (nothing asked), up to {high:.6g} (always two categories"
            f"{' or all but two' if independent else ''}).",
            at_most=at_most,
            reachable=(low, high),
        )
    law = {size: chance * Fraction(weight, WORD) for size, chance in base.items()}
    law[p] = 1 - Fraction(weight, WORD)
    title = f"optimal sizes, {measure} at most {float(at_most):.6g}{_named(measure, unit)}"
    return subset_of_law(domain, law, title)


def _bound(at_most: Any, measure: str, unit: str) -> Fraction:
    per_unit(unit)
    if measure not in get_args(Bounded):
        known = ", ".join(f'"{name}"' for name in get_args(Bounded))
        raise ParameterError(f"measure is {measure!r}; allowed: {known}.", measure=measure)
    if unit != "nats" and measure not in _IN_UNITS:
        raise ParameterError(f"The {measure} leakage is a probability and has no unit; leave out the unit {unit}.")
    try:
        finite = not isinstance(at_most, bool) and isinstance(at_most, Real) and math.isfinite(at_most)
    except OverflowError:
        raise ParameterError("at_most is larger than any float; give a smaller number.") from None
    if not finite:
        raise ParameterError(f"at_most is {at_most!r}; give a finite number.", at_most=at_most)
    return Fraction(at_most) if isinstance(at_most, (int, Fraction)) else Fraction(float(at_most))


def _asked(base: dict[int, Fraction], p: int, bound: Fraction, measure: str, unit: str) -> Fraction:
    """How often the base law may be used, nothing being asked otherwise; rounded down, possibly below 0 or above 1.

    Mixed with the full set, every measure but the maximal one is linear in this share, and log is increasing.
    """
    size = sum((k * chance for k, chance in base.items()), Fraction(0))
    inverse = sum((chance / k for k, chance in base.items()), Fraction(0))
    if measure in _IN_UNITS and unit == "bits":
        bound *= -Fraction(log_upper_bound(Fraction(1, 2))) if bound > 0 else 1
    if measure == "information":
        most = sum((chance * Fraction(log_upper_bound(Fraction(p, k))) for k, chance in base.items()), Fraction(0))
        return bound / most
    if measure == "size":
        return bound * p / (p - size)
    if measure == "delta":
        return bound * (p - 1) / (p - size)
    if measure == "maximal":
        if bound <= 0 or bound >= 30:
            return Fraction(int(bound > 0))
        bound = exp_lower_bound(bound) / p
    return (bound - Fraction(1, p)) / (inverse - Fraction(1, p))


def _reach(base: dict[int, Fraction], p: int, measure: str, unit: str) -> tuple[float, float]:
    """The leakage when nothing is asked and when the base law is always used."""
    size = float(sum(k * chance for k, chance in base.items()))
    inverse = float(sum(chance / k for k, chance in base.items()))
    factor = per_unit(unit)
    return {
        "information": (0.0, factor * sum(float(chance) * math.log(p / k) for k, chance in base.items())),
        "size": (0.0, 1 - size / p),
        "prediction": (1 / p, inverse),
        "maximal": (0.0, factor * math.log(p * inverse)),
        "delta": (0.0, (p - size) / (p - 1)),
    }[measure]


def _named(measure: str, unit: str) -> str:
    return f" {unit}" if measure in _IN_UNITS else ""
