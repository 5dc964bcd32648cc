"""`reticent plan` for a number: its options, its domain, and the design that it writes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from reticent.channel import Channel, Ranges
from reticent.cli.assumed import read_shares
from reticent.cli.numbers import ranges_channel
from reticent.cli.outputs import check_place
from reticent.cli.terminal import hint, note
from reticent.design import Design
from reticent.domain import Categorical, Numbers
from reticent.engines import save
from reticent.errors import ChannelError, DomainError, ParameterError
from reticent.planning import NumberPlan
from reticent.planning.number_demands import number_plan

_OF_DOMAIN = {
    "low": ("--low", str, "NUMBER", "The lowest possible number: plan for a question about a number."),
    "high": ("--high", str, "NUMBER", "The highest possible number."),
    "edges": ("--edges", str, "LIST", "Where ranges may be cut: 10,20,30, or START:STOP:STEP. Default: every step."),
    "step": ("--step", str, "NUMBER", "Possible numbers lie so far apart: 1 for whole years."),
    "unit": ("--measured-in", str, "TEXT", "The unit of the number."),
}
_OF_PLAN = {
    "mean_within": ("--mean-within", float, "NUMBER", "Wanted: the mean of the number to ± this, in its own unit."),
    "coverage": (
        "--coverage", float, "SHARE",
        "Wanted of a number: the mean share of people who could have given the same report. Default: 0.75, unless "
        "--narrowest is given or the design is.",
    ),
    "narrowest": ("--narrowest", str, "SHARE", "Wanted of a number: every report leaves at least this share of people."),
    "output": ("-o", str, "FILE", "Write the first design of a number as a design file; --row chooses another."),
    "row": ("--row", int, "ROW", "Which row of the table -o writes."),
}  # fmt: skip
Given = dict[str, Any]


def number_plan_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options of a plan for a number."""
    for name, (flag, kind, metavar, words) in reversed((_OF_DOMAIN | _OF_PLAN).items()):
        flags = (flag, "--output") if flag == "-o" else (flag,)
        command = click.option(*flags, name, type=kind, metavar=metavar, help=words)(command)
    return command


def given_domain(column: str | None, given: Mapping[str, Any]) -> Numbers | None:
    """The number that the options describe; None where they describe none. Raises UsageError for a part of one."""
    own = {name: given[name] for name in _OF_DOMAIN if given[name] is not None}
    if not own:
        return None
    try:
        domain = ranges_channel(column or "number", own, {}).domain
    except (DomainError, ParameterError, ChannelError) as fault:
        raise click.UsageError(str(fault)) from fault
    assert isinstance(domain, Numbers)
    return domain


def of_mean(what: Channel | Categorical, given: Mapping[str, Any], of_shares: bool) -> bool:
    """Whether the plan is for a mean: it is asked for, or the question is a number with ends and shares are not asked for.

    Raises UsageError for a question with categories of which a mean, a coverage or a floor is asked.
    """
    domain = what.domain if isinstance(what, Channel) else what
    asked = [
        f"--{name.replace('_', '-')}" for name in ("mean_within", "coverage", "narrowest") if given[name] is not None
    ]
    number = isinstance(domain, Numbers) and (isinstance(what, Ranges) or what is domain)
    if asked and not number:
        raise click.UsageError(
            f'{", ".join(asked)}: "{domain.name}" is not asked in random ranges of a number. Choose another question with --column, '
            "or describe a number with --low, --high and --edges."
        )
    if asked and of_shares:
        raise click.UsageError(f"--half-width and --rms are for shares, {', '.join(asked)} for a mean; give one kind.")
    ends = isinstance(domain, Numbers) and all(abs(float(end)) < float("inf") for end in (domain.low, domain.high))
    return number and not of_shares and (bool(asked) or ends)


def planned_mean(
    what: Any, given: Mapping[str, Any], *, shares: str | None, n: int | None, confidence_level: float
) -> NumberPlan:
    """The plan for the mean of a number. Raises UsageError for what is not allowed or cannot be had."""
    domain = what if isinstance(what, Numbers) else what.domain
    coverage = given["coverage"]
    if coverage is None and not isinstance(what, Numbers):
        coverage = 0.0  # a design is planned as it is
    asked = {"mean_within": given["mean_within"], "narrowest": given["narrowest"], "coverage": coverage}
    law = None if shares is None else read_shares(domain, shares)
    try:
        return number_plan(what, n=n, law=law, confidence_level=confidence_level, **asked)
    except ParameterError as fault:
        raise click.UsageError(str(fault)) from fault


def check_output(
    given: Mapping[str, Any], domain: Numbers | None, columns: tuple[str, ...], inputs: list[str | None]
) -> None:
    """Raises UsageError when no design can be written where -o says, or there is none to write."""
    output, row = given["output"], given["row"]
    if output is None and row is not None:
        raise click.UsageError("--row says which design -o writes; give -o design.json as well.")
    if output is None:
        return
    if domain is None:
        raise click.UsageError("-o writes the design of a number: give --low, --high and --edges.")
    if not columns:
        raise click.UsageError("-o writes a design: name the column of answers with --column.")
    check_place(output, inputs)
    if Path(output).exists():
        raise click.UsageError(f"{output} exists; name another file with -o.")


def write_design(made: NumberPlan, given: Mapping[str, Any]) -> None:
    """The chosen row as a design file, and what to do next. Raises UsageError for a row that the table does not have."""
    output, row = given["output"], given["row"] or 1
    if output is None:
        hint("the same with --column NAME -o design.json writes the first design to a file; --row 2 the second.")
        return
    if not 1 <= row <= len(made.rows):
        raise click.UsageError(f"--row is {row}; the table has rows 1 to {len(made.rows)}.")
    chosen = made.rows[row - 1]
    save(Design({made.domain.name: chosen.channel}), output)
    note(f"{output}: {made.domain.name}, {chosen.channel.name}, digest {chosen.channel.digest[:12]}")
    hint(f"reticent privatize ANSWERS.csv --design {output} -o reports.parquet")
