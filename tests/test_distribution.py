"""The law of a number known as masses on intervals: distribution functions, quantiles, moments, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from reticent.distributions.law import Distribution
from reticent.errors import EstimateError, ParameterError
from reticent.estimators.interval_censoring import npmle

INF = np.inf


LAW = Distribution(np.array([-2.0, 0.0, 3.0]), np.array([-1.0, 2.0, 3.0]), np.array([0.25, 0.5, 0.25]), 4)


def test_distribution_functions_enclose_what_is_not_known() -> None:
    least, greatest = LAW.cdf_range([-3, -2, -1.5, -1, 0, 1, 2, 2.9, 3, INF])
    assert least.tolist() == [0, 0, 0, 0.25, 0.25, 0.25, 0.75, 0.75, 1, 1]
    assert greatest.tolist() == [0, 0, 0.25, 0.25, 0.25, 0.75, 0.75, 0.75, 1, 1]
    assert LAW.cdf(1.0, "middle") == 0.75
    closed = Distribution(np.array([0.0]), np.array([1.0]), np.array([1.0]), 1, domain=(0.0, 1.0))
    assert closed.cdf(0.0, "left") == 1.0


def test_quantiles_and_moments() -> None:
    assert LAW.quantile([0.25, 0.26, 0.75, 1.0]).tolist() == [-1, 2, 2, 3]
    assert (LAW.quantile(0.5, "left"), LAW.quantile(0.5, "middle")) == (0.0, 1.0)
    assert (LAW.mean("left"), LAW.mean(), LAW.mean("right")) == (0.25, 0.875, 1.5)
    assert LAW.moment_range() == (0.25, 1.5)
    assert LAW.moment_range(2) == (0.25 * 1 + 0 + 2.25, 0.25 * 4 + 0.5 * 4 + 2.25)
    around = Distribution(np.array([-1.0]), np.array([2.0]), np.array([1.0]), 1)
    assert around.moment_range(2) == (0.0, 4.0) and around.moment_range(3) == (-1.0, 8.0)


def test_a_domain_bounds_the_mean_and_without_one_it_is_refused() -> None:
    low, high = [-INF, 2, 5, -INF], [5, INF, INF, 2]
    with pytest.raises(EstimateError, match="without an end"):
        npmle(low, high).mean()
    law = npmle(low, high, domain=(0, 10))
    assert law.left[0] == 0 and law.right[-1] == 10
    assert law.moment_range()[0] < law.mean() < law.moment_range()[1]
    assert npmle([0, 0, 5], [0, 5, 10], domain=(0, 10)).cdf(0.0) == pytest.approx(2 / 3, abs=1e-6)


def test_distribution_refuses_what_it_cannot_answer() -> None:
    nowhere: Any = "centre"
    with pytest.raises(ParameterError, match='allowed: "left", "middle", "right"'):
        LAW.cdf(0.0, nowhere)
    with pytest.raises(ParameterError, match="NaN"):
        LAW.cdf(np.nan)
    for q in (0.0, 1.5, np.nan):
        with pytest.raises(ParameterError, match="above 0 and up to 1"):
            LAW.quantile(q)
    with pytest.raises(ParameterError, match="whole number from 1"):
        LAW.moment(0)
    with pytest.raises(ValueError, match="read-only"):
        LAW.mass[0] = 1.0


def test_distributions_travel_as_json_and_frames() -> None:
    document = npmle([-INF, 0, 1], [1, 2, INF]).to_json()
    assert document["masses"][0].keys() == {"left", "right", "mass"} and document["domain"] == [None, None]
    assert document["converged"] is True and document["unique"] is True
    frame = LAW.to_frame()
    assert frame["mass"].tolist() == [0.25, 0.5, 0.25]
