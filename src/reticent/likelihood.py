"""Maximum likelihood over the probability simplex, with a certificate of how far from the maximum it stopped.

Maximise l(w) = sum_i f_i log (L w)_i, f_i = counts_i / n, over w >= 0, sum w = 1. With
lambda_j(w) = sum_i f_i L_ij / (L w)_i the maximum is where every lambda_j <= 1, and at any w
l(maximum) - l(w) <= log max_j lambda_j(w). That bound, not the size of the last step, decides when to stop.

Source: Wang and Ding, Subset Privacy, arXiv 2107.02013, maximum likelihood estimate (their projected Newton
method is of this family); the certificate and the set of maximisers follow from concavity.
Letters: p = n_categories, K or L = likelihood rows, w = probabilities. Log-likelihoods are in nats.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import LinAlgError, cho_solve, cholesky, solve_triangular
from scipy.optimize import brentq, linprog, nnls
from scipy.stats import chi2

from reticent.errors import EstimateError, ParameterError
from reticent.rows import Columns, Floats, Rows

SHORTFALL = 1e-6
SMALLEST_GAP = 1e-14
STEP_LIMIT = 200
# A mean log-likelihood is a sum of many rounded terms: asking a line search for less than this stalls it.
ROUNDING = 1e-13


@dataclass(frozen=True)
class Fit:
    """A maximum likelihood fit and its certificate.

    `gap` = max_j lambda_j - 1 bounds the mean log-likelihood still missing; `shortfall` = n log(1 + gap)
    bounds the total, in nats. `multipliers` are the lambda_j: 1 where a share is positive, at most 1 + gap
    elsewhere.
    """

    probabilities: Floats
    log_likelihood: float
    gap: float
    shortfall: float
    converged: bool
    steps: int
    multipliers: Floats


@dataclass(frozen=True)
class _Point:
    """One w on the simplex with what the solver knows there: L w, l(w) and lambda(w)."""

    w: Floats
    fitted: Floats
    mean_log: float
    multipliers: Floats

    @property
    def gap(self) -> float:
        return max(float(self.multipliers.max()) - 1.0, 0.0)


@dataclass(frozen=True)
class _Problem:
    """Rows and the relative frequencies f of their reports."""

    rows: Rows
    f: Floats

    @cached_property
    def unseen(self) -> NDArray[np.intp]:
        return np.flatnonzero(self.f == 0)

    def fitted(self, w: Floats) -> Floats:
        """L w; 1 for the reports nobody sent, so that they weigh nothing and divide nothing by zero."""
        fitted = self.rows.mv(w)
        fitted[self.unseen] = 1.0
        return fitted

    def mean_log(self, fitted: Floats) -> float:
        """sum f log(fitted); minus infinity, log 0 untaken, where a counted report has probability 0."""
        return float(self.f @ np.log(fitted)) if fitted.min() > 0 else -np.inf

    def at(self, w: Floats) -> _Point | None:
        """The point at w scaled to sum 1, or None where a counted report would have probability 0."""
        w = w / w.sum()
        fitted = self.fitted(w)
        mean_log = self.mean_log(fitted)
        if mean_log == -np.inf:
            return None
        return _Point(w, fitted, mean_log, self.rows.rmv(self.f / fitted))

    def inside(self, w: Floats, share: float) -> _Point | None:
        """The point at w mixed with the uniform law."""
        return self.at((1.0 - share) * w / w.sum() + share / len(w))


def fit(rows: Rows, counts: ArrayLike, start: ArrayLike | None = None, *, step_limit: int = STEP_LIMIT) -> Fit:
    """Maximise sum_i counts_i log (L w)_i over the simplex by active-set Newton steps.

    `counts` has shape (n_rows,), `start` (n_categories,): non-negative, by default uniform; it is moved a
    tenth of the way to the uniform law. Stops at shortfall <= 1e-6 or gap <= 1e-14, else at `step_limit` with
    converged=False. Raises EstimateError if no report was counted, or if one has probability 0 under every
    category.

    >>> from reticent.rows import DenseRows
    >>> fit(DenseRows([[0.75, 0.25], [0.25, 0.75]]), [60, 40]).probabilities.round(6).tolist()
    [0.7, 0.3]
    """
    problem, n = _problem(rows, counts)
    point = problem.inside(_start(start, rows.n_categories), 0.1)
    if point is None:
        raise EstimateError(
            "A counted report has probability 0 under every category. Check that the reports were made with "
            "the channel of this tally."
        )
    return _maximise(problem, n, point, step_limit)


def _problem(rows: Rows, counts: ArrayLike) -> tuple[_Problem, float]:
    c = np.asarray(counts, dtype=np.float64)
    if c.shape != (rows.n_rows,):
        raise ParameterError(
            f"counts have shape {c.shape} for {rows.n_rows} rows; give one count for each row.",
            shape=c.shape,
            n_rows=rows.n_rows,
        )
    if not (np.isfinite(c).all() and (c >= 0).all()):
        raise ParameterError("counts contain negative or infinite numbers; give the number of reports of each kind.")
    n = float(c.sum())
    if n == 0:
        raise EstimateError("The tally is empty: there is nothing to estimate from. Collect reports first.")
    return _Problem(rows, c / n), n


def _start(start: ArrayLike | None, n_categories: int) -> Floats:
    if start is None:
        return np.full(n_categories, 1.0 / n_categories)
    w = np.asarray(start, dtype=np.float64)
    if w.shape != (n_categories,) or not np.isfinite(w).all() or (w < 0).any() or not w.any():
        raise ParameterError(
            f"start has shape {w.shape}; give {n_categories} non-negative shares, not all zero.",
            shape=w.shape,
        )
    return w


def _maximise(problem: _Problem, n: float, point: _Point, step_limit: int = STEP_LIMIT) -> Fit:
    steps, one_at_a_time = 0, False
    while not finished(point.gap, n) and steps < step_limit:
        columns = _working_set(point, one_at_a_time)
        target = _newton_target(problem, point, columns)
        full = problem.at(target)
        if full is not None and full.gap <= point.gap / 2:
            point, one_at_a_time = full, False
        else:
            # Many nearly collinear columns at once can stall for ever; the worst one alone cannot.
            one_at_a_time = not one_at_a_time
            point = _em_step(problem, _line_search(problem, point, target))
        steps += 1
    return Fit(
        probabilities=point.w,
        log_likelihood=n * point.mean_log,
        gap=point.gap,
        shortfall=n * float(np.log1p(point.gap)),
        converged=finished(point.gap, n),
        steps=steps,
        multipliers=point.multipliers,
    )


def finished(gap: float, n: float) -> bool:
    """Is the log-likelihood of n reports within 1e-6 of its maximum, or the gap at the limit of the numbers?"""
    return n * float(np.log1p(gap)) <= SHORTFALL or gap <= SMALLEST_GAP


def _working_set(point: _Point, one_at_a_time: bool) -> Columns:
    """The categories a step may move: those with mass, and those (or the worst one) that want some."""
    wanted = point.multipliers > 1.0
    if one_at_a_time:
        wanted = np.arange(len(point.w)) == point.multipliers.argmax()
    return np.flatnonzero((point.w > 0) | wanted)


def _newton_target(problem: _Problem, point: _Point, columns: Columns) -> Floats:
    """Minimise the quadratic model of -l(v) + sum v over v >= 0, moving only `columns`."""
    hessian = problem.rows.gram(problem.f / point.fitted**2, columns)
    w, gradient = point.w[columns], 1.0 - point.multipliers[columns]
    unit = np.sqrt(hessian.diagonal())
    unit[unit == 0] = 1.0
    target = np.zeros_like(point.w)
    try:
        # Unit diagonal, then a ridge far below what the data say: it keeps the model convex.
        factor = cholesky(hessian / np.outer(unit, unit) + 1e-12 * np.eye(len(columns)))
        v = w - cho_solve((factor, False), gradient / unit) / unit
        if (v < 0).any():
            pull = solve_triangular(factor, gradient / unit, trans="T")
            v = nnls(factor, factor @ (w * unit) - pull)[0] / unit
        target[columns] = v
    except (LinAlgError, RuntimeError):  # not positive definite, or NNLS ran out of iterations
        target = point.w * point.multipliers
    return target if target.any() and np.isfinite(target).all() else point.w * point.multipliers


def _line_search(problem: _Problem, point: _Point, target: Floats) -> _Point:
    """Halve the step to the target until l(w) - sum w has risen enough; the old point if it never does."""
    direction = target - point.w
    slope = float((point.multipliers - 1.0) @ direction)
    there = problem.fitted(target)
    slack = ROUNDING * max(1.0, abs(point.mean_log))
    size = 1.0
    for _ in range(40):
        between = (1.0 - size) * point.fitted + size * there
        rise = problem.mean_log(between) - point.mean_log - size * direction.sum()
        if rise >= 1e-4 * size * slope - slack:
            moved = problem.at(np.maximum(point.w + size * direction, 0.0))
            if moved is not None:
                return moved
        size /= 2
    return point


def _em_step(problem: _Problem, point: _Point) -> _Point:
    return problem.at(point.w * point.multipliers) or point


def maximiser_ranges(rows: Rows, counts: ArrayLike, fit: Fit) -> tuple[Floats, Floats]:
    """Smallest and largest value of each share over all maximisers of the likelihood; equal where unique.

    The maximisers are {v >= 0, sum v = 1, L v = L w on the counted rows}, all on the categories with
    lambda_j = 1. They are one point when [L; 1'] has full column rank there; otherwise two linear programmes
    for each free share. Returns (low, high), each of shape (n_categories,).

    >>> from reticent.rows import DenseRows
    >>> rows, counts = DenseRows([[1, 1, 0, 0], [0, 0, 1, 1]]), [5, 5]
    >>> [end.round(6).tolist() for end in maximiser_ranges(rows, counts, fit(rows, counts))]
    [[0.0, 0.0, 0.0, 0.0], [0.5, 0.5, 0.5, 0.5]]
    """
    problem, _ = _problem(rows, counts)
    w = fit.probabilities
    # A wider set of columns never changes the polytope, so err on that side when the fit is only approximate.
    slack = max(1e-6, 10.0 * float(np.sqrt(fit.gap)))
    columns = np.flatnonzero((w > 0) | (fit.multipliers >= 1.0 - slack))
    pinned, free = _pinned_and_free(problem, columns)
    low, high = w.copy(), w.copy()
    for k in free:
        cost = np.zeros(len(columns))
        cost[k] = 1.0
        for sign, end in ((1.0, low), (-1.0, high)):
            found = linprog(sign * cost, A_eq=pinned, b_eq=pinned @ w[columns], bounds=(0, 1), method="highs")
            if found.x is not None:
                end[columns[k]] = found.x[k]
    return np.minimum(low, w), np.maximum(high, w)


def _pinned_and_free(problem: _Problem, columns: Columns) -> tuple[Floats, NDArray[np.intp]]:
    """Orthonormal combinations of shares that the data fix, and the shares (positions) that they do not."""
    seen = (problem.f > 0).astype(np.float64)
    gram = problem.rows.gram(seen, columns) + 1.0
    values, vectors = np.linalg.eigh(gram)
    null = values <= 1e-12 * values[-1]
    loose = np.abs(vectors[:, null]).max(axis=1, initial=0.0)
    return vectors[:, ~null].T, np.flatnonzero(loose > 1e-7)


def profile_interval(
    rows: Rows, counts: ArrayLike, fit: Fit, j: int, confidence_level: float = 0.95
) -> tuple[float, float]:
    """Profile likelihood interval for share j.

    {t : 2 [l_n(maximum) - max_{w_j = t} l_n(w)] <= chi2_1 quantile} within [0, 1], l_n in nats, all reports.
    With w_j = t the others solve the same problem with rows (1-t) L_k + t L_j. Where the fitted share is 0
    the lower end is 0, and the interval is conservative. Raises ParameterError for a level outside (0, 1).

    >>> from reticent.rows import DenseRows
    >>> rows, counts = DenseRows([[1, 0], [0, 1]]), [60, 40]
    >>> low, high = profile_interval(rows, counts, fit(rows, counts), 0)
    >>> round(low, 4), round(high, 4)
    (0.5023, 0.6926)
    """
    if not 0.0 < confidence_level < 1.0:
        raise ParameterError(
            f"confidence_level is {confidence_level}; give a number between 0 and 1, such as 0.95.",
            confidence_level=confidence_level,
        )
    profile = _Profile(rows, counts, fit, j, float(chi2.ppf(confidence_level, 1)))
    return profile.end(-1), profile.end(+1)


class _Profile:
    """How far the likelihood falls when one share is held at t, with the last solution as the next start."""

    def __init__(self, rows: Rows, counts: ArrayLike, fit: Fit, j: int, allowed: float) -> None:
        self.rows, self.j, self.allowed = rows, j, allowed
        self.problem, self.n = _problem(rows, counts)
        self.best = fit.log_likelihood
        self.centre = float(fit.probabilities[j])
        others = np.delete(fit.probabilities, j)
        self.others = others if others.any() else np.ones_like(others)
        self.known = {self.centre: -float(np.sqrt(allowed))}

    def excess(self, t: float) -> float:
        """sqrt of the deviance at w_j = t, less its allowed value: nearly linear in t, so quick to solve."""
        if t not in self.known:
            self.known[t] = self._excess(t)
        return self.known[t]

    def _excess(self, t: float) -> float:
        problem = _Problem(self.rows.fix(self.j, t), self.problem.f)
        point = problem.at(self.others) or problem.inside(self.others, 0.1)
        if point is None:
            return float(np.sqrt(self.n)) + 10.0  # some counted report is impossible: as bad as can be
        held = _maximise(problem, self.n, point)
        self.others = held.probabilities
        deviance = max(2.0 * (self.best - held.log_likelihood), 0.0)
        return float(np.sqrt(deviance) - np.sqrt(self.allowed))

    def end(self, direction: int) -> float:
        limit = 0.0 if direction < 0 else 1.0
        inner, step = self.centre, 1.0 / np.sqrt(self.n)
        while inner != limit:
            outer = float(np.clip(inner + direction * step, 0.0, 1.0))
            if self.excess(outer) > 0:
                return float(brentq(self.excess, inner, outer, xtol=1e-8, rtol=1e-10))
            inner, step = outer, 2.0 * step
        return limit


def simplex_projection(v: ArrayLike) -> Floats:
    """The nearest point (Euclidean) with non-negative entries that sum to 1.

    Sort v decreasingly as u; r = max{k : u_k > (u_1 + ... + u_k - 1)/k}; subtract
    tau = (u_1 + ... + u_r - 1)/r and cut at 0.

    >>> simplex_projection([0.9, 0.4, -0.3]).round(6).tolist()
    [0.75, 0.25, 0.0]
    """
    x = np.asarray(v, dtype=np.float64)
    if x.ndim != 1 or x.size == 0 or not np.isfinite(x).all():
        raise ParameterError(f"v has shape {x.shape}; give a vector of finite numbers.", shape=x.shape)
    u = np.sort(x)[::-1]
    means = (np.cumsum(u) - 1.0) / np.arange(1, x.size + 1)
    tau = float(means[np.flatnonzero(u > means)[-1]])
    return np.maximum(x - tau, 0.0)
