"""The demonstration: a real table, privatised as its respondents would have done, and read through the reports."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import as_file, files
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from reticent import findings
from reticent.channel import Channel
from reticent.design import Design
from reticent.distributions import TalliedDistribution
from reticent.domain import Categorical, Numbers
from reticent.estimators import distribution, maximum_likelihood
from reticent.findings.numbers import number_section
from reticent.findings.sections import section
from reticent.intervals import ConfidenceInterval
from reticent.measures import Leakage, leakage
from reticent.mechanisms import binary_dummy, randomized_response, ring, uniform_subset
from reticent.reports import Reports
from reticent.results import Shares
from reticent.tallies import tally

EPSILON = 1.5
HOURS = "hours per week"
EXPECTED_HOURS = {
    "up to 15": 0.05, "(15, 20]": 0.05, "(20, 25]": 0.05, "(25, 30]": 0.05, "(30, 35]": 0.05, "(35, 39]": 0.05, "40": 0.4,
    "(40, 45]": 0.1, "(45, 50]": 0.1, "(50, 55]": 0.03, "(55, 60]": 0.04, "above 60": 0.03,
}  # fmt: skip
"""What a planner might guess before anybody is asked: the floor of a range is counted in these shares."""
NARROWEST = 0.2
INTRO = (
    "32,561 people of the Adult census table, privatised as if each had answered on their own device: only the reports "
    "were kept. The orange marks are the true shares among these people, which only a demonstration can know. The "
    "intervals are for the population they were drawn from, so they allow for the sampling of people as well."
)
SOURCE = "Data: Becker and Kohavi, Adult, UCI Machine Learning Repository, 1996, doi.org/10.24432/C5XW20 (CC BY 4.0)."


@dataclass(frozen=True, eq=False)
class Answered:
    """One question of the demonstration: the estimate, the truth among the respondents, and what a report gave away."""

    shares: Shares
    interval: ConfidenceInterval
    truth: NDArray[np.float64]
    given_away: Leakage

    @property
    def channel(self) -> Channel:
        """The channel that the answers went through."""
        return self.shares.tallies[0].channel

    def to_json(self) -> dict[str, Any]:
        """Estimate, truth and leakage as JSON."""
        level = self.interval.confidence_level
        document = self.shares.to_json(level, "profile")
        for row, true in zip(document["shares"], self.truth.tolist(), strict=True):
            row["truth"] = true
            row["covered"] = row["low"] <= true <= row["high"]
        return {**document, "mechanism": self.channel.name, "leakage": self.given_away.to_json()}

    def section(self) -> dict[str, Any]:
        """What the page says about it."""
        return section(self.shares, self.interval, truth=self.truth.tolist(), given_away=self.given_away)


@dataclass(frozen=True, eq=False)
class Counted:
    """The number of the demonstration: its estimated law, and the numbers of the respondents."""

    law: TalliedDistribution
    truth: NDArray[np.float64]

    @property
    def channel(self) -> Channel:
        """The channel that the numbers went through."""
        return self.law.tallies[0].channel

    def section(self) -> dict[str, Any]:
        """What the page says about it."""
        return number_section(self.law, truth=self.truth.tolist())

    def to_json(self) -> dict[str, Any]:
        """Estimate, truth and coverage as JSON."""
        told = self.section()["distribution"]
        for row in told["cdf"]:
            row["covered"] = row["low"] <= row["truth"] <= row["high"]
        beside = {key: told[key] for key in ("cdf", "quantiles", "mean")}
        return {**self.law.to_json(), **beside, "mechanism": self.channel.name}


Question = Answered | Counted


def answers() -> dict[str, Any]:
    """The columns of the Adult table, in memory."""
    with as_file(files("reticent").joinpath("data", "adult.parquet")) as path:
        table = pq.read_table(path)
    return {name.replace("_", " "): table[name].to_pylist() for name in table.column_names}


def design(table: dict[str, Any]) -> Design:
    """Race and education as random subsets, sex with dummies, income by randomised response, hours as ranges of a ring."""
    race = ["White", "Black", "Asian-Pac-Islander", "Amer-Indian-Eskimo", "Other"]
    schooling = [
        "Preschool", "1st-4th", "5th-6th", "7th-8th", "9th", "10th", "11th", "12th", "HS-grad", "Some-college",
        "Assoc-voc", "Assoc-acdm", "Bachelors", "Masters", "Prof-school", "Doctorate",
    ]  # fmt: skip
    hours = Numbers(HOURS, 1, 99, unit="hours", step=1, edges=[15, 20, 25, 30, 35, 39, 40, 45, 50, 55, 60])
    return Design({
        "race": uniform_subset(Categorical("race", race)),
        "sex": binary_dummy(Categorical("sex", ["Female", "Male"])),
        "education": uniform_subset(Categorical("education", schooling)),
        "income": randomized_response(Categorical("income", ["<=50K", ">50K"]), EPSILON),
        HOURS: ring(hours, NARROWEST, pilot=EXPECTED_HOURS),
    })  # fmt: skip


def run(seed: int | str | None = None) -> list[Question]:
    """Privatise every answer, tally, estimate; coins come from the operating system unless a seed is given."""
    table = answers()
    return [read(reports, table[name]) for name, reports in design(table).draw_many(table, seed=seed).items()]


def read(reports: Reports, answered: list[Any]) -> Question:
    """What the reports on one question say, with what was answered beside it."""
    channel = reports.channel
    if isinstance(channel.domain, Numbers):
        return Counted(distribution(tally(reports)), np.asarray(answered, dtype=np.float64))
    shares = maximum_likelihood(tally(reports))
    true = np.bincount(channel.domain.encode(answered), minlength=len(channel.domain)) / len(reports)
    return Answered(shares, shares.confidence_interval(method="profile"), true, leakage(channel, shares))


def page(asked: list[Question]) -> str:
    """The findings of the demonstration as one HTML page."""
    return findings.render(
        [q.section() for q in asked], "What 32,561 people said without telling", intro=INTRO, footer=SOURCE
    )
