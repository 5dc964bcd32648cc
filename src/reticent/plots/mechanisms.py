"""Privacy against accuracy: mechanisms as labelled points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from reticent.plots.labels import label_points
from reticent.plots.style import (
    ESTIMATE,
    GROUND,
    QUIET,
    RULE,
    SMALL,
    STYLE,
    TEXT,
    WIDTH,
    Numbers,
    canvas,
    dot,
    line,
)
from reticent.plots.text import finite, readable, shortened, text_width


@rc_context(STYLE)
def tradeoff(
    labels: Sequence[str],
    leakage: Sequence[float],
    half_width: Numbers,
    own: Sequence[bool],
    *,
    best: Sequence[tuple[float, float]] = (),
) -> Figure:
    """Draw mechanisms as labelled points: bits given away (across) against half-width of the interval (up).

    Points without a finite half-width are left out (such reports say nothing about the shares). `best` is a
    line of (leakage, half-width) that no mechanism can be below, where it is known.

    >>> len(tradeoff(["a", "b"], [0.5, 1.0], [0.03, None], [True, False]).axes)
    1
    """
    points = [
        (labels[i], float(leakage[i]), float(w), bool(own[i]))
        for i, w in enumerate(half_width)
        if finite(w) and finite(leakage[i])
    ]
    height = 270.0
    figure, axes = canvas(height, left=44, right=16, bottom=40, top=34, flip=False)
    across = max([1e-6, *(p[1] for p in points), *(b[0] for b in best)]) * 1.12
    up = max([1e-6, *(p[2] for p in points), *(b[1] for b in best)]) * 1.15
    axes.set_xlim(0, across)
    axes.set_ylim(0, up)
    axes.xaxis.set_major_locator(MaxNLocator(4))
    axes.yaxis.set_major_locator(MaxNLocator(4))
    axes.yaxis.set_major_formatter(lambda v, _: f"{100 * v:.3g}")
    axes.xaxis.set_major_formatter(lambda v, _: f"{v:.3g}")
    axes.tick_params(length=0)
    axes.grid(True, color=RULE, linewidth=0.6)
    axes.set_axisbelow(True)
    quiet: Any = {"color": QUIET, "size": SMALL}
    figure.text(0, 1 - 16 / height, "↑ less certain: ± percentage points", **quiet)
    figure.text(1 - 16 / WIDTH, 5 / height, "gives away more: bits in one report →", ha="right", **quiet)
    if best:
        line(axes, [b[0] for b in best], [b[1] for b in best], QUIET, 1.2, zorder=1)
    room = (WIDTH - 60, height - 74)
    spots = [(room[0] * p[1] / across, room[1] * p[2] / up) for p in points]
    order = sorted(range(len(points)), key=lambda k: (not points[k][3], -spots[k][0]))  # least room first
    names = [shortened(readable(p[0]), 28) + (" (used here)" if p[3] else "") for p in points]
    lengths = [text_width(name, TEXT if p[3] else SMALL) for name, p in zip(names, points, strict=True)]
    for _, x, y, mine in points:
        if mine:
            dot(axes, x, y, 10, ESTIMATE, ESTIMATE, 1.6, zorder=3)
        else:  # above the own one, so that two in the same place are both seen
            dot(axes, x, y, 7, GROUND, QUIET, 1.6, zorder=4)
    styles = [{"size": TEXT, "weight": "bold"} if p[3] else quiet for p in points]
    label_points(axes, spots, names, lengths, styles, room, order)
    return figure
