"""How many answers a wanted precision needs, what precision a number of answers gives, and what is given away for it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html import escape
from numbers import Integral, Real
from typing import Any, Literal, overload

import numpy as np
from scipy.stats import norm

from reticent.channel import Channel, Ranges
from reticent.domain import Categorical, Numbers
from reticent.errors import ParameterError
from reticent.intervals import check_level
from reticent.measures.prior import as_prior
from reticent.mechanisms import binary_dummy, fixed_size, randomized_response, ternary_dummy, uniform_subset
from reticent.planning.number_demands import number_plan
from reticent.planning.number_plans import NumberPlan
from reticent.planning.one_channel import MOST_ANSWERS, Asked, PlanRow, plan_row
from reticent.planning.text import aligned, points, reached, times
from reticent.precision import ILL_CONDITIONED

IN_WORDS = {"maximum_likelihood": "maximum likelihood", "moments": "the moments estimate"}
CATEGORIES_SHOWN = 30
TOO_WIDE = 0.25  # an interval this wide to each side says next to nothing


@dataclass(frozen=True, eq=False, repr=False)
class Plan:
    """Answers against precision for one channel or several, in `rows`, those that need fewest first; made by `plan`.

    `asked` names what was given ("n", "half_width" or "rms") and `target` its value; `shares` are the expected ones, None
    for the worst case over all shares.
    """

    domain: Categorical
    rows: tuple[PlanRow, ...]
    asked: Asked
    target: float
    shares: tuple[float, ...] | None
    confidence_level: float

    def sentence(self) -> str:
        """What the plan says, in a sentence."""
        first, last = self.rows[0], self.rows[-1]
        worst = "" if self.shares is not None else ", whatever the shares are"
        openly = f"{reached(first.half_width_open.max())} points" if self.asked == "n" else f"{first.n_open:,}"
        if self.asked == "n":
            widths = [f"±{reached(row.half_width.max())}" for row in (first, last)]
            if len(self.rows) > 1:
                return (
                    f"With {first.n:,} answers every share is known to {widths[0]} points with {first.name}, to {widths[1]} "
                    f"with {last.name}{worst}; asked openly to ±{openly}."
                )
            return (
                f"With {first.n:,} answers every share is known to {widths[0]} points{worst}; asked openly to ±{openly}: "
                f"they are worth {first.worth:,.0f} open answers."
            )
        known = f"every share to ±{points(self.target)} points"
        if self.asked == "rms":
            known = f"all shares together to {points(self.target)} points (root of the summed squared error)"
        if len(self.rows) > 1:
            return (
                f"To know {known}{worst}: from {first.n:,} answers with {first.name} to {last.n:,} with {last.name}; "
                f"asked openly {openly}."
            )
        return f"To know {known}{worst and worst + ','} you need {first.n:,} answers, {times(first.factor)} ({openly})."

    def _headline(self) -> str:
        """The sentence as a picture has room for it."""
        first, last = self.rows[0], self.rows[-1]
        if self.asked == "n":
            widths = [reached(row.half_width.max()) for row in (first, last)]
            if len(self.rows) > 1:
                return f"With {first.n:,} answers ±{widths[0]} to ±{widths[1]} points, by what a report gives away"
            return f"{first.n:,} answers give ±{widths[0]} points, as {first.worth:,.0f} open answers do"
        wanted = (
            f"±{points(self.target)} points" if self.asked == "half_width" else f"{points(self.target)} points in all"
        )
        if len(self.rows) > 1:
            return f"{first.n:,} to {last.n:,} answers for {wanted}, by what a report gives away"
        return f"{first.n:,} answers for {wanted}, {times(first.factor)}"

    def summary(self) -> str:
        """The tables for a terminal, and what they mean."""
        p, level = len(self.domain), f"{100 * self.confidence_level:.4g}% intervals"
        at = "whatever the shares are" if self.shares is None else "at the expected shares"
        lines = [f"{self.domain.name}: {p:,} categories, {level}, {at}", *aligned(self._table())]
        if len(self.rows) == 1:
            lines += self._by_category(self.rows[0])
        lines += ["", self.sentence(), *self._notes()]
        return "\n".join(lines)

    def _table(self) -> list[list[str]]:
        head = ["± points", "worth openly"] if self.asked == "n" else ["answers", "× openly"]
        table = [["", *head, "gives away", "best guess right", "epsilon"]]
        for row in self.rows:
            given = row.given_away
            reached = [f"{100 * row.half_width.max():.2f}", f"{row.worth:,.0f}"]
            table.append([
                row.name, *(reached if self.asked == "n" else [f"{row.n:,}", f"{row.factor:,.2f}"]),
                f"{given.bits:.3f} bits", f"{given.prediction:.1%}",
                "infinite" if math.isinf(given.epsilon) else f"{given.epsilon:.2f}",
            ])  # fmt: skip
        return table

    def _by_category(self, row: PlanRow) -> list[str]:
        alike = np.ptp(row.half_width) <= 1e-9
        if alike or len(self.domain) > CATEGORIES_SHOWN:
            return []
        table = [
            [
                "",
                *(["share"] if self.shares else []),
                "± points",
                "openly",
                *(["answers"] if row.n_each is not None else []),
            ]
        ]
        for j, label in enumerate(self.domain.categories):
            cells = [label, *([f"{self.shares[j]:.3f}"] if self.shares else [])]
            cells += [f"{100 * half[j]:.2f}" for half in (row.half_width, row.half_width_open)]
            table.append([*cells, *([f"{int(row.n_each[j]):,}"] if row.n_each is not None else [])])
        return ["", f"With {row.n:,} answers:", *aligned(table)]

    def _notes(self) -> Iterator[str]:
        row = self.rows[0]
        given = row.given_away
        equal = " (at equal shares)" if self.shares is None else ""
        if len(self.rows) > 1:
            yield (
                f"An answer holds {given.entropy:.2f} bits; without any report a best guess is right {given.floor:.1%} of the "
                f"time{equal}. {'Most exact' if self.asked == 'n' else 'Fewest answers'} first, which mostly gives away most: "
                "choose by both."
            )
        else:
            yield (
                f"One report gives away {given.bits:.2f} of the {given.entropy:.2f} bits in an answer; a best guess is right "
                f"{given.prediction:.1%} of the time, without any report {given.floor:.1%}{equal}."
            )
        if any(math.isinf(one.given_away.epsilon) for one in self.rows):
            yield "Infinite epsilon: such a report rules some answers out for certain."
        if self.shares is None:
            yield "Counted with the moments estimate; for many answers maximum likelihood is at least as exact."
        else:
            yield self._other_estimator(row)
        yield from self._useless()
        for bad in self.rows:
            if bad.condition_number > ILL_CONDITIONED:
                yield (
                    f"Warning: {bad.name} has condition number {bad.condition_number:.1e}; some differences between shares "
                    "hardly change the reports."
                )

    def _useless(self) -> Iterator[str]:
        """Which of the channels leave single shares unknown, if any."""
        largest = 1 / len(self.domain) if self.shares is None else max(self.shares)
        useless = [row for row in self.rows if row.half_width.max() >= min(TOO_WIDE, largest)]
        if not useless:
            return
        half = float(useless[0].half_width.max())
        which = "" if len(useless) == len(self.rows) else f", with {useless[0].name}"
        if which and len(useless) > 1:
            which += f" and {len(useless) - 1} more"
        if half >= TOO_WIDE:
            yield f"Warning{which}: so few answers say next to nothing about the shares."
        else:
            average = self.shares is None
            yield (
                f"Warning{which}: ±{reached(half)} points is more than {'an average' if average else 'the largest expected'} "
                f"share ({points(largest)}): useless for single categories"
                f"{', except those far above the average' if average else ''}."
            )

    def _other_estimator(self, row: PlanRow) -> str:
        if len(row.variances) == 1:
            return "Counted with the moments estimate: the variance of maximum likelihood is not known at these shares."
        (other,) = (name for name in row.variances if name != row.estimator)
        if self.asked == "n":
            z = float(norm.ppf(0.5 + self.confidence_level / 2))
            half = z * math.sqrt(float(row.variances[other].max()) / row.n)
            return f"Counted with {IN_WORDS[row.estimator]}; {IN_WORDS[other]} gives ±{reached(half)} points."
        return f"Counted with {IN_WORDS[row.estimator]}; {IN_WORDS[other]} needs {row.n_by_estimator[other]:,} answers."

    def to_json(self) -> dict[str, Any]:
        """Everything as JSON."""
        return {
            "question": self.domain.name, "asked": self.asked, "target": self.target,
            "shares": None if self.shares is None else list(self.shares), "confidence_level": self.confidence_level,
            "sentence": self.sentence(), "rows": [row.to_json() for row in self.rows],
        }  # fmt: skip

    def plot(self) -> Any:
        """A matplotlib figure: precision against answers with what was asked marked, and what a report gives away."""
        from reticent import plots  # matplotlib loads only when a picture is asked for

        first, rms = self.rows[0], self.asked == "rms"
        asked: Literal["n", "precision"] = "n" if self.asked == "n" else "precision"
        unit = "all shares together, percentage points" if rms else "± percentage points"
        entropy = first.given_away.entropy
        if len(self.rows) > 1:
            values = [self._precision(row) if asked == "n" else row.n for row in self.rows]
            openly = float(first.half_width_open.max()) if asked == "n" else first.n_open
            return plots.mechanisms_compared(
                [row.name for row in self.rows], values, [row.given_away.bits for row in self.rows], (openly, entropy),
                asked=asked, finding=self._headline(), unit=unit,
            )  # fmt: skip
        precision = self._precision(first)
        if asked == "n":
            open_point = (first.n, float(first.half_width_open.max()))
        else:
            open_point = (first.n_open, precision * math.sqrt(first.n / first.factor / first.n_open))
        return plots.answers_needed(
            first.name, (first.n, precision), open_point, (first.given_away.bits, entropy),
            asked=asked, finding=self._headline(), unit=unit,
        )  # fmt: skip

    def _precision(self, row: PlanRow) -> float:
        return row.rms if self.asked == "rms" else float(row.half_width.max())

    def _repr_html_(self) -> str:
        head, *body = self._table()
        top = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in head)
        lines = "".join(
            f'<tr><th scope="row">{escape(row[0])}</th>' + "".join(f"<td>{escape(c)}</td>" for c in row[1:]) + "</tr>"
            for row in body
        )
        return f"<table><caption>{escape(self.sentence())}</caption><tr>{top}</tr>{lines}</table>"

    def __repr__(self) -> str:
        return f'<plan for "{self.domain.name}": {self.sentence()}>'


@overload
def plan(
    what: Numbers | Ranges | Iterable[Ranges],
    *,
    mean_within: float,
    coverage: float | None = None,
    narrowest: Any = None,
    law: Any = None,
    confidence_level: float = 0.95,
) -> NumberPlan: ...


@overload
def plan(
    what: Numbers | Ranges | Iterable[Ranges],
    *,
    n: int,
    coverage: float,
    narrowest: Any = None,
    law: Any = None,
    confidence_level: float = 0.95,
) -> NumberPlan: ...


@overload
def plan(
    what: Numbers | Ranges | Iterable[Ranges],
    *,
    n: int,
    narrowest: Any,
    law: Any = None,
    coverage: float | None = None,
    confidence_level: float = 0.95,
) -> NumberPlan: ...


@overload
def plan(
    what: Numbers | Ranges | Iterable[Ranges],
    *,
    n: int,
    law: Any,
    narrowest: Any = None,
    coverage: float | None = None,
    confidence_level: float = 0.95,
) -> NumberPlan: ...


@overload
def plan(
    what: Channel | Categorical | Iterable[Channel],
    *,
    n: int | None = None,
    half_width: float | None = None,
    rms: float | None = None,
    shares: Any = None,
    confidence_level: float = 0.95,
) -> Plan: ...


def plan(
    what: Any,
    *,
    n: int | None = None,
    half_width: float | None = None,
    rms: float | None = None,
    shares: Any = None,
    mean_within: float | None = None,
    coverage: float | None = None,
    narrowest: Any = None,
    law: Any = None,
    confidence_level: float = 0.95,
) -> Plan | NumberPlan:
    """How many answers a precision needs, or what precision n answers give, with what a report gives away beside it.

    **Categories, and cells of numbers.** Give one of `n`; `half_width`, the largest half-width z·√(V_jj/n) of an interval
    over the categories; or `rms`, the root of the summed squared error √(tr V/n). V = n·Cov is that of maximum likelihood
    at the expected `shares`, with moments beside it; without shares, of the moments estimate at the worst shares there can
    be, category by category and for the total, which bounds maximum likelihood too. A domain compares the mechanisms that
    suit it; a channel, or several over one domain, are planned as they are. `simulate` checks such a plan.

    **The mean of a number**, in a `NumberPlan`. Give `mean_within`, its half-width in the unit of the number, or `n` with any
    of the rest: `coverage`, the mean share of people who could have given the same report (of a domain 0.75 unless
    `narrowest` is given), `narrowest`, the share that every report must leave, and `law`, the expected one: a probability
    per cell, a law with a `cdf`, or None for cells of equal mass, which is an assumption. V = cᵀ Σ c of maximum likelihood,
    c = middles of the cells. A domain compares thresholds, random ranges and rings, each with the coverage asked for;
    channels of ranges are kept where they meet what is asked.

    These are normal approximations. Source: sections 3.4 and 12 of our specification of subsets; sections 1.3, 1.4, 2.1 and
    2.3 of that of interval privacy.
    Raises ParameterError for none or two of n and the precisions, values out of range or no whole number, shares or a law that
    are not a distribution, channels over different domains, what belongs to the other kind of plan, and a plan for a mean
    that cannot be had, with the reason and what is nearest; EstimateError for a channel that does not identify the shares.

    >>> import reticent as rt
    >>> channel = rt.uniform_subset(rt.Categorical("letter", ["a", "b", "c", "d"]))
    >>> plan(channel, half_width=0.03).rows[0].n, plan(channel, half_width=0.03, shares=[0.25] * 4).rows[0].n
    (2401, 2401)
    >>> pay = rt.Numbers("pay", 0, 10_000, unit="euro", edges=range(500, 10_000, 500))
    >>> best = plan(pay, coverage=0.75, mean_within=500).rows[0]
    >>> best.n, round(best.factor, 1), best.name
    (340, 2.7, 'one threshold, every edge alike')
    """
    of_mean = {"mean_within": mean_within, "coverage": coverage, "narrowest": narrowest, "law": law}
    if any(value is not None for value in of_mean.values()):
        _check_one_kind(of_mean, {"half_width": half_width, "rms": rms, "shares": shares})
        return number_plan(what, n=n, confidence_level=confidence_level, **of_mean)
    asked, target = _asked(n, half_width, rms)
    check_level(confidence_level)
    channels = _channels(what)
    domain = channels[0].domain
    expected = None if shares is None else as_prior(domain, shares).probabilities
    rows = [plan_row(channel, asked, target, expected, confidence_level) for channel in channels]
    rows.sort(key=lambda row: (round(row.factor, 9), row.given_away.bits))
    known = None if expected is None else tuple(expected.tolist())
    return Plan(domain, tuple(rows), asked, target, known, confidence_level)


def _check_one_kind(of_mean: dict[str, Any], of_shares: dict[str, Any]) -> None:
    mean, others = ([name for name, value in kind.items() if value is not None] for kind in (of_mean, of_shares))
    if others:
        raise ParameterError(
            f"{' and '.join(others)} plan the shares of categories, {' and '.join(mean)} the mean of a number; give one kind. "
            "The expected law of a number is law=."
        )


def available(domain: Categorical) -> Iterator[Channel]:
    """The mechanisms that suit a domain's number of categories."""
    p = len(domain)
    if p == 2:
        yield from (binary_dummy(domain, rho) for rho in (0.5, 0.8))
    elif p == 3:
        yield from (ternary_dummy(domain, rho) for rho in (0.5, 0.8))
    else:
        yield uniform_subset(domain)
    sizes = {2, 3, p // 4, p // 2} if p > 4 else {2, 3}  # with 4 categories, pairs are the uniform subset
    yield from (fixed_size(domain, size) for size in sorted(sizes - {0, 1}) if size < p and (p, size) != (4, 2))
    yield from (randomized_response(domain, epsilon) for epsilon in (1, 2, 3))


def _asked(n: int | None, half_width: float | None, rms: float | None) -> tuple[Asked, float]:
    given = {name: value for name, value in (("n", n), ("half_width", half_width), ("rms", rms)) if value is not None}
    if len(given) != 1:
        raise ParameterError(
            f"Give one of n, half_width and rms; got {', '.join(given) or 'none'}. For example half_width=0.03 for ±3 points."
        )
    if n is not None:
        if isinstance(n, bool) or not isinstance(n, Integral) or not 1 <= n <= MOST_ANSWERS:
            raise ParameterError(f"n is {n!r}; allowed are whole numbers of answers from 1 to 2^53.", n=n)
        return "n", float(n)
    name: Asked = "half_width" if rms is None else "rms"
    value = given[name]
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 < value < 1:
        raise ParameterError(
            f"{name} is {value!r}; allowed is a number between 0 and 1, such as 0.03 for 3 percentage points.",
            value=value,
        )
    return name, float(value)


def _channels(what: Channel | Categorical | Iterable[Channel]) -> list[Channel]:
    channels = [what] if isinstance(what, Channel) else [*available(what)] if isinstance(what, Categorical) else [*what]
    if not channels or not all(isinstance(channel, Channel) for channel in channels):
        raise ParameterError("plan takes a channel, several channels, or a domain whose mechanisms are to be compared.")
    if any(channel.domain != channels[0].domain for channel in channels):
        raise ParameterError("The channels are over different domains; plan each domain by itself.")
    return channels
