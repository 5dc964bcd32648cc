"""Estimators and intervals against golden values, exact unbiasedness, and coverage by simulation."""

from __future__ import annotations

import importlib
import warnings
from functools import cache, partial
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import reticent as rt
from reticent.errors import EstimateError, ParameterError, TallyError
from reticent.likelihood import fit
from reticent.precision import Form, condition_number, linear_scores, rank
from reticent.results import Method, Shares
from reticent.tallies import Tally, stack
from tests.mechanism_cases import CASES, REFUSALS, UNIDENTIFIABLE, other, question

FOUR = rt.uniform_subset(question(4))
PAIRS = {(1, 2): 0b0011, (1, 3): 0b0101, (1, 4): 0b1001, (2, 3): 0b0110, (2, 4): 0b1010, (3, 4): 0b1100}
ADULT_RACE = np.array([27816, 3124, 1039, 311, 271]) / 32561


def tally_of(*counts: int) -> rt.PatternTally:
    return rt.PatternTally.from_counts(FOUR, dict(zip(PAIRS.values(), counts, strict=True)))


INTERIOR = tally_of(30, 25, 20, 15, 12, 8)
BOUNDARY = tally_of(40, 30, 5, 20, 1, 1)


def test_interior_golden() -> None:
    shares = rt.maximum_likelihood(INTERIOR)
    np.testing.assert_allclose(
        shares.probabilities, [0.5182889657, 0.2711847186, 0.1573867100, 0.0531396058], atol=1e-9
    )
    np.testing.assert_allclose(shares.standard_errors, 0.065552252006, atol=1e-9)
    assert shares.log_likelihood == pytest.approx(-66.771791299491, abs=1e-9)
    profile = shares.confidence_interval()
    assert profile.method == "profile"
    np.testing.assert_allclose([profile.low[0], profile.high[0]], [0.384798, 0.640601], atol=1e-5)
    np.testing.assert_allclose([profile.low[3], profile.high[3]], [0, 0.184841], atol=1e-5)
    assert shares.confidence_interval(method="clopper-pearson").high[3] == pytest.approx(0.191184, abs=1e-5)


def test_boundary_golden() -> None:
    shares = rt.maximum_likelihood(BOUNDARY)
    np.testing.assert_allclose(shares.probabilities, [0.5776775104, 0.2885503644, 0.1337721252, 0], atol=1e-8)
    assert shares.fit is not None
    np.testing.assert_allclose(shares.fit.multipliers, [1, 1, 1, 0.2020241920], atol=1e-7)
    assert shares.confidence_interval().high[3] == pytest.approx(0.024323, abs=1e-5)
    assert np.isnan(shares.standard_errors[3])
    moments = rt.moments(BOUNDARY)
    np.testing.assert_allclose(
        moments.unconstrained, [0.659793814433, 0.443298969072, 0.288659793814, -0.391752577320], atol=1e-11
    )
    np.testing.assert_allclose(moments.probabilities, [0.529209621993, 0.312714776632, 0.158075601375, 0], atol=1e-11)


def test_one_scoring_step_golden() -> None:
    start = rt.moments(INTERIOR).probabilities
    step = rt.one_step(INTERIOR, reference=start)
    np.testing.assert_allclose(
        step.unconstrained, [0.518016528926, 0.271074380165, 0.157644628099, 0.053264462810], atol=1e-11
    )


def test_data_that_do_not_identify_give_ranges() -> None:
    shares = rt.maximum_likelihood(tally_of(5, 0, 0, 0, 0, 5))
    assert not shares.unique
    np.testing.assert_allclose(shares.range_low, 0, atol=1e-7)
    np.testing.assert_allclose(shares.range_high, 0.5, atol=1e-7)
    assert "unique = False" in shares.summary()
    single = rt.maximum_likelihood(tally_of(1, 0, 0, 0, 0, 0))
    assert not single.unique and single.log_likelihood == pytest.approx(0, abs=1e-9)
    np.testing.assert_allclose(single.range_high, [1, 1, 0, 0], atol=1e-7)


@pytest.mark.parametrize("name", [name for name in CASES if name not in UNIDENTIFIABLE])
@pytest.mark.parametrize("form", ["centred", "inverse", "affine"])
def test_scores_are_exactly_unbiased(name: str, form: str) -> None:
    channel = CASES[name]
    scores = linear_scores(channel, channel.keys(), form)
    np.testing.assert_allclose(channel.matrix().T @ scores, np.eye(channel.n_categories), atol=1e-9)


@pytest.mark.parametrize("name", sorted(UNIDENTIFIABLE - REFUSALS - {"table from a matrix", "table then table"}))
def test_channels_that_cannot_tell_are_refused(name: str) -> None:
    channel = CASES[name]
    tally = rt.tally(channel.draw_many(["a"] * 10, seed=1))
    for estimator in (rt.maximum_likelihood, rt.moments, rt.one_step):
        with pytest.raises(EstimateError, match="rank 1 of 4"):
            estimator(tally)


def test_all_estimators_find_the_truth_through_every_channel() -> None:
    # 6 standard errors of V_MLE or of the scores: below 1e-8 for each comparison.
    for name, channel in CASES.items():
        if name in UNIDENTIFIABLE:
            continue
        truth = np.arange(1, channel.n_categories + 1) / sum(range(1, channel.n_categories + 1))
        counts = (truth * 21_000).round().astype(int)
        answers = [label for label, k in zip(channel.domain.categories, counts, strict=True) for _ in range(k)]
        tally = rt.tally(channel.draw_many(answers, seed=name))
        for estimator in (rt.maximum_likelihood, rt.moments, rt.one_step):
            shares = estimator(tally)
            assert shares.probabilities.sum() == pytest.approx(1)
            errors = np.nan_to_num(shares.standard_errors, nan=1.0)
            assert (np.abs(shares.probabilities - counts / counts.sum()) < 6 * errors + 1e-6).all(), (name, shares)


def test_two_waves_read_together() -> None:
    other = rt.fixed_size(question(4), 3)
    first, second = (
        rt.tally(FOUR.draw_many(list("aaab") * 200, seed=1)),
        rt.tally(other.draw_many(list("aaab") * 200, seed=2)),
    )
    both = rt.maximum_likelihood(first, second)
    assert both.n == 1600 and both.converged
    assert both.standard_errors[0] < rt.maximum_likelihood(first).standard_errors[0]


def test_combine() -> None:
    shares = rt.maximum_likelihood(INTERIOR)
    sum_of_two = shares.combine({"a": 1, "b": 1})
    assert sum_of_two.value == pytest.approx(shares.probabilities[:2].sum())
    assert shares.combine([1, 1, 1, 1]).standard_error == pytest.approx(0, abs=1e-7)
    assert shares.covariance is not None
    difference = shares.covariance[0, 0] + shares.covariance[1, 1] - 2 * shares.covariance[0, 1]
    assert shares.combine({"a": 1, "b": -1}).standard_error == pytest.approx(np.sqrt(difference))
    with pytest.raises(ParameterError, match="not categories"):
        shares.combine({"z": 1})


def test_combinations_that_touch_a_share_of_0_have_profile_intervals() -> None:
    shares = rt.maximum_likelihood(BOUNDARY)
    alone = shares.combine({"d": 1})
    assert alone.value == pytest.approx(0) and np.isnan(alone.standard_error)
    interval = alone.confidence_interval()
    assert interval.method == "profile"
    np.testing.assert_allclose([interval.low[0], interval.high[0]], [0, 0.024323], atol=1e-5)  # golden value 8
    # A combination that does not touch it keeps its standard error, and that of a with d has an interval around a's.
    assert shares.combine({"a": 1, "b": -1}).standard_error > 0
    both = shares.combine({"a": 1, "d": 1}).confidence_interval()
    assert both.low[0] < shares.probabilities[0] < both.high[0]


def test_asymptotic_traces_golden() -> None:
    channel = rt.uniform_subset(question(5))
    traces = [
        np.trace(rt.asymptotic_covariance(channel, ADULT_RACE, *how))
        for how in ((), ("moments", "inverse"), ("moments", "centred"), ("moments", "affine"), ("sample",))
    ]
    expected = [0.864031576621, 2.800266920396, 2.793166328680, 2.926499662013, 0.259832995347]
    np.testing.assert_allclose(traces, expected, atol=1e-11)


def test_many_categories_by_moments() -> None:
    domain = rt.Categorical("many", [str(i) for i in range(2000)])
    channel = rt.uniform_subset(domain)
    shares = rt.moments(rt.tally(channel.draw_many(["3"] * 300 + ["5"] * 100, seed=1)))
    assert shares.covariance is None
    interval = shares.confidence_interval(0.9999999)
    assert interval.low[3] < 0.75 < interval.high[3] and interval.low[5] < 0.25 < interval.high[5]


def test_many_categories_by_maximum_likelihood_leave_uniqueness_open() -> None:
    channel = rt.uniform_subset(rt.Categorical("many", [str(i) for i in range(600)]))
    reports = channel.draw_many(["3"] * 300 + ["5"] * 100, seed=1)
    shares = rt.maximum_likelihood(rt.tally(reports, kind="patterns"))
    assert shares.converged and shares.unique is None and shares.covariance is None
    assert shares.probabilities[3] == pytest.approx(0.75, abs=0.1)


def test_refusals() -> None:
    with pytest.raises(EstimateError, match="no report"):
        rt.maximum_likelihood(rt.PatternTally.empty(FOUR))
    with pytest.raises(EstimateError, match="at least one tally"):
        rt.maximum_likelihood()
    with pytest.raises(EstimateError, match="groups"):
        rt.moments(rt.tally_by(FOUR.draw_many(["a"], seed=1), {"g": ["x"]}))
    shares = rt.maximum_likelihood(INTERIOR)
    for level in (0, 1, 1.5, True, "x"):
        with pytest.raises(ParameterError, match="confidence_level"):
            shares.confidence_interval(level)
    with pytest.raises(ParameterError, match="allowed"):
        shares.confidence_interval(method="bootstrap")
    with pytest.raises(EstimateError, match="Clopper"):
        rt.maximum_likelihood(rt.tally(CASES["binary_dummy"].draw_many(["a"], seed=1))).confidence_interval(
            method="clopper-pearson"
        )
    with pytest.raises(ParameterError, match="wald"):
        rt.moments(INTERIOR).confidence_interval(method="profile")
    form: Any = "x"
    reports = FOUR.draw_many(list("abcd"), seed=1)
    for kind in ("patterns", "support"):
        with pytest.raises(ParameterError, match="form is 'x'"):
            rt.moments(rt.tally(reports, kind=kind), form=form)
    reference: Any
    for reference in ("a", ["a"] * 4, [2**2000] * 4, [0.5, 0.5], [0.5, 0.5, 0, 0], [np.nan] * 4, {"a": 1}):
        with pytest.raises(ParameterError, match="4 positive numbers"):
            rt.one_step(INTERIOR, reference=reference)


NOISY = {
    "randomised response": rt.randomized_response(question(3), 1.0),
    "uniform subset": FOUR,
    "subset that may miss": rt.Subset(question(4), ((2, 1),), 3 * 2**62, ((2, 1),)),
    "table": rt.Table.from_matrix(question(3), [[0.7, 0.2, 0.1], [0.2, 0.7, 0.2], [0.1, 0.1, 0.7]]),
    "product": rt.Product([rt.randomized_response(question(2), 1.0), rt.fixed_size(other(3), 2)]),
}


@pytest.mark.parametrize("name", NOISY)
@pytest.mark.parametrize("form", ["centred", "inverse", "affine"])
@pytest.mark.parametrize("n", [1, 50])
def test_equal_reports_leave_what_the_law_says(name: str, form: Form, n: int) -> None:
    channel = NOISY[name]
    key = int(channel.keys()[-1])
    patterns = rt.PatternTally.from_counts(channel, {key: n})
    tallies: list[Tally] = [patterns]
    reports = rt.Reports(channel, np.repeat(channel.keys()[-1:], n, axis=0))
    if channel.support_rates is not None or isinstance(channel, rt.Product):
        listed = [[channel.names]] if isinstance(channel, rt.Product) else [[], [("letter", "letter")]]
        tallies += [rt.tally(reports, sets=sets) for sets in listed]
    for tally in tallies:
        shares = rt.moments(tally, form=form)
        law = rt.asymptotic_covariance(channel, shares.probabilities, "moments", form) / n
        assert shares.covariance is not None and np.diag(law).min() > 1e-3 / n
        np.testing.assert_allclose(shares.covariance, law, atol=1e-12)
        np.testing.assert_allclose(shares.standard_errors, np.sqrt(np.diag(law)), atol=1e-12)
        interval = shares.confidence_interval(method="wald")
        assert (interval.low <= shares.by_itself).all() and (shares.by_itself <= interval.high).all()
        assert (interval.high - interval.low > 0.01).all()
    if n > 1:
        weights = np.linspace(1, 2, n)
        heavy = rt.tally(reports, weights=weights)
        law *= n * (weights**2).sum() / weights.sum() ** 2
        np.testing.assert_allclose(rt.moments(heavy, form=form).covariance, law, atol=1e-12)
        assert (rt.one_step(heavy).standard_errors > 1e-2).all()


def test_a_channel_that_hides_nothing_keeps_errors_of_0() -> None:
    open_about_it = rt.full_response(question(3))
    reports = open_about_it.draw_many(["a"] * 20)
    for tally in (rt.tally(reports), rt.tally(reports, kind="support"), rt.tally(reports, weights=np.arange(1.0, 21))):
        np.testing.assert_array_equal(rt.moments(tally).standard_errors, 0)
    some = open_about_it.draw_many(["a", "b"] * 10)
    weights = np.arange(1.0, 21)
    shares = rt.moments(rt.tally(some, weights=weights))
    share = weights[::2].sum() / weights.sum()
    residuals = weights * (np.array([1, 0] * 10) - share)
    np.testing.assert_allclose(  # the ratio estimator of survey::svymean
        shares.standard_errors, [np.sqrt(20 / 19 * (residuals**2).sum()) / weights.sum()] * 2 + [0], atol=1e-14
    )


def test_a_share_that_no_report_supports_has_an_error() -> None:
    many = rt.randomized_response(rt.Categorical("many", [str(i) for i in range(600)]), 6.0)
    reports = many.draw_many(["1"] * 200 + ["2"] * 100, seed=1)
    for tally in (rt.tally(reports), rt.tally(reports, kind="support")):
        shares = rt.moments(tally, form="affine")
        keep, stray = (float(rate) for rate in many.support_rates or ())
        rate = stray + (keep - stray) * shares.probabilities
        np.testing.assert_allclose(shares.standard_errors, np.sqrt(rate * (1 - rate) / 300) / (keep - stray), rtol=1e-9)
        assert shares.standard_errors.min() > 0


def test_a_share_of_1_is_on_the_boundary() -> None:
    coin = rt.randomized_response(question(2), 1.0)
    shares = rt.maximum_likelihood(rt.PatternTally.from_counts(coin, {0: 50}))
    assert shares.probabilities.tolist() == [1, 0] and np.isnan(shares.standard_errors).all()
    interval = shares.combine({"a": 1}).confidence_interval()
    assert interval.method == "profile" and interval.low[0] < 0.95 and interval.high[0] == 1


def test_a_nearly_useless_channel_warns_with_its_condition_number() -> None:
    """Section 10: condition number of J at equal shares above 1e6. For keep − stray = d and p = 2 it is 1/d²."""
    for rho, warns in ((0.9e-3, True), (1.1e-3, False)):
        channel = rt.binary_dummy(question(2), rho)
        assert condition_number(channel) == pytest.approx(rho**-2, rel=1e-6)
        tally = rt.tally(channel.draw_many(["a", "b"] * 500, seed=1))
        for estimator in (rt.maximum_likelihood, rt.moments, rt.one_step):
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                shares = estimator(tally)
            assert [str(one.message) for one in said if "condition number 1.2e+06" in str(one.message)] == [
                str(one.message) for one in said
            ]
            assert bool(said) == warns and shares.n == 1000
            assert all(one.filename == __file__ for one in said)  # it points at the caller
    both = rt.tally(rt.full_response(question(2)).draw_many(["a", "b"], seed=1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rt.maximum_likelihood(tally, both)  # one good channel is enough


@pytest.mark.parametrize("name", [*CASES, "flat rates"])
def test_rank_and_condition_number_are_those_of_the_matrix(name: str) -> None:
    # Equal support rates, yet reports that tell categories apart: by sets of one without the answer or of three with it.
    flat = rt.Subset(question(4), ((3, 1),), keep=2**63, miss_sizes=((1, 1),))
    channel = {**CASES, "flat rates": flat}[name]
    matrix, p = channel.matrix(), channel.n_categories
    singular = np.linalg.svd(matrix / np.sqrt(matrix.mean(axis=1, keepdims=True)), compute_uv=False) ** 2
    found = int((singular > 1e-10).sum())
    assert rank(channel) == found
    assert condition_number(channel) == pytest.approx(singular[0] / singular[-1] if found == p else np.inf, rel=1e-6)


def test_flat_support_rates_are_read_through_the_reports() -> None:
    channel = rt.Subset(question(4), ((3, 1),), keep=2**63, miss_sizes=((1, 1),))
    reports = channel.draw_many(["a"] * 3000 + ["b"] * 1000, seed=1)
    for estimator in (rt.maximum_likelihood, rt.moments, rt.one_step):
        shares = estimator(rt.tally(reports))
        errors = np.nan_to_num(shares.standard_errors, nan=1.0)
        assert (np.abs(shares.probabilities - [0.75, 0.25, 0, 0]) < 6 * errors).all()
    with pytest.raises(TallyError, match="different support rates"):
        rt.tally(reports, kind="support")


@pytest.mark.parametrize("shares", [[0.5, 0.3, 0.2, 0, 0], [0.7, 0.3, 0, 0, 0], [1.0, 0, 0, 0, 0]])
@pytest.mark.parametrize("name", ["uniform_subset(5)", "fixed_size(5, 3)", "full response"])
def test_shares_of_0_have_the_precision_of_shares_that_go_to_0(name: str, shares: list[float]) -> None:
    channel = CASES[name] if name in CASES else rt.full_response(question(5))
    near = (1 - 5e-7) * np.array(shares) + 1e-7
    at_zero, close = (rt.asymptotic_covariance(channel, w) for w in (shares, near / near.sum()))
    np.testing.assert_allclose(at_zero, close, atol=5e-6)
    moments = rt.asymptotic_covariance(channel, shares, "moments")
    assert (np.linalg.eigvalsh(moments - at_zero) > -1e-9).all()


def test_a_start_that_makes_a_report_impossible_is_moved_inside() -> None:
    # The moment estimate of these counts, projected, gives the fourth share 0; {c, d} came all the same.
    tally = tally_of(40, 30, 0, 20, 0, 1)
    rows, counts = stack([tally])
    free = fit(rows, counts)
    for start in ([1, 0, 0, 0], [0, 0, 0, 1]):
        moved = fit(rows, counts, start)
        assert moved.converged and moved.log_likelihood == pytest.approx(free.log_likelihood, abs=2e-6)
    assert rt.maximum_likelihood(tally).log_likelihood == pytest.approx(free.log_likelihood, abs=2e-6)
    full = rt.tally(rt.full_response(question(4)).draw_many(list("aab"), seed=1))
    assert np.isfinite(rt.one_step(full).probabilities).all()
    for reference in ([0.5, 0.5, 0, 0], [0.5, 0.6, 0.1, 0.1], [0.25] * 3):
        with pytest.raises(ParameterError, match="4 positive numbers that sum to 1"):
            rt.one_step(full, reference=reference)


def test_a_solver_that_reaches_its_limit_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module("reticent.estimators.maximum_likelihood")
    monkeypatch.setattr(module, "fit", partial(fit, step_limit=1))
    with pytest.warns(UserWarning, match="stopped after 1 steps with gap"):
        shares = rt.maximum_likelihood(BOUNDARY)
    assert not shares.converged and shares.gap is not None and shares.gap > 1e-6
    assert "stopped early" in shares.summary() and shares.to_json()["converged"] is False


def simulated(channel: rt.Channel, truth: np.ndarray, n: int, repetitions: int, seed: int) -> list[rt.PatternTally]:
    rng = np.random.default_rng(seed)
    law = channel.matrix() @ truth
    keys = [int(key) for key in channel.keys()]
    return [
        rt.PatternTally.from_counts(channel, dict(zip(keys, counts.tolist(), strict=True)))
        for counts in rng.multinomial(n, law / law.sum(), repetitions)
    ]


SETTINGS = {  # shares, n, and the lowest coverage that section 12 reports for wald, profile and score
    "Adult, 300": (ADULT_RACE, 300, {"wald": 0.910, "profile": 0.937, "score": 0.950}),
    "Adult, 2000": (ADULT_RACE, 2000, {"wald": 0.943, "profile": 0.947, "score": 0.947}),
    "Adult, 20000": (ADULT_RACE, 20000, {"wald": 0.950, "profile": 0.947, "score": 0.943}),
    "uniform, 300": (np.full(5, 0.2), 300, {"wald": 0.920, "profile": 0.923, "score": 0.923}),
    "two zeros, 1000": (np.array([0.5, 0.3, 0.2, 0, 0]), 1000, {"wald": 0.940, "profile": 0.940, "score": 0.947}),
}


@cache
def fitted(setting: str) -> list[Shares]:
    """The estimates that all methods make intervals from."""
    truth, n, _ = SETTINGS[setting]
    return [rt.maximum_likelihood(one) for one in simulated(rt.uniform_subset(question(5)), truth, n, 300, seed=n)]


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("method", ["wald", "profile", "score", "clopper-pearson"])
def test_coverage(method: Method, setting: str) -> None:
    """The coverage of section 12 in every category, less 0.02, its simulation error; 0.95 for the exact interval.

    Fails when the hits among 300 fall below the 1e-8 quantile at that coverage. False alarms: at most
    4 methods × 5 settings × 5 categories × 1e-8 = 1e-6, with fixed seeds. A wald interval is not offered (NaN) where
    the estimated share is 0; that is no miss, for nothing was claimed.
    """
    truth, _, reported = SETTINGS[setting]
    lowest = 0.95 if method == "clopper-pearson" else reported[method] - 0.02
    repetitions = 300
    hits = np.zeros(5)
    for shares in fitted(setting):
        interval = shares.confidence_interval(method=method)
        not_offered = np.isnan(interval.low)
        assert not not_offered.any() or method == "wald"
        hits += not_offered | ((interval.low <= truth + 1e-12) & (interval.high >= truth - 1e-12))
    assert (hits >= binom.ppf(1e-8, repetitions, lowest)).all(), hits / repetitions


def test_results_speak_json_and_html() -> None:
    shares = rt.maximum_likelihood(INTERIOR)
    document = shares.to_json()
    assert document["n"] == 110 and document["converged"] and len(document["shares"]) == 4
    assert "<table>" in shares._repr_html_() and "from 110 reports" in shares.summary()
    frame = shares.to_frame()
    assert frame.loc["a", "share"] == pytest.approx(0.5182889657)
    narrow = shares.confidence_interval(target="respondents")
    assert (
        narrow.high - narrow.low
        < shares.confidence_interval(method="wald").high - shares.confidence_interval(method="wald").low
    ).all()
