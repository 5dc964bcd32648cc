"""Several answers by one person: the table of the specification, and every number against all joint reports listed."""

from __future__ import annotations

import json
import math
import time
from fractions import Fraction
from functools import reduce
from math import comb
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from click.testing import CliRunner
from numpy.typing import NDArray

import reticent as rt
from reticent.cli import main
from reticent.errors import ChannelError, ParameterError, ReportError
from reticent.intersection import law_of_size
from reticent.keys import integers_from_keys
from reticent.repetitions import Repetition, candidates, joint_rows, possible_cells, posterior, repetition
from tests.mechanism_cases import CASES, other, question

Floats = NDArray[np.float64]
SMALL = sorted(name for name, channel in CASES.items() if channel.n_reports <= 60)
PINNED = {  # section 8 of the specification, uniform design; answers 1, 2, 3, 4, 5, 8, 10
    4: [0, 0.6667, 0.8889, 0.9630, 0.9877, 0.9995, 0.9999],
    5: [0, 0.4200, 0.7500, 0.8982, 0.9591, 0.9974, 0.9996],
    10: [0, 0.0743, 0.3088, 0.5736, 0.7647, 0.9690, 0.9924],
    100: [0, 0.0000, 0.0000, 0.0017, 0.0431, 0.6788, 0.9078],
}


def numbered(p: int) -> rt.Categorical:
    return rt.Categorical("number", [str(i) for i in range(p)])


def uniform(p: int) -> rt.Channel:
    return rt.uniform_subset(numbered(p))


def joint_matrix(channel: rt.Channel, m: int) -> Floats:
    """P(m reports | x), one row for every list of m reports."""
    rows = np.array(
        [[float(chance) for chance in channel.exact_row(key)] for key in integers_from_keys(channel.keys())]
    )
    p = channel.n_categories
    return reduce(lambda joint, one: (joint[:, None, :] * one[None, :, :]).reshape(-1, p), [rows] * m)


def random_prior(p: int) -> Floats:
    return np.random.default_rng(p).dirichlet(np.full(p, 0.7))


def information_of(joint: Floats, prior: Floats) -> float:
    total = np.broadcast_to((joint @ prior)[:, None], joint.shape)
    terms = np.where(joint > 0, joint * np.log(np.where(joint > 0, joint / np.where(total > 0, total, 1), 1)), 0)
    return float(terms.sum(axis=0) @ prior)


# Numbers of the specification


@pytest.mark.parametrize("p", PINNED)
def test_how_often_the_value_is_pinned_down(p: int) -> None:
    pinned = [repetition(uniform(p), m).pinned for m in (1, 2, 3, 4, 5, 8, 10)]
    assert pinned == pytest.approx(PINNED[p], abs=5.0001e-5)


@pytest.mark.parametrize(("p", "m", "exact"), [(4, 2, (2, 3)), (5, 2, (21, 50)), (5, 3, (3, 4)), (6, 3, (384, 625))])
def test_golden_fractions(p: int, m: int, exact: tuple[int, int]) -> None:
    assert repetition(uniform(p), m).pinned == exact[0] / exact[1]


@pytest.mark.parametrize("p", [4, 5, 17, 100])
@pytest.mark.parametrize("m", [1, 2, 7])
def test_categories_left_on_average(p: int, m: int) -> None:
    channel = uniform(p)
    assert isinstance(channel, rt.Subset)
    assert repetition(channel, m).expected_candidates == pytest.approx(float(1 + (p - 1) * channel.stray**m), rel=1e-15)


def test_two_hundred_categories_in_fractions() -> None:
    channel, m = rt.Subset(numbered(200), ((70, 3), (100, 1), (140, 5))), 20
    terms = ((-1) ** s * comb(199, s) * channel.joint_support(s + 1) ** m for s in range(200))
    assert repetition(channel, m).pinned == pytest.approx(float(sum(terms, Fraction(0))), rel=1e-15)


def test_ten_thousand_categories_are_fast_and_right() -> None:
    channel, m, start = uniform(10_000), 30, time.process_time()
    assert isinstance(channel, rt.Subset)
    pinned = repetition(channel, m).pinned
    assert time.process_time() - start < 10
    # Bonferroni: the first two terms of the sum are above and below it.
    once = 1 - 9999 * channel.joint_support(2) ** m
    assert float(once) <= pinned <= float(once + comb(9999, 2) * channel.joint_support(3) ** m)
    assert repetition(channel, 3).pinned == 0 and repetition(channel, 1000).pinned == 1


# All joint reports listed


@pytest.mark.parametrize("m", [1, 2, 3])
@pytest.mark.parametrize("name", SMALL)
def test_every_number_is_that_of_all_joint_reports(name: str, m: int) -> None:
    channel = CASES[name]
    prior, joint = random_prior(channel.n_categories), joint_matrix(channel, m)
    left = joint > 0
    got = repetition(channel, m, prior)
    alone = left & (left.sum(axis=1) == 1)[:, None]
    assert got.pinned_by_category == pytest.approx((joint * alone).sum(axis=0), abs=1e-12)
    assert got.candidates_by_category == pytest.approx((joint * left.sum(axis=1)[:, None]).sum(axis=0), abs=1e-12)
    assert got.pinned == pytest.approx(float(prior @ got.pinned_by_category), abs=1e-15)
    assert got.expected_candidates == pytest.approx(float(prior @ got.candidates_by_category), abs=1e-12)
    assert got.information is not None and not got.information.is_bound
    assert got.information.value == pytest.approx(information_of(joint, prior), abs=1e-10)
    assert got.maximal is not None
    together = math.log(joint.max(axis=1).sum())
    assert together <= got.maximal + 1e-12
    if m == 1:
        assert together == pytest.approx(got.maximal, abs=1e-12)
    possible = joint[left.any(axis=1)]
    worst = math.inf if (possible == 0).any() else math.log((possible.max(axis=1) / possible.min(axis=1)).max())
    assert got.epsilon == pytest.approx(worst, abs=1e-12) and got.epsilon >= worst - 1e-12


@pytest.mark.parametrize("name", CASES)
def test_information_grows_within_its_bounds(name: str) -> None:
    channel = CASES[name]
    prior = random_prior(channel.n_categories)
    several = [repetition(channel, m, prior) for m in (1, 2, 4)]
    told = [one.information for one in several]
    assert told[0] is not None and told[1] is not None and told[2] is not None
    one = rt.mutual_information(channel, prior)
    assert told[0].value == pytest.approx(one, abs=1e-12)
    for m, information in zip((1, 2, 4), told, strict=True):
        assert information is not None and information.value <= min(m * one, information.ceiling) + 1e-12
    assert told[0].value <= told[1].value + 1e-12 and told[1].value <= told[2].value + 1e-12
    assert [one.pinned for one in several] == sorted(one.pinned for one in several)


def test_without_a_prior_the_answer_most_exposed_counts() -> None:
    channel = CASES["ternary_dummy uniform"]
    exposed = rt.Table.from_matrix(question(3), [[1, 0, 0], [0, 0.5, 0.5], [0, 0.5, 0.5]])
    got = repetition(exposed, 2)
    assert (got.pinned, got.expected_candidates, got.information) == (1, 1, None)
    assert repetition(exposed, 2, [0, 0.5, 0.5]).pinned == 0
    assert repetition(channel, 2).pinned == repetition(channel, 2).pinned_by_category.max()


@pytest.mark.parametrize("name", ["fixed_size(5, 3)", "sizes with the full set", "uniform_subset(6)"])
def test_the_law_of_the_number_of_categories_left(name: str) -> None:
    channel, m = CASES[name], 3
    assert isinstance(channel, rt.Subset)
    law = law_of_size(channel, m)
    joint = joint_matrix(channel, m)[:, 0]
    sizes = (joint_matrix(channel, m) > 0).sum(axis=1)
    assert sum(law.values()) == 1
    assert {k: float(share) for k, share in law.items()} == pytest.approx(
        {k: joint[sizes == k].sum() for k in {*sizes[joint > 0].tolist()}}, abs=1e-12
    )


def test_reports_that_say_the_same_count_as_one() -> None:
    table = rt.Table.from_matrix(question(2), [[0.3, 0.2], [0.3, 0.2], [0.4, 0.6]])
    rows = joint_rows(table, 3)
    assert rows is not None and rows.shape == (4, 2)
    assert rows.sum(axis=0) == pytest.approx([1, 1], abs=1e-12)
    prior = np.array([0.3, 0.7])
    assert information_of(rows, prior) == pytest.approx(information_of(joint_matrix(table, 3), prior), abs=1e-12)


def test_many_answers_to_a_table_in_fixed_point() -> None:
    rng = np.random.default_rng(5)
    matrix = rng.integers(0, 3, size=(12, 6)) + np.eye(12, 6)
    table = rt.Table.from_matrix(question(6), matrix / matrix.sum(axis=0))
    m = 60  # 60 times 53 bits and more: beyond the exact powers
    exact = [table.exact_row(key) for key in range(12)]
    for x in range(6):
        total = Fraction(0)
        for others in range(2**5):
            members = [x, *([y for y in range(6) if y != x][i] for i in range(5) if others >> i & 1)]
            held = sum((row[x] for row in exact if all(row[y] for y in members)), Fraction(0))
            total += (-1) ** (len(members) - 1) * held**m
        assert repetition(table, m).pinned_by_category[x] == pytest.approx(float(total), abs=1e-15)


# Limits


def test_what_cannot_be_listed_is_bounded() -> None:
    channel, prior = rt.uniform_subset(numbered(40)), np.full(40, 1 / 40)
    got = repetition(channel, 3, prior, unit="bits")
    assert got.information is not None and got.information.is_bound
    assert got.information.value >= 3 * rt.mutual_information(channel, prior, unit="bits")
    assert got.maximal == pytest.approx(3, abs=1e-12)
    assert "at most" in got.summary()
    more = repetition(channel, 30, prior, unit="bits").information
    assert more is not None and more.value == more.ceiling == pytest.approx(math.log2(40))


def test_channels_that_rule_nothing_out_leave_everything() -> None:
    for channel in (
        rt.randomized_response(numbered(5000), 2.0),
        rt.Table.from_matrix(numbered(30), np.full((2, 30), 0.5)),
        rt.Product([rt.randomized_response(numbered(20), 1.0), rt.randomized_response(other(3), 1.0)]),
    ):
        got = repetition(channel, 9)
        assert (got.pinned, got.expected_candidates, got.method) == (0, channel.n_categories, "closed form")
        assert got.epsilon == pytest.approx(9 * channel.epsilon) and got.epsilon >= 9 * channel.epsilon


def test_refusals() -> None:
    letters = uniform(5)
    wrong: Any
    for wrong in (0, -1, 1001, True, 2.0, "3", np.int64(0), np.float64(2)):
        with pytest.raises(ParameterError, match="whole numbers from 1 to 1,000"):
            repetition(letters, wrong)
    counted = repetition(letters, cast("Any", np.int64(2)))
    assert counted.to_json() == repetition(letters, 2).to_json() and type(counted.n_answers) is int
    with pytest.raises(ParameterError, match="sum to 1"):
        repetition(letters, 2, [0.5] * 5)
    with pytest.raises(ParameterError, match="nats"):
        repetition(letters, 2, unit=cast("Any", "bytes"))
    wide = rt.then(rt.randomized_response(numbered(20), 2.0), rt.uniform_subset(numbered(20)))
    with pytest.raises(ChannelError, match="up to 16 categories"):
        repetition(wide, 2)
    sizes = tuple((k, 1) for k in range(2, 2600))
    with pytest.raises(ChannelError, match="fewer sizes"):
        repetition(rt.Subset(numbered(5200), sizes), 2)


# Candidates and posterior


def test_candidates_are_what_fits_all_reports() -> None:
    letters = rt.uniform_subset(question(5))
    assert candidates(letters, []) == ("a", "b", "c", "d", "e")
    assert candidates(letters, [0b00111]) == ("a", "b", "c")
    assert candidates(letters, [0b00111, 0b10110, 0b01011]) == ("b",)
    reports = letters.draw_many(["d"] * 12, seed=1)
    assert candidates(letters, reports.keys) == ("d",)
    assert candidates(rt.randomized_response(question(3), 1.0), [0, 1, 1]) == ("a", "b", "c")
    wide = uniform(100).draw_many(["7"] * 40, seed=1)
    assert candidates(uniform(100), wide.keys) == candidates(uniform(100), integers_from_keys(wide.keys)) == ("7",)


def test_inconsistent_and_impossible_reports_are_told_apart() -> None:
    letters = rt.uniform_subset(question(4))
    with pytest.raises(ReportError, match="inconsistent") as fault:
        candidates(letters, [0b0011, 0b1100])
    assert fault.value.details["reason"] == "inconsistent"
    for wrong in (0, 1, 0b1111, 0b10001, 2**70, -1):
        with pytest.raises(ReportError, match="cannot come|does not fit"):
            candidates(letters, [0b0011, wrong])


def test_reports_are_whole_numbers_and_nothing_that_can_be_made_one() -> None:
    letters, wide = rt.uniform_subset(question(4)), uniform(100)
    assert candidates(letters, cast("Any", np.array([3, 6]))) == candidates(letters, [np.int64(3), np.int64(6)])
    wrong: Any
    for wrong in ([3.9], [3.0], ["3"], [True], [None], [[3]], "3", 3, None, np.array([3.0]), np.array([[3]])):
        for channel in (letters, wide):
            with pytest.raises(ReportError, match="whole number"):
                candidates(channel, wrong)
            with pytest.raises(ReportError, match="whole number"):
                posterior(channel, wrong, np.full(channel.n_categories, 1 / channel.n_categories))


@pytest.mark.parametrize("name", SMALL)
def test_posterior_is_bayes_rule(name: str) -> None:
    channel = CASES[name]
    prior = random_prior(channel.n_categories)
    keys = channel.draw_keys(np.zeros(3, dtype=np.int64), rt.choose.Words(seed=2))
    joint = prior * channel.likelihood(keys).prod(axis=0)
    assert posterior(channel, keys, prior) == pytest.approx(joint / joint.sum(), abs=1e-12)


def test_posterior_after_a_hundred_reports_does_not_underflow() -> None:
    channel = rt.randomized_response(numbered(1000), 0.5)
    got = posterior(channel, [3] * 100 + [4] * 99, np.full(1000, 0.001))
    assert got[3] / got[4] == pytest.approx(math.exp(0.5), rel=1e-9) and got[3] + got[4] == pytest.approx(1)
    letters = rt.uniform_subset(question(4))
    with pytest.raises(ReportError, match="probability 0"):
        posterior(letters, [0b0011], [0, 0, 0.5, 0.5])


def test_possible_cells_name_every_question() -> None:
    yes_no = [rt.Categorical(name, ["yes", "no"]) for name in ("smokes", "drinks")]
    assert possible_cells(rt.Subset(rt.ProductDomain(yes_no)), 0b0110) == [("yes", "no"), ("no", "yes")]
    assert possible_cells(rt.uniform_subset(question(4)), 0b1010) == [("b",), ("d",)]


# As text, JSON and on the command line


def test_summary_and_json() -> None:
    letters = rt.uniform_subset(question(5))
    got = repetition(letters, 3, np.full(5, 0.2), unit="bits")
    assert got.summary().splitlines() == [
        '3 independent answers by one person to "letter" through uniform subset:',
        "  pinned down exactly  0.7500",
        "  categories left      1.256 of 5, on average",
        "  mutual information   2.068 of 2.322 bits",
        "  maximal leakage      at most 2.322 bits",
        "  epsilon              infinite",
    ]
    document = json.loads(json.dumps(got.to_json(), allow_nan=False))
    assert document["epsilon"] == "infinity" and document["categories"][4] == {
        "label": "e", "pinned": 0.75, "expected_candidates": pytest.approx(1.256),
    }  # fmt: skip
    plain = repetition(rt.randomized_response(question(3), 1.0), 1)
    assert plain.summary().startswith("1 answer by") and "information" not in plain.summary()
    assert isinstance(plain, Repetition) and plain.to_json()["mutual_information"] is None


def test_the_leakage_command_counts_answers(tmp_path: Path) -> None:
    path = tmp_path / "design.json"
    rt.Design({"letter": rt.uniform_subset(question(5))}).save(path)
    run = CliRunner().invoke(main, ["leakage", str(path), "--answers", "3"])
    assert run.exit_code == 0 and "pinned down exactly  0.7500" in run.output
    run = CliRunner().invoke(main, ["leakage", str(path), "--answers", "2", "--json"])
    (document,) = json.loads(run.stdout)
    assert document["repetition"]["n_answers"] == 2 and document["repetition"]["unit"] == "bits"
    assert document["repetition"]["pinned"] == pytest.approx(0.42, abs=1e-12)
    run = CliRunner().invoke(main, ["leakage", str(path), "--json"])
    assert "repetition" not in json.loads(run.stdout)[0]
    assert CliRunner().invoke(main, ["leakage", str(path), "--answers", "0"]).exit_code == 2
