"""Fig. 2 as three pictures: the loss, n times the loss, and one replication's differences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator

from reproductions.subset.frame import QUIETLY, WIDTH, axes_in, figure, grid, heading, spread, words
from reproductions.subset.loss import Loss, Simulation
from reticent.plots import STYLE
from reticent.plots.style import ESTIMATE, GROUND, INK, LEAK, LIGHT, QUIET, RULE, SMALL, TRUTH

RIGHT = 190.0  # points for the labels at the ends of the lines
LINE = 15.0  # height of a label


@dataclass(frozen=True)
class Mark:
    """How a method is drawn."""

    colour: str
    shape: str
    dashes: tuple[float, ...] = ()
    size: float = 7.0


MARKS = {
    "sample": Mark(TRUTH, "D"),
    "one_step": Mark(LIGHT, "s", size=9.5),
    "maximum_likelihood": Mark(ESTIMATE, "o", size=6),
    "em_10": Mark(LEAK, "v", (5, 2)),
    "em_50": Mark(LEAK, "^", (1.5, 2)),
    "affine": Mark(QUIET, "P", (5, 2)),
    "centred": Mark(INK, "X"),
    "projected": Mark(INK, "d", (1.5, 2)),
}
SAME = ("em", "cvxpy")  # drawn as maximum likelihood, from which no eye can tell them


@rc_context(STYLE)
def loss(simulation: Simulation) -> tuple[Figure, str]:
    """Mean ‖ŵ − w‖² against n, both logarithmic, and what the picture says."""
    names = [name for name in MARKS if name != "em_50"]
    finding = "The loss falls as 1/n, unless EM is stopped too early"
    drawn = figure(330)
    heading(drawn, finding, "↑ mean squared loss ‖ŵ − w‖²")
    axes = axes_in(drawn, left=48, right=RIGHT, bottom=44, top=48)
    axes.set_yscale("log")
    for name in names:
        rows = [simulation.loss(name, n) for n in simulation.sizes]
        _curve(axes, rows, [row.mean / row.n for row in rows])
    values = [loss.mean / loss.n for loss in simulation.losses if loss.method in names]
    low, high = min(values) / 1.6, max(values) * 1.6
    axes.set_ylim(low, high)
    decades = range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1)
    axes.yaxis.set_major_locator(FixedLocator([10.0**k for k in decades]))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(lambda value, _: f"10{_power(value)}")
    _people(drawn, axes, simulation)
    ends = {name: simulation.loss(name, simulation.sizes[-1]).mean / simulation.sizes[-1] for name in names}
    joined = {
        "em_10": "EM stopped after 10 steps",
        "centred": "moments: affine, centred\nand projected (dotted)",
        "maximum_likelihood": _likelihood_label(simulation) + "\n≈ one step",
        "sample": "non-private sample",
    }
    span = math.log10(high / low)
    heights = {name: (330 - 92) * math.log10(ends[name] / low) / span for name in joined}
    _end_labels(axes, heights, joined, 330 - 92)
    return drawn, finding


@rc_context(STYLE)
def loss_times_n(simulation: Simulation) -> tuple[Figure, str]:
    """n times the mean loss against n, with two Monte Carlo standard errors and the limits, and what it says."""
    finding = "n times the loss settles at the constants of theory"
    drawn, height = figure(400), 400 - 92
    heading(drawn, finding, "↑ n × mean squared loss, ± 2 simulation errors")
    axes = axes_in(drawn, left=48, right=RIGHT, bottom=44, top=48)
    names = [name for name in MARKS if name != "em_10"]
    top = 1.08 * max(row.mean + 2 * row.error for row in simulation.losses if row.method in names)
    axes.set_ylim(0, top)
    axes.yaxis.set_major_locator(FixedLocator(range(math.ceil(top))))
    for place, name in enumerate(names):
        rows = [simulation.loss(name, n) for n in simulation.sizes]
        means, errors = [row.mean for row in rows], [row.error for row in rows]
        _curve(axes, rows, means, shift=1 + 0.035 * (place - 3), errors=errors)
    limits = {row.method: row.constant for row in simulation.losses if row.constant is not None}
    for name in ("sample", "maximum_likelihood", "centred", "affine"):
        axes.axhline(limits[name], color=MARKS[name].colour, linewidth=0.9, dashes=(2, 2), zorder=1)
    _people(drawn, axes, simulation)
    labels = {
        "affine": f"moments, affine → {limits['affine']:.3f}",
        "centred": f"moments, centred → {limits['centred']:.3f}",
        "projected": f"moments, projected → {limits['projected']:.3f}",
        "one_step": f"one step → {limits['one_step']:.3f}",
        "maximum_likelihood": _likelihood_label(simulation) + f" → {limits['maximum_likelihood']:.3f}",
        "em_50": "EM stopped after 50 steps",
        "sample": f"non-private sample → {limits['sample']:.3f}",
    }
    last = simulation.sizes[-1]
    _end_labels(axes, {name: height * simulation.loss(name, last).mean / top for name in labels}, labels, height)
    return drawn, finding


@rc_context(STYLE)
def differences(simulation: Simulation) -> tuple[Figure, str]:
    """Largest difference in a share from maximum likelihood in one replication, by n, and what the picture says."""
    finding = "EM run to its certificate is maximum likelihood; stopped early it is not"
    titles = {method.name: method.title for method in simulation.methods}
    names = sorted(simulation.differences(simulation.sizes[-1]), key=lambda name: _place(simulation, name))
    height = 84 + 34.0 * len(names)
    drawn = figure(height)
    heading(
        drawn,
        finding,
        f"one replication; one mark for each n, from {simulation.sizes[0]:,} (lightest) to {simulation.sizes[-1]:,}",
    )
    axes = axes_in(drawn, left=186, right=20, bottom=46, top=46)
    axes.set_xscale("log")
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_yticks(range(len(names)), [titles[name] for name in names])
    axes.tick_params(axis="y", labelcolor=INK)
    shades = [0.25 + 0.75 * (k + 1) / len(simulation.sizes) for k in range(len(simulation.sizes))]
    for row, name in enumerate(names):
        colour = MARKS[name].colour if name in MARKS else ESTIMATE
        shape = MARKS[name].shape if name in MARKS else "o"
        across = [max(simulation.differences(n)[name], 1e-16) for n in simulation.sizes]
        axes.plot(across, [row] * len(across), color=RULE, linewidth=1, zorder=1)
        for value, shade in zip(across, shades, strict=True):
            axes.plot([value], [row], shape, color=GROUND, mec=GROUND, ms=8.5, zorder=2)
            axes.plot([value], [row], shape, color=colour, mec="none", alpha=shade, ms=8, zorder=3)
    axes.set_xlim(3e-16, 1)
    axes.xaxis.set_major_locator(FixedLocator([10.0**k for k in range(-15, 1, 3)]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(lambda value, _: "1" if value == 1 else f"10{_power(value)}")
    grid(axes, "x")
    words(drawn, 500, height - 8, "largest difference in a share from maximum likelihood →", ha="right", **QUIETLY)
    return drawn, finding


def _place(simulation: Simulation, name: str) -> float:
    return math.prod(max(simulation.differences(n)[name], 1e-16) for n in simulation.sizes)


def _power(value: float) -> str:
    return f"{round(math.log10(value)):d}".translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def _likelihood_label(simulation: Simulation) -> str:
    others = ["EM"] + (["CVXPY"] if any(method.name == "cvxpy" for method in simulation.methods) else [])
    return "maximum likelihood\n= " + " = ".join(others)


def _curve(
    axes: Axes, rows: Sequence[Loss], up: Sequence[float], *, shift: float = 1.0, errors: Sequence[float] = ()
) -> None:
    """One line with its marks; with errors, a bar of two to each side."""
    mark = MARKS[rows[0].method]
    across = [row.n * shift for row in rows]
    axes.plot(
        across, up, color=mark.colour, linewidth=1.4, linestyle=(0, mark.dashes) if mark.dashes else "-", zorder=3
    )
    axes.plot(across, up, mark.shape, color=mark.colour, mec=GROUND, mew=0.8, ms=mark.size, zorder=4)
    for x, y, error in zip(across, up, errors, strict=False):
        axes.plot([x, x], [y - 2 * error, y + 2 * error], color=mark.colour, linewidth=1.4, zorder=3)


def _people(drawn: Figure, axes: Axes, simulation: Simulation) -> None:
    axes.set_xscale("log")
    axes.set_xlim(simulation.sizes[0] / 1.5, simulation.sizes[-1] * 1.5)
    axes.xaxis.set_major_locator(FixedLocator(list(simulation.sizes)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    grid(axes)
    drawn.text(1 - RIGHT / WIDTH, 12 / (72 * drawn.get_figheight()), "people, n →", ha="right", va="center", **QUIETLY)


def _end_labels(axes: Axes, heights: dict[str, float], labels: dict[str, str], height: float) -> None:
    """Each label beside the end of its line, `heights` points above the axis, moved apart where they would meet."""
    sizes = [LINE * (labels[name].count("\n") + 1) for name in labels]
    middles = spread([heights[name] for name in labels], sizes)
    for (name, label), middle in zip(labels.items(), middles, strict=True):
        axes.plot([1.0, 1.05], [heights[name] / height, middle / height], color=RULE, linewidth=1,
                  transform=axes.transAxes, clip_on=False, zorder=1)  # fmt: skip
        axes.text(1.06, middle / height, label, transform=axes.transAxes, va="center", size=SMALL, color=INK,
                  linespacing=1.15)  # fmt: skip
