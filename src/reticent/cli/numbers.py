"""Questions about numbers on the command line: `design --low --high --edges …`, and their distribution."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray
from scipy import stats

from reticent.anchors import Anchors, UniformAnchors, coverage_optimal, variance_optimal
from reticent.channel import Ranges
from reticent.cli.assumed import FORMAT, read_shares
from reticent.cli.questions import said_once
from reticent.cli.terminal import note
from reticent.coverage import coverage_by_report, mean_coverage
from reticent.distributions import TalliedDistribution
from reticent.domain import Numbers
from reticent.estimators import distribution
from reticent.mechanisms import lazy, random_ranges, ring, selective
from reticent.tallies import PatternTally, Tally, WeightedTally

_OPTIONS = {
    "low": ("--low", str, "The lowest possible number: the question asks for a number instead of categories."),
    "high": ("--high", str, "The highest possible number."),
    "edges": ("--edges", str, "Where ranges may be cut: 10,20,30, or START:STOP:STEP. Default: every step."),
    "step": ("--step", str, "Possible numbers lie so far apart: 1 for whole years."),
    "unit": ("--measured-in", str, "The unit of the number, for tables and pictures."),
    "ranges": ("--ranges", int, "Into how many random ranges to divide the numbers. Default: 2, one random threshold."),
    "narrowest": ("--narrowest", str, "Share of all people that every range must hold: a ring that joins both tails."),
    "anchors": (
        "--anchors",
        click.Choice(["edges", "uniform", "optimal"]),
        "Where thresholds fall: on every edge alike, evenly over the numbers, or best for the mean. Default: edges.",
    ),
    "mean_coverage": (
        "--mean-coverage",
        click.FloatRange(0, 1, min_open=True, max_open=True),
        "Ask nothing at times, so that on average a report leaves at least this share of people.",
    ),
    "pilot": (
        "--pilot",
        str,
        f"What people are expected to answer, shares of the cells: {FORMAT} Default: equal ones.",
    ),
    "exact_between": (
        "--exact-between",
        str,
        "An acceptable range, both ends edges: a number above LOW up to HIGH is reported as its cell.",
    ),
    "silent_below": ("--silent-below", str, "Report a range only if it holds this share of people, else nothing."),
}
_METAVARS = {
    "low": "NUMBER", "high": "NUMBER", "step": "NUMBER", "edges": "LIST", "unit": "TEXT", "ranges": "N", "pilot": "FILE",
    "exact_between": "LOW:HIGH",
}  # fmt: skip
Given = dict[str, Any]


def number_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options of a question about a number."""
    for name, (flag, kind, words) in reversed(_OPTIONS.items()):
        metavar = None if name == "anchors" else _METAVARS.get(name, "SHARE")
        command = click.option(flag, name, type=kind, metavar=metavar, help=words)(command)
    return command


def taken_from(given: Given) -> Given:
    """Takes the options of a number out of all that were given; those not given are left out."""
    own = {name: given.pop(name) for name in _OPTIONS}
    return {name: value for name, value in own.items() if value is not None}


def ranges_channel(column: str, given: Mapping[str, Any], others: Mapping[str, Any]) -> Ranges:
    """The channel of a question about a number.

    Random ranges, or a ring where `narrowest` is given; silent and asking nothing at times where that is asked for.
    Raises UsageError for options that are missing, contradict each other or belong to questions with categories.
    """
    _check_options(given, others)
    edges = None if "edges" not in given else _edges(given["edges"])
    domain = Numbers(
        column, given["low"], given["high"], unit=given.get("unit", ""), step=given.get("step"), edges=edges
    )
    shares = read_shares(domain, given.get("pilot"))
    pilot = None if given.get("pilot") in (None, "uniform") else shares
    if pilot is None and {"narrowest", "silent_below", "mean_coverage"} & {*given}:
        note(
            "Shares of people are counted as if all cells between the edges were equally common. Where fewer people are, a range "
            "holds less: put the edges where you expect equal numbers of people, or give --pilot. `estimate` says what the "
            "ranges held."
        )
    acceptable = _ends(given["exact_between"]) if "exact_between" in given else None
    with said_once():
        if "narrowest" in given:
            channel = ring(domain, given["narrowest"], given.get("ranges", 2), pilot=pilot, acceptable=acceptable)
        else:
            anchors = _anchors(domain, given, shares)
            channel = random_ranges(domain, given.get("ranges", 2), anchors, acceptable=acceptable)
        if "silent_below" in given:
            channel = selective(channel, given["silent_below"], pilot=pilot)
    channel = _asked_less(channel, given.get("mean_coverage", 0.0), shares)
    if channel.acceptable is not None:
        note(
            f"Not protected: numbers in {domain.label(*channel.acceptable)}, which are reported as they are, by their cell."
        )
    return channel


def _check_options(given: Mapping[str, Any], others: Mapping[str, Any]) -> None:
    for name in ("low", "high"):
        if name not in given:
            raise click.UsageError(
                f"A question about a number needs --{name}; give inf for no limit, and then --edges."
            )
    foreign = [f"--{name.replace('_', '-')}" for name, value in others.items() if value]
    if foreign:
        raise click.UsageError(f"{', '.join(foreign)} belong to questions with categories; leave out --low, or these.")
    if "narrowest" in given and "anchors" in given:
        raise click.UsageError("A ring draws its own cuts; leave out --anchors, or --narrowest.")


def _anchors(domain: Numbers, given: Mapping[str, Any], shares: NDArray[np.float64]) -> Anchors | None:
    """The law of the thresholds on a domain with finite ends; None for every edge alike."""
    kind = given.get("anchors", "edges")
    if kind == "edges":
        return None
    low, high = float(domain.low), float(domain.high)
    if not (math.isfinite(low) and math.isfinite(high)):
        raise click.UsageError(
            f"--anchors {kind} needs a number with finite ends; leave it out, or give --low and --high."
        )
    if kind == "uniform":
        return UniformAnchors(low, high)
    law = stats.rv_histogram((shares, domain.boundaries), density=False)
    wanted = given.get("mean_coverage", 0.0)
    if given.get("ranges", 2) == 2 and wanted > 0.5:
        return coverage_optimal(law, wanted)
    return variance_optimal(law)


def _asked_less(channel: Ranges, wanted: float, shares: NDArray[np.float64]) -> Ranges:
    """The channel, asking nothing as often as it takes to leave so many people on average."""
    reached = mean_coverage(channel, shares)
    return channel if reached >= wanted else lazy(channel, (1 - wanted) / (1 - reached))


def people_left(channel: Ranges, pilot: str | None) -> str:
    """How many people a report leaves possible, in a line."""
    shares = read_shares(channel.domain, pilot)
    mean, least = mean_coverage(channel, shares), float(coverage_by_report(channel, shares).min())
    counted = f"people are as in {pilot}" if pilot not in (None, "uniform") else "all cells are equally common"
    return (
        f"  A report leaves {100 * mean:.0f} of 100 people on average, the narrowest {100 * least:.0f}, if {counted}."
    )


def _ends(text: str) -> tuple[str, str]:
    low, colon, high = (part.strip() for part in text.partition(":"))
    if not (low and colon and high):
        raise click.UsageError(f"--exact-between is {text!r}; write LOW:HIGH, two edges or ends, as in 30:40.")
    return low, high


def _edges(text: str) -> list[Decimal]:
    try:
        if ":" not in text:
            return [Decimal(part.strip()) for part in text.split(",")]
        start, stop, step = (Decimal(part.strip()) for part in text.split(":"))
    except (InvalidOperation, ValueError):
        raise click.UsageError(
            f"--edges is {text!r}; write 10,20,30 or START:STOP:STEP, as in 500:10000:500."
        ) from None
    if not (start.is_finite() and stop.is_finite() and step > 0 and (stop - start) / step < 2**17):
        raise click.UsageError(f"--edges is {text!r}; STEP must be above 0 and leave at most 131,072 edges.")
    return [start + k * step for k in range(int((stop - start) / step) + 1)]


def law_of(
    parts: list[Tally], method: str | None, interval: str | None, groups: tuple[str, ...] = ()
) -> TalliedDistribution | None:
    """The distribution of a number; None for categories, or where shares of cells were asked for by method or interval.

    `groups` names the tallies, where they are strata.
    """
    domain = parts[0].channel.domain
    patterns = all(isinstance(one, (PatternTally, WeightedTally)) for one in parts)
    if not isinstance(domain, Numbers) or method is not None or interval is not None or not patterns:
        return None
    return replace(distribution(*parts), groups=groups)
