"""The laws every channel keeps: sampler equals likelihood exactly, columns sum to one, documents round-trip."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chisquare

import reticent as rt
from reticent.choose import Source, enumerate_law
from reticent.errors import AnswerError, ChannelError, DomainError, ParameterError, ReportError, TallyError
from reticent.keys import integers_from_keys, keys_from_integers
from tests.mechanism_cases import CASES, question

each_channel = pytest.mark.parametrize("channel", CASES.values(), ids=CASES.keys())


@each_channel
def test_the_sampler_has_exactly_the_stated_law(channel: rt.Channel) -> None:
    keys = integers_from_keys(channel.keys())
    assert len(keys) == channel.n_reports
    for x in range(channel.n_categories):

        def draw(source: Source, x: int = x) -> int:
            public = channel.draw_public(source)
            return channel.key(public, channel.draw_cell(x, public, source))

        law = enumerate_law(draw)
        assert sum(law.values()) == 1
        assert law == {key: channel.exact_row(key)[x] for key in keys if channel.exact_row(key)[x]}


@each_channel
def test_the_question_never_depends_on_the_answer(channel: rt.Channel) -> None:
    law = enumerate_law(channel.draw_public)
    assert sum(law.values()) == 1
    for public in law:
        assert channel.n_cells(public) >= 1


@each_channel
def test_floats_agree_with_fractions(channel: rt.Channel) -> None:
    keys = channel.keys()
    exact = np.array([[float(p) for p in channel.exact_row(key)] for key in integers_from_keys(keys)])
    np.testing.assert_allclose(channel.matrix(), exact, rtol=1e-13)
    np.testing.assert_allclose(channel.matrix().sum(axis=0), 1, rtol=1e-13)
    dense = channel.rows(keys).dense()
    # Rows may drop a positive factor; the ratios within a row may not change.
    np.testing.assert_allclose(
        dense / dense.max(axis=1, keepdims=True), exact / exact.max(axis=1, keepdims=True), atol=1e-13
    )


@each_channel
def test_epsilon_is_the_exact_ratio_rounded_up(channel: rt.Channel) -> None:
    rows = [channel.exact_row(key) for key in integers_from_keys(channel.keys())]
    if any(min(row) == 0 for row in rows):
        assert channel.epsilon == float("inf")
        return
    ratio = max(max(row) / min(row) for row in rows)
    assert channel.likelihood_ratio == ratio
    assert (
        np.nextafter(channel.epsilon, 0) <= np.log(float(ratio)) + 1e-15
        and channel.epsilon >= np.log(float(ratio)) - 1e-15
    )


@each_channel
def test_support_rates_are_what_the_law_says(channel: rt.Channel) -> None:
    if channel.support_rates is None:
        with pytest.raises(ChannelError):
            channel.support(channel.keys())
        return
    keep, stray = channel.support_rates
    support = channel.support(channel.keys())
    rows = [channel.exact_row(key) for key in integers_from_keys(channel.keys())]
    for x in range(channel.n_categories):
        for y in range(channel.n_categories):
            rate = sum((row[x] for row, supported in zip(rows, support, strict=True) if supported[y]), Fraction(0))
            assert rate == (keep if x == y else stray)


@each_channel
def test_documents_round_trip_and_name_the_channel(channel: rt.Channel) -> None:
    text = json.dumps(channel.to_json())
    again = rt.channel_from_json(json.loads(text))
    assert again == channel and again.digest == channel.digest and len(channel.digest) == 64
    assert repr(again) == repr(channel)


@each_channel
def test_many_draws_follow_the_law(channel: rt.Channel) -> None:
    # False alarms: 5e-8 for each of about 280 tests here and of ranges, 1.4e-5 in all; the seed is fixed.
    keys = integers_from_keys(channel.keys())
    for x, label in enumerate(channel.domain.categories):
        counts = rt.tally(channel.draw_many([label] * 20_000, seed=f"law {x}")).to_dict()
        expected = np.array([float(channel.exact_row(key)[x]) for key in keys]) * 20_000
        observed = np.array([counts.get(key, 0) for key in keys])
        assert observed[expected == 0].sum() == 0
        positive = expected > 0
        if positive.sum() > 1:
            assert chisquare(observed[positive], expected[positive]).pvalue > 5e-8
        else:
            assert observed[positive] == 20_000


def test_words_of_the_operating_system_differ_between_calls() -> None:
    channel = rt.uniform_subset(question(16))
    first, second = (channel.draw_many(["a"] * 1000).keys for _ in range(2))
    assert not np.array_equal(first, second)
    assert channel.draw("a") in set(integers_from_keys(channel.keys()))


def test_a_seed_repeats_and_marks_the_reports() -> None:
    channel = rt.uniform_subset(question(5))
    first, second = (channel.draw_many(["a", "b"] * 50, seed=7) for _ in range(2))
    assert np.array_equal(first.keys, second.keys) and first.simulated
    assert not channel.draw_many(["a"]).simulated


def test_answers_that_do_not_belong_are_refused_without_being_shown() -> None:
    channel = rt.uniform_subset(question(5))
    with pytest.raises(AnswerError, match="1 of 3 answers") as refused:
        channel.draw_many(["a", "my secret", "b"])
    assert "secret" not in str(refused.value) + str(refused.value.details)
    with pytest.raises(AnswerError, match="are missing"):
        channel.draw_many(["a", None, float("nan")])
    reports = channel.draw_many(["a", None, float("nan"), "e"], missing="skip", seed=1)
    assert len(reports) == 4 and reports.missing == 2 and rt.tally(reports).missing == 2
    assert reports.to_list()[1] is None


def test_columns_of_every_library_are_read_alike() -> None:
    pandas, polars, pyarrow = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    answers = ["a", "c", None, "b"]
    columns = [answers, np.array(answers, dtype=object), pandas.Series(answers), pandas.Series(answers, dtype="category"),
               polars.Series(answers), pyarrow.array(answers)]  # fmt: skip
    for column in columns:
        assert question(4).encode(column).tolist() == [0, 2, -1, 1]


def test_reports_pass_through_the_arrow_interface() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    channel = rt.uniform_subset(question(5))
    reports = channel.draw_many(["a", None, "b"], missing="skip", seed=1)
    column = pyarrow.array(reports)
    assert column.null_count == 1 and column.to_pylist()[0] == int(reports.keys[0])
    wide = rt.uniform_subset(rt.Categorical("many", [str(i) for i in range(100)]))
    column = pyarrow.array(wide.draw_many(["3", None, "99"], missing="skip", seed=1))
    assert column.type.byte_width == 13 and column.null_count == 1 and column.to_pylist()[0][0] & 8


@pytest.mark.parametrize("n_categories", [64, 65, 100, 1000, 3000])
def test_wide_subsets_hold_the_answer_and_each_other_category_half_the_time(n_categories: int) -> None:
    domain = rt.Categorical("wide", [str(i) for i in range(n_categories)])
    channel = rt.uniform_subset(domain)
    reports = channel.draw_many(["7"] * 2000, seed=3)
    support = channel.support(reports.keys)
    assert support[:, 7].all()
    others = np.delete(support.mean(axis=0), 7)
    # Binomial(2000, 1/2): 6 standard errors; about 2e-9 per category, 1e-5 over all sizes.
    assert np.abs(others - 0.5).max() < 6 * np.sqrt(0.25 / 2000)
    key = channel.draw("7")
    assert key >> 7 & 1 and channel.possible(keys_from_integers([key], n_categories)).all()


def test_stray_of_large_designs_neither_overflows_nor_underflows() -> None:
    stray = rt.uniform_subset(question(1000 // 40)).stray
    assert Fraction(1, 3) < stray < Fraction(1, 2)
    wide = rt.uniform_subset(rt.Categorical("wide", [str(i) for i in range(1000)]))
    assert float(wide.stray - Fraction(1, 2)) == pytest.approx(-9.3046e-299, rel=1e-4)


def test_impossible_reports_are_refused_and_counted() -> None:
    channel = rt.uniform_subset(question(5))
    with pytest.raises(ReportError, match="3 of 4 reports"):
        rt.Reports(channel, np.array([0b00011, 0b00001, 0, 0b100011], dtype=np.uint8))


def test_refusals_say_what_to_do() -> None:
    with pytest.raises(DomainError, match="nothing to protect"):
        rt.Categorical("one", ["only"])
    with pytest.raises(DomainError, match="more than once"):
        rt.Categorical("twice", ["a", "a"])
    with pytest.raises(DomainError, match="binary_dummy"):
        rt.uniform_subset(question(2))
    with pytest.raises(DomainError, match="fixed_size"):
        rt.uniform_subset(question(3))
    for size in (1, 6, 2.0, True):
        with pytest.raises(ParameterError, match="2 to 5"):
            rt.fixed_size(question(5), size)
    for rho in (0, -0.1, 1.1, float("nan"), True):
        with pytest.raises(ParameterError, match="rho"):
            rt.binary_dummy(question(2), rho)
    for document in ({"kind": ["x"]}, {"kind": "table", "domain": 5}, None):
        with pytest.raises(ChannelError):
            rt.channel_from_json(document)
    for matrix in ("x", [[1, 0], [0]]):
        with pytest.raises(ChannelError, match="one length"):
            rt.Table.from_matrix(question(2), matrix)
    with pytest.raises(TallyError, match="draw_many"):
        rt.tally([1])
    for epsilon in (10**400, 0, -1, 31, float("inf"), float("nan"), True, "1", 1e-25):
        with pytest.raises(ParameterError, match="epsilon"):
            rt.randomized_response(question(4), epsilon)
    for bound in (10**400, -(10**5000)):
        with pytest.raises(ParameterError, match="larger than any float"):
            rt.optimal_sizes(question(5), bound)
    for matrix, words in (
        ([[0.5, 0.5], [0.5, 0.4]], "sums to 0.9"),
        ([[1.5, 0.5], [-0.5, 0.5]], "negative"),
        ([[np.nan, 0.5], [0.5, 0.5]], "missing entry"),
        ([[1.0, 1.0], [0.0, 0.0]], "none at all"),
        ([[1.0, 1.0, 1.0]], "2 columns"),
    ):
        with pytest.raises(ChannelError, match=words):
            rt.Table.from_matrix(question(2), matrix)
    for sizes in (((0, 1),), ((7, 1),), ((2, -1),), (), ((2, 1), (2, 1))):
        with pytest.raises(ChannelError):
            rt.Subset(question(5), sizes)
    with pytest.raises(ChannelError, match="answer itself"):
        rt.Subset(question(5), ((1, 1), (3, 1)))
    assert rt.Subset(question(5), ((1, 1), (3, 1)), allow_singletons=True).n_reports == 15
    with pytest.warns(UserWarning, match="full set"):
        rt.fixed_size(question(4), 4)
    with pytest.raises(ChannelError, match="Unknown channel kind"):
        rt.channel_from_json({"kind": "magic"})
    with pytest.raises(ChannelError, match="lacks"):
        rt.channel_from_json({"kind": "subset"})
    with pytest.raises(ChannelError, match="same labels"):
        rt.then(rt.randomized_response(question(5), 2.0), rt.uniform_subset(question(6)))
    with pytest.raises(ChannelError, match="not listed"):
        rt.uniform_subset(rt.Categorical("wide", [str(i) for i in range(40)])).keys()


# Documents edited by hand

EDITED = rt.Subset(question(4), ((2, 1), (3, 2)), 2**63, ((1, 1), (2, 3)))
WEIGHED = rt.Table.from_matrix(question(2), [[0.75, 0.25], [0.25, 0.75]])
HUGE = rt.Subset(question(4), ((2, 2**60), (3, 1)))


@pytest.mark.parametrize(
    ("channel", "field", "value"),
    [
        *((EDITED, "sizes", value) for value in ([[2, 1.9], [3, "2"]], [[2.0, 1]], [[True, 1]], [[2, True]], [[2, "1"]])),
        *((EDITED, "sizes", value) for value in ([["2", 1]], [[2, 1, 1]], [2, 1], {"2": 1}, "half", None, [[2, np.nan]])),
        *((HUGE, "sizes", value) for value in ([[2, f" {2**60}"]], [[2, f"0{2**60}"]], [[2, f"{2**60}.0"]], [[2, "9" * 5]])),
        *((EDITED, "keep", value) for value in (float(2**63), str(2**52), True, float("inf"), float("nan"), None)),
        *((EDITED, "miss_sizes", value) for value in ([[1, 1.0]], None)),
        *((channel, "title", value) for channel in (EDITED, WEIGHED) for value in (5, None, "", ["x"], "a\nb")),
        *((WEIGHED, "weights", value) for value in ([[3.0, 1], [1, 3]], [["3", 1], [1, 3]], ["31", "13"], [[True, 1], [1, 3]])),
        *((WEIGHED, "denominator", value) for value in (4.0, "4", float("inf"), True)),
        *((WEIGHED, "reports", value) for value in (["x", "x"], "xy", [1, 2], {"x": 1, "y": 2})),
        *((rt.randomized_response(question(3), 1.0), "keep", value) for value in (1e19, "5", True)),
    ],
)  # fmt: skip
def test_documents_are_read_as_written_or_refused(channel: rt.Channel, field: str, value: object) -> None:
    document = channel.to_json()
    assert rt.channel_from_json(json.loads(json.dumps(document))) == channel
    assert field in document
    with pytest.raises(ChannelError):
        rt.channel_from_json(document | {field: value})


def test_a_set_of_one_category_is_in_the_document() -> None:
    open_about_it = rt.Subset(question(4), ((1, 999), (2, 1)), allow_singletons=True)
    document = open_about_it.to_json()
    assert document["allow_singletons"] is True and rt.channel_from_json(document) == open_about_it
    for flag in ({}, {"allow_singletons": False}, {"allow_singletons": 1}, {"allow_singletons": "yes"}):
        edited = {name: value for name, value in document.items() if name != "allow_singletons"} | flag
        with pytest.raises(ChannelError, match="answer itself"):
            rt.channel_from_json(edited)
    # Where nothing is given away the flag changes nothing, neither the document nor the digest.
    assert rt.Subset(question(4), ((2, 1),), allow_singletons=True) == rt.Subset(question(4), ((2, 1),))
    assert "allow_singletons" not in EDITED.to_json()


def test_a_product_names_its_columns_once() -> None:
    product = rt.Product([rt.full_response(question(2)), rt.full_response(rt.Categorical("digit", ["0", "1"]))])
    document = product.to_json()
    letter, digit = document["columns"].values()
    for order, columns in (
        (["letter"], {"letter": letter, "digit": digit}),
        (["letter", "letter", "digit"], {"letter": letter, "digit": digit}),
        (["letter", "digit"], {"letter": digit, "digit": letter}),
        ("ab", {"a": letter, "b": digit}),
    ):
        with pytest.raises(ChannelError):
            rt.channel_from_json({"kind": "product", "order": order, "columns": columns})


def test_categories_in_a_document_are_texts() -> None:
    document = rt.full_response(question(2)).to_json()
    for categories in ([1, 2], "ab", {"a": 1, "b": 2}, [True, "b"]):
        with pytest.raises(DomainError, match="list of texts"):
            rt.channel_from_json(document | {"domain": document["domain"] | {"categories": categories}})
