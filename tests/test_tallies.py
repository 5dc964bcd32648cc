"""Tallies are a commutative monoid: any partition, any order, the same integers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reticent as rt
from reticent.errors import TallyError
from reticent.keys import integers_from_keys
from tests.mechanism_cases import CASES, question

WIDE = rt.uniform_subset(rt.Categorical("wide", [str(i) for i in range(70)]))
answers = st.lists(st.sampled_from(list("abcde")), max_size=60)
CHANNEL = CASES["uniform_subset(5)"]


@given(answers, answers, answers)
def test_monoid(one: list[str], two: list[str], three: list[str]) -> None:
    a, b, c = (rt.tally(CHANNEL.draw_many(part, seed=i)) for i, part in enumerate((one, two, three)))
    assert a + b == b + a
    assert (a + b) + c == a + (b + c)
    assert a + rt.PatternTally.empty(CHANNEL) == a
    assert (a + b).n == len(one) + len(two)


@pytest.mark.parametrize("channel", [CHANNEL, WIDE, CASES["randomized_response(6)"]], ids=["narrow", "wide", "table"])
def test_seven_parts_in_any_order_give_the_tally_of_all(channel: rt.Channel) -> None:
    rng = np.random.default_rng(5)
    reports = channel.draw_many(rng.choice(channel.domain.categories, 700), seed=2)
    whole = rt.tally(reports, kind="patterns")
    parts = [
        rt.tally(rt.Reports(channel, reports.keys[part]), kind="patterns")
        for part in np.array_split(rng.permutation(700), 7)
    ]
    merged = rt.PatternTally.empty(channel)
    for i in rng.permutation(7):
        merged = merged + parts[i]
    assert merged == whole and merged.to_dict() == whole.to_dict()
    assert sum(whole.to_dict().values()) == 700
    assert rt.PatternTally.from_counts(channel, whole.to_dict()) == whole


def test_counting_is_counting() -> None:
    reports = CHANNEL.draw_many(list("abcde") * 100, seed=4)
    counts: dict[int, int] = {}
    for key in integers_from_keys(reports.keys):
        counts[key] = counts.get(key, 0) + 1
    assert rt.tally(reports).to_dict() == counts


def test_groups_follow_public_columns_and_add() -> None:
    reports = CHANNEL.draw_many(["a", "b", None, "d"], missing="skip", seed=1)
    grouped = rt.tally_by(reports, {"region": ["north", "south", "north", "north"], "year": [1, 1, 1, 2]})
    assert list(grouped.groups) == [("north", "1"), ("north", "2"), ("south", "1")]
    assert grouped.groups[("north", "1")].missing == 1
    assert grouped.total() == rt.tally(reports)
    twice = grouped + grouped
    assert twice.total().n == 6 and twice.groups[("south", "1")].n == 2
    with pytest.raises(TallyError, match="grouped by"):
        grouped + rt.tally_by(reports, {"year": [1, 1, 1, 2]})
    with pytest.raises(TallyError, match="3 values for 4 reports"):
        rt.tally_by(reports, {"year": [1, 1, 1]})


def test_refusals() -> None:
    other = rt.uniform_subset(rt.Categorical("letter", list("edcba")))
    with pytest.raises(TallyError, match="different channels"):
        rt.PatternTally.empty(CHANNEL) + rt.PatternTally.empty(other)
    for count in (-1, 1.5, True, float("nan")):
        with pytest.raises(TallyError, match="whole numbers"):
            rt.PatternTally.from_counts(CHANNEL, {3: count})
    with pytest.raises(TallyError, match="outside"):
        rt.PatternTally.from_counts(CHANNEL, {2**40: 1})
    with pytest.raises(rt.errors.ReportError, match="cannot come from"):
        rt.PatternTally.from_counts(CHANNEL, {1: 4})
    assert rt.PatternTally.from_counts(CHANNEL, {3: 0}) == rt.PatternTally.empty(CHANNEL)
    assert question(3) == question(3)


def test_what_a_tally_documents_is_checked() -> None:
    keys = np.array([3, 5], dtype=np.uint8)
    for counts in ([-4, 1], [1.5, 1.0], [0, 1]):
        with pytest.raises(TallyError, match="whole numbers"):
            rt.PatternTally(CHANNEL, keys, np.array(counts))
    with pytest.raises(TallyError, match="ascend"):
        rt.PatternTally(CHANNEL, np.array([3, 3], dtype=np.uint8), np.array([1, 1]))
    for missing in (-5, "x", True):
        with pytest.raises(TallyError, match="missing"):
            rt.PatternTally.from_counts(CHANNEL, {3: 1}, missing=missing)
    for counts_by_key in ({3: 2**61, 5: 2**61}, {3: 10**30}):
        with pytest.raises(TallyError, match=r"2\^62"):
            rt.PatternTally.from_counts(CHANNEL, counts_by_key)
    half = rt.PatternTally.from_counts(CHANNEL, {3: 2**61})
    with pytest.raises(TallyError, match=r"2\^62"):
        half + half


def test_a_seed_marks_the_tallies_of_its_reports() -> None:
    answers = list("abcde") * 4
    drawn, real = CHANNEL.draw_many(answers, seed=1), CHANNEL.draw_many(answers)
    groups = {"region": ["north", "south"] * 10}
    every: list[dict[str, Any]] = [{"kind": "patterns"}, {"kind": "support"}, {"weights": [1.0] * 20}]
    for options in every:
        marked, plain = (rt.tally(reports, **options) for reports in (drawn, real))
        assert marked.simulated and not plain.simulated
        assert "simulated" in repr(marked) and "simulated" not in repr(plain)
        assert (marked + plain).simulated and (plain + marked).simulated and not (plain + plain).simulated
        assert replace(marked, simulated=False) == marked  # equal counts are equal, whatever made them
        for reports in (drawn, real):
            grouped = rt.tally_by(reports, groups, **options)
            assert {one.simulated for one in grouped.groups.values()} == {reports.simulated}
            assert (grouped.total() + plain).simulated == reports.simulated
    assert rt.moments(one_of_two(drawn)).simulated and not rt.moments(one_of_two(real)).simulated


def one_of_two(reports: rt.Reports) -> rt.SupportTally:
    """One column of a tally of two, the other of real reports."""
    other = rt.uniform_subset(rt.Categorical("other", list("wxyz"))).draw_many(["w"] * len(reports))
    name = reports.channel.domain.name
    both = rt.tally_columns({name: reports, "other": other})
    assert both.simulated == reports.simulated
    return both.only(name)
