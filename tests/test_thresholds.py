"""Answers to thresholds: golden values, laws by enumeration, simulations with fixed seeds, and what is refused.

Simulated bands reach at least 4.5 standard errors of the simulation to each side of the value that the specification
measured, so that another seed would fail one of the about fifteen comparisons with a chance below 1e-5.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import minimize

from reticent.errors import EstimateError, ParameterError, ReportError
from reticent.thresholds import (
    MEAN,
    SECOND_MOMENT,
    Functional,
    agreement_coverage,
    augmented,
    cdf_interval,
    cross_fit_coverage,
    fit_family,
    inverse_density,
    likelihood_ratio,
    npmle_plug_in,
    plug_in_coverage,
    sides,
    smoothed,
    threshold_cdf,
)
from tests.threshold_surveys import ANSWERS, EIGHT, TAU, WIDE, Floats, T, ends, every_answer, surveys

# Arguments that no type checker would let through.
NOTHING: Any = None
BOOTSTRAP: Any = "bootstrap"
CAUCHY: Any = "cauchy"


# --- The maximum likelihood law --------------------------------------------------------------------------------------
def test_g7_the_law_of_eight_answers() -> None:
    cdf = threshold_cdf(EIGHT, ANSWERS)
    assert cdf.value == pytest.approx([0, 1 / 3, 1 / 3, 1 / 3, 1 / 2, 1 / 2, 1, 1], abs=1e-12)
    assert cdf([0.0, 2.0, 2.5, 9.0]) == pytest.approx([0, 1 / 3, 1 / 3, 1], abs=1e-12)
    assert [end.tolist() for end in cdf.bounds([0.0, 5.0, 9.0])] == [[0.0, 0.5, 1.0], [0.0, 0.5, 1.0]]
    left, right, mass = cdf.masses()
    assert (left.tolist(), right.tolist()) == ([1, 4, 6], [2, 5, 7])
    assert mass == pytest.approx([1 / 3, 1 / 6, 1 / 2], abs=1e-12)


def test_the_law_maximises_the_likelihood() -> None:
    random = np.random.default_rng(1)
    u, delta, w = random.integers(0, 5, 40), random.integers(0, 2, 40), random.integers(1, 4, 40)
    cdf = threshold_cdf(u, delta, w)
    ones, total = np.bincount(u, w * delta), np.bincount(u, w)

    def loss(steps: Floats) -> float:
        f = np.cumsum(steps)
        return -float(ones @ np.log(f) + (total - ones) @ np.log(1 - f))

    bounds, room = [(1e-9, 1)] * 5, {"type": "ineq", "fun": lambda steps: 1 - 1e-9 - steps.sum()}
    best = minimize(loss, np.full(5, 0.15), bounds=bounds, constraints=room, method="SLSQP", options={"ftol": 1e-14})
    assert cdf.value == pytest.approx(np.cumsum(best.x), abs=1e-4)
    assert loss(np.diff(np.clip(cdf.value, 1e-12, 1 - 1e-12), prepend=0)) <= best.fun + 1e-9


def test_order_and_merging_do_not_matter() -> None:
    random = np.random.default_rng(2)
    u, delta = random.integers(0, 6, 60).astype(float), random.integers(0, 2, 60)
    order = random.permutation(60)
    rows, counts = np.unique(np.stack([u, delta]), axis=1, return_counts=True)
    one, other, third = threshold_cdf(u, delta), threshold_cdf(u[order], delta[order]), threshold_cdf(*rows, counts)
    assert one.threshold.tolist() == other.threshold.tolist() == third.threshold.tolist()
    assert one.value == pytest.approx(other.value, abs=1e-12) and one.value == pytest.approx(third.value, abs=1e-12)
    for estimate in (agreement_coverage, lambda u, d, counts=None: cdf_interval(u, d, [2, 2.5], counts=counts)):
        assert repr(estimate(u, delta)) == repr(estimate(*rows, counts=counts))


def test_the_domain_bounds_the_masses() -> None:
    cdf = threshold_cdf([0.0, 1.0, 2.0], [1, 0, 0])
    left, right, mass = cdf.masses(0, 5)
    assert (left.tolist(), right.tolist()) == ([0, 2], [0, 5])
    assert mass == pytest.approx([1 / 3, 2 / 3])
    with pytest.raises(ReportError, match="impossible"):
        cdf.masses(0, 2)


# --- Coverage --------------------------------------------------------------------------------------------------------
def test_g7_coverage() -> None:
    assert plug_in_coverage(EIGHT, ANSWERS).value == pytest.approx(17 / 24, abs=1e-12)
    assert agreement_coverage(EIGHT, ANSWERS).value == pytest.approx(2 / 7, abs=1e-12)


def test_the_plug_in_is_the_mean_of_the_reported_sets() -> None:
    random = np.random.default_rng(3)
    u, delta = random.integers(0, 9, 200), random.integers(0, 2, 200)
    f = threshold_cdf(u, delta)(u)
    assert plug_in_coverage(u, delta).value == pytest.approx(np.where(delta, f, 1 - f).mean(), abs=1e-12)


def test_agreement_on_a_grid_is_exactly_unbiased() -> None:
    u, chances = np.array([0, 0, 0, 1, 1]), np.array([0.3, 0.3, 0.3, 0.8, 0.8])
    mean = sum(p * agreement_coverage(u, delta).value for delta, p in every_answer(chances))
    assert mean == pytest.approx((3 * (0.09 + 0.49) + 2 * (0.64 + 0.04)) / 5, abs=1e-12)


def test_agreement_has_little_bias_and_an_honest_error() -> None:
    found, plug_in, crossed, held = [], [], [], []
    for u, delta in surveys(1000, 1000, 4, lambda random: random.logistic(size=1000)):
        found.append(agreement_coverage(u, delta))
        plug_in.append(plug_in_coverage(u, delta).value)
        held.append(found[-1].lower_bound(0.95) < TAU)
        if len(crossed) < 250:
            crossed.append(cross_fit_coverage(u, delta).value)
    values = np.array([one.value for one in found])
    assert abs(values.mean() - TAU) < 0.003
    assert 0.007 < np.mean(plug_in) - TAU < 0.013
    assert np.mean(crossed) - TAU < 0.75 * (np.mean(plug_in) - TAU)
    assert 0.9 < np.mean([one.standard_error for one in found]) / values.std() < 1.3
    assert np.mean(held) > 0.93


def test_when_everybody_agrees_the_lower_bound_stays_honest() -> None:
    """n disjoint pairs that agree with chance τ each all do so with chance τⁿ."""
    for found, n in (
        (agreement_coverage(np.arange(100), np.ones(100)), 50),
        (agreement_coverage(np.repeat([0, 1], 30), np.repeat([0, 1], 30)), 30),
    ):
        assert (found.value, found.standard_error) == (1, 0)
        assert found.lower_bound(0.9) ** n == pytest.approx(0.1)
    assert math.isnan(plug_in_coverage(EIGHT, ANSWERS).lower_bound())


def test_the_grid_s_standard_error_is_that_of_the_estimates() -> None:
    random, grid = np.random.default_rng(5), np.linspace(-3, 3, 13)
    found = []
    for _ in range(1500):
        u = random.choice(grid, 300)
        found.append(agreement_coverage(u, random.normal(size=300) <= u))
    values = np.array([one.value for one in found])
    truth = np.mean(stats.norm.cdf(grid) ** 2 + stats.norm.sf(grid) ** 2)
    assert abs(values.mean() - truth) < 0.003
    assert 0.9 < np.mean([one.standard_error for one in found]) / values.std() < 1.1


# --- Functionals -----------------------------------------------------------------------------------------------------
def test_g16_inverse_density() -> None:
    u, delta, law = [-3, -1, 0.5, 2], [0, 1, 0, 1], stats.uniform(-4, 8)
    found = inverse_density(u, delta, law, clip=True)
    assert found.value == pytest.approx(0, abs=1e-9)
    assert found.standard_error == pytest.approx(3.2659863237, abs=1e-9)
    assert (found.clipped_to, found.estimand) == ((-4.0, 4.0), "mean of the values clipped to [-4, 4]")
    assert inverse_density(u, delta, law, SECOND_MOMENT, clip=True).value == pytest.approx(6, abs=1e-9)
    assert inverse_density(u, delta, law, c=1, clip=True).value == pytest.approx(-1, abs=1e-9)
    assert inverse_density(u, delta, law, domain=(-4, 4)).to_json() == {
        "value": 0.0, "standard_error": pytest.approx(3.2659863237), "method": "inverse density",
        "estimand": "mean of the values", "n": 4, "clipped_to": None, "extremes": None,
    }  # fmt: skip


@pytest.mark.parametrize(
    "functional", [MEAN, SECOND_MOMENT, Functional("exponential", np.exp, np.exp)], ids=lambda f: f.name
)
@pytest.mark.parametrize("c", [None, -1.0, 2.0])
def test_over_all_thresholds_the_terms_give_h_of_the_value(functional: Functional, c: float | None) -> None:
    """θ̂ is the integral of its terms over thresholds: for one value y it is h(y), whatever c is."""
    law = stats.beta(1.5, 1.2, -3, 6)
    u = law.ppf((np.arange(40_000) + 0.5) / 40_000)
    for y in (-2.0, 0.7, 1.9):
        found = inverse_density(u, y <= u, law, functional, c=c, domain=(-3, 3))
        assert found.value == pytest.approx(functional.at(y), abs=0.01)


def test_g5_the_spread_of_the_mean() -> None:
    law = stats.uniform(-T, 2 * T)
    values = np.array([
        inverse_density(u, delta, law, c=0.0, clip=True).value
        for u, delta in surveys(100, 4000, 6, lambda random: random.uniform(-T, T, 100), mean=0.5)
    ])  # fmt: skip
    assert values.std() == pytest.approx(0.4046961824, rel=0.05)
    assert abs(values.mean() - 0.5) < 5 * 0.4047 / math.sqrt(4000)


def test_augmented_intervals_hold_and_are_shorter() -> None:
    """94.4 % and 95.0 % in the specification; the bound of √n sd is 2.60, plain weighting 3.24."""
    runs = 600
    found = {augmented: [], inverse_density: []}
    for u, delta in surveys(400, runs, 7, lambda random: random.uniform(-6, 6, 400), mean=0.5):
        for estimate, kept in found.items():
            kept.append(estimate(u, delta, WIDE, clip=True))
    for estimate, target in ((augmented, 2.7), (inverse_density, 3.2)):
        values = np.array([one.value for one in found[estimate]])
        held = [
            ends(one.confidence_interval())[0] <= 0.5 <= ends(one.confidence_interval())[1] for one in found[estimate]
        ]
        assert abs(values.mean() - 0.5) < 5 * values.std() / math.sqrt(runs)
        assert values.std() * 20 == pytest.approx(target, rel=0.15)
        assert 0.89 < np.mean(held) < 0.99


def test_augmented_is_unbiased_on_an_unbounded_law() -> None:
    law = stats.logistic()
    found = [
        augmented(u, delta, law, SECOND_MOMENT, seed=run)
        for run, (u, delta) in enumerate(surveys(300, 500, 8, lambda random: random.logistic(size=300)))
    ]
    values = np.array([one.value for one in found])
    assert abs(values.mean() - 1) < 5 * values.std() / math.sqrt(500)
    assert found[0].clipped_to is None


def test_two_thresholds_per_person() -> None:
    """The standard deviation at n = 400 is 0.121 with two uniform thresholds, 0.162 with one."""
    laws = [stats.beta(1, 2, -6, 12), stats.beta(2, 1, -6, 12)]
    random = np.random.default_rng(9)
    values = []
    for _ in range(800):
        u = np.sort(random.uniform(-6, 6, (400, 2)), axis=1)
        values.append(inverse_density(u, random.normal(0.5, 1, (400, 1)) <= u, laws, clip=True).value)
    assert np.std(values) == pytest.approx(0.121, rel=0.14)
    assert abs(np.mean(values) - 0.5) < 5 * 0.121 / math.sqrt(800)


def test_one_column_of_thresholds_is_one_threshold() -> None:
    u, delta = np.array([-3, -1, 0.5, 2]), np.array([0, 1, 0, 1])
    one, column = (
        inverse_density(u, delta, WIDE, clip=True),
        inverse_density(u[:, None], delta[:, None], [WIDE], clip=True),
    )
    assert one == column


def test_plug_in_gives_midpoints_and_extremes() -> None:
    found = npmle_plug_in(EIGHT, ANSWERS, SECOND_MOMENT, n_resamples=0)
    assert found.value == pytest.approx(1.5**2 / 3 + 4.5**2 / 6 + 6.5**2 / 2)
    assert (found.lowest, found.highest) == (pytest.approx(1 / 3 + 16 / 6 + 18), pytest.approx(4 / 3 + 25 / 6 + 24.5))
    assert math.isnan(found.standard_error)
    crossing = npmle_plug_in([-1, 1], [0, 1], SECOND_MOMENT, domain=(-3, 3), n_resamples=0)
    assert (crossing.lowest, crossing.value, crossing.highest) == (0.0, 0.0, 1.0)


def test_plug_in_attains_the_bound_and_the_bootstrap_sees_it() -> None:
    """√n sd 2.62 in the specification, where the bound is 2.60."""
    found = [
        npmle_plug_in(u, delta, domain=(-6, 6), n_resamples=40 if run < 60 else 0)
        for run, (u, delta) in enumerate(surveys(500, 700, 10, lambda random: random.uniform(-6, 6, 500), mean=0.5))
    ]
    spread = np.std([one.value for one in found]) * math.sqrt(500)
    assert spread == pytest.approx(2.65, rel=0.14)
    seen = np.mean([one.standard_error for one in found[:60]]) * math.sqrt(500)
    assert 0.75 < seen / spread < 1.15  # a tenth short at this n


# --- What is refused -------------------------------------------------------------------------------------------------
def test_equal_answers_give_a_warning_and_no_intervals() -> None:
    u, delta, law = EIGHT + 0.5, np.ones(8), stats.uniform(0, 9)
    with pytest.warns(UserWarning, match="equal"):
        cdf = threshold_cdf(u, delta)
    assert cdf.degenerate and (cdf.value == 1).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not threshold_cdf(EIGHT, ANSWERS).degenerate
    for refused in (
        lambda: inverse_density(u, delta, law, domain=(0, 9)),
        lambda: augmented(u, delta, law, domain=(0, 9), n_folds=2),
        lambda: npmle_plug_in(u, delta, domain=(0, 9)),
        lambda: plug_in_coverage(u, delta),
        lambda: cross_fit_coverage(u, delta, n_folds=2),
        lambda: cdf_interval(u, delta, 4),
        lambda: smoothed(cdf, (0, 9)),
        lambda: fit_family(*sides(u, delta)),
        lambda: cdf_interval([1.0], [1], 1),
    ):
        with pytest.raises(EstimateError, match="equal"):
            refused()
    assert ends(cdf_interval(u, delta, 5, method="guaranteed"))[1] == 1


def test_a_density_must_be_given_and_cover_the_values() -> None:
    u, delta = np.array([-3.0, -1, 0.5, 2]), [0, 1, 0, 1]
    with pytest.raises(ParameterError, match="density of the thresholds"):
        inverse_density(u, delta, NOTHING)
    with pytest.raises(ParameterError, match="no law of thresholds"):
        inverse_density(u, delta, stats.randint(-3, 3))
    with pytest.raises(ParameterError, match="clip=True"):
        inverse_density(u, delta, WIDE)
    with pytest.raises(ParameterError, match="clip=True"):
        augmented(u, delta, WIDE, domain=(-6, 8), n_folds=2)
    assert inverse_density(u, delta, WIDE, domain=(-5, 5)).clipped_to is None
    with pytest.raises(ReportError, match="density 0"):
        inverse_density(u, delta, stats.uniform(-2, 4), clip=True)
    with pytest.raises(ParameterError, match="part of the domain"):
        inverse_density(
            np.array([[-3, 2.0], [-2.5, 3]]), [[0, 1], [1, 1]], [stats.uniform(-4, 2), stats.uniform(1, 3)], clip=True
        )
    with pytest.raises(ParameterError, match="c is 7"):
        inverse_density(u, delta, WIDE, c=7, clip=True)
    with pytest.raises(ParameterError, match="2 laws for 1"):
        inverse_density(u, delta, [WIDE, WIDE], clip=True)


def test_a_grid_has_bounds_only() -> None:
    u, delta = np.repeat(EIGHT, 5), np.tile(ANSWERS, 5)
    for estimate in (inverse_density, augmented):
        with pytest.raises(EstimateError, match="grid"):
            estimate(u, delta, stats.uniform(0, 9), domain=(0, 9))
    bounds = npmle_plug_in(u, delta, domain=(0, 9), n_resamples=0)
    assert bounds.highest - bounds.lowest == pytest.approx(1)
    fine = np.round(np.random.default_rng(18).uniform(0, 9, 400), 3)
    assert inverse_density(fine, fine > 4, stats.uniform(0, 9), domain=(0, 9)).value == pytest.approx(4, abs=0.5)


def test_mass_without_an_end_has_no_mean() -> None:
    with pytest.raises(EstimateError, match="domain="):
        npmle_plug_in([1, 2, 3], [1, 0, 1])
    with pytest.raises(EstimateError, match="domain="):
        smoothed(threshold_cdf([1, 2, 3], [1, 0, 1]))


def test_intervals_that_do_not_hold_are_refused() -> None:
    with pytest.raises(ParameterError, match="bootstrap"):
        cdf_interval(EIGHT, ANSWERS, 4, method=BOOTSTRAP)
    with pytest.raises(ParameterError, match="0.90, 0.95, 0.99"):
        cdf_interval(EIGHT, ANSWERS, 4, confidence_level=0.8)
    with pytest.raises(ParameterError, match="on_grid"):
        cdf_interval(np.repeat(EIGHT, 2), np.repeat(ANSWERS, 2), 4, on_grid=False)
    with pytest.raises(ParameterError, match="theta"):
        likelihood_ratio(EIGHT, ANSWERS, 4, 1.2)
    with pytest.raises(EstimateError, match="at least 4"):
        agreement_coverage([1, 2, 3], [0, 1, 1])


@pytest.mark.parametrize(
    "rows",
    [([1, np.nan], [0, 1]), ([1, np.inf], [0, 1]), ([1, 2], [0, 2]), ([1, 2], [0]), ([], []), ([[1, 2]], [[0, 1]])],
    ids=["nan", "infinite", "two", "lengths", "empty", "table"],
)  # fmt: skip
def test_rows_that_are_no_answers(rows: tuple[list[float], list[int]]) -> None:
    with pytest.raises(ReportError):
        threshold_cdf(*rows)


def test_contradictions_weights_and_families() -> None:
    fine = [[1, 2], [0, 1]]
    for u, delta in (([1, 2], [1, 0]), ([2, 1], [0, 1]), ([1, 1], [0, 1])):
        with pytest.raises(ReportError, match="1 people contradict"):
            inverse_density([fine[0], u], [fine[1], delta], [WIDE, WIDE], clip=True)
    with pytest.raises(ParameterError, match="counts"):
        cdf_interval(EIGHT, ANSWERS, 4, counts=np.full(8, 0.5))
    with pytest.raises(ParameterError, match="weights"):
        threshold_cdf(EIGHT, ANSWERS, -np.ones(8))
    with pytest.raises(ParameterError, match="family"):
        fit_family([0], [1], CAUCHY)
    for low, high in (([2], [1]), ([np.nan], [1]), ([np.inf], [np.inf])):
        with pytest.raises(ReportError):
            fit_family(low, high)
    with pytest.raises(EstimateError, match="Vary"):
        fit_family(*sides([1, 1, 1], [0, 1, 1]))
    with pytest.raises(EstimateError, match="No single law"):
        fit_family(*sides([1, 2, 3, 4], [0, 0, 1, 1]))
    with pytest.raises(EstimateError, match="No single law"):
        fit_family(*sides([1, 2, 3, 4], [1, 1, 0, 0]))
    with pytest.raises(EstimateError, match="folds"):
        augmented(EIGHT, ANSWERS, stats.uniform(0, 9), domain=(0, 9))
