"""EM-ICM: a quick way from any starting law to the few cells that carry the maximum of an interval likelihood.

In turn, an EM step p_j <- p_j d_j, d = L'(f / L p), and a step of the iterative convex minorant: with B the distribution
function at the boundaries between cells, maximise the quadratic model of the log-likelihood with diagonal curvature
over non-decreasing B, which is a weighted isotonic regression, and halve the step until the likelihood does not fall.

Plain EM never reaches a certificate and the minorant alone can stall; together they need some ten rounds to a gap of
1e-2. From there Newton steps on the cells that are left are quicker.

Source: Wellner and Zhan, A hybrid algorithm for computation of the nonparametric maximum likelihood estimator from
censored data (1997); section 3.4 of our specification of interval privacy.
"""

from __future__ import annotations

import numpy as np

from reticent.censoring.isotonic import isotonic
from reticent.rows import Floats
from reticent.rows.runs import RunRows

NEAR = 1e-2
ROUNDS = 500
HALVINGS = 12


def em_icm(
    rows: RunRows, f: Floats, start: Floats, gap: float = NEAR, rounds: int = ROUNDS, least: int = 0
) -> tuple[Floats, int]:
    """A law with max_j d_j − 1 <= gap, or the one reached after `rounds`, and the rounds it took, at least `least`.

    `f`, shape (n_rows,), are positive shares of the reports that sum to 1; `start`, shape (n_categories,), must give
    every row a positive probability.

    >>> rows = RunRows([0, 1], [2, 3], 3)
    >>> em_icm(rows, np.array([0.5, 0.5]), np.full(3, 1 / 3), 1e-6)[0].round(4).tolist()
    [0.0, 1.0, 0.0]
    """
    p = start
    for done in range(rounds):
        multipliers = rows.rmv(f / rows.mv(p))
        if done >= least and float(multipliers.max()) - 1.0 <= gap:
            return p, done
        p = convex_minorant_step(rows, f, p * multipliers)
    return p, rounds


def convex_minorant_step(rows: RunRows, f: Floats, p: Floats) -> Floats:
    """One step of the iterative convex minorant from p; the log-likelihood does not fall."""
    p = p / p.sum()
    if len(p) < 2:
        return p
    fitted = rows.mv(p)
    v = f / fitted
    opened, closed = rows.ends(v)
    heavy_opened, heavy_closed = rows.ends(rows.factor * v / fitted)
    curvature = (heavy_opened + heavy_closed)[1:-1]
    curvature = np.maximum(curvature, 1e-12 * curvature.max())  # a boundary where no set ends has none
    here = np.cumsum(p)[:-1]
    target = isotonic(here + (closed - opened)[1:-1] / curvature, curvature)
    aim = np.diff(np.clip(target, 0.0, 1.0), prepend=0.0, append=1.0)
    before, size = float(f @ np.log(fitted)), 1.0
    for _ in range(HALVINGS):
        moved = aim if size == 1.0 else p + size * (aim - p)
        after = rows.mv(moved)
        if after.min() > 0 and float(f @ np.log(after)) >= before:
            return moved
        size /= 2
    return p
