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

from reticent.plots.ranges import Range, number_scale, number_span, range_line
from reticent.plots.style import (
    ESTIMATE,
    LIGHT,
    QUIET,
    RULE,
    SMALL,
    STYLE,
    TRUTH,
    WIDTH,
    canvas,
    headline,
    headline_height,
    left_text,
    line,
    right_label,
)
from reticent.plots.text import percent, readable

Band = tuple[Sequence[float], Sequence[float], Sequence[float]]
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
    truth: tuple[Sequence[float], Sequence[float]] | None = None,
) -> Figure:
    """Draw the share of people up to each number, from masses on intervals (left, right].

    The line is the share that is surely there, the light steps above it what may be there too, for where in its interval
    a mass lies is not known. `band` has points and the limits at them; `density` places and heights, and is labelled
    "smoothed". `truth` has numbers and the share up to each, where a demonstration knows it, drawn as a wide orange line
    behind the estimate. `ranges` are reports as pieces of the number line with their shares, the most common first; the first
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
    span = number_span([*left, *right, *(band[0] if band else ())], ends)
    axes.set_xlim(*span)
    axes.set_ylim(0, 1)
    _share_scale(axes)
    _curve(axes, left, right, mass, span, band)
    if truth is not None:
        axes.step(
            [span[0], *truth[0], span[1]], [0.0, *truth[1], 1.0], where="post", color=TRUTH, linewidth=3.4, zorder=3
        )
    lowest = axes
    if density:
        lowest = _panel(figure, top + CURVE + 10, HILL, span)
        _hill(lowest, *density)
    number_scale(lowest, axis)
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


def _share_scale(axes: Axes) -> None:
    axes.yaxis.set_major_locator(MaxNLocator(4, steps=[2.5]))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{100 * v:.0f}%"))
    axes.tick_params(length=0, pad=4)
    axes.grid(True, axis="y", color=RULE, linewidth=0.6)
    axes.axhline(0, color=QUIET, linewidth=1, zorder=1)
    axes.set_axisbelow(True)


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
    for place, (pieces, share) in enumerate(ranges):
        y = 26 + ROW * (place + 0.5)
        range_line(axes, pieces, y)
        right_label(axes, percent(share), y)
