"""`reticent estimate`, `findings` and `demo`: what the reports say, with what they gave away beside it."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import click

from reticent import demo as demonstration
from reticent import findings as pages
from reticent.cli.numbers import law_of
from reticent.cli.outputs import check_place
from reticent.cli.questions import (
    Group,
    by_question,
    estimated,
    hint_page,
    in_words,
    margins_in_lines,
    margins_of,
    name_of,
    said_once,
    strata_names,
    title_of,
)
from reticent.cli.terminal import columns as aligned
from reticent.cli.terminal import hint, interval_text, note, print_json, shares_table
from reticent.distributions.documents import around
from reticent.domain import Categorical
from reticent.engines import replacing
from reticent.findings.numbers import number_section
from reticent.findings.sections import section
from reticent.measures import Leakage
from reticent.plots import percent
from reticent.results import SIMULATED, Method
from reticent.tallies import Tally

tally_argument = click.argument("tallies", nargs=-1, required=True, type=click.Path(dir_okay=False))
level_option = click.option(
    "--confidence-level", type=click.FloatRange(0, 1, min_open=True, max_open=True), default=0.95, show_default=True
)
interval_option = click.option(
    "--interval",
    type=click.Choice(["profile", "score", "clopper-pearson", "wald"]),
    help="Default: profile, or what suits the method and the size.",
)


strata_option = click.option("--strata", is_flag=True, help="The groups of weighted tallies are strata of one sample.")


@click.command()
@tally_argument
@click.option(
    "--method",
    type=click.Choice(["maximum-likelihood", "moments", "one-step"]),
    help="Default: maximum-likelihood; moments above 500 categories and for support counts.",
)
@strata_option
@level_option
@interval_option
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
@click.pass_context
def estimate(
    ctx: click.Context,
    tallies: tuple[str, ...],
    method: str | None,
    strata: bool,
    confidence_level: float,
    interval: str | None,
    as_json: bool,
) -> None:
    """Estimate the shares in the population, with their intervals.

    Tallies of one question are read together, also when they went through different channels; weighted ones are strata.
    Exits with 1 when an estimate is not converged or not unique.
    """
    documents, good, simulated = [], True, False
    for group, parts in by_question(tallies, strata):
        with said_once():
            law = law_of(parts, method, interval, _strata_of(tallies, parts, strata))
            shares = estimated(parts, method) if law is None else law.shares
        if law is not None:
            good &= law.converged and law.unique is not False
            simulated |= shares.simulated
            if as_json:
                documents.append({"group": dict(group), **law.to_json(confidence_level)})
            else:
                name = law.question.name
                click.echo(name + in_words(group) + law.summary(confidence_level).removeprefix(name))
            continue
        with said_once():
            ends = shares.confidence_interval(confidence_level, cast("Method | None", interval))
            margins = margins_of(shares)
        good &= shares.converged and shares.unique is not False
        simulated |= shares.simulated
        if as_json:
            document = {"group": dict(group), **shares.to_json(confidence_level, cast("Method", ends.method))}
            own = [one.to_json(confidence_level, "wald") for one in margins]
            documents.append({**document, "margins": own} if own else document)
            continue
        click.echo(title_of(shares, group))
        click.echo("\n".join(shares_table(shares, ends.low.tolist(), ends.high.tolist())))
        missing = f"; {shares.missing:,} missing answers are not in the shares" if shares.missing else ""
        worth = f" (worth {shares.effective_n:,.0f} of equal weight)" if shares.effective_n is not None else ""
        click.echo(
            f"  Shares in the population, from {shares.n:,} reports{worth}, with {100 * confidence_level:.4g}% intervals "
            f"({ends.method}){missing}."
        )
        for line in margins_in_lines(margins, confidence_level):
            click.echo(line)
    if as_json:
        print_json(documents)
    if simulated:
        note(SIMULATED)
    hint_page(tallies)
    if not good:
        note("Check failed: an estimate is not converged or not unique; do not rely on its shares (see --json).")
        ctx.exit(1)


@click.command()
@tally_argument
@click.option("-o", "--output", type=click.Path(dir_okay=False), default="findings.html", show_default=True)
@click.option("--title", default="Findings", show_default=True)
@strata_option
@level_option
@interval_option
@click.option("--json", "as_json", is_flag=True, help="Print what the page says as JSON.")
@click.pass_context
def findings(
    ctx: click.Context,
    tallies: tuple[str, ...],
    output: str,
    title: str,
    strata: bool,
    confidence_level: float,
    interval: str | None,
    as_json: bool,
) -> None:
    """Write one page: the shares, what a report gave away, what was not protected."""
    check_place(output, tallies, "page")
    sections, good = [], True
    asked: list[tuple[Categorical, Group]] = []
    for group, parts in by_question(tallies, strata):
        with said_once():
            law = law_of(parts, None, interval, _strata_of(tallies, parts, strata))
            shares = estimated(parts) if law is None else law.shares
            called, public = name_of(shares, group), [key for key, _ in group]
            if law is None:
                ends = shares.confidence_interval(confidence_level, cast("Method | None", interval))
                sections.append(section(shares, ends, name=called, public=public))
            else:
                sections.append(number_section(law, confidence_level, name=called, public=public))
        good &= shares.converged and shares.unique is not False
        asked.append((shares.domain, group))
    simulated = any(one["simulated"] for one in sections)
    _write(output, pages.render(sections, title))
    if as_json:
        print_json({"file": output, "title": title, "simulated": simulated, "sections": sections})
    else:
        click.echo(f"{output}: {_in_all(asked)}")
    if simulated:
        note(SIMULATED)
    if not good:
        note("Check failed: an estimate is not converged or not unique; the page says which.")
        ctx.exit(1)


@click.command()
@click.option("-o", "--output", type=click.Path(dir_okay=False), default="reticent-demo.html", show_default=True)
@click.option("--seed", help="Repeatable coins instead of those of the operating system.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def demo(output: str, seed: str | None, as_json: bool) -> None:
    """Privatise a real table, estimate its shares from the reports, and set them against the truth."""
    check_place(output, kind="page")
    note(
        "Privatising race, sex, education, income and working hours of 32,561 people, then estimating from the reports alone …"
    )
    asked = demonstration.run(seed)
    _write(output, demonstration.page(asked))
    if as_json:
        print_json(
            {
                "page": str(Path(output).resolve()),
                "simulated": seed is not None,
                "questions": [q.to_json() for q in asked],
            }
        )
    else:
        for question in asked:
            if isinstance(question, demonstration.Counted):
                click.echo("\n".join(beside_the_truth(question)) + "\n")
                continue
            low, high = question.interval.low.tolist(), question.interval.high.tolist()
            click.echo(f"{title_of(question.shares)}, by {question.channel.name}")
            click.echo("\n".join(shares_table(question.shares, low, high, question.truth.tolist())))
            click.echo(given_away_line(question.given_away) + "\n")
        click.echo(
            "95% intervals for the population these people were drawn from; the truth is that of these people, "
            "and only a demonstration can know it. About 1 interval in 20 misses."
        )
        click.echo(f"The findings, with pictures: {Path(output).resolve()}")
    hint("reticent design --column QUESTION --category A --category B …")


def _strata_of(paths: tuple[str, ...], parts: list[Tally], strata: bool) -> tuple[str, ...]:
    """What the tallies of a question are called where groups are read as strata; nothing otherwise."""
    return strata_names(paths, parts[0].channel.domain) if strata else ()


def beside_the_truth(question: demonstration.Counted) -> list[str]:
    """The distribution of a number as a table, with the truth beside it."""
    law, told = question.law, question.section()["distribution"]
    rows = [["", "share (interval)", "truth"]]
    rows += [
        [f"up to {row['up_to']:,.6g}", interval_text(row["share"], row["low"], row["high"], 3), f"{row['truth']:.3f}"]
        for row in told["cdf"]
    ]
    for row in told["quantiles"]:
        rows.append(
            [f"{row['share']:.0%} are up to", f"{row['up_to']:,.6g}{around(row, ',.6g')}", f"{row['truth']:,.6g}"]
        )
    mean = told["mean"]
    rows.append(["mean", f"{mean['value']:.2f}{around(mean, '.2f')}", f"{mean['truth']:.2f}"])
    said = f"between {mean['placement_low']:.2f} and {mean['placement_high']:.2f} wherever in their cells they lie"
    return [
        f"{law.question.name} ({len(law.question):,} cells, {law.shares.n:,} reports), by {question.channel.name}",
        *aligned(rows, left=(0, 1)),
        f"  The mean is for answers at the middles of their cells; {said}.",
        *(f"  {one}" for one in law.coverage),
    ]


def given_away_line(measured: Leakage) -> str:
    """What one report gave away, in a sentence."""
    information, guess = measured["mutual_information"], measured["prediction"]
    return (
        f"  One report gives away {information.value:.2f} of {information.ceiling:.2f} bits; a best guess is right "
        f"{percent(guess.value)} of the time ({percent(guess.floor)} without any report)."
    )


def _in_all(asked: list[tuple[Categorical, Group]]) -> str:
    """`1 question in 6 groups`, for the question and the group of each section."""
    n_questions = len({(domain.name, domain.categories) for domain, _ in asked})
    groups = {group for _, group in asked if group}
    questions = f"{n_questions} {'question' if n_questions == 1 else 'questions'}"
    return f"{questions} in {len(groups)} {'group' if len(groups) == 1 else 'groups'}" if groups else questions


def _write(output: str, page: str) -> None:
    with replacing(Path(output)) as part:
        part.write_text(page, encoding="utf-8")
