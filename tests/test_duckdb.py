"""DuckDBEngine: the same integers as the other engines, whatever the data and the names, and nothing left behind."""

from __future__ import annotations

import datetime as dt
import math
import os
import tempfile
from collections.abc import Generator
from decimal import Decimal
from itertools import product
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reticent as rt
from reticent.design import Design
from reticent.engines import (
    ArrowEngine,
    DuckDBEngine,
    Engine,
    Groups,
    MemoryEngine,
    counters,
    groups,
    privatize_file,
    tally_files,
)
from reticent.engines import arrow as arrow_engine
from reticent.engines.tallying import EngineName, Kind
from reticent.errors import FileFormatError, ParameterError, ReportError, TallyError

HOSTILE = 'a"; DROP TABLE t; --'
SECRET = "a secret answer"
LARGE = 2**64 - 1


def column_of(values: st.SearchStrategy[Any], kind: pa.DataType, size: int) -> st.SearchStrategy[pa.Array]:
    return st.lists(st.none() | values, min_size=size, max_size=size).map(lambda listed: pa.array(listed, kind))


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    """Columns of every kind that reports and public columns have, with nulls, few distinct values and hostile names."""
    size = draw(st.integers(0, 40))
    text = st.sampled_from(["", "é", "x,y", "中\n文", 'say "hi"', "'", "NULL", "007", " a "])
    few_bytes = st.sampled_from([bytes(12), bytes(11) + b"\x01", b"\xff" * 12])
    return pa.table({
        "u8": draw(column_of(st.integers(0, 3), pa.uint8(), size)),
        "U8": draw(column_of(st.sampled_from([0, 255]), pa.uint8(), size)),
        "u16": draw(column_of(st.sampled_from([0, 1, 65535]), pa.uint16(), size)),
        "u64": draw(column_of(st.sampled_from([0, 1, 2**63, LARGE]), pa.uint64(), size)),
        "bytes": draw(column_of(few_bytes, pa.binary(12), size)),
        "short": draw(column_of(st.sampled_from([b"ab", b"\x00\x00"]), pa.binary(2), size)),
        HOSTILE: draw(column_of(text, pa.string(), size)),
        "labels": draw(column_of(text, pa.string(), size)).dictionary_encode(),
        "number": draw(column_of(st.sampled_from([1.5, 0.0, -0.0, math.nan]), pa.float64(), size)),
        "signed": draw(column_of(st.sampled_from([-1, 0, 7]), pa.int64(), size)),
        "weight": pa.array(draw(st.lists(st.integers(1, 9), min_size=size, max_size=size)), pa.int64()),
    })  # fmt: skip


def with_sums(counted: Groups) -> dict[tuple[Any, ...], tuple[int, float, float]]:
    assert counted.weights is not None and counted.squares is not None
    sums = zip(counted.counts.tolist(), counted.weights.tolist(), counted.squares.tolist(), strict=True)
    return dict(zip(counted, sums, strict=True))


NAMES = ["u8", "U8", "u16", "u64", "bytes", "short", HOSTILE, "labels", "number", "signed"]


@settings(max_examples=30)
@given(tables(), st.lists(st.sampled_from(NAMES), min_size=1, max_size=4, unique=True))
def test_all_engines_count_the_same_integers(table: pa.Table, columns: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        pq.write_table(table, path, row_group_size=7)
        engines: list[Engine] = [MemoryEngine(table), ArrowEngine(path), DuckDBEngine(path)]
        memory, *others = [engine.count(columns) for engine in engines]
        expected = memory.to_dict()
        assert sum(expected.values()) == len(table)
        for counted in others:
            assert counted.to_dict() == expected and len(counted) == len(expected)
        sums = with_sums(engines[0].count(columns, "weight"))
        assert all(with_sums(engine.count(columns, "weight")) == sums for engine in engines[1:])


@given(
    tables(), st.sampled_from([1, 3, 1000]), st.sampled_from([2, 2**20]), st.sampled_from([0, 2**12, 2**20]),
    st.sampled_from([[HOSTILE, "u16", "u64", "bytes"], [HOSTILE, "u8"], ["u16", "labels", "number"], ["u8", "U8"]]),
)  # fmt: skip
def test_batches_and_merges_change_nothing(
    table: pa.Table, rows: int, partial: int, counter_bytes: int, columns: list[str]
) -> None:
    expected = MemoryEngine(table).count(columns).to_dict()
    sums = with_sums(MemoryEngine(table).count(columns, "weight"))
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        path = Path(folder) / "rows.parquet"
        pq.write_table(table, path)
        for module, name, value in (
            (arrow_engine, "COUNT_ROWS", rows), (arrow_engine, "BATCH_ROWS", rows),
            (groups, "PARTIAL_GROUPS", partial), (counters, "PARTIAL_GROUPS", partial),
            (counters, "COUNTER_BYTES", counter_bytes),
        ):  # fmt: skip
            patch.setattr(module, name, value)
        assert ArrowEngine(path).count(columns).to_dict() == expected
        assert with_sums(ArrowEngine(path).count(columns, "weight")) == sums


@settings(max_examples=20)
@given(tables())
def test_csv_files_are_read_by_the_same_rules(table: pa.Table) -> None:
    columns = ["u8", HOSTILE, "u64"]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.csv"
        pa_csv.write_csv(table.select([*columns, "weight"]), path)
        arrow, duck = ArrowEngine(path, ["007"]), DuckDBEngine(path, missing_values=["007"])
        assert duck.columns == arrow.columns
        counted = arrow.count(columns).to_dict()
        assert duck.count(columns).to_dict() == counted
        assert not any(value in ("", "007") for row in counted for value in row)
        again = [engine(path) for engine in (ArrowEngine, DuckDBEngine)]
        assert with_sums(again[0].count(columns, "weight")) == with_sums(again[1].count(columns, "weight"))


def test_there_is_one_zero(tmp_path: Path) -> None:
    path = tmp_path / "r.parquet"
    for zeros in ([-0.0, 0.0, 1.5], [0.0, -0.0, 1.5]):
        table = pa.table({"number": zeros, "u": pa.array([1, 1, 1], pa.uint8())})
        pq.write_table(table, path)
        engines: list[Engine] = [MemoryEngine(table), ArrowEngine(path), DuckDBEngine(path)]
        for engine in engines:
            for columns in (["number"], ["number", "u"]):
                found = sorted((str(row[0]), n) for row, n in engine.count(columns).to_dict().items())
                assert found == [("0.0", 2), ("1.5", 1)]


NOON = dt.datetime(2020, 1, 1, 12)
SAME_TEXT = {
    "seconds": (pa.array([NOON, None], pa.timestamp("s")), {"2020-01-01 12:00:00", ""}),
    "nanoseconds": (pa.array([NOON, None], pa.timestamp("ns")), {"2020-01-01 12:00:00", ""}),
    "fine": (pa.array([NOON.replace(microsecond=7), NOON]), {"2020-01-01 12:00:00.000007", "2020-01-01 12:00:00"}),
    "date": (pa.array([NOON.date(), None]), {"2020-01-01", ""}),
    "date64": (pa.array([NOON.date(), None], pa.date64()), {"2020-01-01", ""}),
    "labels": (pa.array([NOON.date(), None]).dictionary_encode(), {"2020-01-01", ""}),
    "boolean": (pa.array([True, False]), {"True", "False"}),
    "short": (pa.array([1.5, math.nan], pa.float16()), {"1.5", ""}),
    "number": (pa.array([1e22, -0.0]), {"1e+22", "0.0"}),
    "decimal": (pa.array([Decimal("1.50"), None]), {"1.50", ""}),
    "decimal32": (pa.array([Decimal("1.50"), None], pa.decimal32(3, 2)), {"1.50", ""}),
    "bytes": (pa.array(["ü".encode(), None]), {"ü", ""}),
    "large": (pa.array(["ü", None], pa.large_string()), {"ü", ""}),
    "none": (pa.nulls(2), {""}),
    "unsigned": (pa.array([LARGE, None], pa.uint64()), {str(LARGE), ""}),
}  # fmt: skip
REFUSED = {
    "zone": pa.array([NOON], pa.timestamp("us", "UTC")), "duration": pa.array([dt.timedelta(1)]),
    "time": pa.array([NOON.time()]), "list": pa.array([[1]]), "struct": pa.array([{"a": 1}]),
    "map": pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64())), "view": pa.array(["a"], pa.string_view()),
    "uuid": pa.array([bytes(16)], pa.uuid()), "fixed": pa.array([b"ab"], pa.binary(2)),
    "long": pa.array([Decimal("1.5")], pa.decimal256(50, 2)),
}  # fmt: skip
ENGINES: tuple[EngineName, ...] = ("arrow", "duckdb")
KINDS: tuple[Kind, ...] = ("patterns", "support")
DESIGN = Design({"letter": rt.uniform_subset(rt.Categorical("letter", list("abcd")))})


def privatized(column: pa.Array, out: Path) -> Path:
    source = out.with_name("source.parquet")
    pq.write_table(pa.table({"letter": ["a"] * len(column), "own": column}), source)
    privatize_file(source, DESIGN, out, keep=["own"])
    return out


@pytest.mark.parametrize("kind", SAME_TEXT)
def test_a_public_value_has_one_text(kind: str, tmp_path: Path) -> None:
    column, expected = SAME_TEXT[kind]
    for out in ("r.parquet", "r.csv"):
        path = privatized(column, tmp_path / out)
        for engine, counted in product(ENGINES, KINDS):
            tally = tally_files([path], by=["own"], engine=engine, kind=counted)["letter"]
            assert isinstance(tally, rt.GroupedTally) and {label for (label,) in tally.groups} == expected


@pytest.mark.parametrize("kind", REFUSED)
def test_other_types_are_refused_by_name(kind: str, tmp_path: Path) -> None:
    words = f'"own" is of the type {REFUSED[kind].type}'.split("[")[0].split("<")[0].split("(")[0]
    for out in ("r.parquet", "r.csv"):
        with pytest.raises(FileFormatError, match=words) as caught:
            privatized(REFUSED[kind], tmp_path / out)
        assert "damaged" not in str(caught.value) and not (tmp_path / out).exists()
    own = Design({"own": rt.uniform_subset(rt.Categorical("own", list("abcd")))})
    with pytest.raises(FileFormatError, match=words):
        privatize_file(tmp_path / "source.parquet", own, tmp_path / "r.parquet")
    # A file of reports whose public column was replaced by one of the type.
    path = privatized(pa.array(["x"]), tmp_path / "r.parquet")
    table = pq.read_table(path)
    pq.write_table(table.set_column(0, "own", REFUSED[kind]).replace_schema_metadata(table.schema.metadata), path)
    for engine in ENGINES:
        with pytest.raises(FileFormatError, match=words):
            tally_files([path], by=["own"], engine=engine)
        with pytest.raises(FileFormatError, match=words):
            tally_files([path], weight="own", engine=engine)


def test_times_that_have_no_text_are_refused_alike(tmp_path: Path) -> None:
    for column in (pa.array([1], pa.timestamp("ns")), pa.array([10**8], pa.date32()), pa.array([b"\xff"])):
        path = privatized(column, tmp_path / "r.parquet")
        for engine in ENGINES:
            with pytest.raises(FileFormatError, match="convert it to text"):
                tally_files([path], by=["own"], engine=engine)


def test_weights_are_read_alike(tmp_path: Path) -> None:
    path = tmp_path / "r.parquet"
    texts = ["1", "+1.5", " 2\t", "1.", ".5", "1e2", "１２", "\u00a01", "\x1c1", "0x10", "1d", "1_0", "", "٣"]
    for text in texts:
        found: list[Any] = []
        table = pa.table({"u": pa.array([1], pa.uint8()), "w": [text]})
        pq.write_table(table, path)
        engines: list[Engine] = [MemoryEngine(table), ArrowEngine(path), DuckDBEngine(path)]
        for engine in engines:
            try:
                found.append(engine.count(["u"], "w").weights)
            except TallyError as fault:
                found.append(fault.details)
        assert found[0] == found[1] == found[2], text
        assert isinstance(found[0], dict) == (texts.index(text) > 5), text


@pytest.fixture
def rows() -> pa.Table:
    return pa.table({
        HOSTILE: ["x", None, "x", "y"], "u": pa.array([3, LARGE, 3, None], pa.uint64()), "w": ["1.5", "2", " 3 ", "1e1"],
    })  # fmt: skip


@pytest.fixture
def file(rows: pa.Table, tmp_path: Path) -> Path:
    pq.write_table(rows, tmp_path / "rows.parquet")
    return tmp_path / "rows.parquet"


def test_relations_and_tables_count_as_files_do(rows: pa.Table, file: Path) -> None:
    expected = ArrowEngine(file).count([HOSTILE, "u"]).to_dict()
    connection = duckdb.connect()
    connection.register("rows", rows)
    connection.execute('CREATE TABLE "odd ""name" AS FROM rows')
    for engine in (DuckDBEngine(connection, 'odd "name'), DuckDBEngine(connection.sql("FROM rows"))):
        assert engine.columns == (HOSTILE, "u", "w")
        assert engine.count([HOSTILE, "u"]).to_dict() == expected
        assert with_sums(engine.count(["u"], "w")) == with_sums(ArrowEngine(file).count(["u"], "w"))
        (batch,) = engine.batches(["u", HOSTILE])
        assert batch["u"].to_pylist() == [3, LARGE, 3, None] and batch[HOSTILE].to_pylist() == ["x", None, "x", "y"]
    assert connection.sql("SHOW TABLES").fetchall() == [('odd "name',), ("rows",)]  # no view was left


def test_batches_are_streamed_in_order(tmp_path: Path) -> None:
    pq.write_table(pa.table({"i": np.arange(600_000, dtype=np.uint32)}), tmp_path / "r.parquet", row_group_size=50_000)
    batches = list(DuckDBEngine(tmp_path / "r.parquet").batches(["i"]))
    assert len(batches) > 1
    assert np.array_equal(np.concatenate([np.asarray(batch["i"]) for batch in batches]), np.arange(600_000))


@pytest.mark.parametrize("name", ["a*b.parquet", "a[1]b?.parquet", "k=v/rows.parquet", 'it\'s "odd".parquet'])
def test_a_path_is_a_path_and_not_a_pattern(name: str, rows: pa.Table, tmp_path: Path) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    pq.write_table(rows, path)
    pq.write_table(pa.concat_tables([rows] * 3), path.with_name("axb.parquet"))
    engine = DuckDBEngine(path)
    assert engine.columns == (HOSTILE, "u", "w") and engine.count(["u"]).n == 4
    for address in ("https://example.org/rows.parquet", "s3://bucket/rows.parquet"):
        with pytest.raises(FileFormatError, match="no file"):
            DuckDBEngine(address)


def test_nothing_is_installed_or_loaded_and_nothing_is_left(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spill = tmp_path / "spill"
    spill.mkdir()
    monkeypatch.setenv("TMPDIR", str(spill))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    engine = DuckDBEngine(file)
    with engine._rows(["u"]) as relation:
        assert len(os.listdir(spill)) == 1
        assert relation.limit(1).project("current_setting('autoinstall_known_extensions')").fetchall() == [(False,)]
        assert relation.limit(1).project("current_setting('autoload_known_extensions')").fetchall() == [(False,)]
    engine.count(["u"])
    iterator = engine.batches(["u"])
    next(iterator)
    assert isinstance(iterator, Generator)
    iterator.close()
    assert os.listdir(spill) == [] and sorted(os.listdir(tmp_path)) == ["rows.parquet", "spill"]


def test_little_memory_is_enough_for_many_groups(tmp_path: Path) -> None:
    generator = np.random.default_rng(3)
    keys = generator.integers(0, 2**63, 1_500_000, dtype=np.uint64)
    pq.write_table(pa.table({"u": keys}), tmp_path / "r.parquet", row_group_size=100_000)
    counted = DuckDBEngine(tmp_path / "r.parquet", memory="100MB").count(["u"])
    distinct, counts = np.unique(keys, return_counts=True)
    order = np.argsort(counted.values[0].to_numpy())
    assert np.array_equal(counted.values[0].to_numpy()[order], distinct)
    assert np.array_equal(counted.counts[order], counts)


def test_bits_are_summed_in_the_database(tmp_path: Path) -> None:
    keys: list[int | None] = [0b0011, 0b0101, None, 0b1100, 0b0011]
    by = ["a", "b", "a", None, "a"]
    path = tmp_path / "r.parquet"
    pq.write_table(pa.table({"k": pa.array(keys, pa.uint8()), "by": by}), path)
    counted = DuckDBEngine(path).count_bits("k", 4, [2], ["by"]).to_dict()
    for group in ("a", "b", None):
        own = [key for key, label in zip(keys, by, strict=True) if label == group]
        present = [key for key in own if key is not None]
        assert counted[group, -1] == len(own) - len(present) and counted[group, 4] == len(present)
        assert [counted[group, j] for j in range(4)] == [sum(key >> j & 1 for key in present) for j in range(4)]
    for n_bits, sizes in ((3, [2]), (4, [1, 3])):
        with pytest.raises(ReportError, match="cannot come from") as caught:
            DuckDBEngine(path).count_bits("k", n_bits, sizes)
        assert caught.value.details["n_bad"] == {3: 1, 4: 4}[n_bits]


@pytest.mark.parametrize("bits", [63, 64])
def test_the_highest_bit_counts(bits: int, tmp_path: Path) -> None:
    path = tmp_path / "r.parquet"
    pq.write_table(pa.table({"k": pa.array([1 << bits - 1, 2**bits - 1], pa.uint64())}), path)
    counted = DuckDBEngine(path).count_bits("k", bits, [1, bits]).to_dict()
    assert counted[bits - 1,] == 2 and counted[0,] == 1 and counted[bits,] == 2


# --- refusals ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("make", [
    lambda path: MemoryEngine(pq.read_table(path)), ArrowEngine, DuckDBEngine,
    lambda path: DuckDBEngine(duckdb.from_parquet(str(path))),
], ids=["memory", "arrow", "duckdb", "relation"])  # fmt: skip
def test_weights_that_are_none_are_counted_and_refused(make: Any, tmp_path: Path) -> None:
    path = tmp_path / "r.parquet"
    weights = {
        "numbers": pa.array([1.0, None, math.nan, -2.0, 0.0, math.inf, 5.0]),
        "texts": pa.array(["1", None, SECRET, "-2", "0", "inf", "1_0"]),
    }
    pq.write_table(pa.table({"u": pa.array([1] * 7, pa.uint8()), **weights}), path)
    for name, missing in (("numbers", 2), ("texts", 3)):
        with pytest.raises(TallyError, match=f"7 weights.*{missing} are missing.*2 are zero or negative") as caught:
            make(path).count(["u"], name)
        assert caught.value.details == {"missing": missing, "not_positive": 2, "not_finite": 1}
        assert SECRET not in str(caught.value)


def test_every_cut_of_a_file_is_noticed(file: Path) -> None:
    whole = file.read_bytes()
    for length in range(0, len(whole), max(1, len(whole) // 40)):
        file.write_bytes(whole[:length])
        with pytest.raises(FileFormatError) as caught:
            DuckDBEngine(file).count(["u"])
        assert "\n" not in str(caught.value)


def test_damage_inside_a_file_is_one_line_without_values(tmp_path: Path) -> None:
    path = tmp_path / "r.parquet"
    pq.write_table(pa.table({"u": [SECRET] * 1000}), path, compression="none", use_dictionary=False)
    content = bytearray(path.read_bytes())
    content[4:60] = b"\xff" * 56
    path.write_bytes(content)
    for engine in (ArrowEngine, DuckDBEngine):
        with pytest.raises(FileFormatError, match="not a readable Parquet file") as caught:
            engine(path).count(["u"])
        assert "\n" not in str(caught.value) and SECRET not in str(caught.value)


def test_a_ragged_csv_never_shows_the_row(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text(f"a,b\n007,x\n{SECRET},y,z\n", encoding="utf-8")
    with pytest.raises(FileFormatError, match="more or fewer fields") as caught:
        DuckDBEngine(path).count(["a"])
    assert SECRET not in str(caught.value) and caught.value.__suppress_context__


def test_what_is_not_there_is_named(file: Path) -> None:
    connection = duckdb.connect()
    with pytest.raises(FileFormatError, match="no table"):
        DuckDBEngine(connection, HOSTILE)
    with pytest.raises(ParameterError, match="name one"):
        DuckDBEngine(connection)
    with pytest.raises(FileFormatError, match="two columns of one name"):
        DuckDBEngine(connection.sql('SELECT 1 AS a, 2 AS "A"'))
    for engine in (DuckDBEngine(file), DuckDBEngine(connection.sql("SELECT 1 AS a"))):
        with pytest.raises(FileFormatError, match='no column "income"'):
            engine.count(["income"])
    failing = connection.sql(f"SELECT CAST(t AS INTEGER) AS a FROM (VALUES ('{SECRET}')) AS v(t)")
    with pytest.raises(FileFormatError, match="could not be read") as caught:
        DuckDBEngine(failing).count(["a"])
    assert SECRET not in str(caught.value)
