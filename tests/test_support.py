"""Support counts: the same numbers as from patterns, in p integers, for any number of possible reports."""

from __future__ import annotations

import json
from itertools import combinations, product
from typing import Any, Literal, get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reticent as rt
from reticent.choose import Words
from reticent.errors import EstimateError, TallyError
from reticent.estimators.support_scores import score_law, second_at_equal_shares
from reticent.intervals import wald, wald_of_shares
from reticent.precision import Form, distinct_rates, linear_scores
from reticent.results import Method
from reticent.tallies import SupportCounts, SupportTally, default_kind, tally_columns
from tests.mechanism_cases import CASES, MISSING_HALF, other, question

FORMS: tuple[Form, ...] = get_args(Form)
SYMMETRIC = [name for name, channel in CASES.items() if not isinstance(channel, rt.Product) and distinct_rates(channel)]
FIVE, THREE = rt.uniform_subset(question(5)), rt.fixed_size(other(3), 2)
REPLY = rt.randomized_response(rt.Categorical("reply", ["yes", "no"]), 1.0)
MANY = rt.uniform_subset(rt.Categorical("many", [str(i) for i in range(2000)]))

people = st.lists(
    st.tuples(st.sampled_from([*"abcde", None]), st.sampled_from([*"012", None])), max_size=40
)  # fmt: skip


def columns_of(rows: list[tuple[str | None, str | None]], seed: int) -> dict[str, rt.Reports]:
    letters, digits = ([row[i] for row in rows] for i in (0, 1))
    return {
        "letter": FIVE.draw_many(letters, missing="skip", seed=seed),
        "digit": THREE.draw_many(digits, missing="skip", seed=seed + 1),
    }


def both(rows: list[tuple[str | None, str | None]], seed: int) -> SupportTally:
    return tally_columns(columns_of(rows, seed), sets=[("letter", "digit"), ("letter", "letter")])


def some_people(n: int, seed: int, missing: float = 0.1) -> list[tuple[str | None, str | None]]:
    rng = np.random.default_rng(seed)
    letters = rng.choice(list("abcde"), n, p=[0.4, 0.3, 0.15, 0.1, 0.05])
    digits = np.where(rng.random(n) < 0.5, rng.choice(list("012"), n), np.where(letters == "a", "0", "2"))
    gone = rng.random((n, 2)) < missing
    return [
        (None if absent[0] else str(a), None if absent[1] else str(b))
        for a, b, absent in zip(letters, digits, gone, strict=True)
    ]


# --- counting and adding ----------------------------------------------------------------------------------------


@given(people, people, people)
def test_monoid(one: list[tuple[str, str]], two: list[tuple[str, str]], three: list[tuple[str, str]]) -> None:
    a, b, c = (both(part, seed) for seed, part in enumerate((one, two, three)))
    assert a + b == b + a
    assert (a + b) + c == a + (b + c)
    assert a + SupportTally.empty(a.channel, a.sets) == a
    assert (a + b).n == a.n + b.n and (a + b).missing == a.missing + b.missing
    assert a.n + a.missing == len(one)


def test_seven_parts_in_any_order_give_the_tally_of_all() -> None:
    reports = MANY.draw_many(np.random.default_rng(5).choice(MANY.domain.categories, 700), seed=2)
    parts = np.array_split(np.random.default_rng(6).permutation(700), 7)
    merged = SupportTally.empty(MANY)
    for part in parts:
        merged = merged + rt.tally(rt.Reports(MANY, reports.keys[part]))
    whole = rt.tally(reports)
    assert isinstance(whole, SupportTally) and merged == whole and whole.n == 700


def test_support_is_counted_person_by_person() -> None:
    rows = some_people(300, seed=1)
    columns = columns_of(rows, seed=3)
    tally = both(rows, seed=3)
    held = {name: reports.channel.support(reports.keys) for name, reports in columns.items()}
    given_by = {name: np.ones(300, bool) if one.valid is None else one.valid for name, one in columns.items()}
    for name in columns:
        n, counts = tally.support(name)
        assert n == given_by[name].sum()
        assert counts.tolist() == [int((held[name][:, j] & given_by[name]).sum()) for j in range(held[name].shape[1])]
    together = given_by["letter"] & given_by["digit"]
    n, counts = tally.support("digit", "letter")  # any order: axes stay in that of the columns
    assert n == together.sum() and counts.shape == (5, 3)
    for j, k in product(range(5), range(3)):
        assert counts[j, k] == (held["letter"][:, j] & held["digit"][:, k] & together).sum()
    pairs = tally.support("letter", "letter")[1]
    for j, k in product(range(5), repeat=2):
        assert pairs[j, k] == (held["letter"][:, j] & held["letter"][:, k] & given_by["letter"]).sum()
    assert tally.missing == (~given_by["letter"] & ~given_by["digit"]).sum()


def test_one_column_of_several_is_that_column_alone() -> None:
    rows = some_people(400, seed=2)
    alone = rt.tally(columns_of(rows, seed=5)["letter"], kind="support", sets=[("letter", "letter")])
    assert both(rows, seed=5).only("letter").support("letter")[1].tolist() == alone.support("letter")[1].tolist()
    picked = both(rows, seed=5).only("letter")
    assert picked == alone and picked.missing == alone.missing


def test_patterns_or_support_is_a_property_of_the_channel() -> None:
    assert default_kind(FIVE) == "patterns" and default_kind(MANY) == "support"
    assert default_kind(rt.no_response(question(4))) == "patterns"
    nobody = MANY.draw_many([], seed=1)
    assert rt.tally(nobody) == SupportTally.empty(MANY)
    assert isinstance(rt.tally(nobody, kind="patterns"), rt.PatternTally)


# --- the scores and their law -----------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", SYMMETRIC)
def test_moments_of_the_scores_are_those_of_all_reports(name: str, form: Form) -> None:
    channel = CASES[name]
    p, matrix = channel.n_categories, channel.matrix()
    scores, law = linear_scores(channel, channel.keys(), form), score_law(channel, form)
    support = channel.support(channel.keys()).astype(float)
    np.testing.assert_allclose(law.mean(support.T).T, scores, atol=1e-10)
    for shares in (np.full(p, 1 / p), np.random.default_rng(p).dirichlet(np.ones(p)), np.eye(p)[0]):
        second = scores.T @ ((matrix @ shares)[:, None] * scores)
        np.testing.assert_allclose(law.second(shares), second, atol=1e-10)
        at_zero, slope = law.squares()
        np.testing.assert_allclose(at_zero + slope * shares, np.diag(second), atol=1e-10)
    assert second_at_equal_shares(channel, form) == pytest.approx(
        float(((matrix.sum(axis=1) / p) @ scores**2).sum()), abs=1e-10
    )


def counts_expected(channel: rt.Channel, shares: np.ndarray, n: int) -> np.ndarray:
    """n times the chance of each category's support, which must come out whole."""
    keep, stray = (float(rate) for rate in channel.support_rates or ())
    expected = n * (stray + (keep - stray) * shares)
    np.testing.assert_allclose(expected, expected.round(), atol=1e-9)
    return expected.round().astype(np.int64)


@pytest.mark.parametrize("form", FORMS)
def test_covariance_from_first_order_counts_is_the_law_at_the_estimate(form: Form) -> None:
    shares, n = np.array([0.4, 0.3, 0.1, 0.1, 0.1]), 1000
    counted = SupportCounts(n, {("letter",): counts_expected(FIVE, shares, n)})
    found = rt.moments(SupportTally(FIVE, (("letter",),), {("letter",): counted}), form=form)
    np.testing.assert_allclose(found.unconstrained, shares, atol=1e-12)
    assert found.covariance is not None
    np.testing.assert_allclose(
        n * found.covariance, rt.asymptotic_covariance(FIVE, shares, "moments", form), atol=1e-10
    )


@pytest.mark.parametrize("form", FORMS)
def test_covariance_of_a_table_from_counts_of_two_columns(form: Form) -> None:
    four = rt.uniform_subset(question(4))
    channel = rt.Product([four, THREE])
    table = np.array([[0.2, 0.1, 0.1], [0.1, 0.1, 0.0], [0.1, 0.1, 0.1], [0.0, 0.0, 0.1]])
    chances = [1 / 3 + 2 / 3 * np.eye(4), 0.5 + 0.5 * np.eye(3)]
    n = 6000
    expected = {
        ("letter",): n * chances[0] @ table.sum(axis=1),
        ("digit",): n * chances[1] @ table.sum(axis=0),
        ("letter", "digit"): n * chances[0] @ table @ chances[1],
    }
    arrays = {one: counts.round().astype(np.int64) for one, counts in expected.items()}
    for one, counts in expected.items():
        np.testing.assert_allclose(counts, arrays[one], atol=1e-9)
    columns = ("letter", "digit")
    tally = SupportTally(channel, (("letter",), ("digit",), columns), {columns: SupportCounts(n, arrays)})
    found = rt.moments(tally, form=form)
    np.testing.assert_allclose(found.unconstrained, table.ravel(), atol=1e-12)
    assert found.covariance is not None
    exact = rt.asymptotic_covariance(channel, table.ravel(), "moments", form)
    np.testing.assert_allclose(n * found.covariance, exact, atol=1e-9)


# --- the same estimates as from patterns --------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", SYMMETRIC)
def test_the_same_estimates_and_intervals_as_from_patterns(name: str, form: Form) -> None:
    channel = CASES[name]
    labels = channel.domain.categories
    reports = channel.draw_many(np.random.default_rng(1).choice(labels, 900), seed=name)
    pair = [(channel.domain.name, channel.domain.name)]
    patterns = rt.moments(rt.tally(reports), form=form)
    pairs = rt.moments(rt.tally(reports, kind="support", sets=pair), form=form)
    first = rt.moments(rt.tally(reports, kind="support"), form=form)
    assert patterns.covariance is not None and pairs.covariance is not None
    np.testing.assert_allclose(pairs.covariance, patterns.covariance, atol=1e-10)
    for one in (first, pairs):
        np.testing.assert_allclose(one.unconstrained, patterns.unconstrained, atol=1e-10)
        np.testing.assert_allclose(one.probabilities, patterns.probabilities, atol=1e-10)
    if form == "affine":  # a binomial count for each category: first-order counts hold its sample variance
        np.testing.assert_allclose(first.standard_errors, patterns.standard_errors, atol=1e-10)
    methods: tuple[Method, ...] = ("wald", "clopper-pearson")
    for method in methods:
        ends, expected = (one.confidence_interval(method=method) for one in (pairs, patterns))
        np.testing.assert_allclose([ends.low, ends.high], [expected.low, expected.high], atol=1e-10)


@pytest.mark.parametrize("form", FORMS)
def test_a_table_of_columns_is_that_of_joint_reports(form: Form) -> None:
    rows = some_people(800, seed=4)
    columns = {**columns_of(rows, seed=8), "reply": REPLY.draw_many(["yes", "no"] * 400, seed=1)}
    names = ("letter", "digit", "reply")
    tally = tally_columns(columns, sets=[names])
    for wanted in [names, *combinations(names, 2)]:
        joint = rt.moments(rt.tally(rt.joint_reports({name: columns[name] for name in wanted})), form=form)
        found = rt.moments(tally, columns=wanted, form=form)
        assert found.domain == joint.domain and found.n == joint.n
        np.testing.assert_allclose(found.unconstrained, joint.unconstrained, atol=1e-10)
        if form == "affine":
            continue
        assert found.covariance is not None and joint.covariance is not None
        ratio = np.trace(found.covariance) / np.trace(joint.covariance)
        assert ratio == pytest.approx(1, abs=0.1)  # one is the law at the estimate, the other the sample's


def test_margins_of_a_table_and_their_covariance() -> None:
    rows = some_people(800, seed=4, missing=0)
    tally = tally_columns(columns_of(rows, seed=8), sets=[("letter", "digit")])
    table, alone = rt.moments(tally), rt.moments(tally, columns=("letter",))
    margin = table.margin("letter")
    assert margin.domain == FIVE.domain and margin.margin_of == "letter × digit"
    np.testing.assert_allclose(margin.unconstrained, alone.unconstrained, atol=1e-10)
    # Cells are projected on the simplex before they are added up, so only the sum is the same here.
    assert margin.probabilities.sum() == pytest.approx(1)
    assert margin.covariance is not None and alone.covariance is not None
    np.testing.assert_allclose(margin.covariance, alone.covariance, atol=1e-4)


# --- several tallies ------------------------------------------------------------------------------------------------


def test_tallies_of_both_kinds_are_averaged_by_their_precision_at_equal_shares() -> None:
    wave = [rt.uniform_subset(question(5)), rt.fixed_size(question(5), 2), MISSING_HALF]
    kinds: list[Literal["patterns", "support"]] = ["patterns", "support", "support"]
    truth, numbers = ["a"] * 5 + ["b"] * 3 + ["c"], (40, 100, 70)
    tallies = [
        rt.tally(channel.draw_many(truth * k, seed=k), kind=kind)
        for channel, kind, k in zip(wave, kinds, numbers, strict=True)
    ]
    together = rt.moments(*tallies)
    traces = [np.trace(rt.asymptotic_covariance(one, np.full(5, 0.2), "moments")) for one in wave]
    share = np.array([tally.n / trace for tally, trace in zip(tallies, traces, strict=True)])
    share /= share.sum()
    own = [rt.moments(tally) for tally in tallies]
    expected = np.sum([a * one.unconstrained for a, one in zip(share, own, strict=True)], axis=0)
    np.testing.assert_allclose(together.unconstrained, expected, atol=1e-12)
    covariance = np.sum([a**2 * one.covariance for a, one in zip(share, own, strict=True)], axis=0)
    np.testing.assert_allclose(together.covariance, covariance, atol=1e-12)
    assert together.n == 9 * sum(numbers)
    np.testing.assert_allclose(together.standard_errors, np.sqrt(np.diag(covariance)), atol=1e-12)


def test_support_counts_have_no_likelihood() -> None:
    tally = rt.tally(FIVE.draw_many(list("abcde"), seed=1), kind="support")
    for estimator in (rt.maximum_likelihood, rt.one_step):
        with pytest.raises(EstimateError, match='kind="patterns"'):
            estimator(tally)
    with pytest.raises(EstimateError, match='kind="patterns"'):
        rt.moments(tally).confidence_interval(method="score")


# --- results and files --------------------------------------------------------------------------------------------


def test_results_speak_json_and_frames() -> None:
    shares = rt.moments(rt.tally(FIVE.draw_many(list("aabcd") * 40, seed=1), kind="support"))
    document = json.loads(json.dumps(shares.to_json()))
    assert document["estimator"] == "moments" and document["n"] == 200 and document["interval"] == "wald"
    assert [row["category"] for row in document["shares"]] == list("abcde")
    frame = shares.to_frame()
    assert frame["unconstrained"].sum() == pytest.approx(1) and list(frame.index) == list("abcde")
    assert "support counts of 200 reports (letter)" in repr(shares.tallies[0])


def test_shares_by_themselves_are_the_centres_of_their_intervals() -> None:
    """2,000 categories: the projection moves every large share to the bottom of its interval, and some were below 0."""
    generator = np.random.default_rng(1)
    truth = 1 / np.arange(1, 2001)
    codes = generator.choice(2000, 2000, p=truth / truth.sum())
    shares = rt.moments(rt.tally(MANY.draw_codes(codes, Words(1))))
    ends, free = shares.confidence_interval(), shares.unconstrained
    assert free is not None and (free < 0).sum() > 500
    assert (ends.low >= 0).all() and (ends.high <= 1).all() and not np.signbit(ends.low).any()
    assert ((ends.low <= shares.by_itself) & (shares.by_itself <= ends.high)).all()
    inside = (ends.low > 0) & (ends.high < 1)
    assert inside.sum() > 20
    np.testing.assert_allclose(shares.by_itself[inside], ((ends.low + ends.high) / 2)[inside], atol=1e-12)
    np.testing.assert_array_equal(shares.by_itself, np.clip(free, 0, 1))
    foot = f"Each share by itself; together they sum to {shares.by_itself.sum():.2f}."
    assert foot in shares.summary() and foot in shares._repr_html_() and "-0" not in shares.summary()
    rows = shares.to_json()["shares"]
    assert sum(row["share"] for row in rows) == pytest.approx(1) and rows[0]["unconstrained"] == free[0]
    assert (rows[0]["low"], rows[0]["high"]) == (ends.low[0], ends.high[0])
    drawn = " ".join(text.get_text() for text in shares.plot().axes[0].texts)
    assert "and 1,980 more" in drawn and "together" not in drawn and "-" not in drawn


@given(st.floats(-0.5, 1.5), st.floats(0, 0.5), st.floats(0, 1))
def test_an_interval_put_between_0_and_1_misses_no_more_than_plain_wald(
    centre: float, error: float, truth: float
) -> None:
    plain, kept = (kind(np.array([centre]), np.array([error]), 0.95) for kind in (wald, wald_of_shares))
    assert not plain.low[0] <= truth <= plain.high[0] or kept.low[0] <= truth <= kept.high[0]
    assert 0 <= kept.low[0] <= np.clip(centre, 0, 1) <= kept.high[0] <= 1


def test_contrasts_and_certain_shares_stay_as_they_are() -> None:
    shares = rt.moments(rt.PatternTally.from_counts(CASES["uniform_subset(5)"], {0b00011: 30, 0b00101: 20, 0b11000: 2}))
    free = shares.unconstrained
    assert free is not None and free.min() < 0
    last = shares.combine([0, 0, 0, 0, 1])
    assert last.value == pytest.approx(free[4]) and last.confidence_interval().low[0] < 0
    certain = rt.maximum_likelihood(rt.tally(FIVE.draw_many(list("aabcd") * 40, seed=1), kind="patterns"))
    np.testing.assert_array_equal(certain.by_itself, certain.probabilities)
    assert "by itself" not in certain.summary()


def test_what_a_support_tally_documents_is_checked() -> None:
    def made(counts: list[Any], n: Any = 10, missing: int = 0) -> SupportTally:
        block = SupportCounts(n, {("letter",): np.asarray(counts)})
        return SupportTally(FIVE, (("letter",),), {("letter",): block}, missing)

    assert made([1, 2, 3, 4, 10]).n == 10
    for counts in ([1, 2, 3, 4, 11], [-1, 2, 3, 4, 5]):
        with pytest.raises(TallyError, match="between 0 and 10"):
            made(counts)
    for counts in ([1.5, 2, 3, 4, 5], [1, 2, 3, 4]):
        with pytest.raises(TallyError, match="int64 of shape"):
            made(counts)
    for n in (-1, 2.5, True):
        with pytest.raises(TallyError, match="whole number"):
            made([0, 0, 0, 0, 0], n)
    with pytest.raises(TallyError, match="missing"):
        made([1, 2, 3, 4, 5], missing=-1)
    half = made([0, 0, 0, 0, 0], 2**61)
    with pytest.raises(TallyError, match=r"2\^62"):
        half + half
    with pytest.raises(TallyError, match="must count"):
        SupportTally(FIVE, (("letter",),), {("letter",): SupportCounts(1, {})})
    with pytest.raises(TallyError, match="named by the columns"):
        SupportTally(FIVE, (("letter",),), {("digit",): SupportCounts(1, {})})
    with pytest.raises(TallyError, match="not complete or not in order"):
        SupportTally(rt.Product([FIVE, THREE]), (("letter", "digit"),), {})


def test_tallies_that_do_not_add() -> None:
    reports = FIVE.draw_many(list("abcde"), seed=1)
    first, pairs = rt.tally(reports, kind="support"), rt.tally(reports, sets=[("letter", "letter")])
    with pytest.raises(TallyError, match="same sets"):
        first + pairs
    with pytest.raises(TallyError, match="count different things"):
        first + rt.tally(reports)
    with pytest.raises(TallyError, match="different channels"):
        first + SupportTally.empty(rt.uniform_subset(question(6)))


def test_refusals_of_counting() -> None:
    dummy = rt.binary_dummy(question(2)).draw_many(["a", "b"], seed=1)
    for channel in (dummy, rt.no_response(question(4)).draw_many(["a"], seed=1)):
        with pytest.raises(TallyError, match="no pair of different support rates"):
            rt.tally(channel, kind="support")
    reports = FIVE.draw_many(list("abcde"), seed=1)
    with pytest.raises(TallyError, match="not a set of columns"):
        rt.tally(reports, sets=[("colour",)])
    with pytest.raises(TallyError, match="repeats a column"):
        rt.tally(reports, sets=[("letter",) * 3])
    with pytest.raises(TallyError, match="sets belong to"):
        rt.tally(reports, kind="patterns", sets=[("letter",)])
    with pytest.raises(TallyError, match="leave out kind and sets"):
        rt.tally(reports, kind="support", weights=[1] * 5)
    with pytest.raises(TallyError, match="2\\^27 cells"):
        rt.tally(rt.uniform_subset(rt.Categorical("huge", [str(i) for i in range(12_000)])).draw_many([], seed=1),
                 sets=[("huge", "huge")])  # fmt: skip


def test_refusals_of_columns() -> None:
    columns = columns_of(some_people(20, seed=1), seed=1)
    with pytest.raises(TallyError, match="at least one column"):
        tally_columns({})
    with pytest.raises(TallyError, match="use that name"):
        tally_columns({"other": columns["letter"]})
    with pytest.raises(TallyError, match="differ in length"):
        tally_columns({**columns, "reply": REPLY.draw_many(["yes"], seed=1)})
    apart = tally_columns(columns)
    with pytest.raises(TallyError, match=r"letter × digit was not counted"):
        apart.support("letter", "digit")
    with pytest.raises(EstimateError, match="not counted together"):
        rt.moments(apart)
    with pytest.raises(EstimateError, match="not counted together"):
        rt.moments(apart, columns=("letter", "letter"))
    with pytest.raises(EstimateError, match="columns of support tallies"):
        rt.moments(rt.tally(columns["letter"]), columns=("letter",))
    assert rt.moments(apart, columns=["digit"]).domain.name == "digit"
