"""Reports about a number as the sets they are: runs of cells, where nothing tells the cells of a set apart."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from reticent.channel import Channel
from reticent.channel.ranges import NULL, Ranges
from reticent.keys import Keys

Runs = tuple[tuple[int, int], ...]
MOST_ENTRIES = 2**22


def report_sets(channel: Channel, keys: Keys) -> list[Runs | None]:
    """The cells first ≤ j < stop of each report, run by run, ascending.

    None where a report is likelier for some cells than for others that it leaves possible, and for "no range".

    >>> from reticent.domain import Numbers
    >>> from reticent.mechanisms import ring
    >>> channel = ring(Numbers("age", 0, 100, edges=[20, 40, 60, 80]), 0.4)
    >>> report_sets(channel, channel.keys()[[0, -1]])
    [((0, 2),), ((0, 2), (4, 5))]
    """
    found: list[Runs | None] = []
    for rows in _rows(channel, keys):
        held = rows > 0
        steps = np.diff(np.pad(held, ((0, 0), (1, 1))).astype(np.int8), axis=1)
        least = np.where(held, rows, np.inf).min(axis=1, initial=np.inf)
        alike = rows.max(axis=1, initial=0.0) - least <= 1e-12 * least
        found += [_runs(step) if same else None for step, same in zip(steps, alike, strict=True)]
    if isinstance(channel, Ranges):
        return [None if key == NULL else one for key, one in zip(keys.tolist(), found, strict=True)]
    return found


def shares_supported(channel: Channel, masses: NDArray[np.float64], keys: Keys) -> NDArray[np.float64]:
    """What share of people each report leaves possible when the cells hold these masses, shape `(n_reports,)`."""
    parts = [(rows > 0) @ masses for rows in _rows(channel, keys)]
    return np.concatenate([np.zeros(0), *parts])


def _rows(channel: Channel, keys: Keys) -> Iterator[NDArray[np.float64]]:
    """The chances of reports by cell, some reports at a time."""
    batch = max(1, MOST_ENTRIES // len(channel.domain))
    yield from (channel.rows(keys[first : first + batch]).dense() for first in range(0, len(keys), batch))


def _runs(steps: NDArray[np.int8]) -> Runs:
    return tuple(zip(np.flatnonzero(steps > 0).tolist(), np.flatnonzero(steps < 0).tolist(), strict=True))
