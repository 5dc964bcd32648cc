"""Newton steps on a few categories from a law that is already near the greatest likelihood.

With H = L' diag(f / (L p)²) L and multipliers λ = L'(f / L p), H p = λ, so the quadratic model of the log-likelihood at p is
greatest over v >= 0 where H v − (2λ − 1) is complementary to v. All negative entries leave, and all that want mass come
back, at once, which takes a few solutions of one linear system; the solver of `likelihood` starts from no entries and
adds them one by one, but needs no near start. It takes over wherever this one stops short.

Source: Júdice and Pires, A block principal pivoting algorithm for large-scale strictly monotone linear complementarity
problems (1994); section 3.4 of our specification of interval privacy.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from reticent.likelihood import ROUNDING, finished, fit
from reticent.rows import Floats, Rows

STEPS = 25
PIVOTS = 40
PATIENCE = 3
HALVINGS = 30


def polish(rows: Rows, counts: Floats, start: Floats) -> tuple[Floats, int]:
    """The most likely shares from a near start, and the Newton steps taken.

    `counts`, shape (n_rows,), are positive; `start`, shape (n_categories,), gives every row a positive probability.

    >>> from reticent.rows import DenseRows
    >>> rows = DenseRows([[0.75, 0.25], [0.25, 0.75]])
    >>> polish(rows, np.array([60.0, 40.0]), np.array([0.6, 0.4]))[0].round(6).tolist()
    [0.7, 0.3]
    """
    n = float(counts.sum())
    f, p, everything = counts / n, start / start.sum(), np.arange(rows.n_categories)
    for steps in range(STEPS):
        fitted = rows.mv(p)
        multipliers = rows.rmv(f / fitted)
        if finished(max(float(multipliers.max()) - 1.0, 0.0), n):
            return p, steps
        target = complementary(rows.gram(f / fitted**2, everything), 2.0 * multipliers - 1.0)
        moved = None if target is None else _higher(rows, f, p, fitted, target)
        if moved is None:
            break
        p = moved
    found = fit(rows, counts, p)
    return found.probabilities, steps + found.steps


def complementary(hessian: Floats, pull: Floats) -> Floats | None:
    """v >= 0 with H v − pull >= 0 wherever v = 0, and 0 wherever v > 0; None if it was not found.

    >>> complementary(np.array([[2.0, 0.0], [0.0, 1.0]]), np.array([1.0, -1.0])).round(9).tolist()
    [0.5, 0.0]
    """
    # Unit diagonal, then a ridge far below what the data say, as in the solver of `likelihood`.
    unit = np.sqrt(hessian.diagonal())
    unit[unit == 0] = 1.0
    scaled = hessian / np.outer(unit, unit)
    scaled[np.diag_indices(len(unit))] += 1e-12
    aim = pull / unit
    free = np.ones(len(unit), dtype=np.bool_)
    fewest, patience = len(unit) + 1, PATIENCE
    for _ in range(PIVOTS):
        v = np.zeros(len(unit))
        try:
            v[free] = cho_solve(cho_factor(scaled[np.ix_(free, free)], check_finite=False), aim[free])
        except (LinAlgError, ValueError):
            return None
        wrong = np.where(free, v < 0, scaled @ v - aim < -1e-12)
        number = int(wrong.sum())
        if number == 0:
            return np.asarray(v / unit) if v.any() and np.isfinite(v).all() else None
        if number < fewest:
            fewest, patience = number, PATIENCE
        elif patience > 0:
            patience -= 1
        else:  # exchanging one only, the last, cannot go round in circles
            wrong[: np.flatnonzero(wrong)[-1]] = False
        free ^= wrong
    return None


def _higher(rows: Rows, f: Floats, p: Floats, fitted: Floats, target: Floats) -> Floats | None:
    """The first of the points halfway and halfway again from the target back to p that is as likely as p."""
    target = target / target.sum()
    there = rows.mv(target)
    before = float(f @ np.log(fitted))
    slack = ROUNDING * max(1.0, abs(before))
    size = 1.0
    for _ in range(HALVINGS):
        between = there if size == 1.0 else fitted + size * (there - fitted)
        if between.min() > 0 and float(f @ np.log(between)) >= before - slack:
            return target if size == 1.0 else p + size * (target - p)
        size /= 2
    return None
