"""Three pictures, drawn from plain arrays and labels, in one style.

`shares` draws estimates with their intervals, `leakage_strip` what one report gave away, `tradeoff` privacy
against accuracy. Each returns a matplotlib `Figure`; `svg` turns a figure into accessible inline SVG in
the font and colours of the page. Colours are those of Okabe and Ito, and never the only carrier of a meaning.
"""

from __future__ import annotations

import hashlib
import io
import math
import re
import textwrap
import unicodedata
import warnings
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from typing import Any, TypeGuard

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from matplotlib.transforms import Transform, blended_transform_factory

__all__ = ["STYLE", "leakage_strip", "percent", "readable", "shares", "svg", "tradeoff"]

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


@rc_context(STYLE)
def shares(
    labels: Sequence[str],
    estimate: Sequence[float],
    low: Numbers,
    high: Numbers,
    *,
    truth: Numbers | None = None,
    unconstrained: Numbers | None = None,
    limit: int = 20,
) -> Figure:
    """Draw shares (0 to 1) as dots with intervals, one row per category, at most `limit`.

    With more categories the largest are drawn and the rest counted. An orange diamond is the truth where it
    is known, a hollow dot the estimate before it was kept between 0 and 1.

    >>> len(shares(["yes", "no"], [0.3, 0.7], [0.2, 0.6], [0.4, 0.8]).axes)
    1
    """
    shown = largest(estimate, limit)
    names = [wrapped(labels[i], 18) for i in shown]
    values = [percent(estimate[i], low[i], high[i]) for i in shown]
    extra = len(labels) - len(shown)
    row = 25.0 if all("\n" not in name for name in names) else 38.0
    height = 10 + row * len(shown) + (20 if extra else 0) + 24
    figure, axes = canvas(height, left=gutter(names), right=gutter(values), bottom=24)
    drawn = [
        v
        for series in (estimate, high, truth, unconstrained)
        if series is not None
        for v in (series[i] for i in shown)
        if v is not None and math.isfinite(v)
    ]
    axes.set_xlim(min([0.0, *drawn]) * 1.06, min(1.0, max([0.01, *drawn]) * 1.06))
    share_axis(axes)
    for place, i in enumerate(shown):
        y = 10 + row * (place + 0.5)
        left_label(axes, names[place], y)
        right_label(axes, values[place], y)
        axes.axhline(y, color=RULE, linewidth=0.6, zorder=0)
        if finite(start := low[i]) and finite(end := high[i]):
            line(axes, [start, end], [y, y], ESTIMATE, 7, zorder=2, alpha=0.28)
            line(axes, [start, end], [y, y], ESTIMATE, 1.4, zorder=3)
        if unconstrained is not None and finite(free := unconstrained[i]):
            dot(axes, free, y, 7, "none", LIGHT, 1.4, zorder=4)
        if truth is not None and finite(true := truth[i]):
            dot(axes, true, y, 6.5, TRUTH, INK, 0.8, zorder=5, shape="D")
        dot(axes, estimate[i], y, 6, ESTIMATE, GROUND, 0.8, zorder=6)
    if extra:
        rest = math.fsum(estimate) - math.fsum(estimate[i] for i in shown)
        left_text(axes, f"and {extra:,} more, together {percent(max(rest, 0.0))}", 10 + row * len(shown) + 12)
    return figure


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


@rc_context(STYLE)
def tradeoff(
    labels: Sequence[str],
    leakage: Sequence[float],
    half_width: Numbers,
    own: Sequence[bool],
    *,
    best: Sequence[tuple[float, float]] = (),
) -> Figure:
    """Draw mechanisms as labelled points: bits given away (across) against half-width of the interval (up).

    Points without a finite half-width are left out (such reports say nothing about the shares). `best` is a
    line of (leakage, half-width) that no mechanism can be below, where it is known.

    >>> len(tradeoff(["a", "b"], [0.5, 1.0], [0.03, None], [True, False]).axes)
    1
    """
    points = [
        (labels[i], float(leakage[i]), float(w), bool(own[i]))
        for i, w in enumerate(half_width)
        if finite(w) and finite(leakage[i])
    ]
    height = 270.0
    figure, axes = canvas(height, left=44, right=16, bottom=40, top=34, flip=False)
    across = max([1e-6, *(p[1] for p in points), *(b[0] for b in best)]) * 1.12
    up = max([1e-6, *(p[2] for p in points), *(b[1] for b in best)]) * 1.15
    axes.set_xlim(0, across)
    axes.set_ylim(0, up)
    axes.xaxis.set_major_locator(MaxNLocator(4))
    axes.yaxis.set_major_locator(MaxNLocator(4))
    axes.yaxis.set_major_formatter(lambda v, _: f"{100 * v:.3g}")
    axes.xaxis.set_major_formatter(lambda v, _: f"{v:.3g}")
    axes.tick_params(length=0)
    axes.grid(True, color=RULE, linewidth=0.6)
    axes.set_axisbelow(True)
    quiet: Any = {"color": QUIET, "size": SMALL}
    figure.text(0, 1 - 16 / height, "↑ less certain: ± percentage points", **quiet)
    figure.text(1 - 16 / WIDTH, 5 / height, "gives away more: bits in one report →", ha="right", **quiet)
    if best:
        line(axes, [b[0] for b in best], [b[1] for b in best], QUIET, 1.2, zorder=1)
    wide, tall = WIDTH - 60, height - 74
    spots = [(wide * p[1] / across, tall * p[2] / up) for p in points]
    taken = [(x - 6, y - 6, x + 6, y + 6) for x, y in spots]
    for k in sorted(range(len(points)), key=lambda k: (not points[k][3], spots[k])):
        name, x, y, mine = points[k]
        if mine:
            dot(axes, x, y, 10, ESTIMATE, ESTIMATE, 1.6, zorder=4)
        else:
            dot(axes, x, y, 7, GROUND, QUIET, 1.6, zorder=3)
        name = shortened(readable(name), 28) + (" (used here)" if mine else "")
        x_at, y_at = spots[k]
        length = text_width(name, TEXT if mine else SMALL)
        left, bottom = free_place(spots[k], length, taken, wide, tall)
        taken.append((left, bottom, left + length, bottom + 14))
        reach = (min(max(x_at, left), left + length), min(max(y_at, bottom + 2), bottom + 12))
        if math.dist(reach, (x_at, y_at)) > 12:  # far from its point: lead the eye there
            line(axes, [across * reach[0] / wide, x], [up * reach[1] / tall, y], QUIET, 0.8, zorder=2)
        style: Any = {"size": TEXT, "weight": "bold"} if mine else quiet
        axes.text(across * left / wide, up * (bottom + 7) / tall, name, va="center", **style)
    return figure


def svg(figure: Figure, alt: str, *, key: str = "") -> str:
    """Return the figure as one inline `<svg>` element: `alt` is its title, its ink the page's colour.

    The element scales with its container. Its ids are made from its content and `key`, so that
    many may share a page.

    >>> svg(shares(["a<b"], [1.0], [0.9], [1.0]), "All said a").startswith("<svg")
    True
    """
    stream = io.BytesIO()
    with rc_context(STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")  # the reader's fonts draw it, not ours
        figure.savefig(
            stream,
            format="svg",
            transparent=True,
            metadata={"Date": None, "Creator": None, "Format": None, "Type": None},
        )
    drawn = ElementTree.fromstring(stream.getvalue())  # our own output, not input
    _, _, width, height = (float(v) for v in drawn.get("viewBox", "0 0 1 1").split())
    name = "f" + hashlib.sha256(stream.getvalue() + key.encode()).hexdigest()[:10]
    uses = {v[1:] for e in drawn.iter() for k, v in e.items() if k.endswith("href")}
    uses |= {m for e in drawn.iter() for v in e.attrib.values() for m in re.findall(r"url\(#([^)]+)\)", v)}
    for parent in list(drawn.iter()):
        for child in list(parent):
            if child.tag.endswith(("metadata", "}style")):
                parent.remove(child)
    for element in drawn.iter():
        element.tag = element.tag.partition("}")[2] or element.tag
        element.attrib.update(page_attributes(element, name, uses))
        for unwanted in [k for k, v in element.items() if not v or k.startswith("{")]:
            del element.attrib[unwanted]
        if element.tag != "text" and element.text and not element.text.strip():
            element.text = None
        element.tail = None
    drawn.attrib.clear()
    drawn.attrib.update(
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "viewBox": f"0 0 {width:g} {height:g}",
            "role": "img",
            "preserveAspectRatio": "xMinYMin",
            "aria-labelledby": name,
            "style": f"width: 100%; height: auto; font-family: {SYSTEM_FONTS}",
            "stroke-linejoin": "round",
        }
    )
    title = ElementTree.Element("title", {"id": name})
    title.text = readable(alt)
    drawn.insert(0, title)
    return ElementTree.tostring(drawn, encoding="unicode")


def percent(share: float, low: float | None = None, high: float | None = None) -> str:
    """Return a share as per cent with the digits its half-width supports, and its interval if given.

    >>> percent(0.312, 0.28, 0.34), percent(0.0312, 0.0282, 0.0342), percent(0.5)
    ('31% (28–34)', '3.1% (2.8–3.4)', '50%')
    """
    if not finite(share):
        return "–"
    if low is None or high is None or not (finite(low) and finite(high)):
        return f"{abs(100 * share):.{0 if abs(share) >= 0.1 else 1}f}%" if share > -5e-4 else f"{100 * share:.1f}%"
    half = (high - low) / 2
    digits = 0 if half >= 0.015 else 1 if half >= 0.0015 else 2
    return f"{100 * share:.{digits}f}% ({100 * low:.{digits}f}–{100 * high:.{digits}f})"


def readable(label: object) -> str:
    """Return a label as one line of characters that every XML reader accepts.

    >>> readable("two\\nlines\\x00")
    'two lines'
    """
    kept = "".join(" " if unicodedata.category(c)[0] == "C" and c not in "\u200c\u200d" else c for c in str(label))
    return " ".join(kept.replace("\ufffe", "").replace("\uffff", "").split())


def finite(value: float | None) -> TypeGuard[float]:
    """Return whether there is a number, and a finite one."""
    return value is not None and math.isfinite(value)


def largest(values: Sequence[float], limit: int) -> list[int]:
    """Return all positions in their own order, or the `limit` largest in falling order if there are more."""
    if len(values) <= limit:
        return list(range(len(values)))
    return sorted(range(len(values)), key=lambda i: (-values[i], i))[:limit]


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


def text_width(text: str, size: float) -> float:
    """Return about how many points the widest line takes in a common system font."""
    wide = {"W", "F"}
    return max(
        sum(1.0 if unicodedata.east_asian_width(c) in wide else 0.58 for c in line) * size for line in text.split("\n")
    )


def gutter(names: Sequence[str]) -> float:
    return max(text_width(name, TEXT) for name in names) + 10 if names else 10.0


def shortened(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def wrapped(label: object, limit: int) -> str:
    """Return a label on at most two lines of `limit` characters."""
    lines = textwrap.wrap(readable(label), limit) or ["(empty)"]
    return "\n".join(lines[:2] if len(lines) <= 2 else [lines[0], shortened(" ".join(lines[1:]), limit)])


def free_place(
    spot: tuple[float, float],
    length: float,
    taken: Sequence[tuple[float, float, float, float]],
    wide: float,
    tall: float,
) -> tuple[float, float]:
    """Return the left and bottom of the first place round a point where a label covers nothing."""
    x, y = spot
    sides = [
        (x + 9, y - 7),
        (x - length - 9, y - 7),
        (x - length / 2, y + 8),
        (x - length / 2, y - 22),
        (x + 5, y + 7),
        (x + 5, y - 21),
        (x - length - 5, y + 7),
        (x - length - 5, y - 21),
    ]
    sides += [(x + dx, y + dy) for dy in (21, 35, -35, 49) for dx in (5.0, -length - 5, -length / 2)]

    def trouble(place: tuple[float, float]) -> float:
        left, bottom = place
        outside = max(0.0, -left, left + length - wide - 10, -bottom, bottom + 14 - tall - 20)
        covered = sum(
            max(0.0, min(left + length, t[2]) - max(left, t[0])) * max(0.0, min(bottom + 14, t[3]) - max(bottom, t[1]))
            for t in taken
        )
        return 1000 * outside + covered

    return min(sides, key=trouble)  # the first of equals, so the preferred side wins


def page_attributes(element: ElementTree.Element, name: str, uses: set[str]) -> dict[str, str]:
    """Return an element's attributes for a page: own ids, the page's colours and font, no namespaces."""
    new: dict[str, str] = {}
    for full, value in element.items():
        plain = full.partition("}")[2] or full
        if plain == "id":
            value = f"{name}-{value}" if value in uses else ""
        elif plain == "href":
            value = f"#{name}-{value[1:]}"
        elif plain == "style":
            value = re.sub(r"font-family: [^;]*;? ?", "", value)
            for colour, custom in PAGE_COLOURS.items():
                value = value.replace(colour, custom)
        elif plain == "transform":
            value = "" if value.startswith("rotate(-0 ") else value
        elif plain == "d":
            value = " ".join(value.split())
        value = re.sub(r"url\(#", f"url(#{name}-", value)
        new[plain] = value
    return new
