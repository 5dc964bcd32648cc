"""The likelihood core: row structures, the solver and its certificate, ranges, profile intervals."""

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from reticent.errors import EstimateError, ParameterError
from reticent.likelihood import fit, maximiser_ranges, profile_interval, simplex_projection
from reticent.rows import DENSE_BELOW, DenseRows, MaskRows, Rows, StackedRows

Floats = NDArray[np.float64]


def masks(*subsets: Sequence[int]) -> MaskRows:
    """Subsets of four categories, written as in the specification: 1-based."""
    return MaskRows(np.array([sum(1 << (j - 1) for j in a) for a in subsets], dtype=np.uint8), 4)


PAIRS = masks((1, 2), (1, 3), (1, 4), (2, 3), (2, 4), (3, 4))


def plain_em(rows: Rows, counts: NDArray[np.int64], iterations: int) -> float:
    matrix, f = rows.dense(), counts / counts.sum()
    w = np.full(rows.n_categories, 1 / rows.n_categories)
    for _ in range(iterations):
        w = w * (matrix.T @ (f / (matrix @ w)))
    return float(counts @ np.log(matrix @ w))


# Row structures


def random_masks(rng: np.random.Generator, n: int, p: int) -> NDArray[np.uint8]:
    return np.packbits(rng.random((n, p)) < 0.5, axis=1, bitorder="little")


@pytest.mark.parametrize("n", [7, DENSE_BELOW + 500])
@pytest.mark.parametrize("p", [3, 8, 12, 20, 33, 50, 64, 100])
@pytest.mark.parametrize("offset", ["none", "scalar", "row"])
def test_mask_rows_equal_their_dense_form(n: int, p: int, offset: str) -> None:
    rng = np.random.default_rng(n + p)
    shifts: dict[str, float | Floats] = {"none": 0.0, "scalar": 0.25, "row": rng.random(n)}
    shift = shifts[offset]
    rows = MaskRows(random_masks(rng, n, p), p, shift, scale=0.7)
    matrix, w, v = rows.dense(), rng.random(p), rng.random(n)
    columns = np.sort(rng.choice(p, size=max(2, p // 2), replace=False))
    assert rows.mv(w) == pytest.approx(matrix @ w)
    assert rows.rmv(v) == pytest.approx(matrix.T @ v)
    for some in (columns, np.arange(p), columns[:1]):
        assert rows.gram(v, some) == pytest.approx((matrix[:, some].T * v) @ matrix[:, some])
    fixed = rows.fix(p // 2, 0.3)
    assert fixed.dense() == pytest.approx(DenseRows(matrix).fix(p // 2, 0.3).dense())
    assert fixed.mv(w[1:]) == pytest.approx(fixed.dense() @ w[1:])


@pytest.mark.parametrize("width", [8, 16, 32, 64])
def test_integer_masks_and_packed_masks_agree(width: int) -> None:
    rng = np.random.default_rng(width)
    whole = rng.integers(0, 2**width, size=50, dtype=np.dtype(f"u{width // 8}"), endpoint=False)
    packed = whole[:, None].view(np.uint8)
    for p in (width, width - 3):
        bits = [[int(m) >> j & 1 for j in range(p)] for m in whole]
        assert (MaskRows(whole, p).dense() == bits).all()
        assert (MaskRows(packed, p).dense() == bits).all()


def test_stacked_rows_are_the_parts_one_below_the_other() -> None:
    rng = np.random.default_rng(1)
    parts: list[Rows] = [MaskRows(random_masks(rng, 1200, 9), 9), DenseRows(rng.random((30, 9)))]
    rows, matrix = StackedRows(parts), np.vstack([part.dense() for part in parts])
    w, v, columns = rng.random(9), rng.random(1230), np.array([0, 4, 8])
    assert rows.mv(w) == pytest.approx(matrix @ w)
    assert rows.rmv(v) == pytest.approx(v @ matrix)
    assert rows.gram(v, columns) == pytest.approx((matrix[:, columns].T * v) @ matrix[:, columns])
    assert rows.fix(2, 0.4).dense() == pytest.approx(DenseRows(matrix).fix(2, 0.4).dense())


def test_rows_refuse_what_they_cannot_hold() -> None:
    with pytest.raises(ParameterError, match="16 bits for 20 categories"):
        MaskRows(np.zeros(3, dtype=np.uint16), 20)
    with pytest.raises(ParameterError, match="unsigned integers"):
        MaskRows(np.zeros(3), 4)
    with pytest.raises(ParameterError, match="at least one part"):
        StackedRows([])
    with pytest.raises(ParameterError, match="give a matrix"):
        DenseRows([1.0, 2.0])


# Golden values of the specification


def test_golden_sub_7_interior() -> None:
    counts = [30, 25, 20, 15, 12, 8]
    found = fit(PAIRS, counts)
    assert found.converged
    assert found.probabilities == pytest.approx([0.5182889657, 0.2711847186, 0.1573867100, 0.0531396058], abs=1e-9)
    assert found.probabilities[0] == pytest.approx((30 / 38 + 25 / 37 + 20 / 35 - 1) / 2, abs=1e-10)
    assert found.log_likelihood == pytest.approx(-66.771791299491, abs=1e-9)
    assert profile_interval(PAIRS, counts, found, 0) == pytest.approx((0.384798, 0.640601), abs=1e-5)
    assert profile_interval(PAIRS, counts, found, 3) == pytest.approx((0, 0.184841), abs=1e-5)


def test_golden_sub_8_on_the_boundary() -> None:
    counts = [40, 30, 5, 20, 1, 1]
    found = fit(PAIRS, counts)
    assert found.probabilities == pytest.approx([0.5776775104, 0.2885503644, 0.1337721252, 0], abs=1e-9)
    assert found.probabilities[3] == 0
    assert found.multipliers == pytest.approx([1, 1, 1, 0.2020241920], abs=1e-9)
    assert found.log_likelihood == pytest.approx(-39.195732232805, abs=1e-9)
    assert profile_interval(PAIRS, counts, found, 3) == pytest.approx((0, 0.024323), abs=1e-5)


def test_golden_sub_19_a_maximum_that_is_not_unique() -> None:
    rows, counts = masks((1, 2), (3, 4)), [5, 5]
    found = fit(rows, counts)
    low, high = maximiser_ranges(rows, counts, found)
    assert found.probabilities[:2].sum() == pytest.approx(0.5)
    assert low == pytest.approx([0, 0, 0, 0], abs=1e-9)
    assert high == pytest.approx([0.5, 0.5, 0.5, 0.5], abs=1e-9)


def test_golden_sub_20_a_single_observation() -> None:
    rows = masks((1, 2))
    found = fit(rows, [1])
    low, high = maximiser_ranges(rows, [1], found)
    assert found.log_likelihood == pytest.approx(0, abs=1e-9)
    assert low == pytest.approx([0, 0, 0, 0], abs=1e-9)
    assert high == pytest.approx([1, 1, 0, 0], abs=1e-9)


def test_a_maximum_can_be_unique_without_full_rank() -> None:
    rows = masks((1, 2), (1, 3))
    found = fit(rows, [3, 4])
    low, high = maximiser_ranges(rows, [3, 4], found)
    assert low == pytest.approx([1, 0, 0, 0], abs=1e-9)
    assert high == pytest.approx([1, 0, 0, 0], abs=1e-9)


# Four hundred random problems


def random_problem(kind: str, rng: np.random.Generator) -> tuple[Rows, NDArray[np.int64]]:
    n = int(10 ** rng.uniform(1, np.log10(20_000)))
    p = int(rng.integers(2, 40))
    truth = rng.dirichlet(np.full(p, 0.5))
    answers = rng.choice(p, size=n, p=truth)
    if kind == "gaussian kernel":
        grid, scale = np.linspace(0, 1, p), rng.uniform(0.02, 0.3)
        reports = grid[answers] + scale * rng.standard_normal(n)
        return DenseRows(np.exp(-0.5 * ((reports[:, None] - grid) / scale) ** 2)), np.ones(n, dtype=np.int64)
    if kind == "bit masks":
        p = max(p, 4)
        held = rng.random((n, p)) < rng.uniform(0.2, 0.8)
        held[np.arange(n), answers] = True
        patterns, counts = np.unique(np.packbits(held, axis=1, bitorder="little"), axis=0, return_counts=True)
        return MaskRows(patterns, p), counts
    if kind == "randomised response":
        odds = np.exp(rng.uniform(0.1, 4))
        matrix = (np.ones((p, p)) + (odds - 1) * np.eye(p)) / (odds + p - 1)
    else:
        matrix = rng.dirichlet(np.full(int(rng.integers(2, 60)), 0.3), size=p).T
    law = matrix[:, answers].cumsum(axis=0)
    reports = (rng.random(n) * law[-1] > law).sum(axis=0)
    counts = np.bincount(reports, minlength=len(matrix))
    return DenseRows(matrix[counts > 0]), counts[counts > 0]


@pytest.mark.parametrize("kind", ["random channel", "randomised response", "gaussian kernel", "bit masks"])
def test_hundred_random_problems_end_with_a_certificate(kind: str) -> None:
    rng = np.random.default_rng([2107, 2013, len(kind)])
    for _ in range(100):
        rows, counts = random_problem(kind, rng)
        found = fit(rows, counts)
        assert found.converged and found.gap <= 1e-6 and found.shortfall <= 1e-6
        assert found.steps <= 40
        assert found.probabilities.min() >= 0
        assert found.probabilities.sum() == pytest.approx(1, abs=1e-12)
        assert found.log_likelihood >= plain_em(rows, counts, 30) - 1e-6


def test_a_long_plain_em_is_never_above() -> None:
    rng = np.random.default_rng(7)
    for kind in ("random channel", "randomised response", "gaussian kernel", "bit masks"):
        rows, counts = random_problem(kind, rng)
        assert fit(rows, counts).log_likelihood >= plain_em(rows, counts, 3000) - 1e-6


def test_smooth_kernels_do_not_stall() -> None:
    """Adding every violated category at once, with no retreat to one at a time, stalls here for ever."""
    rng = np.random.default_rng(11)
    grid = np.linspace(-3, 3, 100)
    reports = rng.choice([-1.5, 0.3, 1.0], size=2000) + 0.5 * rng.standard_normal(2000)
    found = fit(DenseRows(np.exp(-2 * (reports[:, None] - grid) ** 2)), np.ones(2000))
    assert found.converged and found.steps <= 40


# Edges


def test_the_start_does_not_decide_the_answer() -> None:
    counts = [30, 25, 20, 15, 12, 8]
    for start in ([1, 0, 0, 0], [0, 0, 0, 1], [0.1, 0.2, 0.3, 0.4]):
        assert fit(PAIRS, counts, start).probabilities == pytest.approx(fit(PAIRS, counts).probabilities, abs=1e-8)


def test_an_impossible_report_is_refused_unless_it_was_never_counted() -> None:
    rows = DenseRows([[0.0, 0.0], [0.5, 1.0]])
    assert fit(rows, [0, 3]).probabilities == pytest.approx([0, 1])
    with pytest.raises(EstimateError, match="probability 0"):
        fit(rows, [1, 3])


def test_counts_and_starts_are_checked() -> None:
    with pytest.raises(EstimateError, match="empty"):
        fit(PAIRS, np.zeros(6))
    with pytest.raises(ParameterError, match="one count for each row"):
        fit(PAIRS, [1, 2])
    with pytest.raises(ParameterError, match="negative"):
        fit(PAIRS, [1, 2, 3, 4, 5, -1])
    with pytest.raises(ParameterError, match="start"):
        fit(PAIRS, np.ones(6), [-1, 1, 1, 1])


def test_the_step_limit_is_reported() -> None:
    found = fit(PAIRS, [40, 30, 5, 20, 1, 1], step_limit=1)
    assert not found.converged
    assert found.steps == 1
    assert found.gap > 0


def test_a_million_million_reports_still_end_with_a_certificate() -> None:
    found = fit(PAIRS, 10**11 * np.array([40, 30, 5, 20, 1, 1]))
    assert found.converged and found.gap <= 1e-14


def test_many_answers_to_randomised_response() -> None:
    rng = np.random.default_rng(500)
    odds = np.exp(2.0)
    matrix = (np.ones((500, 500)) + (odds - 1) * np.eye(500)) / (odds + 499)
    counts = rng.multinomial(100_000, matrix @ rng.dirichlet(np.full(500, 0.3)))
    found = fit(DenseRows(matrix), counts)
    assert found.converged and (found.probabilities == 0).any()


def test_profile_intervals_reach_the_ends_when_nothing_is_learned() -> None:
    rows = DenseRows(np.ones((1, 3)))
    assert profile_interval(rows, [9], fit(rows, [9]), 1) == (0.0, 1.0)
    with pytest.raises(ParameterError, match="confidence_level"):
        profile_interval(rows, [9], fit(rows, [9]), 1, 95.0)


def test_profile_interval_of_table_lookups_equals_the_dense_one() -> None:
    rng = np.random.default_rng(5)
    held = rng.random((3000, 12)) < 0.5
    held[np.arange(3000), rng.integers(0, 3, 3000)] = True
    rows, counts = MaskRows(np.packbits(held, axis=1, bitorder="little"), 12), np.ones(3000)
    dense = DenseRows(rows.dense())
    for j in (0, 7):
        assert profile_interval(rows, counts, fit(rows, counts), j) == pytest.approx(
            profile_interval(dense, counts, fit(dense, counts), j), abs=1e-6
        )


def test_simplex_projection() -> None:
    assert simplex_projection([0.659793814433, 0.443298969072, 0.288659793814, -0.391752577320]) == pytest.approx(
        [0.529209621993, 0.312714776632, 0.158075601375, 0], abs=1e-11
    )
    inside = np.array([0.2, 0.3, 0.5])
    assert simplex_projection(inside) == pytest.approx(inside)
    assert simplex_projection(inside + 7) == pytest.approx(inside)
    with pytest.raises(ParameterError):
        simplex_projection([])
