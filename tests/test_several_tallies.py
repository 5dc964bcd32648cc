"""Several tallies read together, groups and their differences, and the margins of tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import cvxpy
import numpy as np
import pytest
from scipy.stats import binom, chi2

import reticent as rt
from reticent.errors import EstimateError, ParameterError, TallyError
from reticent.precision import information
from reticent.results import Shares
from tests.mechanism_cases import other, question

ESTIMATORS: tuple[Callable[..., Shares], ...] = (rt.moments, rt.maximum_likelihood, rt.one_step)
each_estimator = pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda one: one.__name__)
WAVES: tuple[rt.Channel, ...] = (
    rt.uniform_subset(question(5)),
    rt.fixed_size(question(5), 3),
    rt.randomized_response(question(5), 1.0),
)
TRUTH = np.array([0.35, 0.25, 0.2, 0.15, 0.05])
# Neither tells all four categories apart; together they do.
FIRST = rt.Table.from_matrix(question(4), [[1, 1, 0, 0], [0, 0, 1, 1]])
SECOND = rt.Table.from_matrix(question(4), [[1, 0.5, 0.5, 0.5], [0, 0.5, 0, 0.25], [0, 0, 0.5, 0.25]])


def simulated(channel: rt.Channel, shares: np.ndarray, n: int, replicates: int, seed: int) -> list[rt.PatternTally]:
    law = channel.matrix() @ shares.ravel()
    keys = [int(key) for key in channel.keys()]
    counts = np.random.default_rng(seed).multinomial(n, law / law.sum(), replicates)
    return [rt.PatternTally.from_counts(channel, dict(zip(keys, one.tolist(), strict=True))) for one in counts]


# --- stacked likelihoods -----------------------------------------------------------------------------------------


def by_cvxpy(tallies: Sequence[rt.PatternTally]) -> tuple[np.ndarray, float]:
    """The maximiser and its log-likelihood by a general convex solver."""
    w = cvxpy.Variable(tallies[0].channel.n_categories, nonneg=True)
    terms = [one.counts @ cvxpy.log(one.channel.likelihood(one.keys) @ w) for one in tallies]
    problem = cvxpy.Problem(cvxpy.Maximize(sum(terms)), [cvxpy.sum(w) == 1])
    problem.solve(solver="CLARABEL", tol_gap_abs=1e-10, tol_gap_rel=1e-10)
    assert w.value is not None
    return np.asarray(w.value), float(problem.value)


def log_likelihood(tallies: Sequence[rt.PatternTally], shares: np.ndarray) -> float:
    return sum(float(one.counts @ np.log(one.channel.likelihood(one.keys) @ shares)) for one in tallies)


@pytest.mark.parametrize("seed", range(4))
def test_waves_read_together_maximise_the_product_of_their_likelihoods(seed: int) -> None:
    tallies = [simulated(channel, TRUTH, 150 * (i + 1), 1, 10 * seed + i)[0] for i, channel in enumerate(WAVES)]
    shares = rt.maximum_likelihood(*tallies)
    expected, best = by_cvxpy(tallies)
    assert shares.converged and shares.unique and shares.n == 900
    np.testing.assert_allclose(shares.probabilities, expected, atol=1e-4)
    assert log_likelihood(tallies, shares.probabilities) >= best - 1e-6
    reordered = rt.maximum_likelihood(*reversed(tallies))
    np.testing.assert_allclose(reordered.probabilities, shares.probabilities, atol=1e-6)


@each_estimator
def test_precision_of_waves_read_together_is_that_of_theory(estimator: Callable[..., Shares]) -> None:
    """300 triples of waves: variances against theory, and wald coverage of all five shares.

    Theory: J adds up over reports; moments are averaged with known weights. False alarms: 3 estimators × 5 categories ×
    (2e-8 for the variance ratio, 1e-8 for coverage below 0.93) = 5e-7.
    """
    n, replicates = (800, 1200, 1000), 300
    waves = [simulated(one, TRUTH, k, replicates, seed=k) for one, k in zip(WAVES, n, strict=True)]
    if estimator is rt.moments:
        equal = [np.trace(rt.asymptotic_covariance(one, np.full(5, 0.2), "moments")) for one in WAVES]
        share = np.array(n) / equal / np.sum(np.array(n) / equal)
        own = [rt.asymptotic_covariance(one, TRUTH, "moments") / k for one, k in zip(WAVES, n, strict=True)]
        theory = np.sum([a**2 * one for a, one in zip(share, own, strict=True)], axis=0)
    else:
        pooled = np.sum([k * information(one.matrix(), TRUTH) for one, k in zip(WAVES, n, strict=True)], axis=0)
        theory = np.linalg.inv(pooled) - np.outer(TRUTH, TRUTH) / sum(n)
    centres, hits = [], np.zeros(5)
    for tallies in zip(*waves, strict=True):
        interval = estimator(*tallies).confidence_interval(method="wald")
        centres.append((interval.low + interval.high) / 2)
        hits += (interval.low <= TRUTH) & (TRUTH <= interval.high)
    ratio = (replicates - 1) * np.var(centres, axis=0, ddof=1) / np.diag(theory)
    assert (ratio > chi2.ppf(1e-8, replicates - 1)).all() and (ratio < chi2.isf(1e-8, replicates - 1)).all()
    assert (hits >= binom.ppf(1e-8, replicates, 0.93)).all()


def test_channels_that_tell_all_categories_apart_only_together() -> None:
    truth = np.array([0.4, 0.3, 0.2, 0.1])
    one, two = simulated(FIRST, truth, 5000, 1, seed=1)[0], simulated(SECOND, truth, 5000, 1, seed=2)[0]
    for alone, found in ((one, 2), (two, 3)):
        with pytest.raises(EstimateError, match=f"rank {found} of 4"):
            rt.maximum_likelihood(alone)
    shares = rt.maximum_likelihood(one, two)
    assert shares.unique
    np.testing.assert_allclose(shares.probabilities, by_cvxpy([one, two])[0], atol=1e-4)
    assert (np.abs(shares.probabilities - truth) < 6 * shares.standard_errors).all()
    np.testing.assert_allclose(rt.one_step(one, two).probabilities.sum(), 1)
    with pytest.raises(EstimateError, match="rank 2 of 4"):  # moments averages estimates, and one alone gives none
        rt.moments(one, two)


def test_two_channels_that_say_the_same_do_not_identify_what_one_does_not() -> None:
    again = rt.Table.from_matrix(
        question(4), [[0.75, 0.375, 0.375, 0.375], [0.25, 0.625, 0.125, 0.375], [0, 0, 0.5, 0.25]]
    )
    tallies = [simulated(one, np.full(4, 0.25), 100, 1, seed=1)[0] for one in (SECOND, again)]
    for estimator in (rt.maximum_likelihood, rt.one_step):
        with pytest.raises(EstimateError, match="rank 3 of 4"):
            estimator(*tallies)


def test_an_empty_wave_changes_nothing() -> None:
    wave = simulated(WAVES[0], TRUTH, 500, 1, seed=1)[0]
    for estimator in ESTIMATORS:
        alone, more = estimator(wave), estimator(wave, rt.PatternTally.empty(WAVES[1]))
        np.testing.assert_allclose(more.probabilities, alone.probabilities, atol=1e-9)
        np.testing.assert_allclose(more.covariance, alone.covariance, atol=1e-12)


def test_tallies_of_different_questions_are_refused() -> None:
    wave = simulated(WAVES[0], TRUTH, 100, 1, seed=1)[0]
    elsewhere = rt.tally(rt.uniform_subset(other(5)).draw_many(list("01234"), seed=1))
    for estimator in ESTIMATORS:
        with pytest.raises(EstimateError, match="different domains"):
            estimator(wave, elsewhere)
    with pytest.raises(EstimateError, match="take one tally"):
        rt.maximum_likelihood(wave, wave).confidence_interval(method="clopper-pearson")


# --- groups --------------------------------------------------------------------------------------------------------


def test_groups_are_estimated_one_by_one_and_compared() -> None:
    answers = ["a"] * 600 + ["b"] * 400 + ["a"] * 200 + ["c"] * 800
    region = ["north"] * 1000 + ["south"] * 1000
    reports = WAVES[0].draw_many(answers, seed=1)
    grouped = rt.tally_by(reports, {"region": region})
    for estimator in ESTIMATORS:
        found = {group: estimator(tally) for group, tally in grouped.groups.items()}
        north, south = found[("north",)], found[("south",)]
        assert north.n == south.n == 1000
        assert estimator(grouped.total()).probabilities == pytest.approx(estimator(rt.tally(reports)).probabilities)
        with pytest.raises(EstimateError, match="Estimate each of its groups"):
            estimator(grouped)
        difference = north.combine({"a": 1}, minus=south)
        assert difference.value == pytest.approx(north.combine({"a": 1}).value - south.combine({"a": 1}).value)
        assert difference.standard_error == pytest.approx(np.hypot(north.standard_errors[0], south.standard_errors[0]))
        interval = difference.confidence_interval(1 - 1e-7)
        assert interval.low[0] < 0.4 < interval.high[0]


def test_differences_between_groups_hold_their_level() -> None:
    """95 % intervals of a difference over 300 pairs of groups; fails below the 1e-8 quantile at 0.93: 2 estimators, 2e-8."""
    here, there = TRUTH, TRUTH[::-1]
    for estimator in (rt.moments, rt.one_step):
        hits = 0
        groups = zip(
            simulated(WAVES[0], here, 400, 300, seed=1), simulated(WAVES[0], there, 900, 300, seed=2), strict=True
        )
        for one, two in groups:
            interval = estimator(one).combine([1, 1, 0, 0, 0], minus=estimator(two)).confidence_interval()
            hits += bool(interval.low[0] <= 0.4 <= interval.high[0])
        assert hits >= binom.ppf(1e-8, 300, 0.93)


def test_differences_that_do_not_hold_are_refused() -> None:
    one, two = (simulated(WAVES[0], TRUTH, 200, 1, seed=seed)[0] for seed in (1, 2))
    with pytest.raises(EstimateError, match="same reports"):
        rt.moments(one).combine({"a": 1}, minus=rt.one_step(one))
    elsewhere = rt.moments(rt.tally(rt.uniform_subset(other(5)).draw_many(list("01234"), seed=1)))
    with pytest.raises(ParameterError, match="not one question"):
        rt.moments(one).combine({"a": 1}, minus=elsewhere)
    empty = rt.tally(rt.full_response(question(5)).draw_many(list("aabb"), seed=1))
    with pytest.raises(EstimateError, match="moments estimates"):
        rt.maximum_likelihood(empty).combine({"c": 1}, minus=rt.maximum_likelihood(two))


def test_many_categories_keep_the_error_of_each_share_and_of_its_difference() -> None:
    channel = rt.uniform_subset(rt.Categorical("many", [str(i) for i in range(600)]))
    waves = [rt.moments(rt.tally(channel.draw_many(["0"] * 300 + ["1"] * 100, seed=seed))) for seed in (1, 2)]
    alone = waves[0].combine({"0": 2})
    assert alone.standard_error == pytest.approx(2 * waves[0].standard_errors[0])
    difference = waves[0].combine({"0": 1}, minus=waves[1])
    assert difference.standard_error == pytest.approx(np.hypot(*(one.standard_errors[0] for one in waves)))
    with pytest.raises(EstimateError, match="no covariance"):
        waves[0].combine({"0": 1, "1": -1})


def test_groups_of_different_kinds_are_refused() -> None:
    reports = WAVES[0].draw_many(list("abcde"), seed=1)
    with pytest.raises(TallyError, match="different kinds"):
        rt.GroupedTally(("g",), {("x",): rt.tally(reports), ("y",): rt.tally(reports, kind="support")})
    grouped = rt.tally_by(reports, {"g": list("xxyyy")}, kind="support")
    assert rt.moments(grouped.groups[("y",)]).n == 3 and grouped.total() == rt.tally(reports, kind="support")


# --- tables and their margins --------------------------------------------------------------------------------------

JOINT = rt.Product([rt.uniform_subset(question(4)), rt.fixed_size(other(3), 2)])
TABLE = np.array([[0.3, 0.1, 0.05], [0.1, 0.1, 0.02], [0.05, 0.05, 0.03], [0.1, 0.05, 0.05]])
SPARSE = np.array([[0.4, 0, 0], [0, 0.3, 0], [0, 0, 0.2], [0.1, 0, 0]])


@each_estimator
def test_margins_are_sums_of_cells_with_the_covariance_of_sums(estimator: Callable[..., Shares]) -> None:
    shares = estimator(simulated(JOINT, TABLE, 4000, 1, seed=1)[0])
    assert shares.covariance is not None
    cells = shares.probabilities.reshape(4, 3)
    covariance = shares.covariance.reshape(4, 3, 4, 3)
    letter, digit = shares.margin("letter"), shares.margin("digit")
    np.testing.assert_allclose(letter.probabilities, cells.sum(axis=1), atol=1e-14)
    np.testing.assert_allclose(digit.probabilities, cells.sum(axis=0), atol=1e-14)
    np.testing.assert_allclose(letter.covariance, covariance.sum(axis=(1, 3)), atol=1e-15)
    np.testing.assert_allclose(digit.covariance, covariance.sum(axis=(0, 2)), atol=1e-15)
    np.testing.assert_allclose(letter.standard_errors, np.sqrt(np.diag(covariance.sum(axis=(1, 3)))), atol=1e-15)
    contrast = digit.combine({"0": 1, "2": -1})
    same = shares.combine(np.tile([1.0, 0.0, -1.0], 4))
    assert contrast.value == pytest.approx(same.value) and contrast.standard_error == pytest.approx(same.standard_error)
    assert digit.domain == other(3) and digit.to_json()["interval"] == "wald"
    with pytest.raises(EstimateError, match="wald intervals only"):
        digit.confidence_interval(method="score")
    with pytest.raises(ParameterError, match="its questions are"):
        shares.margin("colour")
    with pytest.raises(ParameterError, match="one question"):
        digit.margin("digit")


@pytest.mark.parametrize("table", [TABLE, SPARSE], ids=["full table", "half of the cells empty"])
@each_estimator
def test_intervals_of_margins_and_contrasts_hold_their_level(
    estimator: Callable[..., Shares], table: np.ndarray
) -> None:
    """95 % intervals of seven margins and two contrasts over 200 tables of 500 reports.

    Fails when hits fall below the 1e-8 quantile at 0.93. False alarms: 6 runs × 9 × 1e-8 = 5e-7.
    """
    letters, digits = table.sum(axis=1), table.sum(axis=0)
    truth = np.array([*letters, *digits, letters[0] - letters[1], digits[0] + digits[1]])
    replicates, hits = 200, np.zeros(9)
    for tally in simulated(JOINT, table, 500, replicates, seed=3):
        shares = estimator(tally)
        parts = [shares.margin(name) for name in ("letter", "digit")]
        intervals = [part.confidence_interval() for part in parts]
        contrasts = [parts[0].combine({"a": 1, "b": -1}), parts[1].combine({"0": 1, "1": 1})]
        intervals += [one.confidence_interval() for one in contrasts]
        low, high = (np.concatenate([getattr(one, end) for one in intervals]) for end in ("low", "high"))
        hits += (low <= truth) & (truth <= high)
    assert (hits >= binom.ppf(1e-8, replicates, 0.93)).all(), hits / replicates
