"""What is asked of a plan for a number, the designs that are an answer, or that it cannot be had and what is nearest."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from reticent.channel.ranges import Ranges
from reticent.distributions.tallied import cell_ends
from reticent.domain import Numbers
from reticent.errors import EstimateError, ParameterError
from reticent.intervals import check_level
from reticent.mechanisms.masses import exact_share, planning_masses
from reticent.planning.number_designs import MOST_CELLS_OF_A_RING, TOLERANCE, LeftOut, designs
from reticent.planning.number_plans import NumberPlan
from reticent.planning.number_rows import NumberRow, Wanted, least_threshold_variance, number_row
from reticent.planning.one_channel import MOST_ANSWERS
from reticent.planning.text import amount

Floats = NDArray[np.float64]
COVERAGE = 0.75  # of a plan for a domain that names neither coverage nor narrowest
SHARES_TRIED = [k / 20 for k in range(19, 0, -1)]
HELD_LESS, TOO_LOW = "their narrowest range holds less than {}", "their coverage is below {}"


def number_plan(
    what: Numbers | Ranges | Iterable[Ranges],
    *,
    n: int | None = None,
    mean_within: float | None = None,
    coverage: float | None = None,
    narrowest: Any = None,
    law: Any = None,
    confidence_level: float = 0.95,
) -> NumberPlan:
    """The plan for the mean of a number; see `plan`, which calls this one for numbers."""
    check_level(confidence_level)
    channels, domain = _given(what)
    middles, placement, masses, law_by_cell = _expected(domain, law)
    floor = None if narrowest is None else exact_share(narrowest, "narrowest")
    if coverage is None:
        coverage = COVERAGE if channels is None and floor is None else 0.0
    _check_demands(coverage, floor)
    wanted = Wanted(_checked_mean(mean_within, n), _checked_n(n), float(norm.ppf(0.5 + confidence_level / 2)))
    openly = float(law_by_cell @ (middles - law_by_cell @ middles) ** 2)
    if not openly > 0:
        raise ParameterError(
            f'Cannot be had: under the expected law everybody is in one cell of "{domain.name}", so its mean is known and '
            "nothing can be learned. Give a law that says what you do not know, or finer edges."
        )
    if wanted.mean_within is not None and wanted.mean_within < placement * (1 - TOLERANCE):
        raise _too_coarse(domain, wanted.mean_within, placement)
    left_out: list[LeftOut] = []
    if channels is None:
        channels, left_out = designs(domain, law_by_cell, masses, coverage, floor)
    rows, fell = _kept(channels, law_by_cell, middles, openly, wanted, coverage, floor)
    if not rows:
        raise _cannot(what, domain, law_by_cell, masses, coverage, floor, fell)
    least = least_threshold_variance(law_by_cell, middles, coverage)
    rows.sort(key=lambda row: (row.variance, row.name))
    return NumberPlan(
        domain=domain, rows=tuple(rows), mean_within=wanted.mean_within, n=wanted.n, coverage=coverage,
        narrowest=None if floor is None else float(floor), probabilities=tuple(law_by_cell.tolist()),
        assumed=law is None, confidence_level=confidence_level, placement=placement,
        n_open=wanted.answers(openly), half_width_open=wanted.half_width(openly),
        n_least=wanted.answers(least), half_width_least=wanted.half_width(least),
        left_out=tuple(left_out + [out for out, _ in fell]),
    )  # fmt: skip


# --- what was asked ----------------------------------------------------------------------------------------------------------


def _given(what: Any) -> tuple[list[Ranges] | None, Numbers]:
    """The channels to plan, None for a domain whose designs are to be compared; and the domain."""
    if isinstance(what, Numbers):
        return None, what
    channels = [what] if isinstance(what, Ranges) else [*what] if isinstance(what, Iterable) else []
    if not channels or not all(isinstance(channel, Ranges) for channel in channels):
        raise ParameterError(
            "The mean, the coverage and the law are of a number: give its domain rt.Numbers, or channels of random ranges. "
            "For categories give half_width, rms or n alone."
        )
    if any(channel.domain != channels[0].domain for channel in channels):
        raise ParameterError("The channels are over different domains; plan each domain by itself.")
    return channels, channels[0].domain


def _expected(domain: Numbers, law: Any) -> tuple[Floats, float, tuple[int, ...], Floats]:
    """Middles of the cells, how far the mean may lie from that of the middles, and the law as integers and as floats."""
    left, right = cell_ends(domain)
    if not (math.isfinite(left[0]) and math.isfinite(right[-1])):
        raise ParameterError(
            f'Cannot be had: "{domain.name}" has an end without limit, so no report bounds its mean. Give the number finite '
            "ends; or plan its quantiles instead, with half_width for the shares of its cells."
        )
    masses = planning_masses(domain, law)
    probabilities = np.array([float(Fraction(mass, sum(masses))) for mass in masses])
    return (left + right) / 2, float(probabilities @ (right - left)) / 2, masses, probabilities


def _check_demands(coverage: Any, floor: Fraction | None) -> None:
    if not 0 <= _number(coverage) < 1:
        raise ParameterError(
            f"Cannot be had: coverage {coverage!r}. At 1 every report is \"any number\" and nothing is learned; any coverage from "
            "0 to below 1 can be had, such as 0.9, by asking fewer people.",
            coverage=coverage,
        )  # fmt: skip
    if floor is not None and floor >= 1:
        raise ParameterError(
            "Cannot be had: narrowest 1. Every report would be \"any number\"; a share below 1 may be had, such as 0.6.",
            narrowest=float(floor),
        )  # fmt: skip


def _checked_mean(mean_within: Any, n: Any) -> float | None:
    if (mean_within is None) == (n is None):
        raise ParameterError(
            "For a number give mean_within, such as mean_within=500 for its mean to ±500, or n, how many answers there will be; "
            f"got {'neither' if n is None else 'both'}."
        )
    if mean_within is None:
        return None
    if not 0 < _number(mean_within) < math.inf:
        raise ParameterError(
            f"mean_within is {mean_within!r}; it is a number above 0 in the unit of the question.",
            mean_within=mean_within,
        )
    return float(mean_within)


def _checked_n(n: Any) -> int | None:
    if n is None:
        return None
    if not isinstance(n, Integral) or not 1 <= _number(n) <= MOST_ANSWERS:
        raise ParameterError(f"n is {n!r}; allowed are whole numbers of answers from 1 to 2^53.", n=n)
    return int(n)


def _number(value: Any) -> float:
    """A number as a float; NaN for what is none."""
    return float(value) if isinstance(value, Real) and not isinstance(value, bool) else math.nan


# --- which designs are an answer ---------------------------------------------------------------------------------------------


def _kept(
    channels: list[Ranges], law: Floats, middles: Floats, openly: float, wanted: Wanted, coverage: float,
    floor: Fraction | None,
) -> tuple[list[NumberRow], list[tuple[LeftOut, NumberRow | None]]]:  # fmt: skip
    """The rows that meet what was asked, and those left out, with their rows where they have one."""
    rows: list[NumberRow] = []
    fell: list[tuple[LeftOut, NumberRow | None]] = []
    for channel in channels:
        try:
            row = number_row(channel, law, middles, openly, wanted)
        except EstimateError:
            fell.append((LeftOut(channel.name, "cells are not told apart, or reports are too many to list"), None))
            continue
        except ParameterError as fault:
            fell.append((LeftOut(channel.name, str(fault)), None))
            continue
        if floor is not None and row.narrowest < float(floor) - TOLERANCE:
            fell.append((LeftOut(row.name, HELD_LESS.format(f"{float(floor):.4g}")), row))
        elif row.coverage < coverage - TOLERANCE:
            fell.append((LeftOut(row.name, TOO_LOW.format(f"{coverage:.4g}")), row))
        else:
            rows.append(row)
    return rows, fell


def _too_coarse(domain: Numbers, mean_within: float, placement: float) -> ParameterError:
    unit = f" {domain.unit}" if domain.unit else ""
    return ParameterError(
        f"Cannot be had: the mean of \"{domain.name}\" to ±{mean_within:,.6g}{unit}. Where in their cells the numbers lie leaves it "
        f"open by ±{amount(placement)}{unit} under the expected law, however many answer. Take edges about "
        f"{amount(2 * mean_within)}{unit} apart or closer, or ask for ±{amount(placement * 1.005)}{unit} or more.",
        mean_within=mean_within,
        placement=placement,
    )  # fmt: skip


def _cannot(
    what: Any, domain: Numbers, law: Floats, masses: tuple[int, ...], coverage: float, floor: Fraction | None,
    fell: list[tuple[LeftOut, NumberRow | None]],
) -> ParameterError:  # fmt: skip
    """Why no design is an answer, and what is nearest to it."""
    known = [row for _, row in fell if row is not None]
    if not isinstance(what, Numbers):
        if not known:
            return ParameterError(f"Cannot be had with {fell[0][0].name}: {fell[0][0].reason}.")
        best, safest = max(row.coverage for row in known), max(row.narrowest for row in known)
        asked = [f"coverage {coverage:.4g}"] if coverage > 0 else []
        asked += [] if floor is None else [f"narrowest {float(floor):.4g}"]
        return ParameterError(
            f"Cannot be had with the channels given: {' and '.join(asked)}. Their highest coverage is "
            f"{best:.4g}; rt.lazy raises it. Their narrowest range holds at best {safest:.4g}; rt.ring or rt.selective on a "
            "ring raises that. Or give the domain, whose designs are then made to fit.",
            coverage=best,
            narrowest=safest,
        )
    if floor is None:
        return ParameterError(f"Cannot be had on these edges: {fell[0][0].reason}. Ask for less, or take other edges.")
    if len(domain) > MOST_CELLS_OF_A_RING:
        return ParameterError(
            f'Cannot be had on the edges of "{domain.name}": a guarantee for every report needs a ring, and a ring of '
            f"{len(domain):,} cells has too many ranges to list. Take edges that make at most {MOST_CELLS_OF_A_RING} cells.",
            n_cells=len(domain),
        )
    nearest = _highest_narrowest(domain, law, masses, coverage, floor)
    told = "no guarantee can be had" if nearest is None else f"narrowest {nearest:.4g} can be had"
    return ParameterError(
        f"Cannot be had: narrowest {float(floor):.4g} on these edges. Ranges on a line guarantee no share that leaves the tails "
        f"to be learned; a ring of m ranges guarantees less than 1/m, a selective ring any share, but a range that leaves out "
        f"the fullest cell holds at most {1 - law.max():.4g}. On these edges {told}; finer ones allow more.",
        narrowest=nearest,
    )


def _highest_narrowest(
    domain: Numbers, law: Floats, masses: tuple[int, ...], coverage: float, floor: Fraction
) -> float | None:
    """The highest of the shares tried below the floor that some design guarantees; None for none of them."""
    middles = np.arange(len(domain), dtype=np.float64)
    for share in SHARES_TRIED:
        if share < floor:
            channels, _ = designs(domain, law, masses, coverage, exact_share(share, "narrowest"))
            if _kept(channels, law, middles, 1.0, Wanted(None, 1, 1.0), coverage, exact_share(share, "narrowest"))[0]:
                return share
    return None
