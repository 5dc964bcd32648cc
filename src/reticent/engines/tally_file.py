"""Files of tallies: Parquet with the public columns, `report` and `count`, and the channel in the schema metadata.

The count of missing answers is the row whose report is null.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from reticent.channel import Channel, channel_from_json
from reticent.engines.arrow import METADATA_KEY, ArrowEngine, is_parquet
from reticent.engines.report_file import Progress, ReportFile, check_rows, report_array
from reticent.engines.storage import damage, dump, replacing
from reticent.errors import FileFormatError, TallyError
from reticent.reports import Reports
from reticent.tallies import GroupedTally, PatternTally

AnyTally = PatternTally | GroupedTally


def tally_files(
    paths: Sequence[str | Path],
    columns: Sequence[str] = (),
    by: Sequence[str] = (),
    progress: Progress | None = None,
) -> dict[str, AnyTally]:
    """Count equal reports in report files, by public columns if asked; one tally per question.

    Raises TallyError when a question went through different channels in different files.
    """
    tallies: dict[str, AnyTally] = {}
    for done, path in enumerate(paths):
        description = ReportFile.open(path)
        for name in by:
            if name not in description.public:
                kept = ", ".join(f'"{column}"' for column in description.public) or "none"
                raise FileFormatError(f'{path} has no public column "{name}"; kept were: {kept}.', column=name)
        names = list(columns) or list(description.channels)
        for i, name in enumerate(names):
            tally = _tally_column(description, name, by)
            tallies[name] = tallies[name] + tally if name in tallies else tally  # type: ignore[operator]
            if progress is not None:
                progress((done + (i + 1) / len(names)) / len(paths))
    return tallies


def _tally_column(description: ReportFile, column: str, by: Sequence[str]) -> AnyTally:
    channel = description.channel(column)
    counts = ArrowEngine(description.path).count([*by, column])
    check_rows(description, counts.total())
    groups: dict[tuple[str, ...], dict[Any, int]] = {} if by else {(): {}}
    for (*group, report), count in counts.items():
        groups.setdefault(tuple("" if value is None else str(value) for value in group), {})[report] = count
    return _tally_of_groups(channel, tuple(by), groups, description.path)


def _tally_of_groups(
    channel: Channel, by: tuple[str, ...], groups: Mapping[tuple[str, ...], Mapping[Any, int]], path: str | Path
) -> AnyTally:
    with damage(path):
        tallies = {
            group: PatternTally.from_counts(
                channel,
                {_as_integer(report, channel): count for report, count in counts.items() if report is not None},
                counts.get(None, 0),
            )
            for group, counts in sorted(groups.items())
        }
    return GroupedTally(by, tallies) if by else tallies[()]


def _as_integer(report: Any, channel: Channel) -> int:
    if isinstance(report, str):
        return int.from_bytes(bytes.fromhex(report), "little") if channel.key_bits > 64 else int(report)
    return int.from_bytes(report, "little") if isinstance(report, bytes) else int(report)


def write_tally(tally: AnyTally, path: str | Path) -> None:
    """Write a tally as Parquet. Raises TallyError for a grouped tally without groups."""
    by, groups = (tally.by, tally.groups) if isinstance(tally, GroupedTally) else ((), {(): tally})
    if not groups:
        raise TallyError("There is no group to write.")
    clash = {"report", "count"} & set(by)
    if clash:
        raise TallyError(
            f"A tally file already has the columns report and count; rename the public column {sorted(clash)}."
        )
    tables = []
    for group, part in groups.items():
        reports = report_array(Reports(part.channel, np.array(part.keys)))
        counts = pa.array(part.counts)
        if part.missing:
            reports = pa.concat_arrays([reports, pa.nulls(1, reports.type)])
            counts = pa.concat_arrays([counts, pa.array([part.missing], pa.int64())])
        labels = {name: pa.array([value] * len(counts), pa.string()) for name, value in zip(by, group, strict=True)}
        tables.append(pa.table({**labels, "report": reports, "count": counts}))
    channel = next(iter(groups.values())).channel
    document = {
        "kind": "tally", "version": 1, "channel": channel.to_json(), "by": list(by),
        "groups": [list(group) for group in groups],
    }  # fmt: skip
    with replacing(Path(path)) as part_path:
        table = pa.concat_tables(tables).replace_schema_metadata({METADATA_KEY: dump(document)})
        pq.write_table(table, part_path, compression="zstd")


def read_tally(path: str | Path) -> AnyTally:
    """Read a tally file. Raises FileFormatError for a damaged or foreign file."""
    if not is_parquet(path):
        raise FileFormatError(f"{path} is not a tally: tallies are .parquet files. Make one with `reticent tally`.")
    engine = ArrowEngine(path)
    document = engine.metadata
    if document is None or document.get("kind") != "tally":
        found = "a file of reports" if document and document.get("kind") == "reports" else "some other Parquet file"
        raise FileFormatError(f"{path} is not a tally but {found}. Make one with `reticent tally`.")
    with damage(path):
        channel, by = channel_from_json(document["channel"]), tuple(document["by"])
        groups: dict[tuple[str, ...], dict[Any, int]] = {tuple(group): {} for group in document["groups"]}
        for batch in engine.batches([*by, "report", "count"]):
            for *group, report, count in zip(
                *(batch[name].to_pylist() for name in (*by, "report", "count")), strict=True
            ):
                if report in groups[tuple(group)]:
                    raise TallyError("a report stands in it twice")
                groups[tuple(group)][report] = count
    return _tally_of_groups(channel, by, groups, path)
