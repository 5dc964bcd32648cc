"""The plan of one design for a number: what it costs to know the mean, and what one report leaves possible.

For the middles c of the cells and the covariance Σ of maximum likelihood, n · Var(mean) → V = cᵀ Σ c. One threshold per
person has the closed form

    V = Σ_j d_j² F_j (1 − F_j) / (ask · g_j),    d_j = c_{j+1} − c_j,

over the inner edges j, F_j the expected share up to the edge and g_j the chance that it is the threshold.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.channel.cuts import IndependentCuts
from reticent.channel.ranges import Ranges
from reticent.coverage import coverage_by_report, mean_coverage
from reticent.planning.one_channel import answers_for
from reticent.planning.text import amount
from reticent.precision import asymptotic_covariance

Floats = NDArray[np.float64]
ASKED = ", asked with chance "
_WORD = 2**64


@dataclass(frozen=True)
class NumberRow:
    """The plan for one design. `n` answers give the mean to ± `half_width`; asking openly needs `factor` times fewer.

    `coverage` is the mean share of people who could have given the same report, `narrowest` that of the report which
    fewest could have given, both under the expected law. `variance` is n · Var(mean).
    """

    channel: Ranges
    n: int
    half_width: float
    factor: float
    variance: float
    coverage: float
    narrowest: float

    @property
    def name(self) -> str:
        """The design in words, without how many are asked."""
        return self.channel.name.partition(ASKED)[0]

    @property
    def asked(self) -> float:
        """The share of people that are asked at all."""
        return self.channel.ask / _WORD

    @property
    def worth(self) -> float:
        """How many open answers are as exact as these n."""
        return self.n / self.factor

    @property
    def n_text(self) -> str:
        """The number of answers with commas."""
        return f"{self.n:,}"

    @property
    def half_width_text(self) -> str:
        """The half-width with three significant digits."""
        return amount(self.half_width)

    def to_json(self) -> dict[str, Any]:
        """The row as JSON."""
        numbers = {name: value for name, value in vars(self).items() if name != "channel"}
        return {"design": self.name, "channel": self.channel.digest, "asked": self.asked, **numbers}


@dataclass(frozen=True)
class Wanted:
    """What is asked of every design: a half-width of the mean, or a number of answers, at a level with quantile `z`."""

    mean_within: float | None
    n: int | None
    z: float

    def answers(self, variance: float) -> int:
        """The answers needed, or those given."""
        if self.n is not None:
            return self.n
        assert self.mean_within is not None
        return answers_for(self.z**2 * variance, self.mean_within, "the mean")

    def half_width(self, variance: float) -> float:
        """What that many answers give."""
        return self.z * math.sqrt(variance / self.answers(variance))


def number_row(channel: Ranges, probabilities: Floats, middles: Floats, openly: float, wanted: Wanted) -> NumberRow:
    """The plan for one design; `openly` is the variance of the number itself on the grid.

    Raises EstimateError when the design does not identify the law, or has too many reports to list.
    """
    variance = variance_of_mean(channel, probabilities, middles)
    return NumberRow(
        channel=channel, n=wanted.answers(variance), half_width=wanted.half_width(variance), factor=variance / openly,
        variance=variance, coverage=mean_coverage(channel, probabilities),
        narrowest=float(coverage_by_report(channel, probabilities).min()),
    )  # fmt: skip


def variance_of_mean(channel: Ranges, probabilities: Floats, middles: Floats) -> float:
    """V = cᵀ Σ c: n times the variance of the mean estimated by maximum likelihood, numbers at the middles of their cells.

    Source: sections 2.3 and 4.4 of our specification of interval privacy, on a grid.
    Raises EstimateError when the design does not identify the law, or has too many reports to list.

    >>> from reticent.domain import Numbers
    >>> from reticent.mechanisms import case_one
    >>> channel = case_one(Numbers("x", 0, 2, edges=[1]))
    >>> round(variance_of_mean(channel, np.array([0.5, 0.5]), np.array([0.5, 1.5])), 12)
    0.25
    """
    cuts = channel.cuts
    single = isinstance(cuts, IndependentCuts) and cuts.n_cuts == 1
    if single and channel.acceptable is None and channel.selection is None and not channel.unresolved:
        below = np.cumsum(probabilities)[:-1]
        asked = channel.ask / _WORD * np.array([weight / cuts.total for weight in cuts.weights])
        return float((np.diff(middles) ** 2 * below * (1 - below) / asked).sum())
    centred = middles - float(probabilities @ middles)  # Σ has rows that sum to 0, up to rounding
    return float(centred @ asymptotic_covariance(channel, probabilities) @ centred)


def least_threshold_variance(probabilities: Floats, middles: Floats, coverage: float) -> float:
    """What V of one threshold per person cannot be below: the larger of (Σ d √v)² and 2 (Σ d v)² / (1 − coverage).

    With d the distances of the middles and v = F (1 − F) at the edges. By the inequality of Cauchy and Schwarz: the first
    whatever the coverage, the second for at least this one.

    Source: section 2.3 of our specification of interval privacy (V ≥ 2 D² / leakage), on a grid.

    >>> least_threshold_variance(np.array([0.5, 0.5]), np.array([0.5, 1.5]), 0.75)
    0.5
    """
    below = np.cumsum(probabilities)[:-1]
    spread, distances = np.clip(below * (1 - below), 0, None), np.diff(middles)
    free = float((distances * np.sqrt(spread)).sum()) ** 2
    return max(free, 2 * float((distances * spread).sum()) ** 2 / (1 - coverage))
