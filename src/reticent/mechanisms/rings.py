"""What a ring may be cut into: cut sets whose ranges all meet the floor, and cells that are reported as they are."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Any

from reticent.channel.cuts import MOST_SETS, Arc
from reticent.domain import Numbers
from reticent.errors import ParameterError


@dataclass(frozen=True)
class Accepted:
    """The run of cells that people report as they are; None for no such cells."""

    run: Arc | None

    @classmethod
    def of(cls, domain: Numbers, ends: Any) -> Accepted:
        """The cells of (low, high]. Raises DomainError unless both are edges, ParameterError for no or all cells."""
        if ends is None:
            return cls(None)
        if not isinstance(ends, (tuple, list)) or len(ends) != 2:
            raise ParameterError(f"acceptable is {ends!r}; give the two ends (low, high), both edges.", acceptable=ends)
        first, stop = (domain.boundary_at(end) for end in ends)
        if not first < stop or stop - first == len(domain):
            raise ParameterError(
                f"acceptable is {ends!r}; it must hold some cells, not all. To report every answer use full_response.",
                acceptable=ends,
            )
        return cls((first, stop))

    def outside(self, masses: tuple[int, ...]) -> tuple[int, ...]:
        """The masses with those of the acceptable cells taken as 0: they are no part of any range."""
        if self.run is None:
            return masses
        return tuple(0 if self.run[0] <= cell < self.run[1] else mass for cell, mass in enumerate(masses))


def ring_sets(
    domain: Numbers, masses: tuple[int, ...], total: int, tau: Fraction, n_ranges: int, accepted: Arc | None
) -> list[tuple[int, ...]]:
    """Every set of n_ranges cuts of the ring whose ranges all hold mass ≥ τ · total and more than one possible value.

    Ranges within the accepted cells are never reported and may be of any mass. Ascending.
    Raises ParameterError above 2^17 sets.

    >>> ring_sets(Numbers("x", 0, 4, edges=[1, 2, 3]), (1, 1, 1, 1), 4, Fraction(1, 2), 2, None)
    [(0, 2), (1, 3)]
    """
    n_cells = len(domain)
    before = list(accumulate((*masses, *masses), initial=0))
    least = -(-tau.numerator * total // tau.denominator)

    def allowed(start: int, stop: int) -> bool:
        """Whether the cells start ≤ j < stop, counted on from n_cells to the beginning, can be a range."""
        if accepted is not None and accepted[0] <= start and stop <= accepted[1]:
            return True
        alone = stop <= n_cells and domain.holds_one_value(start, stop)
        return not alone and before[stop] - before[start] >= least

    found: list[tuple[int, ...]] = []
    unfinished: list[tuple[int, ...]] = [(first,) for first in reversed(range(n_cells))]
    while unfinished:
        cuts = unfinished.pop()
        if len(cuts) == n_ranges:
            if allowed(cuts[-1], cuts[0] + n_cells):
                found.append(cuts)
            _check_number(found, n_cells)
            continue
        # What is left of the ring must do for the ranges still to come; accepted cells need nothing.
        needed = 0 if accepted is not None else least * (n_ranges - len(cuts))
        full = before[cuts[0] + n_cells]
        further = [
            cut for cut in range(cuts[-1] + 1, n_cells) if full - before[cut] >= needed and allowed(cuts[-1], cut)
        ]
        unfinished.extend((*cuts, cut) for cut in reversed(further))
    return found


def _check_number(found: list[tuple[int, ...]], n_cells: int) -> None:
    if len(found) > MOST_SETS:
        raise ParameterError(
            f"More than {MOST_SETS:,} cut sets of {n_cells} cells meet the floor, too many for a channel to list. Take coarser "
            "edges or fewer ranges.",
            n_cells=n_cells,
        )
