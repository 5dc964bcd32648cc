"""Bulk draws against their exact laws, and exact counting against the plain way."""

from collections.abc import Mapping
from fractions import Fraction
from itertools import combinations
from math import comb
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.stats import chi2, chisquare

from reticent.bulk import count_keys, inverse_cdf, subset_masks, symmetric
from reticent.choose import WORD, Words
from reticent.errors import AnswerError, ParameterError
from reticent.keys import key_dtype

FALSE_ALARM = 1e-7
"""Per chi-square test; there are about 100 here, so 1e-5 of the suite's 2e-5."""

Sizes = Mapping[int, int] | Literal["uniform"]


def law(n_categories: int, x: int, sizes: Sizes, contains: bool) -> dict[int, Fraction]:
    """P(mask | x) written out from the definition, subset by subset."""
    weights = dict.fromkeys(range(2, n_categories - 1), 1) if sizes == "uniform" else dict(sizes)
    masses: dict[int, Fraction] = {}
    others = [j for j in range(n_categories) if j != x]
    for size, weight in weights.items():
        n_others = size - contains
        mass = Fraction(1) if sizes == "uniform" else Fraction(weight, comb(n_categories - 1, n_others))
        for chosen in combinations(others, n_others):
            masses[sum(1 << j for j in chosen) | contains << x] = mass
    total = sum(masses.values())
    return {mask: mass / total for mask, mass in masses.items()}


def assert_follows(drawn: np.ndarray[Any, Any], expected: dict[int, Fraction]) -> None:
    keys, counts = np.unique(drawn, return_counts=True)
    assert {int(key) for key in keys} <= {key for key, mass in expected.items() if mass}
    seen = dict(zip(keys.tolist(), counts.tolist(), strict=True))
    possible = [key for key, mass in expected.items() if mass]
    if len(possible) > 1:
        frequencies = [seen.get(key, 0) for key in possible]
        statistic = chisquare(frequencies, [float(expected[key] * drawn.size) for key in possible])
        assert statistic.pvalue > FALSE_ALARM


@pytest.mark.parametrize("contains", [True, False])
@pytest.mark.parametrize(
    ("n_categories", "sizes"),
    [
        (4, "uniform"),
        (5, "uniform"),
        (8, "uniform"),
        (9, "uniform"),
        (10, "uniform"),
        (4, {2: 1}),
        (5, {1: 1, 3: 2}),
        (6, {5: 1}),
        (6, {4: 3, 2: 0, 1: 2**70}),
        (3, {2: 1}),
    ],
)
def test_subsets_follow_their_law(n_categories: int, sizes: Sizes, contains: bool) -> None:
    for x in (0, n_categories // 2, n_categories - 1):
        codes = np.full(40_000, x)
        masks = subset_masks(codes, n_categories, Words(seed=x), sizes, contains)
        assert masks.dtype == key_dtype(n_categories)
        assert_follows(masks, law(n_categories, x, sizes, contains))


def test_answers_in_one_column_keep_their_own_law() -> None:
    rng = np.random.default_rng(5)
    codes, contains = rng.integers(0, 5, 200_000), rng.random(200_000) < 0.5
    for sizes in ("uniform", {2: 1, 3: 4}):
        masks = subset_masks(codes, 5, Words(seed=8), sizes, contains)
        for x in range(5):
            for holds in (True, False):
                chosen = masks[(codes == x) & (contains == holds)]
                assert_follows(chosen, law(5, x, sizes, holds))


@pytest.mark.parametrize("n_categories", [12, 16, 17, 33, 63, 64, 65, 72, 130])
@pytest.mark.parametrize("contains", [True, False])
@pytest.mark.parametrize("sizes", ["uniform", {3: 1}, {2: 1, 7: 3}, "nearly all"])
def test_wide_subsets_have_the_right_sizes_and_members(
    n_categories: int, contains: bool, sizes: Literal["uniform"] | dict[int, int] | Literal["nearly all"]
) -> None:
    """Sizes are exact, the own bit is as asked, no padding, and each other category is equally frequent."""
    weights: Any = {n_categories - 2: 1} if sizes == "nearly all" else sizes
    n, x = 4000, n_categories - 3
    masks = subset_masks(np.full(n, x), n_categories, Words(seed=2), weights, contains)
    raw = masks.view(np.uint8).reshape(n, -1)
    bits = np.unpackbits(raw, axis=1, bitorder="little")
    assert not bits[:, n_categories:].any()
    assert (bits[:, x] == contains).all()
    member = bits[:, :n_categories].sum(axis=1)
    if weights == "uniform":
        assert member.min() >= 2 and member.max() <= n_categories - 2
        share = 0.5
    else:
        assert set(member.tolist()) == set(weights)
        total = sum(weights.values())
        share = sum(w * (k - contains) for k, w in weights.items()) / total / (n_categories - 1)
    others = np.delete(bits[:, :n_categories], x, axis=1).sum(axis=0)
    # Members of one subset are at most weakly dependent: the sum over categories is close to chi-square.
    z = (others - n * share) / np.sqrt(n * share * (1 - share))
    assert abs(z).max() < 6.5


def test_floyd_in_lanes_is_uniform() -> None:
    """Without the look-up table the same law: the table's limit is lowered to force Floyd's algorithm."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("reticent.bulk.TABLE_LIMIT", 0)
        for x, size in ((0, 3), (6, 4), (3, 6), (2, 1)):
            masks = subset_masks(np.full(40_000, x), 7, Words(seed=size), {size: 1})
            assert_follows(masks, law(7, x, {size: 1}, True))


def test_rows_of_a_refused_size_are_drawn_again() -> None:
    """Words that begin with zeros give a single category; the draw goes on until the size is allowed."""

    class ZerosFirst(Words):
        calls = 0

        def u8(self, n: int) -> np.ndarray[Any, np.dtype[np.uint8]]:
            self.calls += 1
            return super().u8(n) * np.uint8(self.calls > 2)

    for n_categories in (20, 70):
        words = ZerosFirst(seed=1)
        masks = subset_masks(np.arange(5), n_categories, words, "uniform")
        assert words.calls > 2
        assert (np.bitwise_count(masks).reshape(5, -1).sum(axis=1) > 2).all()


def test_the_stream_is_golden() -> None:
    codes = np.arange(10) % 5
    assert subset_masks(codes, 5, Words(seed=2024), "uniform").tolist() == [
        5,
        22,
        20,
        9,
        24,
        7,
        10,
        12,
        10,
        28,
    ]
    assert subset_masks(codes, 12, Words(seed=2024), "uniform").tolist() == [
        1367,
        914,
        2126,
        831,
        3002,
        457,
        2038,
        2853,
        1163,
        3037,
    ]
    assert subset_masks(codes, 5, Words(seed=2024), {2: 1, 3: 1}).tolist() == [
        17,
        10,
        14,
        10,
        19,
        17,
        10,
        20,
        25,
        17,
    ]
    assert subset_masks(codes[:2], 66, Words(seed=2024), "uniform").tolist() == [
        [171, 26, 200, 225, 38, 156, 159, 1, 2],
        [159, 228, 64, 250, 99, 145, 77, 67, 2],
    ]
    assert symmetric(codes, 5, 2**63, Words(seed=2024)).tolist() == [0, 4, 3, 3, 2, 0, 2, 2, 0, 3]


@pytest.mark.parametrize(("n_categories", "share"), [(2, 0.75), (3, 0.5), (5, 0.2), (300, 0.9)])
def test_randomised_response_follows_its_law(n_categories: int, share: float) -> None:
    threshold = int(share * WORD)
    for x in (0, n_categories - 1):
        drawn = symmetric(np.full(100_000, x), n_categories, threshold, Words(seed=3))
        stray = (1 - Fraction(threshold, WORD)) / (n_categories - 1)
        expected = dict.fromkeys(range(n_categories), stray) | {x: Fraction(threshold, WORD)}
        assert_follows(drawn, expected)


def test_randomised_response_at_the_ends() -> None:
    codes = np.arange(6) % 3
    assert np.array_equal(symmetric(codes, 3, WORD, Words()), codes)
    assert not (symmetric(codes, 3, 0, Words()) == codes).any()


def test_inverse_cdf_follows_each_column() -> None:
    weights = [[0, 7], [3, 0], [3, 0], [1, 0], [0, 0]]
    codes = np.arange(60_000) % 2
    cells = inverse_cdf(codes, weights, 7, Words(seed=1))
    assert (cells[codes == 1] == 0).all()
    assert_follows(cells[codes == 0], {1: Fraction(3, 7), 2: Fraction(3, 7), 3: Fraction(1, 7)})


@pytest.mark.parametrize(("next_word", "cell"), [(0, 0), (WORD // 3 - 1, 0), (WORD // 3 + 1, 1), (WORD - 1, 1)])
def test_a_word_on_the_threshold_is_decided_by_the_next(next_word: int, cell: int) -> None:
    """floor(2**64 / 3) has a third of a unit beyond it: the next word is below that third, or not."""

    script = [WORD // 3, next_word]

    class Scripted(Words):
        def u64(self, n: int) -> np.ndarray[Any, np.dtype[np.uint64]]:
            return np.array([script.pop(0) for _ in range(n)], dtype=np.uint64)

    assert inverse_cdf(np.array([0]), [[1], [2]], 3, Scripted()).tolist() == [cell]
    assert not script


@settings(max_examples=60, deadline=None)
@given(
    st.one_of(
        hnp.arrays(np.uint8, st.integers(0, 60)),
        hnp.arrays(np.uint16, st.integers(0, 60), elements=st.integers(0, 9)),
        hnp.arrays(np.uint32, st.integers(0, 60)),
        hnp.arrays(np.uint64, st.integers(0, 60)),
        hnp.arrays(np.uint8, st.tuples(st.integers(0, 40), st.integers(9, 26)), elements=st.integers(0, 2)),
    )
)
def test_counting_agrees_with_unique(keys: np.ndarray[Any, Any]) -> None:
    expected_keys, expected_counts = np.unique(keys, return_counts=True, axis=0)
    unique, counts = count_keys(keys)
    assert unique.dtype == keys.dtype and counts.dtype == np.int64
    assert np.array_equal(unique, expected_keys) and np.array_equal(counts, expected_counts)
    twice, sums = count_keys(np.concatenate([unique, unique]), np.concatenate([counts, 2 * counts]))
    assert np.array_equal(twice, unique) and np.array_equal(sums, 3 * counts)


def test_rows_with_a_common_beginning_are_sorted_by_their_ends() -> None:
    rng = np.random.default_rng(0)
    keys = np.zeros((5000, 33), dtype=np.uint8)
    keys[:, [0, 8, 17, 32]] = rng.integers(0, 3, (5000, 4))
    unique, counts = count_keys(keys)
    expected = np.unique(keys, axis=0, return_counts=True)
    assert np.array_equal(unique, expected[0]) and np.array_equal(counts, expected[1])


def test_impossible_draws_are_refused_without_naming_an_answer() -> None:
    words = Words()
    for codes in (np.array([0, 917]), np.array([-1, 0])):
        for draw in (
            lambda codes=codes: subset_masks(codes, 5, words, "uniform"),
            lambda codes=codes: symmetric(codes, 5, 1, words),
            lambda codes=codes: inverse_cdf(codes, [[1, 1]], 1, words),
        ):
            with pytest.raises(AnswerError) as refusal:
                draw()
            assert "917" not in str(refusal.value)
    one = np.array([0])
    with pytest.raises(ParameterError, match="at least 4"):
        subset_masks(one, 3, words, "uniform")
    for sizes, contains in (({0: 1}, True), ({6: 1}, True), ({5: 1}, False), ({2: 0}, True)):
        with pytest.raises(ParameterError):
            subset_masks(one, 5, words, sizes, contains)
    with pytest.raises(ParameterError, match="uniform"):
        subset_masks(one, 5, words, "half")
    with pytest.raises(ParameterError, match="sum to"):
        inverse_cdf(one, [[1], [1]], 3, words)


def test_no_answers_give_no_reports() -> None:
    none = np.zeros(0, dtype=np.int64)
    assert subset_masks(none, 5, Words(), "uniform").shape == (0,)
    assert subset_masks(none, 70, Words(), "uniform").shape == (0, 9)
    assert symmetric(none, 5, 1, Words()).size == 0
    assert inverse_cdf(none, [[1, 1]], 1, Words()).size == 0


def test_the_sizes_of_wide_subsets_are_binomial() -> None:
    """Uniform design over 100 categories: |A| - 1 is Binomial(99, 1/2), but for events of chance 2**-92."""
    masks = subset_masks(np.arange(50_000) % 100, 100, Words(seed=6), "uniform")
    size = np.bitwise_count(masks).sum(axis=1).astype(float)
    spread = ((size - 50.5) ** 2).sum() / (99 / 4)
    assert chi2.sf(spread, 50_000) > FALSE_ALARM and chi2.cdf(spread, 50_000) > FALSE_ALARM
