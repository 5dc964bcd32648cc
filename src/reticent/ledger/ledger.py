"""The ledger of a respondent: what was said about each variable, and what is still open. It stays with the respondent."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from reticent.channel import Channel
from reticent.channel.channel import integer_from_json, json_integer
from reticent.errors import ChannelError, FileFormatError, ParameterError, ReportError
from reticent.ledger.entries import (
    Entry,
    Recoding,
    candidates_left,
    categories_of,
    entry_of,
    variables,
)

_SHOWN = 5


@dataclass(frozen=True)
class Ledger:
    """The independent answers of one respondent, on the respondent's own device. Adding gives a new ledger.

    Every other report about a variable counts as another answer: through another design, in another survey, or in other
    categories, as `recodings` (question → Recoding) says.

    Source: section 8 of our specification.

    >>> from reticent.channel import Subset
    >>> from reticent.domain import Categorical
    >>> letters = Subset(Categorical("letter", ["a", "b", "c", "d"]))
    >>> ledger = Ledger().add(letters, 0b0011)
    >>> ledger.add(letters, 0b0011) == ledger, ledger.candidates("letter")
    (True, ('a', 'b'))
    >>> ledger.add(letters, 0b0101, override=True).answers("letter")
    2
    """

    entries: tuple[Entry, ...] = ()
    recodings: Mapping[str, Recoding] = field(default_factory=dict)

    def answers(self, variable: str) -> int:
        """How many independent answers were given about the variable."""
        return sum(variable in variables(entry.questions, self.recodings) for entry in self.entries)

    def candidates(self, variable: str) -> tuple[str, ...] | None:
        """The categories that all answers together leave possible: () once the value changed, None before any answer."""
        return candidates_left(self.entries, variable, self.recodings)

    def epsilon(self, variable: str) -> float:
        """The epsilons of the answers about the variable added up, in nats; infinite where a design rules anything out."""
        spent = [e.epsilon for e in self.entries if variable in variables(e.questions, self.recodings)]
        return math.nextafter(math.fsum(spent), math.inf) if len(spent) > 1 else math.fsum(spent)

    def sent(self, channel: Channel) -> int | None:
        """The last report through this very channel, to be sent again; None if there is none."""
        return next((entry.report for entry in reversed(self.entries) if entry.design == channel.digest), None)

    def add(self, channel: Channel, report: int, *, override: bool = False) -> Ledger:
        """The ledger with one more report; itself when this report went through this channel before.

        Raises ReportError for a second answer to a variable, unless `override`: the message, for the respondent's eyes,
        says what the answers together would leave, and never names a category that is the only one left. Raises
        ReportError for a report that the channel cannot send, ParameterError when a variable comes in two lists of
        categories without a recoding.
        """
        entry = entry_of(channel, report)
        if any((old.design, old.report) == (entry.design, entry.report) for old in self.entries):
            return self
        after = Ledger((*self.entries, entry), self.recodings)
        categories_of([question for one in after.entries for question in one.asked], self.recodings)
        again = [variable for variable in variables(entry.questions, self.recodings) if self.answers(variable)]
        if again and not override:
            said = " ".join(after._would_leave(variable) for variable in again)
            raise ReportError(
                f"{said} Send the first report again; override=True gives a second answer all the same.",
                variables=again,
            )
        return after

    def _would_leave(self, variable: str) -> str:
        left = self.candidates(variable) or ()
        total = len(categories_of(self.entries[-1].asked, self.recodings)[variable])
        named = ", ".join(left[:_SHOWN]) + (", …" if len(left) > _SHOWN else "")
        epsilon = self.epsilon(variable)
        special = {
            0: "no category: it shows that the value changed",
            1: f"a single one of {total} categories: the value itself",
            total: f"all {total} categories",
        }
        what = special.get(len(left), f"{len(left)} of {total} categories ({named})")
        spent = f", and epsilon would be {epsilon:.4g} in all" if math.isfinite(epsilon) else ""
        return f'"{variable}" was answered before. A second answer would leave {what}{spent}.'

    def to_json(self) -> dict[str, Any]:
        """The ledger as JSON; an infinite epsilon is the text "infinity", integers above 2^53 are decimal strings."""
        return {
            "kind": "ledger",
            "entries": [_entry_to_json(entry) for entry in self.entries],
            "recodings": {
                question: {"variable": recoding.variable, "categories": dict(recoding.categories)}
                for question, recoding in self.recodings.items()
            },
        }

    @classmethod
    def from_json(cls, document: Any) -> Ledger:
        """The ledger that `to_json` wrote. Raises FileFormatError when it is not one, or does not fit together."""
        if not isinstance(document, dict) or document.get("kind") != "ledger":
            raise FileFormatError('This is not a ledger: a ledger is a JSON object with "kind": "ledger".')
        try:
            entries = tuple(_entry_from_json(entry) for entry in document["entries"])
            recodings = {
                question: Recoding(recoding["variable"], recoding["categories"])
                for question, recoding in document["recodings"].items()
            }
            categories_of([question for entry in entries for question in entry.asked], recodings)
        except (KeyError, TypeError, ValueError, OverflowError, AttributeError) as fault:
            raise FileFormatError(f"The ledger lacks or garbles {fault}.") from fault
        except (ChannelError, ParameterError) as fault:
            raise FileFormatError(f"The ledger is damaged: {fault}") from fault
        return cls(entries, recodings)


def _entry_to_json(entry: Entry) -> dict[str, Any]:
    epsilon = entry.epsilon if math.isfinite(entry.epsilon) else "infinity"
    return asdict(entry) | {"report": json_integer(entry.report), "epsilon": epsilon}


def _entry_from_json(document: dict[str, Any]) -> Entry:
    questions, lists = _labels(document["questions"]), tuple(_labels(labels) for labels in document["categories"])
    left = tuple(_labels(cell) for cell in document["left"])
    if len(questions) != len(lists):
        raise ValueError("the categories of its questions")
    known = [{*labels} for labels in lists]
    fitting = all(
        len(cell) == len(known) and all(label in own for label, own in zip(cell, known, strict=True)) for cell in left
    )
    if not left or not fitting:
        raise ValueError("the cells that are left")
    report, design = integer_from_json(document["report"]), document["design"]
    if report < 0 or not isinstance(design, str):
        raise ValueError("a report or its design")
    return Entry(design, report, questions, lists, left, _epsilon_from_json(document["epsilon"]))


def _labels(texts: object) -> tuple[str, ...]:
    if not isinstance(texts, list) or not texts or not all(isinstance(text, str) for text in texts):
        raise ValueError("a list of texts")
    return tuple(texts)


def _epsilon_from_json(value: object) -> float:
    if value == "infinity":
        return math.inf
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < math.inf:
        raise ValueError("an epsilon")
    return float(value)
