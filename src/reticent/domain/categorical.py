"""Categorical: a question with a fixed list of answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from reticent.errors import AnswerError, DomainError

NO_ANSWER = "no answer"
MissingRule = Literal["refuse", "skip", "symbol"]
MISSING_RULES = ("refuse", "skip", "symbol")
MISSING, OUTSIDE = -1, -2


@dataclass(frozen=True)
class Categorical:
    """A question with a fixed list of answers.

    Labels are text; whole numbers are taken as their decimal text. The order is part of the domain.

    Raises DomainError for fewer than two categories, a repeated or empty label, or a label that is
    neither text nor a whole number.

    >>> smoker = Categorical("smoker", ["yes", "no"])
    >>> len(smoker), smoker.encode(["no", "yes", None]).tolist()
    (2, [1, 0, -1])
    """

    name: str
    categories: tuple[str, ...]

    def __init__(self, name: str, categories: Sequence[str] | Sequence[int]) -> None:
        if not isinstance(name, str) or not name or not name.isprintable():
            raise DomainError("A domain needs a name, a printable text that is not empty.", name=name)
        if isinstance(categories, str):
            raise DomainError(
                f'The categories of "{name}" are one text; give a list of labels, e.g. ["yes", "no"].', name=name
            )
        if not isinstance(categories, Iterable):
            raise DomainError(f'The categories of "{name}" must be a list of labels.', name=name)
        labels = tuple(_label(name, place, value) for place, value in enumerate(categories, 1))
        if len(labels) < 2:
            raise DomainError(
                f'"{name}" has {len(labels)} {"category" if len(labels) == 1 else "categories"}: nothing to protect. '
                "Give at least 2.",
                name=name,
                n_categories=len(labels),
            )
        if len(set(labels)) < len(labels):
            repeated = sum(times > 1 for times in Counter(labels).values())
            seen: dict[str, int] = {}
            again = next(place for place, label in enumerate(labels) if seen.setdefault(label, place) < place)
            raise DomainError(
                f'"{name}" lists {repeated} of its categories more than once (number {again + 1} is there before); each once.',
                n_repeated=repeated,
                first=again,
            )
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "categories", labels)

    def __len__(self) -> int:
        return len(self.categories)

    def encode(self, answers: Iterable[Any], missing: MissingRule = "skip") -> NDArray[np.int64]:
        """Positions of the answers in `categories`, shape `(n,)`; −1 where the answer is missing (None or NaN).

        Accepts lists, NumPy arrays and pandas, polars or Arrow columns. `missing="symbol"` takes a missing answer as
        the category "no answer", "refuse" as an error.
        Raises AnswerError when an answer is not a category; it says how many and where, never what.
        """
        return self.gather([self._positions(answers)], missing)

    def _positions(self, answers: Iterable[Any]) -> NDArray[np.int64]:
        values = to_list(answers)
        lookup: dict[Any, int] = {label: code for code, label in enumerate(self.categories)}
        codes = np.fromiter((_code(value, lookup) for value in values), dtype=np.int64, count=len(values))
        outside = np.flatnonzero(codes == OUTSIDE)
        if outside.size:
            raise AnswerError(
                f'{outside.size} of {codes.size} answers to "{self.name}" are not among its {len(self)} categories '
                f"(first at position {int(outside[0])}, counting from 0). Add the category to the domain, correct the "
                "answers, or make them missing (None).",
                n_outside=int(outside.size),
                first=int(outside[0]),
            )
        return codes

    @property
    def parts(self) -> tuple[Categorical, ...]:
        """The questions behind the domain: this one."""
        return (self,)

    def gather(self, columns: Sequence[NDArray[np.int64]], missing: MissingRule, where: str = "") -> NDArray[np.int64]:
        """The codes of the domain from those of each part, missing answers (−1) treated by the rule.

        `where` ends the sentence of the refusal. Raises AnswerError for a missing answer under "refuse", DomainError
        under "symbol" when the domain has no category "no answer".
        """
        (codes,) = columns
        if missing == "symbol":
            self.require_no_answer()
            return np.where(codes < 0, self.categories.index(NO_ANSWER), codes)
        return self._settled(codes, missing, where)

    def _settled(self, codes: NDArray[np.int64], missing: MissingRule, where: str) -> NDArray[np.int64]:
        if missing not in MISSING_RULES:
            raise AnswerError(f'missing={missing!r} is not known; allowed: "refuse", "skip", "symbol".')
        absent = int((codes < 0).sum())
        if absent and missing == "refuse":
            raise AnswerError(
                f'{absent} of {codes.size} answers to "{self.name}" are missing{where}. Give missing="skip" (--missing skip) '
                f'to count them apart, or missing="symbol" and a category "{NO_ANSWER}", which also hides who did not answer.',
                n_missing=absent,
            )
        return codes

    def require_no_answer(self) -> None:
        """Raises DomainError when a part of the domain lacks the category "no answer"."""
        for part in self.parts:
            if NO_ANSWER not in part.categories:
                raise DomainError(
                    f'The rule "symbol" for missing answers needs the category "{NO_ANSWER}", and "{part.name}" does not '
                    'have it. Add it, or use "skip".',
                    name=part.name,
                )

    def to_json(self) -> dict[str, Any]:
        """The domain as JSON."""
        return {"kind": "categorical", "name": self.name, "categories": list(self.categories)}


def _label(name: str, place: int, value: object) -> str:
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str) or not value or not value.isprintable():
        raise DomainError(
            f'Category number {place} of "{name}" is no label: labels are printable text that is not empty, or whole numbers.'
        )
    return value


def _code(value: Any, lookup: dict[Any, int]) -> int:
    try:
        code = lookup.get(value, OUTSIDE)
    except TypeError:  # unhashable: no category
        return OUTSIDE
    if code != OUTSIDE:
        return code
    if is_missing(value):
        return MISSING
    if isinstance(value, (float, np.floating)) and value.is_integer():  # a column of whole numbers with gaps
        value = int(value)
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return lookup.get(str(value), OUTSIDE) if abs(int(value)) < 2**64 else OUTSIDE
    return OUTSIDE


def is_missing(value: Any) -> bool:
    """Whether a value of a column stands for none: None, NaN, or the NA of pandas."""
    return value is None or type(value).__name__ in ("NAType", "NaTType") or bool(value != value)


def to_list(answers: Iterable[Any]) -> list[Any]:
    """A column of any library as a list. Raises AnswerError for a single text and for what is no list."""
    for method in ("to_pylist", "to_list", "tolist"):  # Arrow; pandas and polars; NumPy
        if hasattr(answers, method):
            return list(getattr(answers, method)())
    if isinstance(answers, (str, bytes)):
        raise AnswerError("The answers are one text; give a list or a column with one answer per respondent.")
    if not isinstance(answers, Iterable):
        raise AnswerError("The answers are not a list; give a list or a column with one answer per respondent.")
    return list(answers)
