"""What every channel can do: draw a report, give its probability, and say what it is.

A report is two integers: `public` (which question was drawn; it never depends on the answer) and `cell` (the answer
to it). It is stored as one integer, its `key`, the same for two pairs that mean the same event.
"""

from __future__ import annotations

import hashlib
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from reticent.choose import Source, Words, from_os, log_upper_bound
from reticent.domain import Categorical, MissingRule
from reticent.errors import AnswerError, ChannelError, ReportError
from reticent.keys import Keys
from reticent.reports import Reports
from reticent.rows import DenseRows, Rows

MAX_LISTED = 2**20


class Channel(ABC):
    """A mechanism P(report | answer) over a domain, with exact rational probabilities."""

    domain: Categorical
    _kinds: ClassVar[dict[str, type[Channel]]] = {}

    def __init_subclass__(cls, kind: str, **rest: Any) -> None:
        super().__init_subclass__(**rest)
        Channel._kinds[kind] = cls

    # --- the law ---------------------------------------------------------------------------------------------
    @property
    @abstractmethod
    def n_reports(self) -> int:
        """How many different reports are possible."""

    @property
    @abstractmethod
    def key_bits(self) -> int:
        """Bits of the largest key; above 64, keys are rows of bytes."""

    @abstractmethod
    def draw_public(self, source: Source) -> int:
        """Which question is asked. Never sees the answer."""

    @abstractmethod
    def draw_cell(self, x: int, public: int, source: Source) -> int:
        """The answer to the question, for the category with position `x`."""

    @abstractmethod
    def n_cells(self, public: int) -> int:
        """How many answers the question has; log2 of it is what leaves the device beyond the question."""

    @abstractmethod
    def key(self, public: int, cell: int) -> int:
        """The integer under which the report is stored."""

    @abstractmethod
    def exact_row(self, key: int) -> tuple[Fraction, ...]:
        """P(report | x) for every category x, as fractions. All zero when the report is impossible."""

    @abstractmethod
    def likelihood(self, keys: Keys) -> NDArray[np.float64]:
        """P(report | x), shape `(n_reports, n_categories)`, for the given keys."""

    @abstractmethod
    def possible(self, keys: Keys) -> NDArray[np.bool_]:
        """Which of the keys the channel can send."""

    @abstractmethod
    def draw_keys(self, codes: NDArray[np.int64], words: Words) -> Keys:
        """One key for each answer code: the vectorised twin of `draw`, with the same law."""

    @abstractmethod
    def _listed_keys(self) -> Keys: ...

    @abstractmethod
    def law_json(self) -> dict[str, Any]:
        """The channel without its domain, as JSON."""

    @classmethod
    @abstractmethod
    def from_json(cls, document: dict[str, Any]) -> Channel:
        """The channel that `to_json` wrote."""

    @abstractmethod
    def describe(self, key: int) -> str:
        """The report in words."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The mechanism, in words."""

    @property
    @abstractmethod
    def likelihood_ratio(self) -> Fraction | None:
        """The largest max_x P(z|x) / min_x P(z|x) over reports z; None where it is infinite."""

    # --- what follows from it ----------------------------------------------------------------------------------
    @property
    def n_categories(self) -> int:
        """How many answers there are."""
        return len(self.domain)

    @property
    def support_rates(self) -> tuple[Fraction, Fraction] | None:
        """(keep, stray) when a report supports some categories, the true one with probability keep and each other one
        with probability stray; None for channels without such a constant pair."""
        return None

    def support(self, keys: Keys) -> NDArray[np.bool_]:
        """Which categories each report supports, shape `(n_reports, n_categories)`."""
        raise ChannelError(f"{self.name} has no constant pair of support rates.")

    def rows(self, keys: Keys) -> Rows:
        """Likelihood rows for a solver; a positive factor common to a row may be dropped."""
        return DenseRows(self.likelihood(keys))

    def keys(self) -> Keys:
        """Every possible report, ascending. Raises ChannelError above 2^20 of them."""
        if self.n_reports > MAX_LISTED:
            raise ChannelError(
                f"{self.name} on {self.n_categories} categories has more than 2^20 possible reports; they are not "
                "listed. Use likelihood(keys) for the reports you have.",
                n_reports=self.n_reports,
            )
        return self._listed_keys()

    def matrix(self) -> NDArray[np.float64]:
        """P(report | x), shape `(n_reports, n_categories)`, rows in the order of `keys()`; columns sum to 1."""
        return self.likelihood(self.keys())

    @property
    def epsilon(self) -> float:
        """The exact epsilon of local differential privacy in nats, rounded up; infinite if a report rules an answer out."""
        ratio = self.likelihood_ratio
        return float("inf") if ratio is None else log_upper_bound(ratio)

    def draw(self, answer: str, source: Source | None = None) -> int:
        """One report (its key) for one answer; coins come from the operating system unless a source is given."""
        code = int(self.domain.encode([answer])[0])
        if code < 0:
            raise AnswerError("A missing answer cannot be reported; leave it out and count it as missing.")
        source = source if source is not None else from_os()
        public = self.draw_public(source)
        return self.key(public, self.draw_cell(code, public, source))

    def draw_many(
        self,
        answers: Iterable[Any],
        *,
        seed: int | str | bytes | None = None,
        missing: MissingRule = "refuse",
    ) -> Reports:
        """One report per answer, in the same order and of the same length.

        Coins come from the operating system; `seed` is for simulation only and marks the reports as simulated.
        Missing answers are refused; with `missing="skip"` kept in place as missing and counted; with "symbol" they
        report as the category "no answer". Raises AnswerError for answers outside the domain.
        """
        return self.draw_codes(self.domain.encode(answers, missing), Words(seed), simulated=seed is not None)

    def draw_codes(self, codes: NDArray[np.int64], words: Words, simulated: bool = False) -> Reports:
        """One report per code of the domain; −1 stays missing."""
        present = codes >= 0
        # A missing answer draws too, from category 0, and is then blanked: length and time do not tell.
        keys = self.draw_keys(np.where(present, codes, 0), words)
        if present.all():
            return Reports(self, keys, None, simulated)
        keys[~present] = 0
        return Reports(self, keys, present, simulated)

    def check_keys(self, keys: Keys) -> None:
        """Raises ReportError naming how many of the keys this channel cannot have sent."""
        bad = np.flatnonzero(~self.possible(keys))
        if bad.size:
            raise ReportError(
                f'{bad.size} of {len(keys)} reports cannot come from {self.name} on "{self.domain.name}" '
                f"(first at position {int(bad[0])}). Check that the reports belong to this channel.",
                n_bad=int(bad.size),
                first=int(bad[0]),
            )

    def to_json(self) -> dict[str, Any]:
        """The channel with its domain; integers above 2^53 are decimal strings."""
        return {**self.law_json(), "domain": self.domain.to_json()}

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the canonical JSON (RFC 8785): one channel, one name, everywhere."""
        text = json.dumps(self.to_json(), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Channel) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        return f'<{self.name} on "{self.domain.name}", {self.n_categories} categories, digest {self.digest[:12]}>'


def json_integer(value: int) -> int | str:
    """An integer as JSON keeps it: exact, hence text above 2^53."""
    return value if abs(value) <= 2**53 else str(value)


def integer_from_json(value: object) -> int:
    """The inverse of `json_integer`. Raises ChannelError for anything else: a number with a point, true, the text "2"."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and re.fullmatch(r"-?[1-9][0-9]{15,}", value, re.ASCII) and abs(int(value)) > 2**53:
        return int(value)
    raise ChannelError(f"{value!r} stands where a whole number should; above 2^53 it is written as text.")


def check_title(title: object) -> None:
    """Raises ChannelError unless the title of a channel is a printable text that is not empty."""
    if not isinstance(title, str) or not title or not title.isprintable():
        raise ChannelError(f"The title of a channel is {title!r}; it is a printable text that is not empty.")


def channel_from_json(document: dict[str, Any]) -> Channel:
    """The channel written by `to_json`, of whatever kind.

    Raises ChannelError for a kind that is not known, a field that is missing, or one that `to_json` would not write.
    """
    kinds = Channel._kinds
    kind = document.get("kind") if isinstance(document, dict) else None
    if not isinstance(kind, str) or kind not in kinds:
        raise ChannelError(f"Unknown channel kind {kind!r}; known: {', '.join(sorted(kinds))}.")
    check_title(document.get("title", kind))
    try:
        return kinds[kind].from_json(document)
    except (KeyError, TypeError, ValueError, AttributeError) as fault:
        raise ChannelError(f'The document of a channel of kind "{kind}" lacks or garbles {fault}.') from fault
