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
from reticent.domain import Categorical
from reticent.estimators import maximum_likelihood
from reticent.findings.sections import section
from reticent.intervals import ConfidenceInterval
from reticent.measures import Leakage, leakage
from reticent.mechanisms import binary_dummy, randomized_response, uniform_subset
from reticent.results import Shares
from reticent.tallies import tally

EPSILON = 1.5
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


def answers() -> dict[str, Any]:
    """The columns of the Adult table, in memory."""
    with as_file(files("reticent").joinpath("data", "adult.parquet")) as path:
        table = pq.read_table(path)
    return {name: table[name].to_pylist() for name in table.column_names}


def design(table: dict[str, Any]) -> Design:
    """Race and education as random subsets, sex with dummies, income by randomised response."""
    race = ["White", "Black", "Asian-Pac-Islander", "Amer-Indian-Eskimo", "Other"]
    schooling = [
        "Preschool", "1st-4th", "5th-6th", "7th-8th", "9th", "10th", "11th", "12th", "HS-grad", "Some-college",
        "Assoc-voc", "Assoc-acdm", "Bachelors", "Masters", "Prof-school", "Doctorate",
    ]  # fmt: skip
    return Design({
        "race": uniform_subset(Categorical("race", race)),
        "sex": binary_dummy(Categorical("sex", ["Female", "Male"])),
        "education": uniform_subset(Categorical("education", schooling)),
        "income": randomized_response(Categorical("income", ["<=50K", ">50K"]), EPSILON),
    })  # fmt: skip


def run(seed: int | str | None = None) -> list[Answered]:
    """Privatise every answer, tally, estimate; coins come from the operating system unless a seed is given."""
    table = answers()
    asked = []
    for name, reports in design(table).draw_many(table, seed=seed).items():
        channel = reports.channel
        shares = maximum_likelihood(tally(reports))
        true = np.bincount(channel.domain.encode(table[name]), minlength=len(channel.domain)) / len(reports)
        interval = shares.confidence_interval(method="profile")
        asked.append(Answered(shares, interval, true, leakage(channel, shares)))
    return asked


def page(asked: list[Answered]) -> str:
    """The findings of the demonstration as one HTML page."""
    sections = [section(q.shares, q.interval, truth=q.truth.tolist(), given_away=q.given_away) for q in asked]
    return findings.render(sections, "What 32,561 people said without telling", intro=INTRO, footer=SOURCE)
