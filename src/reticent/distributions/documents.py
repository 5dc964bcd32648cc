"""What is told of the law of a number: rows with intervals for JSON, lines for the terminal, pieces for pictures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from reticent.distributions.law import QUARTILES, finite
from reticent.distributions.report_coverage import ReportCoverage
from reticent.distributions.report_sets import report_sets
from reticent.intervals import ConfidenceInterval
from reticent.tallies import PatternTally, WeightedTally
from reticent.thresholds import StepCDF, smoothed

if TYPE_CHECKING:
    from reticent.distributions.tallied import TalliedDistribution

QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)
QUARTER_WORDS = ("a quarter", "half", "three quarters")
PLACES = 201
"""Points of a smoothed density."""
FEW = 30
"""Reports below which nothing is said of where the middle lies, nor of what a report gave away under the estimate."""
Pieces = tuple[tuple[float, float], ...]


def told(law: TalliedDistribution, confidence_level: float) -> dict[str, Any]:
    """The distribution function at a few edges, quantiles and the mean, with intervals where there are any, as JSON."""
    rows = quantile_rows(law, confidence_level)
    points, each = law.few_edges(), _none(len(law.few_edges()), confidence_level)
    if law.has_intervals:
        each = law.confidence_interval(confidence_level, at=points)
    at_edges = zip(points.tolist(), law.cdf(points).tolist(), each.low.tolist(), each.high.tolist(), strict=True)
    return {
        "interval": each.method,
        "cdf": [
            {"up_to": t, "share": share, "low": finite(low), "high": finite(high)} for t, share, low, high in at_edges
        ],
        "quartiles": [row for row in rows if row["share"] in QUARTILES],
        "quantiles": rows,
        "mean": mean_row(law, confidence_level),
    }


def quantile_rows(law: TalliedDistribution, confidence_level: float) -> list[dict[str, Any]]:
    """The quantiles, each by the largest number of the cell it lies in, with its interval; ends without limit are None."""
    around = _none(len(QUANTILES), confidence_level)
    if law.has_intervals:
        around = law.quantile_interval(QUANTILES, confidence_level)
    reached = law.quantile(QUANTILES).tolist()
    return [
        {"share": share, "up_to": finite(t), "low": finite(low), "high": finite(high)}
        for share, t, low, high in zip(QUANTILES, reached, around.low.tolist(), around.high.tolist(), strict=True)
    ]


def mean_row(law: TalliedDistribution, confidence_level: float) -> dict[str, Any] | None:
    """The mean, its interval, and what the places of answers in their cells leave open; None where there is no mean."""
    if law.degenerate or not all(map(math.isfinite, law.domain)):
        return None
    mean = law.moment_estimate()
    row: dict[str, Any] = {**mean.to_json(), "low": None, "high": None, "placement_low": None, "placement_high": None}
    if law.has_intervals:
        inner, outer = mean.confidence_interval(confidence_level), mean.placement_interval(confidence_level)
        row |= {"low": float(inner.low[0]), "high": float(inner.high[0])}
        row |= {"placement_low": float(outer.low[0]), "placement_high": float(outer.high[0])}
    return row


def _none(n: int, confidence_level: float) -> ConfidenceInterval:
    return ConfidenceInterval(np.full(n, np.nan), np.full(n, np.nan), confidence_level, "none")


def band_rows(law: TalliedDistribution, confidence_level: float) -> list[dict[str, float]] | None:
    """The band at its points, within which the whole distribution function lies; None where there are no intervals."""
    if not law.has_intervals:
        return None
    band = law.band(confidence_level)
    points = zip(band.at.tolist(), band.low.tolist(), band.high.tolist(), strict=True)
    return [{"up_to": t, "low": low, "high": high} for t, low, high in points]


def density(law: TalliedDistribution) -> tuple[list[float], list[float]] | None:
    """Places and heights of a smoothed density, where the domain is finite and more than one cell has mass."""
    low, high = law.domain
    if not (math.isfinite(low) and math.isfinite(high)) or len(law.mass) < 2:
        return None
    _, right = law.cells
    curve = smoothed(StepCDF(right[:-1], np.cumsum(law.shares.probabilities)[:-1], law.n), law.domain)
    places = np.linspace(low, high, PLACES)
    return places.tolist(), curve.pdf(places).tolist()


def common_ranges(law: TalliedDistribution) -> list[tuple[Pieces, float]]:
    """The ranges that were reported, as pieces of the number line, with their shares of the reports; common ones first.

    "No range" is none of them, nor is any report that is likelier for some of its cells than for others.
    """
    left, right = law.cells
    sent: dict[Pieces, int] = {}
    for tally in law.tallies:
        if math.isinf(tally.channel.epsilon) and isinstance(tally, (PatternTally, WeightedTally)):
            for runs, count in zip(report_sets(tally.channel, tally.keys), tally.counts.tolist(), strict=True):
                pieces = tuple((float(left[a]), float(right[b - 1])) for a, b in runs or ())
                sent[pieces] = sent.get(pieces, 0) + count
    sent.pop((), None)
    return [(pieces, count / law.shares.n) for pieces, count in sorted(sent.items(), key=lambda one: -one[1])]


def finding(law: TalliedDistribution, confidence_level: float) -> str:
    """What the law says, in a heading that goes no further than the reports do."""
    unit = _unit(law)
    if not law.converged:
        return "This distribution is not ready: the calculation stopped early"
    if law.degenerate:
        return "All reports name the same side: nothing else is known"
    if law.shares.n < FEW:
        few = "1 report is" if law.shares.n == 1 else f"{law.shares.n} reports are"
        return f"{few} too few to say where the middle lies"
    middle = law.quantile(0.5)
    reached = "" if math.isinf(middle) else f"Half are up to {middle:,.6g}{unit}"
    if not law.has_intervals:
        return reached or f"Half are above {law.cells[0][-1]:,.6g}{unit}"
    around = law.quantile_interval(0.5, confidence_level)
    low, high = float(around.low[0]), float(around.high[0])
    if (low, high) == (law.cells[0][0], law.cells[1][-1]):
        return "Too few answers to say where the middle lies"
    if not reached or math.isinf(low):
        return f"Half are above {low:,.6g}{unit}" if not reached else f"Half are up to {high:,.6g}{unit}"
    return reached if low == high == middle else f"{reached} ({span(low, high)})"


def span(low: float, high: float) -> str:
    """An interval of numbers; one number where both ends are it.

    >>> span(39, 41.5), span(40, 40), span(-3, 2), span(1200, float("inf"))
    ('39–41.5', '40', '−3 to 2', 'above 1,200')
    """
    first, last = (f"{end:,.6g}".replace("-", "−") for end in (low, high))
    if math.isinf(high):
        return f"above {first}"
    if math.isinf(low):
        return f"up to {last}"
    return first if first == last else f"{first} to {last}" if low < 0 else f"{first}–{last}"


def lines(law: TalliedDistribution, confidence_level: float) -> list[str]:
    """Text for the terminal: shares up to some edges, quartiles and mean with intervals, coverage, what to mind."""
    rows, unit = told(law, confidence_level), _unit(law)
    head = f"{law.question.name}: distribution from {law.shares.n:,} reports"
    head += f", {confidence_level:.0%} intervals ({rows['interval']})" if law.has_intervals else ", no intervals"
    width = max((len(f"{row['up_to']:,.6g}") for row in rows["cdf"]), default=0)
    body = [f"  up to {row['up_to']:>{width},.6g}{unit}  {row['share']:.3f}{around(row, '.3f')}" for row in rows["cdf"]]
    for words, row in zip(QUARTER_WORDS, rows["quartiles"], strict=True):
        reached = "the end" if row["up_to"] is None else f"{row['up_to']:,.6g}{unit}"
        body.append(f"  {words} are up to {reached}{around(row, ',.6g') if law.has_intervals else ''}")
    return [head, *body, *_mean_lines(law, rows["mean"]), *_warnings(law), *_coverage_lines(law)]


def _mean_lines(law: TalliedDistribution, mean: dict[str, Any] | None) -> list[str]:
    if mean is None:
        bounded = np.isfinite([float(law.question.low), float(law.question.high)]).all()
        return [] if bounded else ["  no mean: the question has an end without limit, and nobody knows how far out"]
    low, high = mean["placement_low"], mean["placement_high"]
    if low is None:
        low, high = mean["least"], mean["greatest"]
    return [
        f"  mean {mean['value']:,.6g}{_unit(law)}{around(mean, ',.6g')}, if answers lie at the middles of their cells",
        f"  mean between {low:,.6g} and {high:,.6g}{_unit(law)}, wherever in their cells they lie",
    ]


def _warnings(law: TalliedDistribution) -> list[str]:
    found = []
    if law.degenerate:
        found.append("  All reports name the same side: nothing else is known.")
    elif not law.has_intervals:
        found.append(f"  {law.no_wald()}")
    if law.missing:
        found.append(f"  {law.missing:,} answers were missing and are not in the distribution.")
    if law.unique is False:
        found.append("  Other distributions explain these reports equally well (unique = False).")
    if not law.converged:
        found.append(f"  The solver stopped early (gap {law.gap:.1e}): do not rely on this distribution.")
    return found


def _coverage_lines(law: TalliedDistribution) -> list[str]:
    return [] if law.degenerate else [f"  {one}" for one in coverage_told(law)]


def coverage_told(law: TalliedDistribution) -> list[ReportCoverage]:
    """What reports gave away, once for each group that has a name and for each channel of those that have none."""
    found: dict[tuple[str, str], ReportCoverage] = {}
    for one in law.coverage:
        before = found.get((one.group, one.channel))
        if before is None or (one.least or 0) < (before.least or 0):
            found[one.group, one.channel] = one
    return list(found.values())


def around(row: dict[str, Any], form: str) -> str:
    """An interval in brackets; nothing where there is none, "…" for an end that is not known."""
    if row["low"] is None and row["high"] is None:
        return ""
    low, high = ("…" if end is None else f"{end:{form}}" for end in (row["low"], row["high"]))
    return f" ({low}–{high})"


def share_rows(law: TalliedDistribution) -> list[dict[str, Any]]:
    """The share of every cell, as `reticent leakage --prior` and `--pilot` read it back."""
    pairs: Sequence[tuple[str, float]] = list(
        zip(law.question.categories, law.shares.probabilities.tolist(), strict=True)
    )
    return [{"category": label, "share": share} for label, share in pairs]


def _unit(law: TalliedDistribution) -> str:
    return f" {law.question.unit}" if law.question.unit else ""
