"""Several questions: joint domains, product channels, Kronecker rows, designs, pairs."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reticent as rt
from reticent.engines import privatize_file, read_reports
from reticent.errors import AnswerError, ChannelError, DomainError, FileFormatError, ParameterError, ReportError
from reticent.keys import integers_from_keys, join_keys, keys_from_integers, split_keys
from reticent.measures import mutual_information
from reticent.rows import DenseRows, HeldRows, KroneckerRows
from tests.mechanism_cases import other, question

YES_NO = ["yes", "no"]
SMOKES, DRINKS = rt.Categorical("smokes", YES_NO), rt.Categorical("drinks", YES_NO)


# Domains and keys


def test_a_product_domain_reads_tables_tuples_and_labels() -> None:
    domain = rt.ProductDomain([question(2), other(3)])
    assert domain.categories == ("a × 0", "a × 1", "a × 2", "b × 0", "b × 1", "b × 2") and domain.shape == (2, 3)
    for answers in (
        {"digit": [2, 0, None], "letter": ["a", "b", "b"]},
        [("a", 2), ("b", 0), None],
        ["a × 2", "b × 0", None],
    ):
        assert domain.encode(answers).tolist() == [2, 3, -1]
    assert domain.encode([]).tolist() == []
    again = rt.Subset.from_json(rt.Subset(domain).to_json()).domain
    assert again == domain and again != rt.Categorical(domain.name, domain.categories)


def test_a_product_domain_refuses_what_it_cannot_read() -> None:
    domain = rt.ProductDomain([question(2), other(3)])
    for answers, words in (
        ({"letter": ["a"]}, "lacks"),
        ({"letter": ["a"], "digit": ["0", "1"]}, "length"),
        ([("a",)], "2 values"),
        ([("a", "7")], "not among"),
        (["a × 7"], "not among"),
    ):
        with pytest.raises(AnswerError, match=words):
            domain.encode(answers)
    with pytest.raises(DomainError, match="different names"):
        rt.ProductDomain([question(2), question(3)])
    with pytest.raises(DomainError, match="different names"):
        rt.ProductDomain([question(2)])
    with pytest.raises(DomainError, match="cells"):
        rt.ProductDomain([rt.Categorical(name, [str(i) for i in range(400)]) for name in "xy"])


def test_a_pair_within_a_product_stands_for_its_questions() -> None:
    sober = rt.Categorical("smokes", [*YES_NO, "no answer"]), rt.Categorical("drinks", [*YES_NO, "no answer"])
    digit = rt.Categorical("digit", ["0", "1", "no answer"])
    nested = rt.ProductDomain([rt.ProductDomain(sober), digit])
    flat = rt.ProductDomain([*sober, digit])
    assert nested == flat and nested.parts == (*sober, digit) and nested.shape == (3, 3, 3)
    assert nested.name == "smokes × drinks × digit" and nested.categories[1] == "yes × yes × 1"
    table = {"smokes": ["yes", None], "drinks": ["no", "yes"], "digit": [1, 0]}
    channel = rt.Product([rt.Subset(rt.ProductDomain(sober)), rt.full_response(digit)])
    assert nested.encode(table, "symbol").tolist() == [4, 18] and nested.encode([("yes", "no", "1")]).tolist() == [4]
    with pytest.raises(AnswerError, match="missing"):
        channel.draw_many(table)
    for key, cell in zip(channel.draw_many(table, seed=1, missing="symbol").keys.tolist(), (4, 18), strict=True):
        assert channel.exact_row(key)[cell] > 0
    design = rt.Design({"smokes × drinks": channel.channels[0], "digit": channel.channels[1]}, missing="symbol")
    joint = design.joint("smokes × drinks", "digit")
    assert joint == channel and joint.domain == flat and rt.channel_from_json(joint.to_json()) == joint
    twice = rt.Subset(nested, ((3, 1),))
    document = twice.to_json()
    assert [part["name"] for part in document["domain"]["parts"]] == ["smokes", "drinks", "digit"]
    parts = document["domain"]["parts"]
    document["domain"]["parts"] = [{"kind": "product", "parts": parts[:2]}, parts[2]]
    assert rt.channel_from_json(document) == twice
    for again in (sober[0], rt.ProductDomain([sober[1], digit])):
        with pytest.raises(DomainError, match="different names"):
            rt.Product([rt.full_response(rt.ProductDomain(sober)), rt.full_response(again)])
    with pytest.raises(ChannelError, match="one name"):
        rt.Product(
            [rt.full_response(rt.ProductDomain(sober)), rt.full_response(rt.Categorical("smokes × drinks", YES_NO))]
        )


def test_what_a_joint_report_tells_of_each_question_of_a_pair() -> None:
    pair, digit = rt.Subset(rt.ProductDomain([SMOKES, DRINKS])), rt.randomized_response(other(3), 1.0)
    channel = rt.Product([pair, digit])
    assert rt.pinned_chances(channel) == {"smokes": Fraction(1, 3), "drinks": Fraction(1, 3), "digit": Fraction(0)}
    prior = np.arange(1, 13) / 78
    told = rt.marginal(channel, prior, "drinks")
    expected = np.zeros((channel.n_reports, 2))
    for cell, share in enumerate(prior):
        expected[:, cell // 3 % 2] += share * channel.matrix()[:, cell]
    expected /= [prior.reshape(2, 2, 3)[:, x].sum() for x in (0, 1)]
    np.testing.assert_allclose(told.matrix(), expected, atol=1e-14)
    table = {"smokes": YES_NO * 300, "drinks": ["yes"] * 600, "digit": ["0", "2"] * 300}
    tally = rt.tally(channel.draw_many(table, seed=1))
    for estimator in (rt.moments, rt.maximum_likelihood):
        shares = estimator(tally)
        for name, truth in (("smokes", [0.5, 0.5]), ("drinks", [1, 0]), ("digit", [0.5, 0, 0.5])):
            margin = shares.margin(name)
            errors = np.nan_to_num(margin.standard_errors, nan=0.1)
            assert (np.abs(margin.probabilities - truth) < 6 * errors + 1e-9).all()


def test_a_design_edited_by_hand_is_read_as_written_or_refused() -> None:
    document = rt.Design({"letter": rt.fixed_size(question(5), 2)}).to_json()
    column = document["columns"]["letter"]
    for broken in (
        {"public": None}, {"public": 5}, {"public": "age"}, {"public": [1]},
        *({"columns": {"letter": column | changed}} for changed in (
            {"title": 5}, {"sizes": [[2, 1.9]]}, {"sizes": [[1, 999], [2, 1]]}, {"sizes": [[2, math.inf]]},
        )),
    ):  # fmt: skip
        with pytest.raises(FileFormatError):
            rt.Design.from_json(document | broken)
    for public in (None, 5, "age"):
        with pytest.raises(ParameterError, match="list of names"):
            rt.Design({"letter": rt.fixed_size(question(5), 2)}, public=cast("Any", public))


@given(st.lists(st.integers(1, 90), min_size=1, max_size=4), st.integers(0, 2**32))
def test_keys_side_by_side_come_apart_again(bits: list[int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = [[int.from_bytes(rng.bytes(12), "little") % 2**width for _ in range(3)] for width in bits]
    joined = join_keys([keys_from_integers(part, width) for part, width in zip(values, bits, strict=True)], bits)
    for i, total in enumerate(integers_from_keys(joined)):
        assert total == sum(part[i] << sum(bits[:k]) for k, part in enumerate(values))
    assert [integers_from_keys(part) for part in split_keys(joined, bits)] == values


# Kronecker rows


@pytest.mark.parametrize("n_rows", [4, 3000])
@pytest.mark.parametrize("different", [3, 300], ids=["one table", "report by report"])
def test_kronecker_rows_equal_their_dense_form(n_rows: int, different: int) -> None:
    rng = np.random.default_rng(n_rows + different)
    parts = [DenseRows(rng.random((different, p))) for p in (2, 3, 4)]
    rows = KroneckerRows(parts, [rng.integers(different, size=n_rows) for _ in parts])
    matrix, w, v = rows.dense(), rng.random(24), rng.random(n_rows)
    each = [part.matrix[i] for part, i in zip(parts, rows.index, strict=True)]
    assert matrix == pytest.approx(np.einsum("ia,ib,ic->iabc", *each).reshape(n_rows, 24))
    assert rows.mv(w) == pytest.approx(matrix @ w)
    assert rows.rmv(v) == pytest.approx(matrix.T @ v)
    for some in (np.arange(24), np.array([3, 7, 20]), np.array([5])):
        assert rows.gram(v, some) == pytest.approx((matrix[:, some].T * v) @ matrix[:, some])


def test_the_gram_matrix_of_many_cells_is_made_for_the_asked_ones_only() -> None:
    rng = np.random.default_rng(3)
    rows = KroneckerRows([DenseRows(rng.random((5, 40)))] * 2, [rng.integers(5, size=200) for _ in range(2)])
    some = np.array([0, 41, 1599])
    assert rows.gram(np.ones(200), some) == pytest.approx(rows.dense()[:, some].T @ rows.dense()[:, some])


def test_one_share_can_be_held_in_any_structure() -> None:
    rng = np.random.default_rng(4)
    rows = DenseRows(rng.random((9, 5)))
    held, plain = HeldRows(rows, 2, 0.3), rows.fix(2, 0.3)
    w, v, some = rng.random(4), rng.random(9), np.array([0, 3])
    assert held.n_categories == 4 and held.n_rows == 9
    assert held.mv(w) == pytest.approx(plain.mv(w))
    assert held.rmv(v) == pytest.approx(plain.rmv(v))
    assert held.gram(v, some) == pytest.approx(plain.gram(v, some))
    assert held.dense() == pytest.approx(plain.dense())
    assert held.fix(1, 0.1).mv(w[:3]) == pytest.approx(plain.fix(1, 0.1).mv(w[:3]))


# Product channels


def test_wide_products_split_draw_and_estimate_without_a_matrix() -> None:
    channel = rt.Product([rt.uniform_subset(rt.Categorical(name, [str(i) for i in range(45)])) for name in "xy"])
    answers = {"x": ["3", "7"] * 1500, "y": ["3", "9"] * 1500}
    reports = channel.draw_many(answers, seed=1)
    assert reports.keys.shape == (3000, 12)
    for part, keys, answer in zip(channel.channels, channel.split(reports.keys), ("3", "3"), strict=True):
        assert part.support(keys[::2])[:, int(answer)].all()
    tally = rt.tally(reports, kind="patterns")
    shares = rt.maximum_likelihood(tally)
    cells = {label: share for label, share in zip(channel.domain.categories, shares.probabilities, strict=True)}
    # Two cells hold everything; half each, give or take five standard errors of the open answer.
    assert abs(cells["3 × 3"] - 0.5) < 0.06 and abs(cells["7 × 9"] - 0.5) < 0.06
    assert shares.converged


def test_joint_reports_are_those_of_the_product_channel() -> None:
    channels = {"letter": rt.uniform_subset(question(4)), "digit": rt.randomized_response(other(3), 1)}
    letters = channels["letter"].draw_many(["a", None, "b", "c"], seed=1, missing="skip")
    digits = channels["digit"].draw_many(["0", "1", None, "2"], seed=2, missing="skip")
    joint = rt.joint_reports({"letter": letters, "digit": digits})
    assert joint.missing == 2 and joint.simulated and joint.channel == rt.Product(list(channels.values()))
    assert integers_from_keys(joint.present) == [int(letters.keys[i]) | int(digits.keys[i]) << 4 for i in (0, 3)]
    with pytest.raises(ReportError, match="length"):
        rt.joint_reports({"letter": letters, "digit": channels["digit"].draw_many(["0"])})
    with pytest.raises(ChannelError, match="single columns"):
        rt.Product([joint.channel, rt.uniform_subset(question(5))])


def test_the_digest_of_a_product_knows_the_order_of_its_columns() -> None:
    one, two = rt.uniform_subset(question(4)), rt.uniform_subset(rt.Categorical("digit", list("0123")))
    assert rt.Product([one, two]).digest != rt.Product([two, one]).digest


def test_epsilon_of_a_product_is_the_sum() -> None:
    parts = [rt.randomized_response(question(3), 1), rt.randomized_response(other(2), 0.5)]
    assert rt.Product(parts).epsilon == pytest.approx(sum(part.epsilon for part in parts), abs=1e-12)
    assert rt.Product([parts[0], rt.full_response(other(2))]).epsilon == float("inf")


def test_a_related_answer_gives_more_away() -> None:
    channel = rt.Product([rt.uniform_subset(question(4)), rt.uniform_subset(rt.Categorical("digit", list("0123")))])
    related = np.eye(4) * 0.2 + 0.0125
    through = rt.marginal(channel, related.ravel(), "letter")
    alone = mutual_information(channel.channels[0], np.full(4, 0.25))
    assert mutual_information(through, np.full(4, 0.25)) > alone + 0.1
    unrelated = rt.marginal(channel, np.full(16, 1 / 16), "letter")
    assert mutual_information(unrelated, np.full(4, 0.25)) == pytest.approx(alone, abs=1e-12)
    with pytest.raises(ParameterError, match="no question"):
        rt.marginal(channel, related.ravel(), "colour")
    with pytest.raises(ChannelError, match="single question"):
        rt.marginal(channel.channels[0], [0.25] * 4, "letter")


# Pairs


def test_a_pair_warns_how_often_it_reveals_each_question() -> None:
    with pytest.warns(UserWarning, match="one respondent in 3 gives the answer to smokes away"):
        channel = rt.pair(SMOKES, DRINKS)
    assert rt.pinned_chances(channel) == dict.fromkeys(
        ["smokes", "drinks", "whether smokes and drinks agree"], Fraction(1, 3)
    )
    turned, other_answers = rt.Categorical("drinks", ["no", "yes"]), rt.Categorical("sex", ["female", "male"])
    assert rt.pinned_chances(rt.Subset(rt.ProductDomain([SMOKES, turned]))) == rt.pinned_chances(channel)
    with pytest.warns(UserWarning, match="one in 3 gives the answer to sex away") as told:
        assert rt.pinned_chances(rt.pair(SMOKES, other_answers)).keys() == {"smokes", "sex"}
    assert "agree" not in str(told[0].message)
    two_three = rt.Subset(rt.ProductDomain([question(2), other(3)]))
    assert rt.pinned_chances(two_three) == {"letter": Fraction(3, 25), "digit": Fraction(1, 25)}
    three = rt.pinned_chances(rt.Subset(rt.ProductDomain([question(3), other(3)])))
    assert three["letter"] == three["digit"] == Fraction(3, 246)
    assert rt.pinned_chances(rt.Product([rt.randomized_response(SMOKES, 1), rt.fixed_size(other(3), 2)])) == {
        "smokes": 0, "digit": 0,
    }  # fmt: skip
    with pytest.raises(DomainError, match="2 or 3"):
        rt.pair(SMOKES, question(4))
    with pytest.raises(ChannelError, match="single question"):
        rt.pinned_chances(rt.uniform_subset(question(4)))


def test_the_margin_of_a_pair_costs_three_times_the_open_variance() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        channel = rt.pair(SMOKES, DRINKS)
    shares = np.array([0.4, 0.2, 0.1, 0.3])
    margin = np.array([1.0, 1.0, 0.0, 0.0])
    variance = margin @ rt.asymptotic_covariance(channel, shares) @ margin
    assert variance == pytest.approx(3 * 0.6 * 0.4)


# Designs


def test_a_design_knows_its_private_and_disclosed_columns() -> None:
    design = rt.Design(
        {"letter": rt.randomized_response(question(3), 1), "digit": rt.full_response(other(2))}, public=("region",)
    )
    assert design.sources == ("letter", "digit") and design.disclosed == ("region", "digit")
    assert design.epsilon == design.columns["letter"].epsilon
    assert rt.Design.from_json(design.to_json()) == design
    assert design.joint("digit", "letter").domain.name == "digit × letter"
    assert design.joint("letter") == design.columns["letter"]
    with pytest.raises(ParameterError, match="colour"):
        design.joint("colour")


@pytest.mark.parametrize(
    ("columns", "public", "missing", "words"),
    [
        ({"letter": 5}, (), "refuse", "channel of its own"),
        ({"other": rt.uniform_subset(question(4))}, (), "refuse", "one name"),
        ({"letter": rt.uniform_subset(question(4))}, ("letter",), "refuse", "twice"),
        ({"letter": rt.uniform_subset(question(4))}, "letter", "refuse", "list of names"),
        ({"letter": rt.uniform_subset(question(4))}, (), "symbol", "no answer"),
        ({"letter": rt.uniform_subset(question(4))}, (), "drop", "allowed"),
        (
            {
                "letter": rt.fixed_size(question(3), 2),
                "letter × digit": rt.Subset(rt.ProductDomain([question(3), other(3)])),
            },
            (),
            "refuse",
            "narrows",
        ),
        ({}, (), "refuse", "at least one"),
    ],
)
def test_a_design_refuses_what_would_mislead(columns: Any, public: Any, missing: Any, words: str) -> None:
    with pytest.raises((ParameterError, DomainError), match=words):
        rt.Design(columns, missing, public)


def test_a_missing_answer_can_be_an_answer() -> None:
    domain = rt.Categorical("letter", ["a", "b", "c", "no answer"])
    design = rt.Design({"letter": rt.uniform_subset(domain)}, missing="symbol")
    reports = design.draw_many({"letter": ["a", None, None]}, seed=1)["letter"]
    assert reports.missing == 0 and (reports.keys[1:] >> 3 & 1).all()


def test_a_whole_table_is_privatised_by_its_design(tmp_path: Path) -> None:
    no_answer = [*YES_NO, "no answer"]
    design = rt.Design(
        {
            "smokes × drinks": rt.Subset(
                rt.ProductDomain([rt.Categorical("smokes", no_answer), rt.Categorical("drinks", no_answer)])
            ),
            "letter": rt.uniform_subset(rt.Categorical("letter", ["a", "b", "c", "no answer"])),
        },
        missing="symbol",
        public=("region",),
    )
    path = tmp_path / "design.json"
    rt.save(design, path)
    source = tmp_path / "table.csv"
    source.write_text("region,smokes,letter,drinks,secret\n" + "north,yes,a,no,x\nsouth,,b,yes,y\nnorth,no,,,z\n" * 40)
    again = rt.load(path)
    assert isinstance(again, rt.Design) and again == design
    counts = privatize_file(source, again, tmp_path / "reports.parquet", seed=1)
    assert counts == {"rows": 120, "smokes × drinks": 0, "letter": 0}
    pairs = read_reports(tmp_path / "reports.parquet", "smokes × drinks")
    cell = {label: i for i, label in enumerate(pairs.channel.domain.categories)}
    answers = ["yes × no", "no answer × yes", "no × no answer"] * 40
    assert all(int(key) >> cell[answer] & 1 for key, answer in zip(pairs.keys, answers, strict=True))
    assert pq.read_table(tmp_path / "reports.parquet").column_names == ["region", "smokes × drinks", "letter"]


def test_a_table_that_lacks_a_column_of_the_design_is_refused() -> None:
    design = rt.Design({"letter": rt.uniform_subset(question(4))})
    with pytest.raises(AnswerError, match="letter"):
        design.draw_many({})
    for damage in ({"columns": {"letter": {"kind": "table"}}}, {"columns": {"x": rt.uniform_subset(question(4)).to_json()}},
                   {"columns": [1]}, {"columns": {"letter": rt.uniform_subset(question(4)).to_json()}, "public": 5}):  # fmt: skip
        with pytest.raises(FileFormatError):
            rt.Design.from_json({"kind": "product", **damage})
