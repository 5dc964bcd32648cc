"""The law of a number from tallies: agreement with other solvers, intervals that hold, what is refused, what is said."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from scipy.optimize import brentq

import reticent as rt
from reticent.channel.ranges import NULL, Ranges
from reticent.distributions.limits import SMALL, LawProfile, LawWald, allowed_fall, cells_of_quantile, upper_end
from reticent.distributions.tallied import cell_ends
from reticent.domain import Numbers
from reticent.errors import EstimateError
from reticent.estimators.distributions import distribution
from reticent.estimators.interval_censoring import npmle, npmle_on_edges
from reticent.intervals import profile_contrast
from reticent.mechanisms.ranges import case_one, case_two, ring
from reticent.mechanisms.selections import selective
from reticent.rows import DenseRows
from reticent.tallies import PatternTally, stack
from reticent.thresholds import cdf_interval

Floats = NDArray[np.float64]
Seed = int | list[int]
INF = np.inf

SIX = Numbers("x", 0, 6, edges=[1, 2, 3, 4, 5])
TWELVE = Numbers("x", 0, 12, edges=range(1, 12))
AGE = Numbers("age", 18, 99, unit="years", step=1, edges=[30, 45, 60, 75])
MASSES = np.array([0.08, 0.12, 0.25, 0.3, 0.15, 0.1])


def people(domain: Numbers, masses: Floats, n: int, seed: Seed) -> Floats:
    """Values at the middles of cells drawn from the masses."""
    left, right = cell_ends(domain)
    middles = (left + right) / 2 if domain.step is None else np.floor((left + right) / 2)
    return np.random.default_rng(seed).choice(middles, size=n, p=masses)


def reports(channel: Ranges, n: int, seed: Seed, masses: Floats = MASSES) -> PatternTally:
    number = int(np.random.SeedSequence(seed).generate_state(1)[0])
    tally = rt.tally(channel.draw_many(people(channel.domain, masses, n, seed), seed=number))
    assert isinstance(tally, PatternTally)
    return tally


def bell(n_cells: int) -> Floats:
    masses = np.diff(stats.norm(n_cells / 2, n_cells / 6).cdf(np.arange(n_cells + 1)))
    return np.asarray(masses / masses.sum())


# The fit


def as_intervals(tally: PatternTally) -> dict[str, Any]:
    """The reports of a tally as intervals with weights, and "no range" as nulls."""
    channel = tally.channel
    assert isinstance(channel, Ranges)
    bounds, told = channel.domain.boundaries, tally.keys != NULL
    pieces = [channel.pieces(key) for key in tally.keys[told].tolist()]
    nulls = [float(chance) for chance in channel.no_range]
    return {
        "low": [bounds[a] for own in pieces for a, _ in own],
        "high": [bounds[b] for own in pieces for _, b in own],
        "owner": [place for place, own in enumerate(pieces) for _ in own],
        "weights": tally.counts[told],
        **({} if told.all() else {"nulls": [nulls], "null_weights": tally.counts[~told]}),
    }


@pytest.mark.parametrize(
    "channel",
    [case_one(TWELVE), case_two(TWELVE), ring(TWELVE, 0.2), selective(ring(TWELVE, 0.2), 0.5)],
    ids=lambda channel: channel.title,
)
def test_the_law_is_that_of_the_solver_of_intervals(channel: Ranges) -> None:
    tally = reports(channel, 800, 5, bell(12))
    law = distribution(tally)
    given = as_intervals(tally)
    other = npmle_on_edges(edges=channel.domain.boundaries, **given)
    assert law.converged and law.unique and other.unique
    assert law.left.tolist() == other.left.tolist() and law.right.tolist() == other.right.tolist()
    np.testing.assert_allclose(law.mass, other.mass, atol=2e-5)
    at = np.arange(1.0, 12.0)
    found, known = law.confidence_interval(), other.confidence_interval(at=at)
    np.testing.assert_allclose(found.low, known.low, atol=2e-6)
    np.testing.assert_allclose(found.high, known.high, atol=2e-6)
    assert found.method == known.method == "profile"
    if "nulls" not in given:
        # Without a grid the law lives on fewer cells, as likely, and gives every report the same probability.
        free = npmle(**given, domain=(0.0, 12.0))
        assert free.log_likelihood == pytest.approx(other.log_likelihood, abs=2e-6)
        mine, theirs = (one.cdf(given["high"]) - one.cdf(given["low"]) for one in (law, free))
        np.testing.assert_allclose(
            np.bincount(given["owner"], weights=mine), np.bincount(given["owner"], weights=theirs), atol=2e-5
        )


def test_two_designs_are_read_together() -> None:
    first, second = reports(case_one(SIX), 500, 1), reports(ring(SIX, 0.2), 700, 2)
    law = distribution(first, second)
    shares = rt.maximum_likelihood(first, second)
    assert law.n == 1200 and law.tallies == (first, second) and law.edges is not None
    np.testing.assert_array_equal(law.shares.probabilities, shares.probabilities)
    assert law.cdf(3.0) == pytest.approx(shares.probabilities[:3].sum(), abs=1e-12)
    own = distribution(first).confidence_interval(at=3.0)
    both = law.confidence_interval(at=3.0)
    assert both.high[0] - both.low[0] < own.high[0] - own.low[0]


@pytest.mark.parametrize("seed", range(2))
def test_rings_and_selected_rings_recover_the_law(seed: int) -> None:
    """F at 11 edges, 40,000 reports, bands at 1 − 1e-6: false alarms below 1e-5 over all four."""
    masses, truth = bell(12), np.cumsum(bell(12))[:-1]
    for channel in (ring(TWELVE, 0.2, pilot=masses), selective(ring(TWELVE, 0.2, pilot=masses), 0.5, pilot=masses)):
        law = distribution(reports(channel, 40_000, 10 + seed, masses))
        band = law.band(1 - 1e-6)
        assert (band.low <= truth).all() and (truth <= band.high).all()
        assert np.abs(law.cdf(np.arange(1.0, 12.0)) - truth).max() < 0.05


def test_silence_left_out_would_bias_the_law() -> None:
    """Section 1.4: the row of "no range" is not constant for thresholds on a line."""
    masses = bell(12)
    with pytest.warns(UserWarning, match="do not tell these cells apart"):
        channel = selective(case_two(TWELVE), 0.55, 0.7, pilot=masses)
    assert len({*channel.no_range}) > 1
    gentle = selective(case_two(TWELVE), 0.3, 0.7, pilot=masses)
    tally, truth = reports(gentle, 100_000, 3, masses), np.cumsum(masses)
    kept = tally.keys != NULL
    deaf = distribution(PatternTally(gentle, tally.keys[kept], tally.counts[kept]))
    edges = np.arange(1.0, 13.0)
    assert np.abs(distribution(tally).cdf(edges) - truth).max() < 0.02
    assert np.abs(deaf.cdf(edges) - truth).max() > 0.05


# Limits


def test_upper_ends_are_roots_of_the_likelihood_ratio() -> None:
    for hits, n in ((3, 10), (0, 10), (10, 10), (499, 500)):

        def fall(theta: float, hits: int = hits, n: int = n) -> float:
            some = hits * np.log(hits / n / theta) if hits else 0.0
            rest = (n - hits) * np.log((1 - hits / n) / (1 - theta)) if hits < n else 0.0
            return float(2 * (some + rest))

        def held(a: float, hits: int = hits, n: int = n) -> tuple[float, float]:
            theta = (hits + a) / (n + a)
            return theta, -fall(theta) / 2

        for guess in (0.01, 3.0, 1000.0):
            found = upper_end(held, 0.0, allowed_fall(0.95), guess)
            if hits == n:
                assert found == 1.0
            else:
                start = max(hits / n, 1e-12)
                assert found == pytest.approx(
                    brentq(lambda t: fall(t) - allowed_fall(0.95), start, 1 - 1e-12), abs=1e-6
                )


def test_profiles_agree_with_the_profile_of_a_contrast() -> None:
    tally = reports(case_two(SIX), 300, 4)
    law = distribution(tally)
    rows, counts = stack([tally])
    assert law.shares.fit is not None
    for c in (
        *(np.arange(6) < np.arange(1, 6)[:, None]).astype(float),
        np.arange(6) + 0.5,
        np.array([3.0, -1, 0, 2, 2, 1]),
    ):
        profile = LawProfile(rows, counts, law.shares.probabilities, law.log_likelihood)
        known = profile_contrast([tally], law.shares.fit, c, 0.9)
        assert (profile.least(c, 0.9), profile.greatest(c, 0.9)) == pytest.approx(known, abs=1e-6)
        assert profile.interval(c)(0.9) == (profile.least(c, 0.9), profile.greatest(c, 0.9))
    constant = np.full(6, 2.0)
    assert (profile.least(constant, 0.9), profile.greatest(constant, 0.9)) == (2.0, 2.0)


def test_rows_in_runs_and_in_a_matrix_give_the_same_limits() -> None:
    sixty = Numbers("x", 0, 60, edges=range(1, 60))
    tally = reports(case_two(sixty), 2500, 7, bell(60))
    law = distribution(tally)
    rows, counts = stack([tally])
    assert rows.n_rows * 60 > SMALL
    both = [
        LawProfile(own, counts, law.shares.probabilities, law.log_likelihood) for own in (rows, DenseRows(rows.dense()))
    ]
    for c in ((np.arange(60) < 22).astype(np.float64), np.arange(60.0)):
        for end in ("least", "greatest"):
            one, other = (getattr(profile, end)(c, 0.95) for profile in both)
            assert one == pytest.approx(other, abs=1e-5)


def test_one_threshold_has_the_intervals_of_thresholds() -> None:
    tally = reports(case_one(SIX), 200, 6)
    channel = tally.channel
    assert isinstance(channel, Ranges)
    start, stop = channel.arcs(tally.keys)
    threshold, below = np.where(start == 0, stop, start).astype(float), start == 0
    at = [1.0, 2.0, 3.0, 3.5, 5.0]
    law = distribution(tally)
    for found, known in (
        (law.confidence_interval(at=at), cdf_interval(threshold, below, at, counts=tally.counts, on_grid=True)),
        (
            law.confidence_interval(method="guaranteed", at=at),
            cdf_interval(threshold, below, at, counts=tally.counts, method="guaranteed"),
        ),
    ):
        np.testing.assert_allclose(found.low, known.low, atol=1e-6)
        np.testing.assert_allclose(found.high, known.high, atol=1e-6)


def holds(hits: int, runs: int, level: float) -> bool:
    """Whether a count of covering intervals is one that happens with probability 1 − 1e-7 at the level."""
    low, high = stats.binom.ppf([5e-8, 1 - 5e-8], runs, level)
    return bool(low <= hits <= high)


@pytest.mark.parametrize("channel", [case_one(SIX), case_two(SIX)], ids=lambda channel: channel.title)
def test_intervals_cover_as_often_as_they_say(channel: Ranges) -> None:
    """120 samples of 300 people at level 0.8: F at an edge twice, and the mean; false alarms below 1e-6 in all."""
    runs, level, middle = 120, 0.8, np.arange(6) + 0.5
    hits = np.zeros(3, dtype=int)
    for run in range(runs):
        law = distribution(reports(channel, 300, [8, run]))
        mean = law.moment_estimate()
        around, anywhere = mean.confidence_interval(level), mean.placement_interval(level)
        assert anywhere.low[0] < around.low[0] < mean.value < around.high[0] < anywhere.high[0]
        profile = law.confidence_interval(level, at=3.0)
        wald = law.confidence_interval(level, "wald", at=3.0) if law.mass.size == 6 else profile
        for place, (interval, truth) in enumerate(
            ((profile, MASSES[:3].sum()), (wald, MASSES[:3].sum()), (around, MASSES @ middle))
        ):
            hits[place] += interval.low[0] <= truth <= interval.high[0]
    assert all(holds(int(hit), runs, level) for hit in hits), hits


def test_bands_and_quantiles_hold() -> None:
    """40 samples at level 0.9: bands hold together, and medians, in at least 26; false alarms below 1e-5 in all."""
    truth, band_hits, median_hits = np.cumsum(MASSES)[:-1], 0, 0
    for run in range(40):
        law = distribution(reports(case_two(SIX), 200, [9, run]))
        band, median = law.band(0.9), law.quantile_interval(0.5, 0.9)
        band_hits += bool(((band.low <= truth) & (truth <= band.high)).all())
        median_hits += bool(median.low[0] < 4 <= median.high[0])  # F(3) = 0.45, F(4) = 0.75
    assert 2 * stats.binom.cdf(25, 40, 0.9) < 1e-5
    assert min(band_hits, median_hits) >= 26


def test_quantile_intervals_invert_the_intervals_at_the_edges() -> None:
    law = distribution(reports(ring(TWELVE, 0.2), 400, 11, bell(12)))
    each, edges = law.confidence_interval(0.9), np.arange(1.0, 12.0)
    assert (np.diff(each.low) >= -1e-7).all() and (np.diff(each.high) >= -1e-7).all()
    for q in (0.05, 0.25, 0.5, 0.8, 0.99):
        found = law.quantile_interval(q, 0.9)
        low, high = edges[each.high < q], edges[each.low >= q]
        assert found.low[0] == (low[-1] if len(low) else 0.0)
        assert found.high[0] == (high[0] if len(high) else 12.0)
    by_hand = LawWald(np.array([0.5, 0.3, 0.2]), np.diag([0.01, 0.0, 0.01]))
    assert cells_of_quantile(by_hand, 3, 0.5, 0.95) == (0, 1)
    assert cells_of_quantile(by_hand, 3, 0.99, 0.95) == (1, 2)


def test_limits_between_edges_are_those_of_the_neighbours() -> None:
    law = distribution(reports(case_two(SIX), 300, 12))
    found = law.confidence_interval(at=[-1, 0, 0.5, 2, 2.5, 3, 5.5, 6, 7])
    edges = law.confidence_interval()
    assert found.low.tolist() == [0, 0, 0, edges.low[1], edges.low[1], edges.low[2], edges.low[4], 1, 1]
    assert found.high.tolist() == [
        0,
        edges.high[0],
        edges.high[0],
        edges.high[1],
        edges.high[2],
        edges.high[2],
        1,
        1,
        1,
    ]
    band = law.band(at=[2.0, 4.0])
    bonferroni = law.confidence_interval(0.975, at=[2.0, 4.0])
    assert band.low.tolist() == bonferroni.low.tolist() and band.high.tolist() == bonferroni.high.tolist()


def test_whole_numbers_have_closed_cells() -> None:
    assert [ends.tolist() for ends in cell_ends(AGE)] == [[18, 31, 46, 61, 76], [30, 45, 60, 75, 99]]
    law = distribution(reports(case_two(AGE), 500, 13, np.array([0.1, 0.2, 0.3, 0.3, 0.1])))
    assert law.closed and law.mass.size == 5
    total = np.cumsum(law.mass)
    least, greatest = law.cdf_range([17, 18, 30, 31, 45, 60.5, 61, 98, 99])
    np.testing.assert_allclose(least, [0, 0, total[0], total[0], total[1], total[2], total[2], total[3], 1])
    np.testing.assert_allclose(
        greatest, [0, total[0], total[0], total[1], total[1], total[2], total[3], 1, 1], atol=1e-12
    )
    found = law.confidence_interval(at=[30, 31, 44, 45])
    edges = law.confidence_interval()
    assert found.low.tolist() == [edges.low[0], edges.low[0], edges.low[0], edges.low[1]]
    assert found.high.tolist() == [edges.high[0], edges.high[1], edges.high[1], edges.high[1]]
    assert law.moment_range() == pytest.approx((law.mass @ law.left, law.mass @ law.right))
    single = Numbers("children", 0, 4, step=1)
    few = distribution(reports(ring(single, 0.1), 500, 1, np.full(5, 0.2)))
    assert few.moment_range() == pytest.approx((few.mean(), few.mean()))


# Moments


def test_moments_carry_their_error_and_their_range() -> None:
    law = distribution(reports(case_two(SIX), 400, 14))
    middle = np.arange(6) + 0.5
    mean, square = law.moment_estimate(), law.moment_estimate(2)
    assert mean.value == pytest.approx(law.mean()) and square.value == pytest.approx(law.moment(2))
    assert (mean.least, mean.greatest) == pytest.approx(law.moment_range())
    covariance = law.shares.covariance
    assert covariance is not None
    assert mean.standard_error == pytest.approx(np.sqrt(middle @ covariance @ middle))
    inner, outer = mean.confidence_interval(), mean.placement_interval()
    # The middles are half a cell from either end, so all limits move by half a cell.
    assert (outer.low[0], outer.high[0]) == pytest.approx((inner.low[0] - 0.5, inner.high[0] + 0.5), abs=1e-5)
    assert (inner.method, outer.method) == ("profile", "profile, any placement")
    half = (inner.high[0] - inner.low[0]) / 2
    assert half == pytest.approx(1.96 * mean.standard_error, rel=0.05)


def test_no_standard_error_where_a_cell_is_empty_but_a_profile() -> None:
    masses = np.append(bell(12)[:6], np.zeros(6)) * 2
    law = distribution(reports(ring(TWELVE, 0.2), 300, 15, masses / masses.sum()))
    assert law.mass.size < 12
    mean = law.moment_estimate()
    assert np.isnan(mean.standard_error)
    assert 0 < mean.confidence_interval().low[0] < mean.value < mean.confidence_interval().high[0] < 12
    assert mean.to_json()["standard_error"] is None
    with pytest.raises(EstimateError, match="cells have an estimated mass of 0"):
        law.confidence_interval(method="wald")


def test_infinite_ends_give_quantiles_and_refuse_moments() -> None:
    wealth = Numbers("wealth", "-inf", "inf", edges=[-10, 0, 10, 20, 50])
    channel = case_two(wealth)
    law = distribution(rt.tally(channel.draw_many(np.random.default_rng(3).normal(10, 20, 500), seed=3)))
    assert law.quantile(0.5) in (10.0, 20.0) and law.domain == (-INF, INF)
    with pytest.raises(EstimateError, match="without an end"):
        law.moment_estimate()
    inside = distribution(rt.tally(channel.draw_many([5.0] * 40 + [15.0] * 40, seed=3)))
    assert np.isfinite(inside.mean())  # no mass at the ends, as far as these reports say
    with pytest.raises(EstimateError, match="infinite end"):
        inside.moment_estimate()
    document = json.loads(json.dumps(law.to_json(), allow_nan=False))
    assert document["mean"] is None and document["domain"] == [None, None]
    assert "wealth" in law.summary() and law.plot().axes


# Weights


def test_weighted_tallies_have_wald_intervals_only() -> None:
    values = people(SIX, MASSES, 600, 16)
    channel = case_two(SIX)
    sent = channel.draw_many(values, seed=16)
    equal = distribution(rt.tally(sent, weights=np.full(600, 2.0)))
    plain = distribution(rt.tally(sent))
    np.testing.assert_allclose(equal.mass, plain.mass, atol=1e-7)
    weighted = distribution(rt.tally(sent, weights=np.random.default_rng(1).uniform(0.5, 2, 600)))
    found = weighted.confidence_interval()
    covariance = weighted.shares.covariance
    assert covariance is not None and weighted.effective_n is not None and weighted.effective_n < 600
    c = (np.arange(6) < 3).astype(np.float64)
    half = stats.norm.ppf(0.975) * np.sqrt(c @ covariance @ c)
    assert found.method == "wald"
    assert found.high[2] - found.low[2] == pytest.approx(2 * half)
    assert weighted.quantile_interval(0.5).method == "wald, inverted"
    mean = weighted.moment_estimate()
    assert mean.confidence_interval().method == "wald"
    assert mean.placement_interval().low[0] < mean.confidence_interval().low[0]
    with pytest.raises(EstimateError, match="no likelihood of its counts"):
        weighted.confidence_interval(method="profile")
    with pytest.raises(EstimateError, match="one threshold per person"):
        weighted.confidence_interval(method="guaranteed")
    single = distribution(rt.tally(case_one(SIX).draw_many(values, seed=16), weights=np.full(600, 2.0)))
    with pytest.raises(EstimateError, match="Weights are not counts"):
        single.confidence_interval(method="guaranteed")


def test_a_weighted_law_with_empty_cells_is_told_without_intervals() -> None:
    values = np.random.default_rng(1).uniform(0, 3, 100)
    law = distribution(rt.tally(ring(TWELVE, 0.2).draw_many(values, seed=2), weights=np.full(100, 1.5)))
    document = law.to_json()
    assert document["interval"] == "none" and document["cdf"][0]["low"] is None
    assert document["mean"]["low"] is None and document["mean"]["least"] < document["mean"]["greatest"]
    assert "no intervals" in law.summary() and "Join cells" in law.summary()
    assert law.plot().axes and law._repr_html_()


# What is refused


def test_the_profile_of_a_contrast_stays_within_its_ends_at_many_cells() -> None:
    domain = Numbers("x", 0, 40, edges=range(1, 40))
    channel = case_one(domain)
    answers = people(domain, bell(40), 400, 3)
    shares = rt.maximum_likelihood(rt.tally(channel.draw_many(answers, seed="many cells")))
    low, high = shares.combine(np.repeat([1.0, 0.0], 20)).confidence_interval().low[0], 1.0
    assert 0.2 < low < float(shares.probabilities[:20].sum()) < high
