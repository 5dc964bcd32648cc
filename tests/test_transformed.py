"""Asking for a function of the answer: sets on the scale of the answer, coverage, and which cells a function may spread."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

import reticent as rt
from reticent.channel import Transformed
from reticent.coverage import coverage_by_cell, coverage_by_report, mean_coverage
from reticent.errors import ChannelError, DomainError, EstimateError, ParameterError, ReportError
from reticent.keys import integers_from_keys
from reticent.mechanisms.transformations import transformed
from tests.mechanism_cases import question
from tests.test_ranges import LAWS

DISTANCE = rt.Numbers("distance", 0, 6, edges=[1, 2, 4])
LINE = rt.Numbers("x", -6, 6, edges=[-4, -2, -1, 0, 1, 2, 4])
MASSES = [0.4, 0.3, 0.2, 0.1]
PRIOR = np.array([0.05, 0.1, 0.15, 0.2, 0.05, 0.15, 0.1, 0.2])


def folded(inner: rt.Channel) -> Transformed:
    """A channel on the distance from 0 as one on the number."""
    return transformed(inner, LINE, abs)


CASES: dict[str, Transformed] = {
    "threshold on a distance": folded(rt.case_one(DISTANCE, [1, 2, 4])),
    "three ranges of a distance": folded(rt.random_ranges(DISTANCE, 3)),
    "distance with acceptable": folded(rt.case_two(DISTANCE, acceptable=(1, 2))),
    "selective distance": folded(rt.selective(rt.case_one(DISTANCE), 0.5, 0.7, pilot=MASSES)),
    "lazy ring of a distance": folded(rt.lazy(rt.ring(DISTANCE, 0.2, pilot=MASSES), 0.5)),
    "a function of a function": transformed(
        folded(rt.case_one(DISTANCE)), rt.Numbers("y", 0, 12, edges=[2, 4, 5, 6, 7, 8, 10]), lambda y: y - 6
    ),
    "cells anyhow": Transformed(rt.case_one(DISTANCE), LINE, (3, 0, 2, 0, 1, 1, 3, 2)),
    "categories to numbers": transformed(
        rt.case_one(rt.Numbers("years", 0, 20, edges=[1, 6])),
        question(5),
        {"a": 0, "b": 3.5, "c": 12, "d": Fraction(1), "e": 20},
    ),
    "numbers to categories": transformed(rt.uniform_subset(question(4)), LINE, [0, 1, 2, 3, "d", "c", "b", "a"]),
    "randomised response": transformed(rt.randomized_response(question(3), 1.0), question(4), [0, 1, 2, 0]),
    "table": transformed(rt.binary_dummy(question(2)), LINE, [0, 0, 1, 1, 0, 1, 1, 0]),
}


def ranges() -> list[Transformed]:
    return [one for one in CASES.values() if isinstance(one.inner, rt.Ranges)]


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__.removeprefix("test_"))
@pytest.mark.parametrize("channel", CASES.values(), ids=CASES.keys())
def test_transformed_channels_keep_the_laws_of_channels(channel: Transformed, law: Any) -> None:
    # False alarms of the draws: 5e-8 for each of 70 tests, 3.5e-6 in all; the seed is fixed.
    assert channel.n_reports == channel.inner.n_reports
    law(channel)


# The sets of reports


@pytest.mark.parametrize("channel", CASES.values(), ids=CASES.keys())
def test_a_row_is_that_of_the_function_of_the_answer(channel: Transformed) -> None:
    for key in integers_from_keys(channel.keys()):
        inside = channel.inner.exact_row(key)
        assert channel.exact_row(key) == tuple(inside[cell] for cell in channel.cells)
        held = {x for x, chance in enumerate(channel.exact_row(key)) if chance}
        pieces = channel.pieces(key)
        assert held == {x for first, stop in pieces for x in range(first, stop)}
        assert all(earlier < later for (_, earlier), (later, _) in zip(pieces, pieces[1:], strict=False))


@pytest.mark.parametrize("seed", range(20))
def test_runs_pulled_back_along_any_map_are_the_rows(seed: int) -> None:
    rng = np.random.default_rng(seed)
    cells = rng.permutation(np.concatenate([np.arange(6), rng.integers(0, 6, 14)]))
    if seed % 2:
        cells = np.concatenate([np.sort(cells[:7]), np.sort(cells[7:])[::-1]])
    inner = rt.ring(rt.Numbers("g", 0, 6, edges=[1, 2, 3, 4, 5]), 0.1, acceptable=(1, 2))
    channel = Transformed(inner, rt.Numbers("y", 0, 20, edges=range(1, 20)), tuple(cells.tolist()))
    keys = channel.keys()
    rows = channel.rows(keys)
    sets = channel.likelihood(keys) > 0
    assert np.array_equal(rows.dense(), sets)
    weights, d = rng.random(20), rng.random(len(keys))
    assert rows.mv(weights) == pytest.approx(sets @ weights, abs=1e-12)
    columns = np.sort(rng.choice(20, 9, replace=False))
    gram = sets[:, columns].T @ (d[:, None] * sets[:, columns])
    assert rows.gram(d, columns) == pytest.approx(gram, abs=1e-12)


def test_reports_in_words() -> None:
    channel = CASES["threshold on a distance"]
    words = [channel.describe(key) for key in integers_from_keys(channel.keys())]
    assert words == [
        "(-1, 1]", "(-2, 2]", "(-4, 4]", "up to -1 or above 1", "up to -2 or above 2", "up to -4 or above 4",
    ]  # fmt: skip
    silent = CASES["selective distance"]
    assert silent.describe(0) == "no range"
    lazy = CASES["lazy ring of a distance"]
    assert "any number" in [lazy.describe(key) for key in integers_from_keys(lazy.keys())]
    assert CASES["categories to numbers"].describe(1) == "{a, d}"
    assert CASES["numbers to categories"].describe(0b0011) == "up to -2 or above 2"
    assert CASES["randomised response"].describe(2) == "c"


def test_a_disclosed_value_discloses_all_the_answers_that_have_it() -> None:
    channel = CASES["distance with acceptable"]
    key = 1 * 5 + 2
    assert channel.describe(key) == "(-2, -1] or (1, 2]"
    assert coverage_by_report(channel, PRIOR, np.array([key], dtype=np.uint8)) == pytest.approx(PRIOR[2] + PRIOR[5])


# Coverage and leakage


@pytest.mark.parametrize("channel", ranges(), ids=lambda channel: channel.digest[:8])
def test_coverage_is_that_of_the_function_under_the_law_it_gets(channel: Transformed) -> None:
    prior = PRIOR[: len(channel.domain)] / PRIOR[: len(channel.domain)].sum()
    pushed = [
        sum(w for w, cell in zip(prior, channel.cells, strict=True) if cell == c) for c in range(max(channel.cells) + 1)
    ]
    assert channel.pushed(prior) == pytest.approx(pushed)
    assert mean_coverage(channel, prior) == pytest.approx(mean_coverage(cast("rt.Ranges", channel.inner), pushed))
    assert mean_coverage(channel, prior) == pytest.approx(1 - rt.size_leakage(channel, prior), abs=1e-12)
    sets = channel.matrix() > 0
    assert coverage_by_report(channel, prior) == pytest.approx(sets @ prior, abs=1e-12)
    assert coverage_by_cell(channel, prior) == pytest.approx((sets @ prior) @ channel.matrix(), abs=1e-12)


@pytest.mark.parametrize("channel", CASES.values(), ids=CASES.keys())
def test_every_measure_is_that_of_the_matrix(channel: Transformed) -> None:
    prior = PRIOR[: len(channel.domain)] / PRIOR[: len(channel.domain)].sum()
    table = rt.Table.from_matrix(channel.domain, channel.matrix())
    for own, plain in zip(rt.leakage(channel, prior).measures, rt.leakage(table, prior).measures, strict=True):
        assert own.value == pytest.approx(plain.value, abs=1e-9) and own.name == plain.name


# Estimates


def test_the_law_comes_back_where_the_function_tells_answers_apart() -> None:
    pay = rt.Numbers("pay", 100, 100_000, unit="euro", edges=[1000, 2000, 4000, 8000])
    log = rt.Numbers("log pay", 2, 5, edges=[math.log10(edge) for edge in (1000, 2000, 4000, 8000)])
    channel = transformed(rt.case_one(log), pay, math.log10)
    assert channel.unresolved == ()
    answers = [500, 1500, 3000, 6000, 50_000] * 2000
    law = rt.distribution(rt.tally(channel.draw_many(answers, seed=1)))
    # Standard errors of the distribution function at the edges are below 0.02.
    assert np.abs(law.cdf([1000, 2000, 4000, 8000]) - [0.2, 0.4, 0.6, 0.8]).max() < 0.08
    inside = rt.distribution(rt.tally(channel.as_inner(channel.draw_many(answers, seed=1))))
    assert inside.mass == pytest.approx(law.mass, abs=1e-6)
    (said,) = law.coverage
    assert 0.5 < said.mean < 1


def test_the_year_of_marriage_is_asked_as_an_age() -> None:
    age = rt.Numbers("age at marriage", 16, 45, step=1, edges=[20, 25, 30])
    channel = transformed(
        rt.case_one(age), rt.Numbers("year", 1996, 2025, step=1, edges=[2000, 2005, 2010]), lambda y: y - 1980
    )
    assert [channel.describe(int(key)) for key in channel.keys()[:2]] == ["up to 2000", "up to 2005"]
    year = rt.distribution(rt.tally(channel.draw_many([1999, 2007] * 2000, seed=2)))
    assert year.quantile(0.5) in (2000, 2010) and abs(float(year.cdf(2000.0)) - 0.5) < 0.08


def test_answers_with_one_distance_are_not_told_apart_but_distances_are() -> None:
    hours = rt.Numbers("hours", 10, 70, step=1, edges=[19, 29, 34, 45, 50, 60])
    distance = rt.case_one(rt.Numbers("hours from 40", 0, 30, step=1, edges=[5, 10, 20]))
    channel = transformed(distance, hours, lambda y: abs(y - 40))
    assert channel.unresolved == tuple(label for label in hours.categories if label != "(34, 45]")
    reports = channel.draw_many([30, 50, 40, 40, 65] * 1000, seed=3)
    with pytest.raises(EstimateError, match="rank 4 of 7: different shares give the same reports"):
        rt.distribution(rt.tally(reports))
    law = rt.distribution(rt.tally(channel.as_inner(reports)))
    assert np.abs(law.cdf([5.0, 10.0, 20.0]) - [0.4, 0.8, 0.8]).max() < 0.08
    # A second wave that asks for the hours themselves settles the rest.
    plain = rt.tally(rt.case_one(hours).draw_many([30, 50, 40, 40, 65] * 1000, seed=4))
    assert abs(float(rt.distribution(plain, rt.tally(reports)).cdf(34.0)) - 0.2) < 0.08
    with pytest.raises(ReportError, match="not from"):
        channel.as_inner(distance.draw_many([3], seed=1))


def test_reports_are_kept_in_files(tmp_path: Path) -> None:
    channel = CASES["lazy ring of a distance"]
    reports = channel.draw_many([-3.5, 0.5, None], missing="skip", seed=1)
    rt.save(reports, tmp_path / "reports.parquet")
    again = rt.load(tmp_path / "reports.parquet")
    assert isinstance(again, rt.Reports) and again.channel == channel and again.missing == 1
    assert again.to_list() == reports.to_list()


# Which cells a function may spread


def test_every_possible_value_is_looked_at() -> None:
    distance = rt.case_one(rt.Numbers("distance", 0, 40, step=1, edges=[5, 10, 20]))
    hours = rt.Numbers("hours", 0, 80, step=1, edges=[20, 30, 34, 45, 50, 60])
    with pytest.raises(
        DomainError, match='2 of 7 cells of "hours", the first "up to 20".* Add edges at 19, 29 to'
    ) as fault:
        transformed(distance, hours, lambda y: abs(y - 40))
    assert fault.value.details["edges"] == (19.0, 29.0)
    better = rt.Numbers("hours", 0, 80, step=1, edges=[19, 20, 29, 30, 34, 45, 50, 60])
    assert transformed(distance, better, lambda y: abs(y - 40)).cells == (3, 2, 2, 1, 1, 0, 1, 2, 3)
    halves = rt.Numbers("hours", 0, 80, step="0.5", edges=[19.5, 29.5, 34.5, 45, 50, 60])
    coarse = rt.case_one(rt.Numbers("distance", 0, 40, edges=[5, 10, 20]))
    assert transformed(coarse, halves, lambda y: abs(y - 40)).cells == (3, 2, 1, 0, 1, 2, 3)
    endless = rt.Numbers("hours", 0, "inf", step=1, edges=[19, 29, 34, 45, 50])
    with pytest.raises(DomainError, match="Add edges at 60"):
        transformed(rt.case_one(rt.Numbers("distance", 0, "inf", edges=[5, 10, 20])), endless, lambda y: abs(y - 40))


def test_without_a_step_ends_and_points_between_are_looked_at() -> None:
    square = rt.case_one(rt.Numbers("squared distance", 0, "inf", edges=[25, 100, 400]))

    def from_40(y: float) -> float:
        return (y - 40) ** 2

    cells = transformed(square, rt.Numbers("y", "-inf", "inf", edges=[20, 30, 35, 45, 50, 60]), from_40).cells
    assert cells == (3, 2, 1, 0, 1, 2, 3)
    # Both ends of (30, 50] have the value 100, what lies between does not.
    with pytest.raises(DomainError, match=r"\(30, 50\].* Add edges at 35, 45 to"):
        transformed(square, rt.Numbers("y", "-inf", "inf", edges=[20, 30, 50, 60]), from_40)
    with pytest.raises(DomainError, match="Add edges at 30, 35, 45, 50 to"):
        transformed(square, rt.Numbers("y", "-inf", "inf", edges=[20, 33, 47, 60]), from_40)
    tenths = rt.case_one(rt.Numbers("squared", 0, 1, edges=[0.01, 0.09]))
    near = rt.Numbers("y", 0, 1, edges=[0.1, 0.2, 0.3, 0.5])  # (0.2 − 0.3)² is not 0.01 in floats
    assert transformed(tenths, near, lambda y: float(y - 0.2) ** 2 if y <= 0.5 else 0.5).cells == (1, 0, 0, 1, 2)


def test_categories_as_the_function() -> None:
    classes = rt.full_response(rt.Categorical("class", ["poor", "middle", "rich"]))
    pay = rt.Numbers("pay", 0, "inf", edges=[1000, 2000, 5000])

    def of_pay(y: float) -> str:
        return "poor" if y <= 1000 else "middle" if y <= 5000 else "rich"

    assert transformed(classes, pay, of_pay).cells == (0, 1, 1, 2)
    with pytest.raises(DomainError, match="Add edges at 1000, 5000"):
        transformed(classes, rt.Numbers("pay", 0, "inf", edges=[500, 2000]), of_pay)
    with pytest.raises(DomainError, match='no possible answer to "class"'):
        transformed(classes, pay, lambda y: "unknown")
    rounded = rt.case_one(rt.Numbers("thousands", 0, 5, step=1))
    half = rt.Numbers("pay", 0, 5000, edges=[500, 1500, 2500, 3500, 4500])
    assert transformed(rounded, half, lambda y: math.ceil((y - 500) / 1000)).cells == (0, 1, 2, 3, 4, 5)
    with pytest.raises(DomainError, match="without a step where g is not on its steps"):
        transformed(rounded, half, lambda y: y / 1000)


def test_what_is_refused() -> None:
    log = rt.case_one(rt.Numbers("log pay", 0, 5, edges=[3]))
    with pytest.raises(DomainError, match="g has no value at 0"):
        transformed(log, rt.Numbers("pay", 0, 100_000, edges=[1000]), math.log10)
    with pytest.raises(DomainError, match="g at 625937.5 is no possible answer"):
        transformed(log, rt.Numbers("pay", 1, 10_000_000, edges=[1000]), math.log10)
    with pytest.raises(DomainError, match="is no possible answer"):
        transformed(log, rt.Numbers("pay", 1, 10, edges=[5]), lambda y: math.nan)
    with pytest.raises(ParameterError, match="more than 1,048,576 possible values"):
        transformed(log, rt.Numbers("pay", 0, 2_000_000, step=1, edges=[1000]), lambda y: 1)
    with pytest.raises(ChannelError, match='Nobody can be in the cell "above 3"'):
        transformed(log, rt.Numbers("pay", 1, 100, edges=[10]), math.log10)
    threshold = rt.case_one(DISTANCE)
    for wrong, error, match in (
        ([0, 1, 2], ChannelError, "8 cells and 3 cells"),
        ([0, 1, 2, 9, 0, 0, 0, 0], ParameterError, "9 is no cell"),
        ([0, 1, 2, "far", 0, 0, 0, 0], ParameterError, "'far' is no cell"),
        ([True] * 8, ParameterError, "True is no cell"),
        ("01230123", ParameterError, "g is str"),
        ({"up to -4": 1}, ParameterError, "map each of its cells once"),
    ):
        with pytest.raises(error, match=match):
            transformed(threshold, LINE, cast("Any", wrong))
    with pytest.raises(ParameterError, match="channel is Numbers"):
        transformed(cast("Any", DISTANCE), LINE, abs)
    pair = rt.Subset(rt.ProductDomain([question(2), rt.Categorical("digit", ["0", "1"])]))
    with pytest.raises(ChannelError, match="several questions"):
        Transformed(pair, question(4), (0, 1, 2, 3))
    with pytest.raises(ChannelError, match="numbered 0 to 3"):
        Transformed(threshold, LINE, (0, 1, 2, 4, 0, 0, 0, 3))


def test_documents_that_are_not_transformations() -> None:
    document = CASES["threshold on a distance"].to_json()
    for change in (
        {"cells": "01"},
        {"cells": [0.5] * 8},
        {"cells": [0] * 8},
        {"inner": {}},
        {"inner": 3},
        {"title": ""},
    ):
        with pytest.raises(ChannelError):
            rt.channel_from_json({**document, **change})
    assert rt.channel_from_json(document) == CASES["threshold on a distance"]
