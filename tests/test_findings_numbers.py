"""The findings on a number: what the page says is what the law says, no more, and whatever the design."""

from __future__ import annotations

import json
import math
import re
from typing import Any
from urllib.parse import unquote

import numpy as np
import pytest

import reticent as rt
from reticent import findings
from reticent.distributions import documents
from reticent.errors import ParameterError
from reticent.findings.elements import measured, strict
from reticent.findings.numbers import number_section, range_words, single_values
from tests.test_findings import NASTY, Page

PAY = rt.Numbers("pay", 0, 10_000, unit="euro", edges=range(1000, 10_000, 1000))
AGE = rt.Numbers("age", 18, 90, unit="years", step=1, edges=[30, 45, 60])
EARNED = np.random.default_rng(4).gamma(4, 900, 3000).clip(0, 10_000)


def read(channel: rt.Channel, answers: Any, seed: int = 1, **weights: Any) -> rt.TalliedDistribution:
    return rt.distribution(rt.tally(channel.draw_many(answers, seed=seed), **weights))


DESIGNS = {
    "one threshold": rt.case_one(PAY),
    "acceptable": rt.case_one(PAY, acceptable=(2000, 3000)),
    "three ranges": rt.random_ranges(PAY, 3),
    "ring": rt.ring(PAY, 0.3),
    "silent": rt.selective(rt.ring(PAY, 0.3), 0.5),
    "lazy": rt.lazy(rt.case_one(PAY), 0.5),
    "randomised response": rt.randomized_response(PAY, 3.0),
}


@pytest.mark.parametrize("design", DESIGNS)
def test_a_page_for_every_design(design: str) -> None:
    law = read(DESIGNS[design], EARNED)
    described = number_section(law, truth=EARNED.tolist())
    text = findings.render([described, described], "Pay")
    page = Page(text)
    assert len(text.encode()) < 500_000 and "<script" not in text and "nan" not in re.sub(r"<[^>]*>", "", text).lower()
    ids = page.values("id")
    assert len(ids) == len({*ids})
    assert documents.finding(law, 0.95) in text and "smoothed" in text and "What was not protected" in text
    assert f"about {100 * law.coverage[0].mean:.0f} of 100 people could have given the same report" in text.lower()
    for link in (link for link in page.values("href") if link.startswith("data:")):
        json.loads(unquote(link.split(",", 1)[1]), parse_constant=lambda word: pytest.fail(word))
    assert ("No finite epsilon" in text) == math.isinf(law.tallies[0].channel.epsilon)
    assert json.loads(json.dumps(strict(described)))["n"] == 3000


def test_numbers_on_the_page_are_those_of_the_law() -> None:
    law = read(rt.ring(PAY, 0.3), EARNED)
    told = number_section(law, truth=EARNED.tolist())["distribution"]
    around = law.quantile_interval(documents.QUANTILES)
    assert [row["up_to"] for row in told["quantiles"]] == law.quantile(documents.QUANTILES).tolist()
    assert [row["low"] for row in told["quantiles"]] == around.low.tolist()
    assert [row["truth"] for row in told["quantiles"]] == np.quantile(
        EARNED, documents.QUANTILES, method="inverted_cdf"
    ).tolist()
    assert [row["truth"] for row in told["cdf"]] == [float((EARNED <= row["up_to"]).mean()) for row in told["cdf"]]
    assert told["mean"]["truth"] == pytest.approx(EARNED.mean()) and told["mean"]["value"] == law.mean()
    assert [row["low"] for row in told["band"]] == law.band().low.tolist()


def test_the_ruler_shows_the_most_frequent_reports_and_a_union() -> None:
    channel = rt.ring(PAY, 0.3)
    keys = [int(key) for key in channel.keys()]
    union = next(key for key in keys if len(channel.pieces(key)) == 2)
    single = [key for key in keys if len(channel.pieces(key)) == 1]
    counts = {union: 1} | {key: 50 - i for i, key in enumerate(single)}
    law = rt.distribution(rt.PatternTally.from_counts(channel, counts))
    rows = number_section(law)["ranges"]
    n = sum(counts.values())
    assert rows[0]["share"] == 50 / n and any(len(row["pieces"]) == 2 for row in rows)
    assert {row["words"] for row in rows} <= {range_words(law, tuple(map(tuple, row["pieces"]))) for row in rows}
    assert rows[-1]["words"].count(" or ") >= 1


@pytest.mark.parametrize(
    ("pieces", "words"),
    [
        (((18.0, 30.0),), "up to 30"),
        (((31.0, 45.0),), "31–45"),
        (((61.0, 90.0),), "61 or more"),
        (((18.0, 30.0), (61.0, 90.0)), "up to 30 or 61 or more"),
        (((40.0, 40.0),), "40"),
        (((18.0, 90.0),), "any number"),
    ],
)
def test_ranges_in_words(pieces: Any, words: str) -> None:
    assert range_words(read(rt.case_one(AGE), [20, 50] * 50), pieces) == words


def test_strata_of_one_sample_are_told_by_name() -> None:
    channel, weights = rt.case_one(AGE), [1.0, 2.0] * 100
    parts = [rt.tally(channel.draw_many([20, 35, 50, 70] * 50, seed=s), weights=weights) for s in (1, 2)]
    law = rt.distribution(*parts)
    assert law.summary().count("could have given the same report") == 1
    assert len(number_section(law)["one_report"]["lines"]) == 1
    named = rt.TalliedDistribution(**{**vars_of(law), "groups": ("north", "south")})
    assert "north: on average" in named.summary() and "south: on average" in named.summary()
    lines = number_section(named)["one_report"]["lines"]
    assert [line.partition(":")[0] for line in lines] == ["north", "south"]
    assert [row["group"] for row in named.to_json()["coverage"]] == ["north", "south"]
    text = findings.render([number_section(named)], "Age")
    assert "They are weighted" in text and "weighted reports" in text


def vars_of(law: rt.TalliedDistribution) -> dict[str, Any]:
    return {name: getattr(law, name) for name in law.__dataclass_fields__}


def test_reports_that_say_too_little_are_no_finding() -> None:
    few = number_section(read(rt.case_one(PAY), EARNED[:6]))
    assert few["finding"] == "6 reports are too few to say where the middle lies" and few["leakage"] == {}
    text = findings.render([few], "Pay")
    assert "is not known" in text and "of 100 could have given it" not in text and "limits are rough" in text
    lowest = int(rt.case_one(PAY).keys()[0])
    below = rt.PatternTally.from_counts(rt.case_one(PAY), {lowest: 40})
    with pytest.warns(UserWarning, match="same side"):
        degenerate = number_section(rt.distribution(below))
    assert degenerate["finding"] == "All reports name the same side: nothing else is known"
    assert "of 100 could have given it" not in findings.render([degenerate], "Pay")


def test_a_number_without_ends_has_no_mean_and_says_so() -> None:
    wealth = rt.Numbers("wealth", "-inf", "inf", edges=[-1000, 0, 1000, 50_000])
    law = read(rt.case_one(wealth), np.random.default_rng(1).normal(5000, 20_000, 2000))
    described = number_section(law)
    text = findings.render([described], "Wealth")
    assert described["distribution"]["mean"] is None and described["distribution"]["density"] is None
    assert "No mean" in text and "up to −1,000" in text


def test_what_a_design_gives_away_is_said() -> None:
    digits = rt.Numbers("children", 0, 5, step=1)
    channel = rt.random_ranges(digits, 3)
    alone = single_values(channel, np.full(6, 1 / 6))
    # Exact: the chance of every report of one value, summed over what the answer is.
    rows = [channel.exact_row(int(key)) for key in channel.keys()]
    assert alone == pytest.approx(float(sum(max(row) for row in rows if sum(map(bool, row)) == 1)) / 6)
    sentences = number_section(read(channel, [0, 1, 2, 3, 4, 5] * 50))["not_protected"]
    assert any("one possible number only" in one for one in sentences)
    assert any("not differential privacy" in one for one in sentences)
    accepted = number_section(read(DESIGNS["acceptable"], EARNED))["not_protected"]
    assert any("reported as they are" in one for one in accepted)
    assert single_values(rt.case_one(PAY), np.full(10, 0.1)) == 0


def test_a_section_of_a_number_needs_its_finding_and_cannot_inject() -> None:
    described = number_section(read(rt.case_one(AGE), [20, 50] * 50), name=NASTY, public=[NASTY])
    text = findings.render([{**described, "finding": NASTY, "axis": NASTY, "unit": NASTY, "mechanism": NASTY}], NASTY)
    assert "script" not in {tag for tag, _ in Page(text).tags}
    del described["finding"]
    with pytest.raises(ParameterError, match="finding"):
        findings.render([described], "Age")


def test_an_unfinished_law_is_never_a_finding() -> None:
    law = read(rt.case_one(AGE), [20, 50] * 50)
    text = findings.render([number_section(rt.TalliedDistribution(**{**vars_of(law), "converged": False}))], "Age")
    assert "not ready" in text and 'class="warning"' in text


@pytest.mark.parametrize(
    ("number", "said"),
    [
        ((2300.0, 2000.0, None), "2,300 (from 2,000)"),
        ((2300.0, None, 2500.0), "2,300 (up to 2,500)"),
        ((None, None, None), "–"),
        ((-3.0, -5.5, -1.0), "−3.0 (−5.5 to −1.0)"),
        ((40.0, 40.0, 40.0), "40 (40–40)"),
    ],
)
def test_numbers_carry_the_digits_of_their_intervals(number: tuple[Any, ...], said: str) -> None:
    assert measured(*number) == said
