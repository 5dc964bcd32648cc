"""The findings page and its pictures: safe, self-contained, and honest about what the data cannot say."""

from __future__ import annotations

import json
import math
import re
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser
from typing import Any
from urllib.parse import unquote

import pytest

import reticent as rt
from reticent import findings, plots
from reticent.errors import ParameterError
from reticent.findings.page import about, comparison, finding
from reticent.findings.sections import example as findings_example
from reticent.findings.sections import section as section_of

NASTY = "</title><script>alert('$x^2$')</script>\x00\ud800 & \"quoted\""
VOID = {"meta", "br", "link", "img", "input", "hr"}


def section(labels: list[str], **changes: Any) -> dict[str, Any]:
    p = len(labels)
    weights = [2.0 ** -min(i, 40) for i in range(p)]
    shares = [w / sum(weights) for w in weights]
    described: dict[str, Any] = {
        "name": "Household income",
        "n": 4000,
        "missing": 12,
        "mechanism": "Each person sent a random list.",
        "categories": [
            {
                "label": label,
                "estimate": s,
                "low": max(0.0, s - 0.02),
                "high": min(1.0, s + 0.02),
                "truth": s,
                "unconstrained": s,
            }
            for label, s in zip(labels, shares, strict=True)
        ],
        "confidence_level": 0.95,
        "leakage": {
            "mutual_information": {"value": 0.6, "floor": 0.0, "ceiling": 2.3, "unit": "bits"},
            "size": {"value": 0.3, "floor": 0.0, "ceiling": 0.8},
            "prediction": {"value": 0.6, "floor": 0.5, "ceiling": 1.0},
            "min_entropy": 0.26,
            "maximal": 1.3,
            "epsilon": math.inf,
        },
        "per_category": [{"label": label, "bits": 0.2 + 0.01 * i, "size": 0.3} for i, label in enumerate(labels)],
        "one_report": {
            "words": "narrows the choice to about 3 of 5",
            "example": "a report may hold three options",
        },
        "not_protected": ["That someone took part."],
        "tradeoff": [
            {"label": "Random list", "leakage": 0.6, "half_width": 0.02, "own": True},
            {"label": "Randomised response", "leakage": 0.4, "half_width": 0.03, "own": False},
            {"label": "No response", "leakage": 0.0, "half_width": math.inf, "own": False},
        ],
        "certificate": {"gap": 1e-13, "converged": True},
        "digest": "3f9a",
    }
    return {**described, **changes}


class Page(HTMLParser):
    """Collects tags and attributes, and checks that every element is closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def values(self, name: str) -> list[str]:
        return [v for _, attributes in self.tags for k, v in attributes.items() if k == name and v is not None]


def test_page_is_self_contained_and_well_formed() -> None:
    text = findings.render(
        [section(["a", "b", "c"]), section(["a", "b", "c"])],
        "Survey",
        intro="An intro.",
        footer="Made today.",
    )
    page = Page(text)
    assert len(text.encode()) < 500_000
    assert all(link.startswith(("#", "data:application/json")) for link in page.values("href"))
    assert not page.values("src") and "url(http" not in text and "@import" not in text
    assert not {"script", "iframe", "object"} & {tag for tag, _ in page.tags}
    ids = page.values("id")
    assert len(ids) == len(set(ids))
    assert {name for link in page.values("href") if link[0] == "#" for name in [link[1:]]} <= set(ids)
    assert sum(tag == "figure" for tag, _ in page.tags) == sum(tag == "details" for tag, _ in page.tags) == 6
    assert "prefers-color-scheme: dark" in text and "@media print" in text


def test_labels_cannot_inject() -> None:
    bad = section([NASTY, NASTY + "2"], name=NASTY, mechanism=NASTY, not_protected=[NASTY], digest=NASTY)
    bad["one_report"] = {"words": NASTY, "example": NASTY}
    bad["tradeoff"][0]["label"] = NASTY
    text = findings.render([bad, bad], NASTY, intro=NASTY, footer=NASTY)
    tags = {tag for tag, _ in Page(text).tags}
    assert "script" not in tags and "$x^2$" in text and "\x00" not in text
    text.encode("utf-8")


@pytest.mark.parametrize("infinity", [math.inf, "inf", None])
def test_infinite_epsilon_in_words_and_downloads_are_strict_json(infinity: object) -> None:
    described = section(["a", "b"])
    described["leakage"]["epsilon"] = infinity
    text = findings.render([described], "Survey")
    assert "No finite epsilon" in text
    links = [v for v in Page(text).values("href") if v.startswith("data:")]
    assert len(links) == 3

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    for link in links:
        json.loads(unquote(link.split(",", 1)[1]), parse_constant=refuse)


def test_many_categories_show_the_largest_and_stay_small() -> None:
    text = findings.render([section([f"Option {i} with a rather long name" for i in range(10_000)])], "Survey")
    assert "and 9,980 more, together" in text and "The 100 largest of 10,000" in text
    assert len(text.encode()) < 500_000


def test_only_the_needed_keys_are_needed() -> None:
    least = {"name": "Q", "n": 0, "categories": []}
    assert "Nobody has answered yet" in findings.render([least], "Survey")
    with pytest.raises(ParameterError, match="categories"):
        findings.render([{"name": "Q", "n": 1}], "Survey")


def test_missing_numbers_are_drawn_as_missing() -> None:
    rows = [{"label": "a", "estimate": 0.4, "low": None, "high": math.nan}, {"label": "b", "estimate": 0.6}]
    text = findings.render([section(["a", "b"], categories=rows)], "Survey")
    assert "nan" not in "".join(re.findall(r' d="[^"]*"', text)) and "About 6 in 10 answered “b”" in text


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([(0.60, 0.57, 0.63), (0.40, 0.37, 0.43)], "About 6 in 10 answered “0”"),
        ([(0.40, 0.36, 0.44), (0.37, 0.33, 0.41), (0.23, 0.20, 0.26)], "“0” and “1” are too close to call"),
        ([(0.55, 0.20, 0.90), (0.45, 0.10, 0.80)], "Too few answers to tell the options apart"),
    ],
)
def test_heading_says_no_more_than_the_intervals(rows: list[tuple[float, float, float]], said: str) -> None:
    categories = [{"label": str(i), "estimate": e, "low": a, "high": b} for i, (e, a, b) in enumerate(rows)]
    assert finding({"name": "Q", "n": 100, "categories": categories}) == said


def test_unfinished_calculation_is_never_a_finding() -> None:
    unfinished = section(["a", "b"], certificate={"gap": 0.2, "converged": False}, finding="Most said a")
    text = findings.render([unfinished], "Survey")
    assert "not ready" in text and 'class="warning"' in text and "Most said a" not in text


def test_comparison_names_a_better_mechanism() -> None:
    names, own = ["mine", "other"], [True, False]
    assert comparison(names, [0.5, 0.4], [0.03, 0.02], own) == "“other” would be at least as private and more exact"
    assert comparison(names, [0.5, 0.4], [0.03, 0.03], own) == "“other” would be as exact and more private"
    assert comparison(names, [0.5, 0.6], [0.03, 0.02], own).startswith("Nothing else here")
    assert comparison(names, [0.5, 0.5], [0.03, 0.03], own).startswith("Nothing else here")
    assert comparison(names, [0.5, 0.0], [0.03, None], own).startswith("Nothing else here")


def test_svg_is_accessible_and_takes_the_page_colours() -> None:
    figure = plots.shares(["$a_1$ < b", "收入 é"], [0.3, 0.7], [0.2, 0.6], [0.4, 0.8], truth=[0.31, 0.69])
    text = plots.svg(figure, "Most chose <b>")
    root = ElementTree.fromstring(text)
    title = root[0]
    assert (
        title.text == "Most chose <b>" and root.get("aria-labelledby") == title.get("id") and root.get("role") == "img"
    )
    words = [e.text for e in root.iter() if e.tag.endswith("text")]
    assert "$a_1$ < b" in words and "收入 é" in words
    assert "currentColor" in text and plots.INK not in text and "DejaVu" not in text
    assert root.get("width") is None and root.get("viewBox")
    assert text == plots.svg(figure, "Most chose <b>")
    assert plots.svg(figure, "Most chose <b>", key="2") != text


CROWDS = {
    "around the own one": ([0.50, 0.51, 0.52, 0.50, 0.49, 2.0], [0.03, 0.03, 0.031, 0.029, 0.03, 0.01]),
    "along the bottom": ([0.9, 1.3, 0.1, 0.3, 0.6, 2.3], [0.008, 0.007, 0.04, 0.012, 0.0079, 0.004]),
    "in one place": ([0.41, 0.42, 0.43, 0.1, 0.3, 0.41, 0.8], [0.008, 0.0078, 0.0081, 0.03, 0.012, 0.0079, 0.004]),
}


@pytest.mark.parametrize("crowd", CROWDS)
def test_labels_of_mechanisms_do_not_overlap(crowd: str) -> None:
    leakage, half = CROWDS[crowd]
    labels = [f"mechanism number {i}" for i in range(len(half))]
    figure = plots.tradeoff(labels, leakage, half, [True] + [False] * (len(half) - 1))
    figure.canvas.draw()
    axes = figure.axes[0]
    boxes = [t.get_window_extent().shrunk(0.8, 0.6) for t in axes.texts]
    assert len(boxes) == len(half)
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])
    marks = [line.get_transform().transform(line.get_xydata()) for line in axes.lines]
    for x, y in (point for mark in marks if len(mark) == 1 for point in mark):
        assert not any(box.contains(x, y) for box in boxes), "a label covers a point"
    for (x, y), (end, up) in (mark for mark in marks if len(mark) == 2):
        along = [(x + (end - x) * t / 20, y + (up - y) * t / 20) for t in range(1, 20)]
        assert not any(box.contains(*point) for box in boxes for point in along), "a line crosses a label"


def test_the_truth_shows_behind_an_estimate_that_agrees() -> None:
    figure = plots.shares(["a", "b"], [0.3, 0.7], [0.2, 0.6], [0.4, 0.8], truth=[0.3, 0.7])
    marks = [line for line in figure.axes[0].lines if line.get_marker() in ("D", "o")]
    sizes = {line.get_marker(): line.get_markersize() for line in marks}
    assert sizes["D"] / math.sqrt(2) > sizes["o"] / 2 + 2.5  # the corners, in points beyond the dot
    assert sizes["D"] > sizes["o"] + 2  # and the sides


@pytest.mark.parametrize(("share", "said"), [(0.3, "About 3 in 10"), (0.999, "Nearly everyone"), (0.346, "About 35%")])
def test_about(share: float, said: str) -> None:
    assert about(share) == said


# --- sections made of results -----------------------------------------------------------------------------------
FOUR = rt.Categorical("party", ["left", "centre", "right", "none"])


def described(shares: rt.Shares) -> dict[str, Any]:
    return section_of(shares, shares.confidence_interval())


def test_the_example_is_a_report_that_says_something() -> None:
    asked = rt.Subset(FOUR, ((2, 1), (4, 1)), title="pairs, or everything")
    counts = {0b0011: 30, 0b0101: 40, 0b1001: 25, 0b1110: 0, 0b1111: 900}
    shares = rt.maximum_likelihood(rt.PatternTally.from_counts(asked, counts))
    example = described(shares)["one_report"]["example"]
    assert example == (
        "the most frequent report that says something was {left, right}, sent by 40 people. Of 995 people 900 were asked "
        "nothing: their report is as likely whatever the answer is."
    )
    strata = [rt.tally(rt.uniform_subset(FOUR).draw_many(["left"] * n, seed=n), weights=[1.0] * n) for n in (50, 60)]
    counted = sum(strata[1:], strata[0])
    assert isinstance(counted, rt.WeightedTally)
    assert f"sent by {counted.counts.max()} people." in described(rt.moments(*strata))["one_report"]["example"]
    silent = rt.PatternTally.from_counts(asked, {0b1111: 3, 0b0011: 1})
    assert "sent by 1 person. Of 4 people 3 were asked nothing" in findings_example(silent)["example"]
    assert findings_example(rt.PatternTally.from_counts(asked, {0b1111: 3})) == {}


def test_a_weighted_page_says_so() -> None:
    tally = rt.tally(rt.uniform_subset(FOUR).draw_many(["left", "right"] * 60, seed=1), weights=[1.0, 3.0] * 60)
    text = findings.render([described(rt.maximum_likelihood(tally))], "Votes")
    assert "120 people answered. They are weighted: worth 96 of equal weight." in text  # 240² / 600
    assert "the best fit to the weighted reports" in text
    plain = rt.maximum_likelihood(rt.tally(rt.uniform_subset(FOUR).draw_many(["left", "right"] * 60, seed=1)))
    text = findings.render([described(plain)], "Votes")
    assert "weighted" not in text and "the best fit to the reports" in text


def test_simulated_reports_are_said_to_protect_nobody() -> None:
    said = "Simulated reports: their coins came from a seed, so they protect nobody."
    for seed in (1, None):
        shares = rt.maximum_likelihood(rt.tally(rt.uniform_subset(FOUR).draw_many(["left", "right"] * 60, seed=seed)))
        made = described(shares)
        assert made["simulated"] is (seed is not None) and shares.to_json()["simulated"] is made["simulated"]
        assert (said in made["not_protected"]) is made["simulated"]
        assert (said in findings.render([made], "Votes")) is made["simulated"]


def test_moments_are_shown_by_themselves_with_a_proper_minus() -> None:
    tally = rt.PatternTally.from_counts(rt.uniform_subset(FOUR), {0b0011: 30, 0b0101: 10})
    shares = rt.moments(tally)
    made = described(shares)
    rows = made["categories"]
    assert [row["estimate"] for row in rows] == shares.by_itself.tolist()
    assert [row["share"] for row in rows] == shares.probabilities.tolist()
    assert all(0 <= row["low"] <= row["estimate"] <= row["high"] <= 1 for row in rows)
    text = findings.render([made], "Votes")
    assert f"Each share by itself; together they sum to {shares.by_itself.sum():.2f}." in text
    cells = re.findall(r"<td>([^<]*%)</td>", text)
    assert any(cell.startswith("−") for cell in cells) and not any("-" in cell for cell in cells)
    assert not re.search(r"-\d", " ".join(re.findall(r"<title>([^<]*)</title>|<text[^>]*>([^<]*)</text>", text)[0]))


@pytest.mark.parametrize(
    ("share", "said"),
    [(1 / 2000, "0.05%"), (0.0, "0.0%"), (0.004, "0.4%"), (0.0096, "0.96%"), (0.5, "50%"), (-0.02, "−2.0%")],
)
def test_small_shares_keep_two_digits(share: float, said: str) -> None:
    assert plots.percent(share) == said
    assert plots.percent(0.01, -0.004, 0.024) == "1.0% (−0.4–2.4)"
