"""What ranges, selections and partitions refuse, and what they settle."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest
from scipy import stats

import reticent as rt
from reticent.anchors import (
    UniformAnchors,
    quantile_beta,
)
from reticent.channel.cuts import IndependentCuts, ListedCuts, resolved
from reticent.channel.ranges import Ranges
from reticent.channel.selection import Floors, Selection
from reticent.domain import Numbers
from reticent.errors import ChannelError, DomainError, EstimateError, ParameterError
from reticent.mechanisms.partitions import extended
from reticent.mechanisms.ranges import case_one, random_ranges, ring
from reticent.mechanisms.selections import coin_given_silence, ignorable_rho, lazy, lowest_rate, selective
from tests.mechanism_cases import question
from tests.test_ranges import LAWS, NUMBER

# --- refusals of section 7 ----------------------------------------------------------------------------------------------


def test_ranges_that_cannot_be_used_are_refused() -> None:
    wrong: Any
    for wrong in (1, 6, 2.0, True):
        with pytest.raises(ParameterError, match="allowed are 2 to 5"):
            random_ranges(NUMBER, wrong)
    with pytest.raises(ParameterError, match="Use ring"):
        random_ranges(NUMBER, 3, narrowest=0.1)
    for narrowest, n_ranges in ((0.5, 2), ("1/3", 3), (0.4, 3)):
        with pytest.raises(ParameterError, match=f"less than 1/{n_ranges}"):
            ring(NUMBER, narrowest, n_ranges)
    with pytest.raises(ParameterError, match="finer edges"):
        ring(NUMBER, 0.45)
    with pytest.raises(ParameterError, match="do not tell all cells apart"):
        ring(Numbers("x", 0, 4, edges=[1, 2, 3]), 0.45)
    for wrong in (0, -1, float("inf"), "1", True):
        with pytest.raises(ParameterError, match="concentration"):
            ring(NUMBER, 0.2, concentration=wrong)
    with pytest.raises(ParameterError, match="too many"):
        ring(Numbers("x", 0, 1000, edges=range(1, 1000)), 0.1)
    for coverage in (0.5, 1, 0.3, float("nan")):
        with pytest.raises(ParameterError, match="1/2 < coverage < 1"):
            quantile_beta(stats.norm(), coverage)
    for wrong in ([1, 2], [1, -1, 1, 1], [0, 0, 0, 0], "abcd", [1, 2, 3, float("nan")]):
        with pytest.raises(ParameterError, match="one per inner edge"):
            case_one(NUMBER, wrong)
    with pytest.raises(ParameterError, match="No anchor falls"):
        case_one(NUMBER, UniformAnchors(7, 8))
    with pytest.warns(UserWarning, match=r'"\(2, 3\]", "\(3, 4\]"'):
        case_one(NUMBER, [1, 1, 0, 1])
    for acceptable, error in (
        ((0, 5), ParameterError),
        ((2, 1), ParameterError),
        (3, ParameterError),
        ((1, 1.5), DomainError),
    ):
        with pytest.raises(error):
            case_one(NUMBER, acceptable=acceptable)


def test_selections_that_cannot_be_used_are_refused() -> None:
    plain = case_one(NUMBER)
    limit = float(ignorable_rho(selected_rate(0.5)))
    with pytest.raises(ParameterError, match=r"at most 1 / \(2 − q\)"):
        selective(plain, 0.5, limit + 0.001, ignorable=True)
    assert selective(plain, 0.5, limit - 0.001, ignorable=True).rho < selective(plain, 0.5).rho
    for floor in (0, 1, -0.1, "x", float("nan")):
        with pytest.raises(ParameterError, match="floor"):
            selective(plain, floor)
    for rho in (0, 1.1, "much"):
        with pytest.raises(ParameterError, match="rho"):
            selective(plain, 0.5, rho)
    with pytest.raises(ParameterError, match="nothing would ever"):
        selective(plain, 0.9)
    wrong: Any
    for wrong in (selective(plain, 0.5), lazy(plain, 0.5), rt.uniform_subset(question(5))):
        with pytest.raises(ParameterError, match="neither selective nor lazy"):
            selective(wrong, 0.5)
    for ask in (0, 1.5, -1):
        with pytest.raises(ParameterError, match="ask"):
            lazy(plain, ask)
    with pytest.raises(ParameterError, match="for ranges"):
        lazy(wrong, 0.5)


def selected_rate(floor: float) -> Fraction:
    """q of one threshold on five equal cells, counted by hand."""
    met = 0
    for x in range(5):
        for cut in range(1, 5):
            met += max(cut, 0) * 1 >= 5 * floor if x < cut else (5 - cut) >= 5 * floor
    return Fraction(met, 20)


def test_channels_that_contradict_themselves_are_refused() -> None:
    for arguments, words in (
        ((question(5), IndependentCuts((1,) * 4, 1)), "domain of Numbers"),
        ((NUMBER, IndependentCuts((1,) * 3, 1)), "cuts are of 4 cells"),
        ((NUMBER, IndependentCuts((1,) * 4, 1), (0, 5)), "some, not all"),
        ((NUMBER, IndependentCuts((1,) * 4, 1), (3, 3)), "some, not all"),
        ((NUMBER, IndependentCuts((1,) * 4, 1), None, Selection((1, 1), Floors((Fraction(1, 2),)), 1)), "one per cell"),
        ((NUMBER, IndependentCuts((1,) * 4, 1), None, None, 0), "ask is 0"),
    ):
        with pytest.raises(ChannelError, match=words):
            Ranges(*arguments)
    for weights, n_cuts, words in (((0, 0), 1, "not all zero"), ((1, -1), 1, "none negative"), ((1, 1), 0, "1 to 64"),
                                   ((1,) * 999, 7, "64 bits|at most 64")):  # fmt: skip
        with pytest.raises(ChannelError, match=words):
            IndependentCuts(weights, n_cuts)
    for sets, is_ring in ((((0, 1),), False), (((1,),), True), (((2, 1),), True), (((1, 5),), True), (((1, 1),), True)):
        with pytest.raises(ChannelError, match="not allowed"):
            ListedCuts(5, sets, (1,) * len(sets), is_ring)
    for listed, counted in (((), ()), (((1,), (1,)), (1, 1)), (((1,),), (0,))):
        with pytest.raises(ChannelError):
            ListedCuts(5, listed, counted)
    document = {**case_one(NUMBER).to_json(), "domain": question(5).to_json()}
    with pytest.raises(ChannelError, match="domain of numbers"):
        rt.channel_from_json(document)


def test_partitions_of_ones_own_are_drawn_exactly_or_refused() -> None:
    domain = Numbers("x", "-inf", "inf", edges=[-1, 0, 1])
    tails = [[("-inf", -1), (1, "inf")], [(-1, 0), (0, 1)]]
    halves = [[("-inf", 0)], [(0, "inf")]]
    lower = [[("-inf", -1)], [(-1, "inf")]]
    channel = extended(domain, [("1/4", tails), ("1/4", halves), ("1/2", lower)])
    for law in LAWS:
        law(channel)
    assert channel.exact_row(channel.reports.index("up to -1 or above 1")) == (Fraction(1, 4), 0, 0, Fraction(1, 4))
    with pytest.raises(ParameterError, match=r'not resolvable: .* "up to -1", "\(-1, 0\]", "\(0, 1\]", "above 1"'):
        extended(domain, [(0.5, tails), (0.5, halves)])
    refused: list[tuple[Any, str]] = [
        ([("1/2", halves)], "sum to 0.5"),
        ([(1, [[("-inf", 0)]])], "every cell once"),
        ([(1, [*halves, [(0, 1)]])], "every cell once"),
        ([(1, [[(0, "inf")], [("-inf", 0)], []])], "empty"),
        ([(1, [[(1, 0)]])], "no cell"),
        ([(1, ["ab"])], "no part"),
        ([1], "pair"),
        ([], "sum to 0"),
    ]
    for partitions, words in refused:
        with pytest.raises(ParameterError, match=words):
            extended(domain, partitions)


def test_ignorable_silence() -> None:
    # G14
    for q, rho in ((0, 0.5), (0.25, 0.5714285714), (0.6, 0.7142857143), (1, 1)):
        assert float(ignorable_rho(q)) == pytest.approx(rho, abs=1e-9)
        if q < 1:
            assert coin_given_silence(ignorable_rho(q), q) == Fraction(1, 2)
    q = selected_rate(0.5)
    channel = selective(case_one(NUMBER), 0.5)
    assert 0 <= ignorable_rho(q) - Fraction(channel.rho, 2**64) < Fraction(1, 2**64)
    cautious = selective(case_one(NUMBER), 0.5, q=lowest_rate(300, 1000, 0.6))
    assert cautious.rho < channel.rho
    # Clopper and Pearson: 300 or more of 1,000 have chance 0.05 under the limit times rho.
    assert stats.binom.sf(299, 1000, lowest_rate(300, 1000, 0.6) * 0.6) == pytest.approx(0.05, abs=1e-9)
    assert lowest_rate(0, 10, 0.5) == 0


def test_boundaries_joined_by_ranges_are_resolved() -> None:
    assert resolved(4, [(0, 2), (2, 4)]) == [False] * 4
    assert resolved(4, [(1, 3), (3, 2), (2, 4)]) == [True] * 4


@pytest.mark.parametrize("n_cuts", [0, 65, 10**30, True, 1.5])
def test_the_number_of_cuts_is_bounded(n_cuts: Any) -> None:
    with pytest.raises(ChannelError, match="1 to 64"):
        IndependentCuts((1, 1), n_cuts)


@pytest.mark.parametrize("acceptable", ["", [1], [1.5, 2], {}, [1, 2, 3]])
def test_an_acceptable_range_changed_by_hand_is_refused(acceptable: Any) -> None:
    document = case_one(NUMBER, acceptable=(1, 3)).to_json()
    with pytest.raises(ChannelError):
        rt.channel_from_json({**document, "acceptable": acceptable})


@pytest.mark.parametrize(("low", "high"), [(-math.inf, math.inf), (-5, 9), (0, 2)])
def test_reports_of_the_whole_grid_say_nothing(low: float, high: float) -> None:
    with pytest.raises(EstimateError, match="says nothing"):
        rt.npmle_on_edges([low], [high], [0, 1, 2])
