"""Eight answers, simulated surveys and every possible set of answers, for the tests of thresholds."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from reticent.intervals import ConfidenceInterval

Floats = NDArray[np.float64]

EIGHT = np.arange(1.0, 9.0)
ANSWERS = np.array([0, 1, 0, 0, 1, 0, 1, 1])
T = 2 * 100 ** (1 / 3)
TAU = 0.7604718198376978  # G1: coverage of N(0, 1) under a logistic threshold
WIDE = stats.uniform(-6, 12)


def ends(found: ConfidenceInterval) -> tuple[float, float]:
    return float(found.low[0]), float(found.high[0])


def surveys(
    n: int, runs: int, seed: int, thresholds: Callable[[np.random.Generator], Floats], mean: float = 0.0
) -> Iterator[tuple[Floats, NDArray[np.bool_]]]:
    """Thresholds and answers of n people with N(mean, 1) values, many times."""
    random = np.random.default_rng(seed)
    for _ in range(runs):
        u = thresholds(random)
        yield u, random.normal(mean, 1, n) <= u


def every_answer(chances: Floats) -> Iterator[tuple[Floats, float]]:
    """Every set of 0/1 answers with its probability, each person's 1 having the chance given."""
    for bits in itertools.product([0.0, 1.0], repeat=len(chances)):
        delta = np.array(bits)
        yield delta, float(np.prod(np.where(delta == 1, chances, 1 - chances)))
