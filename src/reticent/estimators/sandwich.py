"""The covariance of an estimate from weighted reports, by linearisation.

With ψ_i = A⁻¹ · score_i the influence of report i per unit of weight, and H independent strata (tallies),

    Cov = Σ_h n_h/(n_h − 1) [Σ w²ψψᵀ − (Σ wψ)(Σ wψ)ᵀ/n_h] / (Σ w)²

which is A⁻¹BA⁻¹ with A the weighted information. Source: Binder (1983), International Statistical Review 51; it is what
the survey package of R computes for stratified designs with replacement.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from reticent.errors import EstimateError
from reticent.tallies import WeightedTally

Floats = NDArray[np.float64]
Influence = Callable[[WeightedTally, slice], Floats]
BATCH = 2**22


def sandwich(tallies: Sequence[WeightedTally], influence: Influence, full: bool = True) -> Floats:
    """The covariance, shape `(p, p)`, or with `full=False` its diagonal.

    `influence(tally, part)` gives ψ for the keys of that part, shape `(n_keys, p)`.
    Raises EstimateError for a stratum with a single report.
    """
    p = tallies[0].channel.n_categories
    covariance = np.zeros((p, p) if full else p)
    for tally in tallies:
        if not tally.n:
            continue
        if tally.n == 1:
            raise EstimateError(
                "A weighted tally (stratum) has a single report, so nothing says how much it varies. Add it to the tally "
                "of a stratum like it."
            )
        squares, total = np.zeros_like(covariance), np.zeros(p)
        batch = max(1, BATCH // p)
        for first in range(0, len(tally.keys), batch):
            part = slice(first, first + batch)
            psi = influence(tally, part)
            total += tally.weights[part] @ psi
            squares += psi.T @ (tally.squares[part, None] * psi) if full else tally.squares[part] @ psi**2
        between = np.outer(total, total) if full else total**2
        covariance += tally.n / (tally.n - 1) * (squares - between / tally.n)
    return np.asarray(covariance / sum(tally.total_weight for tally in tallies) ** 2)
