"""Saying nothing: ranges reported only when wide enough, or not asked for at all (Ding and Ding, arXiv 2106.09565)."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping
from dataclasses import replace
from fractions import Fraction
from math import floor as whole_part
from math import gcd, lcm
from typing import Any

import numpy as np
from scipy import stats

from reticent.anchors import integer_weights
from reticent.channel.cuts import ListedCuts
from reticent.channel.ranges import Ranges
from reticent.channel.selection import Floors, Selection
from reticent.errors import ParameterError
from reticent.mechanisms.chances import all_exact
from reticent.mechanisms.masses import exact_share, planning_masses
from reticent.mechanisms.ranges import told

_WORD = 2**64
_STEPS = 100
_TOLERANCE = Fraction(1, 10**12)


def selective(
    channel: Ranges, floor: Any, rho: Any = "ignorable", *, pilot: Any = None, q: Any = None, ignorable: bool = False
) -> Ranges:
    """Report the range only if it holds at least the share `floor` of the planning law, and a coin of `rho` falls.

    Otherwise the report is "no range", and the anchors are thrown away. With q the chance that a range meets the floor,
    at least half of all silence is the coin's alone, P(coin fell against | no range) ≥ 1/2, iff rho ≤ 1 / (2 − q); silence
    then lowers no posterior density by more than half. `rho="ignorable"` takes that largest rho; with a number,
    `ignorable=True` checks it. `q` may be a lower limit from earlier reports (`lowest_rate`); without it, it is exact under
    the pilot. "No range" keeps its own likelihood row 1 − rho · a(cell), so that estimates stay right.

    `floor` may also be a law of floors: a mapping {floor: weight}, weights whole numbers or probabilities that sum to 1,
    or a law on [0, 1] with a `cdf`, settled by rounding floors up to hundredths. Each device then draws the floor of its
    person, without looking at the number, and a(x) = Σ P(range R | x) · P(floor ≤ share of R). Floors that people choose
    themselves have no known law; they would need to be independent of the number, and that cannot be checked.

    The pilot is as in `ring`. Acceptable cells are reported anyway and are left out of q. With a step, ranges of one
    possible value are never reported, whatever the floor.

    Source: section 1.4 of our specification, after Ding and Ding, Interval Privacy (selective mechanism, random τ).
    Raises ParameterError for a floor outside (0, 1), floors that are all 0 or all 1, a rho outside (0, 1] or above
    1 / (2 − q) where ignorability is asked for, a floor no range meets, acceptable ranges by number (whose cells would
    meet no floor), and a channel that is selective or lazy already (make it lazy last). Warns when the ranges above the
    floor do not tell all cells apart.

    >>> from reticent.domain import Numbers
    >>> from reticent.mechanisms.ranges import case_one
    >>> thresholds = case_one(Numbers("x", 0, 4, edges=[1, 2, 3]))
    >>> channel = selective(thresholds, 0.5)
    >>> [str(chance) for chance in channel.reaching_floor], round(channel.rho / 2**64, 6)
    (['2/3', '1', '1', '2/3'], 0.857143)
    >>> [str(chance) for chance in selective(thresholds, {0.2: 1, 0.5: 1}).reaching_floor]
    ['5/6', '1', '1', '5/6']
    """
    _check_selectable(channel)
    floors = law_of_floors(floor)
    masses = planning_masses(channel.domain, pilot)
    chosen = replace(channel, selection=Selection(masses, floors, _WORD))
    rate = rate_of_ranges(chosen, masses)
    if not rate:
        raise ParameterError(
            f"No range holds {floor!r} of the planning law, so nothing would ever be reported. Lower the floor, or use fewer "
            "or wider ranges.",
            floor=floor,
        )
    threshold = _threshold(rho, rate if q is None else exact_share(q, "q"), ignorable)
    shown = " to ".join(f"{float(end):.4g}" for end in dict.fromkeys((floors.values[0], floors.values[-1])))
    title = f"{channel.title}, shown from {shown} with chance {threshold / _WORD:.4g}"
    if chosen.unresolved and not channel.unresolved:
        warnings.warn(
            f"The ranges that hold {floor!r} of the planning law do not tell these cells apart: {told(chosen.unresolved)}. A "
            "range on a line that holds more than half cannot end in the middle; use a ring, or a lower floor.",
            stacklevel=2,
        )
    return replace(channel, selection=Selection(masses, floors, threshold), title=title)


def _check_selectable(channel: Any) -> None:
    if not isinstance(channel, Ranges) or channel.selection is not None or channel.ask < _WORD:
        given = getattr(channel, "name", type(channel).__name__)
        raise ParameterError(f"selective is for ranges that are neither selective nor lazy yet; it got {given}.")
    if isinstance(channel.cuts, ListedCuts) and channel.cuts.told:
        raise ParameterError(
            f"selective hides narrow ranges, and {channel.name} tells numbers by their cell. Use acceptable=(low, high), whose "
            "cells are told whatever the floor."
        )


def _threshold(rho: Any, q: Fraction, ignorable: bool) -> int:
    """The coin over 2^64: the largest ignorable one, or as given."""
    limit = ignorable_rho(q)
    if isinstance(rho, str) and rho == "ignorable":
        return whole_part(limit * _WORD)
    coin = exact_share(rho, "rho")
    if coin == 0:
        raise ParameterError("rho is 0: nothing would ever be reported. Give a rho above 0.", rho=rho)
    if ignorable and coin > limit:
        raise ParameterError(
            f"rho is {rho!r}; for an ignorable silence at most 1 / (2 − q) = {float(limit):.6g} is allowed, q = "
            f'{float(q):.6g}. Lower rho, or take rho="ignorable".',
            rho=rho,
            limit=float(limit),
        )
    return whole_part(coin * _WORD)


def law_of_floors(given: Any) -> Floors:
    """A floor, or a law of floors, as weights of fractions."""
    if isinstance(given, Mapping):
        weights = _weights(given)
    elif hasattr(given, "cdf"):
        weights = _rounded_up(given)
    else:
        weights = {exact_share(given, "floor"): 1}
    if not weights or max(weights) == 0 or min(weights) == 1:
        raise ParameterError(f"floor is {given!r}; allowed are shares above 0 and below 1.", floor=given)
    divisor = gcd(*weights.values())
    values = tuple(sorted(weights))
    return Floors(values, tuple(weights[value] // divisor for value in values))


def _weights(law: Mapping[Any, Any]) -> dict[Fraction, int]:
    """{floor: weight} as integers: whole numbers as they are, else probabilities. Floors without weight are left out."""
    whole = all(isinstance(one, (int, np.integer)) and not isinstance(one, bool) and one >= 0 for one in law.values())
    weights: dict[Fraction, int] = {}
    for floor, weight in zip(law, law.values() if whole else _as_integers(law.values()), strict=True):
        share = exact_share(floor, "floor")
        weights[share] = weights.get(share, 0) + int(weight)
    return {share: weight for share, weight in weights.items() if weight}


def _as_integers(probabilities: Collection[Any]) -> list[int]:
    chances = [exact_share(chance, "The probability of a floor") for chance in probabilities]
    total = sum(chances, Fraction(0))
    if abs(total - 1) > (0 if all_exact(probabilities) else _TOLERANCE):
        raise ParameterError(
            f"The probabilities of the floors sum to {float(total):.15g}; they sum to 1, or are whole numbers.",
            total=total,
        )
    common = lcm(*(chance.denominator for chance in chances))
    return [int(chance * common) for chance in chances]


def _rounded_up(law: Any) -> dict[Fraction, int]:
    """A law on [0, 1], its floors rounded up to hundredths: nobody's floor is lower than drawn."""
    below = np.asarray(law.cdf(np.append(np.arange(_STEPS) / _STEPS, 1.0)), dtype=np.float64)
    shares = np.diff(below, prepend=0.0)
    outside = float(law.cdf(np.nextafter(0.0, -1.0))) > 1e-12 or not abs(below[-1] - 1) <= 1e-12
    if outside or not np.isfinite(shares).all() or (shares < 0).any():
        raise ParameterError("The law of the floors is not one on [0, 1]; give one, or a mapping {floor: weight}.")
    integers = integer_weights(shares)
    return {Fraction(step, _STEPS): weight for step, weight in enumerate(integers) if weight}


def ignorable_rho(q: Any) -> Fraction:
    """The largest rho with P(the coin fell against | no range) ≥ 1/2: 1 / (2 − q).

    Source: section 1.4 of our specification of interval privacy. Raises ParameterError for a q outside [0, 1].

    >>> [str(ignorable_rho(q)) for q in (0, 0.25, 0.6, 1)]
    ['1/2', '4/7', '5/7', '1']
    """
    return 1 / (2 - exact_share(q, "q"))


def coin_given_silence(rho: Any, q: Any) -> Fraction:
    """P(the coin fell against reporting | no range) = (1 − rho) / (1 − rho · q).

    Source: section 1.4 of our specification of interval privacy. Raises ParameterError when nobody would be silent.

    >>> str(coin_given_silence(ignorable_rho(0.6), 0.6))
    '1/2'
    """
    coin, rate = exact_share(rho, "rho"), exact_share(q, "q")
    if coin * rate == 1:
        raise ParameterError("With rho = q = 1 every range is reported: nobody is silent.")
    return (1 - coin) / (1 - coin * rate)


def rate_of_ranges(channel: Ranges, masses: tuple[int, ...]) -> Fraction:
    """q: the chance that the range of a person meets the floor, exact under integer masses of the cells.

    People in acceptable cells are left out. Source: section 1.4 of our specification of interval privacy.
    """
    shown = range(*channel.acceptable) if channel.acceptable is not None else range(0)
    outside = [0 if cell in shown else mass for cell, mass in enumerate(masses)]
    met = sum((mass * chance for mass, chance in zip(outside, channel.reaching_floor, strict=True)), Fraction(0))
    return met / sum(outside) if any(outside) else Fraction(0)


def lowest_rate(n_ranges: int, n_reports: int, rho: Any, confidence_level: float = 0.95) -> float:
    """A lower confidence limit of q from earlier reports: Clopper and Pearson's for the share of ranges, over rho.

    Source: section 1.4 of our specification of interval privacy. Raises ParameterError for counts out of order, a rho
    outside (0, 1] or a level outside (0, 1).

    >>> round(lowest_rate(480, 1000, 0.6), 4)
    0.756
    """
    coin = exact_share(rho, "rho")
    if not 0 <= n_ranges <= n_reports or n_reports < 1 or not 0 < confidence_level < 1 or not coin:
        raise ParameterError(
            f"{n_ranges} ranges of {n_reports} reports, rho {rho!r}, level {confidence_level!r}: counts must be in order, rho "
            "above 0 and the level between 0 and 1."
        )
    if n_ranges == 0:
        return 0.0
    lowest = float(stats.beta.ppf(1 - confidence_level, n_ranges, n_reports - n_ranges + 1))
    return min(1.0, lowest / float(coin))


def lazy(channel: Ranges, ask: Any) -> Ranges:
    """Ask only with chance `ask`; otherwise the report is the whole domain, whatever the answer.

    The coverage becomes 1 − ask · (1 − coverage), any value from that of the channel to 1, and everything that could be
    estimated still can. Drawn before the answer, in public.

    Source: section 2.1 of our specification of interval privacy (lazy mixture).
    Raises ParameterError unless 0 < ask ≤ 1; to ask nothing at all use no_response.

    >>> from reticent.domain import Numbers
    >>> from reticent.mechanisms.ranges import case_one
    >>> channel = lazy(case_one(Numbers("x", 0, 2, edges=[1])), 0.25)
    >>> [channel.describe(int(key)) for key in channel.keys()]
    ['up to 1', 'any number', 'above 1']
    """
    if not isinstance(channel, Ranges):
        given = getattr(channel, "name", type(channel).__name__)
        raise ParameterError(f"lazy is for ranges; it got {given}. For subset designs use random_nonresponse.")
    share = exact_share(ask, "ask")
    threshold = whole_part(share * channel.ask)
    if not threshold:
        raise ParameterError(f"ask is {ask!r}; it must be above 0. To ask nothing use no_response.", ask=ask)
    return replace(channel, ask=threshold, title=f"{channel.title}, asked with chance {float(share):.4g}")
