"""The plan for the mean of a number: designs beside each other, by the answers they need, and what reports leave possible."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from typing import Any

from reticent.domain import Numbers
from reticent.planning.number_designs import LeftOut
from reticent.planning.number_rows import NumberRow
from reticent.planning.text import aligned, amount, times

FEW = 200  # answers below which a normal approximation is rough
RARE = 0.005
DEAR = 20.0


@dataclass(frozen=True, eq=False, repr=False)
class NumberPlan:
    """Answers against precision of the mean of a number, one row per design, those that need fewest first; made by `plan`.

    All rows have at least the `coverage` and `narrowest` asked for, under the expected law `probabilities` (by cell;
    `assumed` where none was given and all cells count alike). `mean_within` or `n` is what was asked. `left_out` names the
    designs that are no answer. `placement` is how far from the middles of the cells the mean may lie to each side, which no
    number of answers mends. `n_open` or `half_width_open` is what asking openly takes; `n_least` and `half_width_least` what no
    design of one threshold can be better than.
    """

    domain: Numbers
    rows: tuple[NumberRow, ...]
    mean_within: float | None
    n: int | None
    coverage: float
    narrowest: float | None
    probabilities: tuple[float, ...]
    assumed: bool
    confidence_level: float
    placement: float
    n_open: int
    half_width_open: float
    n_least: int
    half_width_least: float
    left_out: tuple[LeftOut, ...]

    def _amount(self, value: float) -> str:
        return " ".join(filter(None, (amount(value), self.domain.unit)))

    @property
    def _demands(self) -> list[str]:
        """What was asked of coverage and of single reports, in words."""
        told = [f"coverage {self.coverage:.4g}"] if self.coverage > 0 else []
        return told if self.narrowest is None else [*told, f"{self.narrowest:.4g} of all people in every report"]

    def sentence(self) -> str:
        """What the plan says, in a sentence."""
        first, last, name = self.rows[0], self.rows[-1], self.domain.name
        if self.n is not None:
            known = f"With {_listed([f'{self.n:,} answers', *self._demands])} the mean of {name} is known to"
            end = f"; asked openly to ±{self._amount(self.half_width_open)}"
            if len(self.rows) > 1:
                return f"{known} ±{self._amount(first.half_width)} at best ({first.name}){end}."
            return f"{known} ±{self._amount(first.half_width)}{end}: they are worth {first.worth:,.0f} open answers."
        assert self.mean_within is not None
        demands = f" with {_listed(self._demands)}" if self._demands else ""
        known = f"To know the mean of {name} to ±{self._amount(self.mean_within)}{demands}"
        if len(self.rows) > 1:
            return (
                f"{known}: from {first.n:,} answers ({first.name}) to {last.n:,} ({last.name}); asked openly "
                f"{self.n_open:,}."
            )
        return f"{known} you need {first.n:,} answers, {times(first.factor)} ({self.n_open:,})."

    def _headline(self) -> str:
        """The sentence as a picture has room for it."""
        first = self.rows[0]
        reached = first.half_width if self.mean_within is None else self.mean_within
        demands = f", with {_listed(self._demands)}" if self._demands else ""
        return f"{first.n:,} answers give the mean of {self.domain.name} to ±{self._amount(reached)}{demands}"

    def summary(self) -> str:
        """The table for a terminal, and what it means."""
        low, high = (f"{float(end):,.6g}" for end in (self.domain.low, self.domain.high))
        ends = " ".join(filter(None, (f"{low} to {high}", self.domain.unit)))
        head = f"{self.domain.name}: {ends} in {len(self.domain):,} cells, {100 * self.confidence_level:.4g}% intervals"
        return "\n".join([head, *aligned(self._table()), "", self.sentence(), *self._notes()])

    def _table(self) -> list[list[str]]:
        asked, digits = self.n is not None, len(str(len(self.rows)))
        table = [["", "± mean" if asked else "answers", "× openly", "coverage", "narrowest", "asked"]]
        for place, row in enumerate(self.rows, 1):
            table.append([
                f"{place:>{digits}}  {row.name}", row.half_width_text if asked else row.n_text, f"{row.factor:,.1f}",
                f"{row.coverage:.3f}", f"{row.narrowest:.3f}", f"{row.asked:.0%}",
            ])  # fmt: skip
        return table

    def _notes(self) -> Iterator[str]:
        if self.assumed:
            yield (
                "ASSUMED: equally many people in every cell, for no law was given. All numbers here depend on it: give the law "
                "you expect, one probability per cell."
            )
        first = self.rows[0]
        yield (
            f"Coverage {first.coverage:.2f}: on average {100 * first.coverage:.0f} of 100 people could have given the same "
            f"report; narrowest: the report that fewest could have given, {_of_100(first.narrowest)} with the first design."
        )
        yield from self._precision_notes()
        yield from self._left_out_notes()
        yield "Ranges rule numbers out for certain: no epsilon is finite. Coverage is of the population, and not for who knows more."

    def _precision_notes(self) -> Iterator[str]:
        wanted = f" with coverage {self.coverage:.4g}" if self.coverage > 0 else ""
        least = (
            f"needs fewer than {self.n_least:,} answers"
            if self.n is None
            else f"is better than ±{self._amount(self.half_width_least)}"
        )
        yield f"On these edges no design of one threshold{wanted} {least}."
        if self.placement > 0:
            yield (
                f"± is for numbers at the middles of their cells; where they lie in them leaves up to ±{self._amount(self.placement)} "
                "more, which only finer edges mend."
            )
        if self.rows[0].n < FEW:
            yield f"Warning: a normal approximation, rough below {FEW} answers."
        rare = sum(share < RARE for share in self.probabilities)
        if rare and any(row.factor > DEAR for row in self.rows):
            yield (
                f"{rare} of {len(self.domain)} cells hold less than 1 in {1 / RARE:.0f} people each. As no share is below 0, designs "
                "that need many times the open answers will need fewer than said; joining such cells helps them more."
            )

    def _left_out_notes(self) -> Iterator[str]:
        if self.left_out:
            reasons = Counter(one.reason for one in self.left_out)
            told = "; ".join(f"{reason} ({count})" for reason, count in reasons.items())
            yield f"Left out {len(self.left_out)} of {len(self.rows) + len(self.left_out)} designs: {told}."

    def to_json(self) -> dict[str, Any]:
        """Everything as JSON."""
        return {
            "question": self.domain.name, "unit": self.domain.unit, "mean_within": self.mean_within, "n": self.n,
            "coverage": self.coverage, "narrowest": self.narrowest, "law": list(self.probabilities),
            "law_assumed": self.assumed, "confidence_level": self.confidence_level, "placement": self.placement,
            "n_open": self.n_open, "half_width_open": self.half_width_open, "n_least": self.n_least,
            "half_width_least": self.half_width_least, "sentence": self.sentence(),
            "rows": [row.to_json() for row in self.rows], "left_out": [vars(one) for one in self.left_out],
        }  # fmt: skip

    def plot(self) -> Any:
        """A matplotlib figure: the designs by what they need, or give, with what one report leaves possible."""
        from reticent.plots.number_plan import designs_compared  # matplotlib loads only when a picture is asked for

        asked = self.n is not None
        return designs_compared(
            [row.name for row in self.rows],
            [row.half_width if asked else row.n for row in self.rows],
            [(row.coverage, row.narrowest) for row in self.rows],
            openly=(self.half_width_open, amount(self.half_width_open)) if asked else (self.n_open, f"{self.n_open:,}"),
            written=[row.half_width_text if asked else row.n_text for row in self.rows],
            finding=self._headline(),
            unit=", ".join(filter(None, ["less certain: ± of the mean", self.domain.unit]))
            if asked
            else "answers needed",
        )

    def _repr_html_(self) -> str:
        head, *body = self._table()
        top = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in head)
        lines = "".join(
            f'<tr><th scope="row">{escape(row[0])}</th>' + "".join(f"<td>{escape(c)}</td>" for c in row[1:]) + "</tr>"
            for row in body
        )
        return f"<table><caption>{escape(self.sentence())}</caption><tr>{top}</tr>{lines}</table>"

    def __repr__(self) -> str:
        return f'<plan for the mean of "{self.domain.name}": {self.sentence()}>'


def _listed(parts: list[str]) -> str:
    """A list in a sentence."""
    return " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))


def _of_100(share: float) -> str:
    return f"{100 * share:.0f} of 100" if share >= 0.005 else "fewer than 1 of 100"
