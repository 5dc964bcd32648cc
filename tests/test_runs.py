"""Rows that are runs of cells: products, Gram matrices, merging, and the digits of small runs."""

from __future__ import annotations

import numpy as np
import pytest

from reticent.errors import ParameterError
from reticent.rows import DenseRows
from reticent.rows.runs import ExtraRuns, RunRows, merge_runs, prefix_sums


def some_runs(rng: np.random.Generator, n: int, m: int, unions: bool, factor: bool) -> RunRows:
    ends = np.sort(rng.integers(0, m + 1, (n, 4)), axis=1)
    extra = None
    if unions:
        row = rng.choice(n, n // 2, replace=False)
        extra = ExtraRuns(row, ends[row, 2], ends[row, 3])
    return RunRows(ends[:, 0], ends[:, 1], m, extra, rng.random(n) + 0.5 if factor else 1.0)


@pytest.mark.parametrize("unions", [False, True])
@pytest.mark.parametrize("factor", [False, True])
@pytest.mark.parametrize(("n", "m"), [(1, 1), (9, 4), (200, 30)])
def test_runs_equal_their_dense_form(n: int, m: int, unions: bool, factor: bool) -> None:
    rng = np.random.default_rng([n, m])
    rows = some_runs(rng, n, m, unions, factor)
    matrix, w, v = rows.dense(), rng.random(m), rng.random(n)
    assert rows.mv(w) == pytest.approx(matrix @ w)
    assert rows.rmv(v) == pytest.approx(matrix.T @ v, abs=1e-12)
    for columns in (np.arange(m), rng.permutation(m)[: max(1, m // 2)]):
        assert rows.gram(v, columns) == pytest.approx((matrix[:, columns].T * v) @ matrix[:, columns], abs=1e-12)
    if m > 1:
        assert rows.fix(m // 2, 0.3).dense() == pytest.approx(DenseRows(matrix).fix(m // 2, 0.3).dense())
    columns = np.flatnonzero(rng.random(m) < 0.6)
    narrow, counts = rows.restrict(v, columns)
    if not factor:
        assert narrow.rmv(counts) == pytest.approx((matrix.T @ v)[columns], abs=1e-12)


def test_three_runs_in_one_row() -> None:
    rows = RunRows([0], [1], 6, ExtraRuns(np.array([0, 0]), np.array([4, 2]), np.array([6, 3])))
    row = np.array([[1.0, 0, 1, 0, 1, 1]])
    assert (rows.dense() == row).all()
    assert (rows.gram(np.array([2.0]), np.arange(6)) == 2 * row.T @ row).all()


def test_small_runs_near_one_keep_their_digits() -> None:
    w = np.append(1.0, 1e-13 * np.arange(1, 50))
    rows = RunRows(np.arange(1, 49), np.arange(2, 50), 50)
    assert rows.mv(w) == pytest.approx(w[1:49], rel=1e-12)
    total, lost = prefix_sums(w)
    assert total[-1] + lost[-1] == pytest.approx(1.0 + 1e-13 * 49 * 25, rel=1e-15)


@pytest.mark.parametrize("weights", ["equal", "unequal"])
@pytest.mark.parametrize("m", [3, 5000])
def test_merged_runs_are_the_distinct_pairs_with_their_weights(m: int, weights: str) -> None:
    rng = np.random.default_rng(m)
    first = rng.integers(0, min(m, 9), 400)
    stop = np.minimum(first + rng.integers(1, 4, 400), m)
    counts = np.full(400, 2.0) if weights == "equal" else rng.random(400)
    merged = dict(zip(zip(*(a.tolist() for a in merge_runs(first, stop, counts, m)[:2]), strict=True),
                      merge_runs(first, stop, counts, m)[2].tolist(), strict=True))  # fmt: skip
    expected: dict[tuple[int, int], float] = {}
    for a, b, c in zip(first.tolist(), stop.tolist(), counts.tolist(), strict=True):
        expected[a, b] = expected.get((a, b), 0.0) + c
    assert merged == pytest.approx(expected)
    assert list(merged) == sorted(merged)


def test_runs_refuse_what_they_cannot_hold() -> None:
    with pytest.raises(ParameterError, match="one of each per row"):
        RunRows([0, 1], [1], 3)
    for first, stop in ((-1, 2), (0, 4), (2, 1)):
        with pytest.raises(ParameterError, match="within cells 0 to 3"):
            RunRows([first], [stop], 3)
