"""The law of a number from reports that are intervals."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reticent.censoring.likelihood import IntervalFit, fit_intervals, fit_on_edges
from reticent.distributions.law import Distribution
from reticent.distributions.limits import allowed_fall, upper_end
from reticent.errors import EstimateError

Floats = NDArray[np.float64]
Solve = Callable[[Floats, Floats, Floats, "NDArray[np.intp] | None"], IntervalFit]


def npmle(
    low: ArrayLike,
    high: ArrayLike,
    weights: ArrayLike | None = None,
    *,
    owner: ArrayLike | None = None,
    domain: tuple[float, float] = (-np.inf, np.inf),
) -> Distribution:
    """The nonparametric maximum likelihood law of a number known to lie in (low, high], or at low where low = high.

    Maximises Σ_i w_i log P(S_i) over every law P, S_i the set of report i, with a certificate. Infinite ends are open
    sides. A report that is a union of intervals is several components of one `owner`, numbered from 0; `weights` has
    one number per report. `domain` bounds the number: infinite ends become its ends and the first interval is closed.

    One threshold per report is an isotonic regression; survival times, exact or censored on the right, are the
    product-limit law; all else is solved to within 1e-6 of the maximum.

    Source: Ding and Ding, Interval Privacy (arXiv 2106.09565); section 3 of our specification of interval privacy.
    Raises ReportError for NaN, low > high, empty or overlapping components or sets outside the domain (it says where,
    never what), ParameterError for shapes or weights that do not fit, EstimateError when there is nothing to estimate
    from. Warns when the solver stops early, and when the reports leave one interval only.

    >>> law = npmle([0, 6, 7, 8], [7, 10, 7, np.inf])
    >>> law.left.tolist(), law.right.tolist(), law.mass.round(4).tolist()
    ([7.0, 8.0], [7.0, 10.0], [0.6667, 0.3333])
    """
    found = fit_intervals(low, high, weights, owner=owner, domain=domain)

    def solve(low: Floats, high: Floats, weights: Floats, owner: NDArray[np.intp] | None) -> IntervalFit:
        return fit_intervals(low, high, weights, owner=owner, domain=domain)

    return _told(found, domain, _Reports(low, high, weights, owner, solve))


def npmle_on_edges(
    low: ArrayLike,
    high: ArrayLike,
    edges: ArrayLike,
    weights: ArrayLike | None = None,
    *,
    owner: ArrayLike | None = None,
    nulls: ArrayLike | None = None,
    null_weights: ArrayLike | None = None,
) -> Distribution:
    """As `npmle`, on the cells between `edges`, with reports that refuse to say.

    `nulls`, shape (n_nulls, n_cells), are the probabilities of no report in each cell, 1 − rho a(cell) for a selective
    mechanism, and `null_weights` how often each was seen. Left out, they bias the law unless they are constant.

    Source: section 1.4 of our specification of interval privacy.
    Raises as `npmle`; also ReportError for ends that are not edges and ParameterError for nulls that do not fit.

    >>> law = npmle_on_edges([0, 1], [1, 2], [0, 1, 2], [30, 10], nulls=[[0.25, 0.75]], null_weights=[20])
    >>> law.mass.round(4).tolist()
    [0.6162, 0.3838]
    """
    grid = np.asarray(edges, dtype=np.float64)
    found = fit_on_edges(low, high, grid, weights, owner=owner, nulls=nulls, null_weights=null_weights)

    def solve(low: Floats, high: Floats, weights: Floats, owner: NDArray[np.intp] | None) -> IntervalFit:
        return fit_on_edges(low, high, grid, weights, owner=owner, nulls=nulls, null_weights=null_weights)

    return _told(found, (float(grid[0]), float(grid[-1])), _Reports(low, high, weights, owner, solve), grid)


class _Reports:
    """Reports as they were given, solved again with one report more."""

    def __init__(
        self, low: ArrayLike, high: ArrayLike, weights: ArrayLike | None, owner: ArrayLike | None, solve: Solve
    ) -> None:
        self.low, self.high = np.array(low, dtype=np.float64), np.array(high, dtype=np.float64)
        self.owner = None if owner is None else np.array(owner, dtype=np.intp)
        n_sets = len(self.low) if self.owner is None else int(self.owner.max()) + 1
        self.weights = np.ones(n_sets) if weights is None else np.array(weights, dtype=np.float64)
        self.solve = solve

    def upper_end(self, found: IntervalFit, t: float, allowed: float, below: bool) -> float:
        """The upper end for the share up to t, or above t. Raises EstimateError for weights that are no counts."""
        if (self.weights != np.rint(self.weights)).any():
            raise EstimateError(
                "Weights that are not whole numbers are no counts of people, so a profile of their likelihood does not hold. "
                "Count weighted reports with rt.tally(reports, weights=...) and use distribution(tally)."
            )
        low, high = np.append(self.low, -np.inf if below else t), np.append(self.high, t if below else np.inf)
        owner = None if self.owner is None else np.append(self.owner, len(self.weights))

        def held(a: float) -> tuple[float, float]:
            law = self.solve(low, high, np.append(self.weights, a), owner)
            share = float(law.mass[(law.right <= t) == below].sum())
            return min(share, 1.0), law.log_likelihood - a * math.log(share)

        share = min(max(float(found.mass[(found.right <= t) == below].sum()), 1 / found.n), 1 - 1 / found.n)
        guess = 0.5 * math.sqrt(allowed * found.n * share / (1 - share))
        return upper_end(held, found.log_likelihood, allowed, guess)


def _told(
    found: IntervalFit, domain: tuple[float, float], reports: _Reports, grid: Floats | None = None
) -> Distribution:
    def ends(t: float, confidence_level: float) -> tuple[float, float]:
        allowed = allowed_fall(confidence_level)
        if t < domain[0] or t == -np.inf or t >= domain[1]:
            return (1.0, 1.0) if t >= domain[1] else (0.0, 0.0)
        before = after = t
        if grid is not None:  # between two edges F is enclosed by its values there
            before = float(grid[np.searchsorted(grid, t, side="right") - 1])
            after = float(grid[np.searchsorted(grid, t)])
        nothing_known = grid is not None and before == grid[0]
        low = 0.0 if nothing_known else 1.0 - reports.upper_end(found, before, allowed, below=False)
        if grid is not None and after == grid[0]:
            after = float(grid[1])
        return low, 1.0 if after >= domain[1] else reports.upper_end(found, after, allowed, below=True)

    degenerate = found.n_candidates == 1
    if not found.converged:
        warnings.warn(
            f"The solver stopped after {found.iterations} steps with gap {found.gap:.1e}, {found.shortfall:.1e} nats from the "
            "maximum at most.",
            stacklevel=3,
        )
    if degenerate:
        warnings.warn(
            "All reports agree on one interval: all mass is there, and nothing is known within.", stacklevel=3
        )
    return Distribution(
        left=found.left,
        right=found.right,
        mass=found.mass,
        n=found.n,
        log_likelihood=found.log_likelihood,
        gap=found.gap,
        shortfall=found.shortfall,
        converged=found.converged,
        iterations=found.iterations,
        unique=found.unique,
        degenerate=degenerate,
        domain=domain,
        ends=ends,
        edges=grid,
    )
