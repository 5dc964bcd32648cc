"""Files on the command line: what is read is never written over, and what cannot be read is told in one line."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from reticent.cli import main

SECRET = "a secret answer"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


def refusal(code: int, *arguments: str) -> str:
    """The one line on standard error that says why; a failure of its own when a file was changed or an answer shown."""
    before = contents()
    result = run(*arguments)
    assert result.exit_code == code, result.output
    error = result.stderr.partition("Error: ")[2]
    assert error.count("\n") == 1 and result.stdout == "" and SECRET not in error
    assert contents() == before
    return error


def contents() -> dict[str, bytes]:
    return {name: Path(name).read_bytes() for name in sorted(os.listdir()) if os.path.isfile(name)}


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers, a design, reports in both formats, a tally and a prior, all with second names."""
    monkeypatch.chdir(tmp_path)
    Path("s.csv").write_text("race,sex\n" + "a,f\nb,m\nc,f\nd,m\n" * 10)
    Path("prior.json").write_text(json.dumps({"a": 0.25, "b": 0.25, "c": 0.25, "d": 0.25}))
    categories = [part for label in "abcd" for part in ("--category", label)]
    assert run("design", "--column", "race", *categories, "-o", "d.json").exit_code == 0
    for name in ("r.parquet", "r.csv"):
        assert run("privatize", "s.csv", "--design", "d.json", "-o", name).exit_code == 0
    assert run("tally", "r.parquet").exit_code == 0
    for name in ("d.json", "r.parquet", "race.tally.parquet", "prior.json", "r.csv.json"):
        ending = name.replace(".", "-")
        for second in (f"soft-{ending}", f"soft-{ending}.parquet", f"soft-{ending}.svg"):
            Path(second).symlink_to(name)
        os.link(name, f"hard-{ending}.parquet")


@pytest.mark.parametrize("arguments", [
    "tally r.parquet --column race -o r.parquet", "tally r.parquet -o soft-r-parquet.parquet",
    "tally r.parquet -o hard-r-parquet.parquet", "tally r.csv -o soft-r-csv-json.parquet",
    "findings race.tally.parquet -o race.tally.parquet", "findings race.tally.parquet -o soft-race-tally-parquet",
    "findings race.tally.parquet -o hard-race-tally-parquet.parquet",
    "privatize s.csv --design d.json -o d.json --overwrite", "privatize s.csv --design d.json -o s.csv --overwrite",
    "privatize s.csv --design d.json -o soft-d-json.parquet --overwrite",
    "privatize s.csv --design r.csv.json -o r.csv --overwrite", "privatize s.csv --design d.json -o ./s.csv --overwrite",
    "plan --design d.json --n 100 --plot soft-d-json.svg",
    "plan --design d.json --n 100 --shares prior.json --plot soft-prior-json.svg",
    "design --column sex --categories-file d.json -o d.json --add", "design --column sex --from-data s.csv -o s.csv --add",
])  # fmt: skip
def test_an_input_is_never_written_over(arguments: str) -> None:
    assert "input itself" in refusal(2, *arguments.split())


@pytest.mark.parametrize(("arguments", "words"), [
    ("tally r.parquet -o hard-d-json.parquet", "is no tally"), ("tally r.csv -o r.parquet", "is no tally"),
    ("findings race.tally.parquet -o s.csv", "is no page"), ("demo -o s.csv", "is no page"),
    ("plan --categories 4 --n 100 --plot soft-d-json.svg", "is no .svg picture"),
    ("privatize s.csv --design d.json -o r.csv", "exists"), ("design --column sex --category a -o s.csv", "exists"),
])  # fmt: skip
def test_a_file_of_another_kind_is_not_written_over(arguments: str, words: str) -> None:
    assert words in refusal(2, *arguments.split())


def test_a_file_of_the_same_kind_is() -> None:
    for arguments in (
        "tally r.parquet", "tally r.csv -o race.tally.parquet", "findings race.tally.parquet -o p.html",
        "plan --categories 4 --n 100 --plot p.svg", "plan --categories 4 --n 100 --plot p.png",
    ):  # fmt: skip
        for _ in range(2):
            assert run(*arguments.split()).exit_code == 0, arguments
    os.truncate("s.csv", 0)  # as mktemp leaves it
    assert run("findings", "race.tally.parquet", "-o", "s.csv").exit_code == 0


def test_a_description_that_lies_there_is_not_written_over() -> None:
    Path("new.csv.json").write_text("{}")
    assert "new.csv.json exists" in refusal(2, "privatize", "s.csv", "--design", "d.json", "-o", "new.csv")


@pytest.mark.parametrize("output", ["/dev/null", "pipe"])
def test_what_is_no_file_is_not_replaced(output: str) -> None:
    os.mkfifo("pipe")
    for arguments in (
        ["findings", "race.tally.parquet"], ["privatize", "s.csv", "--design", "d.json", "--overwrite"], ["demo"],
        ["design", "--column", "x", "--category", "a", "--category", "b"],
    ):  # fmt: skip
        assert "not a regular file" in refusal(2, *arguments, "-o", output)


@pytest.mark.parametrize(("answer", "row"), [(f"{SECRET}\nof a person", 3), (f"{SECRET}\u200b", 3)])
def test_an_answer_that_is_no_category_is_not_shown(answer: str, row: int) -> None:
    pq.write_table(pa.table({"free": ["x", "y", answer, "x"]}), "free.parquet")
    words = f'1 of the 3 different answers to "free" in free.parquet cannot be categories: they are empty, or hold line breaks or signs that do not print (first in row {row},'
    assert words in refusal(3, "design", "--column", "free", "--from-data", "free.parquet", "-o", "new.json")


def test_categories_that_are_wrong_are_not_shown() -> None:
    Path("list.txt").write_text(f"x\n{SECRET}\n{SECRET}\n")
    assert "(number 3 is there before)" in refusal(
        2, "design", "--column", "q", "--categories-file", "list.txt", "-o", "n.json"
    )
    Path("list.txt").write_text(f"x\n{SECRET}\u200b\n")
    assert "number 2" in refusal(2, "design", "--column", "q", "--categories-file", "list.txt", "-o", "n.json")


def test_answers_of_any_type_are_the_categories_that_privatize_finds() -> None:
    digits = ["9" * 5000, "10", "9", "007"]
    columns = {"number": [1.0, 2.5, -0.0, 1e22], "yes": [True, False, None, True], "digits": digits}
    pq.write_table(pa.table(columns), "t.parquet")
    for name in columns:
        assert run("design", "--column", name, "--from-data", "t.parquet", "-o", f"{name}.json").exit_code == 0
        asked = ["privatize", "t.parquet", "--design", f"{name}.json", "-o", f"{name}.parquet", "--missing", "skip"]
        assert run(*asked).exit_code == 0, name
    labels = json.loads(Path("digits.json").read_text())["columns"]["digits"]["domain"]["categories"]
    assert labels == ["007", "9", "10", "9" * 5000]


@pytest.mark.parametrize("text", ["[" * 200_000, '{"a": NaN}', '{"a": 1e999, "b": 0, "c": 0, "d": 0}', "[1e308, 1e308, 0, 0]",
                                  "[" + "9" * 400 + ", 0, 0, 0]", '{"kind": "product", "columns": {"race": Infinity}}'])  # fmt: skip
def test_json_that_no_one_wrote(text: str) -> None:
    Path("bad.json").write_text(text)
    assert "bad.json" in refusal(3, "leakage", "bad.json")
    assert "bad.json" in refusal(3, "leakage", "d.json", "--prior", "bad.json")
    assert "bad.json" in refusal(3, "privatize", "s.csv", "--design", "bad.json", "-o", "new.parquet")
    Path("r.csv.json").write_text(text)
    assert "r.csv" in refusal(3, "tally", "r.csv")


@pytest.mark.parametrize("arguments", [
    "--half-width 1e-12", "--half-width 1e-300", "--rms 1e-9", "--rms 1e-300", "--n 1" + "0" * 400,
])  # fmt: skip
def test_a_precision_that_nobody_can_pay_for(arguments: str) -> None:
    assert "2^53" in refusal(2, "plan", "--categories", "5", *arguments.split())


@pytest.mark.parametrize("name", ["q" * 1000, "中" * 300])
def test_a_long_question_gets_a_shorter_file(name: str) -> None:
    assert run("design", "--column", name, "--category", "a", "--category", "b", "-o", "long.json").exit_code == 0
    Path("long.csv").write_text(f"{name},{name[1:]}\na,b\nb,a\n", encoding="utf-8")
    added = run("design", "--column", name[1:], "--category", "a", "--category", "b", "-o", "long.json", "--add")
    assert added.exit_code == 0
    assert run("privatize", "long.csv", "--design", "long.json", "-o", "long.parquet").exit_code == 0
    assert run("tally", "long.parquet", "-o", "counts").exit_code == 0
    assert sorted(path.name for path in Path("counts").iterdir()) == [
        f"{name[: 180 // len(name[0].encode())]}{more}.tally.parquet" for more in ("-2", "")
    ]
