"""Counting reports into tallies. Order and partition of the reports never change a count."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reticent.bulk import count_keys
from reticent.channel import Channel, Product
from reticent.channel.channel import MAX_LISTED
from reticent.domain.categorical import is_missing
from reticent.errors import TallyError
from reticent.keys import Keys
from reticent.reports import Reports
from reticent.tallies.addition import Tally
from reticent.tallies.grouped import GroupedTally
from reticent.tallies.pattern import PatternTally
from reticent.tallies.support import (
    Columns,
    Integers,
    SupportCounts,
    SupportTally,
    complete_sets,
    counts_support,
    parts_of,
    sets_within,
)
from reticent.tallies.weighted import WeightedTally, sum_by_key

Kind = Literal["patterns", "support"]
SomeWeights = NDArray[np.float64] | Sequence[float]
Sets = Iterable[Sequence[str]]
BATCH_CELLS = 2**24
BYTE_SUM_ROWS = 255  # so many zeros and ones add up within a byte


def default_kind(channel: Channel) -> Kind:
    """What `tally` counts for a channel: patterns up to 2^20 possible reports, else support where that is enough."""
    return "support" if channel.n_reports > MAX_LISTED and counts_support(channel) else "patterns"


@overload
def tally(reports: Reports, *, kind: Literal["patterns"]) -> PatternTally: ...


@overload
def tally(reports: Reports, *, kind: Literal["support"], sets: Sets | None = None) -> SupportTally: ...


@overload
def tally(reports: Reports, *, weights: SomeWeights) -> WeightedTally: ...


@overload
def tally(
    reports: Reports, *, kind: Kind | None = None, sets: Sets | None = None, weights: ArrayLike | None = None
) -> Tally: ...


def tally(
    reports: Reports, *, kind: Kind | None = None, sets: Sets | None = None, weights: ArrayLike | None = None
) -> Tally:
    """Count reports. Order and partition of the reports never change a result.

    `kind` "patterns" counts equal reports (PatternTally); "support" counts the reports that support each category, and
    each combination in the listed `sets` of columns (SupportTally). Default: patterns while at most 2^20 reports are
    possible, a property of the channel, so that tallies of one channel always add. `weights`, one positive number per
    report, make a WeightedTally; those of missing answers are not read.

    Raises TallyError for weights that are not positive and finite or not one per report, and for support of a channel
    without constant support rates.

    >>> import reticent as rt
    >>> channel = rt.uniform_subset(rt.Categorical("letter", ["a", "b", "c", "d"]))
    >>> reports = channel.draw_many(["a"] * 100, seed=1)
    >>> rt.tally(reports).n, int(rt.tally(reports, kind="support").support("letter")[1][0])
    (100, 100)
    """
    _check_reports(reports)
    if kind not in (None, "patterns", "support"):
        raise TallyError(f'kind is {kind!r}; allowed: "patterns", "support".')
    if weights is not None:
        if kind == "support" or sets is not None:
            raise TallyError("Weighted tallies count patterns; leave out kind and sets, or the weights.")
        return _weighted(reports, weights)
    if sets is not None and kind == "patterns":
        raise TallyError('sets belong to kind="support".')
    kind = kind or ("support" if sets is not None else default_kind(reports.channel))
    if kind == "patterns":
        return PatternTally(reports.channel, *count_keys(reports.present), reports.missing, reports.simulated)
    channel, present = reports.channel, reports.present
    complete = complete_sets(channel, sets)
    parts = channel.split(present) if isinstance(channel, Product) else [present]
    names = tuple(part.domain.name for part in parts_of(channel))
    blocks = {names: count_support(channel, names, parts, complete)} if len(present) else {}
    return SupportTally(channel, complete, blocks, reports.missing, reports.simulated)


def tally_by(
    reports: Reports,
    by: Mapping[str, Iterable[object]],
    *,
    kind: Kind | None = None,
    sets: Sets | None = None,
    weights: ArrayLike | None = None,
) -> GroupedTally:
    """A tally for each combination of public columns, given by name with one value per report.

    The label of a group is the text of its values, "" where a value is missing, as in files. `kind`, `sets` and `weights`
    as in `tally`. Raises TallyError when a column is a single text or does not have one value per report.
    """
    _check_reports(reports)
    columns = [_labels(name, values) for name, values in by.items()]
    for name, column in zip(by, columns, strict=True):
        if len(column) != len(reports):
            raise TallyError(f'Column "{name}" has {len(column)} values for {len(reports)} reports.')
    heavy = None if weights is None else _one_each(reports, weights)
    listed = None if sets is None else list(sets)
    members: dict[tuple[str, ...], list[int]] = {}
    for position, group in enumerate(zip(*columns, strict=True)):
        members.setdefault(group, []).append(position)
    groups = {}
    for group, positions in sorted(members.items()):
        valid = None if reports.valid is None else reports.valid[positions]
        own = Reports(reports.channel, reports.keys[positions], valid, reports.simulated)
        groups[group] = tally(own, kind=kind, sets=listed, weights=None if heavy is None else heavy[positions])
    return GroupedTally(tuple(by), groups)


def tally_columns(reports: Mapping[str, Reports], sets: Sets | None = None) -> SupportTally:
    """Support counts of several columns of the same people, over the product of their channels.

    `reports` by column name, one report per person in each. Every column is counted by itself, and the listed `sets`:
    ("race", "sex") for combinations of two columns, ("race", "race") for pairs of categories. People are kept apart by
    which columns they answered; `missing` counts those who answered none.

    Raises TallyError for columns of different lengths, a name that is not the question's, or a channel without constant
    support rates.

    >>> from reticent.domain import Categorical
    >>> from reticent.mechanisms import uniform_subset
    >>> letters = list("abcd")
    >>> columns = {name: uniform_subset(Categorical(name, letters)).draw_many(letters, seed=name) for name in "xy"}
    >>> tally_columns(columns, sets=[("x", "y")]).support("x", "y")[1].shape
    (4, 4)
    """
    if not reports:
        raise TallyError("tally_columns needs at least one column of reports.")
    for name, column in reports.items():
        _check_reports(column)
        if name != column.channel.domain.name:
            raise TallyError(f'Column "{name}" holds reports on "{column.channel.domain.name}"; use that name.')
    n = len(next(iter(reports.values())))
    if any(len(column) != n for column in reports.values()):
        raise TallyError("The columns differ in length; tally_columns needs one report of each from every person.")
    columns = list(reports.values())
    channel = columns[0].channel if len(columns) == 1 else Product([column.channel for column in columns])
    complete = complete_sets(channel, sets)
    valid = np.array([np.ones(n, np.bool_) if one.valid is None else one.valid for one in columns])
    blocks: dict[Columns, SupportCounts] = {}
    patterns, place = np.unique(valid, axis=1, return_inverse=True)
    for i, pattern in enumerate(patterns.T):
        if not pattern.any():
            continue
        rows = np.flatnonzero(place.ravel() == i)
        answered = [column for column, given in zip(columns, pattern, strict=True) if given]
        names = tuple(column.channel.domain.name for column in answered)
        blocks[names] = count_support(channel, names, [column.keys[rows] for column in answered], complete)
    missing, simulated = int((~valid.any(axis=0)).sum()), any(column.simulated for column in columns)
    return SupportTally(channel, complete, blocks, missing, simulated)


def count_support(channel: Channel, answered: Columns, keys: Sequence[Keys], sets: Sequence[Columns]) -> SupportCounts:
    """The support counts of people who answered these columns, `keys` one array per column, in batches of people.

    Zeros and ones are added within bytes, and multiplied as float32 in batches of fewer than 2^24 people: exact.
    """
    by_name = {part.domain.name: part for part in parts_of(channel)}
    parts = [by_name[name] for name in answered]
    wanted = sets_within(sets, answered)
    totals = {columns: np.zeros([by_name[name].n_categories for name in columns], dtype=np.int64) for columns in wanted}
    n = len(keys[0])
    batch = BYTE_SUM_ROWS * max(1, BATCH_CELLS // (BYTE_SUM_ROWS * sum(part.n_categories for part in parts)))
    for first in range(0, n, batch):
        rows = slice(first, first + batch)
        supports = {part.domain.name: part.support(column[rows]) for part, column in zip(parts, keys, strict=True)}
        for columns, total in totals.items():
            total += _together([supports[name] for name in columns])
    return SupportCounts(n, totals)


def _together(supports: Sequence[NDArray[np.bool_]]) -> Integers:
    """How many rows support each combination, one axis per column."""
    if len(supports) == 1:
        return column_sums(supports[0])
    shape = [one.shape[1] for one in supports]
    total = np.zeros((int(np.prod(shape[:-1])), shape[-1]), dtype=np.int64)
    step = max(1, BATCH_CELLS // total.shape[0])
    for first in range(0, len(supports[0]), step):
        left, *rest = (one[first : first + step].astype(np.float32) for one in supports)
        *middle, last = rest
        for one in middle:
            left = (left[:, :, None] * one[:, None, :]).reshape(len(one), -1)
        total += (left.T @ last).astype(np.int64)
    return total.reshape(shape)


def column_sums(support: NDArray[np.bool_]) -> Integers:
    """How many rows hold each column, shape `(n_columns,)`."""
    zeros_and_ones = np.ascontiguousarray(support).view(np.uint8)
    n_whole = len(zeros_and_ones) // BYTE_SUM_ROWS * BYTE_SUM_ROWS
    whole = zeros_and_ones[:n_whole].reshape(-1, BYTE_SUM_ROWS, support.shape[1])
    sums = np.concatenate(
        [whole.sum(axis=1, dtype=np.uint8), zeros_and_ones[n_whole:].sum(axis=0, dtype=np.uint8)[None]]
    )
    return np.asarray(sums.sum(axis=0, dtype=np.int64))


def _weighted(reports: Reports, weights: ArrayLike) -> WeightedTally:
    given = _one_each(reports, weights)
    if reports.valid is not None:
        given = given[reports.valid]
    bad = int((~(np.isfinite(given) & (given > 0))).sum())
    if bad:
        raise TallyError(
            f"{bad} of {len(given)} weights are zero, negative, infinite or missing. Give every report a positive weight; "
            "leave out the reports of people who are not part of the sample."
        )
    present = reports.present
    keys, counts = count_keys(present)
    with np.errstate(over="ignore", under="ignore"):  # refused below
        squares = sum_by_key(keys, present, given**2)
    if not np.isfinite(squares).all() or not (squares > 0).all():
        raise TallyError("The weights are too large or too small to be squared; divide them by their mean.")
    sums = sum_by_key(keys, present, given)
    return WeightedTally(reports.channel, keys, counts, sums, squares, reports.missing, reports.simulated)


def _one_each(reports: Reports, weights: ArrayLike) -> NDArray[np.float64]:
    try:
        given = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise TallyError("The weights must be numbers, one per report.") from None
    if given.shape != (len(reports),):
        raise TallyError(f"Weights of shape {given.shape} for {len(reports)} reports; give one number per report.")
    return given


def _labels(name: str, values: object) -> list[str]:
    """The values of a public column as text, "" where there is none."""
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise TallyError(f'Column "{name}" is a single value; give a list or a column with one value per report.')
    column = values.to_pylist() if hasattr(values, "to_pylist") else values  # Arrow
    return ["" if is_missing(value) else str(value) for value in column]


def _check_reports(reports: object) -> None:
    if not isinstance(reports, Reports):
        raise TallyError(
            f"tally counts Reports, not {type(reports).__name__}; make them with channel.draw_many(answers)."
        )
