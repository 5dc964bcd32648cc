"""The questions in files of tallies: their tallies, the estimate of each, and the shares that are assumed."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from reticent.channel import Channel
from reticent.cli.terminal import hint, note
from reticent.engines import read_tally
from reticent.errors import FileFormatError
from reticent.estimators import maximum_likelihood, moments, one_step
from reticent.results import Shares
from reticent.tallies import GroupedTally, SupportTally, Tally, WeightedTally

MANY_CATEGORIES = 500
Group = tuple[tuple[str, str], ...]


def by_question(paths: tuple[str, ...], strata: bool = False) -> Iterator[tuple[Group, list[Tally]]]:
    """The tallies of each question and group: those of one channel added up, weighted ones kept apart as strata.

    With `strata` the groups of weighted tallies are strata of one sample, not groups to estimate one by one.
    """
    found: dict[tuple[str, tuple[str, ...], Group], list[Tally]] = {}
    for path in paths:
        for group, tally in _groups(path):
            if strata and not isinstance(tally, WeightedTally):
                raise FileFormatError(f"{path} has no weights; --strata is for tallies made with --weight.")
            domain = tally.channel.domain
            key = (domain.name, domain.categories, () if strata else group)
            _add(found.setdefault(key, []), tally)
    for (name, _, group), tallies in found.items():
        if group and not any(tally.n for tally in tallies):
            note(f"{name}{in_words(group)}: no reports; left out.")
            continue
        yield group, tallies


def _groups(path: str) -> Iterator[tuple[Group, Tally]]:
    """The tallies in one file; support counts of several columns one set of columns after another."""
    loaded = read_tally(path)
    by, groups = (loaded.by, loaded.groups) if isinstance(loaded, GroupedTally) else ((), {(): loaded})
    for values, tally in groups.items():
        group = tuple(zip(by, values, strict=True))
        if isinstance(tally, SupportTally):
            different = [one for one in tally.sets if len({*one}) == len(one)]
            yield from ((group, tally.only(*one)) for one in different)
        else:
            yield group, tally


def _add(tallies: list[Tally], more: Tally) -> None:
    for i, one in enumerate(tallies):
        addable = type(one) is type(more) and not isinstance(more, WeightedTally)
        if addable and one.channel.digest == more.channel.digest:
            tallies[i] = one + more
            return
    tallies.append(more)


def estimated(parts: list[Tally], method: str | None = None) -> Shares:
    """The shares by a method, or by the default for what was counted."""
    if method is None:
        counted = any(isinstance(one, SupportTally) for one in parts)
        method = "moments" if counted or len(parts[0].channel.domain) > MANY_CATEGORIES else "maximum-likelihood"
    estimator = {"maximum-likelihood": maximum_likelihood, "moments": moments, "one-step": one_step}[method]
    return estimator(*parts)


def read_shares(channel: Channel, prior: str | None) -> Any:
    """The shares assumed for a channel's question: equal ones, or those of a JSON file.

    Raises FileFormatError for a file that does not hold them.
    """
    p, name = len(channel.domain), channel.domain.name
    if prior in (None, "uniform"):
        return np.full(p, 1 / p)
    assert prior is not None
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


def title_of(shares: Shares, group: Group = ()) -> str:
    """The heading of a table of shares."""
    return f"{name_of(shares, group)} ({len(shares.domain):,} categories, {shares.n:,} reports)"


def name_of(shares: Shares, group: Group) -> str:
    """The question, and which group answered it."""
    return shares.domain.name + in_words(group)


def in_words(group: Group) -> str:
    """` [region: north]`, or nothing."""
    words = [f"{key}: {value or 'empty'}" for key, value in group]
    return f" [{', '.join(words)}]" if group else ""


def hint_page(tallies: tuple[str, ...]) -> None:
    """The next step: the page."""
    hint("reticent findings " + " ".join(f'"{t}"' if " " in t else t for t in tallies[:3]) + " -o findings.html")


@contextmanager
def said_once() -> Iterator[None]:
    """Python's warnings as notes, once each, except those of a solver, which the commands say themselves."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", UserWarning)
        yield
    for message in dict.fromkeys(str(one.message) for one in told):
        if not message.startswith("The solver stopped"):
            note(f"Warning: {message}")
