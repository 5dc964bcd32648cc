"""Answers to "is your value at most u?": the law, its intervals, coverage and means."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import reticent as rt
from tests.golden.laws import functional, law, number, numbers
from tests.golden.quantities import Input, quantity


def answers(inputs: Input) -> tuple[Any, Any]:
    """Thresholds and 0/1 answers."""
    return inputs["thresholds"], inputs["below"]


@quantity
def threshold_cdf(inputs: Input) -> list[float]:
    """F̂ at each distinct threshold, or at the points asked for."""
    found = rt.thresholds.threshold_cdf(*answers(inputs), inputs.get("counts"))
    return (found(numbers(inputs["at"])) if "at" in inputs else found.value).tolist()


@quantity
def plug_in_coverage(inputs: Input) -> float:
    return rt.thresholds.plug_in_coverage(*answers(inputs), inputs.get("counts")).value


def agreement(inputs: Input) -> rt.thresholds.CoverageEstimate:
    return rt.thresholds.agreement_coverage(*answers(inputs), counts=inputs.get("counts"))


@quantity
def agreement_coverage(inputs: Input) -> float:
    return agreement(inputs).value


@quantity
def agreement_coverage_error(inputs: Input) -> float:
    return agreement(inputs).standard_error


@quantity
def likelihood_ratio(inputs: Input) -> float:
    return rt.thresholds.likelihood_ratio(
        *answers(inputs), number(inputs["t"]), number(inputs["theta"]), inputs.get("counts")
    )


@quantity
def cdf_interval(inputs: Input) -> list[float]:
    options = {name: inputs[name] for name in ("method", "on_grid", "counts") if name in inputs}
    level = inputs.get("level", 0.95)
    found = rt.thresholds.cdf_interval(*answers(inputs), number(inputs["t"]), confidence_level=level, **options)
    return [float(found.low[0]), float(found.high[0])]


# --- means ---------------------------------------------------------------------------------------------------


def estimated(estimate: Callable[..., Any], inputs: Input) -> rt.thresholds.FunctionalEstimate:
    """A mean from thresholds drawn from a density; a list of laws for several thresholds per person."""
    spec = inputs["anchors"]
    drawn = [law(one) for one in spec] if isinstance(spec, list) else law(spec)
    options: dict[str, Any] = {name: inputs[name] for name in ("counts", "n_folds", "seed") if name in inputs}
    if "c" in inputs:
        options["c"] = number(inputs["c"])
    if "domain" in inputs:
        options["domain"] = tuple(numbers(inputs["domain"]).tolist())
    return estimate(*answers(inputs), drawn, functional(inputs), clip="domain" not in inputs, **options)


@quantity
def inverse_density(inputs: Input) -> float:
    return estimated(rt.thresholds.inverse_density, inputs).value


@quantity
def inverse_density_error(inputs: Input) -> float:
    return estimated(rt.thresholds.inverse_density, inputs).standard_error


@quantity
def augmented(inputs: Input) -> float:
    return estimated(rt.thresholds.augmented, inputs).value


@quantity
def midpoint_mean(inputs: Input) -> list[float]:
    """Least, with masses in the middle of their intervals, and greatest."""
    ends = tuple(numbers(inputs.get("domain", ["-inf", "inf"])).tolist())
    counts = inputs.get("counts")
    found = rt.thresholds.npmle_plug_in(*answers(inputs), functional(inputs), domain=ends, n_resamples=0, counts=counts)
    return [found.lowest, found.value, found.highest]
