"""`reticent plan`: how many answers, how exact, how private."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from reticent.channel import Channel
from reticent.cli.assumed import FORMAT, read_shares
from reticent.cli.number_plans import (
    check_output,
    given_domain,
    number_plan_options,
    of_mean,
    planned_mean,
    write_design,
)
from reticent.cli.outcomes import level_option
from reticent.cli.outputs import check_place
from reticent.cli.pairs import asked_with, spelled
from reticent.cli.terminal import hint, note, print_json, progress_bar
from reticent.design import Design
from reticent.domain import Categorical, Numbers
from reticent.engines import replacing
from reticent.errors import DomainError, ParameterError
from reticent.planning import NumberPlan, Plan, Simulation, simulate
from reticent.planning import plan as make_plan

PICTURES = (".svg", ".png")
MARGIN = 1 / 6  # inches round a picture that stands alone


@click.command()
@click.option("--design", "design_path", type=click.Path(dir_okay=False), help="Plan for the questions of a design.")
@click.option("--column", "columns", multiple=True, help="Only this question of the design; repeat for more.")
@click.option("--categories", "n_categories", type=click.IntRange(2), help="Compare mechanisms for so many categories.")
@click.option("--category", "labels", multiple=True, help="A possible answer; repeat for each, to compare mechanisms.")
@click.option(
    "--half-width",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    help="Wanted: every share to ± this, e.g. 0.03 for 3 percentage points.",
)
@click.option(
    "--rms",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    help="Wanted: all shares together to this, the root of the summed squared error.",
)
@click.option("--n", type=click.IntRange(1), help="Given: so many answers; how exact are they?")
@click.option(
    "--shares",
    help=f'Expected shares: {FORMAT} With --categories the labels are "category 1", "category 2", … Default: the worst '
    "case over all shares.",
)
@number_plan_options
@level_option
@click.option(
    "--simulate", "simulated", is_flag=True, help="Draw surveys of that size and check the plan (its first line)."
)
@click.option("--replicates", type=click.IntRange(2), default=200, show_default=True, help="How many to simulate.")
@click.option("--seed", type=int, default=1, show_default=True, help="Of the simulation.")
@click.option(
    "--plot",
    "picture",
    type=click.Path(dir_okay=False),
    help="Write a picture of one question: FILE.svg or FILE.png. A design of several needs --column.",
)
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
@click.pass_context
def plan(
    ctx: click.Context,
    /,
    design_path: str | None,
    columns: tuple[str, ...],
    n_categories: int | None,
    labels: tuple[str, ...],
    half_width: float | None,
    n: int | None,
    rms: float | None,
    shares: str | None,
    confidence_level: float,
    simulated: bool,
    replicates: int,
    seed: int,
    picture: str | None,
    as_json: bool,
    **number: Any,
) -> None:
    """Plan how many answers a survey needs, and what each gives away.

    \b
    reticent plan --categories 5 --half-width 0.03         which mechanism?
    reticent plan --design design.json --half-width 0.03   how many answers?
    reticent plan --design design.json --n 1000            how exact?
    reticent plan --low 0 --high 10000 --edges 500:9500:500 --mean-within 500

    A number, described by --low, --high and --edges, is planned for its mean: designs that meet --coverage and --narrowest
    are compared, at the expected --shares of the cells between the edges.

    Exits with 1 when a simulation contradicts the plan.
    """
    _check_wishes((half_width, rms, n, number["mean_within"]), picture, [design_path, shares])
    domain = given_domain(columns[0] if columns else None, number)
    check_output(number, domain, columns, [design_path, shares])
    questions = _questions(design_path, columns, n_categories, labels, domain)
    if picture is not None and len(questions) > 1:
        raise click.UsageError(f"There are {len(questions)} questions: choose one with --column for a picture.")
    documents, needed, good = [], [], True
    for what in questions:
        made: Plan | NumberPlan
        if of_mean(what, number, half_width is not None or rms is not None):
            made = planned_mean(what, number, shares=shares, n=n, confidence_level=confidence_level)
        else:
            made = _planned(what, shares, n=n, half_width=half_width, rms=rms, confidence_level=confidence_level)
        checked = _check(made, replicates, seed) if simulated else None
        good &= checked is None or checked.holds
        needed.append(made.rows[0].n)
        if as_json:
            documents.append({**made.to_json(), "simulation": None if checked is None else checked.to_json()})
        else:
            click.echo(made.summary() + ("" if checked is None else f"\n\n{checked.summary()}") + "\n")
        if picture is not None:
            _draw(made, picture)
    if as_json:
        print_json(documents)
    elif n is None and len(needed) > 1:
        click.echo(f"All {len(needed)} questions: {max(needed):,} people, if everybody answers every question.")
    if isinstance(made, NumberPlan) and domain is not None:
        write_design(made, number)
    elif design_path is None:
        hint("reticent design --column QUESTION --category A --category B …")
    if not good:
        note("Check failed: the simulation contradicts the plan.")
        ctx.exit(1)


def _check_wishes(wishes: tuple[float | None, ...], picture: str | None, inputs: list[str | None]) -> None:
    if sum(value is not None for value in wishes) != 1:
        raise click.UsageError(
            "Say what you want in one way: --half-width 0.03, --rms 0.05, --n 1000, or of a number --mean-within 500."
        )
    if picture is not None and Path(picture).suffix not in PICTURES:
        raise click.UsageError(f"--plot writes FILE.svg or FILE.png, not {picture}.")
    if picture is not None:
        check_place(picture, inputs, f"{Path(picture).suffix} picture")


def _questions(
    design_path: str | None,
    columns: tuple[str, ...],
    n_categories: int | None,
    labels: tuple[str, ...],
    number: Numbers | None,
) -> list[Channel | Categorical]:
    if sum((design_path is not None, n_categories is not None, bool(labels), number is not None)) != 1:
        raise click.UsageError(
            "Say what to plan in one way: --design, --categories N, --category (repeated), or a number with --low and --high."
        )
    if design_path is None:
        if len(columns) > 1:
            raise click.UsageError("Without --design there is one question; give --column once, as its name.")
        if number is not None:
            return [number]
        names = labels or [f"category {i + 1}" for i in range(n_categories or 0)]
        try:
            return [Categorical(columns[0] if columns else "question", names)]
        except DomainError as fault:
            raise click.UsageError(str(fault)) from fault
    known = Design.load(design_path).columns
    columns = tuple(spelled(name, known) for name in columns)
    for name in columns:
        if (told := asked_with(name, known)) is not None:
            raise click.UsageError(f'{told[0]} Plan for both with --column "{told[1]}".')
        if name not in known:
            raise click.UsageError(f'{design_path} has no question "{name}"; it has {", ".join(known)}.')
    return [channel for name, channel in known.items() if not columns or name in columns]


def _planned(what: Channel | Categorical, shares: str | None, **asked: Any) -> Plan:
    domain = what.domain if isinstance(what, Channel) else what
    expected = None if shares is None else read_shares(domain, shares)
    try:
        return make_plan(what, shares=expected, **asked)
    except ParameterError as fault:
        raise click.UsageError(str(fault)) from fault


def _check(made: Plan | NumberPlan, replicates: int, seed: int) -> Simulation:
    if isinstance(made, NumberPlan):
        raise click.UsageError("--simulate checks plans for shares; a plan for a mean has no simulation.")
    with progress_bar("simulating") as progress:
        return simulate(made, n_replicates=replicates, seed=seed, progress=progress)


def _draw(made: Plan | NumberPlan, picture: str) -> None:
    from reticent import plots  # matplotlib loads only when a picture is asked for

    figure = made.plot()
    with replacing(Path(picture)) as part:
        if picture.endswith(".svg"):
            part.write_text(plots.svg(figure, made.sentence()), encoding="utf-8")
        else:
            figure.savefig(part, format="png", dpi=216, bbox_inches=figure.bbox_inches.padded(MARGIN))
    note(f"{picture}: answers, precision, and what a report gives away.")
