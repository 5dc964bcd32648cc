"""Means from the maximum likelihood law, for which the law of the thresholds need not be known.

Source: section 4.4 of our specification of interval privacy.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from reticent.errors import EstimateError, ParameterError
from reticent.thresholds.anchor_density import EVERYWHERE, Domain
from reticent.thresholds.answers import Merged, merge_people
from reticent.thresholds.functional import MEAN, Functional, FunctionalEstimate
from reticent.thresholds.step_cdf import StepCDF, fitted, refuse_equal_answers


def npmle_plug_in(
    thresholds: ArrayLike,
    below: ArrayLike,
    functional: Functional = MEAN,
    *,
    domain: Domain = EVERYWHERE,
    n_resamples: int = 500,
    seed: int = 0,
    counts: ArrayLike | None = None,
) -> FunctionalEstimate:
    """∫ h dF̂ with each mass at the middle of its interval, and the smallest and largest value over all places.

    F̂ tells the mass of each interval between thresholds, not where in it the mass lies: `lowest` and `highest` are the
    extremes of ∫ h dF̂. For thresholds on a grid these are the bounds that the data allow, and the midpoint value is only a
    convention. For thresholds from a density that cover the values, the estimate attains the smallest possible variance.
    The standard error is that of a bootstrap of people with `n_resamples` resamples, drawn with `seed`; NaN for none and
    when the domain has no finite ends. Time grows as n_resamples · n.

    Source: section 4.4 of our specification. Arrays of shape `(n,)`; `counts` says how many people gave each row.
    Raises EstimateError when all answers are equal or when mass lies on an interval without end.

    >>> found = npmle_plug_in(range(1, 9), [0, 1, 0, 0, 1, 0, 1, 1], domain=(0, 9), n_resamples=0)
    >>> [round(value, 4) for value in (found.value, found.lowest, found.highest)]
    [4.5, 4.0, 5.0]
    """
    merged = merge_people(thresholds, below, counts)
    refuse_equal_answers(merged, "an estimate of E h(Y)")
    if n_resamples < 0:
        raise ParameterError(f"n_resamples is {n_resamples}; give 0 for no standard error, or some hundreds.")
    value, lowest, highest = _value_and_extremes(fitted(merged), functional, domain)
    return FunctionalEstimate(
        value,
        _bootstrap_error(merged, functional, domain, n_resamples, seed),
        method="maximum likelihood, midpoints",
        estimand=f"{functional.name} of the values",
        n=int(merged.n),
        lowest=lowest,
        highest=highest,
    )


def _value_and_extremes(law: StepCDF, functional: Functional, domain: Domain) -> tuple[float, float, float]:
    left, right, mass = law.masses(*domain)
    if not (np.isfinite(left).all() and np.isfinite(right).all()):
        below, above = float(mass[np.isinf(left)].sum()), float(mass[np.isinf(right)].sum())
        raise EstimateError(
            f"A share of {below:.4f} lies below and {above:.4f} above every threshold, where nothing bounds the values. Give "
            "domain=(low, high) if the values have limits.",
            below=below,
            above=above,
        )
    smallest, largest = functional.range_on(left, right)
    middle = functional.h((left + right) / 2)
    return float(mass @ middle), float(mass @ smallest), float(mass @ largest)


def _bootstrap_error(merged: Merged, functional: Functional, domain: Domain, n_resamples: int, seed: int) -> float:
    if n_resamples < 2 or not np.isfinite(domain).all():
        return math.nan
    generator = np.random.default_rng(seed)
    n, k = int(merged.n), len(merged.threshold)
    chances = np.concatenate([merged.below, merged.total - merged.below]) / merged.n
    found = np.empty(n_resamples)
    for i in range(n_resamples):
        drawn = generator.multinomial(n, chances).astype(np.float64)
        ones, total = drawn[:k], drawn[:k] + drawn[k:]
        asked = total > 0
        resample = Merged(merged.threshold[asked], total[asked], ones[asked])
        found[i] = _value_and_extremes(fitted(resample), functional, domain)[0]
    return float(found.std(ddof=1))
