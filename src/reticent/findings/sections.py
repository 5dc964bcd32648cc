"""What the page says about one question: results and leakage as the plain description that `render` takes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from reticent.channel import Channel, Composition, Subset, Table
from reticent.domain import ProductDomain
from reticent.errors import EstimateError
from reticent.intervals import ConfidenceInterval
from reticent.keys import integers_from_keys
from reticent.measures import Leakage, leakage, mutual_information, pinned_chances
from reticent.measures.enumeration import listable
from reticent.mechanisms import (
    binary_dummy,
    fixed_size,
    full_response,
    randomized_response,
    ternary_dummy,
    uniform_subset,
)
from reticent.precision import asymptotic_covariance
from reticent.results import SIMULATED, Shares
from reticent.tallies import PatternTally, Tally, WeightedTally

COMPARED = 16  # categories up to which every report is listed and mechanisms are compared exactly
EXAMPLE = 12  # categories up to which an example of a report is readable


def section(
    shares: Shares,
    interval: ConfidenceInterval,
    *,
    truth: Sequence[float] | None = None,
    given_away: Leakage | None = None,
    name: str | None = None,
    public: Sequence[str] = (),
) -> dict[str, Any]:
    """The section of the findings on one question; leakage is that of its first channel at the estimated shares.

    `public` names the columns that were passed on as they are beside the reports.
    """
    channel = shares.tallies[0].channel
    known = truth if truth is not None else [None] * len(shares.domain)
    by_itself, n = shares.by_itself, shares.n if shares.effective_n is None else shares.effective_n
    readable = [f"{column}: it was passed on as it is." for column in public]
    open_to_all = [SIMULATED, *readable] if shares.simulated else readable
    return {
        "name": name or shares.domain.name,
        "n": shares.n,
        **({} if shares.effective_n is None else {"effective_n": shares.effective_n}),
        "missing": shares.missing,
        "simulated": shares.simulated,
        "mechanism": mechanism_sentence(channel),
        "categories": [
            {
                "label": label,
                "estimate": float(by_itself[j]),
                "share": float(shares.probabilities[j]),
                "low": float(interval.low[j]),
                "high": float(interval.high[j]),
                "truth": known[j],
                "unconstrained": None if shares.unconstrained is None else float(shares.unconstrained[j]),
            }
            for j, label in enumerate(shares.domain.categories)
        ],
        "confidence_level": interval.confidence_level,
        "one_report": one_report(shares),
        "not_protected": [*open_to_all, *unprotected(channel)],
        "tradeoff": comparison(channel, shares.probabilities, n, interval.confidence_level),
        "certificate": {"gap": shares.gap, "converged": shares.converged},
        "digest": channel.digest[:12],
        **described(given_away if given_away is not None else leakage(channel, shares)),
    }


def described(given_away: Leakage) -> dict[str, Any]:
    """Leakage as the page takes it: population measures, and bits and size by category."""
    measures: dict[str, Any] = {measure.name: measure.to_json() for measure in given_away.measures}
    if "epsilon" in measures:
        measures["epsilon"] = measures["epsilon"]["value"]
    per = [{"label": row.label, "bits": row.bits, "size": row.size} for row in given_away.per_category]
    return {"leakage": measures, "per_category": per}


def mechanism_sentence(channel: Channel) -> str:
    """How a report came about, in one sentence."""
    if isinstance(channel, Subset) and channel.independent:
        return "The options were split in two at random; each said which part holds the answer."
    if isinstance(channel, Subset):
        return "Each reported a random set of options."
    if channel.epsilon == 0:
        return "Nothing about the answer was reported."
    if isinstance(channel, Table) and channel.keep == 2**64:
        return "Each gave the answer itself."
    if isinstance(channel, Table) and channel.keep is not None:
        return f"Each answer was kept with chance {channel.keep / 2**64:.2f} and otherwise replaced at random."
    return f"Each sent one random report ({channel.name})."


def one_report(shares: Shares) -> dict[str, str]:
    """What a single report says: in words, and with the most frequent report that says something as an example."""
    tally, p = shares.tallies[0], len(shares.domain)
    channel = tally.channel
    said: dict[str, str] = {}
    if channel.epsilon == 0:
        said["words"] = "says nothing about the answer"
    elif isinstance(channel, Table) and channel.keep == 2**64:
        said["words"] = "is the answer itself"
    elif isinstance(channel, Subset) and channel.kept == 1:
        mean = float(sum(k * chance for k, chance in channel.size_law().items()))
        said["words"] = (
            f"narrows the choice to about {mean:.2g} of {p}"
            if p < 100
            else (f"narrows the choice to about {mean:,.0f} of {p:,}")
        )
    elif math.isfinite(channel.epsilon):
        odds = math.exp(channel.epsilon) if channel.epsilon < 700 else math.inf
        said["words"] = f"shifts the odds between two answers at most {odds:.3g} to 1"
    else:
        said["words"] = "rules some answers out"
    if (
        isinstance(tally, (PatternTally, WeightedTally))
        and tally.n
        and p <= EXAMPLE
        and not isinstance(channel, Composition)
    ):
        said |= example(tally, *(one for one in shares.tallies[1:] if type(one) is type(tally)))
    return said


def example(tally: PatternTally | WeightedTally, *more: Tally) -> dict[str, str]:
    """The most frequent report that says something, and how many say nothing; empty where all say nothing.

    Tallies of the same channel, such as strata, are counted together.
    """
    for one in more:
        tally = tally + one if one.channel.digest == tally.channel.digest else tally
    rows = tally.channel.rows(tally.keys).dense()
    telling = np.ptp(rows, axis=1) > 1e-12 * rows.max(axis=1)
    if not telling.any():
        return {}
    top = int(np.argmax(np.where(telling, tally.counts, 0)))
    report = tally.channel.describe(integers_from_keys(tally.keys[top : top + 1])[0])
    sent, silent = int(tally.counts[top]), int(tally.counts[~telling].sum())
    which = "most frequent report that says something" if silent else "most frequent report"
    said = f"the {which} was {report}, sent by {sent:,} {'person' if sent == 1 else 'people'}."
    if silent:
        asked = f"{silent:,} {'was' if silent == 1 else 'were'} asked nothing"
        said += f" Of {tally.n:,} people {asked}: their report is as likely whatever the answer is."
    return {"example": said}


def unprotected(channel: Channel) -> list[str]:
    """What the mechanism leaves open, one sentence each."""
    sentences = ["That somebody took part, and whether this question was left out."]
    if isinstance(channel, Table) and channel.keep == 2**64:
        return [*sentences, "The answer itself: it was reported as it is."]
    if channel.epsilon == 0:
        return sentences
    if math.isinf(channel.epsilon):
        sentences.append("Some answers are ruled out for certain: a report excludes every option it does not name.")
    if isinstance(channel.domain, ProductDomain) and listable(channel):
        settled = {name: chance for name, chance in pinned_chances(channel).items() if chance}
        sentences += [f"{name}: one report in {1 / float(chance):.3g} settles it." for name, chance in settled.items()]
    sentences.append("Somebody who answers again and again: every new report narrows the answer further.")
    sentences.append("Answers to other questions that go with this one: what they say together is not counted here.")
    return sentences


def comparison(
    channel: Channel, shares: NDArray[np.float64], n: float, confidence_level: float
) -> list[dict[str, Any]]:
    """Privacy against accuracy of the mechanisms for this question; empty above 16 categories.

    Leakage is the mutual information in bits; half_width is z·√(tr V / (p·n)), the typical half-width of a share,
    with V the asymptotic covariance of maximum likelihood, both at the estimated shares.
    """
    p = channel.n_categories
    if p > COMPARED:
        return []
    inside = 0.999 * np.asarray(shares) + 0.001 / p  # off the boundary, where V would not exist
    inside = inside / inside.sum()
    z = float(norm.ppf(0.5 + confidence_level / 2))
    points, used = [], False
    for label, other in [*available(channel), (channel.name, channel)]:
        own = other == channel
        if own and used:
            continue
        used = used or own
        try:
            half = z * math.sqrt(float(np.trace(asymptotic_covariance(other, inside))) / (p * n))
        except EstimateError:
            half = None
        points.append(
            {"label": label, "leakage": mutual_information(other, inside, unit="bits"), "half_width": half, "own": own}
        )
    return points


def available(channel: Channel) -> Iterator[tuple[str, Channel]]:
    """Mechanisms that suit the number of categories, with their names."""
    domain, p = channel.domain, channel.n_categories
    if p == 2:
        yield from ((f"dummies, rho {rho:g}", binary_dummy(domain, rho)) for rho in (0.25, 0.5, 0.75))
    elif p == 3:
        yield from ((f"dummies, rho {rho:g}", ternary_dummy(domain, rho)) for rho in (0.25, 0.5, 0.75))
    else:
        yield "uniform subset", uniform_subset(domain)
    for size in sorted({2, p // 4, p // 2} - {0, 1}):
        if size < p:
            yield f"subset of {size}", fixed_size(domain, size)
    yield from ((f"randomised response, ε {epsilon}", randomized_response(domain, epsilon)) for epsilon in (1, 2, 3))
    yield "the answer itself", full_response(domain)
