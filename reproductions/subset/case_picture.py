"""Fig. 4 as a picture: four people, the prior, the set each reported and what that gives away."""

from __future__ import annotations

import math
from collections.abc import Sequence

from matplotlib import rc_context
from matplotlib.figure import Figure

from reproductions.subset.cases import Case
from reproductions.subset.frame import QUIETLY, WIDTH, axes_in, figure, grid, heading, words
from reticent.plots import STYLE
from reticent.plots.style import ESTIMATE, GROUND, INK, LEAK, LIGHT, RULE, SMALL
from reticent.plots.text import wrapped

LEFT, RIGHT, LINE, HEAD = 88.0, 20.0, 28.0, 102.0
MEASURES = {
    "bits": ("information, bits", "open_bits"),
    "size": ("size leakage: share of the population ruled out", "open_size"),
    "prediction": ("prediction leakage: is the best guess right?", None),
}


@rc_context(STYLE)
def cases(people: Sequence[Case], labels: Sequence[str], shares: Sequence[float]) -> tuple[Figure, str]:
    """Prior, reported set, own category and the three individual measures, and what the picture says."""
    finding = "What a report gives away depends on the set that was drawn"
    rows = LINE * len(people)
    panel = rows + 56
    height = HEAD + 8 + rows + panel * len(MEASURES) + 34
    drawn = figure(height)
    heading(drawn, finding, "reported sets; a ring is the person's own category")
    _sets(drawn, height, people, labels, shares)
    for place, (measure, (title, ceiling)) in enumerate(MEASURES.items()):
        top = HEAD + 8 + rows + panel * place
        words(drawn, LEFT, top + 14, title, size=SMALL, color=INK)
        axes = axes_in(drawn, left=LEFT, right=RIGHT, top=top + 26, bottom=height - top - 26 - rows)
        axes.set_ylim(len(people) - 0.5, -0.5)
        axes.set_yticks(range(len(people)), [f"case {case.row}" for case in people])
        axes.tick_params(axis="y", labelcolor=INK, pad=12)
        grid(axes, "x")
        most = 1.0 if ceiling is None else max(float(getattr(case, ceiling)) for case in people)
        if ceiling is None:
            axes.set_xticks([0, 1], ["no", "yes"])
        else:
            axes.set_xticks(range(math.floor(most) + 1) if most > 1 else [0, 0.25, 0.5, 0.75, 1])
            axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        for line, case in enumerate(people):
            own = 1.0 if ceiling is None else float(getattr(case, ceiling))
            low, high = case.span(measure)
            axes.plot([low, high], [line, line], color=RULE, linewidth=1.4, zorder=1)
            values = [float(getattr(reported, measure)) for reported in case.sets]
            axes.plot(
                values, [line] * len(values), "o", ms=6, color=LIGHT, mec=GROUND, mew=0.6, zorder=3, clip_on=False
            )
            axes.plot([own], [line], "|", ms=15, mew=2.2, color=LEAK, zorder=2, clip_on=False)
            axes.plot([getattr(case.drawn, measure)], [line], "o", ms=9.5, color=ESTIMATE, mec=GROUND, mew=1.2, zorder=4,
                      clip_on=False)  # fmt: skip
        axes.set_xlim(0, 1 if most <= 1 else 1.02 * most)
    words(drawn, 0, height - 26, "large dot: the set above · bar: the answer itself", **QUIETLY)
    words(drawn, 0, height - 9, "small dots: the other sets that the person might have reported", **QUIETLY)
    return drawn, finding


def _sets(drawn: Figure, height: float, people: Sequence[Case], labels: Sequence[str], shares: Sequence[float]) -> None:
    axes = axes_in(drawn, left=LEFT, right=RIGHT, top=HEAD, bottom=height - HEAD - LINE * len(people))
    axes.set_xlim(-0.5, len(labels) - 0.5)
    axes.set_ylim(len(people) - 0.5, -0.5)
    axes.set_xticks([])
    axes.set_yticks(range(len(people)), [f"case {case.row}" for case in people])
    axes.tick_params(axis="y", labelcolor=INK, pad=12)
    words(drawn, LEFT - 12, HEAD - 10, "prior", ha="right", **QUIETLY)
    wide = (WIDTH - LEFT - RIGHT) / len(labels)
    for j, (label, share) in enumerate(zip(labels, shares, strict=True)):
        words(drawn, LEFT + wide * (j + 0.5), HEAD - 42, wrapped(label, 12), ha="center", size=SMALL, color=INK)
        words(drawn, LEFT + wide * (j + 0.5), HEAD - 10, f"{100 * share:.2g}%", ha="center", **QUIETLY)
        for line, case in enumerate(people):
            held = j in case.drawn.members
            axes.plot([j], [line], "o", ms=10 if held else 4, color=ESTIMATE if held else RULE, mec="none", zorder=2)
            if j == case.category:
                axes.plot([j], [line], "o", ms=17, color="none", mec=INK, mew=1.2, zorder=3)
