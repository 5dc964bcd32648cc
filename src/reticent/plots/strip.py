"""What one report gave away, from nothing to the answer itself."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib import rc_context
from matplotlib.figure import Figure

from reticent.plots.style import (
    GROUND,
    LEAK,
    QUIET,
    RULE,
    SAFE,
    SMALL,
    STYLE,
    TEXT,
    WIDTH,
    Numbers,
    canvas,
    dot,
    gutter,
    left_label,
    left_text,
    line,
    page_wide,
    right_label,
)
from reticent.plots.text import finite, largest, readable, text_width, wrapped


@rc_context(STYLE)
def leakage_strip(
    value: float,
    floor: float,
    ceiling: float,
    words: str,
    *,
    labels: Sequence[str] = (),
    bits: Numbers = (),
    limit: int = 12,
) -> Figure:
    """Draw what one report gave away, from `floor` ("nothing") to `ceiling` ("the answer itself").

    Everything is in bits. Below the strip the answers that gave away most, on a scale of their own where a rare
    answer gives away more than the average answer holds.

    >>> len(leakage_strip(0.7, 0.0, 2.3, "narrows the choice to about 3 of 5").axes)
    1
    """
    known = [(label, float(b)) for label, b in zip(labels, bits, strict=True) if finite(b)]
    shown = [known[i] for i in largest([b for _, b in known], limit)]
    names = [wrapped(label, 18) for label, _ in shown]
    row = 22.0 if all("\n" not in name for name in names) else 37.0
    extra = len(known) - len(shown)
    height = 88 + (26 + row * len(shown) + (20 if extra else 0) if shown else 0)
    values = [f"{b:.2f} bits" for _, b in shown]
    figure, axes = canvas(height, left=gutter(names) if shown else 12, right=gutter(values) if shown else 12, bottom=0)
    end = max(ceiling, floor + 1e-9)
    axes.set_xlim(floor, end)
    axes.set_axis_off()
    span = end - floor
    marker = min(max(value, floor), end)
    y = 48.0
    line(axes, [marker, end], [y, y], SAFE, 9, zorder=1, alpha=0.45)
    line(axes, [floor, marker], [y, y], LEAK, 9, zorder=2)
    dot(axes, marker, y, 12, LEAK, GROUND, 1.6, zorder=4)
    words = readable(words)
    half = 0.54 * text_width(words, TEXT) / WIDTH
    box = axes.get_position()
    middle = min(max(box.x0 + box.width * (marker - floor) / span, half), 1 - half)
    axes.text(middle, 14, words, ha="center", va="center", weight="bold", transform=page_wide(axes))
    line(axes, [marker, marker], [24, y - 8], QUIET, 0.8, zorder=1)
    axes.text(floor, y + 22, "nothing", ha="left", va="center", color=QUIET, size=SMALL)
    axes.text(end, y + 22, "the answer itself", ha="right", va="center", color=QUIET, size=SMALL)
    if not shown:
        return figure
    first = 88 + 26
    most = max(given for _, given in shown)
    own_scale = most > end
    left_text(axes, "If the answer was … (longer scale)" if own_scale else "If the answer was …", 98, colour=QUIET)
    for place, (_, given) in enumerate(shown):
        y = first + row * (place + 0.5)
        left_label(axes, names[place], y)
        right_label(axes, values[place], y)
        axes.axhline(y, color=RULE, linewidth=0.6, zorder=0)
        at = floor + (given - floor) * span / (most - floor) if own_scale else given
        line(axes, [floor, at], [y, y], LEAK, 1.4, zorder=2)
        dot(axes, at, y, 6, LEAK, GROUND, 0.8, zorder=3)
    if extra:
        left_text(axes, f"and {extra:,} more that gave away less", first + row * len(shown) + 12)
    return figure
