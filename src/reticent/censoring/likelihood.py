"""Nonparametric maximum likelihood from intervals: any law at all, fitted with a certificate.

Maximise Σ_i w_i log P(S_i) over all laws P, S_i the set that report i leaves possible. One threshold per report is an
isotonic regression. Otherwise: Turnbull's cells; the law on a coarse grid; a few rounds of EM-ICM, which leave the few
cells that matter; then Newton steps on those, and on the best cell between each two of them, until no cell would gain.

At the end every cell has d_j <= 1 + gap, d_j = (1/n) Σ_i w_i 1{cell j in S_i} / P(S_i), n = Σ w_i, and the
log-likelihood is within `shortfall` = n log(1 + gap) of the maximum, whatever the steps were.

Source: Ding and Ding, Interval Privacy, arXiv 2106.09565; Turnbull (1976); Wellner and Zhan (1997); Wang, On fast
computation of the non-parametric maximum likelihood estimate of a mixing distribution (2007), for the choice of new
cells; section 3 of our specification of interval privacy.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from reticent.censoring.active_set import polish
from reticent.censoring.cells import Flags, merged, runs_on_edges, turnbull
from reticent.censoring.icm import em_icm
from reticent.censoring.isotonic import side_law
from reticent.censoring.product_limit import product_limit
from reticent.censoring.sets import IntervalSets, interval_sets
from reticent.censoring.uniqueness import is_unique
from reticent.errors import EstimateError, ParameterError, ReportError
from reticent.likelihood import SHORTFALL, SMALLEST_GAP, finished
from reticent.rows import Columns, DenseRows, Floats, Rows, StackedRows
from reticent.rows.runs import ExtraRuns, RunRows, merge_runs, prefix_sums

COARSE_CELLS = 200
"""The law is first found on this many groups of neighbouring cells."""
FEW_CELLS = 1000
"""Newton steps cost the cube of the cells with mass; where there are more, EM-ICM goes on."""
NO_MASS = 1e-12
"""EM-ICM leaves such crumbs on cells without mass."""
NEAR, NEARER = 5e-2, 1e-4
"""Gaps at which EM-ICM hands over: from all cells to few, and from there to Newton steps."""
ROUNDS, NEARER_ROUNDS, MANY_ROUNDS = 60, 30, 1000


@dataclass(frozen=True, eq=False)
class IntervalFit:
    """Masses on cells (left, right], points where left = right, and their certificate.

    Only cells with mass are listed. `n` is the total weight. `iterations` counts the rounds of EM-ICM and the Newton
    steps. `unique` is whether these masses are the only ones of the greatest likelihood; None where that was not
    settled. `n_candidates` is how many cells could have had mass: with one, the reports say nothing more than that.
    """

    left: Floats
    right: Floats
    mass: Floats
    n: float
    log_likelihood: float
    gap: float
    shortfall: float
    converged: bool
    iterations: int
    unique: bool | None
    n_candidates: int


def fit_intervals(
    low: ArrayLike,
    high: ArrayLike,
    weights: ArrayLike | None = None,
    *,
    owner: ArrayLike | None = None,
    domain: tuple[float, float] = (-np.inf, np.inf),
) -> IntervalFit:
    """The law under which reports (low, high] (points where low = high) are most likely.

    `low` and `high` have shape (n_components,); infinite ends are open sides. A report that is a union of intervals is
    several components of one `owner`, numbered from 0; `weights` has one number per report. `domain` bounds the answer:
    infinite ends become its ends. Stops at shortfall <= 1e-6 or gap <= 1e-14, else converged is False. Raises what
    `interval_sets` raises, and EstimateError when every report is the whole domain.

    >>> found = fit_intervals([0, 1, -np.inf], [2, 3, 1])
    >>> found.left.tolist(), found.right.tolist(), found.mass.round(6).tolist(), found.converged
    ([0.0, 1.0], [1.0, 2.0], [0.5, 0.5], True)
    """
    sets = interval_sets(low, high, weights, owner, domain)
    if (np.isneginf(sets.low) & np.isposinf(sets.high)).all():
        raise EstimateError("Every report is the whole domain: it says nothing. Use reports of narrower intervals.")
    if sets.owner is None and (np.isneginf(sets.low) | np.isposinf(sets.high)).all():
        return _within(sets.domain, _one_sided(sets))
    return _within(sets.domain, _general(sets))


def fit_on_edges(
    low: ArrayLike,
    high: ArrayLike,
    edges: ArrayLike,
    weights: ArrayLike | None = None,
    *,
    owner: ArrayLike | None = None,
    nulls: ArrayLike | None = None,
    null_weights: ArrayLike | None = None,
) -> IntervalFit:
    """The most likely law on the cells (edges[j], edges[j+1]], the first closed, with reports that refuse to say.

    As `fit_intervals`, but every end is an edge (or beyond the outer ones). `nulls`, shape (n_nulls, n_cells), are the
    probabilities of no report given each cell, 1 − rho a(cell) for a selective mechanism; `null_weights` how many there
    were of each. They must be here unless constant: left out, they bias the law.

    Raises also ParameterError for edges that do not increase or nulls that do not fit, ReportError for ends between
    edges.

    >>> fit_on_edges([0, 1], [1, 2], [0, 1, 2], [30, 10], nulls=[[0.25, 0.75]], null_weights=[20]).mass.round(4).tolist()
    [0.6162, 0.3838]
    """
    grid = np.asarray(edges, dtype=np.float64)
    if grid.ndim != 1 or len(grid) < 2 or not (np.diff(grid) > 0).all():
        raise ParameterError(f"edges have shape {grid.shape}; give at least two increasing numbers.", shape=grid.shape)
    sets = interval_sets(low, high, weights, owner, (float(grid[0]), float(grid[-1])))
    for ends in (sets.low, sets.high):
        if not np.isin(ends[np.isfinite(ends)], grid).all() or (sets.low == sets.high).any():
            raise ReportError("Some intervals end between edges, or are points; give edges that hold every end.")
    first, stop = runs_on_edges(np.maximum(sets.low, grid[0]), np.minimum(sets.high, grid[-1]), grid)
    runs, counts = _rows(sets, first, stop, len(grid) - 1)
    if nulls is None and (first == 0).all() and (stop == len(grid) - 1).all():
        raise EstimateError("Every report is the whole domain: it says nothing. Use reports of narrower intervals.")
    dense, more = _nulls(nulls, null_weights, len(grid) - 1)
    return _maximise(_Reports(runs, counts, dense, more), grid[:-1], grid[1:], innermost=False)


def _within(domain: tuple[float, float], found: IntervalFit) -> IntervalFit:
    """The same fit with infinite ends drawn in to the domain's."""
    if domain == (-np.inf, np.inf):
        return found
    left, right = np.maximum(found.left, domain[0]), np.minimum(found.right, domain[1])
    return replace(found, left=left, right=right)


def _rows(sets: IntervalSets, first: Columns, stop: Columns, n_cells: int) -> tuple[RunRows, Floats]:
    """One row per different set, or per report where reports are unions."""
    if sets.owner is None:
        first, stop, counts = merge_runs(first, stop, sets.weights, n_cells)
        return RunRows(first, stop, n_cells), counts
    order = np.argsort(sets.owner, kind="stable")
    main = np.append(True, np.diff(sets.owner[order]) > 0)
    other = order[~main]
    extra = ExtraRuns(sets.owner[other], first[other], stop[other])
    return RunRows(first[order[main]], stop[order[main]], n_cells, extra), sets.weights


def _general(sets: IntervalSets) -> IntervalFit:
    cells = turnbull(sets.low, sets.high)
    rows, counts = _rows(sets, cells.first, cells.stop, len(cells.left))
    return _maximise(_Reports(rows, counts), cells.left, cells.right, innermost=sets.owner is None)


def _one_sided(sets: IntervalSets) -> IntervalFit:
    """One threshold per report: isotonic regression of "below" on the threshold."""
    under = np.isneginf(sets.low)
    at_below, at_above = np.flatnonzero(under & np.isfinite(sets.high)), np.flatnonzero(~under)
    if (sets.weights == sets.weights[0]).all():
        weights = None
        order, threshold = merged([np.sort(sets.high[at_below]), np.sort(sets.low[at_above])])
    else:
        at_below, at_above = at_below[np.argsort(sets.high[at_below])], at_above[np.argsort(sets.low[at_above])]
        order, threshold = merged([sets.high[at_below], sets.low[at_above]])
        weights = sets.weights[np.concatenate([at_below, at_above])[order]]
    below = order < len(at_below)
    law = side_law(below.astype(np.float64), weights)
    fitted = np.where(below, law, 1.0 - law)
    scaled = np.broadcast_to(sets.weights[0], law.shape) if weights is None else weights
    n = float(sets.weights.sum())
    gap = _one_sided_gap(scaled / (n * fitted), below, 1.0 - float(scaled.sum()) / n, n)
    ends = np.concatenate([[-np.inf], threshold, [np.inf]])
    jumps = np.diff(law, prepend=0.0, append=1.0)
    at = np.flatnonzero(jumps > 0)
    changes = np.flatnonzero(~below[:-1] & below[1:])
    return IntervalFit(
        left=ends[at],
        right=ends[at + 1],
        mass=jumps[at],
        n=n,
        log_likelihood=float(scaled @ np.log(fitted)),
        gap=gap,
        shortfall=n * float(np.log1p(gap)),
        converged=finished(gap, n),
        iterations=0,
        unique=True,
        n_candidates=len(changes) + int(below[0]) + int(not below[-1]),
    )


def _one_sided_gap(told: Floats, below: Flags, silent: float, n: float) -> float:
    """max_j d_j − 1 over the places between thresholds, from the share of each report over its probability.

    `silent` is the share of reports of the whole line, which every place serves alike.
    """
    signed = np.where(below, -told, told)
    at_start = silent + 0.5 * float(told.sum() - signed.sum())
    gap = max(at_start + max(float(np.cumsum(signed).max()), 0.0) - 1.0, 0.0)
    if finished(gap, n):
        return gap
    total, lost = prefix_sums(signed)  # slower, and without the rounding of a million sums
    return max(at_start + float((total + lost).max()) - 1.0, 0.0)


@dataclass(frozen=True, eq=False)
class _Reports:
    """Different sets with their weights, and refusals with theirs."""

    runs: RunRows
    counts: Floats
    nulls: DenseRows | None = None
    null_counts: Floats | None = None

    @cached_property
    def rows(self) -> Rows:
        return self.runs if self.nulls is None else StackedRows([self.runs, self.nulls])

    @cached_property
    def all_counts(self) -> Floats:
        return self.counts if self.null_counts is None else np.concatenate([self.counts, self.null_counts])

    def over(self, columns: Columns) -> _Reports:
        """The same reports on some of the cells."""
        runs, counts = self.runs.restrict(self.counts, columns)
        nulls = None if self.nulls is None else DenseRows(self.nulls.matrix[:, columns])
        return _Reports(runs, counts, nulls, self.null_counts)


def _maximise(reports: _Reports, left: Floats, right: Floats, *, innermost: bool) -> IntervalFit:
    """EM-ICM on the runs, then Newton steps on few cells at a time with every row, until no cell would gain.

    `innermost` says that the cells are Turnbull's own, which settles uniqueness: each cell ends where some run ends, so
    the boundaries hang together (see `uniqueness`).
    """
    rows, counts = reports.rows, reports.all_counts
    n = float(counts.sum())
    p, iterations = _near(reports.runs, reports.counts)
    now = best = _Candidate.at(rows, counts, p)
    for _ in range(ROUNDS):
        columns = _wanted(now.p, now.multipliers)
        if finished(best.gap, n):
            break
        if len(columns) > FEW_CELLS and reports.nulls is None:
            goal = max(0.1 * now.gap, 0.5 * SHORTFALL / n, SMALLEST_GAP)
            p, steps = em_icm(reports.runs, counts / n, now.p, goal, rounds=MANY_ROUNDS)
            p = _without_crumbs(reports.runs, p)
        else:
            p = np.zeros(len(p))
            p[columns], steps = _newton(reports.over(columns), now.p[columns])
        iterations += steps
        now = _Candidate.at(rows, counts, p)
        best = min(best, now, key=lambda one: one.gap)
        if steps >= MANY_ROUNDS:
            break
    at = np.flatnonzero(best.p)
    return IntervalFit(
        left=left[at],
        right=right[at],
        mass=best.p[at],
        n=n,
        log_likelihood=float(counts @ np.log(best.fitted)),
        gap=best.gap,
        shortfall=n * float(np.log1p(best.gap)),
        converged=finished(best.gap, n),
        iterations=iterations,
        unique=True if innermost else is_unique(rows, counts, best.p, best.multipliers, best.gap),
        n_candidates=len(left),
    )


@dataclass(frozen=True, eq=False)
class _Candidate:
    """Masses on all cells with what they give every row and every cell."""

    p: Floats
    fitted: Floats
    multipliers: Floats
    gap: float

    @classmethod
    def at(cls, rows: Rows, counts: Floats, p: Floats) -> _Candidate:
        fitted = rows.mv(p)
        multipliers = rows.rmv(counts / (counts.sum() * fitted))
        return cls(p, fitted, multipliers, max(float(multipliers.max()) - 1.0, 0.0))


def _near(rows: RunRows, counts: Floats) -> tuple[Floats, int]:
    """A law near the greatest likelihood, or at it where there is a closed form, and the rounds it took."""
    at_once = product_limit(rows, counts)
    if at_once is not None:
        return at_once, 0
    start, begun = _coarse(rows, counts)
    p, rounds = em_icm(rows, counts / counts.sum(), start, NEAR, least=1)
    return _without_crumbs(rows, p), begun + rounds


def _without_crumbs(rows: RunRows, p: Floats) -> Floats:
    """The masses without those that are hardly any, unless a row has no others."""
    clean = np.where(p > NO_MASS, p, 0.0)
    return clean if rows.mv(clean).min() > 0 else p


def _coarse(rows: RunRows, counts: Floats) -> tuple[Floats, int]:
    """A start: the law on groups of neighbouring cells, spread evenly inside each, with a little everywhere."""
    m = rows.n_categories
    even = np.full(m, 1.0 / m)
    if m < 4 * COARSE_CELLS or rows.extra is not None:
        return even, 0
    group = np.arange(m + 1) * COARSE_CELLS // m
    stop = -(-rows.stop * COARSE_CELLS // m)
    first, stop, merged = merge_runs(group[rows.first], stop, counts, COARSE_CELLS)
    grouped = RunRows(first, stop, COARSE_CELLS)
    masses, rounds = em_icm(grouped, merged / merged.sum(), np.full(COARSE_CELLS, 1.0 / COARSE_CELLS))
    inside = group[:-1]
    spread = masses[inside] / np.bincount(inside, minlength=COARSE_CELLS)[inside]
    return 0.99 * spread + 0.01 * even, rounds


def _wanted(p: Floats, multipliers: Floats) -> Columns:
    """The cells with mass, and between each two of them the cell that gains most, if it gains."""
    held = np.flatnonzero(p)
    inside = multipliers.copy()
    inside[held] = 0.0
    begin = np.append(0, held)
    top = np.maximum.reduceat(inside, begin) if held[0] else np.maximum.reduceat(inside, held)
    begin = begin if held[0] else held
    part = np.zeros(len(p), dtype=np.intp)
    part[begin[1:]] = 1
    part = np.cumsum(part)
    gaining = np.flatnonzero((inside > 1.0) & (inside == top[part]))
    _, one = np.unique(part[gaining], return_index=True)
    return np.union1d(held, gaining[one])


def _newton(reports: _Reports, p: Floats) -> tuple[Floats, int]:
    """The most likely masses on few cells, starting near p, and the steps taken."""
    rounds, kept = 0, np.arange(len(p))
    if reports.nulls is None:
        new = p == 0
        p, rounds = em_icm(reports.runs, reports.counts / reports.counts.sum(), p, NEARER, rounds=NEARER_ROUNDS)
        kept = np.flatnonzero((_without_crumbs(reports.runs, p) > 0) | new)
    few = reports.over(kept)
    masses = np.zeros(len(p))
    masses[kept], steps = polish(few.rows, few.all_counts, p[kept])
    return masses, rounds + steps


def _nulls(
    nulls: ArrayLike | None, null_weights: ArrayLike | None, n_cells: int
) -> tuple[DenseRows | None, Floats | None]:
    if nulls is None:
        return None, None
    rows = np.asarray(nulls, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[1] != n_cells or not (rows.min(initial=1.0) >= 0 and rows.max(initial=0.0) <= 1):
        raise ParameterError(
            f"nulls have shape {rows.shape} for {n_cells} cells; give one row per kind of refusal, its probability in each "
            "cell between 0 and 1.",
            shape=rows.shape,
        )
    counts = np.ones(len(rows)) if null_weights is None else np.asarray(null_weights, dtype=np.float64)
    if counts.shape != (len(rows),) or not np.isfinite(counts).all() or (counts < 0).any():
        raise ParameterError(f"null_weights have shape {counts.shape}; give one non-negative number per row of nulls.")
    return DenseRows(rows[counts > 0]), counts[counts > 0]
