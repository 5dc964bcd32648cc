"""The prior: how common each answer is, known or estimated."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.domain import Categorical
from reticent.errors import ParameterError

Floats = NDArray[np.float64]
TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class Prior:
    """Probabilities of the categories, shape `(n_categories,)`, and their covariance where they are an estimate."""

    probabilities: Floats
    covariance: Floats | None = None

    def standard_error(self, gradient: Floats) -> float | None:
        """Of a number that depends on the prior, by the delta method; None for a prior taken as known."""
        if self.covariance is None:
            return None
        return math.sqrt(max(float(gradient @ self.covariance @ gradient), 0.0))


def as_prior(domain: Categorical, prior: Any) -> Prior:
    """A prior from an array, a mapping of labels to probabilities, or estimated shares.

    Estimated shares (with `probabilities` and `covariance`) are moved to the nearest distribution when an estimator
    left it. Raises ParameterError for anything else that is not a distribution over the domain.

    >>> as_prior(Categorical("smoker", ["yes", "no"]), {"no": 0.8, "yes": 0.2}).probabilities.tolist()
    [0.2, 0.8]
    """
    if hasattr(prior, "probabilities"):
        return _from_shares(domain, prior)
    if isinstance(prior, Mapping):
        wrong = sorted(str(label) for label in set(prior) ^ set(domain.categories))
        if wrong:
            raise ParameterError(
                f'The prior and "{domain.name}" do not share {", ".join(wrong[:5])}; give one probability per category.',
                labels=wrong,
            )
        prior = [prior[label] for label in domain.categories]
    weights = _vector(domain, prior)
    if (weights < 0).any() or abs(weights.sum() - 1) > TOLERANCE:
        raise ParameterError(
            f"The prior has smallest entry {weights.min():.6g} and sum {weights.sum():.12g}; probabilities are not "
            "negative and sum to 1. Divide counts by their total.",
            total=float(weights.sum()),
        )
    return Prior(weights / weights.sum())


def _from_shares(domain: Categorical, shares: Any) -> Prior:
    other = getattr(shares, "domain", domain)
    if other.categories != domain.categories:
        raise ParameterError(
            f'The shares are of "{other.name}", the channel asks "{domain.name}"; use shares of the latter.'
        )
    weights = _vector(domain, shares.probabilities)
    if (weights < 0).any() or abs(weights.sum() - 1) > TOLERANCE:
        weights = _nearest_distribution(weights)
    covariance = getattr(shares, "covariance", None)
    return Prior(weights / weights.sum(), None if covariance is None else np.asarray(covariance, dtype=np.float64))


def _vector(domain: Categorical, values: Any) -> Floats:
    try:
        weights = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        weights = np.array(np.nan)
    if weights.shape != (len(domain),) or not np.isfinite(weights).all():
        raise ParameterError(
            f'The prior of "{domain.name}" needs {len(domain)} finite numbers, one per category, in the order of the '
            f"domain; got shape {weights.shape}.",
            shape=weights.shape,
        )
    return weights


def _nearest_distribution(values: Floats) -> Floats:
    # Euclidean projection (Duchi and others, ICML 2008): a common amount off every entry, cut at zero.
    descending = np.sort(values)[::-1]
    excess = (np.cumsum(descending) - 1) / np.arange(1, len(values) + 1)
    return np.asarray(np.maximum(values - excess[np.flatnonzero(descending > excess)[-1]], 0.0))
