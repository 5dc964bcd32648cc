"""Thousands of categories: errors that are what they say, and the whole way from answers to findings."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.stats import binom, kstest, norm

import reticent as rt
from reticent.cli import main
from reticent.estimators.linear import from_support
from reticent.precision import Form
from reticent.results import Method
from reticent.tallies import SupportTally

MANY = rt.uniform_subset(rt.Categorical("many", [str(i) for i in range(2000)]))


def many_tallies(shares: np.ndarray, n: int, replicates: int) -> list[SupportTally]:
    rng = np.random.default_rng(2000)
    labels = np.array(MANY.domain.categories)
    made = []
    for i in range(replicates):
        tally = rt.tally(MANY.draw_many(rng.choice(labels, n, p=shares), seed=i))
        assert isinstance(tally, SupportTally)
        made.append(tally)
    return made


def test_errors_over_many_categories_are_standard_normal() -> None:
    """p = 2000, n = 500: z of every category in 10 replicates, 20,000 in all, against the normal law.

    The count behind a share is binomial and moves in steps, so half a step of noise is added to it (a known seed, and a
    thousandth of the variance). Members of a uniform subset are independent but for the excluded sizes, so the z are too.
    False alarms: p < 1e-7 for each of two forms. Coverage: hits against the exact binomial chance of each interval, 5.6
    standard deviations, 2e-8 two-sided. In all below 3e-7.
    """
    n, replicates = 500, 10
    shares = 1 / np.arange(1, 2001)
    shares /= shares.sum()
    tallies = many_tallies(shares, n, replicates)
    rng = np.random.default_rng(7)
    step = 1 / (n * 0.5)  # keep − stray is 1/2
    forms: tuple[Form, ...] = ("centred", "affine")
    for form in forms:
        z = []
        for tally in tallies:
            found = rt.moments(tally, form=form)
            assert found.covariance is None and found.unconstrained is not None
            z.append((found.unconstrained + step * (rng.random(2000) - 0.5) - shares) / found.standard_errors)
        assert kstest(np.concatenate(z), "norm").pvalue > 1e-7
    hits, chance = 0, exact_coverage(shares, n)
    for tally in tallies:
        interval = rt.moments(tally, form="affine").confidence_interval()
        hits += int(((interval.low <= shares) & (shares <= interval.high)).sum())
    spread = np.sqrt(replicates * (chance * (1 - chance)).sum())
    assert abs(hits - replicates * chance.sum()) < 5.6 * spread
    plain = exact_coverage(shares, n, (-np.inf, np.inf))  # of centres that are not put between 0 and 1
    assert 0.94 < plain.mean() < 0.96
    assert (chance >= plain).all()


def exact_coverage(shares: np.ndarray, n: int, bounds: tuple[float, float] = (0, 1)) -> np.ndarray:
    """Chance that the 95 % wald interval of the affine form, its centre kept within bounds, holds each share.

    A sum over binomial counts; cutting the ends at 0 and 1 loses no share.
    """
    keep, stray = (float(rate) for rate in MANY.support_rates or ())
    k = np.arange(n + 1)
    estimate = np.clip((k / n - stray) / (keep - stray), *bounds)
    half = norm.ppf(0.975) * np.sqrt(k / n * (1 - k / n) / n) / (keep - stray)
    covered = np.abs(estimate - shares[:, None]) <= half
    return np.asarray((binom.pmf(k, n, stray + (keep - stray) * shares[:, None]) * covered).sum(axis=1))


def test_ten_thousand_categories_from_answer_to_json(tmp_path: Path) -> None:
    labels = [f"label {i:05}" for i in range(10_000)]
    channel = rt.uniform_subset(rt.Categorical("occupation", labels))
    tally = rt.tally(channel.draw_many(labels[:1] * 3000 + labels[1:2] * 1000, seed=1))
    rt.save(tally, tmp_path / "big.parquet")
    assert (tmp_path / "big.parquet").stat().st_size < 1_000_000  # p counts, not reports × p bits
    loaded = rt.load(tmp_path / "big.parquet")
    assert loaded == tally
    shares = rt.moments(loaded)
    assert shares.covariance is None and shares.probabilities.sum() == pytest.approx(1)
    methods: tuple[Method, ...] = ("wald", "clopper-pearson")
    for method in methods:
        interval = shares.confidence_interval(1 - 1e-9, method=method)
        assert interval.low[0] < 0.75 < interval.high[0] and interval.low[1] < 0.25 < interval.high[1]
    document = json.loads(json.dumps(shares.to_json()))
    assert len(document["shares"]) == 10_000
    linear = from_support(loaded, "centred")
    assert linear.covariance is None and linear.variances.shape == (10_000,)


def test_ten_thousand_categories_through_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    labels = [f"label {i:05}" for i in range(10_000)]
    Path("labels.txt").write_text("\n".join(labels), encoding="utf-8")
    answers = labels[:1] * 600 + labels[1:2] * 200 + labels[2:202]
    Path("answers.csv").write_text("occupation\n" + "\n".join(answers) + "\n", encoding="utf-8")
    commands = (
        "design --column occupation --categories-file labels.txt",
        "privatize answers.csv --design design.json -o reports.parquet --seed 1",
        "tally reports.parquet -o occupation.tally.parquet",
        "estimate occupation.tally.parquet --json --confidence-level 0.999999999",
        "findings occupation.tally.parquet",
    )
    said = {}
    for command in commands:
        result = CliRunner().invoke(main, command.split())
        assert result.exit_code == 0, (command, result.output)
        said[command.split()[0]] = result.stdout
    assert "support of occupation" in said["tally"]
    (document,) = json.loads(said["estimate"])
    assert document["n"] == 1000 and document["estimator"] == "moments"
    first, second = document["shares"][:2]
    assert first["low"] < 0.6 < first["high"] and second["low"] < 0.2 < second["high"]
    assert Path("findings.html").stat().st_size < 1_000_000
