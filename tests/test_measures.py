"""Leakage: golden values, identities, and every closed form against a walk through all reports."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from reticent.channel import Channel, Composition, Subset, Table
from reticent.domain import Categorical
from reticent.errors import ChannelError, ParameterError, ReportError
from reticent.keys import integers_from_keys
from reticent.measures import (
    ldp_delta,
    ldp_epsilon,
    leakage,
    log_lift,
    maximal_leakage,
    min_entropy_leakage,
    mutual_information,
    prediction_leakage,
    size_leakage,
)
from reticent.mechanisms import (
    binary_dummy,
    fixed_size,
    full_response,
    no_response,
    randomized_response,
    uniform_subset,
)

Floats = NDArray[np.float64]
FOUR = [0.5, 0.25, 0.15, 0.1]
RACE = np.array([27816, 3124, 1039, 311, 271]) / 32561
STAR = [[1 / 3, 1 / 3, 0, 0], [1 / 3, 0, 1 / 3, 0], [1 / 3, 0, 0, 1 / 3], [0, 2 / 3, 2 / 3, 2 / 3]]


def domain(p: int) -> Categorical:
    return Categorical("answer", [f"answer {j}" for j in range(p)])


def random_prior(p: int, seed: int = 1) -> Floats:
    return np.random.default_rng(seed).dirichlet(np.full(p, 0.7))


def zipf(p: int) -> Floats:
    weights = 1 / np.arange(1, p + 1)
    return np.asarray(weights / weights.sum())


def near(value: float) -> object:
    return pytest.approx(value, abs=2e-12)


def plain_table(channel: Channel) -> Table:
    """The same channel with every report written out, so that nothing is known in closed form."""
    return Table.from_matrix(channel.domain, channel.matrix())


# --- golden values -------------------------------------------------------------------------------------------


def test_golden_uniform_on_four() -> None:
    channel = uniform_subset(domain(4))
    assert mutual_information(channel, FOUR, "bits") == near(0.905432258096)
    assert size_leakage(channel, FOUR) == near(131 / 300)
    assert prediction_leakage(channel, FOUR) == near(43 / 60)
    assert min_entropy_leakage(channel, FOUR, "bits") == near(0.519374159094)
    assert maximal_leakage(channel, "bits") == near(1)
    assert [ldp_delta(channel, eps) for eps in (0, 1, 20)] == [near(2 / 3)] * 3


def test_golden_adult_race() -> None:
    channel = uniform_subset(domain(5))
    assert mutual_information(channel, RACE, "bits") == near(0.409003596295)
    assert size_leakage(channel, RACE) == near(0.155899797208)
    assert prediction_leakage(channel, RACE) == near(0.922367249163)
    assert min_entropy_leakage(channel, RACE, "bits") == near(0.110643228264)
    assert mutual_information(full_response(domain(5)), RACE, "bits") == near(0.798740651014)
    assert size_leakage(full_response(domain(5)), RACE) == near(0.259832995347)
    white, *_, other = leakage(channel, RACE).per_category
    assert (round(white.bits, 3), round(other.bits, 2)) == (0.134, 2.47)
    assert (round(white.most_bits, 3), round(other.most_bits, 2)) == (0.227, 6.91)


def test_golden_star_design() -> None:
    channel = Table.from_matrix(domain(4), STAR)
    assert mutual_information(channel, FOUR, "bits") == near(0.719141641948)
    assert size_leakage(channel, FOUR) == near(0.385)
    assert prediction_leakage(channel, FOUR) == near(2 / 3)
    assert maximal_leakage(channel, "bits") == near(0.736965594166)
    assert ldp_delta(channel) == near(2 / 3)


def test_golden_size_two_of_three() -> None:
    channel, uniform = fixed_size(domain(3), 2), [1 / 3] * 3
    assert mutual_information(channel, uniform, "bits") == near(0.584962500721)
    assert size_leakage(channel, uniform) == near(1 / 3)
    assert prediction_leakage(channel, uniform) == near(0.5)


def test_golden_law_of_sizes() -> None:
    channel, uniform = Subset(domain(6), ((2, 5), (4, 3), (6, 2))), [1 / 6] * 6
    assert mutual_information(channel, uniform, "bits") == near(0.967970000577)
    assert size_leakage(channel, uniform) == near(0.433333333333)
    assert prediction_leakage(channel, uniform) == near(0.358333333333)
    assert maximal_leakage(channel, "bits") == near(1.104336659815)
    assert ldp_delta(channel) == near(0.52)


def test_golden_forty_categories() -> None:
    channel = uniform_subset(domain(40))
    assert size_leakage(channel, zipf(40)) == near(0.455745381020)
    assert prediction_leakage(channel, zipf(40)) == near(0.324010848676)
    information = leakage(channel, zipf(40))["mutual_information"]
    assert (information.method, information.n_draws) == ("Monte Carlo", 200_000)
    assert information.standard_error is not None and information.standard_error < 2e-4
    assert abs(information.value - 0.93374) < 5 * math.hypot(information.standard_error, 0.0003 / 1.96)


def test_golden_dummies() -> None:
    balanced, uniform = (binary_dummy(domain(2), 0.5, design) for design in ("balanced", "uniform"))
    assert (maximal_leakage(balanced, "bits"), maximal_leakage(uniform, "bits")) == (
        near(0.584962500721),
        near(0.415037499279),
    )
    assert (ldp_epsilon(balanced), ldp_epsilon(uniform)) == (near(math.log(3)), near(math.log(3)))


@pytest.mark.parametrize("p", [1000, 5000])
def test_thousands_of_categories_do_not_overflow(p: int) -> None:
    channel, weights = uniform_subset(domain(p)), zipf(p)
    assert size_leakage(channel, weights) == near(float(1 - channel.stray) * float(1 - weights @ weights))
    halves = weights @ 0.5 ** np.arange(p)  # the limit of the closed form
    assert prediction_leakage(channel, weights) == pytest.approx(halves, rel=1e-12)
    assert maximal_leakage(channel, "bits") == near(1)
    assert 0 < mutual_information(channel, weights, "bits", n_draws=1000) < 1
    assert all(np.isfinite(value) for value in log_lift(channel, weights)[1:])


def test_ten_thousand_categories_of_randomised_response() -> None:
    overview = leakage(randomized_response(domain(10_000), 5.0), zipf(10_000))
    assert {measure.method for measure in overview.measures} == {"closed form"}
    assert 0 < overview["mutual_information"].value < overview["mutual_information"].ceiling


# --- identities ----------------------------------------------------------------------------------------------


@given(st.integers(4, 9), st.integers(0, 10**6))
def test_independent_designs_ask_one_question(p: int, seed: int) -> None:
    channel, weights = uniform_subset(domain(p)), random_prior(p, seed)
    inside = (channel.matrix() > 0) @ weights
    entropies = -(inside * np.log2(inside) + (1 - inside) * np.log2(1 - inside))
    assert mutual_information(channel, weights, "bits") == pytest.approx(entropies.mean(), abs=1e-12)
    assert size_leakage(channel, weights) == pytest.approx(
        float(1 - channel.stray) * (1 - weights @ weights), abs=1e-12
    )


CHANNELS: list[Channel] = [
    uniform_subset(domain(4)),
    uniform_subset(domain(7)),
    fixed_size(domain(5), 2),
    fixed_size(domain(10), 4),
    fixed_size(domain(4), 4),
    Subset(domain(6), ((2, 5), (4, 3), (6, 2))),
    Subset(domain(5), ((2, 1),), keep=3 * 2**62, miss_sizes=((2, 1),)),
    Subset(domain(6), ((1, 2), (3, 5), (6, 1)), keep=2**63, miss_sizes=((2, 3), (3, 4))),
    Subset(domain(4), ((2, 1),), keep=2**61, miss_sizes=((2, 1), (3, 1))),
    randomized_response(domain(6), 1.5),
    Table(domain(4), domain(4).categories, 2**61),
    full_response(domain(5)),
    no_response(domain(5)),
    binary_dummy(domain(2), 0.3, "uniform"),
    binary_dummy(domain(2), 0.8),
    Table.from_matrix(domain(4), STAR),
]
PRIORS = ["random", "uniform", "with a zero", "certain"]


def prior_of(kind: str, p: int) -> Floats:
    if kind == "random":
        return random_prior(p)
    weights = np.ones(p) if kind == "uniform" else np.arange(p, dtype=np.float64)
    if kind == "certain":
        weights = np.eye(p)[0]
    return np.asarray(weights / weights.sum())


@pytest.mark.parametrize("kind", PRIORS)
@pytest.mark.parametrize("channel", CHANNELS, ids=repr)
def test_closed_forms_agree_with_every_report_written_out(channel: Channel, kind: str) -> None:
    weights, table = prior_of(kind, channel.n_categories), plain_table(channel)
    ours, written_out = leakage(channel, weights), leakage(table, weights)
    for one, other in zip(ours.measures, written_out.measures, strict=True):
        assert one.value == pytest.approx(other.value, abs=1e-11), one.name
        assert (one.floor, one.ceiling) == (other.floor, other.ceiling)
    for a, b in zip(ours.per_category, written_out.per_category, strict=True):
        if a.share == 0:
            continue  # what an answer that nobody has would give away depends on how ties at zero are broken
        assert (a.bits, a.size, a.prediction) == pytest.approx((b.bits, b.size, b.prediction), abs=1e-11)
    for epsilon in (0.0, 0.5, 3.0):
        assert ldp_delta(channel, epsilon) == pytest.approx(ldp_delta(table, epsilon), abs=1e-11)


@pytest.mark.parametrize("kind", PRIORS)
@pytest.mark.parametrize("channel", CHANNELS, ids=repr)
def test_individual_values_average_to_the_population(channel: Channel, kind: str) -> None:
    weights = prior_of(kind, channel.n_categories)
    overview = leakage(channel, weights)
    prediction = size = most = 0.0
    for key in integers_from_keys(channel.keys()):
        joint = weights * np.array(channel.exact_row(key), dtype=np.float64)
        if joint.sum() > 0:
            one = overview.report(key)
            prediction += float(joint @ np.array(one.prediction))
            size += float(joint.sum()) * one.size
            most = max(most, one.bits)
            assert one.posterior == pytest.approx(joint / joint.sum(), abs=1e-12)
    assert prediction == pytest.approx(overview["prediction"].value, abs=1e-12)
    assert size == pytest.approx(overview["size"].value, abs=1e-12)
    if (weights > 0).all():
        assert most * math.log(2) == pytest.approx(overview["highest_log_lift"].value, abs=1e-12)


@pytest.mark.parametrize("kind", PRIORS)
def test_the_ends_of_the_scale(kind: str) -> None:
    weights = prior_of(kind, 5)
    for measure in leakage(no_response(domain(5)), weights).measures:
        assert measure.value == pytest.approx(measure.floor, abs=1e-12), measure.name
    for measure in leakage(full_response(domain(5)), weights).measures:
        assert measure.value == pytest.approx(measure.ceiling, abs=1e-12), measure.name


@pytest.mark.parametrize("channel", CHANNELS, ids=repr)
def test_measures_stay_between_floor_and_ceiling(channel: Channel) -> None:
    for measure in leakage(channel, prior_of("random", channel.n_categories)).measures:
        low, high = sorted((measure.floor, measure.ceiling))
        assert low - 1e-12 <= measure.value <= high + 1e-12, measure.name


# --- Monte Carlo ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "channel",
    [
        uniform_subset(domain(12)),
        fixed_size(domain(12), 3),
        Subset(domain(12), ((4, 1), (5, 2)), keep=3 * 2**62, miss_sizes=((5, 1), (6, 1))),
        randomized_response(domain(12), 2.0),
        Composition(Table(domain(12), domain(12).categories, 2**63), Subset(domain(12))),
    ],
    ids=repr,
)
def test_monte_carlo_is_within_five_standard_errors(channel: Channel) -> None:
    weights = random_prior(12)
    exact, drawn = leakage(channel, weights), leakage(channel, weights, n_draws=20_000)
    estimate = drawn["mutual_information"]
    assert estimate.standard_error is not None and (estimate.method, estimate.n_draws) == ("Monte Carlo", 20_000)
    assert abs(estimate.value - exact["mutual_information"].value) < 5 * estimate.standard_error
    assert estimate.standard_error < 0.02
    assert drawn.to_json() == leakage(channel, weights, n_draws=20_000).to_json()


def test_a_composition_too_large_to_list_is_sampled() -> None:
    p = 24
    first = Table(domain(p), domain(p).categories, 2**64 - 1)
    channel, weights = Composition(first, Subset(domain(p))), random_prior(p)
    overview = leakage(channel, weights)
    assert [measure.name for measure in overview.measures] == [
        "mutual_information", "size", "prediction", "min_entropy",
    ]  # fmt: skip
    for name, exact in (("prediction", prediction_leakage(Subset(domain(p)), weights)), ("size", 0.0)):
        error = overview[name].standard_error
        assert error is not None and abs(overview[name].value - exact) <= 5 * error + 1e-9
    with pytest.raises(ChannelError, match="too many"):
        maximal_leakage(channel)


# --- priors and standard errors ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "channel", [uniform_subset(domain(4)), Table.from_matrix(domain(4), STAR), full_response(domain(4))], ids=repr
)
def test_standard_errors_are_the_delta_method(channel: Channel) -> None:
    weights = np.array(FOUR)
    covariance = (np.diag(weights) - np.outer(weights, weights)) / 400
    overview = leakage(channel, SimpleNamespace(probabilities=weights, covariance=covariance))
    step = 1e-6
    functions: dict[str, Callable[[Floats], float]] = {
        "mutual_information": lambda w: mutual_information(channel, w, "bits"),
        "size": lambda w: size_leakage(channel, w),
        "prediction": lambda w: prediction_leakage(channel, w),
        "min_entropy": lambda w: min_entropy_leakage(channel, w, "bits"),
    }
    for name, function in functions.items():
        directions = np.eye(4) - 1 / 4
        slopes = np.array(
            [(function(weights + step * d) - function(weights - step * d)) / (2 * step) for d in directions]
        )
        assert overview[name].standard_error == pytest.approx(math.sqrt(slopes @ covariance @ slopes), abs=1e-8), name
    assert overview["maximal"].standard_error is None


def test_a_prior_may_be_a_mapping_or_shares_outside_the_simplex() -> None:
    channel = uniform_subset(domain(4))
    by_label = dict(zip(channel.domain.categories, FOUR, strict=True))
    assert mutual_information(channel, by_label) == mutual_information(channel, FOUR)
    shares = SimpleNamespace(probabilities=np.array([0.7, 0.4, 0.2, -0.3]), covariance=np.eye(4) / 1000)
    assert leakage(channel, shares).prior == pytest.approx((0.6, 0.3, 0.1, 0.0))


@pytest.mark.parametrize(
    "prior",
    [[0.5, 0.5], [0.5, 0.25, 0.15, 0.2], [1.1, -0.1, 0, 0], [np.nan, 0.5, 0.25, 0.25], "half", {"answer 0": 1.0}, None],
)
def test_a_prior_that_is_not_a_distribution_is_refused(prior: object) -> None:
    with pytest.raises(ParameterError):
        leakage(uniform_subset(domain(4)), prior)


def test_refusals() -> None:
    channel = uniform_subset(domain(4))
    with pytest.raises(ParameterError, match="unit"):
        mutual_information(channel, FOUR, "bytes")
    with pytest.raises(ParameterError, match="epsilon"):
        ldp_delta(channel, -1)
    with pytest.raises(ParameterError, match="n_draws"):
        mutual_information(channel, FOUR, n_draws=1)
    for impossible in (0b0001, 0b1111, 16, 2**70, -1):
        with pytest.raises(ReportError):
            leakage(channel, FOUR).report(impossible)
    with pytest.raises(ReportError, match="probability 0"):
        leakage(channel, [0.5, 0.5, 0, 0]).report(0b1100)


# --- as a document -------------------------------------------------------------------------------------------


def test_an_overview_as_text_html_and_json() -> None:
    channel = uniform_subset(Categorical("pet", ["cat", "dog", "<fish>", "none"]))
    overview = leakage(channel, FOUR)
    document = json.loads(json.dumps(overview.to_json(), allow_nan=False))
    values = {name: measure["value"] for name, measure in document["measures"].items()}
    assert (values["epsilon"], values["lowest_log_lift"]) == ("infinity", "-infinity")
    assert "0.905 of the 1.74 bits" in overview.summary() and "71.7%" in overview.summary()
    assert "&lt;fish&gt;" in overview._repr_html_() and "<fish>" not in overview._repr_html_()
    with pytest.raises(KeyError, match="mutual_information"):
        overview["entropy"]


def test_the_table_of_categories_leaves_out_what_says_nothing() -> None:
    pets = Categorical("pet", [f"pet {i}" for i in range(60)])
    alike = leakage(uniform_subset(pets), [1 / 60] * 60).summary()
    assert "all 60 alike" in alike and "pet 3" not in alike
    some = leakage(uniform_subset(pets), [0.0] * 30 + [1 / 60] * 20 + [1 / 15] * 10).summary()
    assert "30 answers of share 0 left out." in some and "infinity" not in some.split("\nanswer")[1]
    shown = re.findall(r"^pet (\d+)", some, re.MULTILINE)
    assert shown == [str(i) for i in range(30, 50)]  # ties, so in the order of the domain
    assert "The 20 answers that give away most, of 30; all are in the JSON (--json)." in some and "to_json" not in some
    many = Categorical("town", [str(i) for i in range(2000)])
    said = leakage(uniform_subset(many), [1 / 2000] * 2000).summary()
    assert "without any report 0.05%" in said and "all 2,000 alike" in said and "0.00050" in said
