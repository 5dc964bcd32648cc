"""Pure local differential privacy; randomised response is `grr`."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

import reticent as rt
from reticent.likelihood import simplex_projection
from tests.golden.channels import domain
from tests.golden.quantities import Input, quantity


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
