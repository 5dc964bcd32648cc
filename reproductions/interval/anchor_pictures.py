"""Fig. 5 as two pictures: the estimated distribution under four laws of thresholds, and accuracy against coverage."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure

from reproductions.interval import theory
from reproductions.interval.anchor_laws import AT, Curve, Estimated, N
from reproductions.interval.theory import NORMAL
from reproductions.subset.frame import QUIETLY, WIDTH, axes_in, figure, grid, heading, words
from reticent.plots import STYLE
from reticent.plots.style import ESTIMATE, GROUND, INK, LEAK, LIGHT, QUIET, SMALL, TRUTH

GAP, PANEL = 40.0, 150.0
COLOURS = {"best": ESTIMATE, "logistic": INK, "normal": TRUTH, "uniform": LEAK}
DASHES: dict[str, tuple[float, tuple[float, ...] | None]] = {
    "best": (0, None), "logistic": (0, (5, 2)), "normal": (0, (1.5, 1.5)), "uniform": (0, (6, 2, 1.5, 2)),
}  # fmt: skip
# Where a name stands beside its mark, in points; elsewhere to the lower right.
LABELS = {"most accurate": (0, 15, "center"), "uniform on ±6": (-9, 8, "right")}


@rc_context(STYLE)
def distributions(found: Sequence[Estimated]) -> tuple[Figure, str]:
    """F, one estimate and the range of nine in ten, for each law; and what the picture says."""
    finding = "More coverage, and a rougher estimate of the same distribution"
    rows = (len(found) + 1) // 2
    height = 56 + rows * (PANEL + 62)
    drawn = figure(height)
    heading(
        drawn,
        finding,
        f"↑ share with values up to t, n = {N:,}; step: one estimate, band: nine in ten, line: truth",
    )
    wide = (WIDTH - 3 * GAP) / 2
    for place, one in enumerate(found):
        row, column = divmod(place, 2)
        left, top = GAP + column * (wide + GAP), 84 + row * (PANEL + 62)
        title = f"{one.law.name}: coverage {one.law.coverage:.3f}"
        words(drawn, left, top - 14, title, size=SMALL, color=INK)
        axes = axes_in(drawn, left=left, right=WIDTH - left - wide, top=top, bottom=height - top - PANEL)
        axes.set_xlim(-3, 3)
        axes.set_ylim(0, 1)
        axes.set_yticks([0, 0.5, 1], ["0", "½", "1"])
        axes.set_xticks([-2, 0, 2], ["−2", "0", "2"])
        grid(axes)
        axes.fill_between(AT, one.low, one.high, color=LIGHT, alpha=0.45, linewidth=0, zorder=1)
        axes.step(AT, one.first, where="post", color=ESTIMATE, linewidth=1.5, zorder=3)
        axes.plot(AT, NORMAL.cdf(AT), color=INK, linewidth=0.9, zorder=2)
    words(drawn, GAP, height - 8, "t →", **QUIETLY)
    return drawn, finding


@rc_context(STYLE)
def tradeoff(curves: Sequence[Curve], found: Sequence[Estimated]) -> tuple[Figure, str]:
    """n times the variance of the mean against coverage, and what the picture says."""
    finding = "The price of coverage: wide thresholds hide more, and cost answers"
    height, right = 360.0, 132.0
    drawn = figure(height)
    heading(drawn, finding, "↑ n × smallest variance of the mean of N(0, 1); 1 with open answers")
    axes = axes_in(drawn, left=36, right=right, bottom=46, top=52)
    axes.set_xlim(0.65, 0.945)
    axes.set_xticks([0.7, 0.75, 0.8, 0.85, 0.9], ["0.70", "0.75", "0.80", "0.85", "0.90"])
    axes.set_ylim(0, 11)
    axes.set_yticks(range(0, 11, 2))
    grid(axes)
    covered = np.linspace(0.65, 0.945, 200)
    axes.fill_between(covered, 0, theory.least_variance_at(covered), color=QUIET, alpha=0.12, linewidth=0, zorder=1)
    for curve in curves:
        thick = 2.4 if curve.name == "best" else 1.3
        axes.plot(curve.coverage, curve.variance, color=COLOURS[curve.name], linewidth=thick, linestyle=DASHES[curve.name],
                  zorder=3)  # fmt: skip
    for one in found:
        axes.plot([one.law.coverage], [one.law.variance], "o", ms=7, color=GROUND, mec=INK, mew=1.4, zorder=4)
        across, up, side = LABELS.get(one.law.name, (8, -9, "left"))
        axes.annotate(one.law.name, (one.law.coverage, one.law.variance), (across, up), textcoords="offset points", size=SMALL,
                      ha=side, va="center", color=INK)  # fmt: skip
    for place, name in enumerate(COLOURS):
        y = 0.98 - 0.062 * place
        axes.plot([1.03, 1.12], [y, y], color=COLOURS[name], linewidth=1.8, linestyle=DASHES[name],
                  transform=axes.transAxes, clip_on=False)  # fmt: skip
        axes.text(
            1.14,
            y,
            "best laws" if name == "best" else name,
            transform=axes.transAxes,
            va="center",
            size=SMALL,
            color=INK,
        )
    axes.text(1.03, 0.98 - 0.062 * len(COLOURS), "grey: out of reach", transform=axes.transAxes, va="center", size=SMALL,
              color=QUIET)  # fmt: skip
    words(drawn, WIDTH - right, height - 12, "coverage →", ha="right", **QUIETLY)
    return drawn, finding
