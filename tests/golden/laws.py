"""Reading numbers, laws of the values, laws of the thresholds and sets of numbers from the inputs of a case."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from scipy import stats

import reticent as rt

Pair = tuple[float, float]
FUNCTIONALS = {"mean": rt.thresholds.MEAN, "second_moment": rt.thresholds.SECOND_MOMENT}


def number(value: Any) -> float:
    """A number, "a/b", "inf" or "-inf"."""
    return float(Fraction(value)) if isinstance(value, str) and "/" in value else float(value)


def numbers(values: Any) -> np.ndarray:
    return np.array([number(value) for value in values])


def named(spec: Any) -> tuple[str, dict[str, Any]]:
    """The name and the parameters of `{"name": ..., ...}`, or of a name alone."""
    if isinstance(spec, str):
        return spec, {}
    return spec["name"], {name: value for name, value in spec.items() if name != "name"}


# --- laws of the values --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Discrete:
    """Masses at some numbers."""

    values: np.ndarray
    masses: np.ndarray

    def cdf(self, x: Any) -> np.ndarray:
        return np.append(0.0, np.cumsum(self.masses))[np.searchsorted(self.values, x, side="right")]


def discrete(values: Any, masses: Any = None) -> Discrete:
    """Without masses, all values are equally likely."""
    at, weights = numbers(values), np.ones(len(values)) if masses is None else numbers(masses)
    order = np.argsort(at)
    return Discrete(at[order], weights[order] / weights.sum())


def square_of_normal(mean: float = 0, sd: float = 1) -> Any:
    return stats.ncx2(1, (mean / sd) ** 2, scale=sd**2) if mean else stats.chi2(1, scale=sd**2)


LAWS: dict[str, Callable[..., Any]] = {
    "normal": lambda mean=0, sd=1: stats.norm(mean, sd),
    "logistic": lambda location=0, scale=1: stats.logistic(location, scale),
    "uniform": lambda low=0, high=1: stats.uniform(low, high - low),
    "exponential": lambda scale=1: stats.expon(scale=scale),
    "lognormal": lambda median=1, spread=1: stats.lognorm(spread, scale=median),
    "beta": lambda a, b, low=0, high=1: stats.beta(a, b, low, high - low),
    "square_of_normal": square_of_normal,
}


def law(spec: Any) -> Any:
    """A law by name, standard where parameters are left out: a frozen law of SciPy, or `Discrete`."""
    name, parameters = named(spec)
    if name == "discrete":
        return discrete(**parameters)
    return chosen(LAWS, name)(**{key: number(value) for key, value in parameters.items()})


def chosen(known: Mapping[str, Any], name: str) -> Any:
    if name not in known:
        raise ValueError(f"{name!r} is not known; known: {', '.join(sorted(known))}")
    return known[name]


# --- laws of the thresholds ----------------------------------------------------------------------------------


def functional(inputs: Mapping[str, Any]) -> rt.thresholds.Functional:
    """What the expectation is taken of; by default the value itself."""
    return chosen(FUNCTIONALS, inputs.get("functional", "mean"))


ANCHORS: dict[str, Callable[..., Any]] = {
    "uniform": lambda low=0, high=1: rt.anchors.UniformAnchors(low, high),
    "logistic": lambda location=0, scale=1: rt.anchors.LogisticAnchors(location, scale),
    "normal": lambda mean=0, sd=1: rt.anchors.NormalAnchors(mean, sd),
    "lognormal": lambda median=1, spread=1: rt.anchors.LogNormalAnchors(median, spread),
}
CHOSEN = ("quantile_beta", "variance_optimal", "coverage_optimal", "two_phase")


def anchors(spec: Any, pilot: Any = None) -> Any:
    """A law of anchors by name; those that are chosen by a pilot law take that of the values where they name none."""
    name, parameters = named(spec)
    if name == "discrete":
        return discrete(**parameters)
    if name == "mixed":
        first, second = (anchors(parameters[part], pilot) for part in ("first", "second"))
        return rt.anchors.MixedAnchors(first, second, number(parameters["share"]))
    if name not in CHOSEN:
        return chosen(ANCHORS, name)(**{key: number(value) for key, value in parameters.items()})
    pilot = law(parameters.pop("pilot")) if "pilot" in parameters else pilot
    slope = functional({"functional": parameters.pop("functional")}).slope if "functional" in parameters else None
    arguments = {key: number(value) for key, value in parameters.items()}
    if name == "quantile_beta":
        if "shape" in arguments:
            return rt.anchors.QuantileBetaAnchors(pilot, arguments["shape"])
        return rt.anchors.quantile_beta(pilot, **arguments)
    return getattr(rt.anchors, name)(pilot, slope=slope, **arguments)


# --- sets ----------------------------------------------------------------------------------------------------


def set_of(spec: Any) -> list[Pair]:
    """(low, high], or the point low where both are equal, of `[low, high]`; a union of them of `[[low, high], ...]`."""
    pairs = spec if isinstance(spec[0], list) else [spec]
    return [(number(low), number(high)) for low, high in pairs]


def mass_of(values: Any, low: float, high: float) -> float:
    """The mass of (low, high], or of the point low where both are equal, under a law of the values."""
    before = np.nextafter(low, -np.inf) if low == high else low
    return float(values.cdf(high) - values.cdf(before))


def flat_sets(specs: Any) -> tuple[list[float], list[float], list[int]]:
    """Lower ends, upper ends, and the number of the set that each component belongs to."""
    flat = [(low, high, owner) for owner, spec in enumerate(specs) for low, high in set_of(spec)]
    low, high, owner = zip(*flat, strict=True)
    return list(low), list(high), list(owner)
