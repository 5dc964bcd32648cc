"""Questions about numbers on the command line: `design --low --high --edges …`, and their distribution."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

import click

from reticent.channel import Channel
from reticent.cli.terminal import note
from reticent.distributions import TalliedDistribution
from reticent.domain import Numbers
from reticent.estimators import distribution
from reticent.mechanisms import random_ranges, ring, selective
from reticent.tallies import PatternTally, Tally, WeightedTally

_OPTIONS = {
    "low": ("--low", str, "The lowest possible number: the question asks for a number instead of categories."),
    "high": ("--high", str, "The highest possible number."),
    "edges": ("--edges", str, "Where ranges may be cut: 10,20,30, or START:STOP:STEP. Default: every step."),
    "step": ("--step", str, "Possible numbers lie so far apart: 1 for whole years."),
    "unit": ("--measured-in", str, "The unit of the number, for tables and pictures."),
    "ranges": ("--ranges", int, "Into how many random ranges to divide the numbers. Default: 2, one random threshold."),
    "narrowest": ("--narrowest", str, "Share of all people that every range must hold: a ring that joins both tails."),
    "silent_below": ("--silent-below", str, "Report a range only if it holds this share of people, else nothing."),
}
Given = dict[str, Any]


def number_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options of a question about a number."""
    for name, (flag, kind, words) in reversed(_OPTIONS.items()):
        metavar = "N" if kind is int else "NUMBER" if name in ("low", "high", "step") else "SHARE"
        metavar = {"edges": "LIST", "unit": "TEXT"}.get(name, metavar)
        command = click.option(flag, name, type=kind, metavar=metavar, help=words)(command)
    return command


def taken_from(given: Given) -> Given:
    """Takes the options of a number out of all that were given; those not given are left out."""
    own = {name: given.pop(name) for name in _OPTIONS}
    return {name: value for name, value in own.items() if value is not None}


def ranges_channel(column: str, given: Mapping[str, Any], others: Mapping[str, Any]) -> Channel:
    """The channel of a question about a number: random ranges, a ring where `narrowest` is given, silent if asked.

    Raises UsageError for options that are missing or belong to questions with categories.
    """
    for name in ("low", "high"):
        if name not in given:
            raise click.UsageError(
                f"A question about a number needs --{name}; give inf for no limit, and then --edges."
            )
    foreign = [f"--{name.replace('_', '-')}" for name, value in others.items() if value]
    if foreign:
        raise click.UsageError(f"{', '.join(foreign)} belong to questions with categories; leave out --low, or these.")
    edges = None if "edges" not in given else _edges(given["edges"])
    domain = Numbers(
        column, given["low"], given["high"], unit=given.get("unit", ""), step=given.get("step"), edges=edges
    )
    n_ranges = given.get("ranges", 2)
    if "narrowest" in given or "silent_below" in given:
        note(
            "Shares of people are counted as if all cells between the edges were equally common. Where fewer people are, a range "
            "holds less: put the edges where you expect equal numbers of people. `estimate` says what the ranges held."
        )
    if "narrowest" in given:
        channel = ring(domain, given["narrowest"], n_ranges)
    else:
        channel = random_ranges(domain, n_ranges)
    return selective(channel, given["silent_below"]) if "silent_below" in given else channel


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


def law_of(parts: list[Tally], method: str | None, interval: str | None) -> TalliedDistribution | None:
    """The distribution of a number; None for categories, or where shares of cells were asked for by method or interval."""
    domain = parts[0].channel.domain
    patterns = all(isinstance(one, (PatternTally, WeightedTally)) for one in parts)
    if not isinstance(domain, Numbers) or method is not None or interval is not None or not patterns:
        return None
    return distribution(*parts)
