"""`reticent leakage`: what one report gives away, for the questions of a design or for a tally."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import click
import numpy as np

from reticent.channel import Channel
from reticent.cli.assumed import FORMAT, read_shares
from reticent.cli.questions import estimated, hint_page, said_once
from reticent.cli.terminal import columns, print_json
from reticent.design import Design
from reticent.domain import ProductDomain
from reticent.engines import read_tally
from reticent.errors import ChannelError
from reticent.intersection import MOST_ANSWERS
from reticent.measures import Leakage, marginal, pinned_chances
from reticent.measures import leakage as measure_leakage
from reticent.measures.enumeration import listable
from reticent.repetitions import repetition
from reticent.results import Shares
from reticent.tallies import GroupedTally, SupportTally, Tally


@click.command()
@click.argument("file", type=click.Path(dir_okay=False))
@click.option("--prior", help=f"Shares: {FORMAT} Default: estimated from a tally, uniform for a design.")
@click.option(
    "--answers",
    type=click.IntRange(1, MOST_ANSWERS),
    help="Also what so many independent answers by one person reveal together.",
)
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def leakage(file: str, prior: str | None, answers: int | None, as_json: bool) -> None:
    """Measure what one report gives away, for a design or for the tally in FILE.

    A report on several questions is measured as a whole, and for each of its questions, with what the others tell of it.
    """
    design = None if file.endswith(".parquet") else Design.load(file)
    channels = _counted(file) if design is None else ((channel, None) for channel in design.columns.values())
    documents = []
    for channel, tally in channels:
        with said_once():
            known: Any = (
                read_shares(channel.domain, prior) if prior is not None or tally is None else estimated([tally])
            )
            measured = measure_leakage(channel, known)
            parts = _by_part(measured)
            repeated, told = _repeated(channel, answers, known)
        if as_json:
            documents.append({**measured.to_json(), **parts, **repeated})
        else:
            assumed = "estimated shares" if isinstance(known, Shares) else prior if prior else "equal shares"
            assumed = "equal shares" if assumed == "uniform" else assumed
            lines = [measured.summary(), *_in_lines(parts), *told]
            click.echo("\n".join([*lines, "", f"Shares assumed: {assumed}.", ""]))
    if as_json:
        print_json(documents)
    elif design is not None and (len(design.columns) > 1 or design.disclosed):
        click.echo(_of_a_row(design, answers or 1))
    if design is None:
        hint_page((file,))


def _counted(file: str) -> Iterator[tuple[Channel, Tally]]:
    loaded = read_tally(file)
    total = loaded.total() if isinstance(loaded, GroupedTally) else loaded
    different = [one for one in total.sets if len({*one}) == len(one)] if isinstance(total, SupportTally) else [()]
    for one in different:
        tally = total.only(*one) if isinstance(total, SupportTally) else total
        yield tally.channel, tally


def _repeated(channel: Channel, answers: int | None, known: Any) -> tuple[dict[str, Any], list[str]]:
    """What several answers reveal, as JSON and as lines; that it is not computed, with the reason, where it cannot be."""
    if answers is None:
        return {}, []
    try:
        found = repetition(channel, answers, known, "bits")
    except ChannelError as fault:
        return {"repetition": None}, ["", f"What {answers} answers reveal together was not computed: {fault}"]
    return {"repetition": found.to_json()}, ["", found.summary()]


def _by_part(measured: Leakage) -> dict[str, Any]:
    """For a report on several questions: how often it settles each of them, and what it gives away of it."""
    channel, domain = measured.channel, measured.channel.domain
    if not isinstance(domain, ProductDomain) or not listable(channel):
        return {}
    joint = np.array(measured.prior).reshape(domain.shape)
    parts = {}
    for axis, part in enumerate(domain.parts):
        own = joint.sum(axis=tuple(other for other in range(joint.ndim) if other != axis))
        parts[part.name] = measure_leakage(marginal(channel, joint.ravel(), part.name), own / own.sum()).to_json()
    settled = {name: float(chance) for name, chance in pinned_chances(channel).items()}
    return {"settled": settled, "by_question": parts}


def _in_lines(parts: dict[str, Any]) -> list[str]:
    """The same as text: a table with one line for each question."""
    if not parts:
        return []
    rows = [["one report, of", "bits", "at most", "guessed right", "without", "settled"]]
    for name, document in parts["by_question"].items():
        told, guess = (document["measures"][measure] for measure in ("mutual_information", "prediction"))
        numbers = [f"{number:.3f}" for number in (told["value"], told["ceiling"], guess["value"], guess["floor"])]
        rows.append([name, *numbers, f"{parts['settled'][name]:.1%}"])
    lines = ["", *columns(rows)]
    lines += [
        f"One report in {1 / chance:.3g} settles {name}."
        for name, chance in parts["settled"].items()
        if chance and name not in parts["by_question"]
    ]
    return lines


def _of_a_row(design: Design, n_answers: int) -> str:
    """What the reports of one person give away together, so many to each question."""
    epsilon = n_answers * design.epsilon
    limit = "no finite epsilon" if math.isinf(epsilon) else f"epsilon {epsilon:.4g}"
    each = f", with {n_answers} answers to each question" if n_answers > 1 else ""
    disclosed = f" Disclosed as they are: {', '.join(design.disclosed)}." if design.disclosed else ""
    return f"All reports of one person together{each}: {limit}.{disclosed}"
