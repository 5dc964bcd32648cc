"""Answers to "is your value at most u?": the thresholds, the 0/1 answers, and how many people gave each."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reticent.errors import ParameterError, ReportError

Floats = NDArray[np.float64]
# Steps of a grid with K points bias a mean by at most range/(2K); its standard error is about 0.4 range/√n or more.
# With K ≥ 10√n the bias is below an eighth of the standard error.
FINE = 10.0


@dataclass(frozen=True, eq=False)
class Merged:
    """Distinct thresholds in increasing order, the weight of all answers at each, and of those that are 1."""

    threshold: Floats
    total: Floats
    below: Floats

    @cached_property
    def n(self) -> float:
        """Total weight; the number of answers when every weight is a count."""
        return float(self.total.sum())

    @property
    def all_equal(self) -> bool:
        """Whether everybody gave the same answer, or there is one answer only: F is then not estimated at all."""
        return bool((self.below == 0).all() or (self.below == self.total).all())

    @property
    def repeats(self) -> bool:
        """Whether any threshold was asked more than once, which thresholds from a density never are."""
        return bool((self.total > 1).any())

    @property
    def coarse(self) -> bool:
        """Whether the thresholds lie on a grid whose steps matter: fewer than 10√n points.

        The number of points is estimated by n(n − 1) / Σ W(W − 1), W answers at each threshold.
        """
        pairs = float((self.total * (self.total - 1)).sum())
        return pairs > 0 and self.n * (self.n - 1) / pairs < FINE * np.sqrt(self.n)


def checked(thresholds: ArrayLike, below: ArrayLike) -> tuple[Floats, Floats]:
    """Both as float arrays of one shape. Raises ReportError for what no threshold question can have sent."""
    u, delta = np.asarray(thresholds, dtype=np.float64), np.asarray(below, dtype=np.float64)
    if u.shape != delta.shape or u.size == 0:
        raise ReportError(
            f"thresholds have shape {u.shape} and answers {delta.shape}; give one 0/1 answer for each threshold.",
            thresholds=u.shape,
            answers=delta.shape,
        )
    if not np.isfinite(u).all():
        raise ReportError("Every threshold must be a finite number; leave out people who were not asked.")
    if not ((delta == 0) | (delta == 1)).all():
        raise ReportError("Every answer must be 0 or 1: whether the value is at most the threshold.")
    return u, delta


def each_person(thresholds: ArrayLike, below: ArrayLike, counts: ArrayLike | None) -> tuple[Floats, Floats]:
    """One entry per person, shape `(n,)`; `counts` says how many people gave each row."""
    u, delta = _one_column(thresholds, below)
    if counts is None:
        return u, delta
    times = whole_counts(counts, len(u)).astype(np.int64)
    return np.repeat(u, times), np.repeat(delta, times)


def merge(thresholds: ArrayLike, below: ArrayLike, weights: ArrayLike | None = None) -> Merged:
    """Merge equal thresholds; `weights` are positive, by default 1.

    Raises ReportError for invalid answers, ParameterError for weights that are not finite and ≥ 0, or all 0.
    """
    u, delta = _one_column(thresholds, below)
    w = np.ones(len(u)) if weights is None else np.asarray(weights, dtype=np.float64)
    if w.shape != u.shape or not np.isfinite(w).all() or (w < 0).any() or not w.any():
        raise ParameterError("weights must be finite, at least 0 and not all 0, one for each answer.")
    kept = w > 0
    at, place = np.unique(u[kept], return_inverse=True)
    total, ones = (np.bincount(place, each, len(at)) for each in (w[kept], w[kept] * delta[kept]))
    return Merged(at, np.asarray(total, dtype=np.float64), np.asarray(ones, dtype=np.float64))


def merge_people(thresholds: ArrayLike, below: ArrayLike, counts: ArrayLike | None) -> Merged:
    """As `merge`, for weights that count people, which the laws of tests and intervals need."""
    if counts is None:
        return merge(thresholds, below)
    return merge(thresholds, below, whole_counts(counts, np.size(np.asarray(thresholds))))


def whole_counts(counts: ArrayLike, n_rows: int) -> Floats:
    """Raises ParameterError unless these are whole numbers ≥ 0, one per row and not all 0."""
    times = np.asarray(counts, dtype=np.float64)
    if (
        times.shape != (n_rows,)
        or not np.isfinite(times).all()
        or (times < 0).any()
        or (times % 1).any()
        or not times.any()
    ):
        raise ParameterError(
            "counts must be whole numbers, at least 0 and not all 0, one for each row: how many people gave that answer. "
            "Survey weights are not counts; the distribution takes them as weights=."
        )  # fmt: skip
    return times


def _one_column(thresholds: ArrayLike, below: ArrayLike) -> tuple[Floats, Floats]:
    u, delta = checked(thresholds, below)
    if u.ndim != 1:
        raise ReportError(
            f"thresholds have shape {u.shape}; this takes one threshold per person. inverse_density takes several.",
            shape=u.shape,
        )
    return u, delta
