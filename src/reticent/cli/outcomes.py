"""`reticent estimate`, `leakage`, `findings` and `demo`: what the reports say, and what they gave away."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import click
import numpy as np

from reticent import demo as demonstration
from reticent import findings as pages
from reticent.channel import Channel
from reticent.cli.terminal import hint, note, print_json, shares_table
from reticent.design import Design
from reticent.engines import read_tally, replacing
from reticent.errors import FileFormatError, TallyError
from reticent.estimators import maximum_likelihood, moments, one_step
from reticent.findings.sections import section
from reticent.measures import Leakage
from reticent.measures import leakage as measure_leakage
from reticent.results import Method, Shares
from reticent.tallies import GroupedTally, PatternTally

MANY_CATEGORIES = 500
Group = tuple[tuple[str, str], ...]
tally_argument = click.argument("tallies", nargs=-1, required=True, type=click.Path(dir_okay=False))
level_option = click.option(
    "--confidence-level", type=click.FloatRange(0, 1, min_open=True, max_open=True), default=0.95, show_default=True
)
interval_option = click.option(
    "--interval",
    type=click.Choice(["profile", "score", "clopper-pearson", "wald"]),
    help="Default: profile, or what suits the method and the size.",
)


@click.command()
@tally_argument
@click.option(
    "--method",
    type=click.Choice(["maximum-likelihood", "moments", "one-step"]),
    help="Default: maximum-likelihood; moments above 500 categories.",
)
@level_option
@interval_option
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
@click.pass_context
def estimate(
    ctx: click.Context,
    tallies: tuple[str, ...],
    method: str | None,
    confidence_level: float,
    interval: str | None,
    as_json: bool,
) -> None:
    """Estimate the shares in the population, with their intervals.

    Tallies of one question are read together, also when they went through different channels. Exits with 1 when an
    estimate is not converged or not unique.
    """
    documents, good = [], True
    for group, parts in _by_question(tallies):
        with _said_once():
            shares = _estimate(parts, method)
            ends = shares.confidence_interval(confidence_level, cast("Method | None", interval))
        good &= shares.converged and shares.unique is not False
        if as_json:
            documents.append({"group": dict(group), **shares.to_json(confidence_level, cast("Method", ends.method))})
            continue
        click.echo(_title(shares, group))
        click.echo("\n".join(shares_table(shares, ends.low.tolist(), ends.high.tolist())))
        missing = f"; {shares.missing:,} missing answers are not in the shares" if shares.missing else ""
        click.echo(
            f"  Shares in the population, from {shares.n:,} reports, with {100 * confidence_level:.4g}% intervals "
            f"({ends.method}){missing}."
        )
    if as_json:
        print_json(documents)
    _hint_page(tallies)
    if not good:
        note("Check failed: an estimate is not converged or not unique; do not rely on its shares (see --json).")
        ctx.exit(1)


@click.command()
@click.argument("file", type=click.Path(dir_okay=False))
@click.option(
    "--prior", help='"uniform", or a JSON file of shares. Default: estimated from a tally, uniform for a design.'
)
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def leakage(file: str, prior: str | None, as_json: bool) -> None:
    """Measure what one report gives away, for a design or for the tally in FILE."""
    documents = []
    for channel, tally in _channels(file):
        with _said_once():
            known = _prior(channel, tally, prior)
            measured = measure_leakage(channel, known)
        if as_json:
            documents.append(measured.to_json())
        else:
            source = (
                "estimated shares"
                if isinstance(known, Shares)
                else "equal shares"
                if prior in (None, "uniform")
                else prior
            )
            click.echo(f"{measured.summary()}\n\nShares assumed: {source}.\n")
    if as_json:
        print_json(documents)
    if file.endswith(".parquet"):
        _hint_page((file,))


@click.command()
@tally_argument
@click.option("-o", "--output", type=click.Path(dir_okay=False), default="findings.html", show_default=True)
@click.option("--title", default="Findings", show_default=True)
@level_option
@interval_option
@click.option("--json", "as_json", is_flag=True, help="Print what the page says as JSON.")
@click.pass_context
def findings(
    ctx: click.Context,
    tallies: tuple[str, ...],
    output: str,
    title: str,
    confidence_level: float,
    interval: str | None,
    as_json: bool,
) -> None:
    """Write one page: the shares, what a report gave away, what was not protected."""
    sections, good = [], True
    for group, parts in _by_question(tallies):
        with _said_once():
            shares = _estimate(parts)
            ends = shares.confidence_interval(confidence_level, cast("Method | None", interval))
            sections.append(section(shares, ends, name=_name(shares, group), public=[key for key, _ in group]))
        good &= shares.converged and shares.unique is not False
    _write(output, pages.render(sections, title))
    if as_json:
        print_json({"file": output, "title": title, "sections": sections})
    else:
        click.echo(f"{output}: {len(sections)} {'question' if len(sections) == 1 else 'questions'}")
    if not good:
        note("Check failed: an estimate is not converged or not unique; the page says which.")
        ctx.exit(1)


@click.command()
@click.option("-o", "--output", type=click.Path(dir_okay=False), default="reticent-demo.html", show_default=True)
@click.option("--seed", help="Repeatable coins instead of those of the operating system.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def demo(output: str, seed: str | None, as_json: bool) -> None:
    """Privatise a real table, estimate its shares from the reports, and set them against the truth."""
    note("Privatising race, sex, education and income of 32,561 people, then estimating from the reports alone …")
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
            low, high = question.interval.low.tolist(), question.interval.high.tolist()
            click.echo(f"{_title(question.shares)}, by {question.channel.name}")
            click.echo("\n".join(shares_table(question.shares, low, high, question.truth.tolist())))
            click.echo(given_away_line(question.given_away) + "\n")
        click.echo(
            "95% intervals for the population these people were drawn from; the truth is that of these people, "
            "and only a demonstration can know it. About 1 interval in 20 misses."
        )
        click.echo(f"The findings, with pictures: {Path(output).resolve()}")
    hint("reticent design --column QUESTION --category A --category B …")


def given_away_line(measured: Leakage) -> str:
    """What one report gave away, in a sentence."""
    information, guess = measured["mutual_information"], measured["prediction"]
    return (
        f"  One report gives away {information.value:.2f} of {information.ceiling:.2f} bits; a best guess is right "
        f"{guess.value:.0%} of the time ({guess.floor:.0%} without any report)."
    )


def _by_question(paths: tuple[str, ...]) -> Iterator[tuple[Group, list[PatternTally]]]:
    """The tallies of each question and group, those of one channel added up."""
    found: dict[tuple[str, tuple[str, ...], Group], dict[str, PatternTally]] = {}
    for path in paths:
        loaded = read_tally(path)
        by = loaded.by if isinstance(loaded, GroupedTally) else ()
        groups = loaded.groups if isinstance(loaded, GroupedTally) else {(): loaded}
        for values, tally in groups.items():
            domain = tally.channel.domain
            key = (domain.name, domain.categories, tuple(zip(by, values, strict=True)))
            channels = found.setdefault(key, {})
            digest = tally.channel.digest
            channels[digest] = channels[digest] + tally if digest in channels else tally
    for (name, _, group), tallies in found.items():
        if group and not any(tally.n for tally in tallies.values()):
            note(f"{name}{_in_words(group)}: no reports; left out.")
            continue
        yield group, list(tallies.values())


def _estimate(parts: list[PatternTally], method: str | None = None) -> Shares:
    domain = parts[0].channel.domain
    if method is None:
        method = "moments" if len(domain) > MANY_CATEGORIES and len(parts) == 1 else "maximum-likelihood"
    if method == "maximum-likelihood":
        return maximum_likelihood(*parts)
    if len(parts) > 1:
        raise TallyError(
            f'"{domain.name}" went through {len(parts)} channels; only --method maximum-likelihood reads them together.'
        )
    return moments(parts[0]) if method == "moments" else one_step(parts[0])


def _channels(file: str) -> Iterator[tuple[Channel, PatternTally | None]]:
    if file.endswith(".parquet"):
        loaded = read_tally(file)
        total = loaded.total() if isinstance(loaded, GroupedTally) else loaded
        yield total.channel, total
    else:
        yield from ((channel, None) for channel in Design.load(file).columns.values())


def _prior(channel: Channel, tally: PatternTally | None, prior: str | None) -> Any:
    p, name = len(channel.domain), channel.domain.name
    if prior == "uniform" or (prior is None and tally is None):
        return np.full(p, 1 / p)
    if prior is None:
        assert tally is not None
        return _estimate([tally])
    try:
        document = json.loads(Path(prior).read_text(encoding="utf-8"))
    except ValueError:
        raise FileFormatError(
            f"{prior} is not JSON; a prior is an object of label: share, or `reticent estimate --json`."
        ) from None
    if isinstance(document, list):  # reticent estimate --json
        document = next((item for item in document if isinstance(item, dict) and item.get("question") == name), None)
    if isinstance(document, dict) and "shares" in document:
        try:
            document = {row["category"]: row["share"] for row in document["shares"]}
        except (TypeError, KeyError):
            document = None
    elif isinstance(document, dict) and isinstance(document.get(name), dict):
        document = document[name]
    if not isinstance(document, dict):
        raise FileFormatError(f'{prior} has no shares for "{name}".')
    return document


def _title(shares: Shares, group: Group = ()) -> str:
    return f"{_name(shares, group)} ({len(shares.domain):,} categories, {shares.n:,} reports)"


def _name(shares: Shares, group: Group) -> str:
    return shares.domain.name + _in_words(group)


def _in_words(group: Group) -> str:
    words = [f"{key}: {value or 'empty'}" for key, value in group]
    return f" [{', '.join(words)}]" if group else ""


def _hint_page(tallies: tuple[str, ...]) -> None:
    hint("reticent findings " + " ".join(f'"{t}"' if " " in t else t for t in tallies[:3]) + " -o findings.html")


def _write(output: str, page: str) -> None:
    with replacing(Path(output)) as part:
        part.write_text(page, encoding="utf-8")


@contextmanager
def _said_once() -> Iterator[None]:
    """Python's warnings about a solver repeat what the commands say themselves."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield
