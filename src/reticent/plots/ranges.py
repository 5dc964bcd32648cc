"""Reports about a number as people sent them: ranges on the number line, some of them in two pieces."""

from __future__ import annotations

import math
from collections.abc import Sequence

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from reticent.plots.style import GROUND, INK, QUIET, RULE, SMALL, STYLE, canvas, dot, line, page_wide, right_label
from reticent.plots.text import percent, readable, shortened

Range = tuple[Sequence[tuple[float, float]], float]
ROW, BELOW = 36.0, 38.0
LETTERS = 52


@rc_context(STYLE)
def reported_ranges(
    ranges: Sequence[Range],
    names: Sequence[str],
    *,
    ends: tuple[float, float] = (-math.inf, math.inf),
    axis: str = "",
    limit: int = 6,
) -> Figure:
    """Draw reports as bars on the number line, each with its words and its share of all reports, at most `limit`.

    A range is its pieces (low, high) and its share; `ends` are those of the domain, `axis` names the number.

    >>> len(reported_ranges([([(0, 20), (45, 99)], 0.1)], ["up to 20 or above 45"], ends=(0, 99)).axes)
    1
    """
    shown = ranges[:limit]
    height = ROW * len(shown) + BELOW
    figure, axes = canvas(height, left=4, right=44, bottom=BELOW)
    axes.set_xlim(*number_span([end for pieces, _ in ranges for piece in pieces for end in piece], ends))
    for place, ((pieces, share), words) in enumerate(zip(shown, names, strict=False)):
        y = ROW * place
        axes.text(
            0, y + 9, shortened(readable(words), LETTERS), transform=page_wide(axes), va="center", color=INK, size=SMALL
        )
        range_line(axes, pieces, y + 24)
        right_label(axes, percent(share), y + 24)
    number_scale(axes, axis)
    return figure


def range_line(axes: Axes, pieces: Sequence[tuple[float, float]], y: float) -> None:
    """One report: its pieces as bars on a thin line that is the whole domain; a single number is a dot."""
    low, high = axes.get_xlim()
    axes.plot([low, high], [y, y], color=RULE, linewidth=0.8, zorder=0)
    for begin, end in pieces:
        inner = max(begin, low), min(end, high)
        line(axes, inner, [y, y], QUIET, 5, zorder=2)
        if inner[0] == inner[1]:
            dot(axes, inner[0], y, 6, QUIET, GROUND, 0.8, zorder=3)


def number_span(values: Sequence[float], ends: tuple[float, float]) -> tuple[float, float]:
    """The numbers to show: the domain, or where it has no end, a little beyond the last finite number.

    >>> number_span([2.0, 10.0], (0.0, float("inf")))
    (0.0, 10.8)
    """
    known = [value for value in (*values, *ends) if math.isfinite(value)] or [0.0]
    low, high = min(known), max(known)
    room = 0.08 * (high - low) or 1.0
    return (low if math.isfinite(ends[0]) else low - room), (high if math.isfinite(ends[1]) else high + room)


def number_scale(axes: Axes, name: str) -> None:
    """Few ticks on the number line, and what the number is."""
    axes.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:,.6g}".replace("-", "−")))
    axes.tick_params(length=0, pad=4)
    if name:
        axes.set_xlabel(shortened(readable(name), 50), color=QUIET, size=SMALL, labelpad=2)
