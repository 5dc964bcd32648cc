"""Product: several questions, each through its own channel, drawn independently given the answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, product
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.channel.channel import Channel, channel_from_json
from reticent.choose import Source, Words
from reticent.domain import ProductDomain
from reticent.errors import ChannelError, ReportError
from reticent.keys import Keys, join_keys, split_keys
from reticent.reports import Reports
from reticent.rows import DenseRows, KroneckerRows, Rows


@dataclass(frozen=True, eq=False, repr=False)
class Product(Channel, kind="product"):
    """P(a, b, … | x, y, …) = P(a | x) P(b | y) ⋯ over the cells of the questions' table.

    The key of a joint report holds the keys of its parts side by side, the first in the lowest bits.

    Source: Wang and Ding, Subset Privacy (arXiv 2107.02013), product mechanism; section 6 of our specification.
    Raises ChannelError for a part that is no channel or a product itself, or two channels on questions of one name;
    DomainError for fewer than two channels, or a question that two channels ask.

    >>> from reticent.channel.subset import Subset
    >>> from reticent.domain import Categorical
    >>> letters = [Subset(Categorical(name, ["a", "b", "c", "d"])) for name in ("first", "second")]
    >>> Product(letters).n_reports, Product(letters).n_categories
    (36, 16)
    """

    channels: tuple[Channel, ...]

    def __init__(self, channels: Sequence[Channel]) -> None:
        for channel in channels:
            if not isinstance(channel, Channel) or isinstance(channel, Product):
                raise ChannelError(
                    f"A product is made of channels for single columns, not of {type(channel).__name__}."
                )
        object.__setattr__(self, "channels", tuple(channels))
        object.__setattr__(self, "domain", ProductDomain(channel.domain for channel in channels))
        if len({*self.names}) < len(self.names):
            raise ChannelError(f"Two channels are for questions of one name: {list(self.names)}. Rename one of them.")

    @property
    def names(self) -> tuple[str, ...]:
        """The name of each channel's question, "a × b" for a pair."""
        return tuple(channel.domain.name for channel in self.channels)

    @property
    def name(self) -> str:
        return " × ".join(channel.name for channel in self.channels)

    @cached_property
    def _bits(self) -> tuple[int, ...]:
        return tuple(channel.key_bits for channel in self.channels)

    @cached_property
    def _starts(self) -> tuple[int, ...]:
        return tuple(accumulate(self._bits[:-1], initial=0))

    @property
    def _shape(self) -> tuple[int, ...]:
        return tuple(channel.n_categories for channel in self.channels)

    def split(self, keys: Keys) -> list[Keys]:
        """The keys of every part."""
        return split_keys(keys, self._bits)

    def join(self, parts: Sequence[Keys]) -> Keys:
        """Joint keys from those of every part."""
        return join_keys(parts, self._bits)

    def _split_one(self, key: int) -> list[int]:
        return [key >> start & (1 << bits) - 1 for start, bits in zip(self._starts, self._bits, strict=True)]

    # --- drawing -------------------------------------------------------------------------------------------------
    @property
    def n_reports(self) -> int:
        return prod(channel.n_reports for channel in self.channels)

    @property
    def key_bits(self) -> int:
        return sum(self._bits)

    def draw_public(self, source: Source) -> int:
        """The questions of all parts, side by side as in a key: no part's question is wider than its report."""
        return sum(channel.draw_public(source) << start for channel, start in self._placed())

    def _placed(self) -> list[tuple[Channel, int]]:
        return list(zip(self.channels, self._starts, strict=True))

    def n_cells(self, public: int) -> int:
        return prod(c.n_cells(part) for c, part in zip(self.channels, self._split_one(public), strict=True))

    def draw_cell(self, x: int, public: int, source: Source) -> int:
        """The cells of all parts, side by side as in a key."""
        answers = np.unravel_index(x, self._shape)
        cell = 0
        for (channel, start), part, answer in zip(self._placed(), self._split_one(public), answers, strict=True):
            cell |= channel.draw_cell(int(answer), part, source) << start
        return cell

    def key(self, public: int, cell: int) -> int:
        parts = zip(self._placed(), self._split_one(public), self._split_one(cell), strict=True)
        return sum(channel.key(question, own) << start for (channel, start), question, own in parts)

    def draw_keys(self, codes: NDArray[np.int64], words: Words) -> Keys:
        columns = np.unravel_index(codes, self._shape)
        parts = zip(self.channels, columns, strict=True)
        return self.join([channel.draw_keys(column.astype(np.int64), words) for channel, column in parts])

    # --- probabilities ---------------------------------------------------------------------------------------------
    def exact_row(self, key: int) -> tuple[Fraction, ...]:
        if key >> self.key_bits:
            return (Fraction(0),) * self.n_categories
        rows = [channel.exact_row(part) for channel, part in zip(self.channels, self._split_one(key), strict=True)]
        return tuple(prod(cell, start=Fraction(1)) for cell in product(*rows))

    def likelihood(self, keys: Keys) -> NDArray[np.float64]:
        parts = zip(self.channels, self.split(keys), strict=True)
        return self._kronecker(
            [(DenseRows(channel.likelihood(one)), np.arange(len(keys))) for channel, one in parts]
        ).dense()

    def rows(self, keys: Keys) -> Rows:
        """Kronecker rows over the different reports of each part."""
        pieces = []
        for channel, one in zip(self.channels, self.split(keys), strict=True):
            different, position = np.unique(one, axis=0, return_inverse=True)
            pieces.append((channel.rows(different), position.reshape(-1)))
        return self._kronecker(pieces)

    def _kronecker(self, pieces: Sequence[tuple[Rows, NDArray[np.intp]]]) -> KroneckerRows:
        return KroneckerRows([rows for rows, _ in pieces], [position for _, position in pieces])

    def possible(self, keys: Keys) -> NDArray[np.bool_]:
        if keys.ndim == 1 and self.key_bits < 8 * keys.itemsize:
            within = keys >> keys.dtype.type(self.key_bits) == 0
        elif keys.ndim == 2 and self.key_bits % 8:
            within = keys[:, -1] >> np.uint8(self.key_bits % 8) == 0
        else:
            within = np.ones(len(keys), dtype=np.bool_)
        parts = zip(self.channels, self.split(keys), strict=True)
        return np.asarray(np.logical_and.reduce([within, *(channel.possible(one) for channel, one in parts)]))

    def _listed_keys(self) -> Keys:
        # The last part moves slowest: its keys stand in the highest bits, so the list ascends.
        grids = np.meshgrid(*(np.arange(c.n_reports) for c in reversed(self.channels)), indexing="ij")
        listed = [channel.keys() for channel in self.channels]
        return self.join([keys[grid.ravel()] for keys, grid in zip(listed, reversed(grids), strict=True)])

    @property
    def likelihood_ratio(self) -> Fraction | None:
        ratios = [channel.likelihood_ratio for channel in self.channels]
        return None if None in ratios else prod((ratio for ratio in ratios if ratio is not None), start=Fraction(1))

    # --- as a document -------------------------------------------------------------------------------------------------
    def law_json(self) -> dict[str, Any]:
        columns = {channel.domain.name: channel.to_json() for channel in self.channels}
        return {"kind": "product", "order": list(self.names), "columns": columns}

    def to_json(self) -> dict[str, Any]:
        """The channels by column; the domain is theirs."""
        return self.law_json()

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Product:
        """The channel that `to_json` wrote. Raises ChannelError when names, order and columns do not agree."""
        order, columns = document["order"], document["columns"]
        if not isinstance(order, list) or not isinstance(columns, dict) or sorted(order) != sorted(columns):
            raise ChannelError("The order of a product must name each of its columns once.")
        product = cls([channel_from_json(columns[name]) for name in order])
        if product.names != tuple(order):
            raise ChannelError(f"The columns {order} hold channels for the questions {list(product.names)}.")
        return product

    def describe(self, key: int) -> str:
        parts = zip(self.channels, self._split_one(key), strict=True)
        return " × ".join(channel.describe(part) for channel, part in parts)


def joint_reports(reports: Mapping[str, Reports]) -> Reports:
    """The reports of the same people on several questions, as reports of the product channel.

    A joint report is missing where any of its parts is. Raises ReportError when the columns differ in length.

    >>> from reticent.channel.subset import Subset
    >>> from reticent.domain import Categorical
    >>> columns = {name: Subset(Categorical(name, ["a", "b", "c", "d"])).draw_many(["a"] * 3, seed=name) for name in "xy"}
    >>> joint_reports(columns).channel.domain.name
    'x × y'
    """
    parts = list(reports.values())
    if len({len(part) for part in parts}) > 1:
        raise ReportError("The columns of reports differ in length; joint reports need one of each from every person.")
    channel = Product([part.channel for part in parts])
    valid = np.logical_and.reduce([np.ones(len(p), np.bool_) if p.valid is None else p.valid for p in parts])
    keys = channel.join([part.keys for part in parts])
    keys[~valid] = 0
    return Reports(channel, keys, None if valid.all() else valid, any(part.simulated for part in parts))
