"""`reticent design`: which channel the answers to a question go through, and which columns are public."""

from __future__ import annotations

import math
import warnings
from itertools import chain
from pathlib import Path
from typing import Any

import click

from reticent import mechanisms
from reticent.channel import Channel, Ranges, Subset
from reticent.cli.numbers import number_options, people_left, ranges_channel, taken_from
from reticent.cli.outputs import check_place
from reticent.cli.recipes import make, mechanism_name, parameter_options, told
from reticent.cli.terminal import hint, note, print_json
from reticent.design import Design
from reticent.domain import NO_ANSWER, Categorical, MissingRule, Numbers
from reticent.engines import ArrowEngine, save
from reticent.engines.column_types import answer_texts
from reticent.engines.report_file import files_of
from reticent.errors import AnswerError, ChannelError, DomainError, FileFormatError, ParameterError
from reticent.mechanisms.pairing import pairing_warning


@click.command()
@click.option("--column", help="The column of answers, and the name of the question.")
@click.option("--category", "categories", multiple=True, help="A possible answer; repeat for each, in order.")
@click.option("--categories-file", type=click.Path(exists=True, dir_okay=False), help="Possible answers, one a line.")
@click.option(
    "--from-data", type=click.Path(exists=True, dir_okay=False), help="Take the answers that occur in a file."
)
@click.option(
    "--mechanism",
    metavar="NAME",
    callback=mechanism_name,
    help="A mechanism that `reticent mechanisms` lists. Default: by the number of categories.",
)
@parameter_options
@number_options
@click.option(
    "--nonresponse", type=float, metavar="P", help="Chance that a subset design asks nothing (reports the full set)."
)
@click.option("--pair-with", help="Ask together with this second column; both have 2 or 3 answers.")
@click.option("--pair-category", "pair_categories", multiple=True, help="An answer of the second column; repeat.")
@click.option("--public", multiple=True, help="A column that is passed on as it is; repeat for more.")
@click.option(
    "--missing",
    type=click.Choice(["refuse", "skip", "symbol"]),
    help="Missing answers, one rule for the whole file, given with its first question: refuse them (default), skip and "
    'count them, or symbol: they become the category "no answer", which is added to every question.',
)
@click.option("--add", is_flag=True, help="Add to the design in the output file.")
@click.option("-o", "--output", type=click.Path(dir_okay=False), default="design.json", show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print the design as JSON.")
def design(
    column: str | None,
    categories: tuple[str, ...],
    categories_file: str | None,
    from_data: str | None,
    mechanism: str | None,
    nonresponse: float | None,
    pair_with: str | None,
    pair_categories: tuple[str, ...],
    public: tuple[str, ...],
    missing: MissingRule | None,
    add: bool,
    output: str,
    as_json: bool,
    **given: Any,
) -> None:
    """Choose the categories and the mechanism of a question, or name public columns.

    With --low and --high the question asks for a number, and reports are random ranges.
    """
    number = taken_from(given)
    given_files = [
        value for value in (*given.values(), number.get("pilot")) if isinstance(value, str) and value.endswith(".json")
    ]
    check_place(output, [categories_file, *([] if from_data is None else files_of(from_data)), *given_files])
    if Path(output).exists() and not add:
        raise click.UsageError(f"{output} exists; add to it with --add, or name another file with -o.")
    before = Design.load(output) if add and Path(output).exists() else None
    if before is not None and missing not in (None, before.missing):
        raise click.UsageError(
            f"--missing is one rule for all questions of a file, given with the first; in {output} it is {before.missing}. "
            f"Leave out --missing, or make a new file with --missing {missing}. "
            f"`reticent privatize --missing skip` differs for one run."
        )
    rule = missing or ("refuse" if before is None else before.missing)
    channel: Channel | None = None
    try:
        if column is not None and number:
            others = {
                "category": categories, "categories-file": categories_file, "from-data": from_data,
                "mechanism": mechanism, "nonresponse": nonresponse, "pair-with": pair_with, **given,
            }  # fmt: skip
            channel = ranges_channel(column, number, others)
        elif column is not None:
            labels = _labels(column, categories, categories_file, from_data)
            domain = _domain(column, labels, rule)
            if pair_with is not None:
                channel = _pair(domain, _domain(pair_with, list(pair_categories), rule), mechanism, given)
            else:
                channel = _channel(domain, mechanism, given)
            if nonresponse is not None:
                channel = _with_nonresponse(channel, nonresponse)
        elif categories or categories_file or from_data or mechanism or pair_with or number:
            raise click.UsageError("Give the name of the question with --column.")
        made = _extended(before, output, channel, missing, public)
    except (DomainError, ParameterError, ChannelError) as fault:
        raise click.UsageError(told(fault) + _because_of_no_answer(fault, rule)) from fault
    save(made, output)
    if as_json:
        print_json(made.to_json())
    else:
        click.echo(_described(output, made, channel))
        if isinstance(channel, Ranges):
            click.echo(people_left(channel, number.get("pilot")))
    if channel is not None and channel.name == "full response":
        note(f'Warning: full-response protects nothing; every answer to "{column}" will be readable.')
    if isinstance(channel, Subset) and pair_with is not None:
        note(f"Warning: {pairing_warning(channel)}")
    hint(f"reticent privatize ANSWERS.csv --design {output} -o reports.parquet")


def _labels(column: str, categories: tuple[str, ...], categories_file: str | None, from_data: str | None) -> list[str]:
    if sum((bool(categories), categories_file is not None, from_data is not None)) != 1:
        raise click.UsageError(
            "Give the categories in one way: --category (repeated), --categories-file or --from-data."
        )
    if categories_file is not None:
        return _lines(categories_file)
    if from_data is not None:
        labels = _labels_in(from_data, column)
        note(
            f"Warning: the {len(labels):,} categories were taken from the answers in {from_data}. That shows which answers "
            "occur, and misses those that do not. Categories should come from the questionnaire."
        )
        return labels
    return list(categories)


def _lines(path: str) -> list[str]:
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise FileFormatError(f"{path} is not text in UTF-8; it should hold one category a line.") from None
    return [line for line in text.splitlines() if line.strip()]


def _labels_in(path: str, column: str) -> list[str]:
    engine = ArrowEngine(path)
    engine.check_types([column])
    (values,) = engine.count([column]).values
    found = {label for label in answer_texts(values).to_pylist() if label is not None}
    unfit = {label for label in found if not label or not label.isprintable()}
    if unfit:
        raise AnswerError(
            f'{len(unfit):,} of the {len(found):,} different answers to "{column}" in {path} cannot be categories: they are '
            f"empty, or hold line breaks or signs that do not print (first in row {_row_of(unfit, path, column):,}, the "
            "header not counted). Correct them, or give the categories of the questionnaire."
        )
    return sorted(found, key=_in_order)


def _row_of(labels: set[str], path: str, column: str) -> int:
    """The first row, counted from 1, whose answer is one of these."""
    rows = chain.from_iterable(answer_texts(batch[column]).to_pylist() for batch in ArrowEngine(path).batches([column]))
    return next(row for row, label in enumerate(rows, 1) if label in labels)


def _in_order(label: str) -> tuple[bool, int, str, str]:
    """Whole numbers by size, then texts; a number may have more digits than Python reads."""
    digits = label.lstrip("0") if label.isdecimal() else ""
    return (not label.isdecimal(), len(digits), digits, label)


def _domain(column: str, labels: list[str], missing: MissingRule) -> Categorical:
    if missing != "symbol" or NO_ANSWER in labels:
        return Categorical(column, labels)
    domain = Categorical(column, [*labels, NO_ANSWER])
    note(f'The category "{NO_ANSWER}" was added to "{column}": missing answers report as it (--missing symbol).')
    return domain


def _because_of_no_answer(fault: Exception, missing: MissingRule) -> str:
    """Where the number of categories is at fault, that the rule for missing answers added one to those given."""
    if missing != "symbol" or not isinstance(fault, DomainError) or "n_categories" not in fault.details:
        return ""
    return f' The category "{NO_ANSWER}", which --missing symbol added, counts too.'


def _channel(domain: Categorical, mechanism: str | None, given: dict[str, Any]) -> Channel:
    if mechanism is None:
        mechanism = {2: "binary-dummy", 3: "ternary-dummy"}.get(len(domain), "uniform-subset")
        if given["epsilon"] is not None:
            mechanism = "randomized-response"
        elif given["size"] is not None:
            mechanism = "fixed-size"
    return make(mechanism, domain, given)


def _pair(first: Categorical, second: Categorical, mechanism: str | None, given: dict[str, Any]) -> Channel:
    if mechanism is not None or any(value is not None for value in given.values()):
        raise click.UsageError("A pair goes through the uniform subset design; leave out --mechanism and its options.")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # said as a note of the command
        return mechanisms.pair(first, second)


def _with_nonresponse(channel: Channel, rate: float) -> Channel:
    if not isinstance(channel, Subset):
        raise click.UsageError(f"--nonresponse is for subset designs, not for {channel.name}.")
    return mechanisms.random_nonresponse(channel, rate)


def _extended(
    before: Design | None, output: str, channel: Channel | None, missing: MissingRule | None, public: tuple[str, ...]
) -> Design:
    columns = {} if before is None else dict(before.columns)
    if channel is not None:
        name = channel.domain.name
        if name in columns:
            raise click.UsageError(f'{output} already has a channel for "{name}".')
        columns[name] = channel
    elif not public and missing is None:
        raise click.UsageError("Name the question with --column, or a public column with --public.")
    if before is None:
        return Design(columns, missing or "refuse", public)
    kept = (*before.public, *(name for name in public if name not in before.public))
    return Design(columns, missing or before.missing, kept)


def _described(output: str, made: Design, channel: Channel | None) -> str:
    lines = []
    if channel is not None:
        limit = "no finite epsilon" if math.isinf(channel.epsilon) else f"epsilon {channel.epsilon:.4g}"
        what = "cells" if isinstance(channel.domain, Numbers) else "categories"
        lines.append(
            f"{output}: {channel.domain.name}, {len(channel.domain):,} {what}, {channel.name}, {limit}, digest "
            f"{channel.digest[:12]}"
        )
    private = len(made.columns) - sum(name in made.columns for name in made.disclosed)
    if len(made.columns) > 1 or made.disclosed:
        limit = "no finite epsilon" if math.isinf(made.epsilon) else f"epsilon {made.epsilon:.4g}"
        columns = "1 private column" if private == 1 else f"{private} private columns"
        lines.append(f"  One row over its {columns}: {limit}. Disclosed: {', '.join(made.disclosed) or 'none'}.")
    return "\n".join(lines)
