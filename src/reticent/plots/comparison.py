"""Mechanisms compared before anybody is asked: what one report gives away against the answers or the precision."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, MaxNLocator, NullLocator

from reticent.plots.labels import label_points
from reticent.plots.style import (
    ESTIMATE,
    GROUND,
    INK,
    QUIET,
    RULE,
    SMALL,
    STYLE,
    WIDTH,
    canvas,
    dot,
    headline,
    headline_height,
)
from reticent.plots.text import percentage_points, readable, shortened, text_width, thousands

LEFT, RIGHT, BOTTOM, HIGH = 52.0, 16.0, 42.0, 260.0
FAR_APART = 8.0  # from this ratio on a logarithmic axis


@rc_context(STYLE)
def mechanisms_compared(
    labels: Sequence[str],
    values: Sequence[float],
    bits: Sequence[float],
    openly: tuple[float, float],
    *,
    asked: Literal["n", "precision"],
    finding: str,
    unit: str = "± percentage points",
) -> Figure:
    """Draw mechanisms as labelled points: bits given away (across) against the answers needed (up) for one precision.

    With `asked="n"` the `values` are the precision that so many answers give. `openly` is the value and the bits of
    asking without privacy; `finding` the heading.

    >>> len(mechanisms_compared(["a", "b"], [1700, 2846], [1.3, 1.0], (1068, 2.3), asked="precision", finding="x").axes)
    1
    """
    top = headline_height(finding) + 30
    height = top + HIGH + BOTTOM
    figure, axes = canvas(height, left=LEFT, right=RIGHT, bottom=BOTTOM, top=top, flip=False)
    headline(figure, finding)
    written: Callable[[float], str] = (lambda v: f"±{percentage_points(v)}") if asked == "n" else thousands
    across, up = np.array([*bits, openly[1]]), np.array([*values, openly[0]], dtype=np.float64)
    _scales(axes, across, up, asked)
    quiet: Any = {"color": QUIET, "size": SMALL}
    up_words = f"↑ less certain: {unit}" if asked == "n" else "↑ answers needed"
    figure.text(0, 1 - (top - 12) / height, up_words, va="center", **quiet)
    figure.text(1 - RIGHT / WIDTH, 5 / height, "gives away more: bits in one report →", ha="right", **quiet)
    room = (WIDTH - LEFT - RIGHT, HIGH)
    to_axes = (axes.transScale + axes.transLimits).transform(np.column_stack([across, up]))
    spots = [(room[0] * float(x), room[1] * float(y)) for x, y in to_axes]
    own = [f"{shortened(readable(label), 26)}: {written(v)}" for label, v in zip(labels, values, strict=True)]
    names = [*own, f"asked openly: {written(openly[0])}"]
    styles: list[dict[str, Any]] = [{"size": SMALL, "color": INK}] * len(labels)
    for x, y in zip(across[:-1], up[:-1], strict=True):
        dot(axes, x, y, 8, ESTIMATE, GROUND, 1.2, zorder=4)
    dot(axes, across[-1], up[-1], 7, GROUND, INK, 1.2, zorder=3)
    order = sorted(range(len(spots)), key=lambda k: -spots[k][0])  # least room first
    label_points(axes, spots, names, [text_width(name, SMALL) for name in names], [*styles, quiet], room, order)
    return figure


def _scales(axes: Axes, across: Any, up: Any, asked: Literal["n", "precision"]) -> None:
    axes.set_xlim(0, 1.12 * max(float(across.max()), 1e-6))
    low, high = float(up.min()), float(up.max())
    if high > FAR_APART * low:
        axes.set_yscale("log")
        low, high = low / 1.6, high * 1.6
        decades = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
        steps = (1, 2, 5) if high / low < 60 else (1,)
        ticks = [step * 10.0**k for k in decades for step in steps if low <= step * 10.0**k <= high]
        axes.yaxis.set_major_locator(FixedLocator(ticks[:: 1 + len(ticks) // 6]))
        axes.yaxis.set_minor_locator(NullLocator())
    else:
        low, high = 0.0, 1.15 * high
        axes.yaxis.set_major_locator(MaxNLocator(4))
    axes.set_ylim(low, high)
    axes.yaxis.set_major_formatter(lambda v, _: f"{100 * v:.3g}" if asked == "n" else thousands(v))
    axes.xaxis.set_major_locator(MaxNLocator(4))
    axes.xaxis.set_major_formatter(lambda v, _: f"{v:.3g}")
    axes.tick_params(length=0)
    axes.grid(True, color=RULE, linewidth=0.6)
    axes.set_axisbelow(True)
