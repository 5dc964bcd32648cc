"""Thresholds from a density, or on a grid: it decides which limit laws hold."""

from __future__ import annotations

from reticent.errors import ParameterError
from reticent.thresholds.answers import Merged


def lies_on_grid(merged: Merged, on_grid: bool | None) -> bool:
    """What the caller says; by default whether any threshold was asked twice.

    Raises ParameterError for on_grid=False when thresholds repeat, for then the laws of a density would be wrong.
    """
    if on_grid is None:
        return merged.repeats
    if not on_grid and merged.repeats:
        raise ParameterError(
            "on_grid=False says that thresholds come from a density, but some of them repeat. Leave on_grid out, or say "
            "on_grid=True: other limit laws hold on a grid.",
            distinct=len(merged.threshold),
            n=merged.n,
        )
    return on_grid
