"""`reticent design` and `reticent mechanisms`: options made from signatures, pairs, public columns, missing answers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import reticent as rt
from reticent.cli import main
from reticent.cli.recipes import recipes

YES_NO = ["--category", "yes", "--category", "no"]


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    yield tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


def ok(*arguments: str) -> Result:
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result


def letters(n: int) -> list[str]:
    return [word for i in range(n) for word in ("--category", chr(97 + i))]


def design() -> rt.Design:
    loaded = rt.load("design.json")
    assert isinstance(loaded, rt.Design)
    return loaded


@pytest.mark.parametrize(
    ("n", "options", "expected"),
    [
        (5, ["--mechanism", "size-weighted", "--law", "2:1/2,3:1/4,5:1/4"], {2: "1/2", 3: "1/4", 5: "1/4"}),
        (4, ["--nonresponse", "0.25"], {2: "3/4", 4: "1/4"}),
    ],
)
def test_laws_of_sizes(n: int, options: list[str], expected: dict[int, str]) -> None:
    ok("design", "--column", "letter", *letters(n), *options)
    channel = design().columns["letter"]
    assert isinstance(channel, rt.Subset)
    assert {size: str(chance) for size, chance in channel.size_law().items()} == expected


def test_explicit_sets_from_a_file() -> None:
    star = [[["a", "b"], "1/3"], [["a", "c"], "1/3"], [["a", "d"], "1/3"], [["b", "c", "d"], "2/3"]]
    Path("sets.json").write_text(json.dumps(star), encoding="utf-8")
    ok("design", "--column", "letter", *letters(4), "--mechanism", "explicit-subsets", "--sets", "sets.json")
    channel = design().columns["letter"]
    assert channel.n_reports == 4 and channel.exact_row(int(channel.keys()[-1])).count(0) in (1, 2)


def test_every_mechanism_for_one_question_is_offered() -> None:
    listed = ok("mechanisms").output
    assert all(name in listed for name in recipes()) and "pair" in listed
    assert "P(a | x)" in ok("mechanisms", "fixed-size").output
    assert run("mechanisms", "magic").exit_code == 2
    assert json.loads(ok("mechanisms", "--json").output).keys() >= recipes().keys()


def test_a_pair_reads_two_columns_and_warns() -> None:
    result = ok("design", "--column", "smokes", *YES_NO, "--pair-with", "drinks", "--pair-category", "yes",
                "--pair-category", "no")  # fmt: skip
    assert "one respondent in 3 reveals smokes exactly" in result.output
    assert design().sources == ("smokes", "drinks")
    Path("people.csv").write_text("smokes,drinks\n" + "yes,no\nno,no\nno,no\nyes,yes\n" * 300, encoding="utf-8")
    ok("privatize", "people.csv", "--design", "design.json", "-o", "reports.parquet", "--seed", "1")
    ok("tally", "reports.parquet", "-o", "pair.parquet")
    (document,) = json.loads(run("estimate", "pair.parquet", "--json").stdout)
    shares = {row["category"]: row["share"] for row in document["shares"]}
    # 1,200 reports; the standard error of a cell is below 0.02.
    assert abs(shares["no × no"] - 0.5) < 0.1 and abs(shares["yes × no"] - 0.25) < 0.1


def test_public_columns_are_named_and_kept() -> None:
    ok("design", "--column", "smokes", *YES_NO, "--mechanism", "randomized-response", "--epsilon", "1")
    ok("design", "--column", "drinks", *YES_NO, "--mechanism", "randomized-response", "--epsilon", "0.5", "--add")
    result = ok("design", "--public", "region", "--add")
    assert "epsilon 1.5" in result.output and "Disclosed: region" in result.output
    Path("people.csv").write_text("smokes,drinks,region,name\nyes,no,north,X\nno,no,south,Y\n", encoding="utf-8")
    result = ok("privatize", "people.csv", "--design", "design.json", "-o", "reports.csv")
    assert "Not protected: region" in result.output
    header = Path("reports.csv").read_text(encoding="utf-8").splitlines()[0]
    assert header.replace('"', "").split(",") == ["region", "smokes", "drinks"]


def test_missing_answers_as_an_answer() -> None:
    ok(
        "design",
        "--column",
        "smokes",
        *YES_NO,
        "--missing",
        "symbol",
        "--mechanism",
        "randomized-response",
        "--epsilon",
        "9",
    )
    assert design().columns["smokes"].domain.categories == ("yes", "no", "no answer")
    Path("people.csv").write_text("smokes\nyes\n\nno\n\n", encoding="utf-8")
    counts = json.loads(
        run("privatize", "people.csv", "--design", "design.json", "-o", "reports.parquet", "--json").stdout
    )
    assert counts["rows"] == 4 and counts["missing"] == {"smokes": 0}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--column", "x", *letters(4), "--size", "2.5"], "whole number"),
        (["--column", "x", *letters(4), "--mechanism", "fixed-size"], "needs --size"),
        (["--column", "x", *letters(4), "--mechanism", "fixed-size", "--size", "2", "--rho", "1"], "does not belong"),
        (["--column", "x", *letters(2), "--mechanism", "binary-dummy", "--design", "odd"], "allowed: balanced"),
        (["--column", "x", *letters(4), "--mechanism", "size-weighted", "--law", "2"], "key:value"),
        (["--column", "x", *letters(4), "--mechanism", "size-weighted", "--law", "2:0.5,3:0.6"], "sum"),
        (["--column", "x", *letters(2), "--nonresponse", "0.1"], "subset designs"),
        (["--column", "x", *letters(4), "--pair-with", "y", "--pair-category", "a", "--pair-category", "b"], "2 or 3"),
        (["--column", "x", *letters(2), "--pair-with", "y", "--pair-category", "a", "--pair-category", "b", "--rho", "1"],
         "leave out"),
        (["--mechanism", "fixed-size"], "--column"),
        (["--public", "region"], "at least one column"),
        ([], "--column"),
    ],
)  # fmt: skip
def test_wrong_usage_is_told_in_one_line(arguments: list[str], words: str) -> None:
    result = run("design", *arguments)
    assert result.exit_code == 2 and words in result.output, result.output
    assert not Path("design.json").exists()
