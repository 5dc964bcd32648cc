"""The distribution function of a number, with what is not known about it."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from reticent.plots.style import (
    ESTIMATE,
    GROUND,
    LIGHT,
    QUIET,
    RULE,
    SMALL,
    STYLE,
    WIDTH,
    canvas,
    dot,
    headline,
    headline_height,
    left_text,
    line,
    right_label,
)
from reticent.plots.text import percent, readable, shortened

Band = tuple[Sequence[float], Sequence[float], Sequence[float]]
Range = tuple[Sequence[tuple[float, float]], float]
CURVE, HILL, ROW = 170.0, 64.0, 17.0
NOTE, LINE = 56, 1.45 * SMALL  # letters in a line of the note, and its height
LEFT, RIGHT = 44.0, 44.0


@rc_context(STYLE)
def cumulative(
    left: Sequence[float],
    right: Sequence[float],
    mass: Sequence[float],
    *,
    finding: str = "",
    note: str = "",
    axis: str = "",
    ends: tuple[float, float] = (-math.inf, math.inf),
    band: Band | None = None,
    density: tuple[Sequence[float], Sequence[float]] | None = None,
    ranges: Sequence[Range] = (),
    limit: int = 6,
) -> Figure:
    """Draw the share of people up to each number, from masses on intervals (left, right].

    The line is the share that is surely there, the light steps above it what may be there too, for where in its interval
    a mass lies is not known. `band` has points and the limits at them; `density` places and heights, and is labelled
    "smoothed". `ranges` are reports as pieces of the number line with their shares, the most common first; the first
    `limit` are drawn. `ends` are those of the domain, `axis` names the number, `note` stands under the heading.

    >>> len(cumulative([0.0, 2.0], [1.0, 2.0], [0.25, 0.75], finding="Most are at 2", axis="children").axes)
    1
    """
    shown = ranges[:limit]
    rows = 26 + ROW * len(shown) if shown else 0.0
    hill = HILL + 10 if density else 0.0
    noted = textwrap.wrap(readable(note), NOTE)
    words = headline_height(finding) if finding else 0.0
    top = words + LINE * len(noted) + (12 if finding else 8)
    height = top + CURVE + hill + 40 + rows
    figure, axes = canvas(height, left=LEFT, right=RIGHT, bottom=height - top - CURVE, top=top, flip=False)
    if finding:
        headline(figure, finding)
    figure.text(0, 1 - (words + 2) / height, "\n".join(noted), va="top", color=QUIET, size=SMALL, linespacing=1.2)
    span = _span([*left, *right, *(band[0] if band else ())], ends)
    axes.set_xlim(*span)
    axes.set_ylim(0, 1)
    _share_scale(axes)
    _curve(axes, left, right, mass, span, band)
    lowest = axes
    if density:
        lowest = _panel(figure, top + CURVE + 10, HILL, span)
        _hill(lowest, *density)
    _number_scale(lowest, axis)
    if density:
        axes.tick_params(labelbottom=False)
    if shown:
        ruler = _panel(figure, height - rows, rows, span)
        _ruler(ruler, shown, rows)
    return figure


def _panel(figure: Figure, from_top: float, height: float, span: tuple[float, float]) -> Axes:
    """Further axes of the same width under the first."""
    whole = 72 * figure.get_figheight()
    axes = figure.add_axes((LEFT / WIDTH, 1 - (from_top + height) / whole, 1 - (LEFT + RIGHT) / WIDTH, height / whole))
    axes.patch.set_visible(False)
    for side in ("top", "left", "right", "bottom"):
        axes.spines[side].set_visible(False)
    axes.set_xlim(*span)
    axes.set_yticks([])
    return axes


def _span(values: Sequence[float], ends: tuple[float, float]) -> tuple[float, float]:
    """The numbers to show: the domain, or where it has no end, a little beyond the last finite number."""
    known = [value for value in (*values, *ends) if math.isfinite(value)] or [0.0]
    low, high = min(known), max(known)
    room = 0.08 * (high - low) or 1.0
    return (low if math.isfinite(ends[0]) else low - room), (high if math.isfinite(ends[1]) else high + room)


def _share_scale(axes: Axes) -> None:
    axes.yaxis.set_major_locator(MaxNLocator(4, steps=[2.5]))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{100 * v:.0f}%"))
    axes.tick_params(length=0, pad=4)
    axes.grid(True, axis="y", color=RULE, linewidth=0.6)
    axes.axhline(0, color=QUIET, linewidth=1, zorder=1)
    axes.set_axisbelow(True)


def _number_scale(axes: Axes, name: str) -> None:
    axes.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:,.6g}".replace("-", "−")))
    axes.tick_params(length=0, pad=4)
    if name:
        axes.set_xlabel(shortened(name, 50), color=QUIET, size=SMALL, labelpad=2)


def _curve(
    axes: Axes,
    left: Sequence[float],
    right: Sequence[float],
    mass: Sequence[float],
    span: tuple[float, float],
    band: Band | None,
) -> None:
    total = np.append(0.0, np.cumsum(mass))
    at = [np.clip(np.concatenate([[span[0]], ends, [span[1]]]), *span) for ends in (left, right)]
    greatest, least = (np.append(total, total[-1]) for _ in at)
    places = np.union1d(*at)
    low, high = (
        values[np.searchsorted(x[:-1], places, side="right") - 1]
        for x, values in ((at[1], least[:-1]), (at[0], greatest[:-1]))
    )
    axes.fill_between(places, low, high, step="post", color=LIGHT, alpha=0.5, linewidth=0, zorder=2)
    if band is not None:
        _band(axes, band, span)
    axes.step(places, low, where="post", color=ESTIMATE, linewidth=1.6, zorder=4, clip_on=False)


def _band(axes: Axes, band: Band, span: tuple[float, float]) -> None:
    """The band as it holds: the lower limit carries on to the right, the upper one to the left."""
    at = np.concatenate([[span[0]], band[0], [span[1]]])
    low, high = np.concatenate([[0.0], band[1], [1.0]]), np.concatenate([[0.0], band[2], [1.0]])
    low[-1] = low[-2]
    high[0] = high[1]
    axes.step(at, low, where="post", color=ESTIMATE, linewidth=0.8, alpha=0.7, zorder=3)
    axes.step(at, high, where="pre", color=ESTIMATE, linewidth=0.8, alpha=0.7, zorder=3)
    places = np.repeat(at, 2)[1:-1]
    axes.fill_between(
        places, np.repeat(low[:-1], 2), np.repeat(high[1:], 2), color=ESTIMATE, alpha=0.14, linewidth=0, zorder=1
    )


def _hill(axes: Axes, places: Sequence[float], heights: Sequence[float]) -> None:
    axes.set_ylim(0, 1.4 * max(heights))
    axes.fill_between(places, 0, heights, color=LIGHT, alpha=0.4, linewidth=0, zorder=1)
    line(axes, places, heights, LIGHT, 1.4, zorder=2)
    axes.axhline(0, color=QUIET, linewidth=1, zorder=3)
    axes.text(1, 0.98, "smoothed", transform=axes.transAxes, ha="right", va="top", color=QUIET, size=SMALL)


def _ruler(axes: Axes, ranges: Sequence[Range], height: float) -> None:
    """Some reports as ranges of the number, with how common each was."""
    axes.set_ylim(height, 0)
    axes.set_xticks([])
    left_text(axes, "Most common reports, and their shares", 10)
    low, high = axes.get_xlim()
    for place, (pieces, share) in enumerate(ranges):
        y = 26 + ROW * (place + 0.5)
        axes.axhline(y, color=RULE, linewidth=0.6, zorder=0)
        for begin, end in pieces:
            inner = max(begin, low), min(end, high)
            line(axes, inner, [y, y], QUIET, 4, zorder=2)
            if inner[0] == inner[1]:
                dot(axes, inner[0], y, 5, QUIET, GROUND, 0.8, zorder=3)
        right_label(axes, percent(share), y)
