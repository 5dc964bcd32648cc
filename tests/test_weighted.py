"""Weighted tallies: the survey package of R on answers as they are, and coverage on reports from an uneven sample."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom, chi2

import reticent as rt
from reticent.choose import Words
from reticent.errors import EstimateError, TallyError
from reticent.precision import linear_scores
from reticent.results import Method, Shares
from reticent.tallies import WeightedTally
from tests.mechanism_cases import CASES, question

R = json.loads((Path(__file__).parent / "data" / "weighted_survey.json").read_text(encoding="utf-8"))
WEIGHT = np.array(R["weight"])
FULL, FIVE = rt.full_response(question(4)), rt.uniform_subset(question(5))
ESTIMATORS: tuple[Callable[..., Shares], ...] = (rt.moments, rt.maximum_likelihood, rt.one_step)
each_estimator = pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda one: one.__name__)


def weighted(channel: rt.Channel, answers: Any, weights: Any, seed: int = 1) -> WeightedTally:
    tally = rt.tally(channel.draw_many(answers, seed=seed), weights=weights)
    assert isinstance(tally, WeightedTally)
    return tally


def where(column: str, value: str) -> WeightedTally:
    """The tally of the people of R's sample with this value."""
    rows = [i for i, one in enumerate(R[column]) if one == value]
    return weighted(FULL, [R["answer"][i] for i in rows], WEIGHT[rows])


def assert_as_in_r(shares: Shares, expected: dict[str, Any], factor: float = 1.0) -> None:
    np.testing.assert_allclose(shares.probabilities, expected["mean"], rtol=1e-8)
    np.testing.assert_allclose(factor * shares.standard_errors, expected["se"], rtol=1e-8)
    assert shares.covariance is not None
    np.testing.assert_allclose(factor**2 * shares.covariance, expected["covariance"], rtol=1e-8, atol=1e-14)


# --- R's survey package, on a channel that changes nothing -----------------------------------------------------------


@each_estimator
def test_svymean(estimator: Callable[..., Shares]) -> None:
    shares = estimator(weighted(FULL, R["answer"], WEIGHT))
    assert_as_in_r(shares, R["unstratified"])
    assert shares.effective_n == pytest.approx(WEIGHT.sum() ** 2 / (WEIGHT**2).sum())


@each_estimator
def test_svymean_of_a_stratified_design_is_a_tally_for_each_stratum(estimator: Callable[..., Shares]) -> None:
    strata = [where("stratum", one) for one in ("city", "town", "village")]
    assert_as_in_r(estimator(*strata), R["stratified"])
    assert_as_in_r(estimator(strata[0] + strata[1] + strata[2]), R["unstratified"])


@each_estimator
def test_svymean_by_group(estimator: Callable[..., Shares]) -> None:
    n = len(WEIGHT)
    for group, expected in R["groups"].items():
        tally = where("group", group)
        shares = estimator(tally)
        assert_as_in_r(shares, expected["alone"])
        # svyby takes the group's size as random and counts the others as zeros: another n/(n − 1), nothing else.
        factor = np.sqrt(n / (n - 1) * (tally.n - 1) / tally.n)
        assert_as_in_r(shares, expected["domain"], factor)


def test_groups_of_a_weighted_tally_are_its_strata() -> None:
    reports = FULL.draw_many(R["answer"], seed=1)
    grouped = rt.tally_by(reports, {"stratum": R["stratum"]}, weights=WEIGHT)
    assert_as_in_r(rt.moments(*grouped.groups.values()), R["stratified"])
    assert_as_in_r(rt.moments(grouped.total()), R["unstratified"])


# --- noisy reports ---------------------------------------------------------------------------------------------------


def sample(n: int, seed: int) -> tuple[list[str], np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.choice(list("abcde"), n, p=[0.4, 0.25, 0.2, 0.1, 0.05]).tolist(), rng.lognormal(0, 0.7, n)


def test_moments_are_the_weighted_mean_of_scores_report_by_report() -> None:
    answers, weights = sample(300, seed=1)
    reports = [FIVE.draw_many(answers[half::2], seed=half) for half in (0, 1)]
    strata = [rt.tally(one, weights=weights[half::2]) for half, one in enumerate(reports)]
    shares = rt.moments(*strata)
    scores = [linear_scores(FIVE, one.keys) for one in reports]
    mean = sum(weights[half::2] @ one for half, one in enumerate(scores)) / weights.sum()
    np.testing.assert_allclose(shares.unconstrained, mean, atol=1e-12)
    covariance = np.zeros((5, 5))
    for half, one in enumerate(scores):
        z = weights[half::2, None] * (one - mean) / weights.sum()
        covariance += len(z) * np.cov(z.T)  # Σ (z − z̄)(z − z̄)ᵀ · n/(n − 1)
    np.testing.assert_allclose(shares.covariance, covariance, atol=1e-14)


@each_estimator
def test_equal_weights_change_nothing_but_the_divisor(estimator: Callable[..., Shares]) -> None:
    answers, _ = sample(500, seed=2)
    reports = FIVE.draw_many(answers, seed=2)
    plain, heavy = estimator(rt.tally(reports)), estimator(rt.tally(reports, weights=np.full(500, 0.3)))
    np.testing.assert_allclose(heavy.probabilities, plain.probabilities, atol=1e-7)
    if estimator is rt.moments:
        np.testing.assert_allclose(heavy.covariance, np.multiply(plain.covariance, 500 / 499), atol=1e-12)
    assert heavy.effective_n == pytest.approx(500)


@each_estimator
def test_the_unit_of_the_weights_changes_nothing(estimator: Callable[..., Shares]) -> None:
    answers, weights = sample(400, seed=3)
    one, other = (estimator(weighted(FIVE, answers, unit * weights)) for unit in (1.0, 1e6))
    np.testing.assert_allclose(one.probabilities, other.probabilities, atol=1e-9)
    np.testing.assert_allclose(one.standard_errors, other.standard_errors, rtol=1e-6)
    assert one.log_likelihood == pytest.approx(other.log_likelihood)  # as many nats as there are reports, not weights


def test_maximum_likelihood_maximises_the_weighted_likelihood() -> None:
    answers, weights = sample(400, seed=4)
    reports = FIVE.draw_many(answers, seed=4)
    shares = rt.maximum_likelihood(rt.tally(reports, weights=weights))
    rows = FIVE.likelihood(reports.keys)
    multipliers = (weights / weights.sum()) @ (rows / (rows @ shares.probabilities)[:, None])
    positive = shares.probabilities > 0
    np.testing.assert_allclose(multipliers[positive], 1, atol=1e-6)
    assert (multipliers <= 1 + 1e-6).all()


UNEVEN = np.array([0.3, 0.25, 0.2, 0.15, 0.1])


def uneven_samples(n: int, replicates: int, seed: int) -> list[tuple[rt.Reports, np.ndarray]]:
    """Reports of samples in which the chance of being asked depends on the answer and on a stratum, with the weights."""
    rng = np.random.default_rng(seed)
    chance = np.outer([1.0, 0.4], [1.0, 0.8, 0.5, 0.4, 0.25])  # by stratum and answer
    joint = np.outer([0.5, 0.5], UNEVEN) * chance
    cell = rng.choice(10, n * replicates, p=joint.ravel() / joint.sum())
    reports = FIVE.draw_codes(cell % 5, Words(seed))
    weights = 1 / chance.ravel()[cell]
    return [
        (rt.Reports(FIVE, reports.keys[part]), weights[part])
        for part in np.array_split(np.arange(n * replicates), replicates)
    ]


def test_coverage_when_the_weights_matter() -> None:
    """95 % wald intervals over 400 samples of 1,500 whose weights depend on the answer, in each of five categories.

    Fails when the hits fall below the 1e-8 quantile at 0.93, or when the mean squared standard error over the variance
    of the estimates leaves the range that a chi-square of 399 degrees of freedom leaves once in 1e8. False alarms:
    3 estimators × 5 categories × 3e-8 = 5e-7. Without the weights the largest share is missed nearly always.
    """
    replicates = 400
    samples = uneven_samples(1500, replicates, seed=11)
    for estimator in ESTIMATORS:
        hits, squares, centres = np.zeros(5), np.zeros(5), []
        for reports, weights in samples:
            shares = estimator(rt.tally(reports, weights=weights))
            interval = shares.confidence_interval()
            assert interval.method == "wald"
            squares += shares.standard_errors**2 / replicates
            centres.append(shares.probabilities if shares.unconstrained is None else shares.unconstrained)
            hits += (interval.low <= UNEVEN) & (UNEVEN <= interval.high)
        assert (hits >= binom.ppf(1e-8, replicates, 0.93)).all(), (estimator.__name__, hits / replicates)
        ratio = np.var(centres, axis=0, ddof=1) / squares * (replicates - 1)
        assert (ratio > chi2.ppf(1e-8, replicates - 1)).all() and (ratio < chi2.isf(1e-8, replicates - 1)).all()
    naive = [rt.moments(rt.tally(reports)).confidence_interval() for reports, _ in samples[:50]]
    assert sum(one.low[0] <= UNEVEN[0] <= one.high[0] for one in naive) < 5


# --- adding, and what is refused -----------------------------------------------------------------------------------


def test_weighted_tallies_add() -> None:
    answers, weights = sample(120, seed=5)
    reports = FIVE.draw_many(answers, seed=5)
    whole = rt.tally(reports, weights=weights)
    parts = [
        rt.tally(rt.Reports(FIVE, reports.keys[part]), weights=weights[part])
        for part in np.array_split(np.random.default_rng(1).permutation(120), 7)
    ]
    merged = WeightedTally.empty(FIVE)
    for part in parts:
        merged = merged + part
    assert isinstance(whole, WeightedTally)
    assert np.array_equal(merged.keys, whole.keys) and np.array_equal(merged.counts, whole.counts)
    np.testing.assert_allclose(merged.weights, whole.weights, rtol=1e-12)
    np.testing.assert_allclose(merged.squares, whole.squares, rtol=1e-12)
    assert merged + WeightedTally.empty(FIVE) == merged and WeightedTally.empty(FIVE).effective_n == 0
    with pytest.raises(TallyError, match="count different things"):
        whole + rt.tally(reports)


def test_weights_of_missing_answers_are_not_read() -> None:
    reports = FIVE.draw_many(["a", None, "b"], missing="skip", seed=1)
    tally = rt.tally(reports, weights=[2.0, float("nan"), 3.0])
    assert isinstance(tally, WeightedTally)
    assert tally.n == 2 and tally.missing == 1 and tally.total_weight == pytest.approx(5)


@pytest.mark.parametrize("bad", [0.0, -1.0, float("nan"), float("inf")])
def test_weights_that_are_not_positive_are_refused(bad: float) -> None:
    reports = FIVE.draw_many(["a", "b", "c"], seed=1)
    with pytest.raises(TallyError, match="1 of 3 weights"):
        rt.tally(reports, weights=[1.0, bad, 2.0])


def test_weights_that_do_not_fit_are_refused() -> None:
    reports = FIVE.draw_many(["a", "b", "c"], seed=1)
    for weights in ([1.0], [[1.0, 1.0, 1.0]]):
        with pytest.raises(TallyError, match="one number per report"):
            rt.tally(reports, weights=weights)
    for words in (["x", "y", "z"],):
        with pytest.raises(TallyError, match="must be numbers"):
            rt.tally(reports, weights=words)
    with pytest.raises(TallyError, match="too large or too small"):
        rt.tally(reports, weights=[1e200] * 3)
    good = rt.tally(reports, weights=[1.0, 2.0, 3.0])
    assert isinstance(good, WeightedTally)
    with pytest.raises(TallyError, match="do not fit"):
        WeightedTally(FIVE, good.keys, good.counts, good.weights, good.squares * 100)
    with pytest.raises(TallyError, match="weights of a weighted tally"):
        WeightedTally(FIVE, good.keys, good.counts, -good.weights, good.squares)
    with pytest.raises(TallyError, match="Counts are whole numbers"):
        WeightedTally(FIVE, good.keys, 0 * good.counts, good.weights, good.squares)


def test_intervals_that_need_counts_are_refused_with_the_reason() -> None:
    answers, weights = sample(200, seed=6)
    for estimator in ESTIMATORS:
        shares = estimator(weighted(FIVE, answers, weights))
        methods: tuple[Method, ...] = ("clopper-pearson", "profile", "score")
        for method in methods:
            with pytest.raises(EstimateError, match=f"no likelihood of its counts, so {method} intervals do not hold"):
                shares.confidence_interval(method=method)
        with pytest.raises(EstimateError, match="no respondents' target"):
            shares.confidence_interval(target="respondents")
        assert shares.to_json()["effective_n"] == pytest.approx(weights.sum() ** 2 / (weights**2).sum())


def test_a_weighted_contrast_that_touches_a_share_of_0_is_refused() -> None:
    shares = rt.maximum_likelihood(weighted(FULL, list("aabbb"), [1.0, 2, 3, 1, 1]))
    assert shares.probabilities[2] == 0 and np.isnan(shares.standard_errors[2])
    with pytest.raises(EstimateError, match="share of 0"):
        shares.combine({"a": 1, "c": -1})
    assert shares.combine({"a": 1, "b": -1}).standard_error > 0


def test_samples_that_do_not_say_how_much_they_vary_are_refused() -> None:
    answers, weights = sample(50, seed=7)
    for estimator in ESTIMATORS:
        with pytest.raises(EstimateError, match="single report"):
            estimator(weighted(FIVE, answers, weights), weighted(FIVE, ["a"], [2.0]))
        with pytest.raises(EstimateError, match="do not mix"):
            estimator(weighted(FIVE, answers, weights), rt.tally(FIVE.draw_many(["a"], seed=1)))
        with pytest.raises(EstimateError, match="no report"):
            estimator(WeightedTally.empty(FIVE))
    with pytest.raises(EstimateError, match="rank 1 of 4"):
        rt.moments(weighted(CASES["no_response"], ["a", "b"], [1.0, 2.0]))
