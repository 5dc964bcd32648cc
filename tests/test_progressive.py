"""Progressive questions: exact laws, floors, what a respondent is shown, people with floors of their own."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

import reticent as rt
from reticent.channel import Progressive
from reticent.channel.follow_ups import FollowUps
from reticent.channel.selection import Floors
from reticent.choose import WORD, enumerate_law, seeded
from reticent.errors import ChannelError, ParameterError, ReportError
from reticent.mechanisms import progressive
from reticent.tallies import PatternTally

QUARTERS = rt.Numbers("age", 0, 100, edges=[25, 50, 75])
TENTHS = rt.Numbers("age", 0, 100, edges=range(10, 100, 10))
PILOT = ["0.15", "0.05", "0.1", "0.1", "0.2", "0.05", "0.1", "0.05", "0.05", "0.15"]
OWN = {0.2: 2, 0.35: 1, 0.5: 1}


def by_hand(steps: FollowUps, n_questions: int, x: int, start: int, stop: int) -> dict[tuple[int, int], Fraction]:
    """The law of the last set for a number in cell x, question by question."""
    cuts = steps.cuts(start, stop)
    if n_questions == 0 or not len(cuts.places):
        return {(start, stop): Fraction(1)}
    law: dict[tuple[int, int], Fraction] = {}
    for cut, chance in zip(cuts.places.tolist(), cuts.chances, strict=True):
        part = (start, cut) if x < cut else (cut, stop)
        for last, share in by_hand(steps, n_questions - 1, x, *part).items():
            law[last] = law.get(last, Fraction(0)) + share * Fraction(chance, WORD)
    return law


# --- The law of the sets ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("n_questions", [1, 2, 4])
@pytest.mark.parametrize("floor", ["0", "0.1", "0.3"])
@pytest.mark.filterwarnings("ignore:The sets these questions lead to")
def test_the_recursion_is_the_law_of_every_cell(n_questions: int, floor: str) -> None:
    channel = progressive(TENTHS, n_questions, floor, PILOT, [1, 4, 2, 2, 5, 1, 0, 3, 2])
    for x in range(10):
        law = {
            start * 11 + stop: chance for (start, stop), chance in by_hand(channel.steps, n_questions, x, 0, 10).items()
        }
        assert law == {key: row[x] for key in channel.keys().tolist() if (row := channel.exact_row(key))[x]}


def test_one_threshold_is_case_one() -> None:
    channel, case_one = progressive(QUARTERS, 1, anchors=[1, 2, 1]), rt.case_one(QUARTERS, [1, 2, 1])
    assert channel.keys().tolist() == case_one.keys().tolist()
    assert [channel.exact_row(int(key)) for key in channel.keys()] == [
        case_one.exact_row(int(key)) for key in case_one.keys()
    ]


def test_the_chance_of_a_set_is_the_same_for_all_numbers_in_it() -> None:
    channel = progressive(TENTHS, 3, "0.15", PILOT)
    for key in channel.keys().tolist():
        start, stop = channel.arc(key)
        row = channel.exact_row(key)
        assert {*row[start:stop]} == {max(row)} and not any(row[:start] + row[stop:])
    sums = [sum(column) for column in zip(*(channel.exact_row(key) for key in channel.keys().tolist()), strict=True)]
    assert sums == [1] * 10


def test_chances_of_cuts_are_weights_over_a_word() -> None:
    thirds = FollowUps((1, 1, 1), (1, 1, 1, 1), Fraction(1, 4)).cuts(0, 4).chances
    assert sum(thirds) == WORD and max(abs(3 * chance - WORD) for chance in thirds) <= 3
    uneven = FollowUps((3, 0, 1), (1, 1, 1, 1), Fraction(0)).cuts(0, 4)
    assert uneven.places.tolist() == [1, 3] and uneven.chances == (3 * WORD // 4, WORD // 4)


def test_no_part_is_below_the_floor_and_questions_end_where_none_is_left() -> None:
    floor = Fraction(15, 100)
    channel = progressive(TENTHS, 6, floor, PILOT)
    shares = [Fraction(mass, sum(channel.masses)) for mass in channel.masses]
    for key in channel.keys().tolist():
        start, stop = channel.arc(key)
        assert sum(shares[start:stop]) >= floor
        # After six questions every set is one that allows no further cut.
        assert not any(min(sum(shares[start:cut]), sum(shares[cut:stop])) >= floor for cut in range(start + 1, stop))


def test_no_set_is_one_possible_value_where_a_floor_is_kept() -> None:
    children = rt.Numbers("children", 0, 5, step=1)
    with pytest.warns(UserWarning, match="do not tell these cells apart"):
        careful = progressive(children, 5, "0.01")
    assert min(stop - start for start, stop in map(careful.arc, careful.keys().tolist())) == 2
    open_about_it = progressive(children, 5)
    assert min(stop - start for start, stop in map(open_about_it.arc, open_about_it.keys().tolist())) == 1
    with pytest.warns(UserWarning, match="do not tell"):
        own = progressive(children, 5, floors={0.1: 1})
    assert min(stop - start for start, stop in map(own.arc, own.keys().tolist())) == 2


def test_cells_at_the_ends_must_hold_the_floor() -> None:
    assert progressive(TENTHS, 2, "0.15", PILOT).unresolved == ()
    with pytest.warns(UserWarning, match='apart: "up to 10", "\\(10, 20\\]"'):
        channel = progressive(TENTHS, 2, "0.16", PILOT)
    assert channel.unresolved == ("up to 10", "(10, 20]", "(80, 90]", "above 90")


# --- What is shown ----------------------------------------------------------------------------------------------------
def test_an_offer_shows_the_coverage_of_every_choice_before_the_answer() -> None:
    channel = progressive(TENTHS, 3, "0.1", PILOT)
    assert channel.whole in {10} and channel.describe(channel.whole) == "any number"
    source, key, answered = seeded(b"offers"), channel.whole, 0
    while (offer := channel.offer(key, answered, source)) is not None:
        low, high = offer.choices
        assert offer.so_far.key == key and offer.so_far.coverage == low.coverage + high.coverage
        assert min(low.coverage, high.coverage) >= Fraction(1, 10)
        assert (low.label, high.label) == (channel.describe(low.key), channel.describe(high.key))
        key, answered = high.key, answered + 1
    assert 1 <= answered <= 3 and key in channel.keys()


def test_offers_follow_the_law_of_the_channel() -> None:
    channel = progressive(QUARTERS, 2, "0.25")

    def answers_of_somebody_in_the_second_cell(source: rt.choose.Source) -> int:
        key = channel.whole
        for answered in range(2):
            offer = channel.offer(key, answered, source)
            if offer is None:
                break
            key = next(
                choice.key for choice in offer.choices if channel.arc(choice.key)[0] <= 1 < channel.arc(choice.key)[1]
            )
        return key

    law = enumerate_law(answers_of_somebody_in_the_second_cell)
    assert law == {key: row[1] for key in channel.keys().tolist() if (row := channel.exact_row(key))[1]}


def test_offers_end() -> None:
    channel = progressive(QUARTERS, 2, "0.25")
    assert channel.offer(channel.whole, 2) is None
    assert channel.offer(0 * 5 + 1, 1) is None  # one cell allows no cut
    assert channel.offer(channel.whole, 0) is not None
    for key in (0, 3 * 5 + 2, 4 * 5, -1):
        with pytest.raises(ReportError, match="no set that the questions lead to"):
            channel.offer(key, 0)
    for answered in (-1, 3, True, 1.0):
        with pytest.raises(ReportError, match="allowed are 0 to 2"):
            channel.offer(channel.whole, answered)


# --- People with floors of their own ----------------------------------------------------------------------------------
def test_stopping_is_told_by_a_row_that_is_not_constant() -> None:
    halves = rt.Numbers("x", 0, 2, edges=[1])
    channel = progressive(halves, 1, pilot=["0.75", "0.25"], floors={0.25: 1, 0.5: 1})
    rows = {channel.describe(key): channel.exact_row(key) for key in channel.keys().tolist()}
    # Below 1 the part holds 3/4, enough for everybody; above 1 it holds 1/4, enough for half of the people.
    assert rows == {"up to 1": (1, 0), "above 1": (0, Fraction(1, 2)), "any number, then stopped": (0, Fraction(1, 2))}


def test_stopping_is_the_law_of_every_cell_and_floor() -> None:
    channel = progressive(TENTHS, 3, "0.1", PILOT, floors=OWN)
    shares = [Fraction(mass, sum(channel.masses)) for mass in channel.masses]

    def stopping(x: int, floor: Fraction, left: int, start: int, stop: int) -> dict[tuple[int, int, bool], Fraction]:
        cuts = channel.steps.cuts(start, stop)
        if left == 0 or not len(cuts.places):
            return {(start, stop, False): Fraction(1)}
        law: dict[tuple[int, int, bool], Fraction] = {}
        for cut, chance in zip(cuts.places.tolist(), cuts.chances, strict=True):
            part = (start, cut) if x < cut else (cut, stop)
            enough = sum(shares[part[0] : part[1]]) >= floor
            then = stopping(x, floor, left - 1, *part) if enough else {(start, stop, True): Fraction(1)}
            for last, share in then.items():
                law[last] = law.get(last, Fraction(0)) + share * Fraction(chance, WORD)
        return law

    for x in (0, 1, 4, 8):
        expected: dict[int, Fraction] = {}
        for floor, weight in OWN.items():
            for (start, stop, stopped), chance in stopping(x, Fraction(str(floor)), 3, 0, 10).items():
                key = 110 * stopped + 11 * start + stop
                expected[key] = expected.get(key, Fraction(0)) + chance * Fraction(weight, 4)
        assert expected == {key: row[x] for key in channel.keys().tolist() if (row := channel.exact_row(key))[x]}


TRUTH = np.array([0.25, 0.15, 0.12, 0.1, 0.1, 0.08, 0.07, 0.05, 0.05, 0.03])


def expected_tally(channel: Progressive, scale: int = 10**9) -> PatternTally:
    """What very many people of law TRUTH report, as counts."""
    counts = np.rint(channel.matrix() @ TRUTH * scale).astype(int)
    return PatternTally.from_counts(channel, dict(zip(channel.keys().tolist(), counts.tolist(), strict=True)))


def test_the_law_comes_out_with_the_rows_of_stopping_and_not_without() -> None:
    channel = progressive(TENTHS, 3, "0.05", PILOT, floors=OWN)
    tally = expected_tally(channel)
    law = rt.distribution(tally)
    assert np.abs(law.shares.probabilities - TRUTH).max() < 1e-4 and law.unique is True
    # People who stop early taken as saying nothing but their set, or left out: both wrong, for wide parts are told more.
    start, stop = channel.arcs(tally.keys)
    stopped = tally.keys >= 110
    sets = np.stack([TENTHS.boundaries[start], TENTHS.boundaries[stop]])
    for kept in (np.ones(len(stopped), dtype=bool), ~stopped):
        wrong = rt.npmle(*sets[:, kept], tally.counts[kept].astype(float), domain=(0, 100))
        assert np.abs(wrong.cdf(TENTHS.boundaries[1:-1]) - np.cumsum(TRUTH)[:-1]).max() > 0.04


def test_one_sample_is_within_its_band() -> None:
    # Nine events of a 99.99 % interval each, profile likelihood: about 1e-3 false alarms, seed fixed.
    channel = progressive(TENTHS, 3, "0.05", PILOT, floors=OWN)
    people = np.repeat(np.arange(5, 100, 10), (TRUTH * 4000).round().astype(int))
    law = rt.distribution(rt.tally(channel.draw_many(people, seed="stopping")))
    interval = law.confidence_interval(0.9999)
    truth = np.cumsum(TRUTH)[:-1]
    assert ((interval.low <= truth) & (truth <= interval.high)).all()
    assert (interval.high - interval.low).max() < 0.35


def test_stopping_lowers_what_is_given_away() -> None:
    leaks = [
        rt.size_leakage(progressive(TENTHS, 3, "0.05", PILOT, floors=floors), TRUTH)
        for floors in (None, {0.2: 1}, {0.5: 1})
    ]
    assert leaks == sorted(leaks, reverse=True) and leaks[0] > leaks[2] + 0.1
    more = [rt.size_leakage(progressive(TENTHS, asked, "0.05", PILOT), TRUTH) for asked in (1, 2, 3, 4)]
    assert all(fewer < further for fewer, further in pairwise(more))


def test_a_stopped_report_keeps_its_row_in_any_order() -> None:
    channel = progressive(TENTHS, 2, "0.05", PILOT, floors=OWN)
    keys = channel.keys()
    mixed = keys[::-1].copy()
    for own in (keys, mixed, keys[keys >= 110], keys[keys < 110]):
        dense, exact = channel.rows(own).dense(), channel.likelihood(own)
        np.testing.assert_allclose(dense / dense.max(axis=1, keepdims=True), exact / exact.max(axis=1, keepdims=True))


# --- Refusals and documents -------------------------------------------------------------------------------------------
def test_what_cannot_be_asked_is_refused() -> None:
    for asked in (0, 17, True, 2.0):
        with pytest.raises(ParameterError, match="1 to 16"):
            progressive(QUARTERS, asked)
    with pytest.raises(ParameterError, match=r"allowed is 0 to 0\.5"):
        progressive(QUARTERS, 2, 0.6)
    with pytest.raises(ParameterError, match="nothing could be asked"):
        progressive(QUARTERS, 2, 0.5, [0.4, 0.2, 0.2, 0.2])
    with pytest.raises(ParameterError, match="worked out for at most 200"):
        progressive(rt.Numbers("x", 0, 201, edges=range(1, 201)), 2)
    with pytest.raises(ChannelError, match="need Numbers"):
        Progressive(rt.Categorical("x", ["a", "b"]), 1, (1,), (1, 1), Fraction(0))
    for weights, masses in (
        ((1, 1), (1, 1, 1, 1)),
        ((1, 1, 1), (1, 1, 1)),
        ((0, 0, 0), (1, 1, 1, 1)),
        ((1, 1, 1), (-1, 1, 1, 1)),
    ):
        with pytest.raises(ChannelError, match="weight|mass"):
            Progressive(QUARTERS, 1, weights, masses, Fraction(0))
    with pytest.raises(ChannelError, match="allowed is 0 to 1"):
        Progressive(QUARTERS, 1, (1, 1, 1), (1, 1, 1, 1), Fraction(-1))
    for floors in ({}, {0: 1}, {1: 1}, {0.5: -1}):
        with pytest.raises(ParameterError):
            progressive(QUARTERS, 2, floors=floors)


def test_keys_that_cannot_be_are_refused() -> None:
    channel = progressive(QUARTERS, 2, "0.25")
    assert channel.exact_row(10**6) == channel.exact_row(24) == (0,) * 4
    assert channel.possible(np.array([1, 4, 0, 24], dtype=np.uint8)).tolist() == [True, False, False, False]
    with pytest.raises(ReportError, match="2 of 2 reports"):
        rt.Reports(channel, np.array([4, 25], dtype=np.uint8))


CHANNEL = progressive(TENTHS, 3, "0.1", PILOT, [2**60, 1, 1, 1, 1, 1, 1, 1, 1], floors=OWN)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(("n_questions", value) for value in (0, 2.0, "2", True, None)),
        *(("weights", value) for value in ([1] * 8, [1.0] * 9, "1" * 9, None, [True] * 9)),
        *(("masses", value) for value in ([1] * 9, [0] * 10, [0.1] * 10)),
        *(("floor", value) for value in (0.1, "0.1", "2/20", "-1/10", "3/5", None)),
        *(("own_floors", value) for value in ([], {"floor": 0.5}, {"floors": [["1/2", 1]]}, "1/2")),
        ("title", ""),
    ],
)  # fmt: skip
def test_documents_are_read_as_written_or_refused(field: str, value: object) -> None:
    document = CHANNEL.to_json()
    assert rt.channel_from_json(json.loads(json.dumps(document))) == CHANNEL and field in document
    with pytest.raises(ChannelError):
        rt.channel_from_json(document | {field: value})


def test_a_document_says_what_it_is() -> None:
    assert CHANNEL.floors == Floors((Fraction(1, 5), Fraction(7, 20), Fraction(1, 2)), (2, 1, 1))
    assert CHANNEL.name == "3 progressive questions, floor 0.1, people stop at floors of their own"
    assert "own_floors" not in progressive(QUARTERS, 1).to_json()
    assert progressive(QUARTERS, 1) != progressive(QUARTERS, 2)
