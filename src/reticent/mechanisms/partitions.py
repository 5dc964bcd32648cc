"""Any law of partitions of the cells (Ding and Ding, arXiv 2106.09565, extended mechanism)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from scipy import linalg

from reticent.channel import Table
from reticent.domain import Numbers
from reticent.errors import ParameterError
from reticent.mechanisms.chances import Chance, all_exact, as_chance
from reticent.mechanisms.ranges import told
from reticent.mechanisms.subsets import smallest_integers

_TOLERANCE = Fraction(1, 10**12)
Part = tuple[tuple[int, int], ...]


def extended(domain: Numbers, partitions: Iterable[tuple[Chance, Sequence[Any]]]) -> Table:
    """Draw a partition of the domain by a law of your own, report the part that holds the number.

    Each partition is a pair (chance, parts), and each part a list of pairs (low, high) of edges: the numbers in any of
    (low, high]. Parts may be unions, as where a ring joins both tails. P(part | x) = Σ chance of the partitions with that
    part, for x in it.

    Source: Ding and Ding, Interval Privacy, extended mechanism; sections 1.1 and 1.2 of our specification (resolvable: the
    indicator of every cell is a combination of those of the parts). Raises ParameterError for parts that overlap or leave
    cells out, chances that do not sum to 1 (exactly; with floats within 1e-12), and partitions that are not resolvable,
    naming the cells they do not tell apart.

    >>> number = Numbers("x", "-inf", "inf", edges=[-1, 1])
    >>> inner = [[("-inf", -1), (1, "inf")], [(-1, 1)]]
    >>> lower = [[("-inf", -1)], [(-1, "inf")]]
    >>> channel = extended(number, [("1/2", inner), ("1/2", lower)])
    >>> channel.reports
    ('up to -1', 'up to -1 or above 1', '(-1, 1]', 'above -1')
    """
    listed = [_read(domain, one) for one in partitions]
    total = sum((chance for chance, _ in listed), Fraction(0))
    exact = all_exact(given for given, _ in partitions) if isinstance(partitions, (list, tuple)) else False
    if not listed or abs(total - 1) > (0 if exact else _TOLERANCE):
        raise ParameterError(
            f'The chances of the partitions sum to {float(total):.15g}; they must sum to 1. Write thirds as "1/3".',
            total=total,
        )
    law: dict[Part, Fraction] = {}
    for chance, parts in listed:
        for part in parts:
            law[part] = law.get(part, Fraction(0)) + chance
    law = {part: chance for part, chance in sorted(law.items()) if chance}
    held = np.array([[any(low <= x < high for low, high in part) for x in range(len(domain))] for part in law])
    unknown = _unresolved(domain, held)
    if unknown:
        raise ParameterError(
            f'The partitions of "{domain.name}" are not resolvable: no combination of the parts gives the cells {told(unknown)}. '
            "Add partitions that cut at the edges beside them.",
            unresolved=unknown,
        )
    weights = smallest_integers(law)
    # The masses of the parts of a cell sum to the total chance, in whole numbers to the same denominator for each cell.
    rows = tuple(
        tuple(weight * bool(inside) for inside in row) for weight, row in zip(weights.values(), held, strict=True)
    )
    names = tuple(" or ".join(domain.label(*run) for run in part) for part in law)
    return Table(domain, names, None, rows, sum(row[0] for row in rows), "ranges of drawn partitions")


def _read(domain: Numbers, one: Any) -> tuple[Fraction, list[Part]]:
    if not isinstance(one, (tuple, list)) or len(one) != 2:
        raise ParameterError("A partition is a pair (chance, parts), each part a list of pairs (low, high).")
    chance, parts = as_chance(one[0], "The chance of a partition"), [_part(domain, part) for part in one[1]]
    times = [0] * len(domain)
    for part in parts:
        for low, high in part:
            for cell in range(low, high):
                times[cell] += 1
    wrong = [label for label, count in zip(domain.categories, times, strict=True) if count != 1]
    if wrong:
        raise ParameterError(
            f'The parts of a partition of "{domain.name}" must hold every cell once, and do not for {told(wrong)}.',
            cells=wrong,
        )
    return chance, parts


def _part(domain: Numbers, pairs: Any) -> Part:
    """The cells of a part as runs, neighbours joined."""
    if isinstance(pairs, (str, bytes)) or not isinstance(pairs, Iterable):
        raise ParameterError(f"{pairs!r} is no part; write it as a list of pairs (low, high).")
    runs: list[tuple[int, int]] = []
    for low, high in sorted(_run(domain, pair) for pair in pairs):
        if runs and runs[-1][1] == low:
            runs[-1] = runs[-1][0], high
        else:
            runs.append((low, high))
    if not runs:
        raise ParameterError("A part is empty; leave it out.")
    return tuple(runs)


def _run(domain: Numbers, pair: Any) -> tuple[int, int]:
    if not isinstance(pair, (tuple, list)) or len(pair) != 2:
        raise ParameterError(f"{pair!r} is no pair (low, high).")
    low, high = (domain.boundary_at(end) for end in pair)
    if low >= high:
        raise ParameterError(f"The range from {pair[0]!r} to {pair[1]!r} holds no cell; low must be below high.")
    return low, high


def _unresolved(domain: Numbers, held: np.ndarray[Any, np.dtype[np.bool_]]) -> list[str]:
    """The cells that some change of the shares, invisible in the reports, would change."""
    hidden = linalg.null_space(held.astype(np.float64))
    moved = np.abs(hidden).max(axis=1, initial=0.0) > 1e-9
    return [label for label, free in zip(domain.categories, moved.tolist(), strict=True) if free]
