"""Refusable: a channel among people of whom some do not answer, on the state (value, willingness).

Letters of section 1.5 of our specification of interval privacy: k = the most questions, x = the value, C = the set that
the answers have left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from math import gcd
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.bulk import inverse_cdf
from reticent.channel.channel import Channel, channel_from_json, check_title, integer_from_json, json_integer
from reticent.channel.ranges import Ranges
from reticent.channel.transformed import Transformed
from reticent.choose import Source, Words
from reticent.domain import Categorical, ProductDomain
from reticent.errors import ChannelError, ParameterError
from reticent.keys import Keys, integers_from_keys, join_keys, keys_from_integers, split_keys
from reticent.rows import DenseRows, KroneckerRows, Rows, StackedRows

NO_REPLY = 0
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Refusable(Channel, kind="refusable"):
    """Somebody willing to answer j questions reports through levels[j − 1], tagged with j; willingness 0 is "no answer".

    The device may drop answers: it draws a cap c with chance caps[c] / Σ caps, without looking at the state, and acts on
    min(j, c). So skipped and dropped answers are one message:

        P(no answer | x, j)   = P(c = 0), and 1 for j = 0
        P(z, tag m | x, j)    = P(z | x; levels[m − 1]) · (P(c ≥ m) for j = m, P(c = m) for j > m, 0 for j < m)

    An exact channel on the product of value and willingness, the latter settled before the question is drawn. It says
    nothing of how the two are related: the values of people who refuse everything are never learned. The number of a
    question holds those of all levels side by side; cell 0 is "no answer", then come the cells of each level in turn. A key
    has the level's key in its lower bits, the tag above.

    Source: section 1.5 of our specification of interval privacy (rules (b) and (c)).
    Raises ChannelError for no levels, levels on different domains, a level that is silent by itself or has refusals
    already, and caps that are not k + 1 whole numbers in lowest terms, the last above 0.
    """

    levels: tuple[Channel, ...]
    caps: tuple[int, ...]
    title: str = "with refusal"
    domain: ProductDomain = field(init=False)

    def __post_init__(self) -> None:
        check_title(self.title)
        if not self.levels or any(level.domain != self.levels[0].domain for level in self.levels):
            raise ChannelError("Refusals need at least one channel, all on one domain.")
        for level in self.levels:
            _check_level(level)
        most, caps = len(self.levels), self.caps
        whole = all(isinstance(cap, int) and not isinstance(cap, bool) and cap >= 0 for cap in caps)
        if len(caps) != most + 1 or not whole or not caps[-1] or gcd(*caps) != 1:
            raise ChannelError(
                f"The caps are {caps}; give {most + 1} whole numbers in lowest terms, none negative, the last above 0.",
                caps=caps,
            )
        question = self.levels[0].domain
        willing = Categorical(f"{question.name}: willing", [str(asked) for asked in range(most + 1)])
        object.__setattr__(self, "domain", ProductDomain([question, willing]))

    @property
    def name(self) -> str:
        return f"{self.levels[-1].name} {self.title}"

    @property
    def question(self) -> Categorical:
        """The domain of the value alone."""
        return self.levels[0].domain

    @property
    def most(self) -> int:
        """The most questions somebody can answer."""
        return len(self.levels)

    @property
    def dropped(self) -> Fraction:
        """P(no answer | willing): the chance that the device drops everything."""
        return Fraction(self.caps[0], sum(self.caps))

    @cached_property
    def tag_chances(self) -> tuple[tuple[Fraction, ...], ...]:
        """P(tag m | willingness j) as entry m of row j."""
        total = sum(self.caps)
        rows = []
        for willing in range(self.most + 1):
            below = self.caps[:willing]
            rest = total - sum(below)
            chances = (*below, rest, *([0] * (self.most - willing)))
            rows.append(tuple(Fraction(chance, total) for chance in chances))
        return tuple(rows)

    # --- keys ----------------------------------------------------------------------------------------------------
    @cached_property
    def _bits(self) -> tuple[int, int]:
        return max(level.key_bits for level in self.levels), self.most.bit_length()

    @property
    def key_bits(self) -> int:
        return sum(self._bits)

    def report(self, tag: int, key: int = NO_REPLY) -> int:
        """The key of a report: how many questions were answered, and the key of that level's report.

        Raises ParameterError for a tag outside 0..most, or a key with "no answer".
        """
        if not 0 <= tag <= self.most or (tag == 0 and key):
            raise ParameterError(
                f"The tag is {tag}; allowed are 0 to {self.most}, and with 0 no key beside it.", tag=tag
            )
        return tag << self._bits[0] | key

    def split(self, keys: Keys) -> tuple[NDArray[np.int64], Keys]:
        """The tags of reports, and the keys of their levels (0 beside "no answer")."""
        own, tags = split_keys(keys, self._bits)
        return tags.astype(np.int64), own

    def by_tag(self, keys: Keys) -> list[tuple[int, NDArray[np.intp], Keys]]:
        """For each tag above 0 that occurs: the tag, the positions of its reports, and their keys as its level has them."""
        tags, _ = self.split(keys)
        found = []
        for tag in range(1, self.most + 1):
            place = np.flatnonzero(tags == tag)
            if place.size:
                own, beyond, _ = split_keys(keys[place], self._widths(tag))
                found.append((tag, place[_zero(beyond)], own[_zero(beyond)]))
        return found

    def _widths(self, tag: int) -> tuple[int, int, int]:
        """Bits of a level's key, those it leaves unused, and those of the tag."""
        own = self.levels[tag - 1].key_bits
        return own, self._bits[0] - own, self._bits[1]

    def possible(self, keys: Keys) -> NDArray[np.bool_]:
        tags, own = self.split(keys)
        good = np.asarray((tags == 0) & _zero(own), dtype=np.bool_)
        for tag, place, level_keys in self.by_tag(keys):
            good[place] = self.levels[tag - 1].possible(level_keys)
        spare = 8 * (keys.itemsize if keys.ndim == 1 else keys.shape[1]) - self.key_bits
        return good & _zero(split_keys(keys, (self.key_bits, spare))[1]) if spare else good

    @property
    def n_reports(self) -> int:
        return 1 + sum(level.n_reports for level in self.levels)

    def _listed_keys(self) -> Keys:
        listed = [self.report(0)]
        for tag, level in enumerate(self.levels, 1):
            listed += [self.report(tag, key) for key in integers_from_keys(level.keys())]
        return keys_from_integers(listed, self.key_bits)

    # --- the law -------------------------------------------------------------------------------------------------
    def exact_row(self, key: int) -> tuple[Fraction, ...]:
        tag, own = key >> self._bits[0], key & (1 << self._bits[0]) - 1
        values: Sequence[Fraction] = (Fraction(int(not own)),) * len(self.question)
        if 0 < tag <= self.most:
            values = self.levels[tag - 1].exact_row(own)
        told = [chances[tag] if tag <= self.most else Fraction(0) for chances in self.tag_chances]
        return tuple(value * chance for value in values for chance in told)

    @cached_property
    def _tag_rows(self) -> DenseRows:
        """P(tag | willingness), one row per tag."""
        return DenseRows(np.array([[float(chance) for chance in row] for row in self.tag_chances]).T)

    def _pieces(self, keys: Keys, exactly: bool) -> KroneckerRows:
        """Rows of the values beside rows of the tags; those of the values up to a factor unless `exactly`."""
        parts: list[Rows] = [DenseRows(np.ones((1, len(self.question))))]
        where = np.zeros(len(keys), dtype=np.intp)
        done = 1
        for tag, place, own in self.by_tag(keys):
            level = self.levels[tag - 1]
            parts.append(DenseRows(level.likelihood(own)) if exactly else level.rows(own))
            where[place] = done + np.arange(len(place))
            done += len(place)
        return KroneckerRows([StackedRows(parts), self._tag_rows], [where, self.split(keys)[0].astype(np.intp)])

    def likelihood(self, keys: Keys) -> Floats:
        return self._pieces(keys, exactly=True).dense()

    def rows(self, keys: Keys) -> Rows:
        """Kronecker rows: what the levels' reports say of the value, beside what the tags say of willingness."""
        return self._pieces(keys, exactly=False)

    @property
    def likelihood_ratio(self) -> Fraction | None:
        """None: an answer rules out that its respondent refuses everything."""
        return None

    # --- drawing -------------------------------------------------------------------------------------------------
    @cached_property
    def _starts(self) -> tuple[int, ...]:
        return tuple(accumulate((level.key_bits for level in self.levels[:-1]), initial=0))

    def draw_public(self, source: Source) -> int:
        """The questions of all levels, side by side: no level's question is wider than its report."""
        parts = zip(self.levels, self._starts, strict=True)
        return sum(level.draw_public(source) << start for level, start in parts)

    def _question_of(self, public: int, tag: int) -> int:
        return public >> self._starts[tag - 1] & (1 << self.levels[tag - 1].key_bits) - 1

    def _cells(self, public: int) -> list[int]:
        """How many cells each level has for its question."""
        return [level.n_cells(self._question_of(public, tag)) for tag, level in enumerate(self.levels, 1)]

    def n_cells(self, public: int) -> int:
        return 1 + sum(self._cells(public))

    def draw_cell(self, x: int, public: int, source: Source) -> int:
        value, willing = divmod(x, self.most + 1)
        cap = source.pick(self.caps) if any(self.caps[:-1]) else self.most
        tag = min(willing, cap)
        if tag == 0:
            return 0
        own = self.levels[tag - 1].draw_cell(value, self._question_of(public, tag), source)
        return 1 + sum(self._cells(public)[: tag - 1]) + own

    def key(self, public: int, cell: int) -> int:
        if cell == 0:
            return self.report(0)
        own = cell - 1
        for tag, many in enumerate(self._cells(public), 1):
            if own < many:
                return self.report(tag, self.levels[tag - 1].key(self._question_of(public, tag), own))
            own -= many
        raise ChannelError(f"The question has {self.n_cells(public)} cells; there is no cell {cell}.")

    def draw_keys(self, codes: NDArray[np.int64], words: Words) -> Keys:
        values, willing = np.divmod(codes, self.most + 1)
        tags = willing
        if any(self.caps[:-1]):
            drawn = inverse_cdf(np.zeros_like(codes), [[cap] for cap in self.caps], sum(self.caps), words)
            tags = np.minimum(willing, drawn.astype(np.int64))
        keys = keys_from_integers([0], self.key_bits).repeat(len(codes), axis=0)
        for tag, level in enumerate(self.levels, 1):
            place = np.flatnonzero(tags == tag)
            own, nothing = level.draw_keys(values[place], words), np.zeros(len(place), dtype=np.uint8)
            keys[place] = join_keys([own, nothing, nothing + np.uint8(tag)], self._widths(tag))
        return keys

    # --- as a document -------------------------------------------------------------------------------------------
    def describe(self, key: int) -> str:
        tag, own = key >> self._bits[0], key & (1 << self._bits[0]) - 1
        if tag == 0:
            return "no answer"
        told = self.levels[tag - 1].describe(own)
        return told if self.most == 1 else f"{told} ({tag} answered)"

    def law_json(self) -> dict[str, Any]:
        return {
            "kind": "refusable",
            "title": self.title,
            "levels": [level.to_json() for level in self.levels],
            "caps": [json_integer(cap) for cap in self.caps],
        }

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Refusable:
        """The channel that `to_json` wrote. Raises ChannelError when its domain is not that of its levels."""
        levels, caps = document["levels"], document["caps"]
        if not isinstance(levels, list) or not isinstance(caps, list):
            raise ChannelError("The levels and the caps of a channel with refusal are lists.")
        read = cls(
            tuple(channel_from_json(level) for level in levels),
            tuple(integer_from_json(cap) for cap in caps),
            document.get("title", "with refusal"),
        )
        if document["domain"] != read.domain.to_json():
            raise ChannelError("The domain of this channel with refusal is not that of its levels.")
        return read


def _zero(keys: Keys) -> NDArray[np.bool_]:
    return np.asarray(keys == 0 if keys.ndim == 1 else ~keys.any(axis=1), dtype=np.bool_)


def _check_level(level: Channel) -> None:
    if isinstance(level, Refusable):
        raise ChannelError("This channel has refusals already; give the channel inside it.")
    inner = level
    while isinstance(inner, Transformed):
        inner = inner.inner
    if isinstance(inner, Ranges) and inner.selection is not None:
        raise ChannelError(
            f'{level.name} is silent by itself: its "no range" and a refusal would be one message, and its chance would '
            "depend on the value. Use the ranges without selection, and drop= for silence by chance."
        )
