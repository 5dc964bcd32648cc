"""The number of the demonstration: its estimate holds the truth, and the page and the terminal say both."""

from __future__ import annotations

import numpy as np
import pytest

import reticent as rt
from reticent import demo
from reticent.cli.outcomes import beside_the_truth


@pytest.fixture(scope="module")
def hours() -> demo.Counted:
    (counted,) = (question for question in demo.run(1) if isinstance(question, demo.Counted))
    return counted


def test_the_truth_is_that_of_the_table(hours: demo.Counted) -> None:
    document = hours.to_json()
    assert len(hours.truth) == 32_561 and hours.truth.mean() == pytest.approx(40.437, abs=1e-3)
    assert [row["truth"] for row in document["quantiles"]] == [24, 40, 40, 45, 55]
    assert document["mechanism"].startswith("ring of 2 ranges")


def test_the_estimate_holds_the_truth(hours: demo.Counted) -> None:
    document = hours.to_json()
    # 11 intervals of 95 %, a fixed seed: more than 3 misses has a chance below 0.002.
    assert sum(row["covered"] for row in document["cdf"]) >= 8
    mean = document["mean"]
    assert mean["placement_low"] <= mean["truth"] <= mean["placement_high"]
    for row in document["quantiles"]:
        assert row["low"] <= row["truth"] <= row["high"]


def test_every_range_holds_the_floor_of_the_planning_law(hours: demo.Counted) -> None:
    channel = hours.channel
    assert isinstance(channel, rt.Ranges)
    planned = np.array([demo.EXPECTED_HOURS[label] for label in hours.law.question.categories])
    assert planned.sum() == pytest.approx(1) and rt.coverage_by_report(channel, planned).min() >= 0.2 - 1e-12


def test_the_terminal_and_the_page_show_both(hours: demo.Counted) -> None:
    lines = beside_the_truth(hours)
    assert any(line.split()[:3] == ["up", "to", "40"] and line.endswith("0.706") for line in lines)
    assert any("of 100 people" in line for line in lines)
    page = demo.page([hours])
    assert "the truth among these people" in page and len(page.encode()) < 200_000
