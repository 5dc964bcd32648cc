"""Progressive questions as a picture: what three ways of reading people who stopped make of the same reports."""

from __future__ import annotations

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure

from reproductions.interval.progressive import EDGES, Asked, people, truth
from reproductions.subset.frame import QUIETLY, WIDTH, axes_in, figure, grid, heading, words
from reticent.plots import STYLE
from reticent.plots.style import ESTIMATE, GROUND, INK, LEAK, QUIET, SMALL, TRUTH

MARKS = (("o", ESTIMATE), ("s", LEAK), ("^", QUIET))
HEIGHT, RIGHT = 360.0, 168.0


@rc_context(STYLE)
def readings(found: Asked) -> tuple[Figure, str]:
    """F at the edges in three readings beside the truth, and what the picture says."""
    finding = "Stopping says something, and belongs in the likelihood"
    drawn = figure(HEIGHT)
    heading(
        drawn,
        finding,
        f"↑ share of {len(people()):,} people who work up to so many hours; {found.stopped:.0%} stop early",
    )
    axes = axes_in(drawn, left=36, right=RIGHT, bottom=46, top=58)
    axes.set_xlim(12, 63)
    axes.set_ylim(0, 1.02)
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0", "¼", "½", "¾", "1"])
    axes.set_xticks([20, 30, 40, 50, 60])
    grid(axes)
    true = np.cumsum(truth())[:-1]
    axes.step(EDGES, true, where="post", color=TRUTH, linewidth=2.2, zorder=2)
    for one, (mark, colour) in zip(found.readings, MARKS, strict=True):
        axes.plot(EDGES, one.cdf, mark, color=colour, ms=6, mec=GROUND, mew=0.8, zorder=3)
    named = [
        ("the people themselves", TRUTH),
        *((one.name, colour) for one, (_, colour) in zip(found.readings, MARKS, strict=True)),
    ]
    for place, (name, colour) in enumerate(named):
        y = 0.5 - 0.075 * place
        mark = "_" if place == 0 else MARKS[place - 1][0]
        axes.plot(
            [1.03], [y], mark, color=colour, ms=7, mew=2 if place == 0 else 0.8, transform=axes.transAxes, clip_on=False
        )
        axes.text(1.06, y, name, transform=axes.transAxes, va="center", size=SMALL, color=INK)
    words(drawn, WIDTH - RIGHT, HEIGHT - 12, "hours per week →", ha="right", **QUIETLY)
    return drawn, finding
