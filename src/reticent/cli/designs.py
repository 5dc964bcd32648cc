"""`reticent design`: which channel the answers to a question go through."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from reticent import mechanisms
from reticent.channel import Channel
from reticent.cli.terminal import hint, note, print_json
from reticent.design import Design
from reticent.domain import Categorical
from reticent.engines import ArrowEngine, save
from reticent.errors import ChannelError, DomainError, FileFormatError, ParameterError

MECHANISMS: dict[str, Callable[..., Channel]] = {
    "uniform-subset": mechanisms.uniform_subset,
    "fixed-size": mechanisms.fixed_size,
    "binary-dummy": mechanisms.binary_dummy,
    "ternary-dummy": mechanisms.ternary_dummy,
    "randomized-response": mechanisms.randomized_response,
    "full-response": mechanisms.full_response,
    "no-response": mechanisms.no_response,
}


@click.command()
@click.option("--column", required=True, help="The column of answers, and the name of the question.")
@click.option("--category", "categories", multiple=True, help="A possible answer; repeat for each, in order.")
@click.option("--categories-file", type=click.Path(exists=True, dir_okay=False), help="Possible answers, one a line.")
@click.option(
    "--from-data", type=click.Path(exists=True, dir_okay=False), help="Take the answers that occur in a file."
)
@click.option("--mechanism", type=click.Choice(list(MECHANISMS)), help="Default: by the number of categories.")
@click.option("--size", type=int, help="How many categories a report names (fixed-size).")
@click.option("--rho", type=float, help="Chance that the truth takes part (the dummy mechanisms).")
@click.option("--epsilon", type=float, help="Privacy budget in nats (randomized-response).")
@click.option("--missing", type=click.Choice(["refuse", "skip"]), help="What to do with missing answers.")
@click.option("--add", is_flag=True, help="Add the column to the design in the output file.")
@click.option("-o", "--output", type=click.Path(dir_okay=False), default="design.json", show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print the design as JSON.")
def design(
    column: str,
    categories: tuple[str, ...],
    categories_file: str | None,
    from_data: str | None,
    mechanism: str | None,
    size: int | None,
    rho: float | None,
    epsilon: float | None,
    missing: str | None,
    add: bool,
    output: str,
    as_json: bool,
) -> None:
    """Choose the categories and the mechanism of a question."""
    if sum((bool(categories), categories_file is not None, from_data is not None)) != 1:
        raise click.UsageError(
            "Give the categories in one way: --category (repeated), --categories-file or --from-data."
        )
    if Path(output).exists() and not add:
        raise click.UsageError(f"{output} exists; add the column to it with --add, or name another file with -o.")
    labels = list(categories)
    if categories_file is not None:
        labels = _lines(categories_file)
    elif from_data is not None:
        labels = _labels_in(from_data, column)
        note(
            f"Warning: the {len(labels):,} categories were taken from the answers in {from_data}. That shows which answers "
            "occur, and misses those that do not. Categories should come from the questionnaire."
        )
    try:
        channel = _channel(Categorical(column, labels), mechanism, {"size": size, "rho": rho, "epsilon": epsilon})
        made = _with_column(output if add else None, column, channel, missing)
    except (DomainError, ParameterError, ChannelError) as fault:
        raise click.UsageError(str(fault)) from fault
    save(made, output)
    if as_json:
        print_json(made.to_json())
    else:
        limit = "no finite epsilon" if channel.epsilon == float("inf") else f"epsilon {channel.epsilon:.4g}"
        click.echo(
            f"{output}: {column}, {len(labels):,} categories, {channel.name}, {limit}, digest {channel.digest[:12]}"
        )
    if channel.name == "full response":
        note(f'Warning: full-response protects nothing; every answer to "{column}" will be readable.')
    hint(f"reticent privatize ANSWERS.csv --design {output} -o reports.parquet")


def _lines(path: str) -> list[str]:
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise FileFormatError(f"{path} is not text in UTF-8; it should hold one category a line.") from None
    return [line for line in text.splitlines() if line.strip()]


def _labels_in(path: str, column: str) -> list[str]:
    found = {str(value) for (value,) in ArrowEngine(path).count([column]) if value is not None and value == value}
    return sorted(found, key=lambda label: (not label.isdecimal(), int(label) if label.isdecimal() else 0, label))


def _channel(domain: Categorical, mechanism: str | None, given: dict[str, Any]) -> Channel:
    if mechanism is None:
        mechanism = {2: "binary-dummy", 3: "ternary-dummy"}.get(len(domain), "uniform-subset")
        if given["epsilon"] is not None:
            mechanism = "randomized-response"
        elif given["size"] is not None:
            mechanism = "fixed-size"
    recipe = MECHANISMS[mechanism]
    accepted = inspect.signature(recipe).parameters
    for name, value in given.items():
        if value is not None and name not in accepted:
            raise click.UsageError(f"--{name} does not belong to {mechanism}.")
        needed = name in accepted and accepted[name].default is inspect.Parameter.empty
        if needed and value is None:
            raise click.UsageError(f"{mechanism} needs --{name}.")
    return recipe(domain, **{name: value for name, value in given.items() if value is not None})


def _with_column(existing: str | None, column: str, channel: Channel, missing: str | None) -> Design:
    if existing is None or not Path(existing).exists():
        return Design({column: channel}, "skip" if missing == "skip" else "refuse")
    before = Design.load(existing)
    if column in before.columns:
        raise click.UsageError(f'{existing} already has a channel for "{column}".')
    rule = before.missing if missing is None else "skip" if missing == "skip" else "refuse"
    return Design({**before.columns, column: channel}, rule)
