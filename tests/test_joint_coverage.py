"""Several answers about one number: joint coverage, cells left and the chance of being pinned, against all joint reports."""

from __future__ import annotations

import json
import time
from functools import reduce
from itertools import product
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from click.testing import CliRunner
from numpy.typing import NDArray
from scipy import stats

import reticent as rt
from reticent.anchors import LogisticAnchors
from reticent.channel import Transformed
from reticent.channel.cuts import ListedCuts
from reticent.cli import main
from reticent.coverage import canonical_coverage
from reticent.errors import ChannelError, ParameterError
from reticent.intersection import intersection
from reticent.repeated_ranges import JointCoverage, joint_coverage, neighbours, pair_matrix, pinned_by_neighbours
from reticent.repetitions import repetition
from tests.mechanism_cases import question
from tests.test_ranges import CASES as RANGES

Floats = NDArray[np.float64]
NORMAL = stats.norm()
PRIOR = np.array([0.1, 0.25, 0.3, 0.2, 0.15])
LINE = rt.Numbers("x", -6, 6, edges=[-4, -2, -1, 0, 1, 2, 4])
CHANNELS: dict[str, rt.Channel] = {
    **{name: channel for name, channel in RANGES.items() if not isinstance(channel, rt.Product)},
    "silence in the tails only": rt.Ranges(
        rt.Numbers("x", 0, 5, edges=[1, 2, 3, 4]), ListedCuts(5, ((1,), (4,)), (1, 1)), None,
        rt.selective(rt.case_one(rt.Numbers("x", 0, 5, edges=[1, 2, 3, 4])), 0.5, 1).selection,
    ),
    "one cell is not acceptable": rt.case_one(rt.Numbers("x", 0, 3, edges=[1, 2]), acceptable=(0, 2)),
    "distance": Transformed(rt.random_ranges(rt.Numbers("d", 0, 4, edges=[1, 2, 3]), 3), LINE, (3, 2, 1, 0, 0, 1, 2, 3)),
    "subset": rt.Subset(question(5), ((2, 2), (4, 1))),
    "subset that may miss": rt.Subset(question(5), ((2, 3), (3, 1)), keep=2**63 + 5, miss_sizes=((2, 1), (1, 4))),
    "full response": rt.full_response(question(4)),
    "randomised response": rt.randomized_response(question(4), 1.0),
    "table": rt.Table.from_matrix(rt.Numbers("x", 0, 3, edges=[1, 2]), [[0.5, 0.2, 0], [0.5, 0.3, 0], [0, 0.5, 1]]),
}  # fmt: skip
each_channel = pytest.mark.parametrize("channel", CHANNELS.values(), ids=CHANNELS.keys())


def prior_of(channel: rt.Channel) -> Floats:
    return np.random.default_rng(channel.n_categories).dirichlet(np.ones(channel.n_categories))


def joint_reports(channels: list[rt.Channel]) -> tuple[Floats, NDArray[np.bool_]]:
    """P(all reports | x) and which cells fit them all, one row for every list of reports, one for each channel."""
    matrices = [channel.matrix() for channel in channels]
    p = channels[0].n_categories
    chances = reduce(lambda joint, one: (joint[:, None, :] * one[None]).reshape(-1, p), matrices)
    return chances, chances > 0


# Against all joint reports


@each_channel
def test_pairs_are_those_of_the_reports(channel: rt.Channel) -> None:
    rows = np.array([[float(p) for p in channel.exact_row(int(key))] for key in channel.keys()])
    assert pair_matrix(channel) == pytest.approx(rows.T @ (rows > 0), abs=1e-12)


@pytest.mark.parametrize("m", [1, 2, 3])
@each_channel
def test_joint_coverage_is_that_of_all_joint_reports(channel: rt.Channel, m: int) -> None:
    if channel.n_reports**m > 20_000:
        m = 2
    prior = prior_of(channel)
    chances, fits = joint_reports([channel] * m)
    got = joint_coverage([channel] * m, prior)
    assert got.by_cell == pytest.approx((fits @ prior) @ chances, abs=1e-12)
    assert got.candidates_by_cell == pytest.approx(fits.sum(axis=1) @ chances, abs=1e-12)
    assert got.coverage == pytest.approx(float(chances @ prior @ (fits @ prior)), abs=1e-12)
    one = rt.size_leakage(channel, prior)
    assert got.each == pytest.approx([one] * m, abs=1e-12) and got.sum_bound == pytest.approx(min(m * one, 1))
    assert got.leakage == pytest.approx(got.exact, abs=1e-12) and got.exact <= got.sum_bound + 1e-12
    assert got.exact == 1 - got.coverage and got.n_answers == m


@pytest.mark.parametrize("m", [1, 2, 3, 7])
@each_channel
def test_only_the_answer_is_left_when_its_neighbours_are_not(channel: rt.Channel, m: int) -> None:
    exact = intersection(channel, m)
    assert not exact.pinned_is_bound
    if isinstance(channel, (Transformed, rt.Subset)):
        return
    pinned, is_bound = pinned_by_neighbours(channel, m)
    assert (pinned >= exact.pinned - 1e-12).all()
    if not is_bound:
        assert pinned == pytest.approx(exact.pinned, abs=1e-12)


def test_a_line_is_exact_and_a_ring_is_a_bound() -> None:
    for channel in RANGES.values():
        if not isinstance(channel, rt.Ranges):
            continue
        if isinstance(channel.cuts, ListedCuts) and channel.cuts.ring:
            assert not neighbours(channel).decide
        elif all(channel.no_range) or not any(channel.no_range):
            assert neighbours(channel).decide
    assert not neighbours(CHANNELS["silence in the tails only"]).decide
    ring, m = CHANNELS["listed ring"], 2
    pinned, is_bound = pinned_by_neighbours(ring, m)
    assert is_bound and (pinned > intersection(ring, m).pinned + 1e-6).any()


def test_different_channels_over_one_domain() -> None:
    number = rt.Numbers("x", 0, 5, edges=[1, 2, 3, 4])
    channels: list[rt.Channel] = [
        rt.case_one(number), rt.selective(rt.case_one(number), 0.5, 0.7), rt.ring(number, 0.2), rt.case_one(number),
    ]  # fmt: skip
    chances, fits = joint_reports(channels)
    got = joint_coverage(channels, PRIOR)
    assert got.coverage == pytest.approx(float(chances @ PRIOR @ (fits @ PRIOR)), abs=1e-12)
    assert got.sum_bound == pytest.approx(min(1, sum(rt.size_leakage(channel, PRIOR) for channel in channels)))
    assert joint_coverage(channels[:3], PRIOR).coverage > got.coverage
    assert joint_coverage(channels[0], PRIOR).exact == pytest.approx(
        1 - rt.mean_coverage(cast("Any", channels[0]), PRIOR)
    )


def test_a_number_and_a_function_of_it() -> None:
    distance = Transformed(rt.case_one(rt.Numbers("d", 0, 4, edges=[1, 2, 3])), LINE, (3, 2, 1, 0, 0, 1, 2, 3))
    channels, prior = [distance, rt.case_one(LINE)], np.full(8, 1 / 8)
    chances, fits = joint_reports(channels)
    assert joint_coverage(channels, prior).coverage == pytest.approx(float(chances @ prior @ (fits @ prior)), abs=1e-12)


# Numbers of the specification


def test_three_logistic_thresholds_on_a_normal_law() -> None:
    # Section 1.6: they leak 0.497, the sum bound is 0.719. Thresholds of one law share a range as canonical ranges do.
    anchors = LogisticAnchors(0, 1)
    continuum = 1 - canonical_coverage(NORMAL, anchors, 4)
    assert continuum == pytest.approx(0.497, abs=5e-4)
    domain = rt.Numbers("x", "-inf", "inf", edges=[round(k / 100, 2) for k in range(-600, 601)])
    channel, masses = rt.case_one(domain, anchors), np.diff(NORMAL.cdf(domain.boundaries))
    got = joint_coverage([channel] * 3, masses)
    assert got.exact == pytest.approx(continuum, abs=1e-3) and got.leakage == got.exact
    assert got.sum_bound == pytest.approx(3 * (1 - 0.7604718198), abs=1e-3)
    assert got.sum_bound == pytest.approx(0.719, abs=1e-3)


# More than sixteen cells


@pytest.mark.parametrize("m", [1, 2, 5, 40])
def test_one_threshold_on_many_cells_by_hand(m: int) -> None:
    k = 101
    domain = rt.Numbers("x", 0, k, edges=range(1, k))
    got = repetition(rt.case_one(domain), m, [1 / k] * k)
    pinned = np.full(k, 1 - 2 * (1 - 1 / (k - 1)) ** m + (1 - 2 / (k - 1)) ** m)
    pinned[[0, -1]] = 1 - (1 - 1 / (k - 1)) ** m
    assert got.pinned_by_category == pytest.approx(pinned, abs=1e-12) and not got.pinned_is_bound
    apart = np.abs(np.arange(k)[:, None] - np.arange(k))
    left = ((1 - apart / (k - 1)) ** m).sum(axis=1)
    assert got.candidates_by_category == pytest.approx(left, rel=1e-12) and got.method == "exact"
    assert got.coverage is not None and got.coverage.coverage == pytest.approx(float(left.mean() / k), rel=1e-12)
    assert got.expected_candidates == pytest.approx(got.coverage.expected_candidates)


def drawn(channel: rt.Channel, x: int, m: int, n: int) -> NDArray[np.bool_]:
    """Which cells fit m reports of one answer, for n people."""
    label = channel.domain.categories[x]
    fits = np.ones((n, channel.n_categories), dtype=np.bool_)
    for j in range(m):
        keys = channel.draw_many([label] * n, seed=f"answer {j}").keys
        different, place = np.unique(keys, return_inverse=True)
        fits &= (channel.likelihood(different) > 0)[place]
    return fits


WIDE = rt.Numbers("x", 0, 24, edges=range(1, 24))
SEVERAL: dict[str, rt.Channel] = {
    "selective": rt.selective(rt.random_ranges(WIDE, 4), 0.15, 0.9),
    "acceptable": rt.lazy(rt.random_ranges(WIDE, 6, acceptable=(7, 10)), 0.9),
    "ring": rt.ring(WIDE, 0.2, 3),
    "transformed": Transformed(
        rt.random_ranges(rt.Numbers("d", 0, 21, edges=range(1, 21)), 5), WIDE, (20, 19, *range(0, 21), 7)
    ),
}


@pytest.mark.parametrize("name", SEVERAL)
def test_many_cells_agree_with_draws(name: str) -> None:
    # 12,000 people for each of three answers; a mean of shares is within 5 standard errors with chance above 1 − 1e-6.
    channel, m, n = SEVERAL[name], 3, 12_000
    got = repetition(channel, m, [1 / 24] * 24)
    assert got.coverage is not None and got.pinned_is_bound == (name == "ring")
    for x in (0, 8, 13):
        left = drawn(channel, x, m, n).sum(axis=1)
        error = left.std() / np.sqrt(n) + 1e-9
        assert abs(left.mean() - got.candidates_by_category[x]) < 5 * error
        assert abs(left.mean() / 24 - got.coverage.by_cell[x]) < 5 * error
        alone = float((left == 1).mean())
        expected = float(got.pinned_by_category[x])
        slack = 5 * np.sqrt(expected * (1 - expected) / n) + 1e-9
        assert alone < expected + slack and (name == "ring" or alone > expected - slack)


def test_answers_with_one_function_value_are_never_pinned() -> None:
    got = repetition(SEVERAL["transformed"], 30)
    shared = np.array([cell in (20, 19, 7) for cell in cast("Transformed", SEVERAL["transformed"]).cells])
    assert (got.pinned_by_category[shared] == 0).all() and (got.pinned_by_category[~shared] > 0).all()
    assert got.coverage is None


def test_independent_cuts_in_closed_form_are_those_of_their_arcs() -> None:
    plain = rt.random_ranges(WIDE, 5, [1 + k % 4 for k in range(23)])
    assert isinstance(plain, rt.Ranges)
    told = rt.lazy(plain, 0.75)
    kept = rt.Ranges(WIDE, told.cuts, None, rt.selective(plain, 1e-9, 1).selection, told.ask)
    assert pair_matrix(told) == pytest.approx(pair_matrix(kept), abs=1e-12)
    assert neighbours(told).both == pytest.approx(neighbours(kept).both, abs=1e-12)


def test_two_thousand_cells_take_seconds() -> None:
    domain, prior = rt.Numbers("pay", 0, 2000, edges=range(1, 2000)), np.full(2000, 1 / 2000)
    start = time.process_time()
    got = repetition(rt.case_one(domain), 3, prior)
    ranges = joint_coverage([rt.random_ranges(domain, 3)] * 2, prior)
    assert time.process_time() - start < 20
    # Uniform numbers: E (1 − |Y − Y'|)^3 = 2/5 for thresholds, E (1 − |Y − Y'|)^4 = 2/6 for two answers of two cuts.
    assert got.coverage is not None and got.coverage.coverage == pytest.approx(2 / 5, abs=1e-3)
    assert ranges.coverage == pytest.approx(1 / 3, abs=1e-3)


@pytest.mark.parametrize("name", SEVERAL)
def test_more_answers_leave_less(name: str) -> None:
    channel, prior = SEVERAL[name], np.full(24, 1 / 24)
    leaks = [joint_coverage([channel] * m, prior).exact for m in (1, 2, 5, 20)]
    assert leaks == sorted(leaks) and leaks[-1] < 1
    pinned = [repetition(channel, m, prior).pinned for m in (1, 2, 5, 20)]
    assert pinned == sorted(pinned)


# Refusals, text, command line


def test_refusals() -> None:
    number = rt.case_one(WIDE)
    for wrong, match in (
        ([], "one or more"),
        ([number, rt.case_one(LINE)], "one question"),
        ([number, "x"], "one or more"),
    ):
        with pytest.raises(ParameterError, match=match):
            joint_coverage(cast("Any", wrong), np.full(24, 1 / 24))
    with pytest.raises(ParameterError, match="sum to 1"):
        joint_coverage([number], np.full(24, 0.1))
    fine = rt.Numbers("pay", 0, 5000, edges=range(1, 5000))
    with pytest.raises(ChannelError, match="coarser edges"):
        joint_coverage([rt.case_one(fine)], np.full(5000, 1 / 5000))
    with pytest.raises(ChannelError, match="coarser edges"):
        repetition(rt.case_one(fine), 2)
    assert repetition(rt.randomized_response(fine, 1.0), 2, np.full(5000, 1 / 5000)).coverage is None
    many = rt.then(rt.randomized_response(WIDE, 1.0), rt.uniform_subset(rt.Categorical("reply", list(WIDE.categories))))
    with pytest.raises(ChannelError, match="too many reports"):
        joint_coverage([many], np.full(24, 1 / 24))


def test_summary_and_json() -> None:
    got = repetition(SEVERAL["ring"], 3, [1 / 24] * 24, "bits")
    lines = got.summary().splitlines()
    assert lines[1].startswith("  pinned down exactly  at most 0.") and lines[2].startswith("  cells left           ")
    assert (
        lines[3].startswith("  joint coverage       0.")
        and ": leakage 0." in lines[3]
        and "by the sum bound" in lines[3]
    )
    document = json.loads(json.dumps(got.to_json(), allow_nan=False))
    assert document["pinned_is_bound"] is True
    told = document["joint_coverage"]
    assert told["leakage"] == told["exact_leakage"] == pytest.approx(1 - told["coverage"]) and told["sum_bound"] == 1
    assert repetition(rt.uniform_subset(question(5)), 3, [0.2] * 5).to_json()["joint_coverage"] is None
    one = joint_coverage(SEVERAL["ring"], [1 / 24] * 24)
    assert isinstance(one, JointCoverage) and one.summary().startswith(
        '1 answer by one person to "x":\n  joint coverage'
    )


def test_the_leakage_command_tells_joint_coverage(tmp_path: Path) -> None:
    path = str(tmp_path / "design.json")
    rt.Design({"pay": rt.case_one(rt.Numbers("pay", 0, 200, edges=range(1, 200)))}).save(path)
    run = CliRunner().invoke(main, ["leakage", path, "--answers", "3"])
    assert run.exit_code == 0, run.output
    cells = np.arange(200)
    exact, one = (float(np.mean([(1 - abs(x - y) / 199) ** m for x, y in product(cells, cells)])) for m in (3, 1))
    bound = min(3 * (1 - one), 1)
    assert f"joint coverage       {exact:.4f}: leakage {1 - exact:.4f}, by the sum bound {bound:.4f}" in run.output
    (document,) = json.loads(CliRunner().invoke(main, ["leakage", path, "--answers", "3", "--json"]).stdout)
    told = document["repetition"]["joint_coverage"]
    assert told["coverage"] == pytest.approx(exact, abs=1e-9) and told["sum_bound"] == pytest.approx(bound, abs=1e-9)
