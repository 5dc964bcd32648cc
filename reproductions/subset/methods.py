"""The estimators of Fig. 2. All but EM and CVXPY are the package's own.

EM is written out here because the package does not use it: it is the paper's method, correct when run to its
certificate and wrong when stopped early. Counts have shape `(n_tables, n_reports)`, one row for each replicate;
estimates `(n_tables, n_categories)`.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import reticent as rt

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

EARLY = (10, 50)  # iterations after which the stopped EM stops
EM_LIMIT = 200_000
EM_SHORTFALL = 1e-9  # log-likelihood still missing, all reports together, when EM has run to its certificate
EM_GAP = 1e-14  # nothing better can be told from rounding


@dataclass(frozen=True)
class Method:
    """One estimator: its title, whose asymptotic variance it has, and for which n that variance is exact.

    `variance` is the arguments of `rt.asymptotic_covariance`, None where n·loss has no limit. `unbiased` says that the
    estimate is linear in the reports and unbiased, so that n times its mean loss is the constant at every n.
    """

    name: str
    title: str
    variance: tuple[str, ...] | None
    unbiased: bool = False


LIKELIHOOD = ("maximum_likelihood",)
METHODS = (
    Method("sample", "non-private sample", ("sample",), unbiased=True),
    Method("maximum_likelihood", "maximum likelihood", LIKELIHOOD),
    Method("em", "EM run to the certificate", LIKELIHOOD),
    Method("cvxpy", "CVXPY", LIKELIHOOD),
    Method("one_step", "one step", LIKELIHOOD),
    *(Method(f"em_{limit}", f"EM stopped after {limit} steps", None) for limit in EARLY),
    Method("affine", "moments, affine", ("moments", "affine"), unbiased=True),
    Method("centred", "moments, centred", ("moments", "centred"), unbiased=True),
    Method("projected", "moments, projected", ("moments", "centred")),
)


@dataclass(frozen=True, eq=False)
class EM:
    """EM on many tables at once: the shares, the iterations each table took and the log-likelihood it still misses."""

    shares: Floats
    iterations: NDArray[np.int64]
    shortfall: Floats


def em(matrix: Floats, counts: Counts, limit: int = EM_LIMIT) -> EM:
    """w_j ← w_j λ_j(w), λ_j(w) = Σ_a f_a K_aj / (Kw)_a, from equal shares.

    A table is done when n log max_j λ_j, which bounds the log-likelihood it still misses, is below 1e-9.
    """
    n = counts.sum(axis=1)
    f = counts / n[:, None]
    w = np.full((len(f), matrix.shape[1]), 1 / matrix.shape[1])
    shortfall = np.full(len(f), np.inf)
    iterations = np.zeros(len(f), dtype=np.int64)
    active = np.arange(len(f))
    for step in range(limit + 1):
        multipliers = _multipliers(matrix, f[active], w[active])
        gap = np.maximum(multipliers.max(axis=1) - 1, 0.0)
        shortfall[active], iterations[active] = n[active] * np.log1p(gap), step
        running = (shortfall[active] > EM_SHORTFALL) & (gap > EM_GAP)
        if step == limit or not running.any():
            break
        active = active[running]
        w[active] *= multipliers[running]
    return EM(w, iterations, shortfall)


def _multipliers(matrix: Floats, f: Floats, w: Floats) -> Floats:
    fitted = w @ matrix.T
    return np.asarray(np.divide(f, fitted, out=np.zeros_like(f), where=f > 0) @ matrix)


def has_cvxpy() -> bool:
    """Whether CVXPY is installed; it is in the `test` extra, and the reproduction leaves it out otherwise."""
    return importlib.util.find_spec("cvxpy") is not None


def by_cvxpy(matrix: Floats, counts: Counts) -> Floats:
    """max Σ f log(Kw) over the simplex by a general convex solver, default settings, shares as it returns them."""
    cvxpy: Any = importlib.import_module("cvxpy")  # optional, and without types
    w = cvxpy.Variable(matrix.shape[1], nonneg=True)
    f = cvxpy.Parameter(matrix.shape[0], nonneg=True)
    problem = cvxpy.Problem(cvxpy.Maximize(f @ cvxpy.log(matrix @ w)), [cvxpy.sum(w) == 1])
    found = []
    for row in counts:
        f.value = row / row.sum()
        problem.solve(solver=cvxpy.CLARABEL)
        found.append(w.value)
    return np.array(found)


def tallies(channel: rt.Channel, counts: Counts) -> Iterator[rt.PatternTally]:
    """One tally for each row of counts, in the order of `channel.keys()`."""
    keys = channel.keys().tolist()
    for row in counts:
        yield rt.PatternTally.from_counts(channel, dict(zip(keys, row.tolist(), strict=True)))


def by_tally(channel: rt.Channel, counts: Counts) -> dict[str, Floats]:
    """The package's estimators, one table after the other."""
    estimators: dict[str, Callable[[rt.PatternTally], Floats]] = {
        "maximum_likelihood": lambda tally: rt.maximum_likelihood(tally).probabilities,
        "one_step": lambda tally: rt.one_step(tally).probabilities,
        "affine": lambda tally: _linear(rt.moments(tally, form="affine")),
        "centred": lambda tally: _linear(rt.moments(tally, form="centred")),
        "projected": lambda tally: rt.moments(tally, form="centred").probabilities,
    }
    tables = list(tallies(channel, counts))
    return {name: np.array([estimate(table) for table in tables]) for name, estimate in estimators.items()}


def _linear(shares: rt.Shares) -> Floats:
    assert shares.unconstrained is not None  # moments always give the linear estimate
    return shares.unconstrained
