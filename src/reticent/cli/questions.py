"""The questions in files of tallies: their tallies, the estimate of each, and its margins."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from reticent.cli.terminal import hint, note, shares_table
from reticent.domain import Categorical, ProductDomain
from reticent.engines import read_tally
from reticent.errors import FileFormatError
from reticent.estimators import maximum_likelihood, moments, one_step
from reticent.results import Shares
from reticent.tallies import GroupedTally, SupportTally, Tally, WeightedTally
from reticent.tallies.overlap import same_reports

MANY_CATEGORIES = 500
Group = tuple[tuple[str, str], ...]


def by_question(paths: tuple[str, ...], strata: bool = False) -> Iterator[tuple[Group, list[Tally]]]:
    """The tallies of each question and group: those of one channel added up, weighted ones kept apart as strata.

    With `strata` the groups of weighted tallies are strata of one sample, not groups to estimate one by one.
    """
    given: dict[tuple[str, tuple[str, ...], Group], list[tuple[str, Tally]]] = {}
    found: dict[tuple[str, tuple[str, ...], Group], list[Tally]] = {}
    for path in paths:
        for group, tally in _groups(path):
            if strata and not isinstance(tally, WeightedTally):
                raise FileFormatError(f"{path} has no weights; --strata is for tallies made with --weight.")
            domain = tally.channel.domain
            key = (domain.name, domain.categories, () if strata else group)
            _check_new(path, tally, given.setdefault(key, []))
            _add(found.setdefault(key, []), tally)
    _say_which_stay_apart([(name, categories) for name, categories, _ in found])
    for (name, _, group), tallies in found.items():
        if group and not any(tally.n for tally in tallies):
            note(f"{name}{in_words(group)}: no reports; left out.")
            continue
        yield group, tallies


def strata_names(paths: tuple[str, ...], domain: Categorical) -> tuple[str, ...]:
    """The groups of the weighted tallies of a question, as `by_question` reads them as strata, in its order."""
    groups = (group for path in paths for group, tally in _groups(path) if tally.channel.domain == domain)
    return tuple(", ".join(f"{key}: {value or 'empty'}" for key, value in group) for group in groups)


def _say_which_stay_apart(asked: list[tuple[str, tuple[str, ...]]]) -> None:
    """A note for each question that the tallies ask with different lists of categories."""
    lists: dict[str, set[tuple[str, ...]]] = {}
    for name, categories in asked:
        lists.setdefault(name, set()).add(categories)
    for name, different in lists.items():
        if len(different) > 1:
            same = len({frozenset(categories) for categories in different}) == 1
            told = "the same categories in different orders" if same else "different categories"
            note(
                f'"{name}" has {told} in these tallies, and the order belongs to what a report means: they are not added up '
                "but estimated apart. Make designs of one question with one list of categories."
            )


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


def _check_new(path: str, tally: Tally, given: list[tuple[str, Tally]]) -> None:
    """Raises FileFormatError for reports that an earlier file holds too: they are not those of other people."""
    for other, earlier in given:
        if same_reports(earlier, tally):
            raise FileFormatError(
                f"{path} and {other} hold the same reports on {tally.channel.domain.name}; give each of them once."
            )
    given.append((path, tally))


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


def margins_of(shares: Shares) -> list[Shares]:
    """The shares of each question of a table of several, with wald intervals; none for a single question.

    None either above 500 cells, where no covariance is kept, and for support counts, which hold each question by itself.
    """
    if not isinstance(shares.domain, ProductDomain) or shares.covariance is None:
        return []
    counted = {name for one in shares.tallies if isinstance(one, SupportTally) for name in one.columns}
    if all(part.name in counted for part in shares.domain.parts):
        return []
    return [shares.margin(part.name) for part in shares.domain.parts]


def margins_in_lines(margins: list[Shares], confidence_level: float) -> list[str]:
    """The margins of a table as text, with their intervals; no lines without margins."""
    lines = []
    for shares in margins:
        ends = shares.confidence_interval(confidence_level, "wald")
        lines += [f"{shares.domain.name} alone, added up from {shares.margin_of} (wald intervals)"]
        lines += shares_table(shares, ends.low.tolist(), ends.high.tolist())
    return lines


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
