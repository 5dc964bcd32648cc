"""Privacy coverage of ranges: the share of the population that could have given the same report.

Coverage is not differential privacy: a range rules the other answers out. It depends on the law of the population, and
against someone who knows more about a person the relevant share can be far smaller.

Letters of Ding and Ding (Interval Privacy, arXiv 2106.09565): L = coverage of a report, τ(M) = its mean, 1 − τ(M) =
leakage (`size_leakage`), F = the law of the number, g = density of the anchors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.anchors import Anchors, Slope
from reticent.channel.ranges import NULL, Ranges
from reticent.channel.transformed import Transformed
from reticent.errors import ParameterError
from reticent.keys import Keys
from reticent.measures.prior import as_prior
from reticent.quadrature import Floats, Law, QuantileRule, integral, panels, upper_tail, variance_of_indicator

Interval = tuple[float, float]


# --- of a channel, exactly -----------------------------------------------------------------------------------------------


def mean_coverage(channel: Ranges | Transformed, prior: Any) -> float:
    """τ(M) = E[L(S)]: the share of the population that could have given the same report, on average. A probability.

    "No range" leaves every cell that can lead to it: with a coin, everybody outside acceptable cells. Without acceptable
    cells that is 1 − rho · E[(1 − L) · P(floor ≤ L)]. An answer that is reported as its cell leaves that cell: it counts the
    cell's own share of people, where a single number would count 0. Equal to 1 − `size_leakage`, without listing rows.

    Source: Ding and Ding, Interval Privacy; sections 1, 1.1, 1.4 and 2.1 of our specification.
    Raises ParameterError for a prior that is not a distribution over the cells.

    >>> from reticent.channel.cuts import IndependentCuts
    >>> from reticent.domain import Numbers
    >>> digit = Numbers("digit", 0, 9, step=1)
    >>> round(mean_coverage(Ranges(digit, IndependentCuts((1,) * 9, 1)), [0.1] * 10), 12)
    0.633333333333
    """
    weights = as_prior(channel.domain, prior).probabilities
    return float(weights @ coverage_by_cell(channel, weights))


def coverage_by_report(channel: Ranges | Transformed, prior: Any, keys: Keys | None = None) -> NDArray[np.float64]:
    """L(S) of each report, shape `(n_reports,)`: the share of the population in its set. Without keys, of all reports.

    Raises ParameterError for a prior that is not a distribution over the cells, ReportError for impossible reports.
    """
    weights = as_prior(channel.domain, prior).probabilities
    if isinstance(channel, Transformed):
        return coverage_by_report(_of_ranges(channel), channel.pushed(weights), keys)
    if keys is None:
        keys = channel.keys()
    channel.check_keys(keys)
    shares = np.full(len(keys), weights[_may_be_silent(channel)].sum())
    shares[keys != NULL] = channel.sets(keys[keys != NULL]).mv(weights)
    return shares


def coverage_by_cell(channel: Ranges | Transformed, prior: Any) -> NDArray[np.float64]:
    """E[L(S) | answer in the cell], shape `(n_categories,)`.

    Raises ParameterError for a prior that is not a distribution over the cells.
    """
    weights = as_prior(channel.domain, prior).probabilities
    if isinstance(channel, Transformed):
        return channel.pulled(coverage_by_cell(_of_ranges(channel), channel.pushed(weights)))
    keys = channel.keys()
    keys = keys[keys != NULL]
    silent = np.array([float(chance) for chance in channel.no_range])
    told = np.zeros(len(weights))
    if len(keys):
        sets = channel.sets(keys)
        told = sets.rmv(channel.chances(keys) * sets.mv(weights))
    return np.asarray(told + silent * weights[_may_be_silent(channel)].sum())


def _of_ranges(channel: Transformed) -> Ranges | Transformed:
    """The channel on g(Y). Raises ParameterError where it is not of ranges."""
    if not isinstance(channel.inner, (Ranges, Transformed)):
        raise ParameterError(f"Coverage is of ranges; {channel.inner.name} is not of ranges. Use size_leakage.")
    return channel.inner


def _may_be_silent(channel: Ranges) -> NDArray[np.bool_]:
    return np.array([chance > 0 for chance in channel.no_range])


# --- in the continuum ------------------------------------------------------------------------------------------------------


def case_one_coverage(law: Law, anchors: Anchors) -> float:
    """Coverage of one anchor per person: τ = 1 − 2 ∫ F(u)(1 − F(u)) g(u) du = 1 − 2 ∫₀¹ (2q − 1) G(F⁻¹(q)) dq.

    In the second form only bounded functions are integrated. An anchor that is not drawn leaves everybody.

    Source: Ding and Ding, Interval Privacy; section 2.1 of our specification.

    >>> from scipy import stats
    >>> from reticent.anchors import LogisticAnchors
    >>> round(case_one_coverage(stats.norm(), LogisticAnchors(0, 1)), 10)
    0.7604718198
    """
    rule = QuantileRule(law, anchors.support)
    return 1 - 2 * rule.mean((2 * rule.q - 1) * anchors.cdf(rule.values))


def canonical_coverage(law: Law, anchors: Anchors, n_ranges: int) -> float:
    """Coverage of ranges between n_ranges − 1 independent anchors of one law.

    Two people share a range when no anchor falls between them: τ = E (1 − |G(Y) − G(Y')|)^(n_ranges − 1), which expands
    into products of integrals of one variable.

    Source: section 2.1 of our specification of interval privacy. Raises ParameterError below two ranges or for a law that
    leaves some anchors undrawn.

    >>> from scipy import stats
    >>> from reticent.anchors import NormalAnchors
    >>> round(canonical_coverage(stats.norm(), NormalAnchors(0, 1), 3), 10)
    0.5
    """
    if n_ranges < 2:
        raise ParameterError(f"{n_ranges} ranges; give at least 2.", n_ranges=n_ranges)
    if abs(anchors.mass - 1) > 1e-9:
        raise ParameterError("The law leaves some anchors undrawn; use case_one_coverage, or a law of mass 1.")
    n = n_ranges - 1
    rule = QuantileRule(law, anchors.support)
    below = np.clip(anchors.cdf(rule.values), 0, 1)
    total = sum(math.comb(n, k) * rule.mean((1 - below) ** (n - k) * rule.running(below**k)) for k in range(n + 1))
    return 2 * float(total)


def ring_coverage(n_ranges: int, narrowest: float, concentration: float = 1.0) -> float:
    """Coverage of the ring under its own planning law: m τ² + 2 τ (1 − m τ) + (1 − m τ)² (α + 1) / (m α + 1).

    m = n_ranges, τ = narrowest, α = concentration: arcs of length τ + (1 − m τ) · Dirichlet(α, …, α).

    Source: section 1.3 of our specification of interval privacy. Raises ParameterError outside m ≥ 2, 0 ≤ τ ≤ 1/m, α > 0.

    >>> round(ring_coverage(3, 0.2), 12)
    0.36
    """
    spare = 1 - n_ranges * narrowest
    if n_ranges < 2 or narrowest < 0 or spare < 0 or not concentration > 0:
        raise ParameterError(
            f"A ring of {n_ranges} ranges, narrowest {narrowest!r}, concentration {concentration!r}: at least 2 ranges, "
            "narrowest from 0 to 1 over their number, concentration above 0.",
            n_ranges=n_ranges,
            narrowest=narrowest,
        )
    uneven = spare**2 * (concentration + 1) / (n_ranges * concentration + 1)
    return n_ranges * narrowest**2 + 2 * narrowest * spare + uneven


def ring_arcs(law: Law, start: float, lengths: Sequence[float]) -> list[tuple[Interval, ...]]:
    """The arcs of a ring as sets of numbers: arc i covers the quantiles from start + lengths before it, modulo 1.

    An arc that wraps is (−∞, F⁻¹(end)] and (F⁻¹(begin), ∞). Source: section 1.3 of our specification of interval privacy.
    Raises ParameterError unless 0 ≤ start < 1 and the lengths are positive and sum to 1.

    >>> from scipy import stats
    >>> [[(round(low, 6), round(high, 6)) for low, high in arc] for arc in ring_arcs(stats.norm(), 0.9, [0.4, 0.6])]
    [[(-inf, -0.524401), (1.281552, inf)], [(-0.524401, 1.281552)]]
    """
    if not 0 <= start < 1 or min(lengths, default=0) <= 0 or abs(sum(lengths) - 1) > 1e-12:
        raise ParameterError("A ring starts in [0, 1) and has positive lengths that sum to 1.", start=start)
    cuts = [start + done for done in accumulate(lengths, initial=0.0)]
    cuts[-1] = 1 + start
    return [_arc(law, begin % 1, end % 1) for begin, end in zip(cuts, cuts[1:], strict=False)]


def _arc(law: Law, begin: float, end: float) -> tuple[Interval, ...]:
    low, high = float(law.ppf(begin)), float(law.ppf(end))
    if end == 0:
        return ((low, float(law.ppf(1.0))),)
    if begin < end:
        return ((low, high),)
    return (float(law.ppf(0.0)), high), (low, float(law.ppf(1.0)))


# --- what coverage costs -----------------------------------------------------------------------------------------------------


def spread(law: Law) -> float:
    """D = ∫ F(1 − F) du, half the expected distance of two people; leakage of uniform anchors is D over half their width.

    Source: section 2.1 of our specification of interval privacy.
    """
    return integral(lambda u: variance_of_indicator(law, u), panels(law))


def efficient_variance(law: Law, anchors: Anchors, slope: Slope | None = None) -> float:
    """V = ∫ h'(u)² F(u)(1 − F(u)) / g(u) du: the least variance of √n times an estimate of E h(Y), one anchor each.

    Without a slope h', of the mean of Y. Over the support [a, b] of the anchors, so of h(Y clipped to [a, b]). Infinite
    where the anchors thin out faster than the law allows.

    Source: section 2.3 of our specification of interval privacy.

    >>> from scipy import stats
    >>> from reticent.anchors import LogisticAnchors
    >>> round(efficient_variance(stats.norm(), LogisticAnchors(0, 1)), 9)
    2.844697607
    """
    return _over_density(lambda u: variance_of_indicator(law, u), law, anchors, slope)


def weighting_variance(law: Law, anchors: Anchors, centre: float, slope: Slope | None = None) -> float:
    """Variance of √n times the inverse-density estimate h(c) + mean of h'(U)(1{U > c} − δ) / g(U).

    ∫ h'² (1{u > c}(1 − F) + 1{u ≤ c} F) / g du − (E h(Y) − h(c))², Y clipped to the support of the anchors.

    Source: section 4.1 of our specification of interval privacy. Raises ParameterError for a centre outside the support.
    """
    low, high = anchors.support
    if not low <= centre <= high:
        raise ParameterError(
            f"The centre {centre!r} is outside the anchors' support {low!r} to {high!r}.", centre=centre
        )

    def beyond(u: Floats) -> Floats:
        return np.where(u > centre, upper_tail(law, u), np.asarray(law.cdf(u)))

    def signed(u: Floats) -> Floats:
        return np.asarray(np.where(u > centre, beyond(u), -beyond(u)) * (1 if slope is None else slope(u)))

    points = np.unique(np.append(panels(law, low, high), centre))
    return _over_density(beyond, law, anchors, slope, centre) - integral(signed, points) ** 2


def _over_density(
    part: Callable[[Floats], Floats], law: Law, anchors: Anchors, slope: Slope | None, *breaks: float
) -> float:
    def integrand(u: Floats) -> Floats:
        top = part(u) * (1 if slope is None else slope(u) ** 2)
        with np.errstate(divide="ignore", over="ignore"):
            return np.divide(top, anchors.pdf(u), out=np.zeros_like(u), where=top > 0)

    inner, whole = (
        integral(integrand, np.unique(np.append(panels(law, *anchors.support, within), breaks)))
        for within in (345.0, 690.0)
    )
    # What the outer half of the tails adds does not shrink where the integral diverges.
    return whole if math.isfinite(whole) and whole - inner <= 1e-6 * whole else math.inf
