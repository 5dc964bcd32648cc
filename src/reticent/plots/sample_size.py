"""Precision against the number of answers for one mechanism, and what one report gives away for it."""

from __future__ import annotations

import math
from typing import Any, Literal

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator

from reticent.plots.style import (
    ESTIMATE,
    GROUND,
    INK,
    LEAK,
    QUIET,
    RULE,
    SAFE,
    SMALL,
    STYLE,
    TEXT,
    WIDTH,
    canvas,
    dot,
    headline,
    headline_height,
    line,
)
from reticent.plots.text import percentage_points, readable, thousands, wrapped

CURVES, BELOW, AXIS = 200.0, 62.0, 50.0
Point = tuple[int, float]


@rc_context(STYLE)
def answers_needed(
    label: str,
    planned: Point,
    openly: Point,
    privacy: tuple[float, float],
    *,
    asked: Literal["n", "precision"],
    finding: str,
    unit: str = "± percentage points",
) -> Figure:
    """Draw precision (up) against answers (across, logarithmic), precision ∝ 1/√n through `planned` = (n, precision).

    `openly` is the same for asking without privacy, dashed. What was asked is a line across (a precision) or up (a number
    of answers). Below, what a report gives away: `privacy` holds (bits, bits in an answer). `finding` is the heading.

    >>> len(answers_needed("a", (4310, 0.03), (1068, 0.03), (1.0, 2.3), asked="precision", finding="x").axes)
    2
    """
    top = headline_height(finding) + 30
    height = top + CURVES + AXIS + BELOW
    figure, axes = canvas(height, left=44, right=14, bottom=BELOW + AXIS, top=top, flip=False)
    headline(figure, finding)
    _scales(axes, asked, planned, openly)
    _asked(axes, asked, *planned)
    _curve(axes, openly, QUIET, 1.4, (0, (4, 3)))
    _curve(axes, planned, ESTIMATE, 2.0, "-")
    dot(axes, *openly, 6, GROUND, INK, 1.2, zorder=4)
    dot(axes, *planned, 8, ESTIMATE, GROUND, 1.2, zorder=5)
    _ends(axes, asked, readable(label), planned, openly)
    quiet: Any = {"color": QUIET, "size": SMALL}
    figure.text(0, 1 - (top - 12) / height, f"↑ less certain: {unit}", va="center", **quiet)
    figure.text(1 - 14 / WIDTH, (BELOW + 12) / height, "number of answers →", ha="right", **quiet)
    _given_away(figure, height, *privacy)
    return figure


def _scales(axes: Axes, asked: Literal["n", "precision"], planned: Point, openly: Point) -> None:
    low, high = _reach(openly[0], planned[0]) if asked == "precision" else (planned[0] / 4, 4 * planned[0])
    axes.set_xscale("log")
    axes.set_xlim(low, high)
    axes.set_ylim(0, 1.9 * planned[1])
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = (1, 2, 5) if high / low < 60 else (1,)
    ticks = [step * 10.0**k for k in decades for step in steps if 1.2 * low <= step * 10.0**k <= high / 1.2]
    axes.xaxis.set_major_locator(FixedLocator(ticks[:: 1 + len(ticks) // 5]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(lambda v, _: thousands(v))
    axes.yaxis.set_major_formatter(lambda v, _: f"{100 * v:.3g}")
    axes.locator_params(axis="y", nbins=4)
    axes.tick_params(length=0)
    axes.grid(True, color=RULE, linewidth=0.6)
    axes.set_axisbelow(True)


def _reach(openly: int, planned: int) -> tuple[float, float]:
    """From where to where the answers go: room for the words left of asking openly and right of the plan."""
    span = max((math.log(planned) - math.log(openly)) / 0.37, math.log(16))
    high = math.log(planned) + 0.4 * span
    return math.exp(high - (high - math.log(openly)) / 0.73), math.exp(high)


def _asked(axes: Axes, asked: Literal["n", "precision"], n: int, precision: float) -> None:
    (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    if asked == "n":
        line(axes, [n, n], [bottom, top], INK, 0.9, zorder=2)
    else:
        line(axes, [left, right], [precision, precision], INK, 0.9, zorder=2)


def _curve(axes: Axes, through: Point, colour: str, width: float, dashes: Any) -> None:
    """The part of precision ∝ 1/√n through a point that is inside the axes."""
    n, precision = through
    (left, right), (_, top) = axes.get_xlim(), axes.get_ylim()
    left = max(left, n * (precision / top) ** 2)
    across = [left * (right / left) ** (i / 100) for i in range(101)]
    up = [precision * math.sqrt(n / x) for x in across]
    axes.plot(across, up, color=colour, linewidth=width, zorder=3, linestyle=dashes)


def _ends(axes: Axes, asked: Literal["n", "precision"], name: str, planned: Point, openly: Point) -> None:
    """Names and numbers at the points: above and right of the plan's curve, below and left of asking openly."""
    own, other = (f"{n:,}" if asked == "precision" else f"±{percentage_points(y)}" for n, y in (planned, openly))
    axes.annotate(
        f"{wrapped(name, 16)}\n{own}", planned, (9, 6), textcoords="offset points", ha="left", va="bottom", weight="bold",
        size=TEXT, color=INK, zorder=6,
    )  # fmt: skip
    axes.annotate(
        f"asked openly\n{other}", openly, (-9, -6), textcoords="offset points", ha="right", va="top", size=SMALL,
        color=QUIET, zorder=6,
    )  # fmt: skip


def _given_away(figure: Figure, height: float, bits: float, most: float) -> None:
    axes = figure.add_axes((0, 0, 1, BELOW / height))
    axes.set_axis_off()
    axes.set_xlim(0, WIDTH)
    axes.set_ylim(BELOW, 0)
    marker = 6 + (WIDTH - 12) * (min(bits / most, 1.0) if most > 0 else 0.0)
    axes.text(0, 14, f"One report gives away {bits:.2g} of {most:.3g} bits", va="center")
    line(axes, [marker, WIDTH - 6], [34, 34], SAFE, 7, zorder=1, alpha=0.45)
    line(axes, [6, marker], [34, 34], LEAK, 7, zorder=2)
    dot(axes, marker, 34, 10, LEAK, GROUND, 1.4, zorder=4)
    axes.text(0, 53, "nothing", va="center", color=QUIET, size=SMALL)
    axes.text(WIDTH, 53, "the answer itself", ha="right", va="center", color=QUIET, size=SMALL)
