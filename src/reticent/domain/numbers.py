"""Numbers: a number between two ends, read on a published grid of cells."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from functools import cached_property
from numbers import Rational, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.domain.categorical import MISSING, OUTSIDE, Categorical, to_list
from reticent.errors import AnswerError, DomainError

Number = int | float | str | Decimal | Fraction
End = Fraction | float
MOST_CELLS = 2**17
_PLAIN = (int, float, np.integer, np.floating)


@dataclass(frozen=True)
class Numbers(Categorical):
    """A number from `low` to `high`, read on a published grid: its categories are the cells (edge, next edge].

    The first cell is closed at `low`. `edges` are the inner edges, ascending; the two ends may be listed with them. An
    end may be infinite. `step` says that only low, low + step, … are possible, whole years for example: every edge then
    stands half a step above the largest possible value not above it, so that no answer can fall on an edge. Without
    `edges`, each possible value is a cell of its own. Numbers are exact: a float is read as the decimal it prints as.

    Source: section 1.7 of our specification of interval privacy (bounded, discrete and rounded values).
    Raises DomainError for edges that do not ascend between the ends, a cell without a possible value, ends that are not
    a whole number of steps apart, or fewer than two cells.

    >>> age = Numbers("age", 18, 90, unit="years", step=1, edges=[30, 45, 60])
    >>> age.categories, age.encode([18, 30, 31, None]).tolist()
    (('up to 30', '(30, 45]', '(45, 60]', 'above 60'), [0, 0, 1, -1])
    >>> str(age.edges[0])
    '61/2'
    """

    low: End
    high: End
    unit: str
    step: Fraction | None
    edges: tuple[Fraction, ...]

    def __init__(
        self,
        name: str,
        low: Number,
        high: Number,
        *,
        unit: str = "",
        step: Number | None = None,
        edges: Sequence[Number] | None = None,
    ) -> None:
        if not isinstance(unit, str) or (unit and not unit.isprintable()):
            raise DomainError(f'The unit of "{name}" is {unit!r}; it is a printable text.', unit=unit)
        ends = _exact(low, name, "low"), _exact(high, name, "high")
        if not ends[0] < ends[1]:
            raise DomainError(f'"{name}" runs from {low!r} to {high!r}; low must be below high.', low=low, high=high)
        spacing = None if step is None else _step(step, name, ends)
        object.__setattr__(self, "low", ends[0])
        object.__setattr__(self, "high", ends[1])
        object.__setattr__(self, "unit", unit)
        object.__setattr__(self, "step", spacing)
        object.__setattr__(self, "edges", _inner_edges(name, ends, spacing, edges))
        super().__init__(name, [self.label(cell, cell + 1) for cell in range(len(self.edges) + 1)])

    @cached_property
    def boundaries(self) -> NDArray[np.float64]:
        """The ends and the edges between them as floats, shape `(n_categories + 1,)`."""
        bounds = np.array([float(value) for value in (self.low, *self.edges, self.high)])
        bounds.flags.writeable = False
        return bounds

    def label(self, first: int, stop: int) -> str:
        """The cells first ≤ j < stop in words: "up to 30", "(30, 45]", "above 60", or the one value they hold."""
        cells = len(self.edges) + 1
        if first == 0 and stop == cells:
            return "any number"
        if self.holds_one_value(first, stop):
            return decimal_text(self._shown(stop) if stop < cells else Fraction(self.high))
        if first == 0:
            return f"up to {decimal_text(self._shown(stop))}"
        if stop == cells:
            return f"above {decimal_text(self._shown(first))}"
        return f"({decimal_text(self._shown(first))}, {decimal_text(self._shown(stop))}]"

    def _shown(self, boundary: int) -> Fraction:
        """The edge as people read it: with a step, the largest possible value below it."""
        return self.edges[boundary - 1] - (self.step / 2 if self.step else 0)

    @cached_property
    def values_per_cell(self) -> tuple[int, ...]:
        """How many possible values each cell holds; 2 stands for endlessly many. Raises DomainError without a step."""
        if self.step is None:
            raise DomainError(f'"{self.name}" has no step, so every cell holds endlessly many numbers.', name=self.name)
        bounds = (self.low - self.step / 2, *self.edges, self.high + self.step / 2)
        widths = (right - left for left, right in zip(bounds, bounds[1:], strict=False))
        return tuple(2 if math.isinf(width) else int(width / self.step) for width in widths)

    def holds_one_value(self, first: int, stop: int) -> bool:
        """Whether the cells first ≤ j < stop leave one possible value, which is then the answer itself."""
        return self.step is not None and stop == first + 1 and self.values_per_cell[first] == 1

    def boundary_at(self, value: Number) -> int:
        """The position of an edge or an end among the boundaries, 0 for `low`; with a step, "up to value" for inner edges.

        Raises DomainError when no edge is there.
        """
        wanted = _exact(value, self.name, "edge")
        if wanted in (self.low, self.high):
            return 0 if wanted == self.low else len(self)
        places = {edge: place for place, edge in enumerate(self.edges, 1)}
        if self.step is not None and isinstance(wanted, Fraction):
            wanted = _half_step(wanted, self.step, _origin((self.low, self.high)))
        if not isinstance(wanted, Fraction) or wanted not in places:
            shown = ", ".join(decimal_text(self._shown(place)) for place in range(1, min(6, len(self))))
            raise DomainError(f'"{self.name}" has no edge at {value!r}; its edges begin {shown}.', value=value)
        return places[wanted]

    def _positions(self, answers: Iterable[Any]) -> NDArray[np.int64]:
        """The cells of numbers, of their text, or of the labels of the cells; compared in double precision."""
        values, codes = self._read(answers)
        unread = codes == OUTSIDE
        codes[unread & np.isnan(values)] = MISSING
        with np.errstate(invalid="ignore"):
            inside = unread & (values >= float(self.low)) & (values <= float(self.high)) & np.isfinite(values)
        inside &= self._on_lattice(values)
        codes[inside] = np.searchsorted(self.boundaries[1:-1], values[inside], side="left")
        wrong = np.flatnonzero(codes == OUTSIDE)
        if wrong.size:
            steps = f" in steps of {decimal_text(self.step)}" if self.step is not None else ""
            raise AnswerError(
                f'{wrong.size} of {codes.size} answers to "{self.name}" are no numbers from {end_text(self.low)} to '
                f"{end_text(self.high)}{steps} (first at position {int(wrong[0])}, counting from 0). Widen the domain, "
                "correct the answers, or make them missing (None).",
                n_outside=int(wrong.size),
                first=int(wrong[0]),
            )
        return codes

    def _read(self, answers: Iterable[Any]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Each answer as a number, or as the code of a label; what is neither keeps the code of an outsider."""
        if isinstance(answers, np.ndarray) and answers.dtype.kind in "iuf" and answers.ndim == 1:
            return answers.astype(np.float64), np.full(answers.shape, OUTSIDE, dtype=np.int64)
        given = to_list(answers)
        if {*map(type, given)} <= {float}:
            return np.array(given, dtype=np.float64), np.full(len(given), OUTSIDE, dtype=np.int64)
        lookup = {label: code for code, label in enumerate(self.categories)}
        pairs = [_read_one(value, lookup) for value in given]
        return np.array([v for v, _ in pairs], dtype=np.float64), np.array([c for _, c in pairs], dtype=np.int64)

    def _on_lattice(self, values: NDArray[np.float64]) -> NDArray[np.bool_]:
        if self.step is None:
            return np.ones(values.shape, dtype=np.bool_)
        step, origin = float(self.step), float(_origin((self.low, self.high)))
        with np.errstate(invalid="ignore"):
            off = np.abs(values - (origin + step * np.rint((values - origin) / step)))
            return np.asarray(off <= 1e-9 * step + 1e-15 * np.abs(values))

    def to_json(self) -> dict[str, Any]:
        """The domain as JSON; numbers are decimal text, so that no reader rounds them."""
        document: dict[str, Any] = {"kind": "numbers", "name": self.name, "unit": self.unit}
        document |= {"low": end_text(self.low), "high": end_text(self.high)}
        if self.step is not None:
            document["step"] = decimal_text(self.step)
        return {**document, "edges": [decimal_text(edge) for edge in self.edges]}

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Numbers:
        """The domain that `to_json` wrote."""
        return cls(
            document["name"],
            document["low"],
            document["high"],
            unit=document.get("unit", ""),
            step=document.get("step"),
            edges=document["edges"],
        )


def decimal_text(value: Fraction) -> str:
    """A decimal fraction written out.

    >>> decimal_text(Fraction(-5, 4)), decimal_text(Fraction(32500))
    ('-1.25', '32500')
    """
    digits = _decimals(value)
    assert digits is not None
    whole, rest = divmod(abs(value.numerator) * 10**digits // value.denominator, 10**digits)
    sign = "-" if value < 0 else ""
    return f"{sign}{whole}.{rest:0{digits}d}" if digits else f"{sign}{whole}"


def end_text(value: End) -> str:
    """An end of a domain: a decimal, or "inf" or "-inf"."""
    return decimal_text(value) if isinstance(value, Fraction) else str(value)


def _decimals(value: Fraction) -> int | None:
    """Digits after the decimal point; None for a fraction that is no decimal."""
    rest, powers = value.denominator, [0, 0]
    for place, prime in enumerate((2, 5)):
        while rest % prime == 0:
            rest //= prime
            powers[place] += 1
    return max(powers) if rest == 1 else None


def _exact(value: Any, name: str, what: str) -> End:
    """A number as a fraction, or an infinite end as a float."""
    number: Fraction | float | None = None
    if isinstance(value, Rational) and not isinstance(value, bool):
        number = Fraction(int(value.numerator), int(value.denominator))
    elif isinstance(value, (Real, str, Decimal)) and not isinstance(value, bool):
        try:
            decimal = Decimal(repr(float(value)) if isinstance(value, Real) else value)
            number = Fraction(decimal) if decimal.is_finite() else float(decimal)
        except (InvalidOperation, ValueError):
            number = None
    if number is None or number != number or (isinstance(number, Fraction) and _decimals(number) is None):
        raise DomainError(
            f'{what} of "{name}" is {value!r}; give a whole number, a decimal such as "0.1", or an infinite end.',
            value=value,
        )
    return number


def _origin(ends: tuple[End, End]) -> Fraction:
    """The possible value from which steps are counted."""
    return next((end for end in ends if isinstance(end, Fraction)), Fraction(0))


def _half_step(value: Fraction, step: Fraction, origin: Fraction) -> Fraction:
    """Half a step above the largest possible value that is not above `value`."""
    return origin + step * math.floor((value - origin) / step) + step / 2


def _step(value: Any, name: str, ends: tuple[End, End]) -> Fraction:
    step = _exact(value, name, "step")
    if not isinstance(step, Fraction) or step <= 0:
        raise DomainError(f'step of "{name}" is {value!r}; it must be positive.', step=value)
    low, high = ends
    if isinstance(low, Fraction) and isinstance(high, Fraction) and (high - low) % step:
        raise DomainError(
            f'"{name}" runs from {end_text(low)} to {end_text(high)}, which is no whole number of steps of '
            f"{decimal_text(step)}. Change an end or the step.",
            step=value,
        )
    return step


def _inner_edges(
    name: str, ends: tuple[End, End], step: Fraction | None, edges: Sequence[Number] | None
) -> tuple[Fraction, ...]:
    if edges is None:
        return _one_value_each(name, ends, step)
    if isinstance(edges, (str, bytes)) or not isinstance(edges, Iterable):
        raise DomainError(f'The edges of "{name}" must be a list of numbers.', name=name)
    given = [_exact(edge, name, "An edge") for edge in edges]
    given = given[1:] if given and given[0] == ends[0] else given
    given = given[:-1] if given and given[-1] == ends[1] else given
    inner = [edge for edge in given if isinstance(edge, Fraction) and ends[0] < edge < ends[1]]
    if len(inner) < len(given) or any(right <= left for left, right in zip(inner, inner[1:], strict=False)):
        raise DomainError(
            f'The edges of "{name}" must ascend strictly between {end_text(ends[0])} and {end_text(ends[1])}.',
            name=name,
        )
    if not 0 < len(inner) < MOST_CELLS:
        raise DomainError(f'"{name}" has {len(inner)} inner edges; give 1 to {MOST_CELLS - 1:,}.', n_edges=len(inner))
    if step is None:
        return tuple(inner)
    settled = [_half_step(edge, step, _origin(ends)) for edge in inner]
    for left, right, shown in zip(settled, settled[1:], inner[1:], strict=False):
        if left == right:
            raise DomainError(
                f'No possible value of "{name}" lies between the edge {decimal_text(shown)} and the one before it; leave '
                "one of them out.",
                edge=decimal_text(shown),
            )
    return tuple(settled)


def _one_value_each(name: str, ends: tuple[End, End], step: Fraction | None) -> tuple[Fraction, ...]:
    low, high = ends
    if step is None or not isinstance(low, Fraction) or not isinstance(high, Fraction):
        raise DomainError(
            f'"{name}" needs edges, the published grid on which it is read; only between finite ends with a step can '
            "every possible value be a cell of its own.",
            name=name,
        )
    n_values = int((high - low) / step) + 1
    if n_values > MOST_CELLS:
        raise DomainError(
            f'"{name}" has {n_values:,} possible values; above {MOST_CELLS:,} give edges.', n_values=n_values
        )
    return tuple(low + step * place + step / 2 for place in range(n_values - 1))


def _read_one(value: Any, lookup: dict[str, int]) -> tuple[float, int]:
    """An answer as a number, or its code: of a label, of a missing answer, of an outsider (or still to be placed)."""
    if isinstance(value, str):
        if value in lookup:
            return math.nan, lookup[value]
        try:
            number = float(value)
        except ValueError:
            return math.inf, OUTSIDE
        return (math.inf if math.isnan(number) else number), OUTSIDE
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return math.nan, MISSING
    if isinstance(value, (*_PLAIN, Decimal, Fraction)) and not isinstance(value, (bool, np.bool_)):
        return _as_float(value), OUTSIDE
    return math.inf, OUTSIDE


def _as_float(value: Any) -> float:
    try:
        return float(value)
    except (OverflowError, ValueError):
        return math.inf
