"""Maximum likelihood from intervals: cells, golden values, certificates against an oracle, refusals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from reticent.censoring import active_set
from reticent.censoring import likelihood as interval_likelihood
from reticent.censoring.active_set import complementary, polish
from reticent.censoring.cells import turnbull
from reticent.censoring.icm import convex_minorant_step, em_icm
from reticent.censoring.likelihood import FEW_CELLS, IntervalFit, fit_intervals, fit_on_edges
from reticent.censoring.product_limit import product_limit
from reticent.censoring.uniqueness import hang_together
from reticent.distributions.law import Distribution
from reticent.errors import EstimateError, ParameterError, ReportError
from reticent.estimators.interval_censoring import npmle, npmle_on_edges
from reticent.likelihood import Fit, fit
from reticent.rows import DenseRows
from reticent.rows.runs import RunRows

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
INF = np.inf

COSMESIS = """45 I; 6 10; 0 7; 46 I; 46 I; 7 16; 17 I; 7 14; 37 44; 0 8; 4 11; 15 I; 11 15; 22 I; 46 I; 46 I; 25 37; 46 I;
26 40; 46 I; 27 34; 36 44; 46 I; 36 48; 37 I; 40 I; 17 25; 46 I; 11 18; 38 I; 5 12; 37 I; 0 5; 18 I; 24 I; 36 I; 5 11;
19 35; 17 25; 24 I; 32 I; 33 I; 19 26; 37 I; 34 I; 36 I"""


# Turnbull's cells


def cells_by_definition(low: Floats, high: Floats) -> list[tuple[float, float]]:
    """Maximal intersections, by comparing every opening with every closing on an integer scale."""
    values = np.unique(np.concatenate([low, high]))
    point = low == high
    opens = 2 * np.searchsorted(values, low) + ~point
    closes = 2 * np.searchsorted(values, high)
    found = set()
    for a in opens.tolist():
        b = int(closes[closes >= a].min())
        if not ((opens > a) & (opens <= b)).any():
            found.add((a, b))
    return [(float(values[a // 2]), float(values[b // 2])) for a, b in sorted(found)]


@pytest.mark.parametrize("seed", range(60))
def test_cells_are_the_maximal_intersections(seed: int) -> None:
    low, high, _ = random_sets(np.random.default_rng([3, seed]), seed)
    cells = turnbull(low, high)
    assert list(zip(cells.left.tolist(), cells.right.tolist(), strict=True)) == cells_by_definition(low, high)
    # A set covers the cells inside it: a point only itself, an interval no point at its open end.
    point = (cells.left == cells.right)[None, :]
    inside = (low[:, None] <= cells.left) & (cells.right <= high[:, None])
    inside &= ~(point & (cells.left == low[:, None])) | (low == high)[:, None]
    inside &= ~((low == high)[:, None] & ~point)
    rows = RunRows(cells.first, cells.stop, len(cells.left))
    assert (rows.dense() == inside).all()
    # So the masses of interval reports, without unions, are always unique.
    assert hang_together(rows)
    assert np.linalg.matrix_rank(np.vstack([rows.dense(), np.ones(len(cells.left))])) == len(cells.left)


# Golden values of the specification


def masses(found: IntervalFit | Distribution) -> dict[tuple[float, float], float]:
    return dict(
        zip(zip(found.left.tolist(), found.right.tolist(), strict=True), found.mass.tolist(), strict=True),
    )


def test_golden_int_7_one_threshold() -> None:
    u, below = np.arange(1.0, 9.0), np.array([0, 1, 0, 0, 1, 0, 1, 1], dtype=bool)
    law = npmle(np.where(below, -INF, u), np.where(below, u, INF))
    assert law.cdf(u) == pytest.approx([0, 1 / 3, 1 / 3, 1 / 3, 1 / 2, 1 / 2, 1, 1], abs=1e-12)
    assert law.cdf(u) @ law.cdf(u) + (1 - law.cdf(u)) @ (1 - law.cdf(u)) == pytest.approx(8 * 17 / 24, abs=1e-12)
    assert law.converged and law.unique
    # The closed form is what the general way finds.
    rows, start = RunRows(*_runs(law, np.where(below, -INF, u), np.where(below, u, INF)), 3), np.full(3, 1 / 3)
    assert polish(rows, np.ones(8), start)[0] == pytest.approx(law.mass, abs=1e-7)


def _runs(law: Distribution, low: Floats, high: Floats) -> tuple[Whole, Whole]:
    return np.searchsorted(law.left, low), np.searchsorted(law.right, high, side="right")


def test_golden_int_8_breast_cosmesis() -> None:
    rows = np.array([[float(end.replace("I", "inf")) for end in row.split()] for row in COSMESIS.split(";")])
    law = npmle(rows[:, 0], rows[:, 1])
    expected = {
        (4, 5): 0.0463472, (6, 7): 0.0333633, (7, 8): 0.0886671, (11, 12): 0.0707528,
        (24, 25): 0.0926457, (33, 34): 0.0817858, (38, 40): 0.1208803, (46, 48): 0.4655579,
    }  # fmt: skip
    assert masses(law) == pytest.approx(expected, abs=1e-6)
    assert law.log_likelihood == pytest.approx(-58.0600219540, abs=1e-6)
    assert law.shortfall <= 1e-6


def test_golden_int_9_ties_of_points_and_ends() -> None:
    law = npmle([1] * 5 + [2] + [3] * 5, [3] * 5 + [2] + [3] * 5)
    assert masses(law) == pytest.approx({(2, 2): 1 / 6, (3, 3): 5 / 6}, abs=1e-8)
    assert law.moment_range() == pytest.approx((17 / 6, 17 / 6), abs=1e-7)


def test_golden_int_10_unions() -> None:
    low = [-INF, 2, 0, -INF, 1, -INF, 3, 0, 2, -INF, 0, 3, 1, 3]
    high = [0, INF, 2, 1, 3, 1, INF, 2, INF, 0, 1, INF, 2, INF]
    owner = [0, 0, 1, 2, 3, 4, 4, 5, 6, 7, 8, 8, 9, 10]
    law = npmle(low, high, owner=owner)
    expected = {(-INF, 0): 0.2076382, (0, 1): 0.1316901, (1, 2): 0.3093469, (3, INF): 0.3513248}
    assert masses(law) == pytest.approx(expected, abs=1e-6)
    assert law.log_likelihood == pytest.approx(-10.4081679468, abs=1e-6)


def test_golden_int_15_refusals() -> None:
    law = npmle_on_edges(
        [0, 1, 0, 3], [2, 4, 1, 4], [0, 1, 2, 3, 4], [3, 4, 2], owner=[0, 1, 2, 2],
        nulls=[[0.7, 0.4, 0.4, 0.7]], null_weights=[6],
    )  # fmt: skip
    expected = {(0, 1): 0.2824819577, (1, 2): 0.2556565740, (3, 4): 0.4618614683}
    assert masses(law) == pytest.approx(expected, abs=1e-6)
    assert law.converged and law.unique


# Against an oracle that knows nothing of cells or runs


def random_sets(rng: np.random.Generator, seed: int) -> tuple[Floats, Floats, Floats]:
    """Small sets of every sort: ties, decades of scale, close values, open sides, points, weights."""
    n = int(rng.integers(2, 40))
    makers: list[Callable[[], Floats]] = [
        lambda: rng.integers(0, 8, (n, 2)).astype(np.float64),
        lambda: rng.normal(size=(n, 2)),
        lambda: 10.0 ** rng.uniform(-12, 12, (n, 2)),
        lambda: 1e6 + 1e-9 * rng.integers(0, 10, (n, 2)),
    ]
    ends = np.sort(makers[seed % 4](), axis=1)
    low, high = ends[:, 0].copy(), ends[:, 1].copy()
    for end, open_side in ((low, -INF), (high, INF)):
        if rng.random() < 0.5:
            end[rng.random(n) < 0.3] = open_side
    if rng.random() < 0.5:
        chosen = (rng.random(n) < 0.3) & np.isfinite(low)
        high[chosen] = low[chosen]
    low[0], high[0] = ends[0]
    weights = [
        np.ones(n),
        rng.integers(1, 5, n).astype(np.float64),
        rng.exponential(1, n) * 10.0 ** rng.uniform(-3, 3, n),
    ]
    return low, high, weights[int(rng.integers(3))]


def oracle(low: Floats, high: Floats, weights: Floats, owner: Whole | None = None) -> Fit:
    """Every distinct end and every open gap between two is a category of its own; no run, no cell, dense rows."""
    values = np.unique(np.concatenate([low, high]))
    values = values[np.isfinite(values)]
    gap_low, gap_high = np.append(-INF, values), np.append(values, INF)
    point = (low == high)[:, None]
    lows, highs = low[:, None], high[:, None]
    at_values = np.where(point, lows == values, (lows < values) & (values <= highs))
    in_gaps = ~point & (lows <= gap_low) & (gap_high <= highs)
    matrix = np.hstack([at_values, in_gaps]).astype(np.float64)
    if owner is not None:
        joined = np.zeros((int(owner.max()) + 1, matrix.shape[1]))
        np.add.at(joined, owner, matrix)
        matrix = joined
    return fit(DenseRows(matrix), weights)


@pytest.mark.parametrize("seed", range(120))
def test_fits_are_certified_and_never_below_the_oracle(seed: int) -> None:
    rng = np.random.default_rng([7, seed])
    low, high, weights = random_sets(rng, seed)
    found, best = fit_intervals(low, high, weights), oracle(low, high, weights)
    assert best.converged
    assert found.converged and (found.shortfall <= 1e-6 or found.gap <= 1e-14)
    assert found.log_likelihood == pytest.approx(best.log_likelihood, abs=2e-6)
    assert found.log_likelihood >= best.log_likelihood - 1e-6
    assert found.mass.min() > 0 and found.mass.sum() == pytest.approx(1.0, abs=1e-12)
    assert (np.diff(found.left) >= 0).all() and (found.left[1:] >= found.right[:-1]).all()


@pytest.mark.parametrize("seed", range(30))
def test_unions_are_certified_and_never_below_the_oracle(seed: int) -> None:
    """Bands and their complements, on a grid and off it."""
    rng = np.random.default_rng([8, seed])
    n = int(rng.integers(5, 60))
    a, b = np.sort(rng.integers(0, 12, (n, 2)) if seed % 2 else rng.normal(size=(n, 2)), axis=1).T.astype(np.float64)
    b = np.where(a == b, b + 1, b)
    outside = rng.random(n) < 0.6
    low = np.concatenate([np.where(outside, -INF, a), b[outside]])
    high = np.concatenate([np.where(outside, a, b), np.full(int(outside.sum()), INF)])
    owner = np.concatenate([np.arange(n), np.flatnonzero(outside)])
    found, best = fit_intervals(low, high, owner=owner), oracle(low, high, np.ones(n), owner)
    assert found.converged and best.converged
    assert found.log_likelihood == pytest.approx(best.log_likelihood, abs=2e-6)
    assert found.log_likelihood >= best.log_likelihood - 1e-6


def two_thresholds(n: int, seed: int) -> tuple[Floats, Floats]:
    rng = np.random.default_rng([9, seed])
    y, u = rng.exponential(1, n), np.sort(4 * rng.random((n, 2)), axis=1)
    ends = np.column_stack([np.full(n, -INF), u, np.full(n, INF)])
    at = (y[:, None] > u).sum(axis=1)
    return ends[np.arange(n), at], ends[np.arange(n), at + 1]


@pytest.mark.parametrize("n", [1_000, 20_000])
@pytest.mark.parametrize("points", [0.0, 0.3])
def test_many_intervals_are_certified(n: int, points: float) -> None:
    rng = np.random.default_rng(n)
    low, high = two_thresholds(n, 1)
    exact = rng.random(n) < points
    y = rng.exponential(1, n)
    found = fit_intervals(np.where(exact, y, low), np.where(exact, y, high))
    assert found.converged and found.shortfall <= 1e-6
    assert points == 0 or n == 1_000 or len(found.mass) > FEW_CELLS
    # The certificate again, from nothing but the masses.
    cells = turnbull(np.where(exact, y, low), np.where(exact, y, high))
    p = np.zeros(len(cells.left))
    p[np.searchsorted(cells.right, found.right)] = found.mass
    total = np.append(0.0, np.cumsum(p))
    inverse = 1 / (total[cells.stop] - total[cells.first])
    gains = np.cumsum(np.bincount(cells.first, inverse, len(p) + 1) - np.bincount(cells.stop, inverse, len(p) + 1))[:-1]
    assert gains.max() / n <= 1 + 1e-9


def test_answers_do_not_depend_on_scale_order_or_how_weights_are_written() -> None:
    low, high = two_thresholds(300, 2)
    one = fit_intervals(low, high)
    rng = np.random.default_rng(0)
    order = rng.permutation(300)
    for a, b, weights in (
        (low * 1e-200, high * 1e-200, None),
        (low[order], high[order], None),
        (np.tile(low, 3), np.tile(high, 3), None),
        (low, high, np.full(300, 3.0)),
        (np.append(low, 0.5), np.append(high, 0.6), np.append(np.ones(300), 0.0)),
    ):
        other = fit_intervals(a, b, weights)
        assert other.mass == pytest.approx(one.mass, abs=1e-6)
        assert len(other.left) == len(one.left)


def test_isotonic_and_general_ways_agree_on_one_threshold() -> None:
    rng = np.random.default_rng(5)
    u, weights = np.round(rng.normal(size=500), 1), rng.integers(1, 4, 500)
    below = rng.normal(size=500) <= u
    low, high = np.where(below, -INF, u), np.where(below, u, INF)
    closed = fit_intervals(low, high, weights)
    cells = turnbull(low, high)
    rows = RunRows(cells.first, cells.stop, len(cells.left))
    general = fit(rows, weights)
    assert closed.log_likelihood == pytest.approx(general.log_likelihood, abs=1e-6)
    assert closed.converged and closed.n_candidates == len(cells.left)
    # A report of the whole line adds weight and nothing else.
    more = fit_intervals(np.append(low, -INF), np.append(high, INF), np.append(weights, 7))
    assert more.mass == pytest.approx(closed.mass) and more.converged and more.n == closed.n + 7


def test_the_product_limit_is_the_maximum_for_survival_times() -> None:
    rng = np.random.default_rng(6)
    time, lost = np.ceil(rng.exponential(20, 400)), np.ceil(rng.exponential(30, 400))
    died = time <= lost
    seen = np.minimum(time, lost)
    found = fit_intervals(seen, np.where(died, seen, INF))
    survival, at = 1.0, {}
    for t in np.unique(seen[died]).tolist():  # Kaplan and Meier, as first written
        survival *= 1 - float(((seen == t) & died).sum()) / float((seen >= t).sum())
        at[t] = 1 - survival
    law = Distribution(found.left, found.right, found.mass, 400)
    assert law.cdf(list(at)) == pytest.approx(list(at.values()), abs=1e-12)
    assert found.converged and found.gap <= 1e-12
    assert product_limit(RunRows([0], [2], 3), np.ones(1)) is None


def test_refusals_left_out_bias_the_law_and_counted_do_not() -> None:
    """Section 1.4: selective one-threshold questions; the null row must be in the likelihood."""
    rng = np.random.default_rng(11)
    n, p = 40_000, np.array([0.1, 0.2, 0.3, 0.25, 0.15])
    truth = np.cumsum(p)
    y, u = rng.choice(5, n, p=p), rng.integers(0, 4, n)
    below = y <= u
    size = np.where(below, truth[u], 1 - truth[u])
    told = (size >= 0.5) & (rng.random(n) < 0.7)
    null = 1 - 0.7 * np.array(
        [np.mean([truth[k] >= 0.5 if j <= k else truth[k] <= 0.5 for k in range(4)]) for j in range(5)]
    )
    low, high = np.where(below, 0, u + 1)[told], np.where(below, u + 1, 5)[told]
    with_nulls = fit_on_edges(low, high, range(6), nulls=[null], null_weights=[int((~told).sum())])
    without = fit_on_edges(low, high, range(6))
    cdf = [Distribution(f.left, f.right, f.mass, n).cdf([1, 2, 3, 4]) for f in (with_nulls, without)]
    assert with_nulls.converged and without.converged
    assert np.abs(cdf[0] - truth[:4]).max() < 0.03 < 0.1 < np.abs(cdf[1] - truth[:4]).max()


def test_masses_that_are_not_unique_are_said_not_to_be() -> None:
    assert fit_on_edges([0, 2], [2, 4], [0, 1, 2, 3, 4]).unique is False
    assert fit_on_edges([0, 1, 2, 3], [1, 2, 3, 4], [0, 1, 2, 3, 4]).unique is True
    crossed = fit_intervals([0, 2, 1, 3, 0, 3, 1, 2], [1, 3, 2, 4, 1, 4, 2, 3], owner=[0, 0, 1, 1, 2, 2, 3, 3])
    assert crossed.unique is False


# The parts of the solver


def test_the_quadratic_programme_meets_its_conditions() -> None:
    rng = np.random.default_rng(12)
    for k in (1, 2, 10, 60):
        half = rng.normal(size=(k, k)) + np.eye(k)
        hessian, pull = half @ half.T, rng.normal(size=k)
        v = complementary(hessian, pull)
        assert v is not None or (pull <= 0).all()
        if v is not None:
            slack = hessian @ v - pull
            assert v.min() >= 0 and slack.min() >= -1e-7 * np.abs(pull).max() * k
            assert np.abs(v * slack).max() <= 1e-6 * max(1.0, float(v.max()))


@pytest.mark.parametrize("broken", ["complementary", "_higher"])
def test_the_general_solver_takes_over_where_newton_steps_fail(broken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    low, high = two_thresholds(2_000, 4)
    sound = fit_intervals(low, high)
    monkeypatch.setattr(active_set, broken, lambda *_: None)
    found = fit_intervals(low, high)
    assert found.converged and found.log_likelihood == pytest.approx(sound.log_likelihood, abs=1e-6)


@pytest.mark.parametrize("most", [0, 5])
def test_em_icm_goes_to_the_end_where_cells_stay_many(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    low, high = two_thresholds(500, 5)
    sound = fit_intervals(low, high)
    monkeypatch.setattr(interval_likelihood, "FEW_CELLS", most)
    found = fit_intervals(low, high)
    assert found.converged and found.log_likelihood == pytest.approx(sound.log_likelihood, abs=1e-6)


def test_weights_of_all_sizes_are_certified() -> None:
    """A first step of the minorant that had to be halved leaves mass on every cell; rows of hardly any weight count."""
    low, high = two_thresholds(3_000, 8)
    rng = np.random.default_rng(8)
    for weights in (rng.exponential(1, 3_000), 10.0 ** rng.uniform(-10, 4, 3_000)):
        found = fit_intervals(low, high, weights)
        assert found.converged and found.iterations < 100 and found.n == pytest.approx(weights.sum())


def test_a_solver_that_stops_early_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    low, high = two_thresholds(500, 6)
    monkeypatch.setattr(interval_likelihood, "ROUNDS", 0)
    with pytest.warns(UserWarning, match="solver stopped after"):
        law = npmle(low, high)
    assert not law.converged and law.gap > 0 and law.shortfall > 1e-6


def test_em_icm_never_lowers_the_likelihood() -> None:
    low, high = two_thresholds(400, 3)
    cells = turnbull(low, high)
    rows, f = RunRows(cells.first, cells.stop, len(cells.left)), np.full(400, 1 / 400)
    p = np.full(len(cells.left), 1 / len(cells.left))
    path = [float(f @ np.log(rows.mv(p)))]
    for _ in range(8):
        p = convex_minorant_step(rows, f, p * rows.rmv(f / rows.mv(p)))
        path.append(float(f @ np.log(rows.mv(p))))
    assert (np.diff(path) >= -1e-12).all() and path[-1] > path[0]
    near, _ = em_icm(rows, f, p, gap=1e-9)
    assert rows.rmv(f / rows.mv(near)).max() <= 1 + 1e-9


# Refusals


@pytest.mark.parametrize(
    ("low", "high", "error", "message"),
    [
        ([0, 3], [1, 2], ReportError, "1 of 2 intervals have low > high.* .first at position 1,"),
        ([0, np.nan], [1, 2], ReportError, "NaN"),
        ([INF, 0], [INF, 1], ReportError, "lie at infinity"),
        ([-INF, 0], [-INF, 1], ReportError, "lie at infinity"),
        ([], [], EstimateError, "There are no intervals"),
        ([0, 1], [1], ParameterError, "two columns of one length"),
        ([[0, 1]], [[1, 2]], ParameterError, "two columns of one length"),
        (["a"], ["b"], ReportError, "not numbers"),
        ([-INF, -INF], [INF, INF], EstimateError, "whole domain"),
    ],
)
def test_intervals_that_cannot_be_are_refused(low: Any, high: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        fit_intervals(low, high)


def test_weights_owners_and_domains_that_do_not_fit_are_refused() -> None:
    for weights in ([1.0], [1, -1], [1, np.nan], [1, INF]):
        with pytest.raises(ParameterError, match="one finite, non-negative number per set"):
            fit_intervals([0, 1], [1, 2], weights)
    with pytest.raises(EstimateError, match="Every weight is 0"):
        fit_intervals([0, 1], [1, 2], [0, 0])
    with pytest.raises(ParameterError, match="one whole number per component"):
        fit_intervals([0, 1], [1, 2], owner=[0.0, 1.0])
    for owner in ([0, 2], [-1, 0]):
        with pytest.raises(ParameterError, match="every number from 0"):
            fit_intervals([0, 1], [1, 2], owner=owner)
    for low, high in (([0, 1], [2, 3]), ([0, 2], [2, 2]), ([1, 1], [1, 1])):
        with pytest.raises(ReportError, match="overlap"):
            fit_intervals([*low, 0], [*high, 1], owner=[0, 0, 1])
    with pytest.raises(ParameterError, match="low end must be below"):
        fit_intervals([0], [1], domain=(1, 1))
    for low, high in ((5, 6), (-2, -1), (7, 7)):
        with pytest.raises(ReportError, match="nothing in common with the domain"):
            fit_intervals([low, 0], [high, 1], domain=(0, 5))


def test_edges_and_nulls_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ParameterError, match="increasing"):
        fit_on_edges([0], [1], [0, 0, 1])
    for low, high in ((0.5, 1), (0, 1.5), (1, 1)):
        with pytest.raises(ReportError, match="between edges, or are points"):
            fit_on_edges([low], [high], [0, 1, 2])
    for nulls in ([[0.5]], [0.5, 0.5], [[0.5, 1.5]], [[0.5, np.nan]]):
        with pytest.raises(ParameterError, match="nulls have shape"):
            fit_on_edges([0, 1], [1, 2], [0, 1, 2], nulls=nulls)
    with pytest.raises(ParameterError, match="null_weights"):
        fit_on_edges([0, 1], [1, 2], [0, 1, 2], nulls=[[0.5, 0.5]], null_weights=[1, 2])


def test_a_message_never_holds_an_answer() -> None:
    with pytest.raises(ReportError) as caught:
        fit_intervals([31337.5, 0], [12, 1])
    assert "31337" not in str(caught.value) and "12" not in str(caught.value)


@pytest.mark.parametrize(
    ("low", "high", "cell"),
    [([2], [5], (2, 5)), ([2] * 9, [5] * 9, (2, 5)), ([0, 1, 2], [9, 8, 7], (2, 7)), ([1, 2], [INF, INF], (2, INF))],
)
def test_one_interval_left_warns_and_has_no_moments(
    low: list[float], high: list[float], cell: tuple[float, float]
) -> None:
    with pytest.warns(UserWarning, match="All reports agree on one interval"):
        law = npmle(low, high)
    assert masses(law) == {cell: 1.0} and law.converged and law.degenerate
    with pytest.raises(EstimateError, match="moments are not"):
        law.mean()
