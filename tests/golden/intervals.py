"""Interval privacy: coverage of designs, what it costs, rings, silence, and laws from reports that are sets."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import reticent as rt
from tests.golden.channels import channel, prior
from tests.golden.laws import Discrete, anchors, flat_sets, functional, law, mass_of, number, numbers, set_of
from tests.golden.quantities import Input, quantity

# --- coverage ------------------------------------------------------------------------------------------------


@quantity
def coverage(inputs: Input) -> float:
    """Of a channel under a prior; else of ranges between independent anchors under a law of the values."""
    if "channel" in inputs:
        chosen = channel(inputs["channel"])
        if isinstance(chosen, rt.Ranges):
            return rt.mean_coverage(chosen, prior(inputs))
        return 1 - float(rt.size_leakage(chosen, prior(inputs)))
    values, n_ranges = law(inputs["law"]), inputs.get("n_ranges", 2)
    drawn = anchors(inputs["anchors"], values)
    if isinstance(values, Discrete) or isinstance(drawn, Discrete):
        return coverage_on_cells(values, drawn, n_ranges)
    if n_ranges == 2:
        return rt.coverage.case_one_coverage(values, drawn)
    return rt.coverage.canonical_coverage(values, drawn, n_ranges)


def coverage_on_cells(values: Any, drawn: Any, n_ranges: int) -> float:
    """With values or thresholds at some numbers only: cut at the thresholds, or at the values, between which all
    thresholds ask the same."""
    edges = drawn.values if isinstance(drawn, Discrete) else values.values[:-1]
    weights = drawn.masses if isinstance(drawn, Discrete) else np.diff(drawn.cdf(values.values))
    cells = rt.Numbers("number", "-inf", "inf", edges=edges.tolist())
    masses = np.diff(np.concatenate([[0.0], values.cdf(edges), [1.0]]))
    asked = weights.sum()
    if n_ranges > 2:
        if abs(asked - 1) > 1e-12:
            raise ValueError("with more than two ranges every threshold must lie among the values")
        return rt.mean_coverage(rt.random_ranges(cells, n_ranges, weights), masses)
    return 1 - float(asked) * (1 - rt.mean_coverage(rt.case_one(cells, weights), masses))


@quantity
def coverage_by_report(inputs: Input) -> list[float]:
    return rt.coverage_by_report(channel(inputs["channel"]), prior(inputs)).tolist()


@quantity
def coverage_by_cell(inputs: Input) -> list[float]:
    return rt.coverage_by_cell(channel(inputs["channel"]), prior(inputs)).tolist()


@quantity
def joint_coverage(inputs: Input) -> dict[str, float]:
    """Of one answer through each of several channels on one domain, or of `m` answers through one."""
    specs = inputs["channels"] if "channels" in inputs else [inputs["channel"]] * inputs["m"]
    found = rt.joint_coverage([channel(spec) for spec in specs], prior(inputs))
    return {"coverage": found.coverage, "exact": found.exact, "sum_bound": found.sum_bound}


@quantity
def set_coverage(inputs: Input) -> float:
    """The mass of one set under a law of the values."""
    values = law(inputs["law"])
    return sum(mass_of(values, low, high) for low, high in set_of(inputs["set"]))


# --- choosing anchors ----------------------------------------------------------------------------------------


@quantity
def quantile_beta_shape(inputs: Input) -> float:
    return rt.anchors.quantile_beta(law("uniform"), number(inputs["coverage"])).shape


@quantity
def efficient_variance(inputs: Input) -> float:
    values = law(inputs["law"])
    return rt.coverage.efficient_variance(values, anchors(inputs["anchors"], values), functional(inputs).slope)


@quantity
def efficient_sd(inputs: Input) -> float:
    return math.sqrt(efficient_variance(inputs) / inputs["n"])


@quantity
def weighting_variance(inputs: Input) -> float:
    values, centre = law(inputs["law"]), number(inputs.get("c", 0))
    return rt.coverage.weighting_variance(values, anchors(inputs["anchors"], values), centre, functional(inputs).slope)


@quantity
def weighting_sd(inputs: Input) -> float:
    return math.sqrt(weighting_variance(inputs) / inputs["n"])


@quantity
def root_variance_integral(inputs: Input) -> float:
    """The density is |h'| √(F(1 − F)) over this integral."""
    return 1 / rt.anchors.variance_optimal(law(inputs["law"]), functional(inputs).slope).height


@quantity
def spread(inputs: Input) -> float:
    return rt.coverage.spread(law(inputs["law"]))


# --- rings ---------------------------------------------------------------------------------------------------


@quantity
def ring_coverage(inputs: Input) -> float:
    concentration = number(inputs.get("concentration", 1))
    return rt.coverage.ring_coverage(inputs["n_ranges"], number(inputs["narrowest"]), concentration)


def arcs_of(inputs: Input) -> list[tuple[tuple[float, float], ...]]:
    lengths = [number(length) for length in inputs["lengths"]]
    return rt.coverage.ring_arcs(law(inputs["law"]), number(inputs["start"]), lengths)


@quantity
def ring_arcs(inputs: Input) -> list[Any]:
    return [[[*pair] for pair in arc] for arc in arcs_of(inputs)]


@quantity
def ring_arc_coverages(inputs: Input) -> list[float]:
    values = law(inputs["law"])
    return [sum(mass_of(values, low, high) for low, high in arc) for arc in arcs_of(inputs)]


@quantity
def ring_arc_of_quantiles(inputs: Input) -> list[int]:
    """The place, from 0, of the arc that holds each quantile."""
    values, arcs = law(inputs["law"]), arcs_of(inputs)
    points = [float(values.ppf(number(quantile))) for quantile in inputs["quantiles"]]
    return [next(i for i, arc in enumerate(arcs) if any(low < y <= high for low, high in arc)) for y in points]


# --- silence -------------------------------------------------------------------------------------------------


@quantity
def ignorable_rho(inputs: Input) -> float:
    return float(rt.ignorable_rho(inputs["q"]))


@quantity
def coin_given_silence(inputs: Input) -> float:
    """Without rho, at its ignorable limit."""
    rho = inputs.get("rho", "ignorable")
    coin = rt.ignorable_rho(inputs["q"]) if rho == "ignorable" else rho
    return float(rt.coin_given_silence(coin, inputs["q"]))


@quantity
def reaching_floor(inputs: Input) -> list[float]:
    return [float(chance) for chance in channel(inputs["channel"]).reaching_floor]


@quantity
def no_range(inputs: Input) -> list[float]:
    return [float(chance) for chance in channel(inputs["channel"]).no_range]


# --- laws from sets ------------------------------------------------------------------------------------------


def fitted(inputs: Input) -> rt.Distribution:
    """From sets of numbers; with edges, or from rows over cells, on a grid and with rows of silence."""
    if "rows" in inputs:
        return fitted(as_sets(inputs))
    low, high, owner = flat_sets(inputs["sets"])
    weights = numbers(inputs["counts"]) if "counts" in inputs else None
    if "edges" in inputs:
        nulls = {name: inputs[name] for name in ("nulls", "null_weights") if name in inputs}
        return rt.npmle_on_edges(low, high, numbers(inputs["edges"]), weights, owner=owner, **nulls)
    lowest, highest = (number(end) for end in inputs.get("domain", ("-inf", "inf")))
    return rt.npmle(low, high, weights, owner=owner, domain=(lowest, highest))


def as_sets(inputs: Input) -> Input:
    """Rows of P(report | cell) as sets of the cells (0, 1], (1, 2], …; rows with several chances are silence."""
    rows, counts = inputs["rows"], inputs.get("counts", [1] * len(inputs["rows"]))
    told = [(row, count) for row, count in zip(rows, counts, strict=True) if len({*row} - {0}) == 1]
    silent = [(row, count) for row, count in zip(rows, counts, strict=True) if len({*row} - {0}) != 1]
    found = {
        "sets": [[[cell, cell + 1] for cell, chance in enumerate(row) if chance] for row, _ in told],
        "counts": [count for _, count in told],
        "edges": [*range(len(rows[0]) + 1)],
    }
    if silent:
        found["nulls"], found["null_weights"] = (list(part) for part in zip(*silent, strict=True))
    return found


def on_cells(found: rt.Distribution) -> np.ndarray:
    """The mass of every cell between the edges."""
    cells = np.zeros(len(found.edges) - 1)
    cells[np.searchsorted(found.edges, found.right) - 1] = found.mass
    return cells


@quantity
def npmle(inputs: Input) -> list[Any]:
    """Masses by interval in increasing order; with edges or rows the mass of every cell."""
    found = fitted(inputs)
    if found.edges is not None:
        return on_cells(found).tolist()
    return np.column_stack([found.left, found.right, found.mass]).tolist()


@quantity
def npmle_log_likelihood(inputs: Input) -> float:
    return fitted(inputs).log_likelihood


@quantity
def npmle_cdf(inputs: Input) -> list[list[float]]:
    """The least and the greatest F(t) of all laws with these masses."""
    return np.column_stack(fitted(inputs).cdf_range(numbers(inputs["at"]))).tolist()


@quantity
def npmle_moment(inputs: Input) -> list[float]:
    """Least, with masses in the middle of their intervals, and greatest."""
    found, order = fitted(inputs), inputs.get("order", 1)
    least, greatest = found.moment_range(order)
    return [least, found.moment(order), greatest]


@quantity
def npmle_unique(inputs: Input) -> bool | None:
    return fitted(inputs).unique


@quantity
def mean_set_mass(inputs: Input) -> float:
    """The mean over reports of the fitted mass of the reported set: the plug-in coverage."""
    found, sets = fitted(inputs), [set_of(spec) for spec in inputs["sets"]]
    masses = [sum(mass_in(found, low, high) for low, high in parts) for parts in sets]
    return float(np.average(masses, weights=numbers(inputs["counts"]) if "counts" in inputs else None))


def mass_in(found: rt.Distribution, low: float, high: float) -> float:
    """Fitted masses lie within a reported set or outside it."""
    point = found.left == found.right
    if low == high:
        inside = point & (found.left == low)
    else:
        inside = (found.left >= low) & (found.right <= high) & ~(point & (found.left == low))
    return float(found.mass[inside].sum())
