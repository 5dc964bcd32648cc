"""Tallying a file of reports: `python -m benchmarks.tally [--reports 1e8]`.

A Parquet file of subset reports over 5 categories (uint8) and 16 (uint16) with a public column of ten regions, in row
groups of a million, is written to a temporary folder and counted, each time in a process of its own, by

* reticent with ArrowEngine;
* reticent with DuckDBEngine;
* DuckDB's plain GROUP BY, without reticent, its groups as an Arrow table.

CPU time in nanoseconds per report, best of three, the ratio to the plain GROUP BY, and the peak memory of the process.
The three must give the same integers, and reticent must stay below 1 GB; otherwise the command fails. The default is
two million reports.
"""

import argparse
import hashlib
import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import process_time
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import reticent as rt
from reticent.choose import Words
from reticent.engines import ReportFile, tally_files
from reticent.engines.arrow import METADATA_KEY
from reticent.engines.report_file import report_array
from reticent.engines.storage import dump
from reticent.engines.tallying import EngineName
from reticent.tallies import Tally

ROUNDS = 3
BLOCK = 2**20
MOST_MEMORY = 1e9
REGIONS = [f"region {i}" for i in range(10)]
ENGINES: tuple[EngineName, ...] = ("arrow", "duckdb")
WAYS = (*ENGINES, "plain")
Groups = Mapping[tuple[str, ...], Tally]
CASES = {"five": (), "sixteen": (), "five by region": ("region",), "sixteen by region": ("region",)}


def write_reports(path: str, rows: int) -> None:
    """The file of reports, a block at a time."""
    channels = {
        name: rt.uniform_subset(rt.Categorical(name, [f"category {i}" for i in range(p)]))
        for name, p in (("five", 5), ("sixteen", 16))
    }
    description = ReportFile(path, channels, ("region",), True)
    rng, words = np.random.default_rng(1), Words(seed="benchmark")
    regions = pa.array(REGIONS)

    def block(size: int) -> pa.Table:
        columns = {"region": regions.take(pa.array(rng.integers(0, len(REGIONS), size)))}
        for name, channel in channels.items():
            columns[name] = report_array(channel.draw_codes(rng.integers(0, len(channel.domain), size), words))
        return pa.table(columns)

    schema = block(0).schema.with_metadata({METADATA_KEY: dump(description.to_json())})
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for first in range(0, rows, BLOCK):
            writer.write_table(block(min(BLOCK, rows - first)).cast(schema))


def counted_by_reticent(path: str, engine: EngineName, question: str, by: Sequence[str]) -> Groups:
    tally = tally_files([path], [question], by, engine=engine)[question]
    return tally.groups if isinstance(tally, rt.GroupedTally) else {(): tally}


def counted_by_sql(path: str, question: str, by: Sequence[str]) -> pa.Table:
    columns = ", ".join([*by, question])
    query = f"SELECT {columns}, count(*) AS n FROM read_parquet($path) GROUP BY {columns}"
    with duckdb.connect(config={"threads": 1}) as connection:
        return connection.sql(query, params={"path": path}).to_arrow_table()


def integers(counted: Groups | pa.Table) -> dict[str, int]:
    """The counts by group and report."""
    if isinstance(counted, pa.Table):
        rows = zip(*(column.to_pylist() for column in counted.columns), strict=True)
        return {" ".join(map(str, row[:-1])): row[-1] for row in rows}
    patterns = [(group, part) for group, part in counted.items() if isinstance(part, rt.PatternTally)]
    return {" ".join((*group, str(key))): n for group, part in patterns for key, n in part.to_dict().items()}


def measure(path: str, way: str, case: str) -> dict[str, Any]:
    """What one process found: the least seconds, the integers as a digest, and its peak memory in bytes."""
    question, by = case.split()[0], CASES[case]
    pa.array([0])  # imports pandas where it is installed, once and not per report
    engine = next((name for name in ENGINES if name == way), None)
    seconds, memory, digest = [], 0, ""
    for _ in range(ROUNDS):
        start = process_time()
        counted = counted_by_reticent(path, engine, question, by) if engine else counted_by_sql(path, question, by)
        seconds.append(process_time() - start)
        if not digest:
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
            digest = hashlib.sha256(json.dumps(integers(counted), sort_keys=True).encode()).hexdigest()
    return {"seconds": min(seconds), "digest": digest, "memory": memory}


def in_a_process(*arguments: str) -> str:
    command = [sys.executable, "-m", "benchmarks.tally", *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def compare(path: str, n: int) -> bool:
    """Prints the table; whether the integers agree and the memory stayed below its bound."""
    fine = True
    print(f"{n:,} reports".ljust(22) + "".join(f"{way:>12}{'x plain':>9}{'MB':>6}" for way in WAYS), flush=True)
    for case in CASES:
        found = {way: json.loads(in_a_process("--count", way, "--case", case, "--file", path)) for way in WAYS}
        least = {way: run["seconds"] / n * 1e9 for way, run in found.items()}
        line = "".join(
            f"{least[way]:9.2f} ns{least[way] / least['plain']:8.2f}x{found[way]['memory'] / 1e6:6.0f}" for way in WAYS
        )
        same = len({run["digest"] for run in found.values()}) == 1
        small = max(found[way]["memory"] for way in ENGINES) < MOST_MEMORY
        print(
            f"{case:22}{line}{'' if same else '  DIFFERENT INTEGERS'}{'' if small else '  TOO MUCH MEMORY'}", flush=True
        )
        fine = fine and same and small
    return fine


def main() -> None:
    parser = argparse.ArgumentParser(description="Tallying a file of reports, against DuckDB's plain GROUP BY.")
    parser.add_argument("--reports", type=float, default=2e6, help="how many, e.g. 1e8")
    for name in ("--write", "--count", "--case", "--file"):
        parser.add_argument(name, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    n = int(chosen.reports)
    if chosen.write:
        write_reports(chosen.write, n)
    elif chosen.count:
        print(json.dumps(measure(chosen.file, chosen.count, chosen.case)))
    else:
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder) / "reports.parquet")
            in_a_process("--write", path, "--reports", str(n))
            if not compare(path, n):
                raise SystemExit(1)


if __name__ == "__main__":
    main()
