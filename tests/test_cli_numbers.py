"""Numbers on the command line: from `design --low --high` to a distribution, by groups and in every format."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import reticent as rt
from reticent.cli import main

AGE = ["design", "--column", "age", "--low", "18", "--high", "90", "--step", "1", "--edges", "25:85:10"]


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    ages = [20 + 13 * i % 60 for i in range(3000)]
    rows = "".join(f"{age},{('north', 'south')[i % 2]}\n" for i, age in enumerate(ages)) + ",north\n"
    Path("people.csv").write_text("age,region\n" + rows, encoding="utf-8")
    yield tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


def ok(*arguments: str) -> Result:
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result


def tallied(*options: str, by: tuple[str, ...] = ()) -> None:
    ok(*AGE, "--measured-in", "years", "--public", "region", "--missing", "skip", *options)
    ok("privatize", "people.csv", "--design", "design.json", "-o", "reports.parquet", "--seed", "1")
    ok("tally", "reports.parquet", "-o", "age.parquet", *by)


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ([], "one threshold"),
        (["--ranges", "3"], "3 random ranges"),
        (["--narrowest", "0.3"], "ring of 2 ranges"),
        (["--narrowest", "0.2", "--silent-below", "0.4"], "ring of 2 ranges"),
    ],
)
def test_the_distribution_comes_back(options: list[str], name: str) -> None:
    tallied(*options)
    design = rt.load("design.json")
    assert isinstance(design, rt.Design) and name in design.columns["age"].name
    (document,) = json.loads(ok("estimate", "age.parquet", "--json").stdout)
    assert document["n"] == 3000 and document["missing"] == 1 and document["unit"] == "years"
    # The answers are 20..79, equally common: mean 49.5; the standard error is below 1.5 years, the middles are off by less than 1.
    assert abs(document["mean"]["value"] - 49.5) < 8
    text = ok("estimate", "age.parquet").stdout
    assert "half are up to" in text and "could have given the same report" in text


def test_a_floor_says_what_it_is_counted_in() -> None:
    assert "equally common" in ok(*AGE, "--narrowest", "0.3").output


def test_groups_are_named() -> None:
    tallied(by=("--by", "region"))
    text = ok("estimate", "age.parquet").stdout
    assert "age [region: north]: distribution" in text and "age [region: south]: distribution" in text


def test_shares_of_cells_leakage_and_findings_still_work() -> None:
    tallied()
    assert "(25, 35]" in ok("estimate", "age.parquet", "--method", "moments").stdout
    assert "mutual information" in ok("leakage", "age.parquet").stdout
    ok("findings", "age.parquet", "-o", "age.html")
    assert "could have given the same report" in Path("age.html").read_text(encoding="utf-8")


def test_repeated_answers_leave_what_fits_them_all() -> None:
    ok("design", "--column", "pay", "--low", "0", "--high", "10000", "--edges", "500:9500:500", "--narrowest", "0.2")
    text = ok("leakage", "design.json", "--answers", "3").stdout
    assert "mutual information" in text and "joint coverage       0." in text and "by the sum bound" in text
    (document,) = json.loads(ok("leakage", "design.json", "--answers", "3", "--json").stdout)
    told = document["repetition"]["joint_coverage"]
    assert told["leakage"] == told["exact_leakage"] < told["sum_bound"]


def test_what_cannot_be_computed_is_said_beside_what_can() -> None:
    letters = rt.Categorical("letter", [str(k) for k in range(17)])
    halves = [[1, 0.5, *[0] * 15], [0, 0.5, *[1] * 15]]  # a table that rules answers out has no closed form
    rt.Design({"letter": rt.Table.from_matrix(letters, halves)}).save("design.json")
    text = ok("leakage", "design.json", "--answers", "3").stdout
    assert "mutual information" in text and "What 3 answers reveal together was not computed" in text
    (document,) = json.loads(ok("leakage", "design.json", "--answers", "3", "--json").stdout)
    assert document["repetition"] is None


def test_the_same_reports_in_two_files_are_not_two_surveys() -> None:
    tallied()
    ok("tally", "reports.parquet", "--engine", "duckdb", "-o", "again.parquet")
    for command in ("estimate", "findings"):
        result = run(command, "age.parquet", "again.parquet")
        assert result.exit_code == 3 and "again.parquet and age.parquet hold the same reports" in result.output


def test_a_number_outside_is_refused_without_being_shown() -> None:
    ok(*AGE)
    Path("wrong.csv").write_text("age\n33\n977\n", encoding="utf-8")
    result = run("privatize", "wrong.csv", "--design", "design.json", "-o", "reports.parquet")
    assert result.exit_code == 3 and "977" not in result.output and "age" in result.output
    assert not Path("reports.parquet").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--low", "0", "--edges", "3"], "needs --high"),
        (["--low", "0", "--high", "5", "--edges", "3", "--category", "a"], "--category"),
        (["--low", "0", "--high", "5", "--edges", "a"], "START:STOP:STEP"),
        (["--low", "0", "--high", "5", "--edges", "0:5:0"], "above 0"),
        (["--low", "5", "--high", "0", "--edges", "3"], "below"),
        (["--low", "0", "--high", "9", "--edges", "3,6", "--narrowest", "0.5"], "1/2"),
        (["--low", "0", "--high", "9", "--edges", "3,6", "--epsilon", "1"], "--epsilon"),
    ],
)
def test_wrong_usage_is_told_in_one_line(arguments: list[str], words: str) -> None:
    result = run("design", "--column", "x", *arguments)
    assert result.exit_code == 2 and words in result.output, result.output
    assert not Path("design.json").exists()
