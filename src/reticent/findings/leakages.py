"""What one report gave away, as a part of the page: the strip, and each measure with what its number means."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from reticent import plots
from reticent.findings.elements import TABLE_ROWS, data, decimal, figure, number, words
from reticent.plots import percent, readable

Section = Mapping[str, Any]


def given_away(section: Section, anchor: str) -> str:
    leakage = section.get("leakage") or {}
    main = leakage.get("mutual_information")
    value, floor, ceiling = bounds(main)
    report = section.get("one_report") or {}
    if value is None or ceiling is None:
        return ""
    said = str(report.get("words") or f"gives away {value:.2f} of {ceiling:.2f} bits")
    per = section.get("per_category") or []
    labels, bits = [readable(c["label"]) for c in per], [number(c.get("bits")) for c in per]
    picture = plots.leakage_strip(value, floor, ceiling, said, labels=labels, bits=bits)
    alt = f"One report {said}: {value:.2f} bits, where {floor:.2f} is nothing and {ceiling:.2f} the answer."
    caption = f"On average a report gives away {value:.2f} of {ceiling:.2f} bits."
    if known := [(b, label) for b, label in zip(bits, labels, strict=True) if b is not None]:
        most, label = max(known)
        caption += f" It gives away most, {most:.2f} bits, about someone whose answer is “{label}”."
        if most > ceiling:
            caption += " That is more than the average answer holds, because a rare answer is worth more."
    head = ["answer", "bits", "size leakage"]
    body = [
        [labels[i], decimal(bits[i]), decimal(number(per[i].get("size")))]
        for i in plots.largest([b or 0.0 for b in bits], TABLE_ROWS)
    ]
    table = data(head, body, {"leakage": leakage, "per_category": per}, f"{anchor}-leakage")
    example = f"<p>For example: {words(report['example'])}</p>" if report.get("example") else ""
    return (
        f"<h3>One report {words(said)}</h3>{example}"
        + figure(plots.svg(picture, alt, key=anchor), words(caption), table)
        + measures(leakage)
    )


def measures(leakage: Mapping[str, Any]) -> str:
    """Return the other measures of leakage, each with a sentence that says what the number means."""
    items: list[tuple[str, str]] = []
    value, floor, ceiling = bounds(leakage.get("size"))
    if value is not None:
        limit = f" (at most {percent(ceiling)})" if ceiling is not None else ""
        items.append(
            (
                f"{percent(value)} of the people are ruled out",
                f"Size leakage: the share of the population whose answer a report excludes, on average{limit}.",
            )
        )
    value, floor, ceiling = bounds(leakage.get("prediction"))
    if value is not None:
        items.append(
            (
                f"A best guess is right {percent(value)} of the time",
                f"Prediction leakage. Without a report it is right {percent(floor)} of the time.",
            )
        )
    value, _, _ = bounds(leakage.get("min_entropy"))
    if value is not None:
        items.append(
            (
                f"Guessing gets {times(value)} better",
                f"Min-entropy leakage, {value:.2f} bits: how much a report helps the best single guess.",
            )
        )
    value, _, _ = bounds(leakage.get("maximal"))
    if value is not None:
        items.append(
            (
                f"At worst, {times(value)} better at guessing anything",
                f"Maximal leakage, {value:.2f} bits: the bound for any secret tied to it, whatever the "
                "guesser knew before.",
            )
        )
    if "epsilon" in leakage:
        epsilon = number(leakage["epsilon"])
        if epsilon is None:
            items.append(
                (
                    "No finite epsilon",
                    "Some reports rule an answer out completely. There is no local differential "
                    "privacy; the measures above are the protection.",
                )
            )
        else:
            odds = math.exp(epsilon) if epsilon < 700 else math.inf
            items.append(
                (
                    f"Epsilon {epsilon:.2f}",
                    "Local differential privacy: one report changes the odds between any two "
                    f"answers by at most a factor of {odds:,.3g}.",
                )
            )
    if not items:
        return ""
    return "<dl>" + "".join(f"<div><dt>{words(a)}</dt><dd>{words(b)}</dd></div>" for a, b in items) + "</dl>"


def bounds(measure: object) -> tuple[float | None, float, float | None]:
    """Return value, floor and ceiling in bits of a measure given as a number or as a mapping."""
    if not isinstance(measure, Mapping):
        return number(measure), 0.0, None
    scale = 1 / math.log(2) if measure.get("unit") == "nats" else 1.0
    value, floor, ceiling = (number(measure.get(k)) for k in ("value", "floor", "ceiling"))
    return value and value * scale, (floor or 0.0) * scale, ceiling and ceiling * scale


def times(bits: float) -> str:
    return f"{2 ** min(bits, 1000.0):,.3g} times"
