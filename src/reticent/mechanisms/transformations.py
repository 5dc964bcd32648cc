"""Asking for a function of the answer: a channel on g(Y) read as a channel on Y (Ding and Ding, arXiv 2106.09565)."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from numbers import Rational, Real
from typing import Any

from reticent.channel import Channel, Transformed
from reticent.domain import Categorical, Numbers
from reticent.errors import AnswerError, DomainError, ParameterError

Value = Fraction | float
MOST_VALUES = 2**20
_PARTS = 16
_SLACK = 1e-9
_SHOWN = 5


def transformed(
    channel: Channel,
    domain: Numbers | Categorical,
    g: Callable[[Any], Any] | Mapping[str, Any] | Sequence[int | str],
) -> Transformed:
    """Report g(Y) through a channel that asks about g(Y), as a channel on Y: its reports are unions of ranges of Y.

    Asked for the distance from 40 hours, "more than 10" leaves less than 30 or more than 50. For reports of ranges the
    coverage of Y is that of g(Y). Shares of cells of Y with one g(Y) cannot be told apart, only the law of g(Y), from
    `channel.as_inner(reports)`.

    `g` takes one number (an `int`; if not whole a `Fraction` where `domain` has a step, else a `float`) or a category, and
    returns a number or category of the question of `channel`. Every cell of Y must go to one cell of g(Y). With a step
    this is checked at every possible value, exactly. Without one g must be monotone within each cell; it is looked at
    where the cell ends and at 15 points between, and a number on an edge goes with its cell. Cells without end are looked
    at in some 20 places. Instead of a function, `g` may be a mapping from the cells of Y to such numbers or categories, or
    a list with the cell of g(Y) for each cell of Y, by its number from 0 or its label.

    Source: Ding and Ding, Interval Privacy; section 1.6 of our specification (transformation).
    Raises DomainError for a cell of Y that g spreads over several cells of g(Y), saying which edges to add, and for
    values outside the question of `channel`; ParameterError for more than 2^20 possible values or an unknown cell in a
    list; ChannelError for a cell of g(Y) that no cell of Y goes to.

    >>> from reticent.mechanisms.ranges import case_one
    >>> distance = case_one(Numbers("hours from 40", 0, 40, step=1, edges=[5, 10, 20]))
    >>> hours = Numbers("hours", 0, 80, step=1, edges=[19, 29, 34, 45, 50, 60])
    >>> channel = transformed(distance, hours, lambda hours: abs(hours - 40))
    >>> channel.name, [channel.describe(int(key)) for key in channel.keys()[2:4]]
    ('one threshold of hours from 40', ['(19, 60]', 'up to 34 or above 45'])
    """
    if not isinstance(channel, Channel):
        raise ParameterError(f"channel is {type(channel).__name__}; give a channel that asks about g(Y).")
    if isinstance(g, Mapping):
        cells = _of_mapping(domain, channel.domain, g)
    elif callable(g):
        cells = _Function(domain, channel.domain, g).cells()
    else:
        cells = _of_list(channel.domain, g)
    return Transformed(channel, domain, tuple(cells), f"{channel.name} of {channel.domain.name}")


def _of_mapping(domain: Categorical, inner: Categorical, g: Mapping[str, Any]) -> list[int]:
    wrong = sorted({*map(str, g)} ^ {*domain.categories})
    if wrong:
        raise ParameterError(
            f'The mapping and "{domain.name}" do not share {", ".join(wrong[:_SHOWN])}; map each of its cells once.',
            labels=wrong,
        )
    function = _Function(domain, inner, lambda label: g[label])
    return function.codes(domain.categories)


def _of_list(inner: Categorical, g: Any) -> list[int]:
    if isinstance(g, (str, bytes)) or not isinstance(g, Sequence):
        raise ParameterError(f"g is {type(g).__name__}; give a function, a mapping, or a list of cells.")
    places = {label: place for place, label in enumerate(inner.categories)}
    found = []
    for given in g:
        place = places.get(given) if isinstance(given, str) else given
        if isinstance(place, bool) or not isinstance(place, int) or not 0 <= place < len(inner):
            raise ParameterError(
                f'{given!r} is no cell of "{inner.name}"; name cells by their label, or by number from 0 to {len(inner) - 1}.',
                cell=given,
            )
        found.append(place)
    return found


@dataclass(frozen=True)
class _Function:
    """g from the cells of one question to those of another."""

    domain: Categorical
    inner: Categorical
    g: Callable[[Any], Any]

    def cells(self) -> list[int]:
        """The cell of g(Y) for each cell of Y. Raises DomainError where there are several for one."""
        if not isinstance(self.domain, Numbers):
            return self.codes(self.domain.categories)
        if self.domain.step is not None and sum(self.domain.values_per_cell) > MOST_VALUES:
            raise ParameterError(
                f'"{self.domain.name}" has more than {MOST_VALUES:,} possible values, too many to look at each. Give the list '
                "of cells instead of a function.",
            )
        found = [self._cell(self.domain, x) for x in range(len(self.domain))]
        if None in found:
            raise self._spread(self.domain, [x for x, cell in enumerate(found) if cell is None])
        return [cell for cell in found if cell is not None]

    def _cell(self, domain: Numbers, x: int) -> int | None:
        points = list(_points(domain, x))
        if isinstance(self.inner, Numbers) and self.inner.step is None and domain.step is None:
            return _closed_cell(self.inner, [self.number(point) for point in points])
        # Without a step the first point is the open end, which belongs to the cell before.
        codes = {*self.codes(points[1:] if domain.step is None and x else points)}
        return codes.pop() if len(codes) == 1 else None

    def value(self, point: Any) -> Any:
        """g there. Raises DomainError where it cannot be computed."""
        given = point
        if isinstance(point, Fraction):
            whole, stepped = point.denominator == 1, isinstance(self.domain, Numbers) and self.domain.step is not None
            given = int(point) if whole else point if stepped else float(point)
        try:
            return self.g(given)
        except (ArithmeticError, ValueError) as fault:
            raise DomainError(
                f'g has no value at {_text(point)}, which "{self.domain.name}" allows: {fault}. Change the ends of '
                f'"{self.domain.name}", or give the list of cells.',
                point=_text(point),
            ) from fault

    def number(self, point: Any) -> Value:
        """g there as a number that "inner" allows; what is within rounding of one of its edges is that edge."""
        assert isinstance(self.inner, Numbers)
        given = self.value(point)
        number: Value = math.nan
        if isinstance(given, Rational) and not isinstance(given, bool):
            number = Fraction(int(given.numerator), int(given.denominator))
        elif isinstance(given, Real) and not isinstance(given, bool):
            number = float(given)
            number = Fraction(repr(number)) if math.isfinite(number) else number
            number = _on_edge(self.inner, number)
        if not self.inner.low <= number <= self.inner.high:
            raise self._outside(point)
        return number

    def code(self, point: Any) -> int:
        """The cell of g(Y) that holds g there."""
        return self.codes([point])[0]

    def codes(self, points: Sequence[Any]) -> list[int]:
        """The cells of g(Y) that hold g at these points."""
        if isinstance(self.inner, Numbers) and self.inner.step is None:
            return [bisect_left(self.inner.edges, self.number(point)) for point in points]
        try:
            found = self.inner.encode([self.value(point) for point in points])
        except AnswerError as fault:
            place = fault.details["first"]
            assert isinstance(place, int)
            raise self._outside(points[place]) from None
        for point, code in zip(points, found.tolist(), strict=True):
            if code < 0:
                raise self._outside(point)
        return [int(code) for code in found]

    def _outside(self, point: Any) -> DomainError:
        return DomainError(
            f'g at {_text(point)} is no possible answer to "{self.inner.name}". Widen "{self.inner.name}" (without a step where '
            "g is not on its steps), or narrow "
            f'"{self.domain.name}".',
            point=_text(point),
        )

    def _spread(self, domain: Numbers, wrong: list[int]) -> DomainError:
        edges: list[Value] = []
        for x in wrong[:_SHOWN]:
            points = list(_points(domain, x))
            ends = () if domain.step else (points[0], points[-1])
            edges += [edge for edge in self._changes(domain.step, points) if not _beside(edge, ends)]
        digits = 9 if domain.step is None else 12
        shown = ", ".join(f"{float(edge):.{digits}g}" for edge in edges) + (", …" if len(wrong) > _SHOWN else "")
        advice = f"Add edges at {shown}" if edges else "Split them"
        return DomainError(
            f'g spreads {len(wrong)} of {len(domain)} cells of "{domain.name}", the first "{domain.categories[wrong[0]]}", over '
            f'several cells of "{self.inner.name}" each, or leaves one and comes back. {advice} to "{domain.name}", or take '
            f'coarser edges for "{self.inner.name}".',
            cell=domain.categories[wrong[0]],
            edges=tuple(float(edge) for edge in edges),
        )

    def _changes(self, step: Fraction | None, points: list[Value]) -> list[Value]:
        """Where, going up, the cell of g(Y) changes: the last value before."""
        found: list[Value] = []
        finite = [point for point in points if math.isfinite(point)]
        for left, right in pairwise(finite):
            while len(found) < _SHOWN and self.code(left) != self.code(right):
                last, left = self._change(left, right, step)
                found.append(last)
        return found

    def _change(self, left: Value, right: Value, step: Fraction | None) -> tuple[Value, Value]:
        """Two neighbouring values, or as good as, of which the first is as `left` and the second is not."""
        own, low, high = self.code(left), left, right
        for _ in range(60):
            middle = low + (high - low) / 2 if step is None else low + step * ((high - low) / step // 2)
            if middle in (low, high):
                break
            low, high = (middle, high) if self.code(middle) == own else (low, middle)
        return low, high


def _points(domain: Numbers, x: int) -> Iterator[Value]:
    """Places of a cell to look at, ascending: its ends and points between; with a step its possible values."""
    low, high = ((domain.low, *domain.edges, domain.high)[x + side] for side in (0, 1))
    half = Fraction(0) if domain.step is None else domain.step / 2
    first = low + half if x else low
    last = high - half if x + 1 < len(domain) else high
    if isinstance(first, Fraction) and isinstance(last, Fraction):
        step = domain.step or (last - first) / _PARTS
        yield from (first + step * place for place in range(int((last - first) / step) + 1))
    elif isinstance(first, Fraction):
        yield from (first + away for away in _far(domain.step))
        yield from () if domain.step else (math.inf,)
    elif isinstance(last, Fraction):
        yield from () if domain.step else (-math.inf,)
        yield from (last - away for away in reversed(_far(domain.step)))


def _far(step: Fraction | None) -> list[Fraction]:
    """Distances from the finite end of a cell without end."""
    if step is None:
        return [Fraction(0), *(Fraction(4) ** power for power in range(-8, 9))]
    return [step * away for away in (*range(_PARTS), *(2**power for power in range(5, 25)))]


def _closed_cell(inner: Numbers, values: list[Value]) -> int | None:
    """The cell that holds all values, its lower end taken as part of it; None where they are of several cells."""
    low, high = min(values), max(values)
    if low == high:
        return bisect_left(inner.edges, low)
    cell = bisect_right(inner.edges, low)
    return cell if high <= (*inner.edges, inner.high)[cell] else None


def _on_edge(inner: Numbers, number: Value) -> Value:
    place = bisect_left(inner.edges, number)
    near: list[Value] = [inner.low, *inner.edges[max(place - 1, 0) : place + 1], inner.high]
    return next((edge for edge in near if _beside(number, (edge,))), number)


def _beside(number: Value, ends: Sequence[Value]) -> bool:
    finite = [float(end) for end in ends if math.isfinite(end) and math.isfinite(number)]
    return any(abs(float(number) - end) <= _SLACK * max(1.0, abs(end)) for end in finite)


def _text(point: Any) -> str:
    return point if isinstance(point, str) else f"{float(point):.12g}"
