"""Numbers and ranges: the laws every channel keeps, floors that hold exactly, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from scipy import stats

import reticent as rt
from reticent.anchors import (
    Anchors,
    LogNormalAnchors,
    NormalAnchors,
    UniformAnchors,
    coverage_optimal,
    edge_weights,
    quantile_beta,
    two_phase,
    variance_optimal,
)
from reticent.channel.cuts import IndependentCuts, ListedCuts
from reticent.channel.ranges import NULL, Ranges
from reticent.channel.selection import Floors, Selection
from reticent.choose import Words
from reticent.coverage import coverage_by_report
from reticent.domain import Numbers, domain_from_json
from reticent.errors import AnswerError, ChannelError, DomainError
from reticent.keys import integers_from_keys
from reticent.mechanisms.ranges import case_one, case_two, random_ranges, ring
from reticent.mechanisms.selections import lazy, selective
from reticent.rows import DenseRows
from tests import test_channels as laws

NUMBER = Numbers("x", 0, 5, edges=[1, 2, 3, 4])
MASSES = [0.1, 0.2, 0.3, 0.3, 0.1]
AGE = Numbers("age", 0, 99, step=1, edges=[17, 29, 44, 64])
RING = ((0, 2), (1, 3), (1, 2, 4), (3, 4), (1, 4), (2, 3))

CASES: dict[str, rt.Channel] = {
    "one threshold": case_one(NUMBER, [1, 2, 4, 3]),
    "one threshold, some outside": case_one(NUMBER, UniformAnchors(-1, 4)),
    "two thresholds": case_two(NUMBER, [1, 2, 4, 3]),
    "two thresholds, an edge never drawn": Ranges(NUMBER, IndependentCuts((1, 2, 0, 3), 2)),
    "four ranges": random_ranges(NUMBER, 4, NormalAnchors(2, 1)),
    "listed, on a line": Ranges(NUMBER, ListedCuts(5, ((2,), (1, 3), (1, 2, 4)), (1, 2, 2**60))),
    "ring of two": ring(NUMBER, 0.2, pilot=MASSES),
    "ring of three": ring(NUMBER, 0.1, 3, pilot=MASSES),
    "listed ring": Ranges(NUMBER, ListedCuts(5, RING, (1, 2, 3, 5, 7, 1), True)),
    "acceptable inside": case_two(NUMBER, acceptable=(1, 3)),
    "acceptable at the low end": case_two(NUMBER, acceptable=(0, 2)),
    "acceptable at the high end": case_two(NUMBER, acceptable=(3, 5)),
    "ring with acceptable": ring(NUMBER, 0.1, 2, pilot=MASSES, acceptable=(1, 2)),
    "listed ring with acceptable": Ranges(NUMBER, ListedCuts(5, RING, (1, 2, 3, 5, 7, 1), True), (2, 4)),
    "listed ring, first cell acceptable": Ranges(NUMBER, ListedCuts(5, RING, (1, 2, 3, 5, 7, 1), True), (0, 1)),
    "selective threshold": selective(case_one(NUMBER), 0.5, 0.7, pilot=MASSES),
    "selective without a coin": selective(case_two(NUMBER), "1/3", 1, pilot=MASSES),
    "selective ring": selective(ring(NUMBER, 0.2, pilot=MASSES), 0.5, pilot=MASSES),
    "selective ring, drawn floors": selective(ring(NUMBER, 0.2, pilot=MASSES), {0: 2, 0.3: 1, 0.5: 4}, 1, pilot=MASSES),
    "drawn floors, acceptable, lazy": lazy(selective(case_two(NUMBER, acceptable=(1, 2)), {0.1: 1, 0.3: 2}, 0.75, pilot=MASSES), 0.5),
    "a law of floors": selective(case_one(NUMBER), stats.uniform(0.25, 0.5), 0.7, pilot=MASSES),
    "whole years, drawn floors": selective(random_ranges(AGE, 3), {0.2: 0.5, 0.5: 0.5}, 0.5),
    "acceptable first range": case_two(NUMBER, acceptable_ranges=[1]),
    "acceptable upper range, some outside": case_one(NUMBER, UniformAnchors(-1, 4), acceptable_ranges=[2]),
    "acceptable second and third range": random_ranges(NUMBER, 4, NormalAnchors(2, 1), acceptable_ranges=[2, 3]),
    "listed, acceptable range": Ranges(NUMBER, ListedCuts(5, ((2,), (1, 3), (1, 2, 4)), (1, 2, 2**60), told=(2,))),
    "lazy": lazy(case_one(NUMBER), 0.25),
    "lazy, selective, acceptable": lazy(selective(case_two(NUMBER, acceptable=(1, 2)), 0.3, 0.75, pilot=MASSES), 0.5),
    "nothing is ever told": Ranges(NUMBER, IndependentCuts((1, 2, 1, 3), 1), None, Selection((1,) * 5, Floors((Fraction(1),)), 0)),
    "whole years": selective(random_ranges(AGE, 3), 0.2),
    "product with many cuts": rt.Product([random_ranges(Numbers("y", 0, 3, edges=[1, 2]), 3), case_one(AGE, [1, 1, 1, 1])]),
}  # fmt: skip
LAWS: list[Callable[[rt.Channel], None]] = [
    laws.test_the_sampler_has_exactly_the_stated_law,
    laws.test_the_question_never_depends_on_the_answer,
    laws.test_floats_agree_with_fractions,
    laws.test_epsilon_is_the_exact_ratio_rounded_up,
    laws.test_support_rates_are_what_the_law_says,
    laws.test_documents_round_trip_and_name_the_channel,
    laws.test_many_draws_follow_the_law,
]


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__.removeprefix("test_"))
@pytest.mark.parametrize("channel", CASES.values(), ids=CASES.keys())
def test_ranges_keep_the_laws_of_channels(channel: rt.Channel, law: Callable[[rt.Channel], None]) -> None:
    # False alarms of the draws: counted in test_channels.
    assert channel.n_reports == len({*integers_from_keys(channel.keys())}) > 0
    law(channel)


def ranges() -> list[Ranges]:
    return [channel for channel in CASES.values() if isinstance(channel, Ranges)]


@pytest.mark.parametrize("channel", ranges(), ids=lambda channel: channel.digest[:8])
def test_a_report_says_only_that_the_answer_is_in_its_set(channel: Ranges) -> None:
    # Interval privacy: one chance on the whole set. "No range" has its own row.
    for key in integers_from_keys(channel.keys()):
        row = channel.exact_row(key)
        if key != NULL:
            assert len({chance for chance in row if chance}) == 1
            held = {x for first, stop in channel.pieces(key) for x in range(first, stop)}
            assert held == {x for x, chance in enumerate(row) if chance}
    told = [tuple(p > 0 for p in channel.exact_row(k)) for k in integers_from_keys(channel.keys()) if k != NULL]
    assert len(set(told)) == len(told), "two keys for one set"


@pytest.mark.parametrize("channel", ranges(), ids=lambda channel: channel.digest[:8])
def test_cells_are_unresolved_exactly_where_the_rows_do_not_tell_them(channel: Ranges) -> None:
    keys = channel.keys()[channel.keys() != NULL]
    rows = np.vstack([channel.likelihood(keys) > 0, np.ones((1, 5))]).astype(float)
    rank = np.linalg.matrix_rank(rows)
    hidden = [
        label
        for x, label in enumerate(channel.domain.categories)
        if np.linalg.matrix_rank(np.vstack([rows, np.eye(5)[x]])) > rank
    ]
    assert list(channel.unresolved) == hidden


def test_reports_in_words() -> None:
    pay = Numbers("pay", 0, "inf", unit="EUR", edges=[20, 45, 60])
    channel = Ranges(pay, ListedCuts(4, ((1, 3), (1, 2)), (1, 1), True), ask=2**63)
    words = [channel.describe(key) for key in integers_from_keys(channel.keys())]
    assert words == ["any number", "(20, 45]", "(20, 60]", "up to 20 or above 45", "up to 20 or above 60"]
    apart = case_one(pay, acceptable=(20, 45))
    key = apart.key(3**0 * 3, 0)
    assert apart.describe(key) == "up to 20 or (45, 60]" and apart.exact_row(key)[1] == 0
    assert selective(case_one(pay), 0.5).describe(NULL) == "no range"
    assert AGE.categories == ("up to 17", "(17, 29]", "(29, 44]", "(44, 64]", "above 64")


def test_the_key_is_start_times_cells_and_stop() -> None:
    channel = case_two(NUMBER)
    assert {channel.arc(key) for key in integers_from_keys(channel.keys())} == {
        (s, e) for s, e in combinations(range(6), 2) if (s, e) != (0, 5)
    }
    assert channel.key(1 + 3 * 5, 1) == 1 * 6 + 3 and channel.n_cells(1 + 3 * 5) == 3


def test_chances_of_independent_cuts_by_hand() -> None:
    # Two draws from edges 1, 2, 3 with weights 1/6, 2/6, 3/6: cell (1, 2] is a range when both are drawn.
    channel = Ranges(Numbers("x", 0, 4, edges=[1, 2, 3]), IndependentCuts((1, 2, 3), 2))
    assert channel.exact_row(1 * 5 + 2) == (0, Fraction(2 * 1 * 2, 36), 0, 0)
    assert channel.exact_row(0 * 5 + 3)[0] == Fraction(9, 36), "both at the third edge"


def test_rows_for_solvers_wherever_the_silence_stands() -> None:
    for name in ("selective ring", "lazy, selective, acceptable", "listed ring with acceptable"):
        channel = CASES[name]
        keys = channel.keys()[::-1]
        rows = channel.rows(keys).dense()
        exact = channel.likelihood(keys)
        np.testing.assert_allclose(
            rows / rows.max(axis=1, keepdims=True), exact / exact.max(axis=1, keepdims=True), atol=1e-13
        )
        assert not isinstance(channel.rows(channel.keys()), DenseRows)
    with pytest.raises(ChannelError, match="no set of cells"):
        selective(case_one(NUMBER), 0.5).sets(np.array([0, 1]))


# --- floors --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_ranges, narrowest", [(2, "0.2"), (2, "9/20"), (3, "1/10"), (4, 0.15)])
def test_every_arc_of_a_ring_meets_the_floor_exactly(n_ranges: int, narrowest: float | str) -> None:
    domain = Numbers("x", "-inf", "inf", edges=[round(float(q), 3) for q in stats.norm.ppf(np.arange(1, 20) / 20)])
    channel = ring(domain, narrowest, n_ranges, concentration=2 if n_ranges == 3 else 1, pilot=stats.norm())
    masses = np.diff(stats.norm.cdf(domain.boundaries))
    assert coverage_by_report(channel, masses).min() >= float(Fraction(str(narrowest))) - 1e-12
    assert channel.unresolved == ()
    assert isinstance(channel.cuts, ListedCuts) and {len(cuts) for cuts in channel.cuts.sets} == {n_ranges}


def test_a_ring_draws_every_cut_set_that_meets_the_floor() -> None:
    masses = (1, 2, 3, 1, 2, 1, 2)
    channel = ring(Numbers("x", 0, 7, edges=range(1, 7)), 0.25, pilot=np.array(masses) / 12)
    wide = {
        (a, b): (masses[a - 1] + masses[a]) * (masses[b - 1] + masses[b])
        for a, b in combinations(range(7), 2)
        if 3 <= sum(masses[a:b]) <= 9
    }
    assert isinstance(channel.cuts, ListedCuts)
    shares = {
        cuts: Fraction(w, channel.cuts.total) for cuts, w in zip(channel.cuts.sets, channel.cuts.weights, strict=True)
    }
    assert shares.keys() == wide.keys()
    total = sum(wide.values())
    assert all(abs(float(shares[cuts]) - weight / total) < 1e-14 for cuts, weight in wide.items())


def test_concentration_bends_a_ring_towards_equal_arcs() -> None:
    domain = Numbers("x", 0, 12, edges=range(1, 12))

    def evenness(concentration: float) -> float:
        channel = ring(domain, 0.1, 2, concentration)
        return float(coverage_by_report(channel, [1 / 12] * 12).std())

    channel = ring(domain, 0.1, 2, 3.0)
    assert isinstance(channel.cuts, ListedCuts)
    law = dict(zip(channel.cuts.sets, channel.cuts.weights, strict=True))
    # Density (a − τ)² (1 − a − τ)² at a = 3/12 and a = 1/2.
    assert law[(0, 3)] / law[(0, 6)] == pytest.approx((0.15 * 0.65) ** 2 / 0.4**4, rel=1e-9)
    assert evenness(0.5) > 0


def test_no_range_of_a_lattice_gives_the_answer_itself_away() -> None:
    children = Numbers("children", 0, 9, step=1)
    pilot = [0.4, 0.2, 0.1, 0.1, 0.05, 0.05, 0.03, 0.03, 0.02, 0.02]
    for channel in (ring(children, 0.1, pilot=pilot), selective(case_two(children), 0.1, pilot=pilot)):
        sizes = [sum(p > 0 for p in channel.exact_row(key)) for key in integers_from_keys(channel.keys())]
        assert min(sizes) >= 2


def test_reaching_the_floor_is_counted_exactly() -> None:
    channel = selective(case_two(NUMBER, [1, 2, 4, 3]), 0.4, 0.7, pilot=MASSES)
    masses, chances = [1, 2, 3, 3, 1], [0, 1, 2, 4, 3]
    for x in range(5):
        met = 0
        for first in range(1, 5):
            for second in range(1, 5):
                ends = [0, *sorted({first, second}), 5]
                start, stop = next((s, e) for s, e in zip(ends, ends[1:], strict=False) if s <= x < e)
                met += chances[first] * chances[second] * (sum(masses[start:stop]) >= 4)
        assert channel.reaching_floor[x] == Fraction(met, 100)
        assert channel.exact_row(NULL)[x] == 1 - Fraction(channel.rho, 2**64) * Fraction(met, 100)


def test_the_row_of_silence_sets_estimates_right() -> None:
    # Section 1.4: 200,000 reports of one threshold with the floor 0.6; ignoring silence fails.
    domain = Numbers("x", "-inf", "inf", edges=[-1.5, -1, -0.5, 0.5, 1, 1.5])
    truth = np.diff(stats.norm.cdf(domain.boundaries))
    plain = case_one(domain)
    channel = selective(plain, 0.6, 0.7, pilot=stats.norm())
    codes = np.random.default_rng(5).choice(7, 200_000, p=truth)
    reports = channel.draw_codes(codes, Words(5), simulated=True)

    def error(counted: rt.Reports) -> float:
        shares = rt.maximum_likelihood(rt.tally(counted)).probabilities
        return float(np.abs(np.cumsum(shares - truth)).max())

    # Standard errors are about 0.004; 0.025 is more than 6 of them.
    assert error(reports) < 0.025
    assert error(rt.Reports(plain, reports.keys[reports.keys != NULL])) > 0.1


def test_a_floor_above_one_half_leaves_the_middle_unknown_on_a_line() -> None:
    with pytest.warns(UserWarning, match=r'apart: "\(1, 2\]", "\(2, 3\]", "\(3, 4\]".*use a ring'):
        selective(case_one(NUMBER), 0.75)
    assert selective(ring(NUMBER, 0.2), 0.75).unresolved == ()


def test_acceptable_numbers_leave_the_ranges() -> None:
    channel = case_one(NUMBER, acceptable=(1, 2))
    for key in integers_from_keys(channel.keys()):
        if channel.arc(key) != (1, 2):
            assert channel.exact_row(key)[1] == 0
    assert channel.draw("1.5") == 1 * 6 + 2


# --- anchors on the grid -----------------------------------------------------------------------------------------------


def test_anchors_settle_on_the_nearest_edge() -> None:
    domain = Numbers("x", 0, 10, edges=[1, 3, 8])
    weights = edge_weights(UniformAnchors(0, 10), domain)
    assert sum(weights) == 2**53
    assert [weight / 2**53 for weight in weights] == pytest.approx([0.2, 0.35, 0.45], abs=1e-15)
    digit = Numbers("digit", 0, 9, step=1)
    assert [weight / 2**53 for weight in edge_weights(UniformAnchors(0, 9), digit)] == pytest.approx(
        [1 / 9] * 9, abs=1e-15
    )


def test_anchors_outside_the_domain_ask_nothing() -> None:
    channel = CASES["one threshold, some outside"]
    assert isinstance(channel, Ranges) and channel.ask / 2**64 == pytest.approx(0.8, abs=1e-15)
    assert float(channel.exact_row(channel.whole)[0]) == pytest.approx(0.2, abs=1e-15)
    wide = case_one(Numbers("x", 0, 1, edges=[0.25, 0.5, 0.75]), coverage_optimal(stats.uniform(), 0.8))
    assert wide.ask / 2**64 == pytest.approx(0.6, abs=1e-12)


@pytest.mark.parametrize(
    "anchors",
    [
        quantile_beta(stats.norm(), 0.75),
        variance_optimal(stats.norm()),
        coverage_optimal(stats.norm(), 0.9),
        two_phase(stats.norm(), -4, 4),
        LogNormalAnchors(1, 0.5),
    ],
    ids=lambda anchors: type(anchors).__name__,
)
def test_densities_are_the_slopes_of_their_distributions(anchors: Anchors) -> None:
    points = np.array([0.3, 0.9, 1.7])
    slope = (anchors.cdf(points + 1e-5) - anchors.cdf(points - 1e-5)) / 2e-5
    np.testing.assert_allclose(anchors.pdf(points), slope, rtol=1e-6)
    assert float(anchors.cdf(np.inf)) == pytest.approx(1, abs=1e-12)


# --- the grid of numbers --------------------------------------------------------------------------------------------------


def test_numbers_fall_into_cells_closed_above() -> None:
    domain = Numbers("x", "0.1", 10, edges=["0.3", 1, 2.5])
    assert domain.categories == ("up to 0.3", "(0.3, 1]", "(1, 2.5]", "above 2.5")
    values = [0.1, 0.3, "0.3", Decimal("0.31"), 1, np.float64(2.5), Fraction(5, 2), 10, None, float("nan"), "above 2.5"]
    assert domain.encode(values).tolist() == [0, 0, 0, 1, 1, 2, 2, 3, -1, -1, 3]
    assert domain.encode(np.array([0.1, np.nan, 10])).tolist() == [0, -1, 3]
    assert domain.edges == (Fraction(3, 10), Fraction(1), Fraction(5, 2))


def test_a_lattice_is_cut_between_its_values() -> None:
    assert AGE.edges[0] == Fraction(35, 2) and AGE == Numbers("age", 0, 99, step=1, edges=[17.5, 29, 44.9, 64])
    assert AGE.encode([17, 18, 29, 30, 99]).tolist() == [0, 1, 1, 2, 4]
    tenths = Numbers("x", 0, 1, step=0.1)
    assert tenths.categories[3] == "0.3" and tenths.encode([0.1 * 3, 0.3, "0.3"]).tolist() == [3, 3, 3]
    with pytest.raises(AnswerError, match=r"2 of 3 answers .* in steps of 0.1 \(first at position 1"):
        tenths.encode([0.5, 0.25, 1.1])
    assert Numbers("x", "-inf", "inf", step=2, edges=[-3, 0]).categories == ("up to -4", "(-4, 0]", "above 0")


def test_answers_outside_are_counted_and_never_shown() -> None:
    for secret in (123456, "123456", float("inf"), True, "much", [1], 10**400, Decimal("123456")):
        with pytest.raises(AnswerError, match=r"1 of 2 answers .* \(first at position 1") as refused:
            NUMBER.encode([1, secret])
        assert "123456" not in str(refused.value) + str(refused.value.details)
    with pytest.raises(AnswerError, match="are missing"):
        case_one(NUMBER).draw_many([1, None])
    reports = case_one(NUMBER).draw_many([1, None, 4.5], missing="skip", seed=1)
    assert reports.missing == 1 and rt.tally(reports).missing == 1


def test_grids_round_trip_and_differ() -> None:
    grids = [NUMBER, AGE, Numbers("x", 0, 5, unit="km", edges=[1, 2, 3, 4]), Numbers("x", 0, 5, edges=[1, 2, 3]),
             Numbers("x", 0, 6, edges=[1, 2, 3, 4]), Numbers("x", "-inf", "inf", edges=["-0.25", "1e-7"]),
             Numbers("x", 0, 9, step=1), Numbers("x", 0, 9, step=1, edges=[0.5, 3])]  # fmt: skip
    assert len(set(grids)) == len(grids)
    for domain in grids:
        document = json.loads(json.dumps(domain.to_json()))
        assert domain_from_json(document) == domain and document["kind"] == "numbers"
        assert domain.encode(domain.categories).tolist() == list(range(len(domain)))
    assert grids[5].to_json()["edges"] == ["-0.25", "0.0000001"]


def test_grids_that_cannot_be_used_are_refused() -> None:
    for arguments, words in (
        ((5, 5, {"edges": [5]}), "low must be below high"),
        ((0, 5, {}), "needs edges"),
        ((0, "inf", {"step": 1}), "needs edges"),
        ((0, 5, {"edges": [2, 1]}), "ascend"),
        ((0, 5, {"edges": [1, 1]}), "ascend"),
        ((0, 5, {"edges": [0, 5]}), "inner edges"),
        ((0, 5, {"edges": [1, 6]}), "ascend"),
        ((0, 5, {"edges": "123"}), "list of numbers"),
        ((0, 5, {"edges": [float("nan")]}), "whole number, a decimal"),
        ((0, 5, {"edges": [Fraction(1, 3)]}), "whole number, a decimal"),
        ((0, 5, {"edges": [True]}), "whole number, a decimal"),
        ((0, 5, {"step": 0}), "positive"),
        ((0, 5, {"step": 2, "edges": [1]}), "no whole number of steps"),
        ((0, 5, {"step": 1, "edges": [2, 2.5]}), "leave one of them out"),
        ((0, 10**9, {"step": 1}), "possible values"),
        ((0, 5, {"edges": [1], "unit": 3}), "printable text"),
    ):
        low, high, options = arguments
        with pytest.raises(DomainError, match=words):
            Numbers("x", low, high, **options)
