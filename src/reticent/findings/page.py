"""Turn a plain description of results into one HTML page: no script, no network, light, dark and on paper.

A section describes one question, with the keys `name`, `n`, `effective_n`, `missing`, `mechanism`, `categories`,
`confidence_level`, `leakage`, `per_category`, `one_report`, `not_protected`, `tradeoff`, `certificate` and
`digest`. Only `name`, `n` and `categories` are needed; that on a number has `distribution` and `finding` in place of
`categories`, and what `findings.numbers.section` says. `effective_n` says that the people are weighted, `finding`
replaces the heading, `best_possible` adds a line to the last picture. A category's `estimate` is its share by itself,
`share` the one of those that sum to 1. Shares and probabilities are between 0 and 1, information is in bits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from typing import Any

import numpy as np

from reticent import plots
from reticent.errors import ParameterError
from reticent.findings.elements import (
    TABLE_ROWS,
    data,
    decimal,
    figure,
    float_of,
    key,
    number,
    paragraph,
    precise,
    words,
)
from reticent.findings.leakages import given_away
from reticent.findings.number_page import curve, quantiles, reports
from reticent.plots import percent, readable
from reticent.results import total_text

__all__ = ["render"]

Section = Mapping[str, Any]
NEEDED = ("name", "n", "categories")
NEEDED_OF_NUMBERS = ("name", "n", "finding", "distribution")
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"


def render(sections: Sequence[Section], title: str, *, intro: str = "", footer: str = "", lang: str = "en") -> str:
    """Return the findings page as HTML: one section for each question, in the order given.

    `intro` is a paragraph below the title, `footer` a line at the end (who made the page, when, from what).
    Raises `ParameterError` when a section lacks one of the needed keys.

    >>> page = render([{"name": "Smoker", "n": 900, "categories": [
    ...     {"label": "yes", "estimate": 0.2, "low": 0.17, "high": 0.23},
    ...     {"label": "no", "estimate": 0.8, "low": 0.77, "high": 0.83}]}], "Health")
    >>> "About 8 in 10 answered “no”" in page, "<script" in page
    (True, False)
    """
    for section in sections:
        needed = NEEDED_OF_NUMBERS if "distribution" in section else NEEDED
        if lacking := [key for key in needed if key not in section]:
            raise ParameterError(
                f"A section of the findings lacks {', '.join(lacking)}. Give at least {', '.join(needed)}.",
                lacking=lacking,
            )
    style = files("reticent.findings").joinpath("style.css").read_text(encoding="utf-8")
    contents = "".join(
        f'<li><a href="#q{i}">{words(finding(s))}</a><span>{words(s["name"])}</span></li>'
        for i, s in enumerate(sections)
    )
    body = "".join(question(s, f"q{i}") for i, s in enumerate(sections))
    return (
        f'<!doctype html>\n<html lang="{escape(lang)}"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="robots" content="noindex">'
        f"<title>{words(title)}</title><style>{style}</style></head>\n<body><header><h1>{words(title)}</h1>"
        + (paragraph(intro) if intro else "")
        + (f'<nav aria-label="Findings"><ul>{contents}</ul></nav>' if len(sections) > 1 else "")
        + f"</header>\n<main>{body}</main>\n"
        + (f"<footer>{words(footer)}</footer>" if footer else "")
        + "</body></html>\n"
    )


def question(section: Section, anchor: str) -> str:
    """Return one question: the finding, what a report gave away, what was left open, alternatives."""
    parts = [
        f'<p class="kicker">{words(section["name"])}</p><h2>{words(finding(section))}</h2>',
        paragraph(who_answered(section)),
        certificate_warning(section),
        *answered(section, anchor),
        unprotected(section),
        compared(section, anchor),
        provenance(section),
    ]
    return f'<section id="{anchor}">' + "\n".join(part for part in parts if part) + "</section>\n"


def answered(section: Section, anchor: str) -> list[str]:
    """Return what people answered and what their reports gave away, for categories or for a number."""
    if "distribution" in section:
        return [curve(section, anchor), quantiles(section), reports(section, anchor)]
    return [shares(section, anchor), given_away(section, anchor)]


def finding(section: Section) -> str:
    """Return what the estimates say, in one sentence that goes no further than the intervals do."""
    if section["n"] and "distribution" in section:
        return str(section["finding"])
    rows = sorted(section.get("categories", ()), key=lambda c: -(number(c["estimate"]) or 0.0))
    if not section["n"] or not rows:
        return "Nobody has answered yet"
    if not (section.get("certificate") or {}).get("converged", True):
        return "These shares are not ready: the calculation stopped early"
    lows, highs = [number(c.get("low")) for c in rows], [number(c.get("high")) for c in rows]
    if section.get("finding"):
        return str(section["finding"])
    first, second = rows[0], rows[1] if len(rows) > 1 else None
    if second and None not in lows and None not in highs and max(map(float_of, lows)) <= min(map(float_of, highs)):
        return "Too few answers to tell the options apart"
    share = about(float(first["estimate"]), lows[0], highs[0])
    if second and lows[0] is not None and highs[1] is not None and highs[1] >= lows[0]:
        return f"“{readable(first['label'])}” and “{readable(second['label'])}” are too close to call"
    return f"{share} answered “{readable(first['label'])}”"


def about(share: float, low: float | None = None, high: float | None = None) -> str:
    """Return a share as people say it: tenths where they fit, per cent otherwise.

    >>> about(0.61), about(0.346), about(0.004)
    ('About 6 in 10', 'About 35%', 'About 0.4%')
    """
    tenths = round(10 * share)
    if share >= 0.995:
        return "Nearly everyone"
    if 1 <= tenths <= 9 and abs(share - tenths / 10) <= 0.0201:
        return f"About {tenths} in 10"
    return f"About {percent(share, low, high).split(' ')[0]}"


def who_answered(section: Section) -> str:
    missing = int(section.get("missing") or 0)
    effective = number(section.get("effective_n"))
    answered = f"{int(section['n']):,} people answered" + (f"; {missing:,} did not." if missing else ".")
    if effective is not None:
        answered += f" They are weighted: worth {effective:,.0f} of equal weight."
    return f"{answered} {section['mechanism']}" if section.get("mechanism") else answered


def shares(section: Section, anchor: str) -> str:
    rows = section["categories"]
    if not rows:
        return ""
    columns = {k: [number(c.get(k)) for c in rows] for k in ("estimate", "low", "high", "truth", "unconstrained")}
    labels = [readable(c["label"]) for c in rows]
    estimate = [v or 0.0 for v in columns["estimate"]]
    truth = columns["truth"] if any(v is not None for v in columns["truth"]) else None
    moved = [None if v == estimate[i] else v for i, v in enumerate(columns["unconstrained"])]
    order = plots.largest(estimate, TABLE_ROWS)
    free = moved if any(moved[i] is not None for i in order) else None
    picture = plots.shares(labels, estimate, columns["low"], columns["high"], truth=truth, unconstrained=free)
    level = f"{100 * float(section.get('confidence_level') or 0.95):g}%"
    alt = f"{finding(section)}. " + "; ".join(
        f"{labels[i]}: {percent(estimate[i], columns['low'][i], columns['high'][i])}"
        for i in plots.largest(estimate, 5)
    )
    caption = key("estimate", f"estimate and {level} interval")
    caption += key("truth", "truth, known in this demonstration") if truth else ""
    caption += key("free", "before it was kept between 0 and 100%") if free else ""
    if (total := total_text(np.array(estimate))) is not None and any("share" in c for c in rows):
        caption += words(f"Each share by itself; together they sum to {total}. Shares that sum to 1 are in the JSON.")
    head = ["answer", "share", "low", "high"] + (["truth"] if truth else []) + (["unconstrained"] if free else [])
    fields = ["estimate", "low", "high"] + (["truth"] if truth else []) + (["unconstrained"] if free else [])
    body = [[labels[i], *(precise(columns[f][i]) for f in fields)] for i in order]
    return figure(plots.svg(picture, alt, key=anchor), caption, data(head, body, rows, f"{anchor}-shares"))


def unprotected(section: Section) -> str:
    sentences = section.get("not_protected") or []
    if not sentences:
        return ""
    items = "".join(f"<li>{words(sentence)}</li>" for sentence in sentences)
    return f'<div class="open"><h3>What was not protected</h3><ul>{items}</ul></div>'


def compared(section: Section, anchor: str) -> str:
    rows = [r for r in section.get("tradeoff") or [] if number(r.get("leakage")) is not None]
    if not rows:
        return ""
    labels = [readable(r["label"]) for r in rows]
    leakage = [float(r["leakage"]) for r in rows]
    half = [number(r.get("half_width")) for r in rows]
    own = [bool(r.get("own")) for r in rows]
    best = [(float(b["leakage"]), float(b["half_width"])) for b in section.get("best_possible") or []]
    sentence = comparison(labels, leakage, half, own)
    picture = plots.tradeoff(labels, leakage, half, own, best=best)
    caption = "Each point is a mechanism. Lower is more exact, further left is more private."
    caption += " The line is the best that any mechanism can do." if best else ""
    silent = [label for label, h in zip(labels, half, strict=True) if h is None]
    caption += f" Not drawn, because it cannot estimate the shares: {', '.join(silent)}." if silent else ""
    alt = f"{sentence}. " + "; ".join(
        f"{name}: {x:.2f} bits, ± {100 * h:.1f} points"
        for name, x, h in zip(labels, leakage, half, strict=True)
        if h is not None
    )
    body = [[n, decimal(x), decimal(h and 100 * h)] for n, x, h in zip(labels, leakage, half, strict=True)]
    table = data(["mechanism", "bits given away", "± points"], body, rows, f"{anchor}-tradeoff")
    return f"<h3>{words(sentence)}</h3>" + figure(plots.svg(picture, alt, key=anchor), words(caption), table)


def comparison(
    labels: Sequence[str], leakage: Sequence[float], half: Sequence[float | None], own: Sequence[bool]
) -> str:
    """Return whether another mechanism is at least as private and at least as exact as the one used."""
    mine = next((i for i, used in enumerate(own) if used and half[i] is not None), None)
    if mine is None:
        return "Privacy against accuracy of the mechanisms for this question"
    width = float_of(half[mine])
    better = [
        i
        for i, h in enumerate(half)
        if i != mine
        and h is not None
        and leakage[i] <= leakage[mine]
        and h <= width
        and (leakage[i], h) != (leakage[mine], width)
    ]
    if not better:
        return "Nothing else here is both more private and more exact"
    best = min(better, key=lambda i: (float_of(half[i]), leakage[i]))
    return (
        f"“{labels[best]}” would be at least as private and more exact"
        if float_of(half[best]) < width
        else (f"“{labels[best]}” would be as exact and more private")
    )


def certificate_warning(section: Section) -> str:
    certificate = section.get("certificate") or {}
    if certificate.get("converged", True):
        return ""
    what = "this distribution" if "distribution" in section else "these shares"
    warning = f"The calculation stopped before it reached the best fit. Do not use {what} yet."
    return f'<p class="warning">{warning}</p>'


def provenance(section: Section) -> str:
    certificate, lines = section.get("certificate") or {}, []
    gap = number(certificate.get("gap"))
    if certificate.get("converged") and gap is not None:
        kind = "reports" if section.get("effective_n") is None else "weighted reports"
        what = "distribution is" if "distribution" in section else "shares are"
        lines.append(f"The {what} the best fit to the {kind}, proved to within {max(gap, 1e-16):.0e} per report.")
    tail = f" Channel <code>{words(section['digest'])}</code>" if section.get("digest") else ""
    return f'<p class="kicker" style="margin-top:2rem">{words(" ".join(lines))}{tail}</p>' if lines or tail else ""
