"""Exact choices: golden streams, exhaustive laws, and the bulk words against the same law."""

import os
from collections.abc import Callable
from decimal import Context, Decimal
from fractions import Fraction
from itertools import combinations
from math import comb, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from reticent.choose import (
    ByteSource,
    Source,
    Words,
    enumerate_law,
    exp_lower_bound,
    from_os,
    log_upper_bound,
    seeded,
)
from reticent.errors import ParameterError

WORD = 2**64
FALSE_ALARM = 1e-7
"""Chance that one chi-square test below fails by bad luck (20 here: 2e-6 of the suite's budget of 2e-5)."""


def grr_threshold(epsilon: Fraction, n_categories: int) -> int:
    bound = exp_lower_bound(epsilon)
    return int(WORD * bound / (bound + n_categories - 1))


def subset_selection(answer: int, n_categories: int, size: int, threshold: int, source: Source) -> tuple[int, ...]:
    """Ye and Barg's subset selection written on the primitives alone."""
    hit = source.bern(threshold)
    others = source.subset(n_categories - 1, size - hit)
    return tuple(sorted([r + (r >= answer) for r in others] + [answer] * hit))


def test_threshold_of_randomized_response_is_the_golden_integer() -> None:
    assert grr_threshold(Fraction(1), 4) == 8768971294881393556


def test_subset_selection_reproduces_the_golden_stream() -> None:
    bound = exp_lower_bound(Fraction(1))
    threshold = int(WORD * 3 * bound / (3 * bound + 7))
    source = seeded(b"ldp-test")
    reports = [subset_selection(answer, 10, 3, threshold, source) for answer in range(5)]
    assert reports == [(2, 5, 6), (1, 7, 8), (2, 7, 9), (5, 8, 9), (3, 6, 9)]


def test_local_hashing_reproduces_the_golden_stream() -> None:
    prime, buckets = 2**31 - 1, 4
    threshold = grr_threshold(Fraction(1), buckets)
    source = seeded(b"ldp-test")
    reports = []
    for answer in (0, 7, 1000):
        a, b, c = (source.below(prime) for _ in range(3))
        bucket = (((a * answer + b) % prime) * answer + c) % prime % buckets
        if not source.bern(threshold):
            other = source.below(buckets - 1)
            bucket = other + (other >= bucket)
        reports.append((a, b, c, bucket))
    assert reports == [
        (1733367013, 1524610595, 1716045460, 0),
        (144145405, 1528518915, 1308462992, 2),
        (2027462282, 2075462194, 1720431036, 2),
    ]


def test_the_law_of_subset_selection_is_exact() -> None:
    threshold = WORD * 3 // 4
    law = enumerate_law(lambda source: subset_selection(2, 5, 2, threshold, source))
    for report in combinations(range(5), 2):
        expected = Fraction(3, 4) / 4 if 2 in report else Fraction(1, 4) / comb(4, 2)
        assert law.pop(report) == expected
    assert not law


@pytest.mark.parametrize(
    ("draw", "expected"),
    [
        (lambda s: s.bern(2**62), {False: Fraction(3, 4), True: Fraction(1, 4)}),
        (lambda s: s.bern(WORD), {True: Fraction(1)}),
        (lambda s: s.below(3), {0: Fraction(1, 3), 1: Fraction(1, 3), 2: Fraction(1, 3)}),
        (lambda s: s.subset(3, 2), dict.fromkeys([(0, 1), (0, 2), (1, 2)], Fraction(1, 3))),
        (lambda s: s.pick([1, 0, 3]), {0: Fraction(1, 4), 2: Fraction(3, 4)}),
        (lambda s: s.below(2) and s.below(3), {0: Fraction(2, 3), 1: Fraction(1, 6), 2: Fraction(1, 6)}),
        (lambda s: "constant", {"constant": Fraction(1)}),
    ],
)
def test_enumerated_laws(draw: Callable[[Source], object], expected: dict[object, Fraction]) -> None:
    assert enumerate_law(draw) == expected


@pytest.mark.parametrize("threshold", [0, 1, 2**56, 3 * 2**62, WORD - 1, WORD])
def test_bern_compares_bytes_with_the_threshold(threshold: int) -> None:
    """Fed the eight bytes of r, `bern` is true exactly when r < threshold."""
    for r in {0, threshold - 1, threshold, threshold + 1, WORD - 1}:
        if 0 <= r < WORD:
            stream = iter(r.to_bytes(8, "big"))
            source = ByteSource(lambda n, stream=stream: bytes(next(stream) for _ in range(n)))
            assert source.bern(threshold) == (r < threshold)


@pytest.mark.parametrize(
    ("draw", "n_outcomes"),
    [
        (lambda s: s.below(6), 6),
        (lambda s: s.subset(6, 3), 20),
        (lambda s: s.subset(5, 0), 1),
        (lambda s: (s.bern(3 * 2**62), s.pick([1, 2, 5])), 6),
    ],
)
def test_a_stream_of_bytes_follows_its_law(draw: Callable[[Source], object], n_outcomes: int) -> None:
    law = enumerate_law(draw)
    assert len(law) == n_outcomes
    source, n = seeded(b"law"), 20_000
    seen = dict.fromkeys(law, 0)
    for _ in range(n):
        seen[draw(source)] += 1
    if n_outcomes > 1:
        assert chisquare(list(seen.values()), [float(n * law[z]) for z in seen]).pvalue > FALSE_ALARM


def test_the_operating_system_source_draws() -> None:
    assert 0 <= from_os().below(10) < 10


def test_words_are_one_stream_whatever_the_order_of_asking() -> None:
    whole = Words(seed="golden").u8(100)
    parts = Words(seed="golden")
    assert np.array_equal(whole, np.concatenate([parts.u8(3), parts.u16(6).view(np.uint8), parts.u8(85)]))
    assert whole[:8].tolist() == [181, 194, 23, 88, 69, 69, 163, 242]
    assert not np.array_equal(Words(seed=1).u8(16), Words(seed="1").u8(16))
    assert not np.array_equal(Words().u8(16), Words().u8(16))


def test_words_across_blocks_do_not_repeat() -> None:
    words = Words(seed=3).u64(100_000)
    assert np.unique(words).size == words.size


def test_a_forked_process_takes_a_fresh_key(monkeypatch: pytest.MonkeyPatch) -> None:
    words = Words()
    stream = words._stream
    monkeypatch.setattr(os, "getpid", lambda: -1)
    words.u8(1)
    assert words._stream is not stream
    repeatable = Words(seed=1)
    monkeypatch.undo()
    assert np.array_equal(repeatable.u8(4), Words(seed=1).u8(4))


@pytest.mark.parametrize("m", [1, 2, 3, 5, 200, 256, 257, 1000])
def test_bulk_below_is_uniform(m: int) -> None:
    n = 200 * m + 1000
    drawn = Words(seed=m).below(m, n)
    assert drawn.dtype == np.min_scalar_type(m - 1)
    assert drawn.max() < m
    if m > 1:
        assert chisquare(np.bincount(drawn, minlength=m)).pvalue > FALSE_ALARM


@pytest.mark.parametrize("m", [2**32 - 1, 2**32, 2**33 + 1, 2**63 + 1, WORD])
def test_bulk_below_stays_uniform_for_large_ranges(m: int) -> None:
    drawn = Words(seed=m).below(m, 20_000)
    assert int(drawn.max()) < m
    eighths = (drawn.astype(np.float64) / (m / 8)).astype(int)
    assert chisquare(np.bincount(eighths, minlength=8)).pvalue > FALSE_ALARM


def test_bulk_below_uses_each_word_exactly() -> None:
    """All 65,536 words, less those drawn again, land equally often on each of 200 integers."""

    class Every(Words):
        def u16(self, n: int) -> np.ndarray:
            return np.arange(n, dtype=np.uint16)

    kept, again = Every(seed=0)._scaled(200, 2**16)
    counts = np.bincount(kept[~again], minlength=200)
    assert set(counts.tolist()) == {2**16 // 200}


@pytest.mark.parametrize("share", [0.0, 2**-20, 0.25, 0.4768, 1.0])
def test_bulk_bern_has_its_rate(share: float) -> None:
    n = 200_000
    hits = int(Words(seed=9).bern(int(share * WORD), n).sum())
    if share in (0.0, 1.0):
        assert hits == n * share
    else:
        assert abs(hits - n * share) < 5 * (n * share * (1 - share)) ** 0.5 + 3


def test_bulk_bern_decides_ties_by_the_bits_that_follow() -> None:
    class Tied(Words):
        def u16(self, n: int) -> np.ndarray:
            return np.full(n, 7, dtype=np.uint16)

    threshold = (7 << 48) + 2**46
    assert abs(Tied(seed=4).bern(threshold, 40_000).mean() - 0.25) < 0.012


@given(st.fractions(min_value=Fraction(1, 1000), max_value=30, max_denominator=10**6))
def test_exp_lower_bound_is_below_and_close(epsilon: Fraction) -> None:
    wide = Context(prec=90)
    exact = Fraction(wide.exp(wide.divide(Decimal(epsilon.numerator), Decimal(epsilon.denominator))))
    bound = exp_lower_bound(epsilon)
    assert 0 < (exact - bound) / exact < Fraction(1, 2**150)


@given(st.fractions(min_value=Fraction(1, 10**6), max_value=10**6))
def test_log_upper_bound_rounds_up(ratio: Fraction) -> None:
    bound = log_upper_bound(ratio)
    assert abs(bound - log(ratio)) <= 1e-15 * max(1.0, abs(bound))
    wide = Context(prec=90)
    exact = Fraction(wide.ln(wide.divide(Decimal(ratio.numerator), Decimal(ratio.denominator))))
    assert Fraction(bound) >= exact - Fraction(1, 10**80)


@pytest.mark.parametrize(
    "misuse",
    [
        lambda: from_os().bern(-1),
        lambda: from_os().bern(WORD + 1),
        lambda: from_os().below(0),
        lambda: from_os().subset(3, 4),
        lambda: from_os().pick([0, 0]),
        lambda: from_os().pick([2, -1]),
        lambda: Words().below(WORD + 1, 1),
        lambda: exp_lower_bound(Fraction(31)),
        lambda: log_upper_bound(Fraction(0)),
    ],
)
def test_impossible_choices_are_refused(misuse: Callable[[], object]) -> None:
    with pytest.raises(ParameterError):
        misuse()
