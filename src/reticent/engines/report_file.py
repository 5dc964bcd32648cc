"""Files of reports: Parquet with the channels in the schema metadata, or CSV with a JSON sidecar.

One column per question: unsigned integers, or fixed-size bytes above 64 bits (hexadecimal in CSV); null where the
answer was missing. Public columns that were kept stand beside them as they are.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
from numpy.typing import NDArray

from reticent.channel import Channel, Ranges, Subset, channel_from_json
from reticent.choose import Words
from reticent.coverage import coverage_by_report
from reticent.design import Design, column_seed
from reticent.domain import MissingRule
from reticent.engines.arrow import BATCH_BYTES, METADATA_KEY, ArrowEngine, encode_column, is_parquet
from reticent.engines.column_types import public_texts
from reticent.engines.counters import key_values
from reticent.engines.storage import check_output, check_version, damage, dump, parse_json, replacing
from reticent.errors import AnswerError, FileFormatError, ParameterError, ReportError
from reticent.reports import Reports

Progress = Callable[[float], None]
MOST_NAMED = 20
"""Of more columns than this, a message names the first."""


@dataclass(frozen=True)
class ReportFile:
    """What a report file says about itself: the channel of each question, the public columns beside them."""

    path: str
    channels: Mapping[str, Channel]
    public: tuple[str, ...] = ()
    simulated: bool = False
    rows: int | None = None

    @classmethod
    def open(cls, path: str | Path) -> ReportFile:
        """Read the description only. Raises FileFormatError when the file is not one of reports."""
        document = ArrowEngine(path).metadata if is_parquet(path) else _sidecar(path)
        if document is None or document.get("kind") != "reports":
            found = "a tally" if document and document.get("kind") == "tally" else "a file without channels"
            raise FileFormatError(
                f"{path} is not a file of reports but {found}. Make reports with `reticent privatize`."
            )
        with damage(path):
            return cls._checked(str(path), document)

    @classmethod
    def _checked(cls, path: str, document: Mapping[str, Any]) -> ReportFile:
        """The description, every field of it checked. Raises what `damage` turns into one line."""
        check_version(document, {1}, path)
        channels = {name: channel_from_json(channel) for name, channel in document["channels"].items()}
        public, simulated, rows = document["public"], document["simulated"], document.get("rows")
        if not channels or any(name != channel.domain.name for name, channel in channels.items()):
            raise ReportError("the channels do not belong to the columns of their names")
        if not isinstance(public, list) or not all(isinstance(name, str) for name in public) or {*public} & {*channels}:
            raise ReportError("the public columns are not a list of names of other columns")
        if not isinstance(simulated, bool):
            raise ReportError("simulated is neither true nor false")
        if rows is not None and (isinstance(rows, bool) or not isinstance(rows, int) or rows < 0):
            raise ReportError("rows is not a whole number from 0 on")
        return cls(path, channels, tuple(public), simulated, rows)

    def channel(self, column: str) -> Channel:
        """The channel of a question. Raises FileFormatError when the file has no reports on it."""
        if column not in self.channels:
            listed = ", ".join(f'"{name}"' for name in list(self.channels)[:MOST_NAMED])
            more = f" and {len(self.channels) - MOST_NAMED} more" if len(self.channels) > MOST_NAMED else ""
            raise FileFormatError(f'{self.path} has no reports on "{column}"; it has {listed}{more}.', column=column)
        return self.channels[column]

    def to_json(self) -> dict[str, Any]:
        """The description that is stored with the reports."""
        channels = {name: channel.to_json() for name, channel in self.channels.items()}
        return {
            "kind": "reports", "version": 1, "channels": channels, "public": list(self.public),
            "simulated": self.simulated, "rows": self.rows,
        }  # fmt: skip


def privatize_file(
    source: str | Path,
    design: Design,
    out: str | Path,
    *,
    keep: Sequence[str] = (),
    coverage: bool = False,
    shares: Mapping[str, NDArray[np.float64]] | None = None,
    seed: int | str | None = None,
    missing_values: Sequence[str] = (),
    progress: Progress | None = None,
) -> dict[str, int]:
    """Draw a report for every answer in a file, batch by batch; returns the rows and the missing answers by column.

    `keep` names public columns that are copied as they are; `coverage` adds `<column>_coverage`, the share of people that
    a report leaves possible when the categories or cells have these `shares`, by column; without them, the share of the
    categories. It is a property of the report, whatever the answer was. Coins come from the operating system; `seed` is for simulation only.

    Raises AnswerError for answers outside the domain, or missing ones where the design refuses them.
    """
    keep = [*design.public, *(name for name in keep if name not in design.public)]
    for name in keep:
        if name in design.sources:
            raise AnswerError(f'"{name}" is private in the design; it cannot also be kept as it is.', column=name)
    engine = ArrowEngine(source, missing_values)
    made = [*design.columns, *(f"{name}_coverage" for name in design.columns if coverage)]
    written = [*keep, *made]
    twice = sorted({name for name in written if written.count(name) > 1})
    if twice:
        raise ParameterError(f"The output would hold the columns {twice} twice; keep each column once, or rename it.")
    for path in files_of(out):
        check_output(path, files_of(source))
    engine.check_types([*keep, *design.sources])
    words = {name: Words(column_seed(seed, name)) for name in design.columns}
    totals = {"rows": 0, **dict.fromkeys(design.columns, 0)}

    def private_batches() -> Iterator[pa.Table]:
        for batch in _narrowed(engine.batches([*keep, *design.sources]), design):
            columns: dict[str, Any] = {name: batch[name] for name in keep}
            for name, channel in design.columns.items():
                answers = [batch[part.name] for part in channel.domain.parts]
                reports = _draw_batch(channel, answers, words[name], design.missing, totals["rows"])
                columns[name] = report_array(reports)
                totals[name] += reports.missing
                if coverage:
                    columns[f"{name}_coverage"] = _coverage(reports, None if shares is None else shares[name])
            totals["rows"] += len(columns[next(iter(design.columns))])
            if progress is not None:
                progress(engine.progress)
            yield pa.table(columns)

    description = ReportFile(str(out), design.columns, tuple(keep), seed is not None)
    empty = {name: pa.array([], pa.string()) for name in keep}
    empty |= {name: report_array(channel.draw_many([])) for name, channel in design.columns.items()}
    _write_report_tables(private_batches(), description, pa.table(empty), lambda: totals["rows"])
    return totals


def files_of(path: str | Path) -> list[str]:
    """The files that hold a table or reports: the file itself and, beside a CSV of reports, its description."""
    return [] if str(path) == "-" else [str(path)] if is_parquet(path) else [str(path), f"{path}.json"]


def write_reports(reports: Reports, path: str | Path) -> None:
    """Write the reports on one question, as Parquet or, by the name's ending, as CSV with a sidecar."""
    name = reports.channel.domain.name
    table = pa.table({name: report_array(reports)})
    description = ReportFile(str(path), {name: reports.channel}, (), reports.simulated)
    _write_report_tables(iter([table]), description, table, lambda: len(reports))


def read_reports(path: str | Path, column: str | None = None) -> Reports:
    """Read the reports on one question; the column may be left out when there is only one.

    Raises FileFormatError for a damaged or foreign file, ReportError for reports the channel cannot have sent.
    """
    description = ReportFile.open(path)
    if column is None:
        if len(description.channels) > 1:
            listed = ", ".join(f'"{name}"' for name in description.channels)
            raise FileFormatError(f"{path} has reports on {listed}; name one as column.")
        column = next(iter(description.channels))
    channel = description.channel(column)
    chunks = [keys_from_arrow(channel, batch[column], path) for batch in ArrowEngine(path).batches([column])]
    empty = channel.draw_many([]).keys
    keys = np.concatenate([empty, *(keys for keys, _ in chunks)])
    valid = np.concatenate([np.zeros(0, dtype=np.bool_), *(valid for _, valid in chunks)])
    check_rows(description, len(keys))
    return Reports(channel, keys, None if valid.all() else valid, description.simulated)


def _narrowed(batches: Iterator[Any], design: Design) -> Iterator[Any]:
    """The batches, cut so that their reports stay small too: a report may be far wider than the answer."""
    width = sum(8 + channel.key_bits // 8 for channel in design.columns.values())
    rows = max(1, BATCH_BYTES // width)
    for batch in batches:
        yield from (batch.slice(first, rows) for first in range(0, batch.num_rows, rows))


def _draw_batch(
    channel: Channel, answers: Sequence[Any], words: Words, missing: MissingRule, first_row: int
) -> Reports:
    domain = channel.domain
    codes = [encode_column(part, column, first_row) for part, column in zip(domain.parts, answers, strict=True)]
    first_missing = int(np.argmax(np.any([column < 0 for column in codes], axis=0))) if len(codes[0]) else 0
    where = f" (first in row {first_row + first_missing + 1:,}, the header not counted)"
    return channel.draw_codes(domain.gather(codes, missing, where), words)


def report_array(reports: Reports) -> Any:
    """The reports as an Arrow column: unsigned integers or fixed-size bytes, null where missing."""
    if reports.keys.ndim == 1:
        return pa.array(reports.keys, mask=None if reports.valid is None else ~reports.valid)
    validity = None
    if reports.valid is not None:
        validity = pa.py_buffer(np.packbits(reports.valid, bitorder="little").tobytes())
    data = pa.py_buffer(np.ascontiguousarray(reports.keys).tobytes())
    return pa.FixedSizeBinaryArray.from_buffers(pa.binary(reports.keys.shape[1]), len(reports), [validity, data])


def _coverage(reports: Reports, shares: NDArray[np.float64] | None) -> Any:
    """Share of the people, or without their shares of the categories, that each report leaves possible."""
    distinct, position = np.unique(reports.keys, axis=0, return_inverse=True)
    if reports.valid is not None and not reports.valid.all():  # blanked keys need not be possible reports
        possible = reports.channel.possible(distinct)
        share = np.full(len(distinct), np.nan)
        share[possible] = _supported(reports.channel, distinct[possible], shares)
    else:
        share = _supported(reports.channel, distinct, shares)
    mask = None if reports.valid is None else ~reports.valid
    return pa.array(share[position.reshape(-1)], mask=mask)


def _supported(channel: Channel, keys: Any, shares: NDArray[np.float64] | None) -> Any:
    p = channel.n_categories
    weights = np.full(p, 1 / p) if shares is None else shares
    if math.isfinite(channel.epsilon):
        return np.ones(len(keys))
    if isinstance(channel, Ranges):
        return coverage_by_report(channel, weights, keys)
    if isinstance(channel, Subset) and channel.kept == 1 and shares is None:
        members = np.bitwise_count(keys)
        return (members if members.ndim == 1 else members.sum(axis=1)) / p
    batch = max(1, 2**22 // p)
    parts = [keys[first : first + batch] for first in range(0, len(keys), batch)]
    return np.concatenate([np.zeros(0), *((channel.rows(part).dense() > 0) @ weights for part in parts)])


def keys_from_arrow(channel: Channel, column: Any, path: str | Path) -> tuple[Any, Any]:
    """The keys of an Arrow column of reports and which are not missing. Raises FileFormatError for other columns."""
    valid = np.asarray(column.is_valid().to_numpy(zero_copy_only=False), dtype=np.bool_)
    empty = channel.draw_many([]).keys
    try:
        if empty.ndim == 2:
            if pa.types.is_fixed_size_binary(column.type) or pa.types.is_binary(column.type):
                return key_values(column.cast(pa.binary(empty.shape[1]))), valid
            blank = bytes(empty.shape[1])
            rows = [blank if value is None else _as_bytes(value) for value in column.to_pylist()]
            if any(len(row) != len(blank) for row in rows):
                raise ValueError
            return np.frombuffer(b"".join(rows), dtype=np.uint8).reshape(len(rows), len(blank)).copy(), valid
        if pa.types.is_string(column.type) and pc.any(pc.invert(pc.match_substring_regex(column, "^[0-9]+$"))).as_py():
            raise ValueError  # Arrow would read 0x7
        numbers = column.cast(pa.from_numpy_dtype(empty.dtype)).fill_null(0)
        return np.array(numbers.to_numpy(zero_copy_only=False), dtype=empty.dtype), valid
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError, AttributeError):
        raise FileFormatError(
            f'{path}: the column "{channel.domain.name}" does not hold reports of {channel.name}.'
        ) from None


def _as_bytes(value: bytes | str) -> bytes:
    return bytes.fromhex(value) if isinstance(value, str) else value


def _write_report_tables(
    tables: Iterator[pa.Table], description: ReportFile, empty: pa.Table, rows: Callable[[], int]
) -> None:
    path, public = Path(description.path), description.public
    first = next(tables, empty)
    with replacing(path) as part:
        if is_parquet(path):
            schema = first.schema.with_metadata({METADATA_KEY: dump(description.to_json())})
            with pq.ParquetWriter(part, schema, compression="zstd", write_page_checksum=True) as writer:
                writer.write_table(first.cast(schema))
                for table in tables:
                    writer.write_table(table.cast(schema))
            return
        schema = _as_text(first, public).schema
        with pa_csv.CSVWriter(part, schema) as writer:
            writer.write_table(_as_text(first, public))
            for table in tables:
                writer.write_table(_as_text(table, public).cast(schema))
        # Old reports must never stand beside a new description: a kill in between leaves a description alone.
        Path(os.path.realpath(path)).unlink(missing_ok=True)
        with replacing(Path(f"{path}.json")) as sidecar:
            sidecar.write_bytes(dump({**description.to_json(), "rows": rows()}))


def _as_text(table: pa.Table, public: Sequence[str]) -> pa.Table:
    """Public columns as the text that a tally calls their groups, and bytes as hexadecimal text: CSV has no other way."""
    for i, field in enumerate(table.schema):
        column = table[i].combine_chunks()
        if field.name in public:
            texts, indices = public_texts(column)
            table = table.set_column(i, field.name, pa.array(texts, pa.string()).take(indices))
        elif pa.types.is_fixed_size_binary(field.type):
            text = [None if value is None else value.hex() for value in column.to_pylist()]
            table = table.set_column(i, field.name, pa.array(text, pa.string()))
    return table


def check_rows(description: ReportFile, rows: int) -> None:
    """Raises FileFormatError when a CSV and its sidecar do not belong together."""
    if description.rows is not None and description.rows != rows:
        raise FileFormatError(
            f"{description.path} has {rows:,} rows, but its description {description.path}.json says "
            f"{description.rows:,}; one of the two is from another run."
        )


def _sidecar(path: str | Path) -> dict[str, Any] | None:
    sidecar = Path(f"{path}.json")
    if not sidecar.exists():
        raise FileFormatError(f"{path} has no description {sidecar} beside it; reports in CSV need both files.")
    try:
        document = parse_json(sidecar.read_bytes())
    except ValueError:
        raise FileFormatError(f"{sidecar} is damaged: it is not JSON.") from None
    return document if isinstance(document, dict) else None
