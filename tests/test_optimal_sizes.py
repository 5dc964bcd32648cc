"""The best sizes under a bound on leakage, and explicit designs from a solver: the figures of section 14."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog, minimize

import reticent as rt
from reticent import measures
from reticent.errors import DomainError, ParameterError
from reticent.mechanisms.balance import incidence
from tests.mechanism_cases import question

RACE = np.array([27816, 3124, 1039, 311, 271]) / 32561
LETTERS = "abcde"


def trace(channel: rt.Channel, shares: Any) -> float:
    return float(np.trace(rt.asymptotic_covariance(channel, shares)))


# Section 14 of our specification, at equal shares, in bits: the uniform design (reports, information, size, prediction,
# delta, trace of the three estimators), and the best design at the same information (share of size 2, trace, prediction).
TABLE = {
    4: (6, 1.000000, 0.500000, 0.500000, 0.666667, 2.250000, 2.250000, 2.250000, 1.000000, 2.250000, 0.500000),
    5: (20, 0.970951, 0.480000, 0.400000, 0.600000, 3.200000, 3.333333, 3.340434, 0.734496, 2.904487, 0.420349),
    6: (50, 0.950978, 0.466667, 0.333333, 0.560000, 4.166667, 4.464286, 4.473400, 0.600000, 3.472222, 0.366667),
    7: (112, 0.939438, 0.459184, 0.285714, 0.535714, 5.142857, 5.600000, 5.609154, 0.519786, 3.957673, 0.328495),
    8: (238, 0.934152, 0.455882, 0.250000, 0.521008, 6.125000, 6.717742, 6.726234, 0.467076, 4.371166, 0.300154),
}


@pytest.mark.parametrize("p", TABLE)
def test_the_table_of_the_uniform_and_the_best_design(p: int) -> None:
    uniform, equal = rt.uniform_subset(question(p)), np.full(p, 1 / p)
    information = measures.mutual_information(uniform, equal, "bits")
    best = rt.optimal_sizes(question(p), information, unit="bits")
    found = (
        uniform.n_reports,
        information,
        measures.size_leakage(uniform, equal),
        measures.prediction_leakage(uniform, equal),
        measures.ldp_delta(uniform),
        trace(uniform, equal),
        float(np.trace(rt.asymptotic_covariance(uniform, equal, "moments", "centred"))),
        float(np.trace(rt.asymptotic_covariance(uniform, equal, "moments", "inverse"))),
        float(best.size_law()[2]),
        trace(best, equal),
        measures.prediction_leakage(best, equal),
    )
    np.testing.assert_allclose(found, TABLE[p], atol=5.001e-7)
    assert measures.mutual_information(best, equal, "bits") == pytest.approx(information, abs=1e-12)


def test_the_golden_optimum() -> None:
    best = rt.optimal_sizes(question(5), 0.970950594455, unit="bits")
    law = best.size_law()
    assert float(law[2]) == pytest.approx(0.734495770390, abs=1e-12)
    assert float(law[5]) == pytest.approx(0.265504229610, abs=1e-12)
    assert trace(best, np.full(5, 0.2)) == pytest.approx(2.904486886562, abs=1e-11)
    assert law[2].denominator <= 2**64
    # The weights stay inside the bound: log2 rounded to 30 digits, down.
    log2_of_ratio = Fraction("1.321928094887362347870319429489")
    assert 0 <= Fraction(0.970950594455) - law[2] * log2_of_ratio < Fraction(1, 10**15)


MEASURED = {
    "information": lambda channel, equal: measures.mutual_information(channel, equal),
    "size": lambda channel, equal: measures.size_leakage(channel, equal),
    "prediction": lambda channel, equal: measures.prediction_leakage(channel, equal),
    "maximal": lambda channel, equal: measures.maximal_leakage(channel),
    "delta": lambda channel, equal: measures.ldp_delta(channel),
}
BOUNDS = {"information": 0.45, "size": 0.3, "prediction": 0.29, "maximal": 0.4, "delta": 0.37}


def leak(measure: str, p: int) -> list[float]:
    """What a set of each size 2..p gives away at equal shares; a linear programme adds them up."""
    return [
        {
            "information": math.log(p / k),
            "size": 1 - k / p,
            "prediction": 1 / k,
            "maximal": 1 / k,
            "delta": (p - k) / (p - 1),
        }[measure]
        for k in range(2, p + 1)
    ]


@pytest.mark.parametrize("independent", [False, True])
@pytest.mark.parametrize("p", [4, 5, 6, 9])
@pytest.mark.parametrize("measure", BOUNDS)
def test_no_other_law_of_sizes_is_better(measure: Any, p: int, independent: bool) -> None:
    bound = BOUNDS[measure]
    best, equal = rt.optimal_sizes(question(p), bound, measure, independent=independent), np.full(p, 1 / p)
    value = MEASURED[measure](best, equal)
    assert value <= bound + 1e-12 and (value >= bound - 1e-12 or best.size_law().get(p) is None)
    assert best.independent or not independent
    sizes = range(2, p + 1)
    limit = math.exp(bound) / p if measure == "maximal" else bound
    alike = (
        [[float(k == j) / k - float(p - k == j) / (p - k) for j in sizes] for k in range(1, p)] if independent else []
    )
    programme = linprog(
        [-1 / k for k in sizes], A_ub=[leak(measure, p)], b_ub=[limit], A_eq=[[1.0] * (p - 1), *alike],
        b_eq=[1.0, *[0.0] * len(alike)],
    )  # fmt: skip
    inverse = sum(float(chance) / k for k, chance in best.size_law().items())
    assert inverse == pytest.approx(-programme.fun, abs=1e-9)
    assert trace(best, equal) == pytest.approx((p - 1) ** 2 / (p * (p * inverse - 1)), rel=1e-9)


def test_a_bound_that_does_not_bind_gives_pairs() -> None:
    bounded: Any = [*BOUNDS]
    for measure in bounded:
        assert rt.optimal_sizes(question(6), 50, measure).size_law() == {2: 1}
    law = rt.optimal_sizes(question(6), 50, independent=True).size_law()
    assert law == {2: Fraction(1, 3), 4: Fraction(2, 3)}
    assert rt.optimal_sizes(question(4), 50, independent=True).size_law() == {2: 1}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"at_most": 0}, r"above 0 \(nothing asked\), up to 0.916291"),
        ({"at_most": -1, "unit": "bits"}, "at most -1 bits.*up to 1.32193"),
        ({"at_most": 0.2, "measure": "prediction"}, "above 0.2 .*up to 0.5"),
        ({"at_most": 0.0, "measure": "size"}, "up to 0.6"),
        ({"at_most": 0, "measure": "maximal", "unit": "bits"}, "up to 1.32193"),
        ({"at_most": 0, "measure": "delta"}, "up to 0.75"),
        ({"at_most": 0, "independent": True}, "all but two"),
        ({"at_most": 1e-30}, "less than once in a million"),
        ({"at_most": math.nan}, "at_most is nan"),
        ({"at_most": "1/2"}, "at_most is '1/2'"),
        ({"at_most": True}, "at_most is True"),
        ({"at_most": 1, "measure": "epsilon"}, '"information", "size"'),
        ({"at_most": 1, "measure": ["size"]}, '"information", "size"'),
        ({"at_most": 1, "unit": "bytes"}, "unit is 'bytes'"),
        ({"at_most": 0.3, "measure": "size", "unit": "bits"}, "has no unit"),
    ],
)
def test_bounds_that_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        rt.optimal_sizes(question(5), **options)


def test_too_few_categories_are_refused() -> None:
    with pytest.raises(DomainError, match="binary_dummy"):
        rt.optimal_sizes(question(2), 0.5)
    with pytest.raises(DomainError, match="without independent"):
        rt.optimal_sizes(question(3), 0.5, independent=True)
    assert set(rt.optimal_sizes(question(3), 0.2).size_law()) == {2, 3}


def adult_optimum(cost: np.ndarray, bound: float) -> rt.Channel:
    """The explicit design of sets of 2 to 5 races with the smallest trace and cost within the bound, by SLSQP."""
    held = incidence(ADULT_SETS, 5)
    chance = held @ RACE

    def inverse(masses: np.ndarray) -> np.ndarray:
        return np.linalg.inv((held * (masses / chance)[:, None]).T @ held)

    def slope(masses: np.ndarray) -> np.ndarray:
        return -((held @ inverse(masses)) ** 2).sum(axis=1) / chance

    limits = [
        {"type": "eq", "fun": lambda masses: held.T @ masses - 1, "jac": lambda masses: held.T},
        {"type": "ineq", "fun": lambda masses: bound - cost @ masses, "jac": lambda masses: -cost},
    ]
    found = minimize(lambda masses: float(np.trace(inverse(masses))), np.full(len(chance), 1 / 15), jac=slope,
                     bounds=[(0, 1)] * len(chance), constraints=limits, options={"maxiter": 500, "ftol": 1e-12})  # fmt: skip
    letters = [tuple(LETTERS[j] for j in members) for members in ADULT_SETS]
    target = dict(zip(letters, found.x.tolist(), strict=True))
    return rt.explicit_subsets(question(5), rt.complete(question(5), letters, target))


ADULT_SETS = [members for size in range(2, 6) for members in itertools.combinations(range(5), size)]
ADULT_CHANCE = incidence(ADULT_SETS, 5) @ RACE
ADULT = {
    "information": (-ADULT_CHANCE * np.log(ADULT_CHANCE), lambda channel: measures.mutual_information(channel, RACE), 0.6687),
    "size": (ADULT_CHANCE * (1 - ADULT_CHANCE), lambda channel: measures.size_leakage(channel, RACE), 0.6257),
    "prediction": (np.array([RACE[[*members]].max() for members in ADULT_SETS]),
                   lambda channel: measures.prediction_leakage(channel, RACE), 0.6591),
}  # fmt: skip


@pytest.mark.parametrize("measure", ADULT)
def test_an_optimum_from_a_solver_becomes_an_exact_design(measure: str) -> None:
    # Section 14: race in the Adult data, leakage at most that of the uniform design, figures to 1e-3.
    cost, leakage, expected = ADULT[measure]
    bound = leakage(rt.uniform_subset(question(5)))
    best = adult_optimum(cost, bound)
    assert trace(best, RACE) == pytest.approx(expected, abs=1e-3)
    assert leakage(best) <= bound + 1e-6
    if measure == "information":
        assert measures.maximal_leakage(best, "bits") == pytest.approx(1.188, abs=2e-3)
