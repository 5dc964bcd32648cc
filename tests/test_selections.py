"""Floors that each person draws, and ranges that are acceptable by their number."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import stats

import reticent as rt
from reticent.anchors import LogisticAnchors, UniformAnchors
from reticent.channel.cuts import IndependentCuts, ListedCuts
from reticent.channel.ranges import NULL, Ranges
from reticent.channel.selection import Floors, Selection
from reticent.choose import Words, seeded
from reticent.coverage import coverage_by_cell, coverage_by_report, mean_coverage
from reticent.domain import Numbers
from reticent.errors import ChannelError, EstimateError, ParameterError, ReportError
from reticent.keys import integers_from_keys
from reticent.mechanisms.ranges import case_one, case_two, random_ranges, ring
from reticent.mechanisms.selections import ignorable_rho, lazy, rate_of_ranges, selective

NUMBER = Numbers("x", 0, 5, edges=[1, 2, 3, 4])
MASSES = [0.1, 0.2, 0.3, 0.3, 0.1]
WEIGHTS = (1, 2, 4, 3)
PRIOR = np.array([0.05, 0.3, 0.25, 0.3, 0.1])
FLOORS = {0.2: 1, "1/3": 2, 0.6: 3}


# --- floors of one's own ---------------------------------------------------------------------------------------------------


def test_a_law_of_floors_is_the_mixture_of_its_floors() -> None:
    plain = case_two(NUMBER, WEIGHTS)
    mixed = selective(plain, FLOORS, 0.7, pilot=MASSES)
    single = {floor: selective(plain, floor, 0.7, pilot=MASSES) for floor in FLOORS}
    keys = {key for one in (mixed, *single.values()) for key in integers_from_keys(one.keys())}
    for key in keys:
        parts = [[chance * weight / 6 for chance in single[floor].exact_row(key)] for floor, weight in FLOORS.items()]
        assert mixed.exact_row(key) == tuple(map(sum, zip(*parts, strict=True)))
    masses = (1, 2, 3, 3, 1)
    assert rate_of_ranges(mixed, masses) == sum(
        Fraction(weight, 6) * rate_of_ranges(single[floor], masses) for floor, weight in FLOORS.items()
    )


def test_one_floor_is_the_law_of_one_element() -> None:
    # Section 1.4: N(0, 1), one threshold, floor 0.6, rho 0.7: P(null | y) = .61 .51 .39 .51 .61 at y = −2..2.
    edges = [round(float(v), 6) for v in stats.norm.ppf(np.arange(1, 1000) / 1000)]
    plain = case_one(Numbers("x", "-inf", "inf", edges=edges), LogisticAnchors(0, 1))
    with pytest.warns(UserWarning, match="do not tell these cells apart"):
        fixed = selective(plain, 0.6, 0.7, pilot=stats.norm())
    for floor in ({0.6: 1}, {"3/5": "1"}, {0.6: 7, 0.9: 0}, {0.6: 2, Fraction(3, 5): 1}):
        with pytest.warns(UserWarning, match="do not tell these cells apart"):
            one = selective(plain, floor, 0.7, pilot=stats.norm())
        assert one == fixed and one.no_range == fixed.no_range and "floors" not in one.law_json()["selection"]
    silent = np.array(one.no_range, dtype=float)[plain.domain.encode([-2, -1, 0, 1, 2])]
    assert np.abs(silent - [0.61, 0.51, 0.39, 0.51, 0.61]).max() < 0.006


def test_designs_of_one_floor_keep_their_digest() -> None:
    document = selective(case_one(NUMBER), 0.5, 0.75, pilot=MASSES).law_json()["selection"]
    assert document == {"masses": [1, 2, 3, 3, 1], "floor": "1/2", "rho": str(3 * 2**62)}


def test_reaching_the_floor_is_counted_over_cuts_and_floors() -> None:
    channel = selective(case_two(NUMBER, WEIGHTS), FLOORS, 0.75, pilot=MASSES)
    masses = (1, 2, 3, 3, 1)
    met = [Fraction(0)] * 5
    for (first, one), (second, other) in product(enumerate(WEIGHTS, 1), repeat=2):
        ends = [0, *sorted({first, second}), 5]
        for start, stop in zip(ends, ends[1:], strict=False):
            share = Fraction(sum(masses[start:stop]), 10)
            reached = sum(weight for floor, weight in FLOORS.items() if Fraction(str(floor)) <= share)
            for x in range(start, stop):
                met[x] += Fraction(one * other * reached, 100 * 6)
    assert channel.reaching_floor == tuple(met)
    assert channel.no_range == tuple(1 - Fraction(3, 4) * a for a in met)


@pytest.mark.parametrize("plain", [case_one(NUMBER, WEIGHTS), ring(NUMBER, 0.2, pilot=MASSES), case_two(NUMBER)])
def test_coverage_weighs_each_range_by_the_floors_it_meets(plain: Ranges) -> None:
    # Section 1.4: 1 − rho E[(1 − L) P(floor ≤ L)]; L under the planning law.
    channel = selective(plain, FLOORS, 0.7, pilot=MASSES)
    shares = coverage_by_report(plain, MASSES)
    reached = sum((np.float64(w) / 6) * (shares >= float(Fraction(str(f))) - 1e-12) for f, w in FLOORS.items())
    chances = plain.matrix() @ np.array(MASSES)
    expected = 1 - 0.7 * float((chances * (1 - shares) * reached).sum())
    assert mean_coverage(channel, MASSES) == pytest.approx(expected, abs=1e-12)
    assert coverage_by_cell(channel, MASSES) @ MASSES == pytest.approx(expected, abs=1e-12)


def test_a_law_of_floors_on_the_line_is_rounded_up_to_hundredths() -> None:
    law = stats.beta(2, 3)
    channel = selective(case_one(NUMBER), law, 0.5, pilot=MASSES)
    assert channel.selection is not None
    floors = channel.selection.floors
    assert all(value.denominator <= 100 for value in floors.values)
    settled = dict(zip(floors.values, floors.weights, strict=True))
    for step in (1, 37, 100):
        chance = law.cdf(step / 100) - law.cdf((step - 1) / 100)
        assert settled[Fraction(step, 100)] / floors.total == pytest.approx(chance, abs=1e-12)
    # Nobody's floor is lowered: P(τ ≤ L) is at most that of the law, and by less than one step.
    for share, met in ((0.555, 55), (0.3, 30)):
        reached = int(floors.sums[sum(value <= Fraction(str(share)) for value in floors.values)]) / floors.total
        assert law.cdf(share - 0.01) < reached <= law.cdf(share) + 1e-12
        assert reached == pytest.approx(law.cdf(met / 100), abs=1e-12)
    below = selective(case_one(NUMBER), stats.uniform(), 0.5)
    assert below.selection is not None and min(below.selection.floors.values) == Fraction(1, 100)


def test_some_floors_nothing_meets_and_some_everything() -> None:
    channel = selective(case_one(NUMBER), {0: 1, 1: 1}, 1, pilot=MASSES)
    assert channel.reaching_floor == (Fraction(1, 2),) * 5 and channel.no_range == (Fraction(1, 2),) * 5


def test_a_range_of_one_possible_value_meets_no_floor() -> None:
    children = Numbers("children", 0, 9, step=1)
    channel = selective(case_two(children), {0: 5, 0.3: 1}, 0.9)
    sizes = [sum(p > 0 for p in channel.exact_row(key)) for key in integers_from_keys(channel.keys())]
    assert min(sizes) == 2


def test_floors_keep_silence_ignorable() -> None:
    plain = case_two(NUMBER, WEIGHTS)
    channel = selective(plain, FLOORS, pilot=MASSES)
    q = rate_of_ranges(channel, (1, 2, 3, 3, 1))
    assert 0 <= ignorable_rho(q) - Fraction(channel.rho, 2**64) < Fraction(1, 2**64)
    with pytest.raises(ParameterError, match=r"at most 1 / \(2 − q\)"):
        selective(plain, FLOORS, float(ignorable_rho(q)) + 0.001, pilot=MASSES, ignorable=True)


def test_floors_of_ones_own_widen_what_can_be_learned() -> None:
    # One floor above a half hides the middle of a line; if some people have a lower one, all is told apart.
    plain = case_one(NUMBER)
    with pytest.warns(UserWarning, match="do not tell these cells apart"):
        hidden = selective(plain, 0.75)
    assert hidden.unresolved and selective(plain, {0.75: 9, 0.3: 1}).unresolved == ()


def test_silence_of_drawn_floors_sets_estimates_right() -> None:
    """Section 1.4 with floors .4, .6, .8: one threshold, 200,000 reports.

    Over 60 seeds the standard error at an edge was at most 0.0066: 0.05 is over seven of them, a false alarm below 1e-11.
    """
    points = [round(float(v), 6) for v in stats.norm.ppf([0.057, 0.205, 0.382, 0.589, 0.837])]
    domain = Numbers("x", "-inf", "inf", edges=points)
    truth = stats.norm.cdf(points)
    channel = selective(case_one(domain, LogisticAnchors(0, 1)), {0.4: 1, 0.6: 2, 0.8: 1}, 0.7, pilot=stats.norm())
    codes = np.random.default_rng(4).choice(6, 200_000, p=np.diff(stats.norm.cdf(domain.boundaries)))
    tally = rt.tally(channel.draw_codes(codes, Words(4), simulated=True))
    kept = tally.keys != NULL
    deaf = rt.PatternTally(channel, tally.keys[kept], tally.counts[kept])
    law = rt.distribution(tally)
    assert law.converged and np.abs(law.cdf(points) - truth).max() < 0.05
    assert np.abs(rt.distribution(deaf).cdf(points) - truth).max() > 0.2


@pytest.mark.parametrize(
    ("floor", "words"),
    [
        (None, "floor is None"),
        ({}, "above 0 and below 1"),
        ({0: 1}, "above 0 and below 1"),
        ({1: 3}, "above 0 and below 1"),
        ({0.5: 0}, "above 0 and below 1"),
        ({1.5: 1, 0.5: 1}, "floor is 1.5"),
        ({-0.5: 1, 0.5: 1}, "floor is -0.5"),
        ({0.5: -1, 0.4: 2}, "probability of a floor is -1"),
        ({0.5: 0.5, 0.4: 0.4}, "sum to 0.9"),
        ({0.5: "1/2", 0.4: "1/3"}, "sum to 0.8333"),
        ({0.5: True}, "probability of a floor is True"),
        ({0.95: 1, 0.99: 1}, "nothing would ever be reported"),
        (stats.norm(), r"not one on \[0, 1\]"),
        (stats.uniform(0, 2), r"not one on \[0, 1\]"),
        (stats.uniform(-1, 2), r"not one on \[0, 1\]"),
    ],
)
def test_floors_that_cannot_be_used_are_refused(floor: Any, words: str) -> None:
    # Section 7, items 4 and 8: no null without a floor that is known.
    with pytest.raises(ParameterError, match=words):
        selective(case_one(NUMBER), floor, pilot=MASSES)


def test_laws_of_floors_that_contradict_themselves_are_refused() -> None:
    half, third = Fraction(1, 2), Fraction(1, 3)
    wrong: list[tuple[tuple[Fraction, ...], tuple[int, ...], str]] = [
        ((), (), "as many values as weights"),
        ((half,), (1, 2), "as many values as weights"),
        ((third, half), (1, 0), "no weight below 1"),
        ((half, third), (1, 1), "ascend"),
        ((half, half), (1, 1), "ascend"),
        ((half, Fraction(3, 2)), (1, 1), "ascend"),
        ((-half,), (1,), "ascend"),
        ((half,), (2,), "write 1"),
    ]
    for values, weights, words in wrong:
        with pytest.raises(ChannelError, match=words):
            Floors(values, weights)
    for masses, rho in (((), 1), ((0, 0), 1), ((-1, 2), 1), ((1, 1), -1), ((1, 1), 2**64 + 1)):
        with pytest.raises(ChannelError):
            Selection(masses, Floors((half,)), rho)


@pytest.mark.parametrize(
    "edited",
    [
        {"floor": "1/2"},
        {"floors": [["1/2", 1]]},
        {"floors": []},
        {"floors": {"1/2": 1, "1/3": 1}},
        {"floors": [["1/2", 1], ["1/3", 1]]},
        {"floors": [["1/3", 1.0], ["1/2", 1]]},
        {"floors": [[0.25, 1], ["1/2", 1]]},
        {"floors": [["0.25", 1], ["1/2", 1]]},
        {"floors": [["1/3", 1, 1], ["1/2", 1]]},
        {"floors": [["1/0", 1], ["1/2", 1]]},
        {"floors": None},
    ],
)
def test_documents_of_floors_changed_by_hand_are_refused(edited: dict[str, Any]) -> None:
    channel = selective(case_one(NUMBER), FLOORS, 0.75, pilot=MASSES)
    document = json.loads(json.dumps(channel.to_json()))
    assert rt.channel_from_json(document) == channel
    assert document["selection"]["floors"] == [["1/5", 1], ["1/3", 2], ["3/5", 3]]
    document["selection"] |= edited
    with pytest.raises(ChannelError):
        rt.channel_from_json(document)


def test_silence_that_no_law_explains_is_refused() -> None:
    # Section 7, item 8: a null report of a channel that is not selective.
    with pytest.raises(ReportError, match="1 of 1 reports"):
        rt.Reports(case_one(NUMBER), np.array([NULL], dtype=np.uint8))
    with pytest.raises(EstimateError, match="all reported"):
        channel = selective(case_one(NUMBER), {0.3: 1, 0.5: 1}, pilot=MASSES)
        rt.distribution(rt.tally(channel.draw_many([1, 2, 3], seed=1))).confidence_interval(
            method="guaranteed", at=[2.0]
        )


# --- ranges acceptable by their number ---------------------------------------------------------------------------------------


def told_law(weights: tuple[int, ...], n_cuts: int, told: set[int]) -> dict[tuple[int, int, int], Fraction]:
    """P(reported run first..stop | x) by enumeration of the draws."""
    law: dict[tuple[int, int, int], Fraction] = {}
    for drawn in product(enumerate(weights, 1), repeat=n_cuts):
        chance = Fraction(1)
        for _, weight in drawn:
            chance *= Fraction(weight, sum(weights))
        ends = [0, *sorted({edge for edge, _ in drawn}), len(weights) + 1]
        for number, (start, stop) in enumerate(zip(ends, ends[1:], strict=False), 1):
            for x in range(start, stop):
                own = (x, x, x + 1) if number in told else (x, start, stop)
                law[own] = law.get(own, Fraction(0)) + chance
    return {own: chance for own, chance in law.items() if chance}


@pytest.mark.parametrize(
    ("n_ranges", "told"), [(2, [1]), (2, [2]), (3, [2]), (3, [3, 1]), (3, [1, 2]), (4, [2, 3]), (5, [4])]
)
def test_the_law_with_acceptable_ranges_by_enumeration(n_ranges: int, told: list[int]) -> None:
    channel = random_ranges(NUMBER, n_ranges, WEIGHTS, acceptable_ranges=told)
    found = {
        (x, *channel.pieces(key)[0]): chance
        for key in integers_from_keys(channel.keys())
        for x, chance in enumerate(channel.exact_row(key))
        if chance
    }
    assert found == told_law(WEIGHTS, n_ranges - 1, set(told))
    assert all(len(channel.pieces(key)) == 1 for key in integers_from_keys(channel.keys()))


def test_ranges_are_numbered_after_equal_anchors_are_merged() -> None:
    # Both anchors at the one edge: two ranges, and there is no third.
    one_edge = Numbers("x", 0, 3, edges=[1, 2])
    with pytest.raises(ParameterError, match=r"\(3,\) are not allowed: ascending numbers from 1 to 2"):
        random_ranges(one_edge, 3, [1, 0], acceptable_ranges=[3])
    with pytest.warns(UserWarning, match="leave out edges"):
        channel = random_ranges(one_edge, 3, [1, 0], acceptable_ranges=[1])
    assert [channel.describe(key) for key in integers_from_keys(channel.keys())] == ["up to 1", "above 1"]
    # With the second range told, its cells are known although no anchor falls between them.
    assert random_ranges(one_edge, 3, [1, 0], acceptable_ranges=[2]).unresolved == ()


def test_other_ranges_mean_all_of_their_cells() -> None:
    # Section 1.1: for an index set nothing changes in the undisclosed rows.
    channel, plain = case_one(NUMBER, WEIGHTS, acceptable_ranges=[1]), case_one(NUMBER, WEIGHTS)
    for key in integers_from_keys(plain.keys()):
        if channel.arc(key)[1] == 5 and channel.arc(key) != (4, 5):
            assert channel.exact_row(key) == plain.exact_row(key)
    assert channel.exact_row(4 * 6 + 5)[4] == Fraction(3, 10), "the last cell is reported only as the range above it"
    assert channel.exact_row(0 * 6 + 1)[0] == 1, "the first cell is always below the threshold"


@pytest.mark.parametrize("n_ranges", [2, 3])
def test_coverage_of_a_cell_is_its_own_share(n_ranges: int) -> None:
    channel = random_ranges(NUMBER, n_ranges, WEIGHTS, acceptable_ranges=[1])
    before = np.append(0, np.cumsum(PRIOR))
    expected = sum(
        float(chance) * PRIOR[x] * (before[stop] - before[start])
        for (x, start, stop), chance in told_law(WEIGHTS, n_ranges - 1, {1}).items()
    )
    assert mean_coverage(channel, PRIOR) == pytest.approx(expected, abs=1e-12)
    keys = integers_from_keys(channel.keys())
    cells = {key: share for key, share in zip(keys, coverage_by_report(channel, PRIOR), strict=True)}
    fixed = case_one(NUMBER, WEIGHTS, acceptable=(0, 1))
    same = dict(zip(integers_from_keys(fixed.keys()), coverage_by_report(fixed, PRIOR), strict=True))
    assert cells[1] == same[1] == pytest.approx(PRIOR[0]), "as a cell of an acceptable range of numbers counts"


def test_nothing_asked_tells_nothing() -> None:
    channel = case_one(NUMBER, UniformAnchors(-1, 4), acceptable_ranges=[1])
    assert float(channel.exact_row(channel.whole)[0]) == pytest.approx(0.2, abs=1e-12)
    lazily = lazy(case_one(NUMBER, acceptable_ranges=[2]), 0.5)
    assert lazily.exact_row(lazily.whole) == (Fraction(1, 2),) * 5


def test_acceptable_ranges_recover_the_law() -> None:
    # 50,000 reports; where half the answers are told the standard error of a share is below 0.004: ten of them.
    channel = random_ranges(NUMBER, 3, WEIGHTS, acceptable_ranges=[2])
    codes = np.random.default_rng(7).choice(5, 50_000, p=PRIOR)
    law = rt.distribution(rt.tally(channel.draw_codes(codes, Words(7), simulated=True)))
    assert np.abs(law.shares.probabilities - PRIOR).max() < 0.04
    assert channel.draw("2.5", seeded(b"told")) in integers_from_keys(channel.keys())


def test_independent_cuts_are_listed_exactly() -> None:
    cuts = IndependentCuts((1, 2, 0, 3), 3)
    listed = cuts.listed()
    assert sum(listed.weights) == 6**3 and listed.sets[0] == (1,) and listed.weights[0] == 1
    assert all(3 not in chosen for chosen in listed.sets)
    one, other = Ranges(NUMBER, cuts), Ranges(NUMBER, listed)
    for key in integers_from_keys(one.keys()):
        assert one.exact_row(key) == other.exact_row(key)
    with pytest.raises(ChannelError, match="131,328 cut sets; at most 131,072"):
        IndependentCuts((1,) * 512, 2).listed()


@pytest.mark.parametrize("numbers", [[0], [3], [1, 2], [1, 1], [1.0], [True], ["1"], "1", 1.5, [2, 3]])
def test_acceptable_ranges_that_cannot_be_used_are_refused(numbers: Any) -> None:
    with pytest.raises(ParameterError, match="numbers 1 to 2, each once, not all"):
        case_one(NUMBER, acceptable_ranges=numbers)


def test_acceptable_ranges_meet_neither_cells_nor_floors_nor_rings() -> None:
    with pytest.raises(ParameterError, match="not both"):
        case_two(NUMBER, acceptable=(1, 2), acceptable_ranges=[1])
    told = case_one(NUMBER, acceptable_ranges=[1])
    with pytest.raises(ParameterError, match=r"acceptable=\(low, high\), whose cells are told"):
        selective(told, 0.5)
    with pytest.raises(ParameterError, match=r"lists the cut sets.*acceptable=\(low, high\)"):
        case_two(Numbers("x", 0, 513, edges=range(1, 513)), acceptable_ranges=[1])
    with pytest.raises(ParameterError, match="Use ring"):  # section 7, item 5
        random_ranges(NUMBER, 3, narrowest=0.1, acceptable_ranges=[1])
    listed = told.cuts
    chosen = Selection((1,) * 5, Floors((Fraction(1, 2),)), 2**63)
    for arguments in ((NUMBER, listed, (0, 1)), (NUMBER, listed, None, chosen)):
        with pytest.raises(ChannelError, match="Acceptable ranges go with neither"):
            Ranges(*arguments)
    for sets, is_ring, numbers in ((((0, 2),), True, (1,)), (((2,),), False, (3,)), (((2,),), False, (0,)),
                                   (((2,),), False, (1, 2)), (((1, 2),), False, (2, 1)), (((1, 2),), False, (1, 1))):  # fmt: skip
        with pytest.raises(ChannelError, match="told ranges"):
            ListedCuts(5, sets, (1,), is_ring, numbers)


@pytest.mark.parametrize("told", [[], [1, 2], [2, 1], [0], [1.0], ["1"], 1, "1", None, {"1": 1}])
def test_documents_of_acceptable_ranges_changed_by_hand_are_refused(told: Any) -> None:
    channel = case_one(NUMBER, acceptable_ranges=[1])
    document = json.loads(json.dumps(channel.to_json()))
    assert document["cuts"]["told"] == [1] and rt.channel_from_json(document) == channel
    document["cuts"]["told"] = told
    with pytest.raises(ChannelError):
        rt.channel_from_json(document)
