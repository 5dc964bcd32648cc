"""Intervals for F from thresholds, smooth curves and fitted families: golden values, enumeration and simulation.

Simulated bands as in `test_thresholds`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import minimize

from reticent.thresholds import (
    cdf_interval,
    critical_value,
    fit_family,
    likelihood_ratio,
    sides,
    smoothed,
    threshold_cdf,
    uniform_band,
)
from tests.threshold_surveys import ANSWERS, EIGHT, Floats, ends, every_answer, surveys


# --- Intervals for F(t) ----------------------------------------------------------------------------------------------
def test_g7_likelihood_ratio_and_intervals() -> None:
    assert likelihood_ratio(EIGHT, ANSWERS, 4.5, 0.5) == pytest.approx(0, abs=1e-7)
    assert likelihood_ratio(EIGHT, ANSWERS, 4.5, 0.2) == pytest.approx(0.2923650204, abs=1e-7)
    assert likelihood_ratio(EIGHT, ANSWERS, 4, 0.5) == pytest.approx(0.3397980736, abs=1e-7)
    assert ends(cdf_interval(EIGHT, ANSWERS, 4.5)) == pytest.approx((0.0531346667, 0.9118382125), abs=1e-7)
    assert ends(cdf_interval(EIGHT, ANSWERS, 4)) == pytest.approx((0.0531346667, 0.7475627989), abs=1e-7)
    found = cdf_interval(EIGHT, ANSWERS, 4.5, method="guaranteed")
    assert ends(found) == pytest.approx((0.0063094632, 0.9936905368), abs=1e-7)


def test_at_the_ends_of_the_interval_the_ratio_is_the_critical_value() -> None:
    random = np.random.default_rng(11)
    u = random.uniform(0, 1, 80)
    delta = random.uniform(0, 1, 80) <= u
    for t in (0.2, float(u[7]), 0.9):
        for level, allowed in ((0.90, 1.60), (0.95, 2.26916), (0.99, 3.97)):
            for end in ends(cdf_interval(u, delta, t, confidence_level=level)):
                if 0 < end < 1:
                    assert likelihood_ratio(u, delta, t, end) == pytest.approx(allowed, abs=1e-7)


def test_the_constrained_fit_is_the_best_one() -> None:
    """Against a general solver under F(t) = θ."""
    u, ones, total, t = np.array([1.0, 2, 3, 4]), np.array([2.0, 1, 4, 3]), np.full(4, 5.0), 2.5
    rows = np.repeat(u, 2), np.tile([1, 0], 4), np.stack([ones, total - ones], axis=1).ravel()

    def loss(f: Floats) -> float:
        return -float(ones @ np.log(f) + (total - ones) @ np.log(1 - f))

    for theta in (0.2, 0.45, 0.9):
        bounds = [(1e-6, theta)] * 2 + [(theta, 1 - 1e-6)] * 2
        rising = {"type": "ineq", "fun": np.diff}
        start = np.array([theta / 2, theta / 1.5, (1 + theta) / 2, (2 + theta) / 3])
        held = minimize(loss, start, bounds=bounds, constraints=rising, method="SLSQP", options={"ftol": 1e-14}).fun
        free = loss(threshold_cdf(*rows).value)
        assert likelihood_ratio(rows[0], rows[1], t, theta, rows[2]) == pytest.approx(2 * (held - free), abs=1e-6)


def test_the_likelihood_ratio_exceeds_its_critical_value_as_often_as_it_should() -> None:
    """4.9 % in the limit; 5,000 runs."""
    ratios = [
        likelihood_ratio(u, delta, 0.3, float(stats.norm.cdf(0.3)))
        for u, delta in surveys(200, 5000, 12, lambda random: random.logistic(size=200))
    ]
    assert 0.035 < np.mean(np.array(ratios) > critical_value(0.95, on_grid=False)) < 0.065


def test_on_a_grid_the_chi_square_value_holds_and_the_other_does_not() -> None:
    random, grid = np.random.default_rng(13), stats.norm.ppf((np.arange(10) + 0.5) / 10)
    truth, ratios = float(stats.norm.cdf(grid[4])), []
    for _ in range(2000):
        ones = random.binomial(100, stats.norm.cdf(grid))
        rows = np.repeat(grid, 2), np.tile([1, 0], 10), np.stack([ones, 100 - ones], axis=1).ravel()
        ratios.append(likelihood_ratio(rows[0], rows[1], float(grid[4]), truth, rows[2]))
    assert np.mean(np.array(ratios) > critical_value(0.95, on_grid=True)) == pytest.approx(0.05, abs=0.025)
    assert np.mean(np.array(ratios) > critical_value(0.95, on_grid=False)) > 0.09


def test_repeated_thresholds_mean_a_grid() -> None:
    u, delta = np.repeat(EIGHT, 5), np.tile(ANSWERS, 5)
    assert ends(cdf_interval(u, delta, 4)) == ends(cdf_interval(u, delta, 4, on_grid=True))
    wider, narrow = ends(cdf_interval(EIGHT, ANSWERS, 4, on_grid=True)), ends(cdf_interval(EIGHT, ANSWERS, 4))
    assert wider[0] < narrow[0] and narrow[1] < wider[1]
    assert critical_value(0.8, on_grid=True) == pytest.approx(stats.chi2.ppf(0.8, 1))


@pytest.mark.parametrize("u", [np.arange(9.0), np.array([0, 0, 0, 1, 1, 2, 2, 2, 3.0])], ids=["distinct", "tied"])
@pytest.mark.parametrize(
    "law", [stats.uniform(-1, 11), stats.norm(2, 1), stats.uniform(1, 0.01)], ids=["flat", "bell", "step"]
)
def test_guaranteed_intervals_and_bands_hold_their_level_exactly(u: Floats, law: stats.rv_continuous) -> None:
    """The chance of every one of the 512 possible sets of answers, added up: no simulation."""
    points = np.array([-0.5, 0.0, 1.0, 1.5, 2.0, 3.5, 9.0])
    truth, missed, outside = law.cdf(points), np.zeros(len(points)), 0.0
    for delta, chance in every_answer(law.cdf(u)):
        if chance:
            found = cdf_interval(u, delta, points, method="guaranteed", confidence_level=0.8)
            missed += chance * ((found.low > truth) | (found.high < truth))
            low, high = uniform_band(u, delta, points[1:5], confidence_level=0.8)(points)
            outside += chance * bool(((low > truth) | (high < truth)).any())
    assert (missed <= 0.2).all() and outside <= 0.2


def test_neighbours_at_one_threshold_are_taken_together() -> None:
    """Choosing among them by their answers would break the guarantee."""
    u, delta = np.array([1.0, 1, 1, 2, 2, 3, 3, 3]), np.array([0, 0, 1, 0, 1, 1, 1, 1])
    low, _ = ends(cdf_interval(u, delta, 2.5, method="guaranteed"))
    assert low == pytest.approx(stats.beta.ppf(0.025, 2, 4))  # 2 of all 5 below 2.5, though k = 4
    at_two = ends(cdf_interval(u, delta, 2, method="guaranteed"))  # its own answers count for both ends
    assert at_two == pytest.approx((stats.beta.ppf(0.025, 2, 4), stats.beta.ppf(0.975, 5, 1)))
    assert ends(cdf_interval(u, delta, 0.5, method="guaranteed"))[0] == 0
    assert ends(cdf_interval(u, delta, 3.5, method="guaranteed"))[1] == 1


def test_a_band_is_monotone_and_turns_into_quantiles() -> None:
    random = np.random.default_rng(14)
    u = random.uniform(-4, 4, 5000)
    below = random.normal(size=5000) <= u
    band = uniform_band(u, below, 40)
    assert (np.diff(band.low) >= 0).all() and (np.diff(band.high) >= 0).all() and len(band.at) == 40
    each = cdf_interval(u, below, band.at, method="guaranteed", confidence_level=1 - 0.05 / 40)
    assert band.low.tolist() == np.maximum.accumulate(each.low).tolist()
    assert band.high.tolist() == np.minimum.accumulate(each.high[::-1])[::-1].tolist()
    truth = stats.norm.cdf(band.at)
    assert (band.low <= truth).all() and (truth <= band.high).all()
    for p in (0.1, 0.5, 0.9):
        low, high = band.quantile(p)
        assert low < stats.norm.ppf(p) <= high
        assert band(low)[1] < p <= band(high)[0]
    assert band.quantile(1e-6, (-9, 9))[0] == -9


# --- Curves and families ---------------------------------------------------------------------------------------------
def test_a_smoothed_law_is_a_law_on_its_domain() -> None:
    random = np.random.default_rng(15)
    u = random.uniform(0, 3, 4000)
    law = smoothed(threshold_cdf(u, random.exponential(1, 4000).clip(max=3) <= u), (0, 3))
    grid = np.linspace(0, 3, 3001)
    assert law.cdf([-1, 0, 3, 4]) == pytest.approx([0, 0, 1, 1], abs=1e-12)
    assert (law.pdf([-0.1, 3.1]) == 0).all() and law.label == "smoothed"
    steps = np.cumsum(law.pdf((grid[1:] + grid[:-1]) / 2)) * 0.001
    assert law.cdf(grid[1:]) == pytest.approx(steps, abs=1e-5)
    middle, mass = law.middle, law.mass
    spread = math.sqrt(mass @ middle**2 - (mass @ middle) ** 2)
    assert law.bandwidth == pytest.approx(spread * 4000**-0.2)
    assert law.cdf(1.0) == pytest.approx(1 - math.exp(-1), abs=0.06)


@pytest.mark.parametrize("family", ["normal", "logistic", "lognormal"])
def test_families_maximise_their_likelihood(family: Any) -> None:
    random = np.random.default_rng(16)
    scipy_law = {"normal": stats.norm, "logistic": stats.logistic, "lognormal": stats.norm}[family]
    drawn = scipy_law.rvs(1.5, 0.7, size=300, random_state=random)
    y = np.exp(drawn) if family == "lognormal" else drawn
    u = np.sort(random.uniform(0.2, 9, (300, 2)), axis=1)
    low = np.where(y <= u[:, 0], -np.inf, np.where(y <= u[:, 1], u[:, 0], u[:, 1]))
    high = np.where(y <= u[:, 0], u[:, 0], np.where(y <= u[:, 1], u[:, 1], np.inf))
    low[:20] = high[:20] = y[:20]

    def loss(at: Floats) -> float:
        law = (
            stats.lognorm(math.exp(at[1]), scale=math.exp(at[0]))
            if family == "lognormal"
            else scipy_law(at[0], math.exp(at[1]))
        )
        return -float(law.logpdf(y[:20]).sum() + np.log(law.cdf(high[20:]) - law.cdf(low[20:])).sum())

    best = minimize(loss, np.zeros(2), method="Nelder-Mead", options={"xatol": 1e-10, "fatol": 1e-12, "maxiter": 4000})
    found = fit_family(low, high, family)
    assert found.location.value == pytest.approx(best.x[0], abs=1e-6)
    assert found.scale.value == pytest.approx(math.exp(best.x[1]), abs=1e-6)
    assert found.log_likelihood == pytest.approx(-best.fun, abs=1e-8)
    assert found.location.standard_error == pytest.approx(curvature_error(loss, best.x), rel=1e-3)
    assert found.quantile(found.cdf([1.0, 2.0])) == pytest.approx([1, 2])
    assert found.pdf(2.0) == pytest.approx((found.cdf(2 + 1e-5) - found.cdf(2 - 1e-5)) / 2e-5, rel=1e-6)
    limits = found.cdf_interval([1.0, 2.0])
    assert (limits.low < found.cdf([1.0, 2.0])).all() and (found.cdf([1.0, 2.0]) < limits.high).all()


def curvature_error(loss: Callable[[Floats], float], at: Floats, step: float = 1e-4) -> float:
    """The standard error of the first parameter, from second differences."""
    unit = np.eye(2) * step
    second = [
        [(loss(at + a + b) - loss(at + a - b) - loss(at - a + b) + loss(at - a - b)) / (4 * step**2) for b in unit]
        for a in unit
    ]
    return math.sqrt(np.linalg.inv(np.array(second))[0, 0])


def test_the_intervals_of_a_family_hold_their_level() -> None:
    runs, held = 400, np.zeros(3)
    for u, delta in surveys(300, runs, 19, lambda random: random.logistic(0, 1.5, 300), mean=0.5):
        found = fit_family(*sides(u, delta))
        for place, (part, truth) in enumerate(((found.location, 0.5), (found.scale, 1.0))):
            low, high = ends(part.confidence_interval())
            held[place] += low <= truth <= high
        low, high = ends(found.cdf_interval(1.0))
        held[2] += low <= stats.norm.cdf(0.5) <= high
    assert (np.abs(held / runs - 0.95) < 0.055).all()


def test_a_family_s_mean_and_far_tails() -> None:
    random = np.random.default_rng(17)
    u = random.uniform(0.1, 15, 3000)
    found = fit_family(*sides(u, random.lognormal(1, 0.5, 3000) <= u), "lognormal")
    assert abs(found.mean.value - math.exp(1.125)) < 5 * found.mean.standard_error < 0.5
    assert (found.cdf([-1.0, 0.0]) == 0).all() and (found.pdf([-1.0, 0.0]) == 0).all()
    narrow = fit_family([1.0, 2.0, 4.0], [1 + 1e-9, 2 + 1e-9, 4 + 1e-9])
    assert (narrow.location.value, narrow.scale.value) == pytest.approx((7 / 3, math.sqrt(14 / 9)), abs=1e-7)
    far = fit_family([-np.inf, 49.0, 50.0], [48.0, 51.0, np.inf])
    assert 48 < far.location.value < 50.5
