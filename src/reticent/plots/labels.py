"""Labels beside points: placed so that they cover neither points nor each other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from reticent.plots.style import QUIET

Spot = tuple[float, float]
Floats = NDArray[np.float64]
LABEL = 14.0  # height of a label in points
SWEEPS, ORDERS = 4, 8
FINE = 25.0  # mean trouble of labels that cover nothing and are near their points
NEAR = 12.0  # no line is needed from a label this near to its point


def label_points(
    axes: Axes,
    spots: Sequence[Spot],
    names: Sequence[str],
    lengths: Sequence[float],
    styles: Sequence[dict[str, Any]],
    room: tuple[float, float],
    order: Sequence[int],
) -> None:
    """Write a name beside each point of the axes, which are `room` points wide and high; `spots` are in points too.

    `lengths` are how wide the names are; those first in `order` choose their place first.
    """
    whole = axes.transAxes
    places = label_places(spots, lengths, order, room)
    for k in order:
        (start, low), spot = places[k], spots[k]
        end = reach(np.array(places[k]), lengths[k], spot)
        if math.dist(end, spot) > NEAR:  # far from its point: lead the eye there
            axes.plot(
                [end[0] / room[0], spot[0] / room[0]], [end[1] / room[1], spot[1] / room[1]], color=QUIET, linewidth=0.8,
                transform=whole, clip_on=False, zorder=2,
            )  # fmt: skip
        # The letters may be narrower than the room kept for them: they stand at the end nearer to the point.
        side, at = ("right", start + lengths[k]) if start + lengths[k] <= spot[0] else ("left", start)
        where = (at / room[0], (low + LABEL / 2) / room[1])
        axes.text(*where, names[k], ha=side, va="center", transform=whole, **styles[k])


def label_places(
    spots: Sequence[Spot], lengths: Sequence[float], order: Sequence[int], room: tuple[float, float]
) -> dict[int, Spot]:
    """Return the left and bottom of a label for each point, so that labels cover neither points nor each other.

    Labels are placed one by one, then each again while the others stand, until none moves; should some still be in
    trouble, once more in another order, from either end, and the best order counts. All in points.

    >>> label_places([(50.0, 50.0)], [30.0], [0], (300.0, 200.0))
    {0: (59.0, 43.0)}
    """
    best: tuple[float, dict[int, Spot]] = (math.inf, {})
    turned = [[*order[turn:], *order[:turn]] for turn in range(min(ORDERS, len(order)))]
    for tried in (*turned, *(one[::-1] for one in turned)):
        found = settled(spots, lengths, tried, room)
        best = min(best, found, key=lambda outcome: outcome[0])
        if best[0] < FINE * len(order):
            break
    return best[1]


def settled(
    spots: Sequence[Spot], lengths: Sequence[float], order: Sequence[int], room: tuple[float, float]
) -> tuple[float, dict[int, Spot]]:
    """Return the trouble of all labels, and the places where none moves any more."""
    places: dict[int, Spot] = {}
    trouble = 0.0
    for _ in range(SWEEPS):
        before, trouble = dict(places), 0.0
        for k in order:
            others = [(np.array([place]), lengths[i], spots[i]) for i, place in places.items() if i != k]
            boxes = np.concatenate([np.empty((0, 4)), *(boxes_of(place, length) for place, length, _ in others)])
            leads = np.concatenate([np.empty((0, 2)), *(leads_of(*other)[0] for other in others)])
            ways = ways_round(spots[k], lengths[k])
            costs = troubles(ways, lengths[k], spots[k], np.array(spots), boxes, leads, room)
            least = int(costs.argmin())  # the first of equals, so the preferred side wins
            places[k] = (float(ways[least, 0]), float(ways[least, 1]))
            trouble += float(costs[least])
        if places == before:
            break
    return trouble, places


def ways_round(spot: Spot, length: float) -> Floats:
    """Return the places that a label may take round its point, the preferred ones first, shape `(n, 2)`."""
    x, y = spot
    beside = [(x + 9, y - 7), (x - length - 9, y - 7), (x - length / 2, y + 8), (x - length / 2, y - 22)]
    further = [
        (x + dx, y - 7 + sign * step)
        for step in range(14, 141, 7)
        for sign in (1, -1)
        for dx in (5.0, -length - 5, -length / 2, -length / 4, -0.75 * length, 25.0, -length - 25)
    ]
    return np.array(beside + further)


def troubles(
    ways: Floats, length: float, spot: Spot, spots: Floats, boxes: Floats, leads: Floats, room: tuple[float, float]
) -> Floats:
    """Return what is wrong with each place: outside, covering labels or points, crossing lines, far from its point."""
    own = boxes_of(ways, length)
    left, bottom, right, top = own.T
    outside = np.maximum.reduce([0 * left, -left, right - room[0] - 10, -bottom, top - room[1] - 20])
    covered = shared_areas(own + [-3, -1, 3, 1], boxes) + shared_areas(own, np.hstack([spots - 6, spots + 6]))
    lines = leads_of(ways, length, spot)
    crossed = held(boxes, lines.reshape(-1, 2)).any(axis=0).reshape(lines.shape[:2]).sum(axis=1)
    crossed += held(own, leads).sum(axis=1)
    far = np.hypot(*(reach(ways, length, spot) - spot).T)
    return np.asarray(1000 * outside + 10 * covered + 150 * crossed + far)


def boxes_of(places: Floats, length: float) -> Floats:
    """Left, bottom, right and top of labels, shape `(n, 4)`."""
    return np.hstack([places, places + [length, LABEL]])


def reach(places: Floats, length: float, spot: Spot) -> Floats:
    """Return the point of a label that is nearest to its mark."""
    return np.clip(spot, places + [0, 2], places + [length, LABEL - 2])


def leads_of(places: Floats, length: float, spot: Spot) -> Floats:
    """Return 15 points along the line from each label to its mark, NaN where it is so near that none is drawn."""
    ends = reach(places, length, spot)[:, None, :]
    along = ends + (np.array(spot) - ends) * np.arange(1, 16)[:, None] / 16
    near = np.hypot(*(ends[:, 0] - spot).T) <= NEAR
    return np.where(near[:, None, None], np.nan, along)


def shared_areas(boxes: Floats, others: Floats) -> Floats:
    """Return how much of each box the others cover."""
    low = np.maximum(boxes[:, None, :2], others[None, :, :2])
    high = np.minimum(boxes[:, None, 2:], others[None, :, 2:])
    return np.asarray(np.maximum(high - low, 0.0).prod(axis=2).sum(axis=1))


def held(boxes: Floats, points: Floats) -> NDArray[np.bool_]:
    """Return which boxes hold which points, shape `(n_boxes, n_points)`."""
    inside = (boxes[:, None, :2] < points) & (points < boxes[:, None, 2:])
    return np.asarray(inside.all(axis=2))
