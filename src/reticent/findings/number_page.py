"""One number on the page: the distribution function, quantiles and the mean, and what one report looks like."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from reticent import plots
from reticent.distributions.documents import FEW
from reticent.findings.elements import data, figure, key, measured, number, paragraph, precise, words
from reticent.findings.leakages import bounds, measures
from reticent.plots import percent
from reticent.plots.distributions import cumulative
from reticent.plots.ranges import number_span, reported_ranges

Section = Mapping[str, Any]


def curve(section: Section, anchor: str) -> str:
    """Return the distribution function with its band, the smoothed density below it, and the truth where it is known."""
    law = section["distribution"]
    if not law["cells"]:
        return ""
    truth, hill = law.get("truth"), law.get("density")
    picture = cumulative(
        [_end(c["left"], -math.inf) for c in law["cells"]],
        [_end(c["right"], math.inf) for c in law["cells"]],
        [float(c["mass"]) for c in law["cells"]],
        axis=str(section.get("axis", "")),
        ends=(_end(law["ends"][0], -math.inf), _end(law["ends"][1], math.inf)),
        band=_band(law),
        density=(hill["at"], hill["height"]) if hill else None,
        truth=(truth["at"], truth["share"]) if truth else None,
    )
    alt = f"{section['finding']}. " + "; ".join(
        f"up to {measured(row['up_to'])}: {percent(row['share'], number(row.get('low')), number(row.get('high')))}"
        for row in law["cdf"]
    )
    fields = ["share", "low", "high", *(["truth"] if truth else [])]
    body = [[measured(row["up_to"]), *(precise(number(row.get(f))) for f in fields)] for row in law["cdf"]]
    unit = f" ({section['unit']})" if section.get("unit") else ""
    shown = {k: v for k, v in law.items() if k != "density"}
    table = data([f"up to{unit}", *fields], body, shown, f"{anchor}-distribution")
    return figure(plots.svg(picture, alt, key=anchor), _caption(section), table)


def _band(law: Mapping[str, Any]) -> tuple[list[float], list[float], list[float]] | None:
    rows = law.get("band")
    if not rows:
        return None
    points, low, high = ([float(row[k]) for row in rows] for k in ("up_to", "low", "high"))
    return points, low, high


def _caption(section: Section) -> str:
    law = section["distribution"]
    parts = [key("curve", "share up to each number"), key("cells", "what the cells leave open")]
    if law.get("band"):
        parts.append(
            key(
                "band",
                f"the whole curve lies in it, with {100 * section.get('confidence_level', 0.95):.4g}% confidence",
            )
        )
    if law.get("truth"):
        parts.append(key("true", "the truth among these people"))
    if law.get("density"):
        parts.append(words("The hill below is smoothed: for the eye only."))
    if law.get("band") and section["n"] < FEW:
        parts.append(words(f"From fewer than {FEW} reports its limits are rough."))
    if law.get("why_no_intervals"):
        parts.append(words(f"No intervals: {law['why_no_intervals']}"))
    return "".join(parts)


def quantiles(section: Section) -> str:
    """Return quantiles and the mean, with their intervals and what is not known about places in cells."""
    law, unit = section["distribution"], f" {section['unit']}" if section.get("unit") else ""
    rows = law["quantiles"]
    if not rows or not section["n"]:
        return ""
    truth = any(row.get("truth") is not None for row in rows)
    head = ["people", f"are up to{unit and ' (' + unit.strip() + ')'}", "interval", *(["truth"] if truth else [])]
    body = [
        [
            f"{100 * row['share']:.0f}%",
            "the end" if row["up_to"] is None else measured(row["up_to"]),
            _between(number(row.get("low")), number(row.get("high"))),
            *([measured(number(row.get("truth")))] if truth else []),
        ]
        for row in rows
    ]
    top = "".join(f'<th scope="col">{words(h)}</th>' for h in head)
    lines = "".join("<tr>" + "".join(f"<td>{words(cell)}</td>" for cell in row) + "</tr>" for row in body)
    table = f'<div class="scroll"><table><thead><tr>{top}</tr></thead><tbody>{lines}</tbody></table></div>'
    return f"<h3>{words(_middle_half(rows, unit))}</h3>{table}{_mean(section, unit)}"


def _middle_half(rows: Sequence[Mapping[str, Any]], unit: str) -> str:
    quarter, rest = (next((row["up_to"] for row in rows if row["share"] == q), None) for q in (0.25, 0.75))
    if quarter is None or rest is None:
        return "How far the numbers reach"
    if quarter == rest:
        return f"A quarter and three quarters both reach {measured(quarter)}{unit}"
    return f"A quarter are up to {measured(quarter)}, three quarters up to {measured(rest)}{unit}"


def _mean(section: Section, unit: str) -> str:
    mean = section["distribution"].get("mean")
    if mean is None:
        ends = section["distribution"]["ends"]
        reason = "The question has an end without limit, and nobody knows how far out numbers lie."
        return f"<dl><div><dt>No mean</dt><dd>{reason}</dd></div></dl>" if None in ends else ""
    low, high = mean.get("placement_low"), mean.get("placement_high")
    confident = low is not None
    if low is None:
        low, high = mean["least"], mean["greatest"]
    half = (high - low) / 2
    digits = max(0, 1 - math.floor(math.log10(half))) if half > 0 else 0
    wide = f"{low:,.{digits}f} and {high:,.{digits}f}{unit}".replace("-", "−")
    said = f"If answers lie at the middles of their cells. Wherever in their cells they lie, it is between {wide}"
    said += f", with {100 * section.get('confidence_level', 0.95):.4g}% confidence." if confident else "."
    if mean.get("truth") is not None:
        said += f" In truth it is {mean['truth']:,.2f}.".replace("-", "−")
    value = measured(mean["value"], number(mean.get("low")), number(mean.get("high")))
    return f"<dl><div><dt>Mean {words(value + unit)}</dt><dd>{words(said)}</dd></div></dl>"


def reports(section: Section, anchor: str) -> str:
    """Return what one report looks like, how many people could have given it, and what it gave away."""
    parts = [f"<h3>{words(section['one_report']['words'])}</h3>"] if section.get("one_report") else []
    parts += [paragraph(line) for line in (section.get("one_report") or {}).get("lines", ())]
    parts += [_ruler(section, anchor), _strip(section, anchor)]
    leakage = {k: v for k, v in (section.get("leakage") or {}).items() if k != "size"}
    return "".join(parts) + measures(leakage)


def _ruler(section: Section, anchor: str) -> str:
    rows = section.get("ranges") or []
    if not rows:
        return ""
    law = section["distribution"]
    names = [str(row["words"]) for row in rows]
    picture = reported_ranges(
        [([(_end(a, -math.inf), _end(b, math.inf)) for a, b in row["pieces"]], float(row["share"])) for row in rows],
        names,
        ends=number_span(
            [_end(cell[k], math.inf) for cell in law["cells"] for k in ("left", "right")],
            (_end(law["ends"][0], -math.inf), _end(law["ends"][1], math.inf)),
        ),
        axis=str(section.get("axis", "")),
    )
    said = [f"“{name}”, {percent(row['share'])} of the reports" for name, row in zip(names, rows, strict=True)]
    caption = f"What a report looks like: {len(rows)} of the {section['n_ranges']:,} different ranges that were reported, the "
    caption += "most frequent first, with their shares of all reports."
    silent = section.get("silent") or {}
    if silent.get("no range"):
        caption += f" {percent(silent['no range'])} said “no range”."
    if silent.get("asked nothing"):
        caption += f" {percent(silent['asked nothing'])} were asked nothing."
    caption += " Nothing else was sent."
    table = data(["report", "share of the reports"], [[n, percent(r["share"])] for n, r in zip(names, rows, strict=True)], rows, f"{anchor}-ranges")  # fmt: skip
    return figure(plots.svg(picture, "Reported ranges: " + "; ".join(said), key=f"{anchor}r"), words(caption), table)


def _strip(section: Section, anchor: str) -> str:
    value, floor, ceiling = bounds((section.get("leakage") or {}).get("size"))
    if value is None or ceiling is None:
        return ""
    could = 100 * (1 - value)
    said = f"{could:.0f} of 100 could have given it" if could >= 1 else "fewer than 1 of 100 could have given it"
    picture = plots.leakage_strip(value, floor, ceiling, said)
    alt = f"Of all people {said}, on average. Nothing given away would be 100; the answer itself {100 * (1 - ceiling):.0f}."
    caption = (
        f"Leakage is 1 − coverage: {value:.2f}, where the cell itself would be {ceiling:.2f}. It is an average over all people, "
        "under the distribution above, which overstates privacy a little."
    )
    bits, _, most = bounds((section.get("leakage") or {}).get("mutual_information"))
    if bits is not None and most is not None:
        caption += f" Counted in bits, a report gives away {bits:.2f} of {most:.2f}."
    rows = section.get("coverage") or []
    body = [
        [str(row.get("group") or row["channel"]), *(_hundred(row[k]) for k in ("mean", "least", "greatest"))]
        for row in rows
    ]
    head = ["of 100 people", "could have given it", "at least", "at most"]
    table = data(head, body, rows, f"{anchor}-coverage")
    return figure(plots.svg(picture, alt, key=f"{anchor}c"), words(caption), table)


def _hundred(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f}"


def _between(low: float | None, high: float | None) -> str:
    if low is None and high is None:
        return "–"
    if low is None or high is None:
        return f"up to {measured(high)}" if low is None else f"from {measured(low)}"
    return measured(low) if low == high else f"{measured(low)}{' to ' if low < 0 else '–'}{measured(high)}"


def _end(value: Any, infinite: float) -> float:
    """An end of a domain or a cell: JSON has nothing for infinity."""
    found = number(value)
    return infinite if found is None else found
