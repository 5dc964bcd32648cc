"""Coverage, exact and in the continuum: the golden values of the specification and the laws between them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from reticent.anchors import (
    LogisticAnchors,
    MixedAnchors,
    NormalAnchors,
    QuantileBetaAnchors,
    UniformAnchors,
    coverage_optimal,
    quantile_beta,
    two_phase,
    variance_optimal,
)
from reticent.channel.cuts import IndependentCuts
from reticent.channel.ranges import NULL, Ranges
from reticent.coverage import (
    canonical_coverage,
    case_one_coverage,
    coverage_by_cell,
    coverage_by_report,
    efficient_variance,
    mean_coverage,
    ring_arcs,
    ring_coverage,
    spread,
    weighting_variance,
)
from reticent.domain import Numbers
from reticent.errors import ParameterError
from reticent.measures import size_leakage
from reticent.mechanisms.ranges import case_one, random_ranges, ring
from reticent.mechanisms.selections import lazy, selective
from tests.test_ranges import NUMBER, ranges

NORMAL = stats.norm()
PRIOR = np.array([0.05, 0.3, 0.25, 0.3, 0.1])


def test_g1_logistic_threshold() -> None:
    assert case_one_coverage(NORMAL, LogisticAnchors(0, 1)) == pytest.approx(0.7604718198376978, abs=1e-10)


@pytest.mark.parametrize("scale, expected", [(1, 2 / 3), (3, 0.8564337068712937)])
def test_g2_normal_threshold(scale: float, expected: float) -> None:
    assert case_one_coverage(NORMAL, NormalAnchors(0, scale)) == pytest.approx(expected, abs=1e-10)
    exact = 0.5 + math.asin(scale**2 / (1 + scale**2)) / math.pi
    assert exact == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("tau, shape", [(0.6, 2), (2 / 3, 1), (0.75, 0.5), (0.9, 0.125), (0.95, 1 / 18)])
@pytest.mark.parametrize("law", [NORMAL, stats.expon(), stats.uniform(), stats.lognorm(1)], ids=["n", "e", "u", "l"])
def test_g3_quantile_beta_anchors(tau: float, shape: float, law: stats.rv_continuous) -> None:
    anchors = quantile_beta(law, tau)
    assert anchors.shape == pytest.approx(shape, abs=1e-12)
    assert case_one_coverage(law, anchors) == pytest.approx(tau, abs=1e-10)


def test_g4_lattice() -> None:
    digit = Numbers("digit", 0, 9, step=1)
    for anchors in (None, UniformAnchors(0, 9)):
        assert mean_coverage(case_one(digit, anchors), [0.1] * 10) == pytest.approx(0.6333333333333333, abs=1e-12)


def test_g5_the_mean_experiment() -> None:
    limit = 2 * 100 ** (1 / 3)
    assert limit == pytest.approx(9.2831776672, abs=1e-9)
    value, square = stats.norm(0.5, 1), stats.ncx2(1, 0.25)
    on_value, on_square = UniformAnchors(-limit, limit), UniformAnchors(0, 2 * limit)
    assert case_one_coverage(value, on_value) == pytest.approx(0.9392245195, abs=1e-9)
    assert case_one_coverage(square, on_square) == pytest.approx(0.9149740892, abs=1e-9)
    assert math.sqrt(efficient_variance(value, on_value) / 100) == pytest.approx(0.3236501859, abs=1e-9)
    assert math.sqrt(efficient_variance(square, on_square) / 100) == pytest.approx(0.3828135545, abs=1e-9)
    assert math.sqrt(weighting_variance(value, on_value, 0.0) / 100) == pytest.approx(0.4046961824, abs=1e-9)
    assert math.sqrt(weighting_variance(square, on_square, 0.0) / 100) == pytest.approx(0.4652207531, abs=1e-9)


def test_g6_best_anchors_of_the_normal_law() -> None:
    best = variance_optimal(NORMAL)
    assert 1 / best.height == pytest.approx(1.6147438534, abs=1e-9)
    assert efficient_variance(NORMAL, best) == pytest.approx(2.6073977122, abs=1e-9)
    assert case_one_coverage(NORMAL, best) == pytest.approx(0.7160801028, abs=1e-9)
    assert spread(NORMAL) == pytest.approx(0.5641895835, abs=1e-9)
    assert efficient_variance(NORMAL, LogisticAnchors(0, 1)) == pytest.approx(2.8446976070, abs=1e-9)


@pytest.mark.parametrize(
    "law, variance, tau",
    [(stats.logistic(scale=2), (2 * math.pi) ** 2, 0.75), (stats.uniform(), math.pi**2 / 64, 0.625)],
    ids=["logistic", "uniform"],
)
def test_best_anchors_of_other_laws(law: stats.rv_continuous, variance: float, tau: float) -> None:
    best = variance_optimal(law)
    assert efficient_variance(law, best) == pytest.approx(variance, rel=1e-10)
    assert case_one_coverage(law, best) == pytest.approx(tau, abs=1e-10)


def test_g13_rings_and_order_statistics() -> None:
    for m, tau, concentration, expected in ((2, 0.3, 1, 0.5266666667), (3, 0.2, 1, 0.36), (4, 0.1, 2, 0.28)):
        assert ring_coverage(m, tau, concentration) == pytest.approx(expected, abs=1e-9)
    for m, share in ((2, 2 / 3), (3, 1 / 2), (5, 1 / 3)):
        assert canonical_coverage(NORMAL, NormalAnchors(0, 1), m) == pytest.approx(share, abs=1e-9)
    assert canonical_coverage(NORMAL, LogisticAnchors(0, 1), 2) == pytest.approx(0.7604718198376978, abs=1e-10)


def test_canonical_coverage_is_the_limit_of_fine_grids() -> None:
    # On K equal cells the error is of order 1/K²: doubling the cells quarters it.
    errors = []
    for n_cells in (40, 80):
        domain = Numbers("q", 0, 1, edges=[str(k / n_cells) for k in range(1, n_cells)])
        channel = random_ranges(domain, 3, UniformAnchors(-0.5, 1.5))
        errors.append(
            mean_coverage(channel, [1 / n_cells] * n_cells)
            - canonical_coverage(stats.uniform(), UniformAnchors(0, 1), 3)
        )
    assert abs(errors[0] - 4 * errors[1]) < 0.1 * abs(errors[0]) < 1e-4


def test_ring_coverage_is_the_limit_of_fine_grids() -> None:
    domain = Numbers("q", 0, 1, edges=[str(k / 100) for k in range(1, 100)])
    exact = mean_coverage(ring(domain, "0.3"), [0.01] * 100)
    # Arcs of j hundredths, 30 ≤ j ≤ 70, all equally likely: the mean of a² + (1 − a)², by hand.
    lengths = np.arange(30, 71) / 100
    assert exact == pytest.approx((lengths**2 + (1 - lengths) ** 2).mean(), abs=1e-12)
    assert abs(exact - ring_coverage(2, 0.3)) < 0.002


def test_g18_arcs_of_a_ring() -> None:
    first, second = ring_arcs(NORMAL, 0.9, [0.4, 0.6])
    assert first[0] == (-math.inf, pytest.approx(-0.5244005127, abs=1e-9))
    assert first[1] == (pytest.approx(1.2815515655, abs=1e-9), math.inf)
    assert second == ((pytest.approx(-0.5244005127, abs=1e-9), pytest.approx(1.2815515655, abs=1e-9)),)
    for arcs, expected in ((first, 0.4), (second, 0.6)):
        assert sum(NORMAL.cdf(high) - NORMAL.cdf(low) for low, high in arcs) == pytest.approx(expected, abs=1e-12)
    for quantile, arcs in ((0.95, first), (0.25, first), (0.5, second)):
        assert any(low < NORMAL.ppf(quantile) <= high for low, high in arcs)
    assert ring_arcs(NORMAL, 0.0, [0.5, 0.5]) == [((-math.inf, 0.0),), ((0.0, math.inf),)]
    for start, lengths in ((1.0, [0.5, 0.5]), (0.0, [0.5, 0.6]), (0.0, [1.5, -0.5]), (0.0, [])):
        with pytest.raises(ParameterError, match="sum to 1"):
            ring_arcs(NORMAL, start, lengths)


def test_g18_on_a_grid() -> None:
    edges = [round(float(NORMAL.ppf(q)), 10) for q in (0.3, 0.9)]
    domain = Numbers("x", "-inf", "inf", edges=edges)
    channel = ring(domain, 0.05, pilot=NORMAL)
    masses = np.diff(NORMAL.cdf(domain.boundaries))
    shares = dict(zip(map(channel.describe, channel.keys().tolist()), coverage_by_report(channel, masses), strict=True))
    assert shares["up to -0.5244005127 or above 1.2815515655"] == pytest.approx(0.4, abs=1e-9)
    assert shares["(-0.5244005127, 1.2815515655]"] == pytest.approx(0.6, abs=1e-9)


def test_g19_selective_thresholds() -> None:
    domain = Numbers("x", 0, 4, edges=[1, 2, 3])
    masses = [0.2, 0.3, 0.3, 0.2]
    channel = selective(case_one(domain), 0.5, 0.7, pilot=masses)
    assert mean_coverage(channel, masses) == pytest.approx(0.8086666667, abs=1e-9)
    # Formula of section 1.4: 1 − ρ E[(1 − L) 1{L ≥ τ}].
    plain = case_one(domain)
    shares = coverage_by_report(plain, masses)
    chances = plain.matrix() @ np.array(masses)
    assert mean_coverage(channel, masses) == pytest.approx(
        1 - 0.7 * (chances * (1 - shares))[shares >= 0.5].sum(), abs=1e-12
    )


def test_null_of_one_threshold_says_how_central_an_answer_is() -> None:
    # Section 1.4: Case I, τ = 0.6, ρ = 0.7: P(null | y) = .61 .51 .39 .51 .61 at y = −2, −1, 0, 1, 2.
    n_cells = 1000
    domain = Numbers(
        "x", "-inf", "inf", edges=[round(float(v), 6) for v in NORMAL.ppf(np.arange(1, n_cells) / n_cells)]
    )
    with pytest.warns(UserWarning, match="do not tell these cells apart"):  # those between the 40 and the 60 % quantile
        channel = selective(case_one(domain, LogisticAnchors(0, 1)), 0.6, 0.7, pilot=NORMAL)
    silent = np.array(channel.exact_row(NULL), dtype=float)
    found = silent[domain.encode([-2, -1, 0, 1, 2])]
    assert np.abs(found - [0.61, 0.51, 0.39, 0.51, 0.61]).max() < 0.006


@pytest.mark.parametrize("channel", ranges(), ids=lambda channel: channel.digest[:8])
def test_coverage_is_one_minus_size_leakage(channel: Ranges) -> None:
    assert mean_coverage(channel, PRIOR) == pytest.approx(1 - size_leakage(channel, PRIOR), abs=1e-12)
    keys = channel.keys()
    by_report = coverage_by_report(channel, PRIOR)
    matrix = channel.likelihood(keys)
    assert by_report == pytest.approx((matrix > 0) @ PRIOR, abs=1e-12)
    assert coverage_by_cell(channel, PRIOR) == pytest.approx(by_report @ matrix, abs=1e-12)


def test_lazy_coverage_is_linear() -> None:
    plain = random_ranges(NUMBER, 3)
    base = mean_coverage(plain, PRIOR)
    assert mean_coverage(lazy(plain, 0.25), PRIOR) == pytest.approx(1 - 0.25 * (1 - base), abs=1e-12)


def test_coverage_of_shares_is_refused_where_it_is_no_distribution() -> None:
    with pytest.raises(ParameterError, match="sum"):
        mean_coverage(case_one(NUMBER), [0.5] * 5)


@pytest.mark.parametrize("tau", [0.72, 0.8, 0.9, 0.95])
def test_coverage_optimal_anchors_meet_their_bound(tau: float) -> None:
    anchors = coverage_optimal(NORMAL, tau)
    assert case_one_coverage(NORMAL, anchors) == pytest.approx(tau, abs=1e-10)
    assert anchors.mass == pytest.approx(1, abs=1e-10)
    least = 2 * spread(NORMAL) ** 2 / (1 - tau)
    variance = efficient_variance(NORMAL, anchors)
    assert least <= variance * (1 + 1e-12)
    # Any mixture with another law that keeps both limits is no better.
    for other in (LogisticAnchors(0, 3), UniformAnchors(-8, 8), UniformAnchors(-30, 30)):
        for share in (0.5, 0.9, 0.99):
            mixed = MixedAnchors(anchors, other, share)
            if case_one_coverage(NORMAL, mixed) >= tau:
                assert efficient_variance(NORMAL, mixed) > variance


def test_coverage_optimal_anchors_without_need_or_with_slack() -> None:
    assert coverage_optimal(NORMAL, 0.7) == variance_optimal(NORMAL)
    flat = coverage_optimal(stats.uniform(), 0.8)
    assert flat.mass == pytest.approx(0.6, abs=1e-12)
    assert efficient_variance(stats.uniform(), flat) == pytest.approx(2 * (1 / 6) ** 2 / 0.2, rel=1e-10)
    assert case_one_coverage(stats.uniform(), flat) == pytest.approx(0.8, abs=1e-12)
    with pytest.raises(ParameterError, match="further out"):
        coverage_optimal(NORMAL, 0.99)
    with pytest.raises(ParameterError, match="1/2 < coverage < 1"):
        coverage_optimal(NORMAL, 0.5)
    with pytest.raises(ParameterError, match="lighter tails"):
        variance_optimal(stats.cauchy())


def test_infinite_variances_are_said_to_be_infinite() -> None:
    assert efficient_variance(NORMAL, QuantileBetaAnchors(NORMAL, 1.0)) == math.inf
    assert efficient_variance(NORMAL, QuantileBetaAnchors(NORMAL, 2.0)) == math.inf
    assert efficient_variance(NORMAL, NormalAnchors(0, 1)) == math.inf
    assert math.isfinite(efficient_variance(NORMAL, QuantileBetaAnchors(NORMAL, 0.5)))
    assert math.isfinite(efficient_variance(NORMAL, NormalAnchors(0, 1.5)))


def test_two_phase_density() -> None:
    mixed = two_phase(NORMAL, -6, 6)
    assert mixed.mass == pytest.approx(1, abs=1e-12)
    best = efficient_variance(NORMAL, variance_optimal(NORMAL))
    # 0.9 g* bounds the loss by a factor 1/0.9.
    assert best < efficient_variance(NORMAL, mixed) < best / 0.9


def test_best_anchors_for_another_mean() -> None:
    # E Y² of a uniform number: h' = 2u, V* = (∫ 2u √(u(1 − u)) du)² = (π/8)².
    def slope(u: NDArray[np.float64]) -> NDArray[np.float64]:
        return 2 * u

    best = variance_optimal(stats.uniform(), slope)
    assert efficient_variance(stats.uniform(), best, slope) == pytest.approx((math.pi / 8) ** 2, rel=1e-10)


def test_refusals() -> None:
    with pytest.raises(ParameterError, match="at least 2"):
        canonical_coverage(NORMAL, NormalAnchors(0, 1), 1)
    with pytest.raises(ParameterError, match="undrawn"):
        canonical_coverage(NORMAL, coverage_optimal(NORMAL, 0.9, low=-1, high=1), 3)
    for arguments in ((1, 0.1, 1), (2, 0.6, 1), (2, -0.1, 1), (2, 0.1, 0)):
        with pytest.raises(ParameterError, match="A ring of"):
            ring_coverage(*arguments)
    with pytest.raises(ParameterError, match="outside the anchors"):
        weighting_variance(NORMAL, UniformAnchors(-1, 1), 2.0)
    for make in (lambda: UniformAnchors(1, 1), lambda: NormalAnchors(0, 0), lambda: LogisticAnchors(math.nan, 1)):
        with pytest.raises(ParameterError, match="needs"):
            make()
    assert IndependentCuts((1, 1), 1).total == 2
