"""Fig. 3 as a picture: each measure under the three designs, on a strip that ends at the answer itself."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from reproductions.subset.frame import QUIETLY, axes_in, figure, heading, words
from reproductions.subset.leakages import Row
from reticent.plots import STYLE
from reticent.plots.style import GROUND, INK, LEAK, QUIET, RULE, SAFE, SMALL

DESIGNS = {"no_privacy": "the answer itself", "uniform": "uniform subset", "full_privacy": "nothing"}
TITLES = {
    "mutual_information": "mutual information, bits",
    "size": "size leakage: share of the population ruled out",
    "prediction": "prediction leakage: chance that the best guess is right",
}
LEFT, RIGHT, LINE, PANEL, HEAD = 124.0, 64.0, 24.0, 118.0, 40.0


@rc_context(STYLE)
def leakages(rows: Sequence[Row]) -> tuple[Figure, str]:
    """Three measures by three designs, and what the picture says."""
    told = rows[0].uniform / rows[0].ceiling
    finding = f"A uniform subset of races gives away {100 * told:.0f}% of the bits in the answer"
    height = HEAD + PANEL * len(rows) + 20
    drawn = figure(height)
    heading(drawn, finding, "what one report gives away on average, from nothing to the answer itself")
    for place, row in enumerate(rows):
        top = HEAD + PANEL * place
        words(drawn, LEFT, top + 22, TITLES[row.measure], size=SMALL, color=INK)
        axes = axes_in(drawn, left=LEFT, right=RIGHT, top=top + 30, bottom=height - top - 30 - LINE * 3)
        axes.set_xlim(0, row.ceiling)
        axes.set_ylim(2.5, -0.5)
        axes.set_xticks([])
        axes.set_yticks(range(3), list(DESIGNS.values()))
        axes.tick_params(axis="y", labelcolor=INK, pad=10)
        for line, design in enumerate(DESIGNS):
            value = float(getattr(row, design))
            _bar(axes, 0.0, row.ceiling, line, RULE)
            _bar(axes, 0.0, min(row.floor, value), line, QUIET)
            _bar(axes, row.floor, value, line, LEAK)
            colour = SAFE if design == "full_privacy" else LEAK
            axes.plot([value], [line], "o", ms=9, color=colour, mec=GROUND, mew=1.4, zorder=4, clip_on=False)
            axes.text(1.03, line, f"{value:.3f}", transform=axes.get_yaxis_transform(), va="center", size=SMALL)
        if row.floor > 0:
            words(drawn, LEFT, top + 30 + LINE * 3 + 8, f"grey: {row.floor:.3f} without any report", **QUIETLY)
    return drawn, finding


def _bar(axes: Axes, start: float, end: float, line: int, colour: str) -> None:
    if end > start:
        axes.plot([start, end], [line, line], color=colour, linewidth=6, solid_capstyle="butt", zorder=2, clip_on=False)
