"""The population of every figure: race in the Adult census table, asked through the uniform subset design."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

import reticent as rt
from reticent import demo

Floats = NDArray[np.float64]

CASES = (12, 13, 14, 15)  # the rows of the table, from 0, that the paper calls cases
BINARY = (("sex", "Female"), ("income", "<=50K"))
SHORT = {"Asian-Pac-Islander": "Asian", "Amer-Indian-Eskimo": "Native"}


@dataclass(frozen=True, eq=False)
class Adult:
    """Answers in the order of the table and the channel they are asked through.

    `sex_by_income` counts women and men (rows) with incomes up to 50,000 and above, for the claims on tests.
    """

    answers: tuple[str, ...]
    channel: rt.Subset
    sex_by_income: NDArray[np.int64]

    @property
    def labels(self) -> tuple[str, ...]:
        """The categories, in the order of the figures."""
        return self.channel.domain.categories

    @property
    def short_labels(self) -> tuple[str, ...]:
        """The categories as a picture writes them."""
        return tuple(SHORT.get(label, label) for label in self.labels)

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """People in each category."""
        return np.bincount(self.channel.domain.encode(self.answers), minlength=len(self.labels))

    @cached_property
    def shares(self) -> Floats:
        """w, the shares of the categories: the truth that every estimate is compared with."""
        return np.asarray(self.counts / self.counts.sum())

    @property
    def binary(self) -> tuple[float, float]:
        """The share of women, and of incomes up to 50,000."""
        joint = self.sex_by_income / self.sex_by_income.sum()
        return float(joint[0].sum()), float(joint[:, 0].sum())

    def case(self, row: int) -> int:
        """The category, from 0, of one row of the table."""
        return self.labels.index(self.answers[row])


def adult() -> Adult:
    """Race in the bundled Adult table, with the uniform design on its five categories."""
    table = demo.answers()
    race = demo.design(table).columns["race"]
    if not isinstance(race, rt.Subset):
        raise TypeError(f"race is asked by {race.name}; the paper's figures need the uniform subset design")
    sex, income = (np.array([value != first for value in table[column]]) for column, first in BINARY)
    joint = np.bincount(2 * sex + income, minlength=4).reshape(2, 2)
    return Adult(tuple(table["race"]), race, joint)
