"""What distributions refuse, unknown thresholds, and documents and pictures of the result."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import stats

import reticent as rt
from reticent.channel.ranges import Ranges
from reticent.coverage import mean_coverage
from reticent.distributions.moment import Moment
from reticent.distributions.tallied import TalliedDistribution
from reticent.domain import Categorical, Numbers
from reticent.errors import EstimateError, ParameterError
from reticent.estimators.distributions import distribution
from reticent.estimators.interval_censoring import npmle
from reticent.mechanisms.ranges import case_one, case_two, ring
from reticent.plots import svg
from reticent.thresholds import cdf_interval
from tests.test_distributions import AGE, INF, SIX, TWELVE, Floats, bell, reports


def test_what_cannot_be_read_as_a_number_is_refused() -> None:
    letters = rt.uniform_subset(Categorical("letter", ["a", "b", "c", "d"]))
    with pytest.raises(EstimateError, match="has categories, not numbers"):
        distribution(rt.tally(letters.draw_many(["a", "b"], seed=1)))
    with pytest.raises(EstimateError, match="at least one tally"):
        distribution()
    with pytest.raises(EstimateError, match="different domains"):
        distribution(reports(case_one(SIX), 9, 1), reports(case_one(TWELVE), 9, 1, bell(12)))
    with pytest.warns(UserWarning, match="leave out edges"):
        coarse = case_one(SIX, [1, 0, 1, 0, 1])
    with pytest.raises(EstimateError, match="rank"):
        distribution(reports(coarse, 50, 1))


def test_methods_and_points_that_are_not_allowed() -> None:
    law = distribution(reports(case_two(SIX), 200, 17))
    with pytest.raises(EstimateError, match="cube-root"):
        law.confidence_interval(method="bootstrap")
    with pytest.raises(ParameterError, match='allowed: "profile", "wald", "guaranteed"'):
        law.confidence_interval(method="score")
    with pytest.raises(EstimateError, match="one threshold per person"):
        law.confidence_interval(method="guaranteed")
    with pytest.raises(ParameterError, match="between 0 and 1"):
        law.band(1.5)
    with pytest.raises(ParameterError, match="list of numbers"):
        law.confidence_interval(at=[np.nan])
    with pytest.raises(ParameterError, match="inside"):
        law.quantile_interval(1.0)
    with pytest.raises(ParameterError, match="whole number"):
        law.moment_estimate(0)
    with pytest.raises(EstimateError, match="carries no reports"):
        Moment(1.0, 0.1, least=0.5, greatest=1.5, bounds=(0.0, 2.0)).placement_interval()
    fine = Numbers("x", 0, 202, edges=range(1, 202))
    many = distribution(reports(case_one(fine), 60, 18, bell(202)))
    with pytest.raises(ParameterError, match="above 200"):
        many.confidence_interval()
    assert many.band(at=[101.0]).at.tolist() == [101.0]
    thirty = Numbers("x", 0, 30, edges=range(1, 30))
    assert len(distribution(reports(case_one(thirty), 60, 18, bell(30))).band().at) == 20


def test_reports_that_all_agree_say_nothing_else() -> None:
    tally = rt.tally(case_one(AGE).draw_many([99] * 50, seed=2))
    with pytest.warns(UserWarning, match="name the same side"):
        law = distribution(tally)
    assert law.degenerate and law.mass.tolist() == [1.0]
    for ask in (law.confidence_interval, law.band, law.moment_estimate, lambda: law.quantile_interval(0.5)):
        with pytest.raises(EstimateError, match="agree|one interval only"):
            ask()
    sure = law.confidence_interval(method="guaranteed", at=[45.0])
    assert sure.low[0] == 0 and 0 < sure.high[0] < 0.5
    assert law.to_json()["mean"] is None and law.to_json()["coverage"] == []
    assert "nothing else is known" in law.summary() and law.plot().axes
    # A ring whose reports all hold one number tells it.
    constant = distribution(rt.tally(ring(TWELVE, 0.2).draw_many([3.5] * 400, seed=2)))
    assert not constant.degenerate and constant.left.tolist() == [3.0]
    assert constant.moment_estimate().confidence_interval().high[0] < 5


# Intervals of unknown origin


def two_thresholds(n: int, seed: int) -> tuple[Floats, Floats]:
    random = np.random.default_rng(seed)
    u, y = np.sort(random.uniform(-3, 3, (n, 2)), axis=1), random.normal(0, 1, n)
    low = np.where(y <= u[:, 0], -INF, np.where(y <= u[:, 1], *u.T))
    return low, np.where(y <= u[:, 0], u[:, 0], np.where(y <= u[:, 1], u[:, 1], INF))


def test_intervals_of_unknown_thresholds_are_asked_for_by_name() -> None:
    law = npmle(*two_thresholds(100, 1))
    with pytest.raises(EstimateError, match="heuristic and, as far as is known, conservative"):
        law.confidence_interval(at=0.0)
    with pytest.raises(EstimateError, match="cube-root"):
        law.confidence_interval(method="bootstrap", at=0.0)
    with pytest.raises(ParameterError, match='allowed: "profile"'):
        law.confidence_interval(method="wald", at=0.0)
    with pytest.raises(EstimateError, match="no counts of people"):
        npmle([0.0, 1.0, 5.0], [2.0, 3.0, 6.0], [0.5, 1.5, 1.0]).confidence_interval(method="profile", at=1.5)
    with pytest.raises(ParameterError, match="no grid"):
        law.confidence_interval(method="profile")
    found = law.confidence_interval(method="profile", at=[-INF, -1, 0, 1, INF])
    assert found.method == "profile, heuristic"
    least, greatest = law.cdf_range([-INF, -1, 0, 1, INF])
    assert (found.low <= least).all() and (greatest <= found.high).all()
    assert (np.diff(found.low) >= 0).all() and (np.diff(found.high) >= 0).all()
    assert (found.low[0], found.high[0], found.low[-1], found.high[-1]) == (0, 0, 1, 1)
    with pytest.warns(UserWarning, match="agree on one interval"):
        nothing = npmle([0.0, 1.0], [INF, INF])
    with pytest.raises(EstimateError, match="reports agree"):
        nothing.confidence_interval(method="profile", at=0.5)


def test_the_heuristic_profile_is_that_of_thresholds_where_there_is_one_each() -> None:
    random = np.random.default_rng(3)
    u = random.normal(0, 1.5, 200).round(1)
    below = random.normal(0, 1, 200) <= u
    law = npmle(np.where(below, -INF, u), np.where(below, u, INF))
    at = [-1.0, 0.0, 0.75]
    found = law.confidence_interval(method="profile", at=at)
    known = cdf_interval(u, below, at, on_grid=True)
    np.testing.assert_allclose(found.low, known.low, atol=1e-6)
    np.testing.assert_allclose(found.high, known.high, atol=1e-6)


def test_the_heuristic_profile_covers_at_least_as_often_as_it_says() -> None:
    """60 samples of 100 people with two thresholds each, level 0.8: at least 32 cover; false alarms below 1e-5."""
    hits = 0
    for run in range(60):
        found = npmle(*two_thresholds(100, 100 + run)).confidence_interval(0.8, "profile", at=0.5)
        hits += bool(found.low[0] <= stats.norm.cdf(0.5) <= found.high[0])
    assert stats.binom.cdf(31, 60, 0.8) < 1e-5
    assert hits >= 32


# What is said


def test_coverage_stands_beside_the_estimate() -> None:
    first, second = reports(case_one(SIX), 300, 19), reports(ring(SIX, 0.2), 300, 20)
    law = distribution(first, second)
    for one, tally in zip(law.coverage, (first, second), strict=True):
        assert isinstance(tally.channel, Ranges)
        assert one.mean == pytest.approx(mean_coverage(tally.channel, law.shares.probabilities))
        assert one.least is not None and one.greatest is not None and one.least <= one.mean <= one.greatest
        assert str(one) in law.summary() and "of 100 people could have given the same report" in str(one)
    assert law.to_json()["coverage"][1]["channel"] == second.channel.name
    subset = rt.uniform_subset(Numbers("x", 0, 4, edges=[1, 2, 3]))
    told = distribution(rt.tally(subset.draw_many([0.5, 1.5, 2.5, 3.5] * 50, seed=1)))
    assert told.coverage[0].least is None and 0 < told.coverage[0].mean < 1


def test_documents_tables_and_pictures() -> None:
    law = distribution(reports(case_two(AGE), 500, 13, np.array([0.1, 0.2, 0.3, 0.3, 0.1])))
    assert isinstance(law, TalliedDistribution)
    document = json.loads(json.dumps(law.to_json(0.9), allow_nan=False))
    assert document["question"] == "age" and document["unit"] == "years" and document["missing"] == 0
    assert [row["up_to"] for row in document["cdf"]] == [30, 45, 60, 75]
    assert all(row["low"] <= row["share"] <= row["high"] for row in document["cdf"])
    mean = document["mean"]
    assert mean["placement_low"] < mean["least"] < mean["value"] < mean["greatest"] < mean["placement_high"]
    assert law.to_frame()["share"].tolist() == [row["share"] for row in law.to_json()["cdf"]]
    text = law.summary()
    assert "95% intervals (profile)" in text and "half are up to" in text and "wherever in their cells they lie" in text
    assert "<td>up to 30</td>" in law._repr_html_() and "500 reports" in repr(law)
    figure = law.plot()
    words = " ".join(part.get_text() for own in figure.axes for part in own.texts)
    assert "smoothed" in words and "Most common reports" in words and len(figure.axes) == 3
    assert svg(figure, "Half are up to 60 years").startswith("<svg")
    free = npmle([0, 6, 7, 8], [7, 10, 7, INF])
    assert "half" in free.summary() and "<table>" in free._repr_html_() and len(free.plot().axes) == 1
