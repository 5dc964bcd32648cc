"""Tallies of files of reports: by patterns, with weights, or by supported categories, in bounded memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from reticent.bulk import count_keys
from reticent.channel import Channel, Product, Subset
from reticent.engines.arrow import ArrowEngine
from reticent.engines.duckdb import DuckDBEngine
from reticent.engines.groups import Group, Groups, labelled
from reticent.engines.report_file import Progress, ReportFile, check_rows, keys_from_arrow
from reticent.engines.storage import damage
from reticent.engines.tally_file import AnyTally
from reticent.errors import FileFormatError, ParameterError, TallyError
from reticent.keys import Keys
from reticent.reports import Reports
from reticent.tallies import (
    GroupedTally,
    PatternTally,
    SupportCounts,
    SupportTally,
    Tally,
    WeightedTally,
    complete_sets,
    default_kind,
    sum_by_key,
    tally,
    tally_columns,
)

Kind = Literal["patterns", "support"]
EngineName = Literal["arrow", "duckdb"]
Counted = tuple[dict[Group, Tally], int]
Sets = Sequence[Sequence[str]]

_ENGINES: Mapping[str, Callable[[str], ArrowEngine | DuckDBEngine]] = {"arrow": ArrowEngine, "duckdb": DuckDBEngine}
SQL_BITS = 64
"""Up to so many categories, DuckDB counts supported categories in SQL; above, reports are streamed in batches."""


def tally_files(
    paths: Sequence[str | Path],
    columns: Sequence[str] = (),
    by: Sequence[str] = (),
    *,
    joint: Sequence[str] = (),
    kind: Kind | None = None,
    sets: Sets | None = None,
    weight: str | None = None,
    engine: EngineName = "arrow",
    progress: Progress | None = None,
) -> dict[str, AnyTally]:
    """Tallies of report files, one per question, grouped by the public columns `by` if asked; files add up.

    `columns` names the questions (default: all). `joint` names two or more questions that are counted together, as
    reports of their Product: as patterns, a row that misses one of them is missing; as support, it counts in the block
    of the questions that were answered. `weight` names a public column of positive weights; patterns only.

    `kind` "patterns" counts equal reports, "support" how often each category was supported, and each combination of
    categories of the columns in `sets` (default: each question by itself and, with `joint`, all of them together).
    None takes support if `sets` are given, else patterns for channels of up to 2^20 possible reports, as rt.tally.
    Patterns are counted by the engine. Support is summed in SQL by DuckDB for one question of up to 64 categories by
    itself, and otherwise streamed batch by batch. The integers are the same whatever the engine.

    Raises FileFormatError for files that are not of reports or lack a column, TallyError when a question went through
    different channels in different files or a weight is not a positive number (even where the answer is missing),
    ParameterError for options that contradict each other, and for a file, a question or a public column given twice.
    """
    _check_options(columns, joint, kind, sets, weight, engine)
    _check_once("files", [Path(path).resolve() for path in paths])
    _check_once("columns", columns)
    _check_once("by", by)
    tallies: dict[str, AnyTally] = {}
    for done, path in enumerate(paths):
        description = ReportFile.open(path)
        _check_public(description, [*by, *([weight] if weight is not None else [])])
        ArrowEngine(path).check_types(by)
        ArrowEngine(path).check_types([weight] if weight is not None else [], weights=True)
        questions = [tuple(joint)] if joint else [(name,) for name in columns or description.channels]
        for i, names in enumerate(questions):
            question = _Question(description, names, tuple(by), _ENGINES[engine](description.path))
            counted = question.tally(kind, sets, weight)
            name = question.channel.domain.name
            tallies[name] = _added(tallies[name], counted) if name in tallies else counted
            if progress is not None:
                progress((done + (i + 1) / len(questions)) / len(paths))
    return tallies


@dataclass(frozen=True)
class _Question:
    """One question, or several that are counted together, in one file."""

    description: ReportFile
    names: tuple[str, ...]
    by: tuple[str, ...]
    engine: ArrowEngine | DuckDBEngine

    @cached_property
    def parts(self) -> tuple[Channel, ...]:
        return tuple(self.description.channel(name) for name in self.names)

    @cached_property
    def channel(self) -> Channel:
        return self.parts[0] if len(self.parts) == 1 else Product(self.parts)

    def tally(self, kind: Kind | None, sets: Sets | None, weight: str | None) -> AnyTally:
        """The tally of the file's rows."""
        if weight is None and kind is None:
            kind = "support" if sets is not None else default_kind(self.channel)
        if weight is not None or kind == "patterns":
            groups = self.engine.count([*self.by, *self.names], weight)
            _check_squares(groups)
            with damage(self.description.path):
                counted, rows = self._patterns(groups)
        else:
            complete = complete_sets(self.channel, [self.names] if sets is None and len(self.names) > 1 else sets)
            with damage(self.description.path):
                counted, rows = self._support(complete)
        check_rows(self.description, rows)
        return GroupedTally(self.by, dict(sorted(counted.items()))) if self.by else counted[()]

    def _keys(self, columns: Sequence[Any]) -> tuple[list[Keys], list[NDArray[np.bool_]]]:
        """The keys of each question, and which rows answered it."""
        read = [
            keys_from_arrow(channel, column, self.description.path)
            for channel, column in zip(self.parts, columns, strict=True)
        ]
        return [keys for keys, _ in read], [valid for _, valid in read]

    def _patterns(self, groups: Groups) -> Counted:
        """Tallies of patterns from the engine's groups, and how many rows they hold."""
        keys, valid = self._keys(groups.values[len(self.by) :])
        joint = self.channel.join(keys) if isinstance(self.channel, Product) else keys[0]
        answered = np.logical_and.reduce(valid)
        tallies: dict[Group, Tally] = {}
        for label, rows in labelled(groups.values[: len(self.by)], len(groups)):
            present, absent = rows[answered[rows]], rows[~answered[rows]]
            missing = int(groups.counts[absent].sum())
            distinct, counts = count_keys(joint[present], groups.counts[present])
            told = missing, self.description.simulated
            if groups.weights is None or groups.squares is None:
                tallies[label] = PatternTally(self.channel, distinct, counts, *told)
            else:
                weights, squares = (
                    sum_by_key(distinct, joint[present], of[present]) for of in (groups.weights, groups.squares)
                )
                tallies[label] = WeightedTally(self.channel, distinct, counts, weights, squares, *told)
        return tallies, groups.n

    def _support(self, sets: tuple[Group, ...]) -> Counted:
        """Tallies of supported categories, and how many rows they hold."""
        channel = self.channel
        if isinstance(self.engine, DuckDBEngine) and isinstance(channel, Subset):
            if channel.n_categories <= SQL_BITS and sets == (self.names,):
                return self._support_in_sql(self.engine, channel)
        tallies: dict[Group, Tally] = {} if self.by else {(): SupportTally.empty(channel, sets)}
        rows_read = 0
        for batch in self.engine.batches([*self.by, *self.names]):
            keys, valid = self._keys([batch[name] for name in self.names])
            rows_read += len(valid[0])
            for label, rows in labelled([batch[name] for name in self.by], len(valid[0])):
                parts = zip(self.names, self.parts, keys, valid, strict=True)
                reports = {
                    name: Reports(part, own[rows], given[rows], self.description.simulated)
                    for name, part, own, given in parts
                }
                one = tally_columns(reports, sets) if len(reports) > 1 else tally(reports[self.names[0]], sets=sets)
                tallies[label] = tallies[label] + one if label in tallies else one
        return tallies, rows_read

    def _support_in_sql(self, engine: DuckDBEngine, channel: Subset) -> Counted:
        n_bits = channel.n_categories
        groups = engine.count_bits(self.names[0], n_bits, list(channel.size_law()), self.by)
        position = groups.values[-1].to_numpy()
        tallies: dict[Group, Tally] = {}
        for label, rows in labelled(groups.values[:-1], len(groups)):
            totals = _sums(position[rows] + 1, groups.counts[rows], n_bits + 2)
            missing, counts, n = int(totals[0]), totals[1:-1], int(totals[-1])
            blocks = {self.names: SupportCounts(n, {self.names: counts})} if n else {}
            tallies[label] = SupportTally(channel, (self.names,), blocks, missing, self.description.simulated)
        return tallies, int(groups.counts[(position == -1) | (position == n_bits)].sum())


def _sums(places: NDArray[np.int64], counts: NDArray[np.int64], length: int) -> NDArray[np.int64]:
    totals = np.zeros(length, dtype=np.int64)
    np.add.at(totals, places, counts)
    return totals


def _added(one: AnyTally, other: AnyTally) -> AnyTally:
    if isinstance(one, GroupedTally):
        return one + other
    return one + other


def _check_once(what: str, given: Sequence[object]) -> None:
    """Raises ParameterError when something is given twice, as it would be counted twice."""
    twice = [str(one) for one, times in Counter(given).items() if times > 1]
    if twice:
        raise ParameterError(f"{what} names {', '.join(twice)} twice; give each once.")


def _check_squares(groups: Groups) -> None:
    """Raises TallyError when sums of squared weights are beyond floating-point numbers."""
    if groups.squares is not None and not (np.isfinite(groups.squares) & (groups.squares > 0)).all():
        raise TallyError("The weights are too large or too small to be squared; divide them by their mean.")


def _check_public(description: ReportFile, columns: Sequence[str]) -> None:
    for name in columns:
        if name not in description.public:
            kept = ", ".join(f'"{column}"' for column in description.public) or "none"
            raise FileFormatError(f'{description.path} has no public column "{name}"; kept were: {kept}.', column=name)


def _check_options(
    columns: Sequence[str], joint: Sequence[str], kind: str | None, sets: Sets | None, weight: str | None, engine: str
) -> None:
    """Raises ParameterError for options that are not known or contradict each other."""
    if engine not in _ENGINES:
        raise ParameterError(f'engine is {engine!r}; allowed: "arrow", "duckdb".')
    if kind not in (None, "patterns", "support"):
        raise ParameterError(f'kind is {kind!r}; allowed: "patterns", "support".')
    if joint and columns:
        raise ParameterError("columns and joint exclude each other: joint questions make one tally of their own.")
    if joint and len({*joint}) < max(2, len(joint)):
        raise ParameterError("joint takes two or more different questions.")
    if weight is not None and (kind == "support" or sets is not None):
        raise ParameterError("Weights are summed by patterns; leave out kind and sets, or the weight.")
    if sets is not None and kind == "patterns":
        raise ParameterError('sets belong to kind="support".')
