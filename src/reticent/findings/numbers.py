"""What the page says about a number: its distribution and what ranges gave away, as the description `render` takes.

Beside what every section has: `finding`, `unit`, `axis`; `distribution` with the `ends` of the domain, `cells` with their
masses, `cdf` at edges, `quantiles` and the `mean` with intervals, the `band`, a smoothed `density`, `interval`, the method,
and the `truth` where it is known; `ranges` that were reported, `silent` shares of reports without one, `coverage` by tally.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.channel import Channel, Ranges
from reticent.channel.cuts import ListedCuts
from reticent.channel.ranges import NULL
from reticent.coverage import coverage_by_report
from reticent.distributions import TalliedDistribution, documents
from reticent.distributions.documents import FEW, Pieces, span
from reticent.distributions.law import finite
from reticent.distributions.report_coverage import people
from reticent.findings.sections import described, mechanism_sentence
from reticent.measures import leakage
from reticent.results import SIMULATED
from reticent.tallies import PatternTally, WeightedTally

SHOWN = 5  # ranges on the ruler
MOST_CHANCES = 2**23  # reports times cells up to which bits and guesses are worked out
WORD = 2**64


def number_section(
    law: TalliedDistribution,
    confidence_level: float = 0.95,
    *,
    truth: Sequence[float] | None = None,
    name: str | None = None,
    public: Sequence[str] = (),
) -> dict[str, Any]:
    """The section of the findings on one number; leakage is that of its first channel under the estimated law.

    `truth` are the numbers of the people themselves, which only a demonstration has. `public` names the columns that were
    passed on as they are beside the reports.
    """
    channel = law.tallies[0].channel
    known = None if truth is None else np.sort(np.asarray(truth, dtype=np.float64))
    simulated = [SIMULATED] if law.shares.simulated else []
    readable = [f"{column}: it was passed on as it is." for column in public]
    return {
        "name": name or law.question.name,
        "n": law.shares.n,
        **({} if law.effective_n is None else {"effective_n": law.effective_n}),
        "missing": law.missing,
        "simulated": law.shares.simulated,
        "mechanism": how_asked(channel) + (" Several designs are read together." if _designs(law) > 1 else ""),
        "finding": documents.finding(law, confidence_level),
        "unit": law.question.unit,
        "axis": law.axis,
        "confidence_level": confidence_level,
        "distribution": distribution(law, confidence_level, known),
        **reported(law),
        "coverage": [vars(one) for one in law.coverage],
        "one_report": {"words": _of_people(law), "lines": _about_coverage(law)},
        "not_protected": [*simulated, *readable, *left_open(law)],
        "certificate": {"gap": law.gap, "converged": law.converged},
        "digest": channel.digest[:12],
        "leakage": given_away(law),
    }


def distribution(
    law: TalliedDistribution, confidence_level: float, known: NDArray[np.float64] | None
) -> dict[str, Any]:
    """The law with its uncertainty, and the truth beside it where it is known."""
    told = documents.told(law, confidence_level)
    curve = documents.density(law)
    cells = zip(law.left.tolist(), law.right.tolist(), law.mass.tolist(), strict=True)
    document: dict[str, Any] = {
        "ends": [finite(end) for end in law.domain],
        "cells": [{"left": a, "right": b, "mass": mass} for a, b, mass in cells],
        **{key: told[key] for key in ("cdf", "quantiles", "mean", "interval")},
        "band": documents.band_rows(law, confidence_level),
        "density": None if curve is None else {"label": "smoothed", "at": curve[0], "height": curve[1]},
        "why_no_intervals": None if law.has_intervals or law.degenerate else law.no_wald(),
    }
    if known is None:
        return document
    at, up_to = np.unique(known, return_counts=True)
    document["truth"] = {"at": at.tolist(), "share": (np.cumsum(up_to) / len(known)).tolist()}
    for row in document["cdf"]:
        row["truth"] = float(np.searchsorted(known, row["up_to"], side="right") / len(known))
    for row in document["quantiles"]:
        row["truth"] = float(known[math.ceil(row["share"] * len(known)) - 1])
    if document["mean"] is not None:
        document["mean"]["truth"] = float(known.mean())
    return document


def reported(law: TalliedDistribution) -> dict[str, Any]:
    """The most frequent ranges, one in two pieces among them where there are any, and how many reports had none."""
    whole = ((float(law.cells[0][0]), float(law.cells[1][-1])),)
    every = documents.common_ranges(law)
    telling = [one for one in every if one[0] != whole]
    shown = telling[:SHOWN]
    unions = [one for one in telling if len(one[0]) > 1]
    if unions and len(telling) > SHOWN and not any(len(pieces) > 1 for pieces, _ in shown):
        shown[-1] = unions[0]
    return {
        "ranges": [
            {"pieces": [list(piece) for piece in pieces], "share": share, "words": range_words(law, pieces)}
            for pieces, share in shown
        ],
        "n_ranges": len(telling),
        "silent": {"no range": _silent(law), "asked nothing": sum(share for pieces, share in every if pieces == whole)},
    }


def range_words(law: TalliedDistribution, pieces: Pieces) -> str:
    """A report as people say it: "up to 20 or above 45", "31–45", "40"."""
    low, high = law.domain
    words = []
    for begin, end in pieces:
        if begin == end:
            words.append(span(end, end))
        elif begin == low:
            words.append("any number" if end == high else f"up to {span(end, end)}")
        elif end == high:
            words.append(f"{span(begin, begin)} or more" if law.closed else f"above {span(begin, begin)}")
        else:
            words.append(span(begin, end) if law.closed else f"above {span(begin, begin)} up to {span(end, end)}")
    return " or ".join(words)


def how_asked(channel: Channel) -> str:
    """How a report about a number came about, in a sentence or two."""
    if not isinstance(channel, Ranges):
        return mechanism_sentence(channel)
    cuts = channel.cuts
    if isinstance(cuts, ListedCuts) and cuts.ring:
        n_ranges = max(map(len, cuts.sets), default=2)
        said = f"Each said in which of {n_ranges} random ranges the number lies; one of them joins both ends."
    elif isinstance(cuts, ListedCuts):
        said = f"Each said in which of up to {max(map(len, cuts.sets)) + 1} random ranges the number lies."
    elif cuts.n_cuts == 1:
        said = "Each said on which side of one random threshold the number lies."
    else:
        said = f"Each said in which of up to {cuts.n_cuts + 1} random ranges the number lies."
    if told := told_ranges(channel):
        said += f" Numbers in {told} were reported as their cell."
    if channel.selection is not None:
        said += " Ranges that hold too few people, and some others by a coin, were not reported."
    if channel.ask < WORD:
        said += f" {100 * (1 - channel.ask / WORD):.0f} of 100 were asked nothing."
    return said


def told_ranges(channel: Ranges) -> str:
    """Which of the ranges, counted from the low end, give the cell of the number away; empty for none of them."""
    numbers = channel.cuts.told if isinstance(channel.cuts, ListedCuts) else ()
    listed = " and ".join(map(str, numbers))
    return f"range{'s' if len(numbers) > 1 else ''} {listed}" if numbers else ""


def left_open(law: TalliedDistribution) -> list[str]:
    """What ranges leave open, one sentence each."""
    channel = law.tallies[0].channel
    sentences = ["That somebody took part, and whether this question was left out."]
    if math.isinf(channel.epsilon):
        sentences += [
            "Every number outside a report: it is ruled out for certain. No epsilon is finite; this is not "
            "differential privacy.",
            "People about whom more is known: coverage counts the whole population. Of those with the same job and age far "
            "fewer may fit the same range.",
            *(_of_this_design(law, channel) if isinstance(channel, Ranges) else ()),
        ]
    sentences.append(
        "Somebody who answers again and again: the reports intersect, and what they leave gets narrower with each."
    )
    sentences.append("Answers to other questions that go with this one: what they say together is not counted here.")
    return sentences


def _of_this_design(law: TalliedDistribution, channel: Ranges) -> list[str]:
    sentences = []
    if channel.acceptable is not None:
        shown = channel.domain.label(*channel.acceptable)
        sentences.append(f"Numbers in {shown}: they were reported as they are, by their cell.")
    if told := told_ranges(channel):
        sentences.append(f"Numbers in {told}, counted from the low end: their cell was reported.")
    chance = single_values(channel, law.shares.probabilities)
    if chance > 0:
        often = f"one report in {1 / chance:.3g} names" if chance >= 1e-6 else "a rare report names"
        sentences.append(f"The answer itself, at times: {often} a range that holds one possible number only.")
    if channel.selection is not None and len(set(channel.no_range)) > 1:
        sentences.append(
            "Silence: “no range” is likelier for some numbers than for others, and the estimate uses that."
        )
    return sentences


def single_values(channel: Ranges, masses: NDArray[np.float64]) -> float:
    """The chance that a report is a range of one possible number, under these masses of the cells."""
    if channel.domain.step is None:
        return 0.0
    keys = channel.keys()
    start, stop = channel.arcs(keys)
    alone = (keys != NULL) & (stop == start + 1)
    alone[alone] = [channel.domain.holds_one_value(int(first), int(first) + 1) for first in start[alone]]
    if not alone.any():
        return 0.0
    told = keys[alone]
    return float(channel.chances(told) @ coverage_by_report(channel, masses, told))


def given_away(law: TalliedDistribution) -> dict[str, Any]:
    """Measures of leakage; size leakage alone where reports times cells are too many for the others.

    The ceiling of size leakage, 1 − Σ p², is that of the cell itself.
    """
    masses, channel = law.shares.probabilities, law.tallies[0].channel
    if not _known(law):
        return {}
    leak = {"value": 1 - law.coverage[0].mean, "floor": 0.0, "ceiling": 1 - float(masses @ masses)}
    if isinstance(channel, Ranges) and channel.n_reports * len(masses) > MOST_CHANCES:
        return {"size": leak, "epsilon": math.inf}
    measures: dict[str, Any] = described(leakage(channel, law.shares))["leakage"]
    return {**measures, "size": leak}


def _known(law: TalliedDistribution) -> bool:
    """Whether the law is known well enough to say how many people fit a report: too few reports overstate that."""
    return bool(law.coverage) and not law.degenerate and law.shares.n >= FEW


def _of_people(law: TalliedDistribution) -> str:
    if not _known(law):
        return "How many people could have given the same report is not known"
    return f"{people(law.coverage[0].mean).capitalize()} could have given the same report"


def _about_coverage(law: TalliedDistribution) -> list[str]:
    """What the heading does not say: by tally where there are several, the narrowest report, whose coverage it is."""
    if not _known(law):
        return ["That is counted under the distribution of all people, about which these reports say too little."]
    told = documents.coverage_told(law)
    if len(told) > 1:
        return [str(one) for one in told]
    least = told[0].least
    return [] if least is None else [f"That is the average. The narrowest report fits {people(least)}."]


def _silent(law: TalliedDistribution) -> float:
    """The share of reports that are "no range"."""
    parts = [one for one in law.tallies if isinstance(one, (PatternTally, WeightedTally))]
    of_ranges = [one for one in parts if isinstance(one.channel, Ranges)]
    return sum(int(one.counts[one.keys == NULL].sum()) for one in of_ranges) / law.shares.n


def _designs(law: TalliedDistribution) -> int:
    return len({one.channel.digest for one in law.tallies})
