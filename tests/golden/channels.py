"""Reading channels, priors and counts of reports from the inputs of a case."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np

import reticent as rt
from tests.golden.laws import anchors, law, set_of
from tests.golden.quantities import Input

ON_CHANNELS = ("selective", "lazy")


def domain(n_categories: int) -> rt.Categorical:
    return rt.Categorical("answer", [str(j) for j in range(1, n_categories + 1)])


def channel(spec: Input) -> rt.Channel:
    """The channel of `{"mechanism": ..., "categories": p, ...}`."""
    kind = spec["mechanism"]
    if kind in ON_CHANNELS or "domain" in spec:
        return ranges(spec)
    if kind == "table":
        matrix = [[float(Fraction(entry)) for entry in row] for row in spec["matrix"]]
        return rt.Table.from_matrix(domain(len(matrix[0])), matrix)
    if kind == "random_nonresponse":
        return rt.random_nonresponse(channel(spec["channel"]), spec["rate"])
    parameters = {name: value for name, value in spec.items() if name not in ("mechanism", "categories")}
    if kind in ("explicit", "explicit_subsets"):
        kind, parameters["sets"] = "explicit_subsets", masses(spec["sets"])
    if kind in ("sizes", "size_weighted"):
        chances = parameters.pop("sizes" if "sizes" in spec else "law")
        kind, parameters["law"] = "size_weighted", {int(size): chance for size, chance in chances.items()}
    return getattr(rt, kind)(domain(n_categories(spec)), **parameters)


def ranges(spec: Input) -> rt.Channel:
    """A channel on numbers: `domain` is `{"low", "high", "step", "edges"}`; selective and lazy ones name a `channel`."""
    parameters = {name: value for name, value in spec.items() if name != "mechanism"}
    if isinstance(parameters.get("anchors"), (str, dict)):
        parameters["anchors"] = anchors(parameters["anchors"])
    if isinstance(parameters.get("floor"), dict):
        parameters["floor"] = {Fraction(floor): weight for floor, weight in parameters["floor"].items()}
    if isinstance(parameters.get("pilot"), (str, dict)):
        parameters["pilot"] = law(parameters["pilot"])
    if spec["mechanism"] in ON_CHANNELS:
        base = channel(parameters.pop("channel"))
    else:
        base = rt.Numbers("number", **{"low": "-inf", "high": "inf", **parameters.pop("domain")})
    return getattr(rt, spec["mechanism"])(base, **parameters)


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
    """Weights as numbers or "a/b", scaled to sum to one; or the masses of the cells under a law by name."""
    if isinstance(inputs["prior"], (str, dict)):
        return np.diff(law(inputs["prior"]).cdf(channel(inputs["channel"]).domain.boundaries))
    weights = [Fraction(str(weight)) for weight in inputs["prior"]]
    return np.array([float(weight / sum(weights)) for weight in weights])


def members(chosen: rt.Channel, key: int) -> tuple[int, ...]:
    """The 1-based categories of a reported set: its bits, or for tables the answers that can have led to it."""
    p = len(chosen.domain)
    if isinstance(chosen, rt.Subset):
        return tuple(j + 1 for j in range(p) if key >> j & 1)
    return tuple(j + 1 for j, chance in enumerate(chosen.exact_row(key)) if chance)


def report_key(chosen: rt.Channel, report: Any) -> int:
    """The key of a set of 1-based categories, of a 1-based report number, or of a set of numbers (null: no range)."""
    if isinstance(chosen.domain, rt.Numbers) and not isinstance(report, int):
        return range_keys(chosen)[None if report is None else cells(chosen.domain, report)]
    if not isinstance(report, list):
        return int(report) - 1
    if isinstance(chosen, rt.Table):
        return {members(chosen, key): key for key in chosen.keys().tolist()}[tuple(sorted(report))]
    return sum(1 << (category - 1) for category in report)


def cells(number: rt.Numbers, spec: Any) -> tuple[int, ...]:
    """The 1-based cells of a set of numbers whose ends are edges."""
    runs = [(number.boundary_at(low), number.boundary_at(high)) for low, high in set_of(spec)]
    return tuple(sorted(cell + 1 for start, stop in runs for cell in range(start, stop)))


def range_keys(chosen: rt.Channel) -> dict[tuple[int, ...] | None, int]:
    """The key of every report by its 1-based cells; of "no range" by None."""
    silent = isinstance(chosen, rt.Ranges)
    return {None if silent and key == 0 else members(chosen, key): key for key in chosen.keys().tolist()}


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
