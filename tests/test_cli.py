"""The command line: the whole path, the exit codes, and messages that are one line and never show an answer."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

import reticent as rt
from reticent.cli import main
from reticent.cli.terminal import columns, digits_for, interval_text, strict, width
from reticent.engines import load, save

LABELS = ["left, centre", 'the "right"', "naïve 中文", "none; other"]
TRUTH = np.array([0.4, 0.3, 0.2, 0.1])
SECRET = "a secret answer"


def run(*arguments: str | Path, input: str | bytes | None = None) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments], input=input)


def ok(*arguments: str | Path, input: str | bytes | None = None) -> Result:
    result = run(*arguments, input=input)
    assert result.exit_code == 0, result.output
    return result


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with people.csv: party in proportions TRUTH, a few missing; smoker; region."""
    monkeypatch.chdir(tmp_path)
    generator = np.random.default_rng(5)
    n = 4000
    party: list[str | None] = [LABELS[i] for i in generator.choice(4, n, p=TRUTH)]
    party[10:15] = [None] * 5
    smoker = ["yes" if u < 0.3 else "no" for u in generator.random(n)]
    region = ["north" if u < 0.5 else "south" for u in generator.random(n)]
    pa_csv.write_csv(pa.table({"party": party, "smoker": smoker, "region": region}), "people.csv")
    return tmp_path


def make_design() -> None:
    ok(
        "design",
        "--column",
        "party",
        *[part for label in LABELS for part in ("--category", label)],
        "--missing",
        "skip",
    )
    ok("design", "--column", "smoker", "--category", "yes", "--category", "no", "--add")


def make_tallies(*by: str) -> None:
    make_design()
    ok("privatize", "people.csv", "--design", "design.json", "-o", "reports.parquet", "--keep", "region", "--seed", "3")
    ok("tally", "reports.parquet", *[part for name in by for part in ("--by", name)])


def test_a_second_report_on_the_same_answers_needs_a_word(place: Path) -> None:
    make_design()
    ask = ("privatize", "people.csv", "--design", "design.json", "-o", "reports.parquet")
    ok(*ask)
    first = Path("reports.parquet").read_bytes()
    refused = run(*ask)
    assert refused.exit_code == 2 and "narrows them further" in refused.stderr
    assert Path("reports.parquet").read_bytes() == first
    ok(*ask, "--overwrite")
    assert Path("reports.parquet").read_bytes() != first


def test_the_whole_path(place: Path) -> None:
    make_design()
    result = ok(
        "privatize", "people.csv", "--design", "design.json", "-o", "reports.csv", "--keep", "region", "--coverage"
    )
    assert "4,000 rows" in result.stdout and "5 answers missing" in result.stdout
    assert "Not protected: region" in result.stderr and "Next: reticent tally reports.csv" in result.stderr
    header = Path("reports.csv").read_text(encoding="utf-8").splitlines()[0]
    assert header == '"region","party","party_coverage","smoker","smoker_coverage"'
    ok("tally", "reports.csv", "-o", "tallies")
    assert sorted(path.name for path in Path("tallies").iterdir()) == ["party.tally.parquet", "smoker.tally.parquet"]
    estimated = ok("estimate", "tallies/party.tally.parquet", "tallies/smoker.tally.parquet", "--json")
    party, smoker = json.loads(estimated.stdout)
    assert (party["n"], party["missing"], smoker["n"]) == (3995, 5, 4000)
    assert party["converged"] and party["unique"] and party["gap"] < 1e-6
    for row, true in zip(party["shares"], TRUTH, strict=True):
        assert abs(row["share"] - true) < 0.1 and row["low"] <= row["share"] <= row["high"]
    leaked = json.loads(ok("leakage", "tallies/party.tally.parquet", "--json").stdout)[0]
    measure = leaked["measures"]["mutual_information"]
    assert measure["unit"] == "bits" and 0 < measure["value"] < measure["ceiling"] and measure["standard_error"] > 0
    ok("findings", "tallies/party.tally.parquet", "tallies/smoker.tally.parquet", "-o", "page.html", "--title", "Votes")
    page = Path("page.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>") and "Votes" in page and "naïve 中文" in page and "<script" not in page
    assert "http://" not in page.replace("http://www.w3.org", "")


def test_files_in_parquet_give_the_same_as_csv(place: Path) -> None:
    make_design()
    pq.write_table(
        pa_csv.read_csv("people.csv", convert_options=pa_csv.ConvertOptions(strings_can_be_null=True)), "people.parquet"
    )
    for ending in ("csv", "parquet"):
        ok("privatize", f"people.{ending}", "--design", "design.json", "-o", f"r-{ending}.parquet", "--seed", "1")
    first, second = (ok("tally", f"r-{ending}.parquet", "--column", "party", "-o", f"{ending}.parquet")
                     for ending in ("csv", "parquet"))  # fmt: skip
    assert load("csv.parquet") == load("parquet.parquet")
    assert first.exit_code == second.exit_code == 0


def test_standard_input(place: Path) -> None:
    make_design()
    ok("privatize", "-", "--design", "design.json", "-o", "r.parquet", input=Path("people.csv").read_bytes())
    assert "4,000" in ok("tally", "r.parquet").stdout


def test_groups_are_estimated_one_by_one(place: Path) -> None:
    make_tallies("region")
    documents = json.loads(ok("estimate", "party.tally.parquet", "--json").stdout)
    assert [document["group"] for document in documents] == [{"region": "north"}, {"region": "south"}]
    assert sum(document["n"] for document in documents) == 3995
    text = ok("estimate", "party.tally.parquet").stdout
    assert "party [region: north]" in text and "95% intervals" in text
    ok("leakage", "party.tally.parquet")
    assert "1 question in 2 groups" in ok("findings", "party.tally.parquet").stdout
    assert "2 questions in 2 groups" in ok("findings", "party.tally.parquet", "smoker.tally.parquet").stdout


def test_two_waves_are_read_together(place: Path) -> None:
    make_tallies()
    ok("privatize", "people.csv", "--design", "design.json", "-o", "second.parquet")
    ok("tally", "second.parquet", "-o", "second")
    document = json.loads(ok("estimate", "party.tally.parquet", "second/party.tally.parquet", "--json").stdout)[0]
    assert document["n"] == 2 * 3995
    other = rt.randomized_response(rt.Categorical("party", LABELS), 2)
    save(rt.tally(other.draw_many(LABELS * 100)), "other.parquet")
    document = json.loads(ok("estimate", "party.tally.parquet", "other.parquet", "--json").stdout)[0]
    assert document["n"] == 3995 + 400 and len(document["channels"]) == 2
    for method in ("moments", "one-step"):
        document = json.loads(
            ok("estimate", "party.tally.parquet", "other.parquet", "--method", method, "--json").stdout
        )
        assert document[0]["n"] == 3995 + 400


@pytest.mark.parametrize("method", ["maximum-likelihood", "moments", "one-step"])
@pytest.mark.parametrize("interval", [None, "profile", "score", "clopper-pearson", "wald"])
def test_every_method_and_interval_answers_or_says_why(method: str, interval: str | None, place: Path) -> None:
    make_tallies()
    chosen = ["--interval", interval] if interval else []
    result = run("estimate", "party.tally.parquet", "--method", method, "--confidence-level", "0.9", *chosen)
    if interval == "profile" and method != "maximum-likelihood":
        assert result.exit_code == 3 and result.stderr.startswith("Error: ") and "rofile" in result.stderr
    else:
        assert result.exit_code == 0 and "90% intervals" in result.stdout


@pytest.mark.parametrize(("options", "name"), [
    (["--mechanism", "fixed-size", "--size", "2"], "subset of 2"),
    (["--size", "3"], "subset of 3"),
    (["--epsilon", "1"], "randomised response"),
    (["--mechanism", "full-response"], "full response"),
    (["--mechanism", "no-response"], "no response"),
    ([], "uniform subset"),
])  # fmt: skip
def test_mechanisms(options: list[str], name: str, tmp_path: Path) -> None:
    path = tmp_path / "d.json"
    categories = [part for label in LABELS for part in ("--category", label)]
    result = ok("design", "--column", "party", *categories, *options, "-o", path)
    assert name in result.stdout and name in ok("leakage", path).stdout
    assert ("protects nothing" in result.stderr) == (name == "full response")


@pytest.mark.parametrize(("labels", "mechanism", "rho"), [
    (["a", "b"], "binary-dummy", "0.7"), (["a", "b", "c"], "ternary-dummy", "0.25"),
])  # fmt: skip
def test_few_categories_take_dummies(labels: list[str], mechanism: str, rho: str, tmp_path: Path) -> None:
    categories = [part for label in labels for part in ("--category", label)]
    for chosen in ([], ["--mechanism", mechanism, "--rho", rho]):
        path = tmp_path / f"{len(chosen)}.json"
        assert "dummies" in ok("design", "--column", "q", *categories, *chosen, "-o", path).stdout


def test_categories_from_data_come_with_a_warning(place: Path) -> None:
    result = ok("design", "--column", "party", "--from-data", "people.csv", "--json")
    assert "should come from the questionnaire" in result.stderr
    found = json.loads(result.stdout)["columns"]["party"]["domain"]["categories"]
    assert sorted(found) == sorted(LABELS)


def test_10000_categories(place: Path) -> None:
    towns = [f"town, {i} é" for i in range(10_000)]
    Path("towns.txt").write_text("\n".join(towns) + "\n", encoding="utf-8")
    pa_csv.write_csv(pa.table({"town": [towns[i % 40] for i in range(3000)]}), "towns.csv")
    ok("design", "--column", "town", "--categories-file", "towns.txt")
    ok("privatize", "towns.csv", "--design", "design.json", "-o", "r.parquet", "--coverage")
    ok("tally", "r.parquet")
    result = ok("estimate", "town.tally.parquet")
    assert "9,970 more categories" in result.stdout
    assert len(json.loads(ok("estimate", "town.tally.parquet", "--json").stdout)[0]["shares"]) == 10_000


def test_priors(place: Path) -> None:
    make_design()
    Path("prior.json").write_text(
        json.dumps({"party": dict(zip(LABELS, TRUTH, strict=True)), "smoker": {"yes": 0.3, "no": 0.7}})
    )
    party, smoker = json.loads(ok("leakage", "design.json", "--prior", "prior.json", "--json").stdout)
    assert party["measures"]["prediction"]["floor"] == pytest.approx(0.4)
    assert smoker["measures"]["prediction"]["floor"] == pytest.approx(0.7)
    make = ok("leakage", "design.json", "--prior", "uniform", "--json").stdout
    assert json.loads(make)[0]["measures"]["prediction"]["floor"] == pytest.approx(0.25)
    for text, reason in (("{", "not JSON"), ("[]", 'no shares for "party"'), ('{"x": 1}', "unknown: x; missing:")):
        Path("prior.json").write_text(text)
        result = run("leakage", "design.json", "--prior", "prior.json")
        assert result.exit_code == 3 and reason in result.stderr


# --- exit codes and messages -----------------------------------------------------------------------------------------
def test_exit_1_when_an_estimate_is_not_unique(tmp_path: Path) -> None:
    domain = rt.Categorical("letter", ["a", "b", "c", "d"])
    counts = {0b0011: 5}  # a and b explain it equally well
    save(rt.PatternTally.from_counts(rt.uniform_subset(domain), counts), tmp_path / "t.parquet")
    result = run("estimate", tmp_path / "t.parquet", "--interval", "clopper-pearson")
    assert result.exit_code == 1 and "Check failed" in result.stderr and "letter" in result.stdout
    result = run("findings", tmp_path / "t.parquet", "-o", tmp_path / "p.html", "--interval", "clopper-pearson")
    assert result.exit_code == 1 and (tmp_path / "p.html").exists()


@pytest.mark.parametrize("arguments", [
    ["estimate"],
    ["estimate", "--bogus"],
    ["design", "--column", "a"],
    ["design", "--column", "a", "--category", "x", "-o", "new.json"],
    ["design", "--column", "a", "--category", "x", "--category", "y", "--size", "1", "--mechanism", "no-response", "-o", "new.json"],
    ["design", "--column", "a", "--category", "x", "--category", "y", "--mechanism", "randomized-response", "-o", "new.json"],
    ["design", "--column", "a", "--category", "x", "--category", "y", "--epsilon", "-1", "-o", "new.json"],
    ["design", "--column", "a", "--category", "x", "--category", "y"],
    ["design", "--column", "party", "--category", "x", "--category", "y", "--add"],
    ["tally", "reports.parquet", "-o", "one.parquet"],
    ["estimate", "party.tally.parquet", "--confidence-level", "95"],
])  # fmt: skip
def test_exit_2_for_wrong_usage(arguments: list[str], place: Path) -> None:
    make_tallies()
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    assert "Error: " in result.stderr and result.stdout == "" and not Path("new.json").exists()


@pytest.mark.parametrize("arguments", [
    ["estimate", "absent.parquet"],
    ["estimate", "people.csv"],
    ["estimate", "reports.parquet"],
    ["tally", "people.csv"],
    ["tally", "party.tally.parquet"],
    ["tally", "reports.parquet", "--column", "income"],
    ["tally", "reports.parquet", "--by", "age"],
    ["leakage", "people.csv"],
    ["privatize", "people.csv", "--design", "absent.json", "-o", "x.parquet"],
    ["privatize", "absent.csv", "--design", "design.json", "-o", "x.parquet"],
    ["privatize", "people.csv", "--design", "design.json", "-o", "x.parquet", "--missing", "refuse"],
    ["privatize", "people.csv", "--design", "design.json", "-o", "no/such/folder.parquet"],
    ["privatize", "people.csv", "--design", "design.json", "-o", "x.parquet", "--keep", "age"],
    ["privatize", "people.csv", "--design", "design.json", "-o", "x.parquet", "--keep", "party"],
])  # fmt: skip
def test_exit_3_for_data_that_cannot_be_used(arguments: list[str], place: Path) -> None:
    make_tallies()
    result = run(*arguments)
    assert result.exit_code == 3, result.output
    assert result.stderr.count("\n") == 1 and result.stderr.startswith("Error: ") and result.stdout == ""
    assert not Path("x.parquet").exists()


def test_an_answer_is_never_shown(place: Path) -> None:
    make_design()
    Path("bad.csv").write_text(f"party,smoker\n{SECRET},yes\n", encoding="utf-8")
    result = run("privatize", "bad.csv", "--design", "design.json", "-o", "x.parquet")
    assert result.exit_code == 3 and "1 of 1 answers" in result.stderr and SECRET not in result.output


def test_a_seed_is_called_simulation(place: Path) -> None:
    make_design()
    result = ok("privatize", "people.csv", "--design", "design.json", "-o", "r.parquet", "--seed", "1", "--json")
    assert "Simulation only" in result.stderr
    assert json.loads(result.stdout)["simulated"] is True


def test_a_process_of_its_own(place: Path) -> None:
    make_tallies()
    code = [sys.executable, "-c", "from reticent.cli import main; main()"]
    environment = {**os.environ, "PYTHONPATH": str(Path(rt.__file__).parents[1])}

    def process(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*code, *arguments], capture_output=True, text=True, check=False, env=environment)

    assert process("estimate", "party.tally.parquet").returncode == 0
    assert process("estimate").returncode == 2
    failed = process("estimate", "people.csv")
    assert failed.returncode == 3 and "Traceback" not in failed.stderr


def test_demo(place: Path) -> None:
    result = ok("demo", "--seed", "1", "-o", "demo.html")
    for label in ("Amer-Indian-Eskimo", "Female", "Some-college", ">50K", "hours per week", "truth", "demo.html"):
        assert label in result.stdout
    page = Path("demo.html").read_text(encoding="utf-8")
    assert len(page) < 500_000 and page.count("<section") == 5 and "<script" not in page


def test_demo_json(place: Path) -> None:
    document: dict[str, Any] = json.loads(ok("demo", "--json", "--seed", "1").stdout)
    *categories, hours = document["questions"]
    assert [question["question"] for question in categories] == ["race", "sex", "education", "income"]
    assert hours["question"] == "hours per week" and all("truth" in row for row in hours["quantiles"])
    assert document["simulated"] and Path(document["page"]).exists()
    rows = [row for question in categories for row in question["shares"]]
    assert len(rows) == 25 and sum(row["covered"] for row in rows) >= 20
    assert sum(row["truth"] for row in categories[0]["shares"]) == pytest.approx(1)


# --- what is printed ---------------------------------------------------------------------------------------------------
def test_tables_align_whatever_the_script() -> None:
    assert width("naïve") == 5 and width("中文") == 4 and width("e\u0301") == 1
    lines = columns([["a", "1.5"], ["中文", "10.5"]])
    assert lines == ["  a      1.5", "  中文  10.5"]
    assert columns([]) == []


def test_numbers_as_people_and_json_read_them() -> None:
    assert interval_text(0.312, 0.281, 0.339, 2) == "0.31 (0.28–0.34)"
    assert interval_text(0.0, float("nan"), 1.0, 2) == "0.00 (no interval)"
    assert interval_text(0.0, -0.01, 0.02, 2) == "0.00 (−0.01–0.02)"
    assert digits_for([0.03]) == 3 and digits_for([0.3]) == 2 and digits_for([]) == 3
    assert strict({"a": [float("inf"), float("nan"), -float("inf"), np.float64(1), None, True]}) == {
        "a": ["inf", None, "-inf", 1.0, None, True]
    }


def test_the_input_is_never_replaced_and_no_answer_is_shown(place: Path) -> None:
    make_design()
    before = Path("people.csv").read_bytes()
    ask = ("--design", "design.json", "--overwrite")
    refused = run("privatize", "people.csv", *ask, "-o", "people.csv")
    assert refused.exit_code == 2 and "input itself" in refused.stderr and Path("people.csv").read_bytes() == before
    Path("headless.csv").write_text("my secret,north\nleft,south\n")
    refused = run("privatize", "headless.csv", *ask, "-o", "x.parquet")
    assert refused.exit_code == 3 and "secret" not in refused.stderr
    refused = run("privatize", "people.csv", *ask, "-o", "x.parquet", "--keep", "region", "--keep", "region")
    assert refused.exit_code == 3 and "twice" in refused.stderr
    Path("prior.json").write_text('{"shares": [1]}')
    assert run("leakage", "design.json", "--prior", "prior.json").exit_code == 3


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_a_killed_run_leaves_complete_reports_or_none(place: Path, ending: str) -> None:
    make_design()
    rows = 400_000
    Path("large.csv").write_text("party,smoker\n" + f"{LABELS[-1]},yes\n" * rows)
    command = [sys.executable, "-c", "from reticent.cli import main; main()"]
    ask = ["privatize", "large.csv", "--design", "design.json", "-o", f"out.{ending}", "--overwrite"]
    started = time.monotonic()
    subprocess.run([*command, *ask], check=True, capture_output=True)
    whole = time.monotonic() - started
    for share in (0.5, 0.7, 0.8, 0.9, 0.97):
        with subprocess.Popen([*command, *ask], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            time.sleep(share * whole)
            process.kill()
        if Path(f"out.{ending}").exists():
            counted = ok("tally", f"out.{ending}", "--column", "party", "-o", "counted.parquet", "--json")
            found = rt.load("counted.parquet")
            assert json.loads(counted.stdout) and isinstance(found, rt.PatternTally) and found.n == rows


def test_support_counts_and_weights_go_the_whole_way(place: Path) -> None:
    Path("design.json").unlink(missing_ok=True)
    rows = [
        f"{('yes', 'no')[i % 3 == 0]},{('yes', 'no')[i % 4 == 0]},{('north', 'south')[i % 2]},{1 + i % 2}"
        for i in range(900)
    ]
    Path("people.csv").write_text("smokes,drinks,region,weight\n" + "\n".join(rows), encoding="utf-8")
    yes_no = ["--category", "yes", "--category", "no", "--mechanism", "randomized-response", "--epsilon", "3"]
    ok("design", "--column", "smokes", *yes_no)
    ok("design", "--column", "drinks", *yes_no, "--public", "region", "--public", "weight", "--add")
    ok("privatize", "people.csv", "--design", "design.json", "-o", "reports.parquet", "--seed", "1")

    ok("tally", "reports.parquet", "--joint", "smokes", "--joint", "drinks", "--kind", "support", "-o", "joint.parquet")
    documents = json.loads(ok("estimate", "joint.parquet", "--json").stdout)
    assert [document["question"] for document in documents] == ["smokes", "drinks", "smokes × drinks"]
    # 900 reports kept with chance 0.95: the standard error of a share is about 0.02.
    assert abs(documents[2]["shares"][0]["share"] - 0.5) < 0.1
    told = json.loads(ok("leakage", "joint.parquet", "--json").stdout)
    assert len(told) == 3 and told[2]["by_question"].keys() == {"smokes", "drinks"}
    assert (
        "smokes × drinks" in ok("findings", "joint.parquet", "-o", "joint.html").stdout + Path("joint.html").read_text()
    )

    ok(
        "tally",
        "reports.parquet",
        "--column",
        "smokes",
        "--weight",
        "weight",
        "--by",
        "region",
        "-o",
        "weighted.parquet",
    )
    assert len(json.loads(ok("estimate", "weighted.parquet", "--json").stdout)) == 2
    (whole,) = json.loads(ok("estimate", "weighted.parquet", "--strata", "--json").stdout)
    assert whole["n"] == 900 and whole["effective_n"] == pytest.approx(1350**2 / 2250)
    assert "1 question in 2 groups" in ok("findings", "weighted.parquet", "-o", "weighted.html").stdout
    assert ok("findings", "weighted.parquet", "--strata", "-o", "weighted.html").stdout == "weighted.html: 1 question\n"
    assert "900 people answered. They are weighted: worth 810 of equal weight." in Path("weighted.html").read_text()
    for command in ("estimate", "findings"):
        assert run(command, "joint.parquet", "--strata").exit_code == 3


def test_leakage_of_a_row_is_that_of_all_its_questions(place: Path) -> None:
    Path("design.json").unlink(missing_ok=True)
    for name, epsilon in (("smokes", "1"), ("drinks", "0.5")):
        ok("design", "--column", name, "--category", "yes", "--category", "no", "--mechanism", "randomized-response",
           "--epsilon", epsilon, *(["--add"] if name == "drinks" else []))  # fmt: skip
    assert "All reports of one person together: epsilon 1.5." in ok("leakage", "design.json").stdout


SIMULATED = "Simulated reports: their coins came from a seed, so they protect nobody."


@pytest.mark.parametrize("seed", [["--seed", "1"], []], ids=["seed", "real"])
def test_simulated_reports_keep_their_mark(seed: list[str], place: Path) -> None:
    make_design()
    ok("privatize", "people.csv", "--design", "design.json", "-o", "reports.parquet", *seed)
    marked = bool(seed)
    counted = ok("tally", "reports.parquet", "--json")
    assert [one["groups"][0]["simulated"] for one in json.loads(counted.stdout)] == [marked, marked]
    for result in (
        counted, ok("tally", "reports.parquet"), ok("estimate", "party.tally.parquet"),
        ok("estimate", "party.tally.parquet", "--json"), ok("findings", "party.tally.parquet"),
    ):  # fmt: skip
        assert result.stderr.count(SIMULATED) == marked
    assert json.loads(ok("estimate", "party.tally.parquet", "--json").stdout)[0]["simulated"] is marked
    document = json.loads(ok("findings", "party.tally.parquet", "--json").stdout)
    assert document["simulated"] is marked and document["sections"][0]["simulated"] is marked
    assert (SIMULATED in Path("findings.html").read_text(encoding="utf-8")) is marked


def test_many_categories_are_shown_by_themselves(place: Path) -> None:
    towns = [f"town {i}" for i in range(2000)]
    Path("towns.txt").write_text("\n".join(towns) + "\n", encoding="utf-8")
    pa_csv.write_csv(pa.table({"town": [towns[i % 40] for i in range(2000)]}), "towns.csv")
    ok("design", "--column", "town", "--categories-file", "towns.txt", "-o", "towns.json")
    ok("privatize", "towns.csv", "--design", "towns.json", "-o", "r.parquet", "--seed", "1")
    ok("tally", "r.parquet")
    text = ok("estimate", "town.tally.parquet").stdout
    assert "Each share by itself; together they sum to" in text and "Shares that sum to 1 are in --json." in text
    assert "-0" not in text and "−" not in text and "1,970 more categories (all with --json)" in text
    rows = json.loads(ok("estimate", "town.tally.parquet", "--json").stdout)[0]["shares"]
    assert sum(row["share"] for row in rows) == pytest.approx(1)
    for row in rows:
        assert 0 <= row["low"] <= min(max(row["unconstrained"], 0), 1) <= row["high"] <= 1
    given = ok("leakage", "towns.json").stdout
    assert "without any report 0.05%" in given and "all 2,000 alike" in given and "to_json" not in given
