"""Plans for the mean of a number: closed forms, what is promised, what cannot be had, surveys drawn as planned, the command."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from click.testing import CliRunner, Result
from matplotlib.backends.backend_agg import FigureCanvasAgg
from scipy import stats

import reticent as rt
from reticent.cli import main
from reticent.coverage import spread
from reticent.distributions.tallied import cell_ends
from reticent.errors import ParameterError
from reticent.planning import NumberRow, Plan, plan, simulate
from reticent.planning.number_designs import EvenLaw, cut_at_the_ends
from reticent.planning.number_rows import least_threshold_variance, variance_of_mean

PAY = rt.Numbers("pay", 0, 10_000, unit="euro", edges=range(500, 10_000, 500))
CHILDREN = rt.Numbers("children", 0, 7, step=1)
FAMILIES = [0.05, 0.1, 0.2, 0.25, 0.15, 0.12, 0.08, 0.05]
SKEWED = stats.lognorm(0.5, scale=3000)
Z = 1.959963984540054


def middles(domain: rt.Numbers) -> Any:
    left, right = cell_ends(domain)
    return (left + right) / 2


def cells(n: int) -> rt.Numbers:
    """A number from 0 to 1 on n equal cells."""
    return rt.Numbers("x", 0, 1, edges=[str(k / n) for k in range(1, n)])


# --- variances -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("anchors", [None, list(range(1, 8)), rt.anchors.UniformAnchors(-3, 7)])
@pytest.mark.parametrize("ask", [1, 0.3])
def test_one_threshold_has_the_closed_form(anchors: Any, ask: float) -> None:
    channel = rt.lazy(rt.case_one(CHILDREN, anchors), ask)
    law, c = np.array(FAMILIES), middles(CHILDREN)
    exact = float(c @ rt.asymptotic_covariance(channel, law) @ c)
    assert math.isclose(variance_of_mean(channel, law, c), exact, rel_tol=1e-9)


def test_openly_is_the_variance_of_the_number_itself() -> None:
    made = plan(CHILDREN, mean_within=0.1, law=FAMILIES)
    c = middles(CHILDREN)
    openly = c @ rt.asymptotic_covariance(rt.case_one(CHILDREN), FAMILIES, "sample") @ c
    assert made.n_open == math.ceil(Z**2 * openly / 0.01)
    for row in made.rows:
        assert math.isclose(row.factor, row.variance / openly, rel_tol=1e-9)
        assert math.isclose(row.worth * row.factor, row.n)


def test_the_bound_is_that_of_the_continuum_on_fine_cells_and_no_threshold_is_below_it() -> None:
    n = 400
    law = np.full(n, 1 / n)
    at_75 = least_threshold_variance(law, middles(cells(n)), 0.75)
    assert math.isclose(at_75, 2 * spread(stats.uniform()) ** 2 / 0.25, rel_tol=1e-2)
    free = least_threshold_variance(law, middles(cells(n)), 0.0)
    assert math.isclose(free, math.pi**2 / 64, rel_tol=1e-2)  # the best density on [0, 1]
    for asked in ({"coverage": 0.75}, {"coverage": 0.6, "law": FAMILIES}, {"coverage": 0.9, "law": FAMILIES}):
        made = plan(CHILDREN, mean_within=0.1, **asked)
        single = [row for row in made.rows if row.name.startswith("one threshold")]
        assert len(single) >= 3 and min(row.n for row in single) >= made.n_least


def test_the_best_anchors_come_near_the_bound() -> None:
    made = plan(cells(100), n=1000, coverage=0.6)
    best = {row.name: row for row in made.rows}["one threshold, best anchors"]
    assert best.variance < 1.01 * math.pi**2 / 64 and math.isclose(best.coverage, 0.625, abs_tol=2e-3)
    high = plan(PAY, coverage=0.9, mean_within=500, law=SKEWED)
    least = least_threshold_variance(np.array(high.probabilities), middles(PAY), 0.9)
    assert high.rows[0].variance < 1.02 * least


def test_an_even_law_has_its_quantiles() -> None:
    law = EvenLaw(CHILDREN, np.array(FAMILIES))
    q = np.linspace(0.01, 0.99, 99)
    assert np.allclose(law.cdf(law.ppf(q)), q) and np.allclose(law.sf(law.isf(q)), q)
    assert math.isclose(float(law.cdf(1.5)), 0.15) and math.isclose(float(law.sf(5.5)), 0.13)


# --- what is promised ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("coverage", [0.4, 0.5, 0.75, 0.9, 0.99])
@pytest.mark.parametrize("law", [None, SKEWED])
def test_every_row_has_the_coverage_asked_for(coverage: float, law: Any) -> None:
    made = plan(PAY, coverage=coverage, mean_within=500, law=law)
    assert len(made.rows) >= 6 and [row.variance for row in made.rows] == sorted(row.variance for row in made.rows)
    for row in made.rows:
        found = rt.mean_coverage(row.channel, made.probabilities)
        assert math.isclose(found, row.coverage) and found >= coverage - 1e-9
        if row.asked < 1 and "best anchors for" not in row.name and "beta" not in row.name:
            assert math.isclose(found, coverage, abs_tol=1e-9)  # no lazier than needed
        assert rt.channel_from_json(row.channel.to_json()).digest == row.channel.digest


@pytest.mark.parametrize(
    ("narrowest", "kinds"), [(0.2, {"ring"}), ("1/5", {"ring"}), (0.6, {"ring"}), (0.05, {"ring", "one", "3", "4"})]
)
def test_every_report_holds_the_share_asked_for(narrowest: Any, kinds: set[str]) -> None:
    made = plan(PAY, narrowest=narrowest, mean_within=500)
    assert {row.name.split()[0] for row in made.rows} == kinds
    for row in made.rows:
        least = rt.coverage_by_report(row.channel, made.probabilities).min()
        assert math.isclose(least, row.narrowest) and least >= float(Fraction(str(narrowest))) - 1e-12
    if narrowest == 0.6:
        assert all(row.channel.selection is not None for row in made.rows)
        assert any(out.reason.startswith("their narrowest range holds less than 0.6") for out in made.left_out)


def test_the_answers_needed_are_the_fewest() -> None:
    best = plan(PAY, coverage=0.75, mean_within=500, law=SKEWED).rows[0]
    there, fewer = (plan(best.channel, n=n, law=SKEWED, coverage=0.75).rows[0] for n in (best.n, best.n - 1))
    assert there.half_width <= 500 < fewer.half_width
    wider = plan(best.channel, mean_within=500, law=SKEWED, confidence_level=0.99).rows[0]
    assert wider.n > best.n


def test_without_a_law_cells_count_alike_and_it_is_said() -> None:
    assumed, given = (plan(PAY, mean_within=500, law=law) for law in (None, [0.05] * 20))
    assert assumed.assumed and "ASSUMED" in assumed.summary() and "ASSUMED" not in given.summary()
    assert [row.n for row in assumed.rows] == [row.n for row in given.rows]
    shares = np.diff(SKEWED.cdf(PAY.boundaries), prepend=0)[1:]
    by_cell = plan(PAY, mean_within=500, law=[*shares[:-1], 1 - math.fsum(shares[:-1])])
    assert [row.n for row in by_cell.rows] == [row.n for row in plan(PAY, mean_within=500, law=SKEWED).rows]


def test_thresholds_reach_empty_cells_too() -> None:
    law = [0.0, 0.0, 0.3, 0.4, 0.3, 0.0, 0.0, 0.0]
    made = plan(CHILDREN, mean_within=0.1, law=law)
    best = {row.name: row for row in made.rows}["one threshold, best anchors and 5% uniform"]
    assert best.channel.unresolved == () and math.isfinite(best.variance)


# --- a ring that cuts at its ends ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_ranges", [2, 3])
def test_half_the_questions_cut_at_the_ends_and_the_floor_holds(n_ranges: int) -> None:
    plain = rt.ring(PAY, 0.2, n_ranges)
    channel = cut_at_the_ends(plain)
    cuts, before = cast(Any, channel.cuts), cast(Any, plain.cuts)
    at_the_ends = sum(weight for chosen, weight in zip(cuts.sets, cuts.weights, strict=True) if chosen[0] == 0)
    assert 2 * at_the_ends == cuts.total  # exactly
    assert set(cuts.sets) == set(before.sets)
    assert rt.coverage_by_report(channel, [0.05] * 20).min() >= 0.2 - 1e-12
    rows = [channel.exact_row(int(key)) for key in channel.keys()]
    assert [sum(column) for column in zip(*rows, strict=True)] == [1] * 20


def test_its_variance_does_not_grow_with_the_cells() -> None:
    plain, cut = ({n: _variance(n, make) for n in (10, 40)} for make in (lambda ring: ring, cut_at_the_ends))
    assert plain[40] > 3 * plain[10] and cut[40] < 1.5 * cut[10] and cut[40] < plain[40] / 5


def _variance(n: int, make: Any) -> float:
    domain = cells(n)
    return variance_of_mean(make(rt.ring(domain, 0.2)), np.full(n, 1 / n), middles(domain))


@pytest.mark.parametrize("channel", [rt.case_one(PAY), rt.random_ranges(PAY, 3)])
def test_only_a_ring_is_cut_at_its_ends(channel: rt.Ranges) -> None:
    with pytest.raises(ParameterError, match="is for rings"):
        cut_at_the_ends(channel)


# --- what cannot be had ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("what", "asked", "told"),
    [
        (PAY, {"coverage": 1, "mean_within": 500}, "Cannot be had: coverage 1.*below 1 can be had"),
        (PAY, {"coverage": -0.1, "mean_within": 500}, "Cannot be had: coverage -0.1"),
        (PAY, {"narrowest": 1, "n": 500}, "Cannot be had: narrowest 1"),
        (PAY, {"narrowest": 0.97, "n": 500}, "Cannot be had: narrowest 0.97.*at most 0.95.*narrowest 0.95 can be had"),
        (CHILDREN, {"narrowest": 0.9, "n": 500}, "narrowest 0.6 can be had"),
        (cells(200), {"narrowest": 0.2, "n": 500}, "a ring of 200 cells has too many ranges.*at most 161 cells"),
        (PAY, {"mean_within": 249}, "open by ±250 euro.*edges about 498 euro apart"),
        (PAY, {"mean_within": 500, "law": [1.0] + [0.0] * 19}, "everybody is in one cell"),
        (CHILDREN, {"mean_within": 1e-12}, "more than 2\\^53 answers"),
        (rt.Numbers("pay", 0, math.inf, edges=[1, 2]), {"mean_within": 1}, "an end without limit.*quantiles"),
        (rt.case_one(PAY), {"mean_within": 500, "coverage": 0.8}, "coverage 0.8. Their highest coverage is 0.65"),
        ([rt.case_one(PAY), rt.ring(PAY, 0.2)], {"n": 500, "narrowest": 0.3}, "narrowest range holds at best 0.2"),
        (rt.Categorical("a", ["x", "y"]), {"n": 500, "coverage": 0.8}, "are of a number"),
        ([rt.case_one(PAY), rt.case_one(CHILDREN)], {"mean_within": 500}, "different domains"),
        ([], {"mean_within": 500}, "are of a number"),
        (PAY, {"mean_within": 0}, "mean_within is 0"),
        (PAY, {"mean_within": math.nan}, "mean_within is nan"),
        (PAY, {"mean_within": 500, "n": 100}, "got both"),
        (PAY, {"coverage": 0.75}, "got neither"),
        (PAY, {"coverage": 0.75, "n": 0}, "n is 0"),
        (PAY, {"coverage": 0.75, "n": 2.5}, "n is 2.5"),
        (PAY, {"coverage": "much", "n": 25}, "coverage 'much'"),
        (PAY, {"narrowest": 2, "n": 25}, "narrowest is 2"),
        (PAY, {"mean_within": 500, "law": [0.5, 0.5]}, "20 finite numbers"),
        (PAY, {"mean_within": 500, "half_width": 0.03}, "half_width plan the shares.*mean_within the mean"),
        (PAY, {"coverage": 0.7, "n": 50, "shares": [0.05] * 20}, "shares plan the shares.*law="),
    ],
)  # fmt: skip
def test_what_cannot_be_had_is_said_with_what_is_nearest(what: Any, asked: dict[str, Any], told: str) -> None:
    with pytest.raises(ParameterError, match=told):
        plan(what, **asked)


def test_what_is_said_to_be_nearest_can_be_had() -> None:
    assert plan(PAY, narrowest=0.95, n=500).rows[0].narrowest >= 0.95 - 1e-12
    assert plan(PAY, mean_within=251).rows[0].n > 1000
    assert plan(CHILDREN, narrowest=0.6, n=500).rows
    with pytest.raises(ParameterError, match="takes a plan"):
        simulate(cast(Any, plan(PAY, mean_within=500)))


def test_channels_are_kept_where_they_meet_what_is_asked() -> None:
    given = [rt.case_one(PAY), rt.lazy(rt.case_one(PAY), 0.5), rt.ring(PAY, 0.2)]
    made = plan(given, mean_within=500, coverage=0.7)
    assert [row.channel for row in made.rows] == [given[1]] and len(made.left_out) == 2
    everything = plan(given, mean_within=500)
    assert len(everything.rows) == 3 and everything.coverage == 0 and everything.narrowest is None
    assert everything.rows[0].name == "one threshold" and everything.rows[1].asked == 0.5
    assert isinstance(plan(PAY, half_width=0.2), Plan) and isinstance(plan(given, n=10), Plan)


# --- surveys drawn as planned ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("asked", [{"coverage": 0.75}, {"narrowest": 0.2}, {"narrowest": 0.2, "coverage": 0.7}])
@pytest.mark.parametrize("place", [0, 1])
def test_the_standard_error_is_as_planned(asked: dict[str, Any], place: int) -> None:
    row = plan(CHILDREN, mean_within=0.1, law=FAMILIES, **asked).rows[place]
    answers = np.random.default_rng(3).choice(8, row.n, p=FAMILIES)
    found = rt.distribution(rt.tally(row.channel.draw_many(answers, seed=1))).moment_estimate()
    assert abs(Z * found.standard_error / 0.1 - 1) < 0.15
    # 6 tests, each false once in 4e6 by chance: 5 standard errors.
    assert abs(found.value - np.dot(FAMILIES, range(8))) < 5 * 0.1 / Z


def test_profile_intervals_are_about_as_wide_where_cells_stay_empty() -> None:
    made = plan(PAY, coverage=0.75, mean_within=250, law=SKEWED)
    row = {one.name: one for one in made.rows}["3 random ranges"]
    answers = np.clip(SKEWED.rvs(row.n, random_state=5), 0, 10_000)
    found = rt.distribution(rt.tally(row.channel.draw_many(answers, seed=1))).moment_estimate()
    interval = found.confidence_interval()
    assert abs(float(interval.high[0] - interval.low[0]) / 500 - 1) < 0.15


# --- how it is told ----------------------------------------------------------------------------------------------------------------


def test_the_summary_names_what_matters() -> None:
    made = plan(PAY, coverage=0.75, mean_within=500)
    assert made.rows[0].n == made.n_least == 340 and made.n_open == 128
    text = made.summary()
    assert "To know the mean of pay to ±500 euro with coverage 0.75: from 340 answers" in text
    assert "75 of 100 people could have given the same report" in text and "no epsilon is finite" in text
    assert "no design of one threshold with coverage 0.75 needs fewer than 340 answers" in text
    assert "leaves up to ±250 euro more" in text and made.placement == pytest.approx(250)
    assert repr(made).startswith('<plan for the mean of "pay": To know') and "<table>" in made._repr_html_()
    single = plan(made.rows[0].channel, n=1000, coverage=0.75)
    assert "they are worth 376 open answers" in single.sentence()
    assert "is better than ±291 euro" in single.summary()
    rough = plan(PAY, mean_within=1000, law=SKEWED, narrowest=0.2, coverage=0.75).summary()
    assert "and 0.2 of all people in every report" in rough and "joining such cells" in rough
    assert "rough below 200 answers" in plan(PAY, mean_within=1000).summary()


def test_the_document_holds_everything() -> None:
    made = plan(PAY, narrowest=0.2, n=500, law=SKEWED)
    document = json.loads(json.dumps(made.to_json(), allow_nan=False))
    assert document["narrowest"] == 0.2 and document["n"] == 500 and document["mean_within"] is None
    assert len(document["law"]) == 20 and not document["law_assumed"] and document["left_out"]
    row, first = document["rows"][0], made.rows[0]
    assert isinstance(first, NumberRow) and row["channel"] == first.channel.digest
    assert {name: row[name] for name in ("n", "factor", "coverage", "asked")} == {
        "n": 500, "factor": first.factor, "coverage": first.coverage, "asked": 1.0,
    }  # fmt: skip


@pytest.mark.parametrize("asked", [{"mean_within": 500}, {"n": 5000, "narrowest": 0.2}, {"n": 10, "coverage": 0.0}])
def test_the_picture_holds_all_its_words(asked: dict[str, Any]) -> None:
    figure = plan(PAY, law=SKEWED, **asked).plot()
    renderer = FigureCanvasAgg(figure).get_renderer()
    texts = [text for text in figure.findobj(lambda artist: hasattr(artist, "get_text")) if text.get_text()]
    boxes = [text.get_window_extent(renderer) for text in texts]
    assert "asked openly" in {text.get_text() for text in texts}
    assert max(box.x1 for box in boxes) <= figure.bbox.width + 1 and min(box.x0 for box in boxes) >= -1
    assert min(box.y0 for box in boxes) >= -1


# --- the command -------------------------------------------------------------------------------------------------------------------

ASK = ["--low", "0", "--high", "10000", "--edges", "500:9500:500", "--measured-in", "euro", "--column", "pay"]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    yield tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["plan", *arguments])


def test_the_command_compares_and_writes_the_design(place: Path) -> None:
    asked = ["--coverage", "0.75", "--mean-within", "500"]
    done = run(*ASK, *asked, "-o", "design.json", "--row", "4", "--plot", "plan.svg")
    assert done.exit_code == 0 and "4  3 random ranges" in done.stdout
    assert "reticent privatize ANSWERS.csv --design design.json" in done.stderr
    design = rt.load("design.json")
    wanted = plan(PAY, coverage=0.75, mean_within=500).rows[3].channel
    assert isinstance(design, rt.Design) and design.columns["pay"].digest == wanted.digest
    assert "<svg" in Path("plan.svg").read_text(encoding="utf-8")
    again = run("--design", "design.json", "--mean-within", "500")
    assert again.exit_code == 0 and "you need 367 answers" in again.stdout
    assert "±303 euro" in run("--design", "design.json", "--n", "1000").stdout
    assert "every share" in run("--design", "design.json", "--half-width", "0.2").stdout


def test_the_command_reads_the_expected_law_and_prints_json(place: Path) -> None:
    Path("law.json").write_text(json.dumps(FAMILIES), encoding="utf-8")
    done = run(
        "--low", "0", "--high", "7", "--step", "1", "--n", "500", "--narrowest", "0.2", "--shares", "law.json", "--json"
    )
    assert done.exit_code == 0
    (document,) = json.loads(done.stdout)
    assert document["law"] == pytest.approx(FAMILIES) and document["coverage"] == 0
    assert document["rows"][0]["n"] == 500 and document["rows"][0]["narrowest"] >= 0.2


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([*ASK, "--mean-within", "100"], "Cannot be had"),
        ([*ASK, "--mean-within", "500", "--n", "10"], "in one way"),
        ([*ASK], "in one way"),
        ([*ASK, "--categories", "4", "--n", "10"], "Say what to plan in one way"),
        (["--low", "0", "--n", "10"], "needs --high"),
        (["--low", "9", "--high", "0", "--step", "1", "--n", "10"], "low must be below high"),
        (["--categories", "5", "--n", "10", "--coverage", "0.5"], "--coverage: \"question\" is not asked in random ranges"),
        (["--categories", "5", "--n", "10", "-o", "d.json"], "-o writes the design of a number"),
        ([*ASK, "--half-width", "0.2", "--coverage", "0.5"], "give one kind"),
        ([*ASK, "--n", "10", "--simulate"], "--simulate checks plans for shares"),
        ([*ASK, "--n", "10", "--row", "2"], "--row says which design -o writes"),
        ([*ASK, "--n", "10", "--row", "200", "-o", "d.json"], "the table has rows 1 to"),
        ([*ASK[:-2], "--n", "10", "-o", "d.json"], "with --column"),
        ([*ASK, "--n", "10", "-o", "taken.json"], "taken.json exists"),
    ],
)  # fmt: skip
def test_the_command_says_what_is_wrong(place: Path, arguments: list[str], told: str) -> None:
    Path("taken.json").write_text("{}", encoding="utf-8")
    done = run(*arguments)
    assert done.exit_code == 2 and told in done.stderr
    assert not Path("d.json").exists()
