"""Fig. 3 as a picture: two dozen people, what each reports, and the errors that follow."""

from __future__ import annotations

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from reproductions.interval.laplace import CUT, EPSILON, Comparison
from reproductions.subset.frame import QUIETLY, axes_in, figure, grid, heading, words
from reticent.plots import STYLE
from reticent.plots.style import ESTIMATE, GROUND, INK, LEAK, LIGHT, QUIET, SMALL, TRUTH

LEFT, RIGHT, LINE, HEAD, WIDE = 20.0, 20.0, 13.0, 62.0, 9.0


@rc_context(STYLE)
def people(found: Comparison) -> tuple[Figure, str]:
    """Each person's value, interval and noisy value, and what the picture says."""
    finding = "An interval is always true; a noisy value may be anywhere"
    n = len(found.people.values)
    panel = LINE * n
    height = HEAD + 2 * panel + 92
    drawn = figure(height)
    heading(drawn, finding, "24 people in the order of their values; dots are the values, never seen by the collector")
    titles = (
        f"what one threshold tells: coverage {1 - found.leakage:.3f}, leakage {found.leakage:.3f}",
        f"cut to ±{CUT:g}, with Laplace noise at ε = {EPSILON:g}: {100 * found.outside:.0f}% of reports lie beyond ±{CUT:g}",
    )
    for place, title in enumerate(titles):
        top = HEAD + place * (panel + 50)
        words(drawn, LEFT, top - 6, title, size=SMALL, color=INK)
        axes = axes_in(drawn, left=LEFT, right=RIGHT, top=top + 4, bottom=height - top - 4 - panel)
        axes.set_xlim(-WIDE, WIDE)
        axes.set_ylim(n - 0.5, -0.5)
        axes.set_yticks([])
        axes.set_xticks(range(-8, 9, 4), [f"{value}".replace("-", "−") for value in range(-8, 9, 4)])
        grid(axes, "x")
        for row, value in enumerate(found.people.values):
            if place == 0:
                _interval(axes, row, value, float(found.people.thresholds[row]))
            else:
                _noisy(axes, row, value, float(found.people.noisy[row]))
            axes.plot([value], [row], "o", ms=6, color=TRUTH, mec=GROUND, mew=0.8, zorder=4)
    words(drawn, LEFT, height - 8, "value →", **QUIETLY)
    return drawn, finding


def _interval(axes: Axes, row: int, value: float, threshold: float) -> None:
    end = -WIDE if value <= threshold else WIDE
    axes.plot([threshold, end], [row, row], color=LIGHT, linewidth=4, solid_capstyle="butt", zorder=2)
    axes.plot([threshold], [row], "|", ms=9, mew=2, color=ESTIMATE, zorder=3)


def _noisy(axes: Axes, row: int, value: float, noisy: float) -> None:
    axes.plot([value, noisy], [row, row], color=QUIET, linewidth=0.7, zorder=2)
    shown = min(max(noisy, -WIDE), WIDE)
    axes.plot([shown], [row], "X" if shown == noisy else ("<" if noisy < 0 else ">"), ms=7, color=LEAK, mec=GROUND, mew=0.6,
              zorder=3, clip_on=False)  # fmt: skip
