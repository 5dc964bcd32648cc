"""Designs for a number that are worth comparing: random ranges of every kind, each made to reach a stated coverage.

Letters of sections 1 and 2 of our specification of interval privacy: F = the expected law, g = density of the anchors,
τ = coverage or narrowest, m = number of ranges of a ring.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from math import comb, lcm

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reticent.anchors import (
    Anchors,
    MixedAnchors,
    UniformAnchors,
    coverage_optimal,
    edge_weights,
    integer_weights,
    quantile_beta,
    variance_optimal,
)
from reticent.channel.cuts import ListedCuts
from reticent.channel.ranges import Ranges
from reticent.coverage import mean_coverage
from reticent.domain import Numbers
from reticent.errors import ParameterError
from reticent.mechanisms import case_one, case_two, lazy, random_ranges, ring, selective
from reticent.mechanisms.masses import exact_share
from reticent.precision import LISTED

Floats = NDArray[np.float64]
Maker = Callable[[], Ranges]
TOLERANCE = 1e-9
MOST_RING_SETS = 20_000
MOST_CELLS_OF_A_RING = int(LISTED ** (1 / 3))  # its ranges are as many as the squared number of cells
BEST, EXTRA = 0.95, "and 5% uniform"
HALF, AT_THE_ENDS = 0.5, "half cut at the ends"
TOO_FINE = "too many ranges are possible on these edges; take coarser ones to compare them"
NOT_HERE = "these edges do not allow it"


@dataclass(frozen=True)
class LeftOut:
    """A design that is no answer to what was asked, and why."""

    name: str
    reason: str


class EvenLaw:
    """Probabilities of cells as a law of numbers, spread evenly within each cell between the ends of its domain.

    >>> EvenLaw(Numbers("x", 0, 4, edges=[1]), np.array([0.5, 0.5])).ppf([0.25, 0.75]).tolist()
    [0.5, 2.5]
    """

    def __init__(self, domain: Numbers, probabilities: Floats) -> None:
        self._ends = domain.boundaries
        self._below = np.append(0.0, np.cumsum(probabilities))
        self._above = np.append(np.cumsum(probabilities[::-1])[::-1], 0.0)
        self._below[-1] = self._above[0] = 1.0

    def cdf(self, x: ArrayLike) -> Floats:
        """P(Y ≤ x)."""
        return np.asarray(np.interp(np.asarray(x), self._ends, self._below))

    def sf(self, x: ArrayLike) -> Floats:
        """P(Y > x), with all its digits."""
        return np.asarray(np.interp(np.asarray(x), self._ends, self._above))

    def ppf(self, q: ArrayLike) -> Floats:
        """The quantile of q."""
        return np.asarray(np.interp(np.asarray(q), self._below, self._ends))

    def isf(self, q: ArrayLike) -> Floats:
        """The number above which a share q lies."""
        return np.asarray(np.interp(np.asarray(q), self._above[::-1], self._ends[::-1]))


def designs(
    domain: Numbers, probabilities: Floats, masses: tuple[int, ...], coverage: float, narrowest: Fraction | None
) -> tuple[list[Ranges], list[LeftOut]]:
    """Every design on the edges of the domain that is worth a look, and those that these edges do not allow.

    `masses` are the probabilities as integers, by which rings count their floors. Each design whose coverage is lower is
    made lazy, so that it has the coverage asked for.
    """
    made: dict[object, Ranges] = {}
    left_out = []
    for name, maker in _makers(domain, EvenLaw(domain, probabilities), masses, coverage, narrowest):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter(
                    "ignore", UserWarning
                )  # what they warn of, cells not told apart, is looked up below
                channel = maker()
        except _TooFine:
            left_out.append(LeftOut(name, TOO_FINE))
            continue
        except ParameterError:
            left_out.append(LeftOut(name, NOT_HERE))
            continue
        if channel.unresolved:
            left_out.append(LeftOut(name, NOT_HERE))
            continue
        if channel.selection is not None and not any(channel.no_range):
            continue  # every range meets the floor: it is the ring that it selects from
        channel = reaching(channel, probabilities, coverage)
        made.setdefault((channel.cuts, channel.selection, channel.ask), channel)
    return list(made.values()), left_out


def reaching(channel: Ranges, probabilities: Floats, coverage: float) -> Ranges:
    """The channel, or its lazy mixture with exactly this coverage where its own is lower.

    τ' = 1 − ask · (1 − τ). Source: section 2.1 of our specification of interval privacy (lazy mixture).

    >>> from reticent.mechanisms import case_one
    >>> thresholds = case_one(Numbers("x", 0, 2, edges=[1]))
    >>> mean_coverage(reaching(thresholds, np.array([0.5, 0.5]), 0.75), [0.5, 0.5])
    0.75
    """
    own = mean_coverage(channel, probabilities)
    if own >= coverage - TOLERANCE:
        return channel
    return lazy(channel, (1 - coverage) / (1 - own))


def cut_at_the_ends(channel: Ranges, share: float = HALF) -> Ranges:
    """A ring that cuts between its two ends in this share of its questions; every range still meets the floor.

    On the continuum a ring almost never cuts there, so that the smallest numbers are told from the largest by few reports,
    and the variance of the mean grows with the number of cells. With the chance of such a cut fixed it does not.

    Derived here from section 1.3 of our specification (ring design). Raises ParameterError for a channel that is no ring,
    or a ring all or none of whose cut sets cut there.

    >>> from reticent.mechanisms import ring
    >>> channel = cut_at_the_ends(ring(Numbers("age", 0, 100, edges=[20, 40, 60, 80]), 0.2))
    >>> channel.cuts.total, sum(w for cuts, w in zip(channel.cuts.sets, channel.cuts.weights) if 0 in cuts)
    (24, 12)
    """
    cuts = channel.cuts
    ends = np.array([chosen[0] == 0 for chosen in cuts.sets]) if isinstance(cuts, ListedCuts) and cuts.ring else None
    if not isinstance(cuts, ListedCuts) or ends is None or ends.all() or not ends.any():
        raise ParameterError(
            f"cut_at_the_ends is for rings of which some cut sets cut at the ends; got {channel.name}."
        )
    wanted, there = exact_share(share, "share"), sum(w for w, end in zip(cuts.weights, ends, strict=True) if end)
    factors = (1 - wanted) * there, wanted * (cuts.total - there)
    exact = [weight * factors[int(end)] for weight, end in zip(cuts.weights, ends, strict=True)]
    integers = _as_integers(exact)
    kept = [(chosen, weight) for chosen, weight in zip(cuts.sets, integers, strict=True) if weight]
    again = replace(cuts, sets=tuple(chosen for chosen, _ in kept), weights=tuple(weight for _, weight in kept))
    return replace(
        channel,
        cuts=again,
        title=f"{channel.title}, {AT_THE_ENDS if share == HALF else f'{share:.4g} cut at the ends'}",
    )


def _as_integers(weights: list[Fraction]) -> tuple[int, ...]:
    """Weights in the smallest integers, or over 2^53 where these would be larger.

    >>> _as_integers([Fraction(1, 2), Fraction(1, 3)])
    (3, 2)
    """
    total = sum(weights)
    shares = [weight / total for weight in weights]
    common = lcm(*(share.denominator for share in shares))
    return tuple(int(share * common) for share in shares) if common <= 2**53 else integer_weights([*map(float, shares)])


class _TooFine(Exception):
    """More ranges than can be listed."""


def _makers(
    domain: Numbers, law: EvenLaw, masses: tuple[int, ...], coverage: float, narrowest: Fraction | None
) -> Iterator[tuple[str, Maker]]:
    yield from _on_a_line(domain, law, coverage)
    for m in (2, 3, 4):
        floor = Fraction(1, 2 * m) if narrowest is None else narrowest
        if m * floor < 1:
            name = f"ring of {m} ranges, narrowest {float(floor):.4g}"
            around = _ring_maker(domain, floor, m, masses)
            if narrowest is not None:
                yield name, around
            yield f"{name}, {AT_THE_ENDS}", _ends_maker(around)
    if narrowest is not None and narrowest > 0:
        name = f"ring of 2 ranges, shown from {float(narrowest):.4g}"
        around = _plain_maker(_ring_maker(domain, Fraction(0), 2, masses))
        yield name, _selective_maker(around, narrowest, masses)
        ends = _selective_maker(_ends_maker(around), narrowest, masses)
        yield f"{name}, {AT_THE_ENDS}", ends


def _on_a_line(domain: Numbers, law: EvenLaw, coverage: float) -> Iterator[tuple[str, Maker]]:
    low, high = (float(end) for end in (domain.low, domain.high))
    even = UniformAnchors(low, high)
    yield "one threshold, every edge alike", lambda: _titled(case_one(domain), "every edge alike")
    if len(gaps := np.diff(domain.boundaries[1:-1])) and np.ptp(gaps) > TOLERANCE * gaps.max():
        yield "one threshold, uniform anchors", lambda: _threshold(domain, even, "uniform anchors")
    yield "one threshold, best anchors", lambda: _threshold(domain, variance_optimal(law), "best anchors")
    if 0.5 < coverage < 1:
        told = f"best anchors for coverage {coverage:.4g}"
        yield f"one threshold, {told}", lambda: _threshold(domain, coverage_optimal(law, coverage), told)
        beta = "quantile-beta anchors"
        yield f"one threshold, {beta}", lambda: _threshold(domain, quantile_beta(law, coverage), beta)
    for n_ranges in (3, 4):
        if n_ranges <= len(domain):
            yield f"{n_ranges} random ranges", _line_maker(domain, n_ranges)


def _threshold(domain: Numbers, anchors: Anchors, told: str) -> Ranges:
    """One threshold from these anchors; where they would leave out edges, a few uniform ones among them."""
    if 0 in edge_weights(anchors, domain):
        low, high = (float(end) for end in (domain.low, domain.high))
        anchors, told = MixedAnchors(anchors, UniformAnchors(low, high), BEST), f"{told} {EXTRA}"
    return _titled(case_one(domain, anchors), told)


def _titled(channel: Ranges, told: str) -> Ranges:
    return replace(channel, title=f"{channel.title}, {told}")


def _line_maker(domain: Numbers, n_ranges: int) -> Maker:
    def make() -> Ranges:
        if len(domain) ** 3 > 2 * LISTED:  # about half the square of the cells are ranges
            raise _TooFine
        return case_two(domain) if n_ranges == 3 else random_ranges(domain, n_ranges)

    return make


def _ring_maker(domain: Numbers, floor: Fraction, n_ranges: int, masses: tuple[int, ...]) -> Maker:
    @cache
    def make() -> Ranges:
        if comb(len(domain), n_ranges) > MOST_RING_SETS or len(domain) > MOST_CELLS_OF_A_RING:
            raise _TooFine
        return ring(domain, exact_share(floor, "narrowest"), n_ranges, pilot=law_shares(masses))

    return make


def _plain_maker(around: Maker) -> Maker:
    return lambda: replace(around(), title="ring of 2 ranges")


def _ends_maker(around: Maker) -> Maker:
    return lambda: cut_at_the_ends(around())


def _selective_maker(around: Maker, floor: Fraction, masses: tuple[int, ...]) -> Maker:
    return lambda: selective(around(), floor, pilot=law_shares(masses))


def law_shares(masses: tuple[int, ...]) -> list[Fraction]:
    """Integer masses as exact probabilities, as pilots take them.

    >>> law_shares((1, 3))
    [Fraction(1, 4), Fraction(3, 4)]
    """
    total = sum(masses)
    return [Fraction(mass, total) for mass in masses]
