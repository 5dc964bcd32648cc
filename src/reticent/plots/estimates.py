"""Estimates with their intervals, one row per category."""

from __future__ import annotations

import math
from collections.abc import Sequence

from matplotlib import rc_context
from matplotlib.figure import Figure

from reticent.plots.style import (
    ESTIMATE,
    GROUND,
    INK,
    LIGHT,
    RULE,
    STYLE,
    TRUTH,
    Numbers,
    canvas,
    dot,
    gutter,
    left_label,
    left_text,
    line,
    right_label,
    share_axis,
)
from reticent.plots.text import finite, largest, percent, wrapped


@rc_context(STYLE)
def shares(
    labels: Sequence[str],
    estimate: Sequence[float],
    low: Numbers,
    high: Numbers,
    *,
    truth: Numbers | None = None,
    unconstrained: Numbers | None = None,
    limit: int = 20,
) -> Figure:
    """Draw shares (0 to 1) as dots with intervals, one row per category, at most `limit`.

    With more categories the largest are drawn and the rest counted, and added up where the shares sum to 1. An orange diamond is the truth where it
    is known, a hollow dot the estimate before it was kept between 0 and 1.

    >>> len(shares(["yes", "no"], [0.3, 0.7], [0.2, 0.6], [0.4, 0.8]).axes)
    1
    """
    shown = largest(estimate, limit)
    names = [wrapped(labels[i], 18) for i in shown]
    values = [percent(estimate[i], low[i], high[i]) for i in shown]
    extra = len(labels) - len(shown)
    row = 25.0 if all("\n" not in name for name in names) else 38.0
    height = 10 + row * len(shown) + (20 if extra else 0) + 24
    figure, axes = canvas(height, left=gutter(names), right=gutter(values), bottom=24)
    drawn = [
        v
        for series in (estimate, high, truth, unconstrained)
        if series is not None
        for v in (series[i] for i in shown)
        if v is not None and math.isfinite(v)
    ]
    axes.set_xlim(min([0.0, *drawn]) * 1.06, min(1.0, max([0.01, *drawn]) * 1.06))
    share_axis(axes)
    for place, i in enumerate(shown):
        y = 10 + row * (place + 0.5)
        left_label(axes, names[place], y)
        right_label(axes, values[place], y)
        axes.axhline(y, color=RULE, linewidth=0.6, zorder=0)
        if finite(start := low[i]) and finite(end := high[i]):
            line(axes, [start, end], [y, y], ESTIMATE, 7, zorder=2, alpha=0.28)
            line(axes, [start, end], [y, y], ESTIMATE, 1.4, zorder=3)
        if unconstrained is not None and finite(free := unconstrained[i]):
            dot(axes, free, y, 7, "none", LIGHT, 1.4, zorder=4)
        if truth is not None and finite(true := truth[i]):
            dot(axes, true, y, 8.5, TRUTH, INK, 0.8, zorder=5, shape="D")  # its corners show behind the dot
        dot(axes, estimate[i], y, 5.5, ESTIMATE, GROUND, 0.8, zorder=6)
    if extra:
        total = math.fsum(estimate)
        rest = max(total - math.fsum(estimate[i] for i in shown), 0.0)
        together = f", together {percent(rest)}" if abs(total - 1) < 5e-5 else ""
        left_text(axes, f"and {extra:,} more{together}", 10 + row * len(shown) + 12)
    return figure
