"""Designs of sets: laws of sizes, random non-response, explicit lists, and masses that balance them."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import reticent as rt
from reticent import measures
from reticent.errors import EstimateError, ParameterError
from reticent.mechanisms.balance import Members, corrected, coverage, incidence, nearest, obstruction, solve
from tests.mechanism_cases import STAR, question

FOUR = [0.5, 0.25, 0.15, 0.1]
LETTERS = ("a", "b", "c", "d", "e", "f", "g", "h")


def masses_of(channel: rt.Table) -> dict[str, Fraction]:
    return {channel.describe(int(key)): max(channel.exact_row(int(key))) for key in channel.keys()}


def trace(channel: rt.Channel, shares: Any) -> float:
    return float(np.trace(rt.asymptotic_covariance(channel, shares)))


# --- laws of sizes ---------------------------------------------------------------------------------------------------


def test_a_law_of_sizes_is_kept_exactly() -> None:
    channel = rt.size_weighted(question(6), {6: "1/5", 4: Fraction(3, 10), 2: "0.5", 3: 0})
    assert channel.size_law() == {2: Fraction(1, 2), 4: Fraction(3, 10), 6: Fraction(1, 5)}
    assert channel.hit_by_size() == {2: Fraction(1, 10), 4: Fraction(3, 100), 6: Fraction(1, 5)}
    assert channel == rt.Subset(question(6), ((2, 5), (4, 3), (6, 2)), title="size-weighted subset")
    assert not channel.independent and rt.size_weighted(question(5), {2: "2/5", 3: "3/5"}).independent
    assert rt.size_weighted(question(5), {3: 1}).sizes == rt.fixed_size(question(5), 3).sizes


def test_floats_are_taken_as_the_numbers_they_are() -> None:
    law = {2: 0.1, 3: 0.2, 4: 0.7}
    total = sum(map(Fraction, law.values()))
    assert rt.size_weighted(question(5), law).size_law() == {k: Fraction(chance) / total for k, chance in law.items()}
    assert rt.size_weighted(question(5), {2: np.float64(0.5), 3: np.float32(0.5)}).sizes == ((2, 1), (3, 1))
    assert rt.size_weighted(question(5), {2: 1 / 3, 3: 2 / 3 + 9e-13}).n_reports == 20


@pytest.mark.parametrize(
    ("law", "words"),
    [
        ({2: "1/2", 3: "1/3"}, "sum to 5/6"),
        ({2: "0.333333333333333", 3: "0.666666666666666"}, "sum to"),  # text is exact
        ({2: 0.5, 3: 0.5 + 2e-12}, "sum to 1.000000000002"),
        ({}, "sum to 0"),
        ({2: 0.5, 6: 0.5}, "size 6; sizes are whole numbers from 1 to 5"),
        ({0: 0.5, 2: 0.5}, "size 0"),
        ({2.0: 1}, "size 2.0"),
        ({True: 1}, "size True"),
        ({2: -0.5, 3: 1.5}, "probability of size 2 is -0.5"),
        ({2: math.nan, 3: 1}, "size 2 is nan"),
        ({2: math.inf}, "size 2 is inf"),
        ({2: "half"}, "size 2 is 'half'"),
        ({2: "1/0"}, "size 2 is '1/0'"),
        ({2: True}, "size 2 is True"),
        ({2: None}, "size 2 is None"),
        ({1: "1/2", 2: "1/2"}, "allow_singletons"),
        ([(2, 1)], "maps each size"),
    ],
)
def test_laws_of_sizes_that_are_refused(law: Any, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        rt.size_weighted(question(5), law)


def test_singletons_by_consent_and_the_full_set_with_a_warning() -> None:
    assert rt.size_weighted(question(4), {1: "1/2", 2: "1/2"}, allow_singletons=True).n_reports == 10
    assert rt.size_weighted(question(4), {1: 0, 2: 1}).n_reports == 6
    with pytest.warns(UserWarning, match="full set"):
        rt.size_weighted(question(2), {2: 1})


# --- random non-response ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rate", ["1/3", Fraction(1, 3), 0.25, 0.1])
@pytest.mark.parametrize(
    "channel", [rt.uniform_subset(question(6)), rt.size_weighted(question(6), {2: "1/2", 6: "1/2"})]
)
def test_non_response_mixes_in_the_full_set(channel: rt.Subset, rate: Any) -> None:
    silent, before = Fraction(rate), channel.size_law()
    mixed = rt.random_nonresponse(channel, rate)
    for size in range(1, 7):
        expected = (1 - silent) * before.get(size, Fraction(0)) + silent * (size == 6)
        assert mixed.size_law().get(size, Fraction(0)) == expected
    assert mixed.independent == channel.independent
    prior = np.arange(1, 7) / 21
    for measure in (measures.mutual_information, measures.size_leakage):
        assert measure(mixed, prior) == pytest.approx((1 - float(silent)) * measure(channel, prior), rel=1e-12)


def test_non_response_of_rate_zero_is_the_channel_itself() -> None:
    channel = rt.uniform_subset(question(5))
    assert rt.random_nonresponse(channel, 0) is channel
    consented = rt.size_weighted(question(4), {1: "1/2", 2: "1/2"}, allow_singletons=True)
    assert rt.random_nonresponse(consented, "1/2").size_law()[1] == Fraction(1, 4)


@pytest.mark.parametrize("rate", [1, "1", 1.5, -0.1, math.nan, "often", True, None])
def test_rates_that_are_refused(rate: Any) -> None:
    with pytest.raises(ParameterError, match="rate is"):
        rt.random_nonresponse(rt.uniform_subset(question(5)), rate)


def test_non_response_is_for_subsets_that_hold_the_answer() -> None:
    table: Any = rt.randomized_response(question(4), 1)
    with pytest.raises(ParameterError, match="it got randomised response"):
        rt.random_nonresponse(table, 0.5)
    with pytest.raises(ParameterError, match="may leave the answer out"):
        rt.random_nonresponse(rt.Subset(question(4), ((2, 1),), keep=2**63, miss_sizes=((2, 1),)), 0.5)


# --- explicit designs ------------------------------------------------------------------------------------------------


def test_the_star_design() -> None:
    channel = rt.explicit_subsets(question(4), STAR)
    masses = {"{a, b}": Fraction(1, 3), "{a, c}": Fraction(1, 3), "{a, d}": Fraction(1, 3), "{b, c, d}": Fraction(2, 3)}
    assert masses_of(channel) == masses and channel.denominator == 3
    assert measures.mutual_information(channel, FOUR, "bits") == pytest.approx(0.719141641948, abs=1e-12)
    assert trace(channel, FOUR) == pytest.approx(4.655, abs=1e-9)


def test_the_order_of_sets_and_labels_does_not_matter() -> None:
    turned = {tuple(reversed(labels)): mass for labels, mass in reversed(STAR.items())}
    assert rt.explicit_subsets(question(4), turned) == rt.explicit_subsets(question(4), STAR)
    numbers = rt.Categorical("digit", [1, 2, 3])
    by_number: Any = {(1, 2): "1/2", (2, 3): "1/2", (1, 3): "1/2"}
    assert rt.explicit_subsets(numbers, by_number).n_reports == 3


def test_an_explicit_uniform_design_is_the_uniform_design() -> None:
    sets = {labels: "1/10" for size in (2, 3) for labels in itertools.combinations(LETTERS[:5], size)}
    explicit, uniform = rt.explicit_subsets(question(5), sets), rt.uniform_subset(question(5))
    rows = [uniform.exact_row(int(key)) for key in uniform.keys()]
    assert [explicit.exact_row(int(key)) for key in explicit.keys()] == rows  # in the order of the bit masks


@pytest.mark.parametrize("error", [0.0, 3e-10, -3e-10])
def test_floats_are_settled_as_fractions_that_sum_exactly(error: float) -> None:
    floats = {labels: float(Fraction(mass)) + error for labels, mass in STAR.items()}
    assert masses_of(rt.explicit_subsets(question(4), floats)) == masses_of(rt.explicit_subsets(question(4), STAR))


def test_floats_that_are_no_simple_fractions() -> None:
    share = math.sqrt(0.5)
    sets = {("a", "b"): share, ("c", "d"): share + 4e-10, ("a", "c"): 1 - share, ("b", "d"): 1 - share, ("a", "d"): 0.0}
    with pytest.warns(UserWarning, match="rank 3 of 4"):
        channel = rt.explicit_subsets(question(4), sets)
    rows = [channel.exact_row(int(key)) for key in channel.keys()]
    assert [sum(column) for column in zip(*rows, strict=True)] == [1] * 4
    for name, mass in masses_of(channel).items():
        assert abs(float(mass) - sets[tuple(name.strip("{}").split(", "))]) < 1e-9


def test_tiny_masses_survive_the_settling() -> None:
    tiny = 1e-10
    sets = {("a", "b"): 1 - tiny, ("c", "d"): 1 - tiny + 3e-10, ("a", "c"): tiny, ("b", "d"): tiny}
    with pytest.warns(UserWarning, match="rank"):
        channel = rt.explicit_subsets(question(4), sets)
    assert channel.n_reports == 4 and min(map(float, masses_of(channel).values())) == pytest.approx(tiny, rel=1e-5)


@pytest.mark.parametrize(
    ("sets", "words"),
    [
        ({("a", "b"): 1, ("b", "c"): 1}, '"b" 2, "d" 0'),
        ({**STAR, ("a", "b"): "0.333"}, r'"a" 2999/3000, "b" 2999/3000\. Write thirds'),
        ({labels: float(Fraction(mass)) * (1 + 1e-8) for labels, mass in STAR.items()}, '"a" 1.00000001'),
        ({**STAR, ("a", "b"): -0.5}, r"\{a, b\} is -0.5"),
        ({**STAR, ("a", "b"): math.nan}, r"\{a, b\} is nan"),
        ({**STAR, ("a", "b"): math.inf}, r"\{a, b\} is inf"),
        ({**STAR, ("a", "b"): "a third"}, r"\{a, b\} is 'a third'"),
        ({**STAR, ("b", "a"): "1/3"}, r"\{a, b\} is given twice"),
        ({**STAR, (): "1/3"}, "empty set has the mass '1/3'"),
        ({**STAR, ("a", "z"): "1/3"}, "'z', which is no category"),
        ({**STAR, ("a", "a"): "1/3"}, "a category twice"),
        ({**STAR, ("a", None): "1/3"}, "None, which is no category"),
        ({**STAR, "ab": "1/3"}, "'ab' is no set"),
        ({**STAR, 7: "1/3"}, "7 is no set"),
        ({("a",): 1, ("b", "c", "d"): 1}, r"\{a\} is a single category"),
        ({}, '"a" 0, "b" 0'),
        ([("a", "b")], "map each tuple"),
    ],
)
def test_explicit_designs_that_are_refused(sets: Any, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        rt.explicit_subsets(question(4), sets)


def test_sets_without_mass_are_left_out_and_singletons_need_consent() -> None:
    assert rt.explicit_subsets(question(4), {**STAR, (): 0, ("a",): 0.0}).n_reports == 4
    sets = {("a",): "1/2", ("a", "b"): "1/2", ("b", "c"): "1/2", ("c", "d"): "1/2", ("d",): "1/2"}
    assert rt.explicit_subsets(question(4), sets, allow_singletons=True).n_reports == 5


def test_unidentifiable_designs_are_built_with_a_warning_and_refused_by_estimators() -> None:
    for sets, rank in (({("a", "b"): 1, ("c", "d"): 1}, 2), ({("a", "b", "c", "d"): 1}, 1)):
        with pytest.warns(UserWarning, match=f"rank {rank} of 4"):
            channel = rt.explicit_subsets(question(4), sets)
        with pytest.raises(EstimateError, match=f"rank {rank} of 4"):
            rt.maximum_likelihood(rt.tally(channel.draw_many(["a", "c"], seed=1)))


# --- masses that balance a family of sets ----------------------------------------------------------------------------


def test_families_that_cannot_be_balanced_are_refused_by_name() -> None:
    with pytest.raises(ParameterError, match='"b" would get more than 1 when "a" and "c" get 1'):
        rt.complete(question(3), [("a", "b"), ("b", "c")])
    with pytest.raises(ParameterError, match='No set holds "d"'):
        rt.complete(question(4), [("a", "b"), ("b", "c"), ("a", "c")])
    with pytest.raises(ParameterError, match='No set holds "c", "d" and "e"'):
        rt.complete(question(5), [("a", "b")])
    with pytest.raises(ParameterError, match='"c" would get more than 1 when "a" and "d" get 1'):
        rt.complete(question(5), [("a", "c"), ("c", "d"), ("b", "e")])
    with pytest.raises(ParameterError, match="given twice"):
        rt.complete(question(3), [("a", "b"), ("b", "a")])
    with pytest.raises(ParameterError, match="is empty"):
        rt.complete(question(3), [("a", "b"), ()])
    with pytest.raises(ParameterError, match="it takes 1 to 4,096"):
        rt.complete(question(3), [])
    with pytest.raises(ParameterError, match=r"names \{a, d\}, which is not among the sets"):
        rt.complete(question(4), [("a", "b"), ("c", "d")], {("a", "d"): 1})
    with pytest.raises(ParameterError, match=r"target of \{a, b\} is -1"):
        rt.complete(question(4), [("a", "b"), ("c", "d")], {("a", "b"): -1})


def test_the_only_masses_of_the_star_and_a_choice_among_many() -> None:
    assert rt.complete(question(4), STAR) == {labels: Fraction(mass) for labels, mass in STAR.items()}
    pairs = [*itertools.combinations("abcd", 2)]
    assert set(rt.complete(question(4), pairs).values()) == {Fraction(1, 3)}
    # {a,b} and {c,d} have one common mass s, so do {a,c}, {b,d} (t) and {a,d}, {b,c} (u), and s + t + u = 1. The target
    # 1 for {a,b} asks for s = 1/2 each and 0 elsewhere; the missing half is shared by the three.
    masses = rt.complete(question(4), pairs, {("b", "a"): 1})
    assert [masses[pair] for pair in pairs] == [Fraction(n, 6) for n in (4, 1, 1, 1, 1, 4)]
    assert masses_of(rt.explicit_subsets(question(4), masses))["{a, b}"] == Fraction(2, 3)


def test_a_balanced_target_is_its_own_nearest() -> None:
    target = {("a", "b"): 0.5, ("c", "d"): 0.5, ("a", "c"): "1/2", ("b", "d"): "1/2"}
    found = rt.complete(question(4), itertools.chain(target, [("a", "d"), ("b", "c")]), target)
    assert found == {**{labels: Fraction(1, 2) for labels in target}, ("a", "d"): 0, ("b", "c"): 0}


@st.composite
def families(draw: st.DrawFn) -> tuple[int, list[Members], list[Fraction]]:
    p = draw(st.integers(3, 6))
    every = [members for size in range(1, p + 1) for members in itertools.combinations(range(p), size)]
    sets = draw(st.lists(st.sampled_from(every), min_size=1, max_size=14, unique=True))
    target = draw(st.lists(st.integers(0, 12), min_size=len(sets), max_size=len(sets)))
    return p, sets, [Fraction(mass, 12) for mass in target]


@given(families())
@settings(max_examples=150, deadline=None)
def test_nearest_masses_are_balanced_and_optimal_or_there_is_a_proof_of_none(
    family: tuple[int, list[Members], list[Fraction]],
) -> None:
    p, sets, target = family
    held = incidence(sets, p)
    against = obstruction(sets, p)
    feasible = linprog(np.zeros(len(sets)), A_eq=held.T, b_eq=np.ones(p)).status == 0
    assert (against is None) == feasible
    if against is not None:
        assert (held @ against <= 1e-7).all() and against.sum() > 1e-6
        return
    masses = nearest(sets, target, p)
    assert masses is not None and min(masses) >= 0 and coverage(sets, masses, p) == [1] * p
    # Optimal: moving towards any other balanced masses does not bring it nearer to the target.
    slope = np.array([float(mass - wanted) for mass, wanted in zip(masses, target, strict=True)])
    best = linprog(slope, A_eq=held.T, b_eq=np.ones(p))
    assert slope @ np.array(masses, dtype=float) <= best.fun + 1e-9


@given(families(), st.integers(0, 2**32))
@settings(max_examples=100, deadline=None)
def test_rounded_masses_are_corrected_exactly_and_little(
    family: tuple[int, list[Members], list[Fraction]], seed: int
) -> None:
    p, sets, target = family
    assume(obstruction(sets, p) is None)
    exact = nearest(sets, target, p)
    assert exact is not None
    kept = [(members, mass) for members, mass in zip(sets, exact, strict=True) if mass]
    noise = np.random.default_rng(seed).integers(-1000, 1000, len(kept))
    near = [mass + Fraction(int(error), 2**50) for (_, mass), error in zip(kept, noise, strict=True)]
    found = corrected([members for members, _ in kept], near, p)
    assert found is not None and min(found) >= 0
    assert coverage([members for members, _ in kept], found, p) == [1] * p
    assert max(abs(a - b) for a, b in zip(found, near, strict=True)) < 1e-9


def test_elimination_in_fractions() -> None:
    one, two = Fraction(1), Fraction(2)
    assert solve([[one, two], [two, one]], [Fraction(5), Fraction(4)]) == [1, 2]
    assert solve([[Fraction(0), one]], [two]) == [0, 2]
    assert solve([[one, one], [one, one]], [one, two]) is None
