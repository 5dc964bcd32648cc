"""Table II as a picture: the estimates of the mean with and without wild values."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib import rc_context
from matplotlib.figure import Figure

from reproductions.interval.mean_experiment import METHODS, MU, OUTLIERS, Cell
from reproductions.subset.frame import QUIETLY, WIDTH, axes_in, figure, grid, heading, words
from reticent.plots import STYLE
from reticent.plots.style import ESTIMATE, GROUND, INK, LEAK, QUIET, RULE, SMALL, TRUTH

LEFT, RIGHT, LINE, HEAD, END = 186.0, 20.0, 56.0, 52.0, 2.0
SHAPES = {0: "o", 1: "s", 5: "D"}


@rc_context(STYLE)
def means(cells: Sequence[Cell]) -> tuple[Figure, str]:
    """Mean ± sd of each method with 0, 1 and 5 % outliers, and what the picture says."""
    finding = "A few wild values carry the raw mean away, and not the thresholds"
    height = HEAD + LINE * len(METHODS) + 56
    drawn = figure(height)
    heading(drawn, finding, "estimates of E Y = 0.5 from 100 people, mean ± one standard deviation over replicates")
    axes = axes_in(drawn, left=LEFT, right=RIGHT, top=HEAD, bottom=56)
    axes.set_xlim(-0.5, END)
    axes.set_ylim(len(METHODS) - 0.5, -0.5)
    axes.set_yticks(range(len(METHODS)), list(METHODS.values()))
    axes.tick_params(axis="y", labelcolor=INK, pad=10)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}".replace("-", "−"))
    grid(axes, "x")
    axes.axvline(MU, color=TRUTH, linewidth=1.6, zorder=1)
    for row, method in enumerate(METHODS):
        colour = LEAK if method in ("mean", "median") else ESTIMATE
        for step, outliers in enumerate(OUTLIERS):
            cell = next(one for one in cells if (one.target, one.outliers, one.method) == ("mean", outliers, method))
            y = row + 0.24 * (step - 1)
            if cell.mean > END:
                axes.plot([END], [y], ">", ms=8, color=colour, zorder=3, clip_on=False)
                axes.text(END - 0.06, y, f"{cell.mean:.1f}", ha="right", va="center", size=SMALL, color=INK)
                continue
            axes.plot([cell.mean - cell.sd, cell.mean + cell.sd], [y, y], color=colour, linewidth=1.6, zorder=2)
            axes.plot([cell.mean], [y], SHAPES[outliers], ms=7, color=colour, mec=GROUND, mew=0.8, zorder=3)
        axes.axhline(row + 0.5, color=RULE, linewidth=0.6)
    words(drawn, 0, height - 28, "dot: no outliers · square: 1 of 100 values is 999 · diamond: 5 of 100", **QUIETLY)
    words(drawn, WIDTH - RIGHT, height - 8, "estimate →", ha="right", color=QUIET, size=SMALL)
    return drawn, finding
