"""The one style of all pictures: colours of Okabe and Ito, which are never the only carrier of a meaning, and the marks."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from matplotlib.transforms import Transform, blended_transform_factory

from reticent.plots.text import readable, text_width

INK, QUIET, RULE, GROUND = "#1b1d1f", "#63686d", "#d9dcdf", "#ffffff"
ESTIMATE, LIGHT, TRUTH, SAFE, LEAK = "#0072b2", "#7fb8d8", "#e69f00", "#009e73", "#d55e00"

# In a page each colour is a custom property, which dark mode and paper change; ink is the colour of the text.
PAGE_COLOURS = {
    INK: "currentColor",
    QUIET: f"var(--quiet, {QUIET})",
    RULE: f"var(--rule, {RULE})",
    GROUND: f"var(--ground, {GROUND})",
    ESTIMATE: f"var(--estimate, {ESTIMATE})",
    LIGHT: f"var(--light, {LIGHT})",
    TRUTH: f"var(--truth, {TRUTH})",
    SAFE: f"var(--safe, {SAFE})",
    LEAK: f"var(--leak, {LEAK})",
}
SYSTEM_FONTS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', sans-serif"

TEXT = 12.0
SMALL = 11.0
HEADLINE = 46  # letters in a line of a heading
WIDTH = 380.0  # points; about the width of a telephone, where the text must stay readable
STYLE: Any = {
    "text.parse_math": False,  # a "$" in a category is a dollar
    "text.usetex": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "reticent",
    "font.family": ["DejaVu Sans"],  # wider than most system fonts, so what fits here fits there
    "font.size": TEXT,
    "text.color": INK,
    "axes.edgecolor": RULE,
    "axes.unicode_minus": True,
    "xtick.color": RULE,
    "ytick.color": RULE,
    "xtick.labelcolor": QUIET,
    "ytick.labelcolor": QUIET,
    "xtick.labelsize": SMALL,
    "ytick.labelsize": SMALL,
    "lines.solid_capstyle": "round",
}

Numbers = Sequence[float | None]


def canvas(
    height: float, *, left: float, right: float, bottom: float, top: float = 0.0, flip: bool = True
) -> tuple[Figure, Axes]:
    """Return a figure `WIDTH` points wide; with `flip`, y runs down in points from the top."""
    figure = Figure(figsize=(WIDTH / 72, height / 72), dpi=72)
    axes = figure.add_axes((left / WIDTH, bottom / height, 1 - (left + right) / WIDTH, 1 - (bottom + top) / height))
    axes.patch.set_visible(False)
    for side in ("top", "left", "right", "bottom"):
        axes.spines[side].set_visible(False)
    if flip:
        axes.set_ylim(height - bottom, 0)
        axes.set_yticks([])
    return figure, axes


def headline(figure: Figure, finding: str) -> None:
    """Write what the picture says, in bold at its top."""
    figure.text(0, 1, "\n".join(_broken(finding)), weight="bold", va="top", linespacing=1.3)


def headline_height(finding: str) -> float:
    """Return how many points `headline` takes."""
    return 1.3 * 1.2 * TEXT * len(_broken(finding))


def _broken(finding: str) -> list[str]:
    return textwrap.wrap(readable(finding), HEADLINE)


def share_axis(axes: Axes) -> None:
    axis = axes.xaxis
    axis.set_major_locator(MaxNLocator(4, steps=[1, 2, 2.5, 5, 10]))
    axis.set_major_formatter(lambda v, _: f"{100 * v:.3g}%".replace("-", "−"))
    axes.tick_params(length=0, pad=4)
    axes.grid(True, axis="x", color=RULE, linewidth=0.6)
    axes.axvline(0, color=QUIET, linewidth=1, zorder=1)
    axes.set_axisbelow(True)


def dot(
    axes: Axes,
    x: float,
    y: float,
    size: float,
    face: str,
    edge: str,
    edge_width: float,
    *,
    zorder: int,
    shape: str = "o",
) -> None:
    axes.plot([x], [y], shape, ms=size, mfc=face, mec=edge, mew=edge_width, zorder=zorder, clip_on=False)


def line(
    axes: Axes,
    x: Sequence[float],
    y: Sequence[float],
    colour: str,
    width: float,
    *,
    zorder: int,
    alpha: float = 1.0,
) -> None:
    axes.plot(x, y, color=colour, linewidth=width, zorder=zorder, alpha=alpha, clip_on=False)


def page_wide(axes: Axes) -> Transform:
    """Return x as a fraction of the figure, y as data."""
    figure = axes.get_figure(root=True)
    assert figure is not None
    return blended_transform_factory(figure.transFigure, axes.transData)


def left_label(axes: Axes, name: str, y: float) -> None:
    axes.text(0, y, name, transform=page_wide(axes), ha="left", va="center", linespacing=1.15)


def right_label(axes: Axes, value: str, y: float) -> None:
    axes.text(1, y, value, transform=page_wide(axes), ha="right", va="center", size=SMALL)


def left_text(axes: Axes, words: str, y: float, colour: str = QUIET) -> None:
    axes.text(0, y, words, transform=page_wide(axes), ha="left", va="center", size=SMALL, color=colour)


def gutter(names: Sequence[str]) -> float:
    return max(text_width(name, TEXT) for name in names) + 10 if names else 10.0
