"""Transformed: a channel on g(Y), read as a channel on Y.

Letters of section 1.6 of our specification of interval privacy: Y = the answer, g(Y) = what the channel is about, B = the
set a report says g(Y) is in, g⁻¹(B) = the set it says Y is in.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.channel.channel import Channel, channel_from_json, check_title, integer_from_json, json_integer
from reticent.channel.cuts import Arc, Integers
from reticent.choose import Source, Words
from reticent.domain import Categorical, Numbers, ProductDomain, domain_from_json
from reticent.errors import ChannelError, ReportError
from reticent.keys import Keys, keys_from_integers
from reticent.reports import Reports
from reticent.rows import DenseRows, Rows, StackedRows
from reticent.rows.runs import ExtraRuns, RunRows

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Transformed(Channel, kind="transformed"):
    """Report g(Y) through the channel `inner`; cell x of Y is the cell cells[x] of g(Y).

        P(z | y) = P(z | g(y));   the set of a report is g⁻¹(B), on the scale of Y a union of runs of cells.

    Keys are those of `inner`. For reports of ranges the coverage of Y is that of g(Y) under the law that the law of Y
    gives it (`pushed`), and a disclosed value of g(Y) discloses all the values of Y that have it.

    Source: Ding and Ding, Interval Privacy; section 1.6 of our specification (transformation).
    Raises ChannelError unless `cells` names one cell of g(Y) for every cell of Y, and names each of them; and for a
    question that is a product of questions.

    >>> from reticent.channel.cuts import IndependentCuts
    >>> from reticent.channel.ranges import Ranges
    >>> distance = Numbers("distance from 2", 0, 2, step=1)
    >>> channel = Transformed(Ranges(distance, IndependentCuts((1, 1), 1)), Numbers("x", 0, 4, step=1), (2, 1, 0, 1, 2))
    >>> [channel.describe(int(key)) for key in channel.keys()]
    ['2', '(0, 3]', 'up to 1 or above 2', '0 or 4']
    """

    inner: Channel
    domain: Categorical
    cells: tuple[int, ...]
    title: str = "transformation"

    def __post_init__(self) -> None:
        check_title(self.title)
        for domain in (self.inner.domain, self.domain):
            if isinstance(domain, ProductDomain):
                raise ChannelError(f'"{domain.name}" is several questions; a transformation is of one question.')
        n_inner = self.inner.n_categories
        if len(self.cells) != len(self.domain):
            raise ChannelError(
                f'"{self.domain.name}" has {len(self.domain)} cells and {len(self.cells)} cells of '
                f'"{self.inner.domain.name}" are given; give one for each.'
            )
        if min(self.cells) < 0 or max(self.cells) >= n_inner:
            raise ChannelError(
                f'The cells of "{self.inner.domain.name}" are numbered 0 to {n_inner - 1}; given are {min(self.cells)} to '
                f"{max(self.cells)}."
            )
        unreached = sorted({*range(n_inner)} - {*self.cells})
        if unreached:
            label = self.inner.domain.categories[unreached[0]]
            raise ChannelError(
                f'Nobody can be in the cell "{label}" of "{self.inner.domain.name}": no cell of "{self.domain.name}" goes '
                f"there ({len(unreached)} such cells). Leave it out, or join it with a neighbour.",
                unreached=unreached,
            )

    @property
    def name(self) -> str:
        return self.title

    # --- the map -------------------------------------------------------------------------------------------------
    @cached_property
    def _codes(self) -> Integers:
        return np.array(self.cells, dtype=np.int64)

    @cached_property
    def sharing(self) -> Integers:
        """How many cells of Y go to each cell of g(Y), shape `(inner.n_categories,)`."""
        return np.bincount(self._codes, minlength=self.inner.n_categories).astype(np.int64)

    def pushed(self, shares: Floats) -> Floats:
        """The shares of the cells of g(Y) when those of Y are `shares`, shape `(inner.n_categories,)`."""
        return np.asarray(np.bincount(self._codes, shares, self.inner.n_categories), dtype=np.float64)

    def pulled(self, values: NDArray[Any]) -> NDArray[Any]:
        """Values by cell of g(Y), read for each cell of Y: the last axis changes."""
        return values[..., self._codes]

    @cached_property
    def unresolved(self) -> tuple[str, ...]:
        """The cells of Y whose shares reports cannot tell apart: those that share a cell of g(Y) that is told, and those
        whose cell is not told by the channel itself."""
        own = {*getattr(self.inner, "unresolved", ())}
        told = [
            many == 1 and label not in own
            for label, many in zip(self.inner.domain.categories, self.sharing.tolist(), strict=True)
        ]
        pairs = zip(self.domain.categories, self.cells, strict=True)
        return tuple(label for label, cell in pairs if not told[cell])

    def as_inner(self, reports: Reports) -> Reports:
        """The same reports as reports about g(Y), whose law they tell also where they do not tell that of Y.

        Raises ReportError for reports of another channel.
        """
        if reports.channel != self:
            raise ReportError(f"These reports come from {reports.channel.name}, not from {self.name}.")
        return Reports(self.inner, reports.keys, reports.valid, reports.simulated)

    # --- sets ----------------------------------------------------------------------------------------------------
    @cached_property
    def _stretches(self) -> list[tuple[int, Integers, bool]]:
        """Stretches of cells along which g does not turn: the first cell, the cells of g(Y), whether they ascend."""
        codes, starts, way = self._codes, [0], 0
        for x, step in enumerate(np.sign(np.diff(codes)).tolist(), 1):
            if way * step < 0:
                starts.append(x)
                way = 0
            else:
                way = way or step
        pieces = [codes[start:stop] for start, stop in zip(starts, [*starts[1:], len(codes)], strict=True)]
        return [(start, piece, bool(piece[0] <= piece[-1])) for start, piece in zip(starts, pieces, strict=True)]

    def _pulled_runs(self, row: Integers, first: Integers, stop: Integers) -> tuple[Integers, Integers, Integers]:
        """Runs of cells of g(Y) as runs of cells of Y: row, first and stop of each, ascending, neighbours joined."""
        found = []
        for start, codes, up in self._stretches:
            length, ascending = len(codes), codes if up else codes[::-1]
            low, high = np.searchsorted(ascending, first), np.searchsorted(ascending, stop)
            found.append((row, start + low, start + high) if up else (row, start + length - high, start + length - low))
        row, first, stop = (np.concatenate(part) for part in zip(*found, strict=True))
        kept = first < stop
        row, first, stop = row[kept], first[kept], stop[kept]
        order = np.lexsort((first, row))
        row, first, stop = row[order], first[order], stop[order]
        begins = np.append(True, (row[1:] != row[:-1]) | (first[1:] != stop[:-1]))[: len(row)]
        ends = np.append(begins[1:], True)[: len(row)]
        return row[begins], first[begins], stop[ends]

    def _pulled_back(self, rows: Rows) -> Rows:
        if isinstance(rows, StackedRows):
            return StackedRows([self._pulled_back(part) for part in rows.parts])
        if not isinstance(rows, RunRows):
            return DenseRows(self.pulled(rows.dense()))
        row, first, stop = np.arange(rows.n_rows), rows.first, rows.stop
        if rows.extra is not None:
            row = np.concatenate([row, rows.extra.row])
            first, stop = np.concatenate([first, rows.extra.first]), np.concatenate([stop, rows.extra.stop])
        row, first, stop = self._pulled_runs(row, first, stop)
        again = np.append(False, row[1:] == row[:-1])[: len(row)]
        main = np.zeros((2, rows.n_rows), dtype=np.int64)
        main[:, row[~again]] = first[~again], stop[~again]
        extra = ExtraRuns(row[again], first[again], stop[again])
        return RunRows(main[0], main[1], len(self.domain), extra, rows.factor)

    def pieces(self, key: int) -> list[Arc]:
        """The cells of Y that can lead to a report, as runs of neighbouring cells, ascending."""
        held = np.append(self._row(key) > 0, False)
        turns = np.flatnonzero(np.diff(held, prepend=False))
        return list(zip(turns[::2].tolist(), turns[1::2].tolist(), strict=True))

    def _row(self, key: int) -> Floats:
        """P(report | y) up to a factor, shape `(n_categories,)`."""
        return np.asarray(self.rows(keys_from_integers([key], self.key_bits)).dense()[0])

    # --- the law -------------------------------------------------------------------------------------------------
    @property
    def n_reports(self) -> int:
        return self.inner.n_reports

    @property
    def key_bits(self) -> int:
        return self.inner.key_bits

    def draw_public(self, source: Source) -> int:
        return self.inner.draw_public(source)

    def draw_cell(self, x: int, public: int, source: Source) -> int:
        return self.inner.draw_cell(self.cells[x], public, source)

    def n_cells(self, public: int) -> int:
        return self.inner.n_cells(public)

    def key(self, public: int, cell: int) -> int:
        return self.inner.key(public, cell)

    def draw_keys(self, codes: NDArray[np.int64], words: Words) -> Keys:
        return self.inner.draw_keys(self._codes[codes], words)

    def exact_row(self, key: int) -> tuple[Fraction, ...]:
        row = self.inner.exact_row(key)
        return tuple(row[cell] for cell in self.cells)

    def likelihood(self, keys: Keys) -> Floats:
        return np.asarray(self.pulled(self.inner.likelihood(keys)))

    def rows(self, keys: Keys) -> Rows:
        """Runs of cells where those of the channel inside are, with further runs where g turns; else a matrix."""
        return self._pulled_back(self.inner.rows(keys))

    def possible(self, keys: Keys) -> NDArray[np.bool_]:
        return self.inner.possible(keys)

    def _listed_keys(self) -> Keys:
        return self.inner.keys()

    @property
    def likelihood_ratio(self) -> Fraction | None:
        return self.inner.likelihood_ratio

    # --- as a document -------------------------------------------------------------------------------------------
    def describe(self, key: int) -> str:
        """The set of Y as a union of ranges or categories; where a report is no set, what the channel inside says."""
        row = self._row(key)
        chances = {*row[row > 0].tolist()}
        if len(chances) != 1 or (row > 0).all():
            return self.inner.describe(key)
        if isinstance(self.domain, Numbers):
            return " or ".join(self.domain.label(first, stop) for first, stop in self.pieces(key))
        return "{" + ", ".join(label for label, p in zip(self.domain.categories, row, strict=True) if p) + "}"

    def law_json(self) -> dict[str, Any]:
        cells = [json_integer(cell) for cell in self.cells]
        return {"kind": "transformed", "title": self.title, "inner": self.inner.to_json(), "cells": cells}

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Transformed:
        """The channel that `to_json` wrote."""
        cells = document["cells"]
        if not isinstance(cells, list):
            raise ChannelError("The cells of a transformation are a list of whole numbers.")
        return cls(
            channel_from_json(document["inner"]),
            domain_from_json(document["domain"]),
            tuple(integer_from_json(cell) for cell in cells),
            document.get("title", "transformation"),
        )
