"""Files of tallies: every tally comes back as it was, every change is noticed, and all engines count the same integers."""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import reticent as rt
from reticent.channel.product import joint_reports
from reticent.cli import main
from reticent.design import Design
from reticent.engines import ArrowEngine, privatize_file, read_reports, read_tally, tally_files, write_tally
from reticent.engines import arrow as arrow_engine
from reticent.engines.arrow import METADATA_KEY
from reticent.errors import FileFormatError, ParameterError, TallyError
from reticent.tallies import Tally

RACE = rt.uniform_subset(rt.Categorical("race", ["a", "b", "c", "d", "e"]))
SEX = rt.randomized_response(rt.Categorical("sex", ["f", "m"]), 1.0)
VOTE = rt.fixed_size(rt.Categorical("vote", ["left", "right", "centre", "none"]), 2)
# Sets of 69 of 70 towns: keys of 70 bits, which travel as bytes, and only 70 of them.
TOWN = rt.Subset(rt.Categorical("town", [f"town {i}" for i in range(70)]), ((69, 1),), title="all but one")
# Too many possible reports for patterns: support is counted by default.
STREET = rt.uniform_subset(rt.Categorical("street", [f"street {i}" for i in range(70)]))
DESIGN = Design({one.domain.name: one for one in (RACE, SEX, VOTE, TOWN, STREET)}, "skip", ("region", "year", "weight"))
REGIONS = ["north", "", None, 'say "hi"', "é, x", "'; DROP TABLE t; --"]
WEIGHTS = [1.0, 0.1, 3.7, 1e-3, 12345.678]
SECRET = "a secret answer"

Options = dict[str, Any]


def people(rows: Sequence[tuple[Any, ...]]) -> pa.Table:
    """A table of answers; each row has the place of each answer (None: missing), of the region, the year, the weight."""
    domains = [channel.domain for channel in DESIGN.columns.values()]
    assert all(isinstance(domain, rt.Categorical) for domain in domains)
    columns: dict[str, Any] = {}
    for i, domain in enumerate(domains):
        answers = [None if row[i] is None else domain.categories[row[i]] for row in rows]
        columns[domain.name] = pa.array(answers, pa.string())
    columns["region"] = pa.array([REGIONS[row[5]] for row in rows], pa.string())
    columns["year"] = pa.array([row[6] for row in rows], pa.int64())
    columns["weight"] = pa.array([WEIGHTS[row[7]] for row in rows], pa.float64())
    return pa.table(columns)


answers = st.tuples(
    *(st.none() | st.integers(0, top) for top in (4, 1, 3, 2, 69)),
    st.integers(0, len(REGIONS) - 1), st.none() | st.sampled_from([2024, 2025]), st.integers(0, len(WEIGHTS) - 1),
)  # fmt: skip
SOME = [
    (
        None if i % 7 == 0 else i % 5, None if i % 11 == 0 else i % 2, None if i % 13 < 2 else i % 4,
        None if i % 9 == 0 else i % 3, i % 70, i % 3, 2024 + i % 2, i % 5,
    )
    for i in range(300)
]  # fmt: skip


def column(path: Path, name: str) -> list[Any]:
    return [value for batch in ArrowEngine(path).batches([name]) for value in batch[name].to_pylist()]


def in_memory(path: Path, names: Sequence[str], options: Options) -> Tally | rt.GroupedTally:
    """What `tally_files` should find, from reports and public columns in memory."""
    reports = {name: read_reports(path, name) for name in names}
    by = options.get("by", ())
    kind: Literal["patterns", "support"] | None = options.get("kind")
    weights = [float(weight) for weight in column(path, "weight")]
    labels = [["" if value is None else str(value) for value in column(path, name)] for name in by]
    groups: dict[tuple[str, ...], list[int]] = {}
    for i in range(len(weights)):
        groups.setdefault(tuple(values[i] for values in labels), []).append(i)

    def of_rows(rows: list[int]) -> Tally:
        own = {
            name: rt.Reports(one.channel, one.keys[rows], None if one.valid is None else one.valid[rows])
            for name, one in reports.items()
        }
        if len(own) > 1 and kind == "support":
            return rt.tally_columns(own, options.get("sets", [names]))
        joint = joint_reports(own) if len(own) > 1 else own[names[0]]
        if "weight" in options:
            return rt.tally(joint, weights=[weights[i] for i in rows])
        return rt.tally(joint, kind=kind, sets=options.get("sets"))

    if not by:
        return of_rows(list(range(len(weights))))
    return rt.GroupedTally(tuple(by), {group: of_rows(rows) for group, rows in sorted(groups.items())})


def assert_same(found: Tally | rt.GroupedTally, expected: Tally | rt.GroupedTally) -> None:
    """Equal; sums of weights to a relative 1e-12, as order changes their rounding."""
    if isinstance(expected, rt.GroupedTally):
        assert isinstance(found, rt.GroupedTally) and found.by == expected.by
        assert list(found.groups) == list(expected.groups)
        for group, part in expected.groups.items():
            assert_same(found.groups[group], part)
    elif isinstance(expected, rt.WeightedTally):
        assert isinstance(found, rt.WeightedTally) and found.channel == expected.channel
        assert found.missing == expected.missing
        assert np.array_equal(found.keys, expected.keys) and np.array_equal(found.counts, expected.counts)
        np.testing.assert_allclose(found.weights, expected.weights, rtol=1e-12)
        np.testing.assert_allclose(found.squares, expected.squares, rtol=1e-12)
    else:
        assert found == expected


OPTIONS: list[tuple[list[str], Options]] = [
    (["race"], {}),
    (["town"], {"by": ["region"]}),
    (["street"], {}),
    (["street"], {"by": ["year"]}),
    (["vote"], {"by": ["region", "year"], "weight": "weight"}),
    (["town"], {"weight": "weight"}),
    (["race"], {"kind": "support", "by": ["year"]}),
    (["town"], {"kind": "support"}),
    (["vote"], {"kind": "support", "sets": [("vote", "vote")]}),
    (["race", "sex"], {"by": ["region"]}),
    (["town", "sex", "vote"], {}),
    (["race", "sex"], {"weight": "weight", "by": ["year"]}),
    (["race", "sex", "vote"], {"kind": "support", "by": ["region"]}),
    (["race", "vote", "town"], {"kind": "support", "sets": [("race", "vote"), ("race", "race"), ("vote", "town")]}),
]


@settings(max_examples=60)
@given(st.lists(answers, max_size=40), st.sampled_from(OPTIONS), st.sampled_from(["parquet", "csv"]), st.booleans())
def test_every_engine_finds_the_integers_of_memory(
    rows: list[tuple[Any, ...]], question: tuple[list[str], Options], ending: str, small: bool
) -> None:
    names, options = question
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        source, path = Path(folder) / "people.parquet", Path(folder) / f"reports.{ending}"
        pq.write_table(people(rows), source)
        if small:
            for name in ("BATCH_ROWS", "COUNT_ROWS"):
                patch.setattr(arrow_engine, name, 7)
        privatize_file(source, DESIGN, path, seed=1)
        expected = in_memory(path, names, options)
        asked: Options = {"joint": names} if len(names) > 1 else {"columns": names}
        for engine in ("arrow", "duckdb"):
            ((_, found),) = tally_files([path], **asked, **options, engine=engine).items()
            assert_same(found, expected)
            if not isinstance(found, rt.GroupedTally) or found.groups:
                write_tally(found, Path(folder) / "t.parquet")
                assert read_tally(Path(folder) / "t.parquet") == found


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reports")
    pq.write_table(people(SOME), folder / "people.parquet")
    privatize_file(folder / "people.parquet", DESIGN, folder / "reports.parquet", seed=1)
    return folder / "reports.parquet"


@pytest.mark.parametrize(("names", "options"), OPTIONS, ids=str)
def test_what_is_written_is_read(names: list[str], options: Options, reports: Path, tmp_path: Path) -> None:
    asked: Options = {"joint": names} if len(names) > 1 else {"columns": names}
    (tally,) = tally_files([reports], **asked, **options).values()
    write_tally(tally, tmp_path / "t.parquet")
    assert read_tally(tmp_path / "t.parquet") == tally and tally == rt.load(tmp_path / "t.parquet")
    if isinstance(tally, rt.SupportTally) and len(names) > 1:
        assert len(tally.blocks) > 3  # people who answered different questions are kept apart


@pytest.mark.parametrize("empty", [
    rt.PatternTally.empty(TOWN), rt.SupportTally.empty(rt.Product([RACE, SEX]), [("race", "sex")]),
    rt.tally(RACE.draw_many([]), weights=[]), rt.tally(RACE.draw_many([None], missing="skip"), kind="support"),
], ids=["patterns", "support", "weighted", "missing"])  # fmt: skip
def test_tallies_of_nobody_survive(empty: Tally, tmp_path: Path) -> None:
    for tally in (empty, rt.GroupedTally(("region",), {("",): empty})):
        write_tally(tally, tmp_path / "t.parquet")
        assert read_tally(tmp_path / "t.parquet") == tally


def test_counts_near_the_largest_survive(tmp_path: Path) -> None:
    counts = {key: 2**60 for key in RACE.keys()[:3].tolist()}
    tally = rt.PatternTally.from_counts(RACE, counts, missing=2**60)
    write_tally(tally, tmp_path / "t.parquet")
    assert read_tally(tmp_path / "t.parquet") == tally


def test_files_of_the_first_version_are_still_read(tmp_path: Path) -> None:
    tally = rt.tally(RACE.draw_many(["a", "b", None] * 30, seed=1, missing="skip"))
    write_tally(tally, tmp_path / "t.parquet")
    table, document = opened(tmp_path / "t.parquet")
    old = {"kind": "tally", "version": 1, "channel": document["channel"], "by": [], "groups": [[]]}
    pq.write_table(table.replace_schema_metadata({METADATA_KEY: json.dumps(old)}), tmp_path / "t.parquet")
    assert read_tally(tmp_path / "t.parquet") == tally


# --- changes ---------------------------------------------------------------------------------------------------------
def opened(path: Path) -> tuple[pa.Table, dict[str, Any]]:
    table = pq.read_table(path)
    return table.replace_schema_metadata(None), json.loads((table.schema.metadata or {})[METADATA_KEY])


TAMPERED: Mapping[str, tuple[list[str], Options]] = {
    "patterns": (["race"], {}),
    "wide": (["town"], {}),
    "grouped": (["race"], {"by": ["region"]}),
    "weighted": (["race"], {"weight": "weight"}),
    "support": (["race", "sex"], {"kind": "support"}),
    "grouped support": (["race", "sex"], {"kind": "support", "by": ["year"]}),
}


@pytest.fixture(params=[*TAMPERED])
def tally(request: pytest.FixtureRequest, reports: Path, tmp_path: Path) -> Path:
    names, options = TAMPERED[request.param]
    asked: Options = {"joint": names} if len(names) > 1 else {"columns": names}
    (counted,) = tally_files([reports], **asked, **options).values()
    write_tally(counted, tmp_path / "t.parquet")
    return tmp_path / "t.parquet"


def with_counts(table: pa.Table, counts: Any) -> pa.Table:
    return table.set_column(table.column_names.index("count"), "count", counts)


def added(table: pa.Table, place: int, amount: int) -> pa.Table:
    counts = table["count"].to_numpy().copy()
    counts[place] += amount
    return with_counts(table, pa.array(counts))


def exchanged(table: pa.Table) -> pa.Table:
    """Two counts change places, so that their sum is the same."""
    counts = table["count"].to_numpy().copy()
    place = int(np.flatnonzero(counts[1:] != counts[:-1])[0])
    counts[[place, place + 1]] = counts[[place + 1, place]]
    return with_counts(table, pa.array(counts))


CHANGES: Mapping[str, Callable[[pa.Table], pa.Table]] = {
    "one more": lambda table: added(table, 2, 1),
    "one fewer": lambda table: added(table, 0, -1),
    "one moved": lambda table: added(added(table, 0, 1), 1, -1),
    "exchanged": exchanged,
    "negative": lambda table: added(table, 1, -(10**6)),
    "null": lambda table: with_counts(table, pa.array([None, *table["count"].to_pylist()[1:]], pa.int64())),
    "another type": lambda table: with_counts(table, table["count"].cast(pa.float64())),
    "columns in another order": lambda table: table.select(table.column_names[::-1]),
    "a column more": lambda table: table.append_column("more", table["count"]),
    "a column fewer": lambda table: table.drop_columns([table.column_names[0]]),
    "renamed": lambda table: table.rename_columns(["x", *table.column_names[1:]]),
    "rows in another order": lambda table: table.take(list(range(len(table)))[::-1]),
    "a row twice": lambda table: pa.concat_tables([table, table.slice(1, 1)]),
    "no rows": lambda table: table.slice(0, 0),
    "twice": lambda table: pa.concat_tables([table, table]),
}


def refused(path: Path) -> bool:
    """Whether reading the file ends in one line that names it."""
    try:
        read_tally(path)
    except FileFormatError as fault:
        return "\n" not in str(fault) and path.name in str(fault)
    return False


def rewritten(path: Path, table: pa.Table, document: object) -> Path:
    pq.write_table(table.replace_schema_metadata({METADATA_KEY: json.dumps(document)}), path)
    return path


@pytest.mark.parametrize("change", [*CHANGES])
def test_every_change_of_the_rows_is_noticed(change: str, tally: Path) -> None:
    table, document = opened(tally)
    assert refused(rewritten(tally, CHANGES[change](table), document))


def test_every_row_that_is_dropped_is_noticed(tally: Path) -> None:
    table, document = opened(tally)
    for row in range(len(table)):
        left = [i for i in range(len(table)) if i != row]
        assert refused(rewritten(tally, table.take(left), document))


def test_another_channel_is_noticed(tally: Path) -> None:
    table, document = opened(tally)
    race, town = rt.fixed_size(RACE.domain, 3), rt.Subset(TOWN.domain, ((35, 1),))
    foreign = {"race": race, "town": town, "race × sex": rt.Product([race, SEX])}
    other = foreign[rt.channel_from_json(document["channel"]).domain.name]
    assert refused(rewritten(tally, table, {**document, "channel": other.to_json()}))
    assert refused(rewritten(tally, table, {**document, "channel": other.to_json(), "digest": other.digest}))


@pytest.mark.parametrize("version", [3, 0, -1, 1, "2", True, None, 2.5, []], ids=str)  # 1 has none of these fields
def test_another_version_is_noticed(version: object, tally: Path) -> None:
    table, document = opened(tally)
    assert refused(rewritten(tally, table, {**document, "version": version}))


def places(document: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where the values of a document stand."""
    inner = (
        document.items() if isinstance(document, dict) else enumerate(document) if isinstance(document, list) else ()
    )
    return [path] * bool(path) + [place for key, value in inner for place in places(value, (*path, key))]


JUNK: list[Any] = [None, True, 0, -1, 10**30, 0.5, "", "x", "9" * 5000, [], {}, [[]], {"kind": "subset"}, math.inf]


@pytest.mark.filterwarnings("ignore:Every report")  # 69 of 70 towns are all of them once one town is gone
def test_every_change_of_the_description_is_noticed(tally: Path) -> None:
    table, document = opened(tally)
    generator = np.random.default_rng(1)
    for place in places(document):
        *above, last = place
        for junk in [JUNK[i] for i in generator.choice(len(JUNK), 3, replace=False)]:
            changed = deepcopy(document)
            inner = changed
            for key in above:
                inner = inner[key]
            inner[last] = junk
            if changed != document:
                assert refused(rewritten(tally, table, changed))
        del inner[last]
        assert refused(rewritten(tally, table, changed))
        assert refused(rewritten(tally, table, {**document, "more": 1}))
    assert refused(rewritten(tally, table, []))


def test_the_mark_of_a_seed_stays_and_cannot_be_taken_off(tally: Path, tmp_path: Path) -> None:
    written = read_tally(tally)
    parts = list(written.groups.values()) if isinstance(written, rt.GroupedTally) else [written]
    assert all(part.simulated for part in parts)
    table, document = opened(tally)
    assert document.pop("simulated") is True
    assert refused(rewritten(tally, table, document))
    assert refused(rewritten(tally, table, {**document, "simulated": False}))
    assert isinstance(parts[0], (rt.PatternTally, rt.SupportTally, rt.WeightedTally))
    real = replace(parts[0], simulated=False)
    write_tally(real, tally)  # such a file is what it was before there was a mark
    found, (table, document) = read_tally(tally), opened(tally)
    assert isinstance(found, Tally) and found == real and not found.simulated and "simulated" not in document
    assert refused(rewritten(tally, table, {**document, "simulated": True}))


@pytest.mark.parametrize("engine", ["arrow", "duckdb"])
def test_files_of_reports_pass_the_mark_of_a_seed_on(
    engine: Literal["arrow", "duckdb"], reports: Path, tmp_path: Path
) -> None:
    pq.write_table(people(SOME), tmp_path / "people.parquet")
    real = tmp_path / "real.parquet"
    privatize_file(tmp_path / "people.parquet", DESIGN, real)
    for asked in (
        {"columns": ["race"]}, {"columns": ["race"], "kind": "support"}, {"columns": ["street"]},
        {"columns": ["race"], "weight": "weight"}, {"joint": ["race", "sex"], "kind": "support"},
        {"joint": ["race", "sex"]}, {"columns": ["race"], "by": ["year"]},
    ):  # fmt: skip
        options: Options = dict(asked)
        for paths, marked in (([reports], True), ([real], False), ([real, reports], True)):
            (found,) = tally_files(paths, engine=engine, **options).values()
            total = found.total() if isinstance(found, rt.GroupedTally) else found
            assert total.simulated is marked, (options, paths)


def test_every_cut_is_noticed_and_no_damage_changes_a_count(tally: Path) -> None:
    whole, written = tally.read_bytes(), read_tally(tally)
    for length in range(0, len(whole), max(1, len(whole) // 40)):
        tally.write_bytes(whole[:length])
        assert refused(tally)
    for place in range(0, len(whole), max(1, len(whole) // 150)):
        damaged = bytearray(whole)
        damaged[place] ^= 0x15
        tally.write_bytes(damaged)
        try:
            found = read_tally(tally)
        except FileFormatError as fault:
            assert "\n" not in str(fault)
        else:
            assert found == written  # what was hit says nothing about the counts


# --- what contradicts itself or cannot be counted ----------------------------------------------------------------------
def test_nothing_is_counted_twice(reports: Path, tmp_path: Path) -> None:
    again = tmp_path / "again.parquet"
    again.symlink_to(reports)
    cases: list[tuple[list[Path], Options]] = [
        ([reports, reports], {}), ([reports, again], {}), ([reports], {"columns": ["race", "race"]}),
        ([reports], {"by": ["year", "year"]}),
    ]  # fmt: skip
    for paths, options in cases:
        with pytest.raises(ParameterError, match="twice"):
            tally_files(paths, **options)


@pytest.mark.parametrize("engine", ["arrow", "duckdb"])
def test_a_wrong_weight_is_not_called_damage(engine: Literal["arrow", "duckdb"], tmp_path: Path) -> None:
    design = Design({"race": RACE}, "skip", ("weight",))
    for weights, reason in (
        ([1.0, -2.0], "1 are zero or negative"), ([1.0, math.nan], "1 are missing"), ([1e-200, 1e-200], "squared"),
        ([1e200, 1e200], "squared"), (["1", SECRET], "1 are missing or no number"),
    ):  # fmt: skip
        pq.write_table(pa.table({"race": ["a", "b"], "weight": weights}), tmp_path / "people.parquet")
        privatize_file(tmp_path / "people.parquet", design, tmp_path / "r.parquet")
        with pytest.raises(TallyError, match=reason) as caught:
            tally_files([tmp_path / "r.parquet"], weight="weight", engine=engine)
        assert SECRET not in str(caught.value)


@pytest.mark.parametrize("engine", ["arrow", "duckdb"])
@pytest.mark.parametrize("kind", ["patterns", "support"])
@pytest.mark.parametrize("cell", ["1e1", "7.0", " 7", "-7", "0x7", "300", "99999999999999999999", SECRET, "31"])
def test_what_is_no_report_is_refused(
    cell: str, kind: Literal["patterns", "support"], engine: Literal["arrow", "duckdb"], tmp_path: Path
) -> None:
    path = tmp_path / "r.csv"
    rt.save(RACE.draw_many(["a", "b", "c"]), path)
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0], cell, *lines[2:]]) + "\n")
    with pytest.raises(FileFormatError, match="damaged|does not hold reports") as caught:
        tally_files([path], kind=kind, engine=engine)
    assert "\n" not in str(caught.value) and SECRET not in str(caught.value)


# --- the command -----------------------------------------------------------------------------------------------------
def run(*arguments: object) -> Any:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def test_the_command_counts_what_the_engines_count(reports: Path, tmp_path: Path) -> None:
    for names, options in OPTIONS:
        if "sets" in options:
            continue
        asked = [text for name in names for text in ("--joint" if len(names) > 1 else "--column", name)]
        asked += [text for name in options.get("by", ()) for text in ("--by", name)]
        asked += [text for name in ("kind", "weight") if name in options for text in (f"--{name}", options[name])]
        for engine in ("arrow", "duckdb"):
            told = run("tally", reports, *asked, "--engine", engine, "-o", tmp_path / "t.pq", "--json")
            assert told.exit_code == 0, told.output
            (document,) = json.loads(told.stdout)
            assert_same(read_tally(tmp_path / "t.pq"), in_memory(reports, names, options))
            assert sum(group["n"] + group["missing"] for group in document["groups"]) == len(SOME)
            assert document["question"] == " × ".join(names) and document["file"] == str(tmp_path / "t.pq")


def test_wrong_usage_of_tally_is_told_before_anything_is_counted(reports: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.parquet"
    for asked in (
        [reports, "--column", "race"], ["--column", "race", "--column", "race"], ["--by", "year", "--by", "year"], [],
        ["--joint", "race"], ["--joint", "race", "--joint", "race"], ["--joint", "race", "--column", "sex"],
        ["--weight", "weight", "--kind", "support"], ["--engine", "spark"], ["--column", "race", "--by", "race"],
    ):  # fmt: skip
        told = run("tally", reports, *asked, "-o", out)
        assert told.exit_code == 2 and told.stdout == "" and "Error: " in told.stderr
    for asked in (
        ["--column", "income"], ["--column", "race", "--by", "income"], ["--column", "race", "--weight", "region"],
        ["--column", "race", "--by", "sex"], [reports.parent / "people.parquet", "--column", "race"],
    ):  # fmt: skip
        told = run("tally", reports, *asked, "-o", out)
        assert told.exit_code == 3 and told.stdout == "" and told.stderr.count("\n") == 1
    assert not out.exists()


def test_questions_of_similar_names_get_files_of_their_own(tmp_path: Path) -> None:
    names = ["a/b", "a:b", "A_B"]
    design = Design({name: rt.randomized_response(rt.Categorical(name, ["x", "y"]), 1.0) for name in names})
    pq.write_table(
        pa.table({name: ["x"] * (i + 1) + ["y"] * (9 - i) for i, name in enumerate(names)}), tmp_path / "p.pq"
    )
    privatize_file(tmp_path / "p.pq", design, tmp_path / "r.parquet")
    told = json.loads(run("tally", tmp_path / "r.parquet", "-o", tmp_path / "out", "--json").stdout)
    for document in told:
        found = read_tally(Path(document["file"]))
        assert isinstance(found, rt.PatternTally) and found.channel.domain.name == document["question"]
    assert len({document["file"].lower() for document in told}) == 3
