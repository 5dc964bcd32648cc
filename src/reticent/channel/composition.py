"""Composition: one channel's report is the next one's answer, P(z | x) = Σ_y P(z | y) P(y | x)."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.channel.channel import Channel, channel_from_json
from reticent.channel.table import Table
from reticent.choose import Source, Words
from reticent.domain import Categorical
from reticent.errors import ChannelError
from reticent.keys import Keys, integers_from_keys


@dataclass(frozen=True, eq=False, repr=False)
class Composition(Channel, kind="composition"):
    """A private table first, then a channel over its reports. The table's coins are never sent."""

    first: Table
    second: Channel
    title: str = "composition"
    domain: Categorical = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "domain", self.first.domain)
        if self.second.domain.categories != self.first.reports:
            raise ChannelError(
                f"The first channel has {self.first.n_reports} reports, the second {self.second.n_categories} categories; "
                "they must be the same labels in the same order.",
                reports=self.first.reports,
            )

    @property
    def name(self) -> str:
        return self.title

    @property
    def n_reports(self) -> int:
        return self.second.n_reports

    @property
    def key_bits(self) -> int:
        return self.second.key_bits

    def draw_public(self, source: Source) -> int:
        return self.second.draw_public(source)

    def n_cells(self, public: int) -> int:
        return self.second.n_cells(public)

    def key(self, public: int, cell: int) -> int:
        return self.second.key(public, cell)

    def draw_cell(self, x: int, public: int, source: Source) -> int:
        return self.second.draw_cell(self.first.draw_cell(x, 0, source), public, source)

    def draw_keys(self, codes: NDArray[np.int64], words: Words) -> Keys:
        return self.second.draw_keys(self.first.draw_keys(codes, words).astype(np.int64), words)

    @cached_property
    def _first_matrix(self) -> NDArray[np.float64]:
        return self.first.matrix()

    def exact_row(self, key: int) -> tuple[Fraction, ...]:
        second = self.second.exact_row(key)
        total = [Fraction(0)] * len(self.domain)
        for y, weight in enumerate(second):
            if weight:
                total = [t + weight * p for t, p in zip(total, self.first.exact_row(y), strict=True)]
        return tuple(total)

    def likelihood(self, keys: Keys) -> NDArray[np.float64]:
        return self.second.likelihood(keys) @ self._first_matrix

    def possible(self, keys: Keys) -> NDArray[np.bool_]:
        return self.second.possible(keys)

    def _listed_keys(self) -> Keys:
        return self.second.keys()

    @cached_property
    def likelihood_ratio(self) -> Fraction | None:
        rows = [self.exact_row(key) for key in integers_from_keys(self.keys())]
        if any(min(row) == 0 for row in rows):
            return None
        return max(max(row) / min(row) for row in rows)

    def law_json(self) -> dict[str, Any]:
        return {
            "kind": "composition", "title": self.title,
            "first": self.first.to_json(), "second": self.second.to_json(),
        }  # fmt: skip

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Composition:
        """The channel that `to_json` wrote."""
        first = Table.from_json(document["first"])
        return cls(first, channel_from_json(document["second"]), document.get("title", "composition"))

    def describe(self, key: int) -> str:
        return self.second.describe(key)


def then(first: Channel, second: Channel) -> Channel:
    """`first`, then `second` on its report; two explicit tables become one table with exact integer weights.

    Raises ChannelError unless `first` is a table whose reports are the categories of `second`.
    """
    if not isinstance(first, Table):
        raise ChannelError(f"Only a table can come first in a composition; {first.name} is not one.")
    if isinstance(second, Table) and first.keep is None and second.keep is None:
        if second.domain.categories != first.reports:
            raise ChannelError("The second channel's categories must be the first one's reports, in the same order.")
        assert first.weights is not None and second.weights is not None
        product = [
            [sum(b * a for b, a in zip(row, column, strict=True)) for column in zip(*first.weights, strict=True)]
            for row in second.weights
        ]
        weights = tuple(tuple(row) for row in product)
        return Table(first.domain, second.reports, None, weights, first.denominator * second.denominator)
    return Composition(first, second)
