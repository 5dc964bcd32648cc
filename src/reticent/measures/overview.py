"""Every measure of one channel under one prior, with what the numbers are to be compared with."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.channel import Channel
from reticent.errors import ReportError
from reticent.keys import keys_from_integers
from reticent.measures.differential_privacy import ldp_delta, ldp_epsilon
from reticent.measures.enumeration import listable
from reticent.measures.information import information_by_category
from reticent.measures.lift import log_lift
from reticent.measures.maximal import is_closed_form, maximal_leakage
from reticent.measures.measure import ByCategory, Measure, Method, json_number, nonnegative, per_unit
from reticent.measures.prediction import prediction_by_category, right_guess
from reticent.measures.prior import Prior, as_prior
from reticent.measures.size import size_by_category

Floats = NDArray[np.float64]
Rows = list[tuple[str, ...]]
BITS = per_unit("bits")
SHOWN = 20
TITLES = {
    "mutual_information": "mutual information",
    "size": "size leakage",
    "prediction": "prediction leakage",
    "min_entropy": "min-entropy leakage",
    "maximal": "maximal leakage",
    "epsilon": "epsilon (local DP)",
    "delta": "delta (local DP, epsilon 0)",
    "lowest_log_lift": "lowest log-lift",
    "highest_log_lift": "highest log-lift",
}


@dataclass(frozen=True)
class CategoryLeakage:
    """What an answer in one category gives away on average.

    `share` is its prior probability, `bits` the expected log2( P(z|x) / P(z) ), `most_bits` what the answer itself
    would give away, −log2 share; `size` the expected share of the population ruled out; `prediction` the chance that
    the best guess is right.
    """

    label: str
    share: float
    bits: float
    most_bits: float
    size: float
    prediction: float


@dataclass(frozen=True)
class ReportLeakage:
    """What one report gave away, whoever sent it.

    `bits` is log2 max_x P(z|x) / P(z), the pointwise maximal leakage: −log2 w(a) for a subset a. `size` is the
    share of the population ruled out, 1 − w(a). `posterior` holds P(x|z) by category, and `prediction` 1 / (number of
    tied best guesses) for the categories that are one, else 0.
    """

    bits: float
    size: float
    posterior: tuple[float, ...]
    prediction: tuple[float, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Leakage:
    """All measures of a channel under a prior; made by `leakage`.

    `measures` in the order of the table, each also as `overview["mutual_information"]`; `per_category` in the order of
    the domain; `report(key)` for one report.
    """

    channel: Channel
    prior: tuple[float, ...]
    measures: tuple[Measure, ...]
    per_category: tuple[CategoryLeakage, ...]

    def __getitem__(self, name: str) -> Measure:
        for measure in self.measures:
            if measure.name == name:
                return measure
        raise KeyError(
            f"{name!r} is not measured here; there is {', '.join(measure.name for measure in self.measures)}"
        )

    def report(self, key: int) -> ReportLeakage:
        """What the report stored as `key` gave away.

        Raises ReportError when the channel cannot send it, or no answer with positive prior can lead to it.
        """
        bits = self.channel.key_bits
        if not 0 <= key < 2**bits:
            raise ReportError(f"This report needs more than the {bits} bits of {self.channel.name}.", key_bits=bits)
        keys = keys_from_integers([int(key)], bits)
        self.channel.check_keys(keys)
        row, prior = self.channel.rows(keys).dense(), np.array(self.prior)
        total = float(row[0] @ prior)
        if total <= 0:
            raise ReportError("This report has probability 0 under the prior; give a prior under which it can occur.")
        return ReportLeakage(
            bits=BITS * nonnegative(math.log(row[0].max() / total)),
            size=nonnegative(1 - prior[row[0] > 0].sum()),
            posterior=tuple((row[0] * prior / total).tolist()),
            prediction=tuple(right_guess(row, prior)[0].tolist()),
        )

    def to_json(self) -> dict[str, Any]:
        """Everything as JSON; an infinite number is the text "infinity" or "-infinity"."""
        return {
            "mechanism": self.channel.name,
            "channel": self.channel.digest,
            "question": self.channel.domain.name,
            "measures": {measure.name: measure.to_json() for measure in self.measures},
            "categories": [
                {name: json_number(value) for name, value in asdict(row).items()} for row in self.per_category
            ],
        }

    def summary(self) -> str:
        """The tables for a terminal."""
        rows: Rows = [("measure", "value", "± s.e.", "floor", "ceiling", "unit", "how")]
        rows += [_cells(measure) for measure in self.measures]
        information = self["mutual_information"]
        lines = [f'What {self.channel.name} gives away of "{self.channel.domain.name}"', "", *_aligned(rows), ""]
        if information.ceiling > 0:
            lines.append(
                f"On average a report gives away {information.value:.3g} of the {information.ceiling:.3g} bits in an "
                f"answer ({information.value / information.ceiling:.1%})."
            )
        lines += [self._guessing(), "", *_aligned(self._category_rows()), *self._left_out()]
        return "\n".join(lines)

    def _guessing(self) -> str:
        guess = self["prediction"]
        return (
            f"The best guess is right {_percent(guess.value)} of the time; without any report {_percent(guess.floor)}."
        )

    def _category_rows(self) -> Rows:
        """Those that give away most first, ties in the order of the domain; one row where all are alike."""
        head: tuple[str, ...] = ("answer", "share", "bits given away", "at most", "ruled out", "guessed right")
        told, information = self._told(), self["mutual_information"]
        digits = 3 if information.n_draws is None else 2  # random draws tell categories apart that are alike
        decimals = _decimals(min(row.share for row in told))
        cells = [_category_cells(row, decimals) for row in told]
        bits = [row.bits for row in told]
        if len(told) > 2 and max(bits) - min(bits) < 0.5 * 10**-digits and len({(c[0], *c[2:]) for c in cells}) == 1:
            return [head, (f"all {len(told):,} alike", cells[0][0], f"{information.value:.3f}", *cells[0][2:])]
        order = sorted(range(len(told)), key=lambda j: -round(bits[j], digits))[:SHOWN]
        return [head, *((told[j].label, *cells[j]) for j in order)]

    def _told(self) -> list[CategoryLeakage]:
        return [row for row in self.per_category if row.share > 0]

    def _left_out(self) -> list[str]:
        """What the table of categories does not show, in a line each."""
        told, shown = len(self._told()), len(self._category_rows()) - 1
        lines = []
        if 1 < shown < told:
            lines.append(f"The {shown} answers that give away most, of {told:,}; all are in the JSON (--json).")
        if absent := len(self.per_category) - told:
            lines.append(f"{absent:,} {'answer' if absent == 1 else 'answers'} of share 0 left out.")
        return lines

    def __repr__(self) -> str:
        return f"<Leakage of {self.channel.name}: {self['mutual_information'].value:.4g} bits on average>"

    def _repr_html_(self) -> str:
        rows: Rows = [("measure", "value", "± s.e.", "floor", "ceiling", "unit", "how")]
        rows += [_cells(measure) for measure in self.measures]
        caption = f'What {self.channel.name} gives away of "{self.channel.domain.name}"'
        return _html_table(caption, rows) + _html_table(self._guessing(), self._category_rows())


def leakage(channel: Channel, prior: Any, n_draws: int | None = None) -> Leakage:
    """Every measure of what a channel gives away under a prior, each with its floor, ceiling and standard error.

    `prior`: probabilities in the order of the domain, a mapping of labels to probabilities, or estimated shares, whose
    covariance then gives standard errors (delta method). Mutual information, min-entropy and maximal leakage are
    in bits, as they are printed; epsilon and log-lift in nats. `n_draws` asks for Monte Carlo of the mutual information.

    Source: Wang and Ding, Subset Privacy (section 7 of our specification).
    Raises ParameterError for a prior that is not a distribution.

    >>> from reticent.channel import Subset
    >>> from reticent.domain import Categorical
    >>> overview = leakage(Subset(Categorical("letter", ["a", "b", "c", "d"])), [0.5, 0.25, 0.15, 0.1])
    >>> round(overview["mutual_information"].value, 6), round(overview.report(0b0011).size, 6)
    (0.905432, 0.25)
    """
    known = as_prior(channel.domain, prior)
    weights = known.probabilities
    information = information_by_category(channel, weights, n_draws)
    size = size_by_category(channel, weights)
    prediction = prediction_by_category(channel, weights)
    measures = [*_with_prior(known, information, size, prediction), *_of_the_channel(channel, weights)]
    with np.errstate(divide="ignore"):
        most = -np.log2(weights) + 0.0
    per_category = zip(
        channel.domain.categories, weights.tolist(), (BITS * information.values).tolist(), most.tolist(),
        size.values.tolist(), prediction.values.tolist(), strict=True,
    )  # fmt: skip
    rows = tuple(CategoryLeakage(*row) for row in per_category)
    return Leakage(channel, tuple(weights.tolist()), tuple(measures), rows)


def _with_prior(prior: Prior, information: ByCategory, size: ByCategory, prediction: ByCategory) -> Iterator[Measure]:
    weights = prior.probabilities
    top = float(weights.max())
    guess = float(weights @ prediction.values)

    def measure(
        name: str, value: float, floor: float, ceiling: float, unit: str, of: ByCategory, gradient: Floats, slope: float
    ) -> Measure:
        # Errors of the prior and of the draws are independent; slope carries the latter over to this measure.
        errors = [prior.standard_error(gradient), slope * of.standard_error if of.n_draws else None]
        given = [error for error in errors if error is not None]
        joint = math.hypot(*given) if given else None
        return Measure(name, nonnegative(value), floor + 0.0, ceiling + 0.0, unit, joint, of.method, of.n_draws)

    entropy = -float(weights[weights > 0] @ np.log(weights[weights > 0])) * BITS
    yield measure(
        "mutual_information", BITS * float(weights @ information.values), 0.0, entropy, "bits",
        information, BITS * information.gradient, BITS,
    )  # fmt: skip
    yield measure(
        "size", float(weights @ size.values), 0.0, 1 - float(weights @ weights), "probability",
        size, size.gradient, 1.0,
    )  # fmt: skip
    yield measure("prediction", guess, top, 1.0, "probability", prediction, prediction.gradient, 1.0)
    by_floor = np.zeros(len(weights))
    by_floor[int(weights.argmax())] = 1 / top
    yield measure(
        "min_entropy", BITS * math.log(guess / top), 0.0, -BITS * math.log(top), "bits",
        prediction, BITS * (prediction.gradient / guess - by_floor), BITS / guess,
    )  # fmt: skip


def _of_the_channel(channel: Channel, weights: Floats) -> Iterator[Measure]:
    closed = is_closed_form(channel)
    if not closed and not listable(channel):
        return  # these extremes cannot be read off a sample of reports; nothing is better than a number too small
    method: Method = "closed form" if closed else "exact"
    most = math.log2(len(weights))
    yield Measure("maximal", maximal_leakage(channel, "bits"), 0.0, most, "bits", method=method)
    yield Measure("epsilon", ldp_epsilon(channel), 0.0, math.inf, "nats", method=method)
    yield Measure("delta", ldp_delta(channel), 0.0, 1.0, "probability", method=method)
    low, high = log_lift(channel, weights)
    told = int((weights > 0).sum()) > 1
    yield Measure("lowest_log_lift", low, 0.0, -math.inf if told else 0.0, "nats", method=method)
    rarest = float(weights[weights > 0].min())
    yield Measure("highest_log_lift", high, 0.0, -math.log(rarest) + 0.0, "nats", method=method)


def _decimals(least: float) -> int:
    """Decimals that show two digits of the smallest share, from 4 to 8."""
    return min(max(4, 1 - math.floor(math.log10(least))), 8)


def _category_cells(row: CategoryLeakage, decimals: int) -> tuple[str, ...]:
    return (
        f"{row.share:.{decimals}f}",
        f"{row.bits:.3f}",
        _number(row.most_bits),
        f"{row.size:.3f}",
        f"{row.prediction:.3f}",
    )


def _percent(share: float) -> str:
    """One decimal, or two digits of what is below 1%."""
    return f"{share:.1%}" if share >= 0.00995 or share == 0 else f"{100 * share:.2g}%"


def _number(value: float) -> str:
    if math.isinf(value):
        return "infinity" if value > 0 else "−infinity"
    return f"{value:.4f}".replace("-", "−")


def _cells(measure: Measure) -> tuple[str, ...]:
    error = "" if measure.standard_error is None else f"{measure.standard_error:.1g}"
    how = measure.method if measure.n_draws is None else f"{measure.method}, {measure.n_draws:,} draws"
    numbers = (_number(measure.value), error, _number(measure.floor), _number(measure.ceiling))
    return (TITLES[measure.name], *numbers, measure.unit, how)


def _aligned(rows: Rows) -> list[str]:
    """Columns of text; those of numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    numeric = [any(cell[:1].isdigit() for cell in column[1:]) for column in zip(*rows, strict=True)]
    numeric[0] = False
    padded = (
        [
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(row, widths, numeric, strict=True)
        ]
        for row in rows
    )
    return ["  ".join(row).rstrip() for row in padded]


def _html_table(caption: str, rows: Rows) -> str:
    head = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in rows[0])
    body = "".join(
        f'<tr><th scope="row">{escape(row[0])}</th>' + "".join(f"<td>{escape(cell)}</td>" for cell in row[1:]) + "</tr>"
        for row in rows[1:]
    )
    return f"<table><caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
