"""Engines and files: what goes in comes out, whole or not at all, and no answer is ever in a message."""

from __future__ import annotations

import io
import sys
from importlib.resources import as_file, files
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

import reticent as rt
from reticent.design import Design
from reticent.domain import MissingRule
from reticent.engines import (
    ArrowEngine,
    MemoryEngine,
    load,
    privatize_file,
    read_reports,
    report_file,
    save,
    tally_files,
)  # fmt: skip
from reticent.engines import arrow as arrow_engine
from reticent.engines.arrow import encode_column
from reticent.errors import FileFormatError

LABELS = ["left, centre", 'the "right"', "naïve 中文", "none; other", "007"]
PARTY = rt.Categorical("party", LABELS)
SECRET = "a secret answer"


def people(n: int = 500) -> dict[str, list[str | None]]:
    generator = np.random.default_rng(1)
    party: list[str | None] = [LABELS[i] for i in generator.integers(0, len(LABELS), n)]
    party[3] = None
    region: list[str | None] = [["north", "south"][i] for i in generator.integers(0, 2, n)]
    return {"region": region, "party": party, "secret": [SECRET] * n}


def write_people(path: Path, n: int = 500) -> Path:
    table = pa.table(people(n))
    pa_csv.write_csv(table, path) if path.suffix == ".csv" else pq.write_table(table, path)
    return path


def design(missing: str = "skip") -> Design:
    return Design({"party": rt.uniform_subset(PARTY)}, missing)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("out", ["reports.csv", "reports.parquet"])
def test_privatized_files_have_the_same_length_and_only_what_was_kept(ending: str, out: str, tmp_path: Path) -> None:
    source = write_people(tmp_path / f"people.{ending}")
    counts = privatize_file(source, design(), tmp_path / out, keep=["region"], coverage=True)
    assert counts == {"rows": 500, "party": 1}
    reports = read_reports(tmp_path / out)
    assert len(reports) == 500 and reports.missing == 1 and not reports.simulated
    assert reports.valid is not None and not reports.valid[3]
    engine = ArrowEngine(tmp_path / out)
    assert engine.columns == ("region", "party", "party_coverage")
    assert SECRET.encode() not in (tmp_path / out).read_bytes()
    first = next(iter(engine.batches(["party_coverage"])))["party_coverage"].to_pylist()
    assert {None if share is None else round(float(share), 6) for share in first} <= {None, 0.4, 0.6}
    tallies = tally_files([tmp_path / out], by=["region"])
    grouped = tallies["party"]
    assert isinstance(grouped, rt.GroupedTally)
    assert grouped.by == ("region",) and set(grouped.groups) == {("north",), ("south",)}
    assert grouped.total() == rt.tally(reports)


def test_the_same_seed_gives_the_same_reports_whatever_the_format(tmp_path: Path) -> None:
    for ending in ("csv", "parquet"):
        privatize_file(write_people(tmp_path / f"people.{ending}"), design(), tmp_path / f"{ending}.parquet", seed=7)
    first, second = (read_reports(tmp_path / f"{ending}.parquet") for ending in ("csv", "parquet"))
    assert first.simulated and (first.keys == second.keys).all()
    assert (first.present == design().draw_many(people(), seed=7)["party"].present).all()


def test_a_file_larger_than_a_batch_is_tallied_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrow_engine, "BATCH_ROWS", 64)
    monkeypatch.setattr(arrow_engine, "BLOCK_BYTES", 4096)
    for ending in ("csv", "parquet"):
        seen: list[float] = []
        source = write_people(tmp_path / f"people.{ending}", 2000)
        counts = privatize_file(source, design(), tmp_path / "reports.parquet", progress=seen.append)
        assert counts["rows"] == 2000 and len(seen) > 3 and seen == sorted(seen) and 0 < seen[-1] <= 1
        tally = tally_files([tmp_path / "reports.parquet"])["party"]
        assert isinstance(tally, rt.PatternTally) and (tally.n, tally.missing) == (1999, 1)


def test_tallies_of_several_files_are_those_of_all_rows(tmp_path: Path) -> None:
    source = write_people(tmp_path / "people.csv")
    for name in ("a", "b"):
        privatize_file(source, design(), tmp_path / f"{name}.parquet")
    a, b, both = (
        tally_files(paths)["party"]
        for paths in (
            [tmp_path / "a.parquet"],
            [tmp_path / "b.parquet"],
            [tmp_path / "a.parquet", tmp_path / "b.parquet"],
        )
    )
    assert isinstance(a, rt.PatternTally) and isinstance(b, rt.PatternTally) and a + b == both


def test_10000_categories_travel_as_bytes(tmp_path: Path) -> None:
    domain = rt.Categorical("town", [f"town, {i} é" for i in range(10_000)])
    answers = [None if i % 50 == 7 else domain.categories[i * 31 % 10_000] for i in range(300)]
    reports = rt.uniform_subset(domain).draw_many(answers, seed=1, missing="skip")
    for name in ("r.parquet", "r.csv"):
        save(reports, tmp_path / name)
        back = load(tmp_path / name)
        assert isinstance(back, rt.Reports) and back.simulated
        assert (back.present == reports.present).all() and back.missing == reports.missing == 6
        assert tally_files([tmp_path / name])["town"] == rt.tally(reports)
    save(rt.tally(reports), tmp_path / "t.parquet")
    assert load(tmp_path / "t.parquet") == rt.tally(reports)
    assert pq.read_schema(tmp_path / "r.parquet").field("town").type == pa.binary(1250)


@pytest.mark.parametrize("answers", [[], [None, None], ["007"]])
def test_empty_and_missing_reports_survive(answers: list[str | None], tmp_path: Path) -> None:
    reports = rt.uniform_subset(PARTY).draw_many(answers, missing="skip")
    for name in ("r.parquet", "r.csv"):
        save(reports, tmp_path / name)
        back = load(tmp_path / name)
        assert isinstance(back, rt.Reports) and len(back) == len(answers) and back.missing == reports.missing
    save(rt.tally(reports), tmp_path / "t.parquet")
    assert load(tmp_path / "t.parquet") == rt.tally(reports)


def test_grouped_tallies_and_designs_survive(tmp_path: Path) -> None:
    table = people()
    reports = design().draw_many(table)["party"]
    grouped = rt.tally_by(reports, {"region": table["region"]})
    save(grouped, tmp_path / "t.parquet")
    assert load(tmp_path / "t.parquet") == grouped
    save(design(), tmp_path / "d.json")
    assert load(tmp_path / "d.json") == design()


def test_a_csv_is_text_whatever_it_looks_like(tmp_path: Path) -> None:
    path = tmp_path / "numbers.csv"
    path.write_text("code;note\n007;a\n7;b\n;c\nNA;d\n", encoding="utf-8")
    assert ArrowEngine(path, ["NA"]).count(["code"]).to_dict() == {("007",): 1, ("7",): 1, (None,): 2}
    path.write_text("\ufeffcode\tnote\n1,5\tx\n", encoding="utf-8")
    assert ArrowEngine(path).count(["code", "note"]).to_dict() == {("1,5", "x"): 1}


def test_standard_input_is_a_csv(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.TextIOWrapper(io.BytesIO('a,b\nü,"x, y"\n'.encode()))
    monkeypatch.setattr(sys, "stdin", stream)
    assert ArrowEngine("-").count(["b", "a"]).to_dict() == {("x, y", "ü"): 1}


@pytest.mark.parametrize("column", [
    pa.array(["007", None, "naïve 中文"]),
    pa.array(["007", None, "naïve 中文"]).dictionary_encode(),
])  # fmt: skip
def test_encoding_agrees_with_the_domain(column: pa.Array) -> None:
    assert encode_column(PARTY, column).tolist() == PARTY.encode(column).tolist() == [4, -1, 2]


def test_numbers_from_data_frames_are_categories() -> None:
    digits = rt.Categorical("digit", [1, 2, 3])
    assert encode_column(digits, pa.array([1, 3, None])).tolist() == [0, 2, -1]
    assert encode_column(digits, pa.array([1.0, float("nan"), 3.0])).tolist() == [0, -1, 2]


@pytest.mark.parametrize("table", [
    {"region": ["n", "s", "n", None]},
    pd.DataFrame({"region": ["n", "s", "n", None]}, dtype=object),
    pl.DataFrame({"region": ["n", "s", "n", None]}),
    pa.table({"region": ["n", "s", "n", None]}),
], ids=["lists", "pandas", "polars", "arrow"])  # fmt: skip
def test_the_memory_engine_takes_any_columns(table: object, tmp_path: Path) -> None:
    engine = MemoryEngine(table, batch_rows=3)
    assert engine.columns == ("region",)
    assert engine.count(["region"]).to_dict() == {("n",): 2, ("s",): 1, (None,): 1}
    pq.write_table(pa.table({"region": ["n", "s", "n", None]}), tmp_path / "t.parquet")
    assert ArrowEngine(tmp_path / "t.parquet").count(["region"]).to_dict() == engine.count(["region"]).to_dict()


def test_the_memory_engine_refuses_ragged_or_absent_columns() -> None:
    with pytest.raises(FileFormatError, match="differ in length"):
        MemoryEngine({"a": [1], "b": [1, 2]})
    with pytest.raises(FileFormatError, match='no column "b"'):
        MemoryEngine({"a": [1]}).count(["b"])


# --- whole tables, and files larger than memory ----------------------------------------------------------------------
def adult() -> pa.Table:
    """20,000 rows of the Adult data; the race is missing in every tenth."""
    with as_file(files("reticent").joinpath("data", "adult.parquet")) as path:
        table = pq.read_table(path).slice(0, 20_000)
    columns = {name: table[name].to_pylist() for name in table.column_names}
    columns["race"] = [None if i % 10 == 3 else race for i, race in enumerate(columns["race"])]
    return pa.table(columns)


@pytest.mark.parametrize("missing", ["skip", "symbol"])
@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_a_whole_table_of_mixed_columns(ending: str, missing: MissingRule, tmp_path: Path) -> None:
    table = adult()
    labels = {name: sorted({*table[name].to_pylist()} - {None}) for name in ("race", "sex", "education", "income")}
    domain = {
        name: rt.Categorical(name, [*found, "no answer"] if missing == "symbol" else found)
        for name, found in labels.items()
    }
    both = rt.Subset(rt.ProductDomain([domain["sex"], domain["income"]]), title="pair")
    race, education = rt.uniform_subset(domain["race"]), rt.fixed_size(domain["education"], 8)
    columns = {"sex × income": both, "race": race, "education": education}
    whole = Design(columns, missing, ("hours_per_week",))
    source, out = tmp_path / f"table.{ending}", tmp_path / "reports.parquet"
    pa_csv.write_csv(table, source) if ending == "csv" else pq.write_table(table, source)
    absent = 2000 if missing == "skip" else 0
    counts = privatize_file(source, whole, out, seed=5)
    assert counts == {"rows": 20_000, "sex × income": 0, "race": absent, "education": 0}

    kept = pq.read_table(out)["hours_per_week"]
    assert kept.cast(pa.int64()).to_pylist() == table["hours_per_week"].to_pylist()
    reports = {name: read_reports(out, name) for name in columns}
    for name, tally in tally_files([out], kind="patterns").items():
        assert tally == rt.tally(reports[name], kind="patterns")
    ((_, joint),) = tally_files([out], joint=["race", "education"], kind="support").items()
    assert joint == rt.tally_columns({name: reports[name] for name in ("race", "education")}, [("race", "education")])

    # Each answer is in its own report, so the shares come back: an estimate misses by less than 5 standard errors
    # (chance 6e-7 for each of about 30 numbers; the seed is fixed).
    for name in ("race", "education"):
        estimate = rt.moments(rt.tally(reports[name], kind="patterns"))
        answers = ["no answer" if answer is None else answer for answer in table[name].to_pylist()]
        answers = [answer for answer in answers if answer in domain[name].categories]
        truth = np.array([answers.count(label) for label in domain[name].categories]) / len(answers)
        assert estimate.covariance is not None and estimate.unconstrained is not None
        assert (abs(estimate.unconstrained - truth) < 5 * np.sqrt(np.diag(estimate.covariance))).all()


def test_wide_reports_are_drawn_in_small_batches(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(report_file, "BATCH_BYTES", 100)
    counts = privatize_file(write_people(tmp_path / "p.parquet"), design(), tmp_path / "r.parquet", keep=["region"])
    with pq.ParquetFile(tmp_path / "r.parquet") as file:
        assert counts == {"rows": 500, "party": 1} and file.metadata.num_row_groups == 42  # of 12 rows
        assert file.read()["region"].to_pylist() == people()["region"]
        assert file.read()["party"].is_null().to_pylist() == [answer is None for answer in people()["party"]]


def test_reading_holds_no_more_than_a_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrow_engine, "BATCH_ROWS", 2**14)
    numbers = np.random.default_rng(1).integers(0, 2**63, 2**21, dtype=np.uint64)  # 16 MB, which do not compress
    for rows in (2**16, 2**21):
        path = tmp_path / f"{rows}.parquet"
        pq.write_table(pa.table({"u": numbers}), path, row_group_size=rows, use_dictionary=False)
        before = pa.total_allocated_bytes()
        held = max(pa.total_allocated_bytes() - before for _ in ArrowEngine(path).batches(["u"]))
        assert held < 2**23
