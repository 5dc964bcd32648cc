"""What engines refuse, and what they never destroy."""

from __future__ import annotations

import json
import os
import stat
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import reticent as rt
from reticent.design import Design
from reticent.engines import (
    ArrowEngine,
    DuckDBEngine,
    load,
    privatize_file,
    read_reports,
    read_tally,
    replacing,
    save,
    tally_files,
    write_tally,
)  # fmt: skip
from reticent.engines import arrow as arrow_engine
from reticent.errors import AnswerError, FileFormatError, ReticentError, TallyError
from tests.test_engines import PARTY, SECRET, design, people, write_people


# --- refusals ------------------------------------------------------------------------------------------------------
def test_answers_outside_the_domain_are_refused_without_being_shown(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text(f"party\n007\n{SECRET}\n", encoding="utf-8")
    with pytest.raises(AnswerError, match="1 of 2 answers.*row 2") as caught:
        privatize_file(path, design(), tmp_path / "r.parquet")
    assert SECRET not in str(caught.value)
    assert [entry.name for entry in tmp_path.iterdir()] == ["people.csv"]


def test_missing_answers_are_refused_by_default(tmp_path: Path) -> None:
    source = write_people(tmp_path / "people.csv")
    with pytest.raises(AnswerError, match="missing.*row 4"):
        privatize_file(source, design("refuse"), tmp_path / "r.parquet")


def test_a_ragged_csv_never_shows_the_row(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text(f"party,b\n007,x\n{SECRET},y,z\n", encoding="utf-8")
    with pytest.raises(FileFormatError, match="more or fewer fields") as caught:
        privatize_file(path, design(), tmp_path / "r.parquet")
    assert SECRET not in str(caught.value) and caught.value.__suppress_context__


def test_a_private_column_cannot_be_kept(tmp_path: Path) -> None:
    with pytest.raises(AnswerError, match="private"):
        privatize_file(write_people(tmp_path / "p.csv"), design(), tmp_path / "r.parquet", keep=["party"])


@pytest.mark.parametrize("content", [b"", b"\x00\x01\x02", b"PAR1 cut short", b"\xff\xfe\n"])
@pytest.mark.parametrize("name", ["file.parquet", "file.csv"])
def test_damaged_files_are_one_line(content: bytes, name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(FileFormatError) as caught:
        load(path)
    assert "\n" not in str(caught.value) and name in str(caught.value)


def test_every_cut_of_a_report_file_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "r.parquet"
    save(design().draw_many(people())["party"], path)
    whole = path.read_bytes()
    for length in range(0, len(whole), max(1, len(whole) // 40)):
        path.write_bytes(whole[:length])
        with pytest.raises(FileFormatError):
            load(path)


def test_no_damage_inside_a_report_file_changes_a_report(tmp_path: Path) -> None:
    path = tmp_path / "r.parquet"
    written = design().draw_many(people(3000))["party"]
    save(written, path)
    whole, noticed = path.read_bytes(), 0
    for place in range(4, len(whole), max(1, len(whole) // 100)):
        damaged = bytearray(whole)
        damaged[place] ^= 0x15
        path.write_bytes(damaged)
        try:
            found = read_reports(path)
        except FileFormatError as fault:
            noticed += 1
            assert "\n" not in str(fault)
        else:
            assert (found.keys == written.keys)[written.valid].all() and found.missing == 1
    assert noticed > 50


def test_foreign_files_are_named_for_what_they_are(tmp_path: Path) -> None:
    foreign = write_people(tmp_path / "people.parquet")
    with pytest.raises(FileFormatError, match="without channels"):
        read_reports(foreign)
    with pytest.raises(FileFormatError, match="some other Parquet file"):
        read_tally(foreign)
    save(design().draw_many(people())["party"], tmp_path / "r.parquet")
    with pytest.raises(FileFormatError, match="file of reports"):
        read_tally(tmp_path / "r.parquet")
    with pytest.raises(FileFormatError, match="no reports on"):
        read_reports(tmp_path / "r.parquet", "income")
    with pytest.raises(FileFormatError, match="no public column"):
        tally_files([tmp_path / "r.parquet"], by=["region"])
    with pytest.raises(FileFormatError, match=r"\.parquet"):
        save(rt.PatternTally.empty(rt.uniform_subset(PARTY)), tmp_path / "t.csv")


def test_a_csv_needs_its_own_description(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    save(design().draw_many(people())["party"], path)
    with path.open("a") as file:
        file.write("3\n")
    with pytest.raises(FileFormatError, match="another run"):
        load(path)
    Path(f"{path}.json").unlink()
    with pytest.raises(FileFormatError, match="no description"):
        load(path)


@pytest.mark.parametrize("change", [{"channels": 3}, {"channels": {"party": {"kind": "x"}}}, {"public": None}])
def test_a_description_changed_by_hand_is_noticed(change: dict[str, object], tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    save(design().draw_many(people())["party"], path)
    sidecar = Path(f"{path}.json")
    sidecar.write_text(json.dumps({**json.loads(sidecar.read_text(encoding="utf-8")), **change}), encoding="utf-8")
    with pytest.raises(FileFormatError, match="damaged"):
        load(path)


def test_reports_the_channel_cannot_send_are_noticed(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    save(design().draw_many(people())["party"], path)
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0], "31", *lines[2:]]) + "\n")
    for read in (load, lambda file: tally_files([file])):
        with pytest.raises(ReticentError, match="cannot come from"):
            read(path)


def test_tallies_of_different_channels_do_not_add(tmp_path: Path) -> None:
    for name, channel in (("a", rt.uniform_subset(PARTY)), ("b", rt.fixed_size(PARTY, 2))):
        save(channel.draw_many(["007"]), tmp_path / f"{name}.parquet")
    with pytest.raises(TallyError, match="different channels"):
        tally_files([tmp_path / "a.parquet", tmp_path / "b.parquet"])


def test_a_public_column_may_not_be_called_count() -> None:
    part = rt.tally(rt.uniform_subset(PARTY).draw_many(["007"]))
    with pytest.raises(TallyError, match="rename"):
        write_tally(rt.GroupedTally(("count",), {("a",): part}), "unused.parquet")


def test_an_interrupted_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "r.parquet"
    path.write_text("old")
    with pytest.raises(KeyboardInterrupt), replacing(path) as part:
        part.write_text("half of the new")
        raise KeyboardInterrupt
    assert path.read_text() == "old" and len(list(tmp_path.iterdir())) == 1


def test_a_link_is_written_through(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "file").write_text("old")
    for name, target in (("link", "folder/file"), ("twice", "link"), ("dangling", "folder/new")):
        (tmp_path / name).symlink_to(target)
        with replacing(tmp_path / name) as part:
            part.write_text(name)
        assert (tmp_path / name).is_symlink() and (tmp_path / target).read_text() == name
    assert sorted(path.name for path in (tmp_path / "folder").iterdir()) == ["file", "new"]


@pytest.mark.parametrize("out", ["r.parquet", "r.csv"])
def test_reports_are_written_through_a_link(out: str, tmp_path: Path) -> None:
    source, target = write_people(tmp_path / "people.csv"), tmp_path / f"target-{out}"
    target.write_text("old")
    (tmp_path / out).symlink_to(target)
    privatize_file(source, design(), tmp_path / out)
    assert (tmp_path / out).is_symlink() and len(read_reports(tmp_path / out)) == 500
    assert target.read_bytes() == (tmp_path / out).read_bytes()


def test_only_regular_files_are_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    for path, reason in (
        (tmp_path, "folder"), (tmp_path / "pipe", "a device or a pipe"), (Path("/dev/null"), "a device or a pipe"),
        (tmp_path / "a", "cannot be written"), (tmp_path / "no" / "folder", "cannot be written"),
    ):  # fmt: skip
        with pytest.raises(FileFormatError, match=reason), replacing(path):
            raise AssertionError("nothing is written")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b", "pipe"]
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


def test_a_name_as_long_as_a_file_system_takes(tmp_path: Path) -> None:
    path = tmp_path / ("é" * 127)
    with replacing(path) as part:
        part.write_text("x")
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


def test_parts_that_a_killed_run_left_are_removed_after_a_day(tmp_path: Path) -> None:
    parts = {".k[1].csv.0123abcd.part": 2, ".k[1].csv.89abcdef.part": 0.5, ".other.csv.0123abcd.part": 2,
             ".k[1].csv.mine.part": 2, ".k1.csv.0123abcd.part": 2}  # fmt: skip
    for name, days in parts.items():
        (tmp_path / name).write_text("part")
        os.utime(tmp_path / name, times=(time.time() - days * 86_400,) * 2)
    with replacing(tmp_path / "k[1].csv") as part:
        part.write_text("x")
    assert {path.name for path in tmp_path.iterdir()} == {*parts, "k[1].csv"} - {".k[1].csv.0123abcd.part"}


@pytest.mark.parametrize("out", ["people.csv", "symbolic.csv", "hard.csv", "folder/../people.csv", "people.parquet"])
def test_the_input_is_never_replaced(out: str, tmp_path: Path) -> None:
    source = write_people(tmp_path / "people.csv")
    (tmp_path / "folder").mkdir()
    (tmp_path / "symbolic.csv").symlink_to(source)
    os.link(source, tmp_path / "hard.csv")
    (tmp_path / "people.parquet").symlink_to(source)
    before = source.read_bytes()
    with pytest.raises(FileFormatError, match="input itself"):
        privatize_file(source, design(), tmp_path / out)
    assert source.read_bytes() == before


# --- tables that are nearly right ------------------------------------------------------------------------------------
@pytest.mark.parametrize("delimiter", [",", "\t", ";"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_row_of_empty_fields_is_a_row(delimiter: str, end: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(f"party{delimiter}x{end}{end}{delimiter}{end}{delimiter}{end}{end}".encode())
    for engine in (ArrowEngine, DuckDBEngine):
        assert engine(path).count(["party"]).to_dict() == {(None,): 2}
    with pytest.raises(AnswerError, match="2 of 2 answers.*missing"):
        privatize_file(path, design("refuse"), tmp_path / "r.parquet")
    assert privatize_file(path, design(), tmp_path / "r.parquet") == {"rows": 2, "party": 2}


def test_answers_after_a_block_of_empty_lines_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrow_engine, "BLOCK_BYTES", 64)
    path = tmp_path / "t.tsv"
    for filling, missing in (("\n", 0), ("\t\n", 1000)):
        path.write_text("party\tx\n" + filling * 1000 + "007\t1\n" * 20)
        expected = {("007",): 20} | ({(None,): missing} if missing else {})
        assert ArrowEngine(path).count(["party"]).to_dict() == expected


@pytest.mark.parametrize(("content", "words"), [
    ("party,x\r007,1\r007,2\r", "carriage return"), ("party," + "h" * 140_000 + "\n007,1\n", "header line"),
    ("\n007,1\n", "header line"),
])  # fmt: skip
def test_a_header_that_is_none_is_one_line(content: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(content.encode())
    with pytest.raises(FileFormatError, match=words) as caught:
        privatize_file(path, design(), tmp_path / "r.parquet")
    assert "\n" not in str(caught.value) and "007" not in str(caught.value)


def test_bytes_are_read_as_text_or_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"party": [b"007", None]}), path)
    assert privatize_file(path, design(), tmp_path / "r.parquet") == {"rows": 2, "party": 1}
    pq.write_table(pa.table({"party": [b"\xff" + SECRET.encode()]}), path)
    with pytest.raises(AnswerError, match="not text in UTF-8") as caught:
        privatize_file(path, design(), tmp_path / "r.parquet")
    assert SECRET not in str(caught.value)


def test_a_design_says_what_is_wrong_with_it(tmp_path: Path) -> None:
    path = tmp_path / "d.json"
    coin = Design({"party": rt.randomized_response(PARTY, epsilon=1)})
    for text, reason in (
        ("{", "not JSON"),
        ("[]", "not a design"),
        ("[" * 200_000, "not JSON"),
        (json.dumps(coin.to_json()).replace('"keep": "', '"keep": 1e999, "was": "'), "damaged"),
        ('{"kind": "product", "columns": {"a": {}}}', "damaged"),
    ):
        path.write_text(text)
        with pytest.raises(FileFormatError, match=reason):
            Design.load(path)
    with pytest.raises(ReticentError, match="at least one column"):
        Design({})
