"""`reticent design` and `reticent mechanisms`: options made from signatures, pairs, public columns, missing answers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import reticent as rt
from reticent.cli import main
from reticent.cli.questions import by_question, estimated, margins_of
from reticent.cli.recipes import parameters, recipes
from reticent.engines import save

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
    assert "one respondent in 3 gives the answer to smokes away" in result.output
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


def make_pair() -> None:
    ok("design", "--column", "smokes", *YES_NO, "--pair-with", "drinks", "--pair-category", "yes", "--pair-category",
       "no", "--public", "weight")  # fmt: skip
    rows = [f"{('yes', 'no')[i % 3 == 0]},{('yes', 'no')[i % 4 == 0]},{1 + i % 2}\n" for i in range(1200)]
    Path("people.csv").write_text("smokes,drinks,weight\n" + "".join(rows), encoding="utf-8")
    ok("privatize", "people.csv", "--design", "design.json", "-o", "reports.parquet", "--seed", "1")


def test_a_pair_is_found_by_the_names_of_its_questions() -> None:
    make_pair()
    ok("tally", "reports.parquet", "--joint", "drinks", "--joint", "smokes")
    for name in ("smokes × drinks", "smokes x drinks"):
        ok("tally", "reports.parquet", "--column", name, "-o", "again.parquet")
        assert rt.load("again.parquet") == rt.load("smokes x drinks.tally.parquet")
        assert "smokes × drinks" in ok("plan", "--design", "design.json", "--column", name, "--n", "500").stdout
    for arguments, status, option in (
        (["tally", "reports.parquet", "--column", "smokes"], 3, "--joint smokes --joint drinks"),
        (["plan", "--design", "design.json", "--column", "smokes", "--n", "9"], 2, '--column "smokes × drinks"'),
    ):
        refused = run(*arguments)
        assert refused.exit_code == status and option in refused.stderr
        assert 'asked together with "drinks", as "smokes × drinks"' in refused.stderr


def test_a_pair_and_another_question_are_counted_together() -> None:
    make_pair()
    ok("design", "--column", "party", *letters(4), "--add")
    lines = Path("people.csv").read_text(encoding="utf-8").splitlines()
    Path("people.csv").write_text("\n".join([lines[0] + ",party", *(line + ",a" for line in lines[1:])]))
    ok("privatize", "people.csv", "--design", "design.json", "-o", "reports.parquet", "--seed", "1", "--overwrite")
    ok("tally", "reports.parquet", "--joint", "smokes", "--joint", "drinks", "--joint", "party", "-o", "three.parquet")
    assert json.loads(ok("estimate", "three.parquet", "--json").stdout)[0]["question"] == "smokes × drinks × party"


def test_a_table_of_several_questions_has_margins() -> None:
    make_pair()
    ok("tally", "reports.parquet", "-o", "pair.parquet")
    ((_, parts),) = by_question(("pair.parquet",))
    smokes, drinks = margins_of(estimated(parts))
    assert (smokes.domain.name, drinks.domain.name) == ("smokes", "drinks")
    # 1,200 reports; the standard error of a margin is below 0.02.
    assert abs(smokes.probabilities[0] - 2 / 3) < 0.1 and abs(drinks.probabilities[0] - 3 / 4) < 0.1
    assert margins_of(smokes) == []
    told = ok("estimate", "pair.parquet").stdout.splitlines()
    assert [line.split()[0] for line in told if "added up from smokes × drinks" in line] == ["smokes", "drinks"]
    (document,) = json.loads(ok("estimate", "pair.parquet", "--json").stdout)
    assert [margin["question"] for margin in document["margins"]] == ["smokes", "drinks"]


def test_a_weight_cannot_divide_the_weights() -> None:
    make_pair()
    refused = run("tally", "reports.parquet", "--by", "weight", "--weight", "weight")
    assert refused.exit_code == 2 and "another name" in refused.stderr


def test_leakage_of_a_row_counts_the_answers() -> None:
    for name in ("smokes", "drinks"):
        ok("design", "--column", name, *YES_NO, "--mechanism", "randomized-response", "--epsilon", "1", "--add")
    told = ok("leakage", "design.json", "--answers", "3").stdout
    assert "All reports of one person together, with 3 answers to each question: epsilon 6." in told


def test_one_rule_for_missing_answers_holds_for_a_file() -> None:
    result = ok("design", "--column", "smokes", *YES_NO, "--missing", "symbol")
    assert 'The category "no answer" was added to "smokes"' in result.stderr
    before = Path("design.json").read_bytes()
    refused = run("design", "--column", "drinks", *YES_NO, "--missing", "skip", "--add")
    assert refused.exit_code == 2 and "one rule for all questions" in refused.stderr and "symbol" in refused.stderr
    assert Path("design.json").read_bytes() == before
    refused = run("design", "--column", "x", *YES_NO, "--missing", "symbol", "--mechanism", "binary-dummy", "--add")
    assert "ternary-dummy" in refused.stderr and '"no answer", which --missing symbol added' in refused.stderr
    ok("design", "--column", "drinks", *YES_NO, "--missing", "symbol", "--add")
    assert design().columns["drinks"].domain.categories == ("yes", "no", "no answer")


def test_pairs_and_nonresponse_are_options_of_their_own() -> None:
    listed = ok("mechanisms").stdout
    for name, option in (("pair", "--pair-with"), ("random-nonresponse", "--nonresponse")):
        assert option in next(line for line in listed.splitlines() if line.split()[0] == name)
        refused = run("design", "--column", "x", *YES_NO, "--mechanism", name)
        assert refused.exit_code == 2 and option in refused.stderr
        assert option in ok("mechanisms", name).stdout
    ok("design", "--column", "x", *letters(4), "--mechanism", "fixed_size", "--size", "2")


@pytest.mark.parametrize("name", list(recipes()))
def test_a_mechanism_is_told_as_plain_text_with_its_options(name: str) -> None:
    told = ok("mechanisms", name).stdout
    assert "```" not in told and ">>>" not in told and f"--mechanism {name}" in told
    for parameter in parameters(recipes()[name]):
        assert f"--{parameter.replace('_', '-')}" in told
    assert "FILE.json" in told if name in ("size-weighted", "explicit-subsets") else "FILE" not in told


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--column", "x", *letters(4), "--mechanism", "size-weighted", "--law", "1:1"], "--allow-singletons."),
        (
            ["--column", "x", *letters(4), "--mechanism", "explicit-subsets", "--sets", "a:1"],
            '[[["a", "b"], "1/3"], …]',
        ),
        (["--column", "x", *letters(2), "--mechanism", "uniform-subset"], "binary-dummy or randomized-response"),
        (["--column", "x", *letters(2), "--mechanism", "fixed-size", "--size", "3"], "allowed is only 2"),
        (["--column", "x", *letters(1)], "1 category:"),
        (["--column", "x", *letters(4), "--public", "x"], "names x twice"),
    ],
)
def test_messages_are_in_the_words_of_a_shell(arguments: list[str], words: str) -> None:
    refused = run("design", *arguments)
    assert refused.exit_code == 2 and words in refused.stderr
    assert not any(python in refused.stderr for python in ("rt.", "_", "=True", "['"))


def test_one_question_in_two_orders_stays_apart() -> None:
    for order, path in (("abcd", "one"), ("dcba", "two"), ("abcd", "more")):
        channel = rt.uniform_subset(rt.Categorical("letter", list(order)))
        save(rt.tally(channel.draw_many(["a", "b", "c", "d"] * 50, seed=path)), f"{path}.parquet")
    result = ok("estimate", "one.parquet", "two.parquet")
    assert '"letter" has the same categories in different orders' in result.stderr
    assert "estimated apart" in result.stderr and result.stdout.count("letter (4 categories") == 2
    assert "orders" not in ok("estimate", "one.parquet", "more.parquet").stderr
