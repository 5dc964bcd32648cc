"""How plans are written: aligned tables, percentage points, and how many times as many."""

from __future__ import annotations

import math
from collections.abc import Sequence


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows as lines: the first column to the left, the others to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return ["  " + "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip() for row in rows]


def points(share: float) -> str:
    """A share as percentage points, three significant digits at most.

    >>> points(0.03), points(0.0618), points(0.031)
    ('3', '6.18', '3.1')
    """
    return f"{100 * share:.3g}" if share < 9.995 else f"{100 * share:,.0f}"


def reached(share: float) -> str:
    """A precision as percentage points with three significant digits, zeros at the end as well.

    >>> reached(0.12), reached(0.1187), reached(0.03), reached(1.5)
    ('12.0', '11.9', '3.00', '150')
    """
    return f"{100 * share:#.3g}".removesuffix(".") if share < 9.995 else f"{100 * share:,.0f}"


def times(factor: float) -> str:
    """How many times as many answers as without privacy.

    >>> times(4.04), times(1.0), times(231.7)
    ('4.0 times as many as asking openly', 'as many as asking openly', '232 times as many as asking openly')
    """
    if math.isinf(factor):
        return "where one open answer is enough"
    if f"{factor:.2f}" == "1.00":
        return "as many as asking openly"
    often = f"{factor:.1f}" if factor < 100 else f"{factor:,.0f}"
    return f"{often} times as many as asking openly"


def amount(value: float) -> str:
    """A number with three significant digits, written out.

    >>> amount(412.34), amount(12345.6), amount(0.04567), amount(0)
    ('412', '12,346', '0.0457', '0')
    """
    if not value > 0:
        return "0"
    return f"{value:,.{max(0, 2 - math.floor(math.log10(value)))}f}"
