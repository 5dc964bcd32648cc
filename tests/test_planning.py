"""Plans: worst cases against brute force, the relations of the specification, simulation, and the command."""

from __future__ import annotations

import json
import math
import re
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from matplotlib.backends.backend_agg import FigureCanvasAgg
from scipy.optimize import minimize

import reticent as rt
from reticent.channel import Product
from reticent.cli import main
from reticent.errors import EstimateError, ParameterError
from reticent.planning import Plan, Simulation, plan, simulate
from reticent.planning.variances import likelihood_variances, open_moments, second_moments
from reticent.precision import condition_number, information
from tests.mechanism_cases import CASES, UNIDENTIFIABLE, question

SHARES = [0.4, 0.3, 0.2, 0.07, 0.03]
Z = 1.959963984540054
GRID = {2: 400, 3: 60, 4: 24, 5: 12, 6: 8}  # steps by number of categories
PLANNED = {
    name: channel
    for name, channel in CASES.items()
    if name not in UNIDENTIFIABLE and channel.n_reports * channel.n_categories <= 4096
}


def grid(p: int, steps: int) -> np.ndarray[Any, Any]:
    """All shares that are multiples of 1/steps."""
    cells = [(*head, steps - sum(head)) for head in product(range(steps + 1), repeat=p - 1) if sum(head) <= steps]
    return np.array(cells) / steps


@pytest.mark.parametrize("name", PLANNED)
def test_second_moments_give_the_variance_of_moments_and_its_worst_case(name: str) -> None:
    channel = PLANNED[name]
    p = channel.n_categories
    found = second_moments(channel)
    points = grid(p, GRID[p]) if p in GRID else np.random.default_rng(1).dirichlet([0.2] * p, size=3000)
    variances = np.array([found.variances(w) for w in points])
    for w in points[:: max(1, len(points) // 5)]:
        exact = rt.asymptotic_covariance(channel, w, "moments")
        assert np.allclose(found.variances(w), np.diag(exact), atol=1e-12)
        assert math.isclose(found.total @ w - w @ w, np.trace(exact), rel_tol=1e-9)
    assert (variances.max(axis=0) <= found.worst() + 1e-12).all()
    at_worst = [found.variances(found.worst_shares(j))[j] for j in range(p)]
    assert np.allclose(at_worst, found.worst(), rtol=1e-12)  # attained, so nothing smaller would be true
    worst = found.worst_total_shares()
    assert variances.sum(axis=1).max() <= found.total @ worst - worst @ worst + 1e-12
    assert math.isclose(worst.sum(), 1) and (worst >= 0).all()


def test_the_worst_total_is_that_of_a_general_solver() -> None:
    channel = rt.Table.from_matrix(question(3), [[0.7, 0.2, 0.1], [0.2, 0.7, 0.3], [0.1, 0.1, 0.6]])
    found = second_moments(channel)
    worst = found.worst_total_shares()
    solved = minimize(
        lambda w: w @ w - found.total @ w,
        np.full(3, 1 / 3),
        bounds=[(0, 1)] * 3,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1},
        tol=1e-12,
    )
    assert np.allclose(worst, solved.x, atol=1e-5)


def test_maximum_likelihood_is_never_worse_than_the_bound() -> None:
    channel = rt.uniform_subset(question(5))
    bound = second_moments(channel)
    for w in np.random.default_rng(1).dirichlet([0.5] * 5, size=50):
        inside = 0.99 * w + 0.002
        known = likelihood_variances(channel, inside)
        assert known is not None
        assert (known <= bound.variances(inside) + 1e-9).all() and (known <= bound.worst() + 1e-9).all()
    assert likelihood_variances(channel, np.array([0.5, 0.5, 0, 0, 0])) is None


def test_a_product_plans_like_the_table_of_its_cells() -> None:
    parts = (
        rt.uniform_subset(rt.Categorical("a", list("uvwx"))),
        rt.randomized_response(rt.Categorical("b", ["y", "n"]), 1),
    )
    channel = Product(parts)
    found = second_moments(channel)
    rng = np.random.default_rng(3)
    for w in rng.dirichlet([1.0] * 8, size=20):
        assert np.allclose(found.variances(w), np.diag(rt.asymptotic_covariance(channel, w, "moments")))
        assert (found.variances(w) <= found.worst() + 1e-12).all()
    assert np.allclose([found.variances(found.worst_shares(j))[j] for j in range(8)], found.worst())
    assert math.isclose(condition_number(channel), condition_number(parts[0]) * condition_number(parts[1]))
    information_there = np.linalg.eigvalsh(information(channel.matrix(), np.full(8, 1 / 8)))
    assert math.isclose(condition_number(channel), information_there[-1] / information_there[0], rel_tol=1e-9)
    assert plan(channel, half_width=0.03).rows[0].n > plan(parts[0], half_width=0.03).rows[0].n


@pytest.mark.parametrize("p", [4, 5, 6, 8])
def test_equal_shares_cost_p_minus_1_times_the_open_answers(p: int) -> None:
    row = plan(rt.uniform_subset(question(p)), rms=0.03, shares=[1 / p] * p).rows[0]
    assert row.estimator == "maximum_likelihood" and math.isclose(row.factor, p - 1)
    assert row.n == math.ceil((p - 1) ** 2 / p / 0.03**2 - 1e-9)
    assert row.n_open == math.ceil((p - 1) / p / 0.03**2 - 1e-9)


def test_golden_variances_and_open_answers() -> None:
    letters = rt.uniform_subset(question(4))
    row = plan(letters, n=1000, shares=[0.5, 0.25, 0.15, 0.1]).rows[0]
    assert np.allclose(row.variances["maximum_likelihood"], 0.49125)
    assert np.allclose(row.variances["moments"], [0.5, 0.5625, 0.5525, 0.54])
    assert np.allclose(row.half_width, Z * math.sqrt(0.49125 / 1000))
    assert plan(letters, half_width=0.03).rows[0].n_open == 1068
    assert open_moments(3).worst().tolist() == [0.25] * 3
    assert plan(rt.full_response(question(4)), half_width=0.03).rows[0].n == 1068
    adult = plan(rt.uniform_subset(question(5)), rms=0.01, shares=np.array([27816, 3124, 1039, 311, 271]) / 32561).rows[
        0
    ]
    assert adult.n == math.ceil(0.864031576621 / 1e-4) and math.isclose(adult.factor, 0.864031576621 / 0.259832995347)


def test_many_categories_go_through_closed_forms() -> None:
    small = question(12)
    for channel in (rt.uniform_subset(small), rt.fixed_size(small, 3), rt.randomized_response(small, 2)):
        equal = np.full(12, 1 / 12)
        closed = likelihood_variances(channel, equal)
        assert closed is not None
        assert np.allclose(closed, np.diag(rt.asymptotic_covariance(channel, equal)))
        at_uniform = np.linalg.eigvalsh(information(channel.matrix(), equal))
        assert math.isclose(condition_number(channel), at_uniform[-1] / at_uniform[0], rel_tol=1e-9)
    many = rt.Categorical("job", [f"job {i}" for i in range(2000)])
    made = plan(many, half_width=0.03)
    rows = {row.name: row for row in made.rows}
    assert rows["uniform subset"].n == math.ceil(Z**2 * second_moments(rt.uniform_subset(many)).worst()[0] / 0.0009)
    assert math.isclose(rows["uniform subset"].factor, 4.0, rel_tol=2e-3)  # stray is 1/2, so a fair coin's variance
    equal_shares = plan(rt.uniform_subset(many), rms=0.05, shares=np.full(2000, 1 / 2000)).rows[0]
    assert math.isclose(equal_shares.variances["maximum_likelihood"].sum(), 1999**2 / 2000, rel_tol=1e-9)
    assert "2,000 categories" in made.summary()


def test_more_precision_and_more_privacy_need_more_answers() -> None:
    channel = rt.uniform_subset(question(5))
    needed = [plan(channel, half_width=h, shares=SHARES).rows[0].n for h in (0.05, 0.03, 0.02, 0.01)]
    assert needed == sorted(needed) and len(set(needed)) == 4
    levels = [plan(channel, half_width=0.03, confidence_level=level).rows[0].n for level in (0.8, 0.95, 0.99)]
    assert levels == sorted(levels)
    privacy = [plan(rt.randomized_response(question(5), e), half_width=0.03).rows[0].n for e in (3, 2, 1, 0.5)]
    assert privacy == sorted(privacy)
    assert plan(channel, half_width=0.03, shares=SHARES).rows[0].n <= plan(channel, half_width=0.03).rows[0].n


@pytest.mark.parametrize("asked", ["half_width", "rms"])
@pytest.mark.parametrize("shares", [None, SHARES])
def test_the_answers_needed_are_the_fewest(asked: str, shares: Any) -> None:
    channel = rt.uniform_subset(question(5))
    arguments: dict[str, Any] = {asked: 0.03}
    n = plan(channel, shares=shares, **arguments).rows[0].n
    there, fewer = (plan(channel, n=m, shares=shares).rows[0] for m in (n, n - 1))
    reached = [row.rms if asked == "rms" else row.half_width.max() for row in (there, fewer)]
    assert reached[0] <= 0.03 < reached[1]


def test_a_domain_compares_what_suits_it() -> None:
    for p, some in ((2, "dummies, rho 0.5"), (3, "subset of 2"), (4, "uniform subset"), (9, "subset of 4")):
        made = plan(question(p), half_width=0.03)
        names = [row.name for row in made.rows]
        assert some in names and "randomised response, ε 2" in names and len(set(names)) == len(names)
        assert [row.n for row in made.rows] == sorted(row.n for row in made.rows)
        assert len({row.channel.digest for row in made.rows}) == len(names)


def test_the_plan_as_text_json_and_page() -> None:
    made = plan(rt.uniform_subset(question(5)), half_width=0.03, shares=SHARES)
    row = made.rows[0]
    text = made.summary()
    assert f"you need {row.n:,} answers, {row.factor:.1f} times as many as asking openly ({row.n_open:,})." in text
    assert "the moments estimate needs 2,846 answers" in text and "of the 1.93 bits" in text
    document = json.loads(json.dumps(made.to_json(), allow_nan=False))
    assert document["rows"][0]["n"] == row.n and document["rows"][0]["given_away"]["epsilon"] == "infinity"
    assert (
        [c["n"] for c in document["rows"][0]["categories"]] == row.n_each.tolist() if row.n_each is not None else False
    )
    nasty = rt.uniform_subset(rt.Categorical("<b>", ["<i>", "&", "c", "d"]))
    assert "<b>" not in plan(nasty, n=10)._repr_html_() and "uniform subset" in plan(nasty, n=10)._repr_html_()
    given = row.given_away
    assert math.isclose(given.bits, rt.mutual_information(row.channel, SHARES, "bits")) and given.floor == 0.4


@pytest.mark.parametrize(
    "arguments",
    [{"half_width": 0.03}, {"n": 1000}, {"rms": 0.02, "shares": [0.3, 0.3, 0.2, 0.2]}],
    ids=["half_width", "n", "rms"],
)
@pytest.mark.parametrize("many", [False, True])
def test_the_picture_shows_what_was_asked(arguments: dict[str, Any], many: bool) -> None:
    from reticent import plots

    domain = question(4)
    made = plan(domain if many else rt.uniform_subset(domain), **arguments)
    text = plots.svg(made.plot(), made.sentence())
    assert made.sentence() in text and "asked openly" in text
    first = made.rows[0]
    for row in made.rows:
        assert row.name in text
    assert (f"{first.n:,}" if "n" not in arguments else f"±{100 * first.half_width.max():.2g}") in text


@pytest.mark.parametrize("p", [2, 3, 5, 9, 2000])
@pytest.mark.parametrize("arguments", [{"half_width": 0.05}, {"n": 1000}, {"rms": 0.03}], ids=str)
def test_no_words_of_a_picture_are_cut_or_cover_each_other(p: int, arguments: dict[str, Any]) -> None:
    domain = rt.Categorical("job", [f"job {i}" for i in range(p)])
    for made in (
        plan(domain, **arguments),
        plan(rt.fixed_size(domain, 2) if p > 2 else rt.binary_dummy(domain), **arguments),
    ):
        figure = made.plot()
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        page = figure.bbox.padded(0.5)
        shown = [text for text in (*figure.texts, *(text for axes in figure.axes for text in axes.texts))]
        boxes = {text.get_text(): text.get_window_extent(canvas.get_renderer()) for text in shown}
        for words, box in boxes.items():
            assert page.x0 <= box.x0 and box.x1 <= page.x1 and page.y0 <= box.y0 and box.y1 <= page.y1, words
        for (one, a), (other, b) in combinations(boxes.items(), 2):
            assert not a.shrunk(0.98, 0.8).overlaps(b.shrunk(0.98, 0.8)), (one, other)


def test_a_wide_product_is_simulated_from_cells_counted_together() -> None:
    parts = [rt.uniform_subset(rt.Categorical(name, [f"{name} {i}" for i in range(12)])) for name in ("job", "region")]
    channel = Product(parts)
    assert channel.n_reports > 2**20
    found = simulate(plan(channel, n=2000, shares=np.full(144, 1 / 144)), n_replicates=40)
    assert found.holds and found.estimator == "moments"
    assert math.isclose(found.rms, found.planned_rms, rel_tol=0.05)  # 40 × 144 squared errors: 5 standard errors


def test_many_categories_are_simulated() -> None:
    domain = rt.Categorical("job", [f"job {i}" for i in range(2000)])
    found = simulate(plan(rt.uniform_subset(domain), half_width=0.1), n_replicates=20)
    assert found.holds and np.isclose(found.half_width[0], found.planned_half_width[0], rtol=0.02)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "got none"),
        ({"n": 10, "half_width": 0.1}, "n, half_width"),
        ({"half_width": 0}, "between 0 and 1"),
        ({"half_width": 1.0}, "between 0 and 1"),
        ({"half_width": math.nan}, "between 0 and 1"),
        ({"rms": -0.1}, "between 0 and 1"),
        ({"half_width": True}, "between 0 and 1"),
        ({"n": 0}, "from 1"),
        ({"n": 2.5}, "from 1"),
        ({"n": 10, "shares": [0.5, 0.5, 0.5, 0.5]}, "sum"),
        ({"n": 10, "confidence_level": 1.5}, "confidence_level"),
    ],
)
def test_refusals(arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        plan(rt.uniform_subset(question(4)), **arguments)


def test_refused_channels() -> None:
    with pytest.raises(EstimateError, match="rank 1 of 4"):
        plan(rt.no_response(question(4)), n=10)
    with pytest.raises(ParameterError, match="different domains"):
        plan([rt.uniform_subset(question(4)), rt.uniform_subset(question(5))], n=10)
    nothing: Any
    for nothing in ([], ["a"]):
        with pytest.raises(ParameterError, match="plan takes"):
            plan(nothing, n=10)


def test_a_condition_number_above_a_million_is_told() -> None:
    assert math.isclose(condition_number(rt.full_response(question(3))), 1)
    assert math.isclose(condition_number(rt.fixed_size(question(3), 2)), 4)
    assert condition_number(rt.no_response(question(3))) == math.inf
    faint = rt.randomized_response(question(4), 1e-4)
    assert condition_number(faint) > 1e6
    assert "Warning: randomised response" in plan(faint, half_width=0.1).summary()


def test_a_simulation_confirms_a_plan() -> None:
    # False alarm at most 1e-6 for coverage by construction; widths and error have a margin of 2 % besides 4 standard errors.
    made = plan(rt.uniform_subset(question(4)), half_width=0.06, shares=[0.4, 0.3, 0.2, 0.1])
    found = simulate(made, n_replicates=100, seed=7)
    assert found.holds and found.n == made.rows[0].n and found.interval == "profile"
    assert np.allclose(found.half_width, found.planned_half_width, rtol=0.03)
    again = [simulate(made, n_replicates=5, seed=seed).to_json() for seed in (7, 7, 8)]
    assert again[0] == again[1] != again[2]
    assert "The plan holds." in found.summary() and json.loads(json.dumps(found.to_json()))["holds"] is True


@pytest.mark.parametrize("asked", ["half_width", "rms"])
def test_the_worst_case_is_simulated_where_it_is_worst(asked: str) -> None:
    # The widest mean half-width, or the error, comes within 10 % of its bound: 1,000 surveys know the error to 2 %.
    arguments: dict[str, Any] = {asked: 0.05}
    found = simulate(plan(rt.uniform_subset(question(5)), **arguments), n_replicates=1000)
    assert found.holds and found.estimator == "moments"
    share = found.rms / found.planned_rms if asked == "rms" else (found.half_width / found.planned_half_width).max()
    assert 0.9 < share < 1.1


def test_reports_too_many_to_list_are_drawn() -> None:
    # Coverage of 40 categories in 200 surveys: false alarm at most 1e-6; the mean of 8,000 intervals within 5 errors.
    domain = rt.Categorical("job", [f"job {i}" for i in range(40)])
    found = simulate(plan(rt.uniform_subset(domain), half_width=0.05), n_replicates=200)
    assert found.holds and found.estimator == "moments"
    assert abs(found.coverage[1:].mean() - 0.95) < 5 * found.coverage_error


def test_a_simulation_contradicts_a_plan_that_does_not_hold() -> None:
    channel = rt.uniform_subset(question(4))
    hopeful = plan(channel, half_width=0.05, shares=[0.97, 0.01, 0.01, 0.01])
    equal = plan(channel, half_width=0.05, shares=[0.25] * 4)
    assert not simulate(equal, n_replicates=20, n=equal.rows[0].n // 2).widths_hold
    other = simulate(hopeful, n_replicates=20, shares=[0.25] * 4)
    assert not other.holds and "does not hold: intervals are wider than planned" in other.summary()
    with pytest.raises(ParameterError, match="n and shares"):
        simulate(channel, n_replicates=20)
    with pytest.raises(ParameterError, match="n_replicates"):
        simulate(hopeful, n_replicates=1)


def test_low_coverage_is_noticed() -> None:
    arguments: dict[str, Any] = {
        "channel": rt.uniform_subset(question(4)), "n": 10, "shares": (0.25,) * 4, "n_replicates": 1000,
        "confidence_level": 0.95, "estimator": "moments", "interval": "wald", "planned_half_width": np.full(4, 0.1),
        "half_width": np.full(4, 0.1), "half_width_error": np.full(4, 0.001), "planned_rms": 0.1, "rms": 0.1,
        "rms_error": 0.001,
    }  # fmt: skip
    fine, low = np.array([0.95, 0.93, 0.94, 0.96]), np.array([0.95, 0.90, 0.95, 0.95])
    assert Simulation(coverage=fine, held=fine, **arguments).holds
    found = Simulation(coverage=low, held=low, **arguments)
    assert not found.holds and found.widths_hold and found.rms_holds
    near = Simulation(coverage=low, held=fine, **arguments)
    assert near.holds and near.too_narrow == 1 and "intervals of 1 of the shares are too narrow" in near.summary()


def test_a_share_of_0_is_not_missed_by_an_interval_below_0() -> None:
    domain = rt.Categorical("job", [f"job {i}" for i in range(200)])
    found = simulate(plan(rt.fixed_size(domain, 2), half_width=0.1), n_replicates=40)
    rare = np.array(found.shares) == 0  # few reports or none name them, and the Wald interval of nothing is narrow
    assert found.holds and found.too_narrow == 0 and rare.sum() == 198
    assert (found.coverage[rare] >= 0.8).all() and (found.half_width[rare] < 0.02).all()


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture
def design(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    party = rt.uniform_subset(rt.Categorical("party", list("abcd")))
    smoker = rt.randomized_response(rt.Categorical("smoker", ["yes", "no"]), 1)
    rt.Design({"party": party, "smoker": smoker}).save("design.json")
    (tmp_path / "shares.json").write_text(json.dumps({"party": {"a": 0.4, "b": 0.3, "c": 0.2, "d": 0.1}}))
    return tmp_path


def test_command_plans_a_design(design: Path) -> None:
    result = run("plan", "--design", "design.json", "--half-width", "0.03")
    assert result.exit_code == 0 and "party: 4 categories" in result.stdout and "smoker: 2" in result.stdout
    assert "you need 2,401 answers, 2.2 times as many as asking openly (1,068)." in result.stdout
    assert "All 2 questions: 4,997 people" in result.stdout
    one = run("plan", "--design", "design.json", "--column", "party", "--n", "500", "--shares", "shares.json", "--json")
    (document,) = json.loads(one.stdout)
    expected = plan(rt.Design.load("design.json").columns["party"], n=500, shares=[0.4, 0.3, 0.2, 0.1])
    assert document["rows"] == json.loads(json.dumps(expected.to_json()))["rows"]
    assert document["simulation"] is None


def test_command_compares_mechanisms_simulates_and_draws(design: Path) -> None:
    for name in ("plan.svg", "plan.png"):
        assert run("plan", "--categories", "5", "--rms", "0.05", "--shares", "uniform", "--plot", name).exit_code == 0
    assert Path("plan.svg").read_text(encoding="utf-8").startswith("<svg")
    assert Path("plan.png").read_bytes().startswith(b"\x89PNG")
    result = run("plan", "--category", "x", "--category", "y", "--n", "300", "--simulate", "--replicates", "50")
    assert result.exit_code == 0 and "The plan holds." in result.stdout


def test_command_exits_with_1_when_the_simulation_contradicts(design: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unlucky(made: Plan, n_replicates: int, seed: int, progress: Any) -> Simulation:
        return simulate(made, shares=[0.25] * 4, n_replicates=n_replicates, seed=seed)

    monkeypatch.setattr("reticent.cli.planning.simulate", unlucky)
    Path("sure.json").write_text(json.dumps({"a": 0.97, "b": 0.01, "c": 0.01, "d": 0.01}))
    ask = ("plan", "--design", "design.json", "--column", "party", "--shares", "sure.json", "--half-width", "0.05")
    result = run(*ask, "--simulate", "--replicates", "10")
    assert result.exit_code == 1 and "contradicts the plan" in result.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("--categories", "4"),
        ("--categories", "4", "--n", "10", "--half-width", "0.1"),
        ("--categories", "4", "--half-width", "3"),
        ("--n", "10"),
        ("--design", "design.json", "--categories", "4", "--n", "10"),
        ("--design", "design.json", "--column", "age", "--n", "10"),
        ("--design", "design.json", "--n", "10", "--plot", "p.svg"),
        ("--categories", "4", "--n", "10", "--plot", "p.gif"),
        ("--category", "a", "--category", "a", "--n", "10"),
    ],
)
def test_command_refuses_with_one_line(design: Path, arguments: tuple[str, ...]) -> None:
    result = run("plan", *arguments)
    assert result.exit_code == 2 and "Traceback" not in result.output and "Error: " in result.stderr


# --- in words ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("p", "arguments", "words"),
    [
        (2000, {"n": 20_000}, "±1.39 points is more than an average share (0.05): useless for single categories"),
        (2000, {"n": 100}, "±19.6 points is more than an average share (0.05)"),
        (5, {"n": 20}, "so few answers say next to nothing"),
        (5, {"n": 1000}, None),
        (5, {"n": 200, "shares": [0.2] * 5}, None),
        (9, {"n": 60, "shares": [1 / 9] * 9}, "more than the largest expected share (11.1)"),
    ],
)
def test_a_plan_says_when_it_is_useless(p: int, arguments: dict[str, Any], words: str | None) -> None:
    channel = rt.uniform_subset(rt.Categorical("job", [f"job {i}" for i in range(p)]))
    told = plan(channel, **arguments).summary()
    assert words in told if words else "Warning" not in told


def test_precisions_are_told_with_the_same_digits() -> None:
    assert "±3 points" in plan(question(4), half_width=0.03).sentence()
    told = re.findall(r"±(\S+)", plan(question(5), n=1000).sentence())
    assert len(told) == 3 and all(len(number.replace(".", "")) == 3 for number in told)


def test_shares_in_any_form_give_the_same_plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    labels = [f"category {i + 1}" for i in range(3)]
    rows = [{"category": label, "share": share} for label, share in zip(labels, (0.5, 0.3, 0.2), strict=True)]
    ask = ("plan", "--categories", "3", "--n", "500", "--json", "--shares", "s.json")
    plans = set()
    for document in (
        [0.5, 0.3, 0.2], dict(zip(labels, (0.5, 0.3, 0.2), strict=True)), {"question": [0.5, 0.3, 0.2]},
        [{"question": "other"}, {"question": "question", "shares": rows}],
    ):  # fmt: skip
        Path("s.json").write_text(json.dumps(document), encoding="utf-8")
        plans.add(run(*ask).stdout)
    assert len(plans) == 1 and json.loads(plans.pop())[0]["shares"] == [0.5, 0.3, 0.2]
    for text, words in (
        ('{"category 1": 0.5, "b": 0.5}', "unknown: b; missing: category 2, category 3."),
        ("[0.5, 0.5]", "lists 2 shares"), ("[0.5, 0.5, 0.5]", "sum to 1.5"), ('["a", 0.5, 0.5]', "must be numbers"),
        ("[1.5, -0.5, 0]", "smallest is -0.5"),
    ):  # fmt: skip
        Path("s.json").write_text(text, encoding="utf-8")
        refused = run(*ask)
        assert refused.exit_code == 3 and words in refused.stderr, refused.output
