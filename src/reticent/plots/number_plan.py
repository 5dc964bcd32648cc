"""Designs for a number beside each other: the answers they need, or the precision they give, and what reports leave."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator

from reticent.plots.style import (
    ESTIMATE,
    GROUND,
    INK,
    QUIET,
    RULE,
    SMALL,
    STYLE,
    TEXT,
    WIDTH,
    canvas,
    dot,
    headline,
    headline_height,
    left_label,
    left_text,
    line,
)
from reticent.plots.text import percent, readable, text_width, thousands, wrapped

LETTERS = 54  # of a name in a line
LEFT, RIGHT, AXIS = 6.0, 8.0, 38.0
LINE, UNDER, GAP = 15.0, 15.0, 26.0  # a line of a name, the line under it, and the rule with the dot
MANY = 12


@rc_context(STYLE)
def designs_compared(
    labels: Sequence[str],
    values: Sequence[float],
    kept: Sequence[tuple[float, float]],
    *,
    openly: tuple[float, str],
    written: Sequence[str],
    finding: str,
    unit: str = "answers needed",
    limit: int = MANY,
) -> Figure:
    """Draw one row per design, at most `limit`: a dot at its value on a logarithmic axis, `written` beside it.

    Values are answers needed or a precision, named by `unit`; `openly` is that of asking without privacy, and how it is
    written. `kept` holds (coverage, narrowest) of each design. `finding` is the heading.

    >>> len(designs_compared(["a"], [340], [(0.75, 0.05)], openly=(128, "128"), written=["340"], finding="x").axes)
    1
    """
    shown = range(min(len(labels), limit))
    names = ["asked openly", *(wrapped(labels[i], LETTERS) for i in shown)]
    under = ["", *(f"coverage {percent(kept[i][0])}, narrowest report {percent(kept[i][1])}" for i in shown)]
    points = [openly, *((values[i], written[i]) for i in shown)]
    heights = [
        LINE * (1 + name.count("\n")) + (UNDER if words else 0) + GAP for name, words in zip(names, under, strict=True)
    ]
    extra = len(labels) - len(shown)
    y = headline_height(finding) + 12
    height = y + sum(heights) + (18 if extra else 0) + AXIS
    figure, axes = canvas(height, left=LEFT, right=RIGHT, bottom=AXIS)
    headline(figure, finding)
    _scale(axes, [value for value, _ in points])
    for place, (name, words, own, (value, number)) in enumerate(zip(names, under, heights, points, strict=True)):
        left_label(axes, name, y + LINE * (1 + name.count("\n")) / 2)
        left_text(axes, words, y + own - GAP - UNDER / 2)
        _point(axes, value, number, y + own - GAP + 9, hollow=place == 0)
        y += own
    if extra:
        left_text(axes, f"and {extra:,} more that do worse", y + 6)
    figure.text(1 - RIGHT / WIDTH, 5 / height, f"{readable(unit)} →", ha="right", size=SMALL, color=QUIET)
    return figure


def _scale(axes: Axes, values: Sequence[float]) -> None:
    low, high = min(values) / 1.08, 1.08 * max(values)
    high = max(high, 4 * low)
    axes.set_xscale("log")
    axes.set_xlim(low, high)
    steps = (1, 2, 5) if high / low < 60 else (1,)
    ticks = [step * 10.0**k for k in range(-12, 16) for step in steps if low <= step * 10.0**k <= high]
    axes.xaxis.set_major_locator(FixedLocator(ticks[:: 1 + len(ticks) // 6]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(lambda v, _: thousands(v) if v >= 1 else f"{v:.3g}")
    axes.tick_params(length=0, pad=4)


def _point(axes: Axes, value: float, number: str, y: float, *, hollow: bool) -> None:
    """The dot on its rule, the number beside it on the side that has room."""
    low, high = axes.get_xlim()
    line(axes, [low, high], [y, y], RULE, 0.6, zorder=0)
    if hollow:
        dot(axes, value, y, 7, GROUND, INK, 1.2, zorder=4)
    else:
        dot(axes, value, y, 8, ESTIMATE, GROUND, 1.2, zorder=4)
    room = WIDTH - LEFT - RIGHT
    across = room * float(axes.transLimits.transform(axes.transScale.transform((value, y)))[0])
    left = across + text_width(number, TEXT) + 16 > room
    axes.annotate(
        number, (value, y), (-8 if left else 8, 0), textcoords="offset points", ha="right" if left else "left",
        va="center", weight="normal" if hollow else "bold", zorder=5,
        bbox={"facecolor": GROUND, "edgecolor": "none", "pad": 1.0},
    )  # fmt: skip
