"""Check golden values: `python -m tests.golden FILE...` prints how many passed; the public interface only.

The file format and every quantity are described in README.md beside this file.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

import reticent as rt
from reticent import measures
from reticent.errors import EstimateError
from reticent.likelihood import simplex_projection

Input = Mapping[str, Any]
QUANTITIES: dict[str, Callable[[Input], Any]] = {}


def quantity(function: Callable[[Input], Any]) -> Callable[[Input], Any]:
    """Register a function under its own name."""
    QUANTITIES[function.__name__] = function
    return function


# --- reading the inputs --------------------------------------------------------------------------------------


def domain(n_categories: int) -> rt.Categorical:
    return rt.Categorical("answer", [str(j) for j in range(1, n_categories + 1)])


def channel(spec: Input) -> rt.Channel:
    """The channel of `{"mechanism": ..., "categories": p, ...}`."""
    kind = spec["mechanism"]
    if kind == "table":
        matrix = [[float(Fraction(entry)) for entry in row] for row in spec["matrix"]]
        return rt.Table.from_matrix(domain(len(matrix[0])), matrix)
    if kind == "random_nonresponse":
        return rt.random_nonresponse(channel(spec["channel"]), spec["rate"])
    parameters = {name: value for name, value in spec.items() if name not in ("mechanism", "categories")}
    if kind in ("explicit", "explicit_subsets"):
        kind, parameters["sets"] = "explicit_subsets", masses(spec["sets"])
    if kind in ("sizes", "size_weighted"):
        law = parameters.pop("sizes" if "sizes" in spec else "law")
        kind, parameters["law"] = "size_weighted", {int(size): chance for size, chance in law.items()}
    return getattr(rt, kind)(domain(n_categories(spec)), **parameters)


def n_categories(spec: Input) -> int:
    """As given; else the largest category named in the sets, or what a dummy scheme is for."""
    if "categories" in spec:
        return int(spec["categories"])
    if "sets" in spec:
        return max(category for members, *_ in spec["sets"] for category in members)
    return 3 if spec["mechanism"] == "ternary_dummy" else 2


def labels(members: Iterable[int]) -> tuple[str, ...]:
    """A set of 1-based categories as labels of the domain."""
    return tuple(str(category) for category in members)


def masses(pairs: Iterable[Any]) -> dict[tuple[str, ...], Any]:
    """`[[categories, mass], ...]` as a mapping of sets to masses."""
    return {labels(members): mass for members, mass in pairs}


def prior(inputs: Input) -> np.ndarray:
    """Weights as numbers or "a/b", scaled to sum to one."""
    weights = [Fraction(str(weight)) for weight in inputs["prior"]]
    return np.array([float(weight / sum(weights)) for weight in weights])


def members(chosen: rt.Channel, key: int) -> tuple[int, ...]:
    """The 1-based categories of a reported set: its bits, or for tables the answers that can have led to it."""
    p = len(chosen.domain)
    if isinstance(chosen, rt.Subset):
        return tuple(j + 1 for j in range(p) if key >> j & 1)
    return tuple(j + 1 for j, chance in enumerate(chosen.exact_row(key)) if chance)


def report_key(chosen: rt.Channel, report: Any) -> int:
    """The key of a set of 1-based categories, or of a 1-based report number."""
    if not isinstance(report, list):
        return int(report) - 1
    if isinstance(chosen, rt.Table):
        return {members(chosen, key): key for key in chosen.keys().tolist()}[tuple(sorted(report))]
    return sum(1 << (category - 1) for category in report)


def tally(inputs: Input) -> rt.PatternTally:
    chosen = channel(inputs["channel"])
    return rt.PatternTally.from_counts(
        chosen, {report_key(chosen, report): count for report, count in inputs["counts"]}
    )


def shares_of(counted: rt.PatternTally, estimator: str) -> rt.Shares:
    if estimator == "maximum_likelihood":
        return rt.maximum_likelihood(counted)
    if estimator == "one_step":
        return rt.one_step(counted)
    if estimator == "one_step_from_moments":
        return rt.one_step(counted, reference=rt.moments(counted).probabilities)
    _, _, form = estimator.partition("_")
    return rt.moments(counted, form=form or "centred")


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


# --- pure local differential privacy (randomised response is `grr`) -------------------------------------------


def randomized_response(inputs: Input) -> rt.Table:
    if inputs["protocol"] != "grr":
        raise ValueError(f'protocol {inputs["protocol"]!r} is not built; known: "grr"')
    return rt.randomized_response(domain(inputs["d"]), Fraction(str(inputs["eps"])))


@quantity
def pq(inputs: Input) -> list[float]:
    chosen = randomized_response(inputs)
    return [float(chosen.stray), float(max(chosen.exact_row(0)))]


@quantity
def thresholds(inputs: Input) -> dict[str, str]:
    return {"T_q": str(max(randomized_response(inputs).exact_row(0)) * 2**64)}


@quantity
def client(inputs: Input) -> list[int]:
    chosen, source = randomized_response(inputs), rt.seeded(inputs["seed"].encode())
    return [chosen.draw(chosen.domain.categories[value], source) for value in inputs["values"]]


@quantity
def norm_sub(inputs: Input) -> Any:
    return simplex_projection(np.array(inputs["v"])).tolist()


@quantity
def em_grr(inputs: Input) -> Any:
    chosen = randomized_response({**inputs, "protocol": "grr"})
    counted = rt.PatternTally.from_counts(chosen, dict(enumerate(inputs["reports"])))
    return rt.maximum_likelihood(counted).probabilities.tolist()


# --- the runner ----------------------------------------------------------------------------------------------


def agrees(value: Any, expected: Any, tolerance: float) -> bool:
    """|x - e| <= tolerance * max(1, |e|), element by element; text, truth and missing values exactly."""
    if isinstance(expected, dict):
        same = isinstance(value, dict) and value.keys() == expected.keys()
        return same and all(agrees(value[key], expected[key], tolerance) for key in expected)
    if isinstance(expected, list):
        same = isinstance(value, list) and len(value) == len(expected)
        return same and all(agrees(v, e, tolerance) for v, e in zip(value, expected, strict=True))
    if expected is None or isinstance(expected, (bool, str)):
        return type(value) is type(expected) and value == expected
    if isinstance(value, (bool, str, list, dict)) or value is None:
        return False
    if math.isinf(expected):
        return value == expected
    return abs(value - expected) <= tolerance * max(1.0, abs(expected))


def check(case: Input) -> str | None:
    """What is wrong with a case, or None."""
    function = QUANTITIES.get(case["quantity"])
    if function is None:
        return f"unknown quantity {case['quantity']!r}; known: {', '.join(sorted(QUANTITIES))}"
    try:
        value = function(case["input"])
    except Exception as error:  # one broken case must not hide the others
        return f"{type(error).__name__}: {error}"
    if agrees(value, case["expected"], case["tol"]):
        return None
    return f"expected {case['expected']}, got {value} (tolerance {case['tol']:g})"


def main(files: Iterable[str]) -> int:
    passed = failed = 0
    for file in files:
        for case in json.loads(Path(file).read_text(encoding="utf-8")):
            wrong = check(case)
            passed += wrong is None
            failed += wrong is not None
            if wrong is not None:
                print(f"{case['id']} {case['quantity']}: {wrong}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
