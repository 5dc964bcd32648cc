"""The paper's claims about leakage."""

from __future__ import annotations

from dataclasses import asdict

import reticent as rt
from reproductions.subset.adult import Floats
from reproductions.subset.claim import MANY, TRIED, Claim, Results, listed, uniform_design


def claims(results: Results) -> tuple[Claim, ...]:
    """Each claim in turn."""
    makers = (
        half_the_maximum, one_bit, rare_categories, size_leakage, prediction_leakage, case_14, cases_12_and_14,
    )  # fmt: skip
    return tuple(make(results) for make in makers)


def half_the_maximum(results: Results) -> Claim:
    """Half is what these shares happen to give."""
    row = results.measure("mutual_information")
    here = row.uniform / row.ceiling
    others = {p: _told(*uniform_design(p)) for p in MANY}
    half = abs(here - 0.5) < 0.05
    always = max(abs(share - 0.5) for share in others.values()) < 0.05
    return Claim(
        "half the maximum",
        "The uniform design gives away about half of the mutual information.",
        f"{row.uniform:.6f} of {row.ceiling:.6f} bits ({100 * here:.1f} %). With equal shares and p = "
        f"{TRIED} categories: {listed(others, 3)} of the maximum.",
        ("Reproduced for these data" if half else "Not reproduced")
        + ("." if always else "; half is not a property of the design."),
        half and always,
        {
            "bits": row.uniform,
            "most": row.ceiling,
            "share": here,
            "equal_shares": {str(p): v for p, v in others.items()},
        },
    )


def _told(channel: rt.Channel, shares: Floats) -> float:
    measure = rt.leakage(channel, shares)["mutual_information"]
    return measure.value / measure.ceiling


def one_bit(results: Results) -> Claim:
    """One bit is the ceiling, since a report answers one yes/no question."""
    bits = results.measure("mutual_information").uniform
    equal = {p: rt.mutual_information(*uniform_design(p), unit="bits") for p in MANY}
    ceiling = {p: rt.maximal_leakage(uniform_design(p)[0], unit="bits") for p in MANY}
    exact = abs(bits - 1) < 0.005 and all(abs(value - 1) < 0.005 for value in equal.values())
    bounded = all(abs(most - 1) < 1e-9 for most in ceiling.values()) and max(bits, *equal.values()) <= 1 + 1e-9
    return Claim(
        "one bit",
        "The half is explained by one bit: a report answers one yes/no question.",
        f"{bits:.3f} bits here; {listed(equal, 3)} with equal shares and p = {TRIED}. The maximal "
        f"leakage is {max(ceiling.values()):.3f} bit for each.",
        "Holds." if exact else ("One bit is the ceiling, not the value." if bounded else "Does not hold."),
        exact,
        {"bits": bits, "equal_shares": {str(p): v for p, v in equal.items()}, "maximal": {str(p): v for p, v in ceiling.items()}},
    )  # fmt: skip


def rare_categories(results: Results) -> Claim:
    """The same factor for everybody, and the rare answer still gives away much more."""
    rows = results.categories
    common, rare = max(rows, key=lambda row: row.share), min(rows, key=lambda row: row.share)
    factors = [row.size_factor for row in rows]
    same = max(factors) - min(factors) < 1e-9
    times = rare.bits_uniform / common.bits_uniform
    return Claim(
        "rare categories",
        "Rare categories are protected much better.",
        f"Size leakage falls to {min(factors):.3f} of itself in {'every category' if same else 'one category'}; bits per "
        f"answer: {common.label} {common.bits_openly:.3f} → {common.bits_uniform:.3f}, {rare.label} "
        f"{rare.bits_openly:.2f} → {rare.bits_uniform:.2f}, still {times:.0f} times as many.",
        "Holds as an absolute reduction only: the factor is the same, and the rare answer still gives away far more."
        if same and times > 2
        else "Holds.",
        not (same and times > 2),
        {"size_factors": factors, "times_as_many_bits": times, "rows": [row.to_json() for row in rows]},
    )


def size_leakage(results: Results) -> Claim:
    """The paper's two digits are rounded down."""
    row = results.measure("size")
    near = abs(row.no_privacy - 0.25) < 0.015 and abs(row.uniform - 0.15) < 0.015
    exact = round(row.no_privacy, 2) == 0.25 and round(row.uniform, 2) == 0.15
    return Claim(
        "size leakage",
        "Size leakage falls from 0.25 to 0.15.",
        f"{row.no_privacy:.6f} → {row.uniform:.6f}",
        "Reproduced." if exact else ("Reproduced to 0.01; the paper's rounding is unexplained." if near else "Not reproduced."),
        near,
        {"no_privacy": row.no_privacy, "uniform": row.uniform},
    )  # fmt: skip


def prediction_leakage(results: Results) -> Claim:
    """A number near 1 that mostly comes from the prior."""
    row = results.measure("prediction")
    holds = round(row.no_privacy, 6) == 1 and round(row.uniform, 1) == 0.9 and round(row.floor, 2) == 0.85
    return Claim(
        "prediction leakage",
        "Prediction leakage falls from 1 to 0.9, with floor 0.85.",
        f"{row.no_privacy:.0f} → {row.uniform:.6f}, floor {row.floor:.6f}: a guess without any report is already right "
        f"{100 * row.floor:.0f} % of the time.",
        "Reproduced." if holds else "Not reproduced.",
        holds,
        {"no_privacy": row.no_privacy, "uniform": row.uniform, "floor": row.floor},
    )


def case_14(results: Results) -> Claim:
    """0.11 needs the largest category in the set and the second largest outside."""
    case, labels = results.case(14), results.found.short_labels
    near = [reported for reported in case.sets if 0.10 <= reported.size < 0.12]
    sets = ["{" + ", ".join(labels[j] for j in reported.members) + f"}} {reported.size:.4f}" for reported in near]
    low, high = case.span("size")
    holds = round(case.open_size, 2) == 0.97 and any(round(reported.size, 2) == 0.11 for reported in near)
    return Claim(
        "case 14",
        "Case 14 (Asian-Pac-Islander): size leakage 0.97 → 0.11.",
        f"{case.open_size:.4f} → {'; '.join(sets)}. Over all {len(case.sets)} sets it is between {low:.4f} and {high:.4f}.",
        "Reproduced for some sets; which set was drawn is not stated." if holds else "Not reproduced.",
        holds,
        {"openly": case.open_size, "sets": [asdict(reported) for reported in near], "span": [low, high]},
    )


def cases_12_and_14(results: Results) -> Claim:
    """True whichever set was drawn, by the definition of the measure."""
    white, asian = results.case(12), results.case(14)
    top = int(results.found.shares.argmax())
    always = white.span("prediction") == (1.0, 1.0)
    hidden = {reported.prediction for reported in asian.sets if top in reported.members}
    holds = always and hidden == {0.0}
    others = sum(reported.prediction > 0 for reported in asian.sets)
    return Claim(
        "cases 12 and 14",
        "Prediction leakage is 1 for case 12 (White), 0 for case 14 (Asian-Pac-Islander).",
        f"Rows {', '.join(str(case.row) for case in results.cases)} from 0 are "
        f"{', '.join(case.label for case in results.cases)}. Case 12: 1 for every set. Case 14: 0 when White is in the set, "
        f"but 1 for {others} of the {len(asian.sets)} sets.",
        "Holds by definition, for case 14 when White is in the set." if holds else "Does not hold.",
        holds,
        {"case_12": white.span("prediction"), "case_14_with_white": sorted(hidden), "case_14_other_sets": others},
    )
