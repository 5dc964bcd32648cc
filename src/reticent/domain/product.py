"""ProductDomain: several questions as one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.domain.categorical import MISSING, Categorical, MissingRule, to_list
from reticent.errors import AnswerError, DomainError

MOST_CELLS = 2**17


@dataclass(frozen=True)
class ProductDomain(Categorical):
    """Several questions as one: its categories are the cells of their table, the last question moving fastest.

    A product among the questions (a pair) stands for its own questions: the parts are always single questions.

    Raises DomainError for fewer than two questions, two of one name, or more than 2^17 cells.

    >>> both = ProductDomain([Categorical("smokes", ["yes", "no"]), Categorical("drinks", ["yes", "no"])])
    >>> both.name, both.categories[1], both.encode({"smokes": ["yes", "no"], "drinks": ["no", None]}).tolist()
    ('smokes × drinks', 'yes × no', [1, -1])
    """

    questions: tuple[Categorical, ...]

    def __init__(self, questions: Iterable[Categorical]) -> None:
        parts = tuple(part for question in questions for part in question.parts)
        names = [part.name for part in parts]
        if len(parts) < 2 or len(set(names)) < len(names):
            raise DomainError(
                f"A product needs at least two questions of different names; it got {', '.join(names) or 'none'}.",
                names=names,
            )
        n_cells = prod(len(part) for part in parts)
        if n_cells > MOST_CELLS:
            raise DomainError(
                f"{' × '.join(names)} has {n_cells:,} cells; at most {MOST_CELLS:,} are read together. Take fewer columns.",
                n_cells=n_cells,
            )
        object.__setattr__(self, "questions", parts)
        labels = [" × ".join(cell) for cell in product(*(part.categories for part in parts))]
        super().__init__(" × ".join(names), labels)

    @property
    def parts(self) -> tuple[Categorical, ...]:
        """The single questions."""
        return self.questions

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """How many categories each question has."""
        return tuple(len(part) for part in self.questions)

    def encode(self, answers: Any, missing: MissingRule = "skip") -> NDArray[np.int64]:
        """Cells of the answers, shape `(n,)`; −1 where any part is missing.

        `answers` is a table (a mapping of columns, or a data frame), one tuple per respondent, or the labels of cells.
        Raises AnswerError as `Categorical.encode`, or when a column is missing or the columns differ in length.
        """
        is_table = isinstance(answers, Mapping) or hasattr(answers, "columns")
        if not is_table:
            answers = to_list(answers)
            if answers and all(row is None or isinstance(row, str) for row in answers):
                cells = self._positions(answers)
                parts = np.unravel_index(np.maximum(cells, 0), self.shape)
                return self.gather([np.where(cells < 0, MISSING, part) for part in parts], missing)
        columns = zip(self.questions, self._of_table(answers) if is_table else self._of_rows(answers), strict=True)
        return self.gather([part.encode(column) for part, column in columns], missing)

    def gather(self, columns: Sequence[NDArray[np.int64]], missing: MissingRule, where: str = "") -> NDArray[np.int64]:
        """The cells from the codes of each question; a cell is missing where any of its questions is."""
        if len({len(column) for column in columns}) > 1:
            raise AnswerError(f"The columns of {self.name} differ in length.")
        if missing == "symbol":
            columns = [part.gather([column], missing) for part, column in zip(self.questions, columns, strict=True)]
        cells = np.zeros(len(columns[0]), dtype=np.int64)
        for size, column in zip(self.shape, columns, strict=True):
            cells = cells * size + column
        return self._settled(
            np.where(np.any([column < 0 for column in columns], axis=0), MISSING, cells), missing, where
        )

    def _of_table(self, table: Any) -> list[Any]:
        names = [part.name for part in self.questions]
        known = list(table if isinstance(table, Mapping) else getattr(table, "column_names", table.columns))
        absent = [name for name in names if name not in known]
        if absent:
            raise AnswerError(
                f"{self.name} needs the columns {', '.join(names)}; the table lacks {', '.join(absent)}.",
                missing=absent,
            )
        return [table[name] for name in names]

    def _of_rows(self, answers: list[Any]) -> list[Any]:
        width = len(self.questions)
        rows = [(None,) * width if row is None else row for row in answers]
        if any(not isinstance(row, (tuple, list)) or len(row) != width for row in rows):
            raise AnswerError(f"Every answer to {self.name} needs {width} values, one for each question.")
        return [list(column) for column in zip(*rows, strict=True)] or [[] for _ in range(width)]

    def to_json(self) -> dict[str, Any]:
        """The domain as JSON."""
        return {"kind": "product", "parts": [part.to_json() for part in self.questions]}
