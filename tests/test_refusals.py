"""Refusal: the exact channel of value and willingness, and what can be said of those who answer and of everybody."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import beta, binom

import reticent as rt
from reticent.choose import enumerate_law
from reticent.distributions import Nonresponse
from reticent.errors import ChannelError, EstimateError, ParameterError
from tests.mechanism_cases import question

AGE = rt.Numbers("age", 0, 100, edges=[20, 40, 60, 80])
CELLS = ["10", "30", "50", "70", "90"]
# P(cell | willingness 0, 1, 2): the old refuse, the young answer everything.
LAWS = np.array([[0.05, 0.05, 0.1, 0.3, 0.5], [0.1, 0.2, 0.3, 0.2, 0.2], [0.4, 0.3, 0.2, 0.05, 0.05]])
WILLING = np.array([0.3, 0.3, 0.4])


def states(n: int, seed: int) -> list[tuple[str, str]]:
    """People with a value and a willingness that belong together."""
    random = np.random.default_rng(seed)
    willing = random.choice(3, size=n, p=WILLING)
    cell = [random.choice(5, p=LAWS[j]) for j in willing]
    return [(CELLS[x], str(j)) for x, j in zip(cell, willing.tolist(), strict=True)]


@pytest.fixture(scope="module")
def found() -> Nonresponse:
    channel = rt.with_refusal(rt.progressive(AGE, 2))
    return rt.nonresponse(rt.tally(channel.draw_many(states(20_000, 1), seed=2)))


# --- The channel ------------------------------------------------------------------------------------------------------
def test_a_skipped_and_a_dropped_answer_are_one_message() -> None:
    channel = rt.with_refusal(rt.case_one(AGE), drop="1/4")
    refusing, willing = (channel.domain.encode([("10", j)])[0] for j in ("0", "1"))
    laws = [
        enumerate_law(
            lambda source, x=x: channel.key(p := channel.draw_public(source), channel.draw_cell(x, p, source))
        )
        for x in (int(refusing), int(willing))
    ]
    silent = channel.report(0)
    assert laws[0] == {silent: 1} and laws[1][silent] == Fraction(1, 4)
    assert channel.describe(silent) == "no answer"


def test_every_willingness_has_the_law_of_its_own_level() -> None:
    progressive = rt.progressive(AGE, 2)
    channel = rt.with_refusal(progressive)
    assert [level.digest for level in channel.levels] == [rt.progressive(AGE, 1).digest, progressive.digest]
    for x in range(5):
        for willing in (1, 2):
            state = int(channel.domain.encode([(CELLS[x], str(willing))])[0])
            level = channel.levels[willing - 1]
            for key in level.keys().tolist():
                assert channel.exact_row(channel.report(willing, key))[state] == level.exact_row(key)[x]


def test_a_silent_channel_takes_no_refusals() -> None:
    with pytest.raises(ChannelError, match="silent|no range|selective"):
        rt.with_refusal(rt.selective(rt.ring(AGE, 0.2), 0.4))
    with pytest.raises(ChannelError):
        rt.with_refusal(rt.with_refusal(rt.case_one(AGE)))
    with pytest.raises(ParameterError, match="nothing would ever be reported"):
        rt.with_refusal(rt.case_one(AGE), drop=1)


# --- The estimate -----------------------------------------------------------------------------------------------------
def test_the_law_among_those_who_answer_needs_no_assumption(found: Nonresponse) -> None:
    """Those who stop differ from those who go on; each of five shares within its 1 − 1e-6 interval."""
    among = (WILLING[1:, None] * LAWS[1:]).sum(axis=0) / WILLING[1:].sum()
    ends = found.confidence_interval(1 - 1e-6)
    truth = np.cumsum(among)[:-1]
    assert ((ends.low <= truth) & (truth <= ends.high)).all()
    assert found.willingness == pytest.approx(WILLING[1:] / WILLING[1:].sum(), abs=0.02)
    # Pooling the levels would be wrong here, and the page says by how much.
    pooled = found.sensitivity()
    assert pooled["own law"] == pytest.approx(found.shares)
    others = [pooled[name] for name in ("stopping says nothing", "full answers only")]
    assert all(values is not None and np.abs(values - truth).max() > 0.02 for values in others)


def test_the_share_refusing_has_the_exact_interval(found: Nonresponse) -> None:
    silent, n = int(found.answered[0]), int(found.answered.sum())
    ends = found.refusing_interval(0.95)
    assert found.refusing == silent / n
    assert ends.low[0] == pytest.approx(beta.ppf(0.025, silent, n - silent + 1), rel=1e-9)
    assert ends.high[0] == pytest.approx(beta.ppf(0.975, silent + 1, n - silent), rel=1e-9)


def test_the_bounds_hold_everybody_and_the_point_estimate_does_not(found: Nonresponse) -> None:
    everybody = np.cumsum(WILLING @ LAWS)[:-1]
    low, high = found.bounds()
    ends = found.bounds_interval(1 - 1e-6)
    assert (ends.low <= low).all() and (high <= ends.high).all()
    assert ((ends.low <= everybody) & (everybody <= ends.high)).all()
    assert high - low == pytest.approx(np.full(4, found.refusing), abs=1e-9)
    alike = np.cumsum(found.if_like_those_who_answered)[:-1]
    assert np.abs(alike - everybody).max() > 0.1


def test_dropped_answers_are_taken_out_of_the_refusals() -> None:
    """A quarter of answers dropped: the share refusing comes back within 5 standard errors (6e-7)."""
    channel = rt.with_refusal(rt.uniform_subset(question(4)), drop="1/4")
    people = [("abcd"[i % 4], "0" if i % 5 == 0 else "1") for i in range(20_000)]
    found = rt.nonresponse(rt.tally(channel.draw_many(people, seed=3)))
    spread = math.sqrt(0.4 * 0.6 / 20_000) / 0.75  # 0.2 refuse, 0.8/4 are dropped
    assert abs(found.refusing - 0.2) < 5 * spread
    assert found.answered[0] > binom.ppf(1e-6, 20_000, 0.4)
    assert found.probabilities == pytest.approx([0.25] * 4, abs=0.05)


def test_intervals_cover_at_their_level() -> None:
    """100 surveys, four edges at 90 %: hits at least the 1e-7 quantile of Binomial(100, 0.88), 70."""
    channel = rt.with_refusal(rt.progressive(AGE, 2))
    among = np.cumsum((WILLING[1:, None] * LAWS[1:]).sum(axis=0) / WILLING[1:].sum())[:-1]
    hits = np.zeros(4)
    for seed in range(100):
        ends = rt.nonresponse(rt.tally(channel.draw_many(states(600, seed), seed=seed))).confidence_interval(0.9)
        hits += (ends.low <= among) & (among <= ends.high)
    assert (hits >= binom.ppf(1e-7, 100, 0.88)).all(), hits


def test_what_it_says_of_itself(found: Nonresponse) -> None:
    words = found.summary()
    assert "refuse to answer" in words and "only if they are alike" in words
    document = json.loads(json.dumps(found.to_json()))
    assert document["refusing"] == pytest.approx(found.refusing) or document["refusing"]["share"] == found.refusing
    assert "everybody" in found._repr_html_()
    assert len(found.to_frame()) == len(found.events)
    assert all(low <= high for low, high in pairwise(found.shares))


# --- What is refused --------------------------------------------------------------------------------------------------
def test_other_estimators_point_to_this_one() -> None:
    channel = rt.with_refusal(rt.case_one(AGE))
    counts = rt.tally(channel.draw_many([("10", "1"), ("90", "1"), ("50", "0")] * 50, seed=1))
    for estimator in (rt.maximum_likelihood, rt.moments, rt.one_step, rt.distribution):
        with pytest.raises(EstimateError, match="nonresponse"):
            estimator(counts)


def test_tallies_without_refusal_or_answers_are_refused() -> None:
    plain = rt.tally(rt.case_one(AGE).draw_many(CELLS, seed=1))
    with pytest.raises(EstimateError, match="refusal"):
        rt.nonresponse(plain)
    channel = rt.with_refusal(rt.case_one(AGE))
    with pytest.raises(EstimateError, match="Nobody answered"):
        rt.nonresponse(rt.tally(channel.draw_many([("10", "0")] * 5, seed=1)))
