"""Folds for cross-fitting: what is estimated on the other folds knows nothing of a person's own answer."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reticent.errors import EstimateError, ParameterError
from reticent.thresholds.answers import Floats, Merged, merge

Places = NDArray[np.intp]


def folds(n: int, n_folds: int, seed: int) -> list[Places]:
    """A random division of 0 … n − 1 into folds whose sizes differ by at most one.

    Raises ParameterError for fewer than two folds, EstimateError with fewer than two people in each.

    >>> sorted(len(fold) for fold in folds(11, 5, seed=0))
    [2, 2, 2, 2, 3]
    """
    if n_folds < 2:
        raise ParameterError(f"n_folds is {n_folds}; cross-fitting needs at least 2.", n_folds=n_folds)
    if n < 2 * n_folds:
        raise EstimateError(f"{n} answers are too few for {n_folds} folds of at least two; use fewer folds.")
    return np.array_split(np.random.default_rng(seed).permutation(n), n_folds)


def other_folds(u: Floats, delta: Floats, own: Places) -> Merged:
    """The answers of everybody else, merged."""
    others = np.ones(len(u), dtype=bool)
    others[own] = False
    return merge(u[others], delta[others])
