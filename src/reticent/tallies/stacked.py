"""Several tallies of reports over one domain, read as one problem."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TypeGuard

import numpy as np
from numpy.typing import NDArray

from reticent.errors import EstimateError
from reticent.rows import Rows, StackedRows
from reticent.tallies.addition import Tally
from reticent.tallies.grouped import GroupedTally
from reticent.tallies.overlap import counted_twice
from reticent.tallies.pattern import PatternTally
from reticent.tallies.support import SupportTally
from reticent.tallies.weighted import WeightedTally

Patterns = PatternTally | WeightedTally


def stack(tallies: Sequence[Tally]) -> tuple[Rows, NDArray[np.float64]]:
    """Likelihood rows and counts of several tallies over one domain, as one problem.

    The counts of weighted tallies are their weights, scaled to sum to the number of reports.
    Raises EstimateError for no tally, no report, different domains, or counts that are not of whole reports.
    """
    patterns = require_patterns(tallies)
    parts = [one.channel.rows(one.keys) for one in patterns if one.n]
    counts = np.concatenate([weights_of(one) for one in patterns])
    if weighted(patterns):
        counts *= sum(one.n for one in patterns) / counts.sum()
    return (parts[0] if len(parts) == 1 else StackedRows(parts)), counts


def check_tallies(tallies: Sequence[object]) -> None:
    """Raises EstimateError for no tally, no report, or what is not a tally; for different domains or a mix of kinds; and
    for reports given twice, as `overlap.counted_twice` tells them."""
    if not tallies:
        raise EstimateError("An estimate needs at least one tally.")
    known: list[Tally] = []
    for one in tallies:
        if not isinstance(one, Tally):
            hint = (
                " Estimate each of its groups, or .total()."
                if isinstance(one, GroupedTally)
                else " Use rt.tally(reports)."
            )
            raise EstimateError(f"An estimate takes tallies, not {type(one).__name__}.{hint}")
        known.append(one)
    if any(one.channel.domain != known[0].channel.domain for one in known):
        raise EstimateError("The tallies are over different domains; estimate each domain by itself.")
    if sum(one.n for one in known) == 0:
        raise EstimateError(
            f'There is no report on "{known[0].channel.domain.name}" in the tally; collect at least one.'
        )
    if len({isinstance(one, WeightedTally) for one in known}) > 1:
        raise EstimateError(
            "Weighted and unweighted tallies do not mix: nothing says how much an unweighted report weighs. Give every "
            "report a weight (1 for a simple random sample of the same population)."
        )
    if any(counted_twice(one, other) for one, other in combinations(known, 2)):
        raise EstimateError(
            "The same reports are given twice: two of the tallies are one, or hold equal counts. Give each once. If they "
            "are of different people and equal by chance, add them, one + other, and give the sum."
        )


def require_patterns(tallies: Sequence[Tally]) -> tuple[Patterns, ...]:
    """The tallies, when each says how often each report came. Raises EstimateError otherwise."""
    check_tallies(tallies)
    for one in tallies:
        if isinstance(one, SupportTally):
            raise EstimateError(
                "Support counts do not say which reports came, and the likelihood needs that. Count them with "
                'rt.tally(reports, kind="patterns"), or use moments.'
            )
    return tuple(one for one in tallies if isinstance(one, (PatternTally, WeightedTally)))


def weights_of(tally: Patterns) -> NDArray[np.float64]:
    """How much each report of the tally counts: how often it came, or the sum of its weights."""
    return tally.weights if isinstance(tally, WeightedTally) else tally.counts.astype(np.float64)


def weighted(tallies: Sequence[Tally]) -> TypeGuard[Sequence[WeightedTally]]:
    """Whether the tallies carry weights."""
    return all(isinstance(one, WeightedTally) for one in tallies)
