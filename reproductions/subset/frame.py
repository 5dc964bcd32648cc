"""The frame of every picture: the style of the package, direct labels, and SVG and PNG files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from reticent.plots import STYLE
from reticent.plots.style import INK, QUIET, RULE, SMALL

WIDTH = 520.0  # points
MARGIN = 12.0  # round each picture in its file
QUIETLY: Any = {"color": QUIET, "size": SMALL}


def figure(height: float) -> Figure:
    """An empty figure `WIDTH` points wide."""
    return Figure(figsize=(WIDTH / 72, height / 72), dpi=72)


def axes_in(drawn: Figure, *, left: float, right: float, bottom: float, top: float) -> Axes:
    """Axes with these margins in points, without a box."""
    height = float(drawn.get_figheight()) * 72
    axes = drawn.add_axes((left / WIDTH, bottom / height, 1 - (left + right) / WIDTH, 1 - (bottom + top) / height))
    axes.patch.set_visible(False)
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0, pad=5)
    axes.set_axisbelow(True)
    return axes


def words(drawn: Figure, x: float, from_top: float, text: str, **style: Any) -> None:
    """Text at x points from the left and so many from the top."""
    height = float(drawn.get_figheight()) * 72
    drawn.text(x / WIDTH, 1 - from_top / height, text, **{"va": "center", **style})


def heading(drawn: Figure, finding: str, axis: str) -> None:
    """The finding in one line, and below it what the vertical axis shows."""
    words(drawn, 0, 10, finding, weight="bold", color=INK)
    words(drawn, 0, 30, axis, **QUIETLY)


def grid(axes: Axes, axis: Literal["both", "x", "y"] = "both") -> None:
    """Light lines behind the marks."""
    axes.grid(True, axis=axis, color=RULE, linewidth=0.6)


def spread(wanted: Sequence[float], sizes: Sequence[float]) -> list[float]:
    """Middles of blocks of these sizes, near the wanted ones, in the same order and without overlap.

    >>> spread([0.0, 1.0, 10.0], [4.0, 4.0, 4.0])
    [-1.5, 2.5, 10.0]
    """
    stacks: list[list[int]] = []
    for i in sorted(range(len(wanted)), key=lambda i: wanted[i]):
        stacks.append([i])
        while len(stacks) > 1 and _bottom(stacks[-1], wanted, sizes) < _top(stacks[-2], wanted, sizes):
            last = stacks.pop()
            stacks[-1] += last
    placed = list(wanted)
    for stack in stacks:
        bottom = _bottom(stack, wanted, sizes)
        for i in stack:
            placed[i] = bottom + sizes[i] / 2
            bottom += sizes[i]
    return placed


def _bottom(stack: Sequence[int], wanted: Sequence[float], sizes: Sequence[float]) -> float:
    """Where a stack of touching blocks begins so that their middles are, on average, where they are wanted."""
    below, total = 0.0, 0.0
    for i in stack:
        total += wanted[i] - below - sizes[i] / 2
        below += sizes[i]
    return total / len(stack)


def _top(stack: Sequence[int], wanted: Sequence[float], sizes: Sequence[float]) -> float:
    return _bottom(stack, wanted, sizes) + sum(sizes[i] for i in stack)


def save(drawn: Figure, folder: Path, name: str, finding: str) -> list[str]:
    """Write the picture as SVG, with the finding as its title, and as PNG at twice its size; the names of the files."""
    folder.mkdir(parents=True, exist_ok=True)
    page = drawn.bbox_inches.padded(MARGIN / 72)
    with rc_context(STYLE):
        drawn.savefig(
            folder / f"{name}.svg", bbox_inches=page, metadata={"Title": finding, "Date": None, "Creator": None}
        )
        drawn.savefig(folder / f"{name}.png", bbox_inches=page, dpi=144, metadata={"Title": finding, "Software": None})
    return [f"{name}.svg", f"{name}.png"]
