"""Channels, their leakage, and estimates of shares: what subset privacy counts, for any channel."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

import reticent as rt
from reticent import measures
from reticent.errors import EstimateError
from tests.golden.channels import channel, domain, labels, masses, members, prior, shares_of, tally
from tests.golden.quantities import Input, quantity

# --- the channel ---------------------------------------------------------------------------------------------


def reported_sets(chosen: rt.Channel) -> dict[tuple[int, ...], tuple[Fraction, ...]]:
    """Every set that can be reported, with its exact row P(set | answer)."""
    return {members(chosen, key): chosen.exact_row(key) for key in chosen.keys().tolist()}


def pairs_of(chosen: rt.Channel) -> list[list[Fraction]]:
    """Q_ij = P(i in the report | j)."""
    p = len(chosen.domain)
    pairs = [[Fraction(0)] * p for _ in range(p)]
    for held, row in reported_sets(chosen).items():
        for i in held:
            pairs[i - 1] = [total + chance for total, chance in zip(pairs[i - 1], row, strict=True)]
    return pairs


@quantity
def design_constants(inputs: Input) -> dict[str, float]:
    chosen = channel(inputs["channel"])
    pairs = pairs_of(chosen)
    inverse = np.linalg.inv(np.array(pairs, dtype=np.float64))
    triple = sum((row[2] for held, row in reported_sets(chosen).items() if {1, 2} <= {*held}), Fraction(0))
    return {
        "n_reports": chosen.n_reports,
        "probability": float(max(chosen.exact_row(int(chosen.keys()[0])))),
        "stray": float(pairs[0][1]),
        "stray_pair": float(triple),
        "inverse_diagonal": inverse[0, 0],
        "inverse_off_diagonal": inverse[0, 1],
    }


@quantity
def pair_matrix(inputs: Input) -> Any:
    return np.array(pairs_of(channel(inputs["channel"])), dtype=np.float64).tolist()


@quantity
def set_masses(inputs: Input) -> Any:
    chosen = channel(inputs["channel"])
    return sorted([[*held], float(max(row))] for held, row in reported_sets(chosen).items())


@quantity
def size_law(inputs: Input) -> dict[str, float]:
    law: dict[str, float] = {}
    for held, row in reported_sets(channel(inputs["channel"])).items():
        size = str(len(held))
        law[size] = law.get(size, 0.0) + float(sum(row) / len(row))
    return law


@quantity
def valid(inputs: Input) -> bool:
    """Whether the design is accepted."""
    try:
        channel(inputs["channel"])
    except rt.errors.ReticentError:
        return False
    return True


@quantity
def identifiable(inputs: Input) -> bool:
    chosen = channel(inputs["channel"])
    try:
        rt.asymptotic_covariance(chosen, np.full(len(chosen.domain), 1 / len(chosen.domain)))
    except EstimateError:
        return False
    return True


@quantity
def independent(inputs: Input) -> bool:
    """Whether every set and its complement have the same mass, the full set aside."""
    chosen = channel(inputs["channel"])
    every = {*range(1, len(chosen.domain) + 1)}
    mass = {frozenset(held): max(row) for held, row in reported_sets(chosen).items()}
    return all(mass.get(frozenset(every - held), 0) == one for held, one in mass.items() if held != every)


@quantity
def optimal_sizes(inputs: Input) -> dict[str, float]:
    """The sizes of the optimal design, and the trace it reaches at equal shares."""
    spec = {"mechanism": "optimal_sizes", **inputs}
    p = inputs["categories"]
    law = channel(spec).size_law()
    reached = trace({"channel": spec, "prior": [1] * p, "estimator": "maximum_likelihood"})
    return {**{f"pi_{size}": float(chance) for size, chance in law.items()}, "trace": reached}


@quantity
def complete(inputs: Input) -> list[float] | None:
    """The masses in the order of the sets; null when no masses are balanced."""
    answers = domain(inputs.get("categories") or max(map(max, inputs["sets"])))
    target = masses(inputs["target"]) if inputs.get("target") is not None else None
    try:
        found = rt.complete(answers, [labels(members) for members in inputs["sets"]], target)
    except rt.errors.ParameterError:
        return None
    return [float(mass) for mass in found.values()]


@quantity
def pinned(inputs: Input) -> float:
    return rt.repetition(channel(inputs["channel"]), inputs["m"]).pinned


@quantity
def expected_candidates(inputs: Input) -> float:
    return rt.repetition(channel(inputs["channel"]), inputs["m"]).expected_candidates


@quantity
def stray(inputs: Input) -> float:
    return float(channel(inputs["channel"]).stray)


@quantity
def stray_offset(inputs: Input) -> dict[str, float]:
    offset = channel(inputs["channel"]).stray - Fraction(1, 2)
    exponent = len(str(abs(offset).numerator)) - len(str(offset.denominator))
    while abs(offset) < Fraction(10) ** exponent:
        exponent -= 1
    while abs(offset) >= Fraction(10) ** (exponent + 1):
        exponent += 1
    return {"mantissa": float(offset / Fraction(10) ** exponent), "exponent": exponent}


@quantity
def epsilon(inputs: Input) -> float:
    return channel(inputs["channel"]).epsilon


@quantity
def likelihood(inputs: Input) -> Any:
    return channel(inputs["channel"]).matrix().tolist()


@quantity
def leakage(inputs: Input) -> float:
    chosen, name = channel(inputs["channel"]), inputs["measure"]
    weights = [prior(inputs)] if name not in ("maximal_leakage", "ldp_epsilon", "ldp_delta") else []
    options = {"unit": inputs["unit"]} if inputs.get("unit") else {}
    return float(getattr(measures, name)(chosen, *weights, **options))


# --- estimates -----------------------------------------------------------------------------------------------


@quantity
def estimate(inputs: Input) -> Any:
    """Moments are the linear estimate; `moments_projected` is its projection on the simplex."""
    name = inputs["estimator"]
    fitted = shares_of(tally(inputs), name.removesuffix("_projected"))
    linear = name.startswith("moments") and not name.endswith("_projected")
    return (fitted.unconstrained if linear else fitted.probabilities).tolist()


@quantity
def standard_errors(inputs: Input) -> Any:
    return shares_of(tally(inputs), inputs["estimator"]).standard_errors.tolist()


@quantity
def covariance(inputs: Input) -> Any:
    estimator, _, form = inputs["estimator"].partition("moments_")
    chosen, options = channel(inputs["channel"]), {"form": form} if form else {}
    return rt.asymptotic_covariance(chosen, prior(inputs), estimator or "moments", **options).tolist()


@quantity
def trace(inputs: Input) -> float:
    return float(np.trace(covariance(inputs)))


@quantity
def variance(inputs: Input) -> float:
    j = inputs["category"] - 1
    return covariance(inputs)[j][j]


@quantity
def log_likelihood(inputs: Input) -> float:
    """Of the supported sets: constant factors of a row, such as 1/D, are left out."""
    counted = tally(inputs)
    fitted = rt.maximum_likelihood(counted)
    rows = counted.channel.likelihood(counted.keys)
    rows = rows / rows.max(axis=1, keepdims=True)
    return float(counted.counts @ np.log(rows @ fitted.probabilities))


@quantity
def multipliers(inputs: Input) -> Any:
    return rt.maximum_likelihood(tally(inputs)).fit.multipliers.tolist()


@quantity
def confidence_interval(inputs: Input) -> list[float]:
    fitted = rt.maximum_likelihood(tally(inputs))
    interval = fitted.confidence_interval(inputs["level"], method=inputs["method"].replace("_", "-"))
    j = inputs["category"] - 1
    return [float(interval.low[j]), float(interval.high[j])]


@quantity
def ranges(inputs: Input) -> Any:
    fitted = rt.maximum_likelihood(tally(inputs))
    return np.column_stack([fitted.range_low, fitted.range_high]).tolist()


@quantity
def unique(inputs: Input) -> bool:
    return rt.maximum_likelihood(tally(inputs)).unique


@quantity
def set_share(inputs: Input) -> float:
    weights = np.zeros(len(channel(inputs["channel"]).domain))
    weights[np.array(inputs["set"]) - 1] = 1
    return float(weights @ rt.maximum_likelihood(tally(inputs)).probabilities)
