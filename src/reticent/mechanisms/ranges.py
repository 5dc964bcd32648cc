"""Random ranges: the report is the range between drawn anchors that holds the number (Ding and Ding, arXiv 2106.09565)."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import floor, gcd, prod
from numbers import Real
from typing import Any

import numpy as np

from reticent.anchors import Anchors, edge_weights, integer_weights, share_inside
from reticent.channel.cuts import IndependentCuts, ListedCuts
from reticent.channel.ranges import Ranges
from reticent.domain import Numbers
from reticent.errors import ChannelError, ParameterError
from reticent.mechanisms.masses import exact_share, planning_masses
from reticent.mechanisms.rings import Accepted, ring_sets

_WORD = 2**64
_MOST = 2**53
_SHOWN = 5


def case_one(
    domain: Numbers,
    anchors: Anchors | Sequence[float] | None = None,
    *,
    acceptable: Any = None,
    acceptable_ranges: Sequence[int] = (),
) -> Ranges:
    """Ask whether the number is above one random anchor: the report is (−∞, u] or (u, ∞).

    `anchors` is a law of anchors (see `quantile_beta`, `variance_optimal`), one weight per inner edge, or None for all
    edges alike. A law is settled on the edges; where it draws no anchor, or one outside the domain, nothing is asked: the
    chance of that is 1 − ask / 2^64 of the channel. With `acceptable=(low, high)` a number in it is reported as its cell;
    with `acceptable_ranges=[1]` one in the lower range, with [2] one in the upper (see `random_ranges`).

    Coverage is in (1/2, 1), without a guarantee for single reports: `ring` gives one.

    Source: Ding and Ding, Interval Privacy, Case I; section 1.1 of our specification.
    Raises ParameterError for weights that do not fit the edges. Warns when some shares cannot be told apart.

    >>> channel = case_one(Numbers("age", 0, 100, edges=[25, 50, 75]))
    >>> [channel.describe(int(key)) for key in channel.keys()]
    ['up to 25', 'up to 50', 'up to 75', 'above 25', 'above 50', 'above 75']
    """
    weights, inside = settled_weights(domain, anchors)
    ask = _WORD if inside > 1 - 1e-12 else floor(Fraction(inside) * _WORD)
    return _on_line(domain, IndependentCuts(weights, 1), (acceptable, acceptable_ranges), ask, "one threshold")


def case_two(
    domain: Numbers,
    anchors: Anchors | Sequence[float] | None = None,
    *,
    acceptable: Any = None,
    acceptable_ranges: Sequence[int] = (),
) -> Ranges:
    """Ask on which side of two random anchors the number is: (−∞, u₁], (u₁, u₂] or (u₂, ∞).

    Both anchors come from one law (see `case_one`); where they fall on one edge, there are two ranges.

    Source: Ding and Ding, Interval Privacy, Case II; section 1.1 of our specification.

    >>> case_two(Numbers("age", 0, 100, edges=[25, 50, 75])).n_reports
    9
    """
    return random_ranges(domain, 3, anchors, acceptable=acceptable, acceptable_ranges=acceptable_ranges)


def random_ranges(
    domain: Numbers,
    n_ranges: int,
    anchors: Anchors | Sequence[float] | None = None,
    *,
    narrowest: Any = None,
    acceptable: Any = None,
    acceptable_ranges: Sequence[int] = (),
) -> Ranges:
    """Report which of up to n_ranges ranges between random anchors holds the number.

    The n_ranges − 1 anchors are independent draws of one law on the edges (see `case_one`; draws outside the domain are
    drawn again); equal ones are merged, so that there may be fewer ranges.

    With `acceptable_ranges=[1, …]` whoever is in a range of such a number reports the cell; ranges count from 1 at the low
    end, after merging. Other ranges are reported as they are and mean all of their cells. In coverage a cell so reported
    counts its own share of people, as one of `acceptable=(low, high)` does. Then the cut sets are listed one by one.

    Source: Ding and Ding, Interval Privacy, canonical mechanism; section 1.1 of our specification.
    Raises ParameterError unless 2 ≤ n_ranges ≤ number of cells; for acceptable ranges that are not some, not all, of 1 to
    n_ranges, beside `acceptable`, or with more than 2^17 cut sets; and for a `narrowest` share: if no range on a line may
    hold less than some share, no anchor can fall in the tails, and their law is never learned. `ring` joins the tails.

    >>> channel = random_ranges(Numbers("age", 0, 100, edges=[25, 50, 75]), 3)
    >>> str(channel.exact_row(channel.keys()[3])[1]), channel.describe(channel.keys()[3])
    ('2/9', '(25, 50]')
    """
    _check_ranges(domain, n_ranges)
    if narrowest is not None and exact_share(narrowest, "narrowest") > 0:
        raise ParameterError(
            f"random_ranges was asked that every range hold at least {narrowest!r}. Ranges on a line then never cut the "
            f"tails, which stay unknown. Use ring(domain, {narrowest!r}, {n_ranges}), whose widest range joins both tails, or "
            "selective on a ring.",
            narrowest=narrowest,
        )
    if n_ranges == 2:
        return case_one(domain, anchors, acceptable=acceptable, acceptable_ranges=acceptable_ranges)
    weights, _ = settled_weights(domain, anchors)
    cuts = IndependentCuts(weights, n_ranges - 1)
    return _on_line(domain, cuts, (acceptable, acceptable_ranges), _WORD, f"{n_ranges} random ranges")


def ring(
    domain: Numbers,
    narrowest: Any,
    n_ranges: int = 2,
    concentration: float = 1,
    pilot: Any = None,
    *,
    acceptable: Any = None,
) -> Ranges:
    """Report one of n_ranges arcs of the ring of cells, each with at least the share `narrowest` of the planning law.

    One arc joins both tails, so that all shares can be learned. Only cut sets whose exact masses meet the floor are drawn.
    A set's weight is the density of the ring on the continuum, arc lengths τ + (1 − m τ) · Dirichlet(α, …, α) from a
    uniform start: Π (length − τ)^(α − 1) · Π (mean mass of the two cells beside a cut); m = n_ranges, τ = narrowest, α =
    concentration. With `acceptable=(low, high)` masses are those without these cells.

    `pilot` is the planning law: one probability per cell, a law with a `cdf`, or None for cells of equal mass. The true
    share of an arc may be lower by twice the largest error of the pilot's distribution.

    Source: section 1.3 of our specification (ring design), after Ding and Ding, Interval Privacy; with a step, ranges of one
    possible value are left out. Raises ParameterError for fewer than 2 ranges, narrowest ≥ 1 / n_ranges (the arcs would
    be rigid), or a grid too coarse for the floor; ChannelError when more than 2^17 cut sets would have to be listed.

    >>> channel = ring(Numbers("age", 0, 100, edges=[20, 40, 60, 80]), 0.4)
    >>> [channel.describe(int(key)) for key in channel.keys()][:4], channel.cuts.total
    (['up to 40', 'up to 60', '(20, 60]', '(20, 80]'], 5)
    """
    _check_ranges(domain, n_ranges)
    tau = exact_share(narrowest, "narrowest")
    if tau * n_ranges >= 1:
        raise ParameterError(
            f"narrowest is {narrowest!r} for {n_ranges} ranges; allowed is less than 1/{n_ranges}. At 1/{n_ranges} the ranges "
            "are rigid and shares cannot be learned. Take fewer ranges, or selective on a ring for a higher floor.",
            narrowest=narrowest,
        )
    if isinstance(concentration, bool) or not isinstance(concentration, Real) or not 0 < concentration < np.inf:
        raise ParameterError(
            f"concentration is {concentration!r}; it is a number above 0.", concentration=concentration
        )
    masses = planning_masses(domain, pilot)
    accepted = Accepted.of(domain, acceptable)
    found = ring_sets(domain, accepted.outside(masses), sum(masses), tau, n_ranges, accepted.run)
    sets, weights = _weighted(found, masses, tau, float(concentration))
    if not sets:
        raise ParameterError(
            f'No {n_ranges} ranges of the cells of "{domain.name}" hold {narrowest!r} of the planning law each. Take finer '
            "edges, fewer ranges or a lower floor.",
            narrowest=narrowest,
        )
    title = f"ring of {n_ranges} ranges, narrowest {float(tau):.4g}"
    channel = Ranges(domain, ListedCuts(len(domain), sets, weights, True), accepted.run, title=title)
    if channel.unresolved:
        raise ParameterError(
            f'With these edges the ranges of "{domain.name}" do not tell all cells apart: {told(channel.unresolved)}. Take '
            "finer edges or a lower floor.",
            unresolved=channel.unresolved,
        )
    return channel


def _on_line(domain: Numbers, cuts: IndependentCuts, accepted: tuple[Any, Any], ask: int, title: str) -> Ranges:
    """The channel of these cuts; `accepted` are acceptable numbers, and acceptable ranges by their number."""
    numbers, run = _numbers(cuts.n_cuts + 1, *accepted), Accepted.of(domain, accepted[0]).run
    which = f", range{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers))} told by cell" if numbers else ""
    channel = Ranges(domain, _told_by_cell(cuts, numbers) if numbers else cuts, run, ask=ask, title=title + which)
    if channel.unresolved:
        warnings.warn(
            f'The anchors on "{domain.name}" leave out edges, and these cells are not told apart: '
            f"{told(channel.unresolved)}. Join the cells, or widen the anchors.",
            stacklevel=3,
        )
    return channel


def _numbers(n_ranges: int, acceptable: Any, given: Any) -> tuple[int, ...]:
    """The numbers of the acceptable ranges, ascending."""
    numbers = tuple(given) if isinstance(given, Iterable) else (given,)
    whole = all(isinstance(number, int) and not isinstance(number, bool) for number in numbers)
    if not whole or not set(numbers) < set(range(1, n_ranges + 1)) or len(set(numbers)) < len(numbers):
        raise ParameterError(
            f"acceptable_ranges is {given!r}; give some of the numbers 1 to {n_ranges}, each once, not all. To report every "
            "answer use full_response.",
            acceptable_ranges=given,
        )
    if numbers and acceptable is not None:
        raise ParameterError("Give acceptable or acceptable_ranges, not both: cells, or ranges by their number.")
    return tuple(sorted(numbers))


def _told_by_cell(cuts: IndependentCuts, numbers: tuple[int, ...]) -> ListedCuts:
    try:
        return cuts.listed(numbers)
    except ChannelError as fault:
        raise ParameterError(
            f"acceptable_ranges lists the cut sets, and cannot here. {fault} Or use acceptable=(low, high), which lists none.",
            **fault.details,
        ) from fault


def told(labels: Sequence[str]) -> str:
    """A few labels for a message, quoted."""
    return ", ".join(f'"{label}"' for label in labels[:_SHOWN]) + (", …" if len(labels) > _SHOWN else "")


def _check_ranges(domain: Numbers, n_ranges: Any) -> None:
    if isinstance(n_ranges, bool) or not isinstance(n_ranges, int) or not 2 <= n_ranges <= len(domain):
        raise ParameterError(
            f'n_ranges is {n_ranges!r}; allowed are 2 to {len(domain)}, the number of cells of "{domain.name}".',
            n_ranges=n_ranges,
        )


def settled_weights(domain: Numbers, anchors: Any) -> tuple[tuple[int, ...], float]:
    """Integer weights of the inner edges, and the chance that an anchor is drawn and falls within the domain."""
    if anchors is None:
        return (1,) * len(domain.edges), 1.0
    if hasattr(anchors, "cdf"):
        return edge_weights(anchors, domain), share_inside(anchors, domain)
    try:
        weights = np.array(anchors, dtype=np.float64)
    except (TypeError, ValueError):
        weights = np.array(np.nan)
    if (
        weights.shape != (len(domain.edges),)
        or not np.isfinite(weights).all()
        or (weights < 0).any()
        or not weights.any()
    ):
        raise ParameterError(
            f'The anchors on "{domain.name}" need {len(domain.edges)} weights, one per inner edge, none negative, not all '
            "zero; or a law of anchors."
        )
    if (weights == np.rint(weights)).all() and weights.sum() <= _MOST:
        return tuple(int(weight) for weight in weights), 1.0
    return integer_weights(weights / weights.sum()), 1.0


def _weighted(
    sets: list[tuple[int, ...]], masses: tuple[int, ...], tau: Fraction, concentration: float
) -> tuple[tuple[tuple[int, ...], ...], tuple[int, ...]]:
    """The cut sets of positive weight, with their integer weights."""
    beside = [masses[cut - 1] + masses[cut] for cut in range(len(masses))]
    exact = [prod(beside[cut] for cut in cuts) for cuts in sets]
    if concentration == 1:
        divisor = gcd(*exact) if any(exact) else 1
        if sum(exact) <= _MOST * divisor:
            return _positive(sets, [weight // divisor for weight in exact])
        shares = [float(Fraction(weight, sum(exact))) for weight in exact]
    else:
        shares = _dirichlet(sets, exact, masses, tau, concentration)
    return _positive(sets, integer_weights(shares))


def _dirichlet(
    sets: list[tuple[int, ...]], exact: list[int], masses: tuple[int, ...], tau: Fraction, concentration: float
) -> list[float]:
    total, before = sum(masses), np.append(0, np.cumsum(masses, dtype=np.float64))
    # Below 1 the density has a pole where an arc is as narrow as allowed; half a cell stands for "close to it".
    hair = 0.5 / len(masses)
    weights = []
    for cuts, local in zip(sets, exact, strict=True):
        lengths = np.diff(before[list(cuts)] / total)
        excess = np.append(lengths, 1 - lengths.sum()) - float(tau)
        bent = np.maximum(excess, hair if concentration < 1 else 0.0) ** (concentration - 1)
        weights.append(float(bent.prod()) * float(Fraction(local, total ** len(cuts))))
    whole = sum(weights)
    return [weight / whole for weight in weights] if whole else [0.0] * len(weights)


def _positive(
    sets: Sequence[tuple[int, ...]], weights: Sequence[int]
) -> tuple[tuple[tuple[int, ...], ...], tuple[int, ...]]:
    kept = [(cuts, weight) for cuts, weight in zip(sets, weights, strict=True) if weight]
    return tuple(cuts for cuts, _ in kept), tuple(weight for _, weight in kept)
