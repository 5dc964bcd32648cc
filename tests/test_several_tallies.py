"""Several tallies read together, groups and their differences, and the margins of tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

import cvxpy
import numpy as np
import pytest
from scipy.stats import binom, chi2, multinomial

import reticent as rt
from reticent.errors import EstimateError, ParameterError, TallyError
from reticent.precision import information
from reticent.results import Shares
from reticent.tallies.overlap import chance_of_equality
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
        shares = estimator(*tallies)
        interval = shares.confidence_interval(method="wald")
        centres.append(shares.probabilities if shares.unconstrained is None else shares.unconstrained)
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
    later = simulated(WAVES[0], TRUTH, 100, 1, seed=2)[0]
    with pytest.raises(EstimateError, match="take one tally"):
        rt.maximum_likelihood(wave, later).confidence_interval(method="clopper-pearson")


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


PEOPLE = {"letter": list("aabbcdde") * 180, "digit": list("01201201") * 180}
COLUMNS = {
    "letter": WAVES[0].draw_many(PEOPLE["letter"], seed=1),
    "digit": rt.fixed_size(other(3), 2).draw_many([*PEOPLE["digit"][:-40], *[None] * 40], seed=2, missing="skip"),
}
BY_SUPPORT = rt.tally_columns(COLUMNS, sets=[("letter", "digit"), ("letter", "letter")])
BY_PATTERNS = rt.tally(rt.joint_reports(COLUMNS))


@pytest.mark.parametrize(
    ("one", "other_way"),
    [
        (rt.moments(BY_SUPPORT, columns=("letter",)), rt.moments(BY_SUPPORT, columns=("letter",))),
        (rt.moments(BY_SUPPORT, columns=("letter",)), rt.moments(BY_SUPPORT, columns=["letter"], form="affine")),
        (rt.moments(BY_SUPPORT).margin("letter"), rt.moments(BY_SUPPORT, columns=("letter",))),
        (rt.moments(BY_SUPPORT), rt.moments(BY_PATTERNS)),
        (rt.moments(BY_SUPPORT), rt.maximum_likelihood(BY_PATTERNS)),
        (rt.moments(BY_SUPPORT).margin("digit"), rt.moments(BY_PATTERNS).margin("digit")),
        (rt.moments(BY_SUPPORT, columns=("digit",)), rt.one_step(rt.tally(COLUMNS["digit"]))),
        (rt.moments(BY_SUPPORT, columns=("letter",)), rt.moments(rt.tally(COLUMNS["letter"], kind="support"))),
        (rt.moments(BY_PATTERNS).margin("digit"), rt.moments(rt.tally(COLUMNS["digit"]))),
        (rt.moments(rt.tally(COLUMNS["letter"])), rt.one_step(rt.tally(COLUMNS["letter"]))),
        (rt.moments(rt.tally(COLUMNS["letter"])), rt.moments(rt.tally(COLUMNS["letter"], weights=np.ones(1440)))),
    ],
)
def test_the_same_reports_on_both_sides_of_a_difference_are_told(one: Shares, other_way: Shares) -> None:
    weights = np.eye(len(one.domain))[0]
    for mine, theirs in ((one, other_way), (other_way, one)):
        with pytest.raises(EstimateError, match="same reports"):
            mine.combine(weights, minus=theirs)


def test_the_same_reports_through_a_table_without_support_rates_are_told() -> None:
    columns = {
        name: rt.Table.from_matrix(question, [[0.7, 0.2, 0.1], [0.2, 0.7, 0.2], [0.1, 0.1, 0.7]]).draw_many(
            question.categories * 300, seed=name
        )
        for name, question in (("letter", question(3)), ("digit", other(3)))
    }
    joint = rt.moments(rt.tally(rt.joint_reports(columns)))
    with pytest.raises(EstimateError, match="same reports"):
        joint.margin("letter").combine({"a": 1}, minus=rt.moments(rt.tally(columns["letter"])))


def test_reports_given_twice_to_an_estimator_are_refused(tmp_path: Path) -> None:
    wave, later = (simulated(WAVES[0], TRUTH, 300, 1, seed=seed)[0] for seed in (1, 2))
    rt.save(wave, tmp_path / "wave.parquet")
    loaded = rt.load(tmp_path / "wave.parquet")
    assert isinstance(loaded, rt.PatternTally)
    for estimator in ESTIMATORS:
        assert estimator(wave, later).n == 600
        for twice in ((wave, wave), (wave, loaded), (later, wave, loaded)):
            with pytest.raises(EstimateError, match="given twice.*one \\+ other"):
                estimator(*twice)
        assert estimator(wave + loaded).n == 600, "people who are said to be different"
    weights = np.linspace(1, 2, 1440)
    heavy, same = (rt.tally(COLUMNS["letter"], weights=weights) for _ in range(2))
    for tallies in ((heavy, same), (BY_SUPPORT, BY_PATTERNS)):
        with pytest.raises(EstimateError, match="given twice"):
            rt.moments(*tallies)
    assert rt.moments(heavy, rt.tally(COLUMNS["letter"], weights=weights[::-1])).n == 2880, (
        "other weights, other people"
    )
    with pytest.raises(EstimateError, match="given twice"):
        rt.moments(BY_SUPPORT, BY_SUPPORT, columns=("letter",))


def test_small_counts_and_two_kinds_of_reports_may_be_equal_by_chance() -> None:
    coin = rt.randomized_response(question(2), 1.0)

    def week(no: int, yes: int) -> rt.PatternTally:
        return rt.PatternTally.from_counts(coin, {0: no, 1: yes})

    for estimator in ESTIMATORS:
        assert estimator(week(40, 60), week(40, 60)).n == 200
        small = week(40, 60)
        with pytest.raises(EstimateError, match="given twice"):
            estimator(small, small)
        with pytest.raises(EstimateError, match="given twice"):
            estimator(week(41, 60), week(41, 60))
        assert estimator(rt.PatternTally.empty(coin), rt.PatternTally.empty(coin), small).n == 100
    # Two groups of 1,000 agree by chance in 1.8 % of surveys: their difference is 0, with the error of a difference.
    with pytest.warns(UserWarning, match="equal counts"):
        difference = rt.moments(week(400, 600)).combine({"a": 1}, minus=rt.moments(week(400, 600)))
    alone = rt.moments(week(400, 600)).combine({"a": 1})
    assert difference.value == 0 and difference.standard_error == pytest.approx(2**0.5 * alone.standard_error)
    one, other_way = rt.PatternTally.from_counts(coin, {0: 1}), rt.PatternTally.from_counts(coin, {0: 1})
    with pytest.warns(UserWarning, match="equal counts"):
        assert rt.moments(one).combine({"a": 1}, minus=rt.moments(other_way)).value == 0


def test_the_chance_of_equal_counts_is_about_right() -> None:
    """Against the exact chance that a second sample of the same law gives the same counts as a typical first one."""
    law, n = np.array([0.4, 0.3, 0.2, 0.1]), 200
    table = rt.Table.from_matrix(question(4), np.tile(law[:, None], 4))
    tally = rt.PatternTally.from_counts(table, dict(enumerate((law * n).astype(int).tolist())))
    exact = multinomial.pmf(law * n, n, law)
    found = chance_of_equality(tally, rt.PatternTally.from_counts(table, tally.to_dict()))
    assert found is not None and exact / 3 < found < 3 * exact
    assert chance_of_equality(tally, rt.PatternTally.from_counts(table, {0: 81, 1: 59, 2: 40, 3: 20})) is None


def test_weights_of_a_combination_are_finite_numbers() -> None:
    shares = rt.moments(simulated(WAVES[0], TRUTH, 200, 1, seed=1)[0])
    wrong: Any
    for wrong in (np.nan, np.inf, "x", "0.5", None, [1], 10**400, 1j):
        for weights in ({"a": wrong}, [wrong, 0, 0, 0, 0], (0, 0, wrong, 0, 0)):
            with pytest.raises(ParameterError, match="finite weights"):
                shares.combine(weights)
    for wrong in ("aaaaa", 3, None, [1, 0], np.ones((5, 2))):
        with pytest.raises(ParameterError, match="weights"):
            shares.combine(wrong)
    with pytest.raises(ParameterError, match="minus is a"):
        shares.combine({"a": 1}, minus=cast("Any", 0.3))
    mask = np.array([True, False, False, True, False])
    assert shares.combine(mask).value == pytest.approx(shares.combine({"a": Fraction(1), "d": 1.0}).value)


def test_labels_of_groups_are_those_of_files() -> None:
    reports = WAVES[0].draw_many(list("abcde"), seed=1)
    for column in (["x", None, "x", float("nan"), ""], np.array(["x", None, "x", np.nan, ""], dtype=object)):
        assert {group: one.n for group, one in rt.tally_by(reports, {"g": column}).groups.items()} == {
            ("",): 3, ("x",): 2,
        }  # fmt: skip
    for wrong in ("abcde", b"abcde", 5, None):
        with pytest.raises(TallyError, match="single value"):
            rt.tally_by(reports, {"g": cast("Any", wrong)})
    with pytest.raises(TallyError, match="must be numbers"):
        rt.tally(reports, weights=[2**2000] * 5)


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
