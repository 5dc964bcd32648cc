"""The engine for CSV and Parquet files, streamed in record batches: a file may be larger than memory."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
from numpy.typing import NDArray

from reticent.domain import Categorical, Numbers
from reticent.engines.column_types import answer_texts, check_types, plain, settled
from reticent.engines.counters import KeyCounter, is_key
from reticent.engines.groups import Groups, count_batches
from reticent.engines.storage import parse_json
from reticent.errors import AnswerError, FileFormatError

BATCH_ROWS = 2**18
COUNT_ROWS = 2**21
BLOCK_BYTES = 2**23
BATCH_BYTES = 2**25
"""Wide rows come in batches of about so many bytes."""
TEXT_BITS = 128
"""What a text is taken to need when a batch is measured out."""
HEADER_BYTES = 2**24
"""No header line is longer; without line feeds the first line would be the whole file."""
METADATA_KEY = b"reticent"


class ArrowEngine:
    """A CSV file (any name, or "-" for standard input) or a Parquet file (`.parquet`, `.pq`).

    Every CSV column is text, so that "007" stays "007"; an empty field is a missing value, and so is each of
    `missing_values`. Raises FileFormatError when the file is neither, damaged, or lacks a column that is asked for.
    """

    def __init__(self, path: str | Path, missing_values: Sequence[str] = ()) -> None:
        self.path = str(path)
        self.missing_values = ["", *missing_values]
        self.progress = 0.0
        if self.path != "-" and not Path(path).exists():
            raise FileFormatError(f"There is no file {path}.")
        if is_parquet(path):
            with _readable(self.path, "Parquet"):
                self._parquet = pq.ParquetFile(self.path)
            self._columns = tuple(self._parquet.schema_arrow.names)
        else:
            self._parquet = None
            self._stream: IO[bytes] = sys.stdin.buffer if self.path == "-" else open(self.path, "rb")
            self._size = 0 if self.path == "-" else max(1, Path(self.path).stat().st_size)
            self._delimiter, self._columns = self._read_header()
        if len(set(self._columns)) < len(self._columns):
            raise FileFormatError(f"{self.path} has two columns of one name; rename one.")

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return self._columns

    @property
    def metadata(self) -> dict[str, Any] | None:
        """What the package wrote into the file's schema; None for a file from elsewhere."""
        if self._parquet is None:
            return None
        raw = (self._parquet.schema_arrow.metadata or {}).get(METADATA_KEY)
        try:
            document = None if raw is None else parse_json(raw)
        except ValueError:
            raise FileFormatError(f"{self.path} is damaged: its description is not JSON.") from None
        return document if isinstance(document, dict) else None

    def batches(self, columns: Sequence[str]) -> Iterator[Mapping[str, Any]]:
        """The rows in order as Arrow record batches, restricted to some columns. A CSV can be read once."""
        self.check_columns(columns)
        with _readable(self.path, "CSV" if self._parquet is None else "Parquet"):
            yield from self._csv_batches(columns) if self._parquet is None else self._parquet_batches(columns)
        self.progress = 1.0

    def check_columns(self, columns: Sequence[str]) -> None:
        """Raises FileFormatError when the file lacks one of these columns."""
        for name in columns:
            if name not in self._columns:
                # Without a header line the first names are somebody's answers: count them, do not show them.
                raise FileFormatError(
                    f'{self.path} has no column "{name}" among its {len(self._columns)}. Check the spelling, and that the '
                    "first line of a CSV holds the names of the columns.",
                    column=name,
                )

    def types(self, columns: Sequence[str]) -> list[Any]:
        """The Arrow types of some columns; all text in a CSV."""
        self.check_columns(columns)
        if self._parquet is None:
            return [pa.string() for _ in columns]
        return [self._parquet.schema_arrow.field(name).type for name in columns]

    def check_types(self, columns: Sequence[str], weights: bool = False) -> None:
        """Raises FileFormatError when a column is of a type whose values have no text, or as weights are no numbers."""
        check_types(self.path, zip(columns, self.types(columns), strict=True), weights)

    def count(self, columns: Sequence[str], weight: str | None = None) -> Groups:
        """How often each combination of values of these columns occurs, and the sums of a column of weights.

        Blocks of unsigned integers and of bytes are counted by counters and sorts; other columns by Arrow's grouping.
        Raises TallyError when a weight is missing, not positive or not finite.
        """
        types = self.types(columns)
        if weight is not None or not any(is_key(kind) for kind in types):
            needed = dict.fromkeys([*columns, *([weight] if weight is not None else [])])
            return count_batches(self.batches(list(needed)), columns, types, weight)
        counter = KeyCounter(columns, types)
        text = [name for name, kind in zip(columns, types, strict=True) if pa.types.is_string(kind)]
        with _readable(self.path, "Parquet"):
            # Text that is stored as a dictionary is read as one: its values are then looked at once per batch.
            for batch in self._parquet_batches(columns, COUNT_ROWS, text):
                counter.add(batch)
        self.progress = 1.0
        return counter.groups()

    def _read_header(self) -> tuple[str, tuple[str, ...]]:
        try:
            line = self._stream.readline(HEADER_BYTES).decode("utf-8-sig")
        except UnicodeDecodeError:
            raise FileFormatError(f"{self.path} is not a CSV file in UTF-8, nor named .parquet.") from None
        if "\r" in line.removesuffix("\n").removesuffix("\r"):
            raise FileFormatError(
                f"{self.path} has lines that end in a carriage return alone; save it with line feeds at their ends."
            )
        delimiter = max(",\t;", key=line.count)
        try:
            names = next(csv.reader([line], delimiter=delimiter), [])
        except csv.Error:  # a name of more than 131,072 characters
            names = []
        if not names or "\x00" in line or len(line) >= HEADER_BYTES:
            raise FileFormatError(f"{self.path} is not a CSV file with a header line, nor named .parquet.")
        return delimiter, tuple(names)

    def _csv_batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        with nullcontext() if self.path == "-" else self._stream:
            yield from self._parsed(columns)

    def _parsed(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        start = self._stream.read(BLOCK_BYTES)
        # Empty lines are no rows, but Arrow wants a row in the first block. A row of empty fields is a row.
        while start and len(self._columns) > 1 and not start.strip(b"\r\n"):
            start = self._stream.read(BLOCK_BYTES)
        if not start:
            return
        with pa_csv.open_csv(
            _Rest(start, self._stream),
            read_options=pa_csv.ReadOptions(column_names=self._columns, block_size=BLOCK_BYTES),
            parse_options=pa_csv.ParseOptions(
                delimiter=self._delimiter, newlines_in_values=True,
                ignore_empty_lines=len(self._columns) > 1,  # in a single column an empty line is a missing value
            ),
            convert_options=pa_csv.ConvertOptions(
                column_types=dict.fromkeys(self._columns, pa.string()), include_columns=list(columns),
                null_values=self.missing_values, strings_can_be_null=True, quoted_strings_can_be_null=True,
            ),
        ) as reader:  # fmt: skip
            for batch in reader:
                if self._size:
                    self.progress = min(1.0, self._stream.tell() / self._size)
                yield batch

    def _parquet_batches(
        self, columns: Sequence[str], most: int | None = None, dictionaries: Sequence[str] = ()
    ) -> Iterator[pa.RecordBatch]:
        rows = batch_rows(self.types(columns), most or BATCH_ROWS)
        # Without a buffer, whole columns of a row group are read at once; with pre_buffer they are all kept to the end.
        buffer = min(2**20, max(2**14, BATCH_BYTES // max(1, len(columns))))
        done = 0
        with pq.ParquetFile(
            self.path, read_dictionary=list(dictionaries), buffer_size=buffer, pre_buffer=False,
            page_checksum_verification=True,
        ) as file:  # fmt: skip
            for batch in file.iter_batches(batch_size=rows, columns=list(columns)):
                done += batch.num_rows
                self.progress = done / max(1, file.metadata.num_rows)
                yield batch


class _Rest(io.RawIOBase):
    """The bytes already taken from a stream, then the stream: what pyarrow needs from standard input."""

    def __init__(self, start: bytes, stream: IO[bytes]) -> None:
        self._start, self._stream = start, stream

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        if self._start:
            size = len(self._start) if size < 0 else size
            taken, self._start = self._start[:size], self._start[size:]
            return taken
        return self._stream.read(size)


class _readable:
    """Turns Arrow's errors into one line. Arrow quotes the row it stumbled over, and a row holds answers."""

    def __init__(self, path: str, kind: str) -> None:
        self.path, self.kind = path, kind

    def __enter__(self) -> None:
        return None

    def __exit__(self, _type: object, fault: BaseException | None, _trace: object) -> None:
        if isinstance(fault, (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError)) or (
            self.kind == "Parquet" and isinstance(fault, OSError) and not isinstance(fault, FileNotFoundError)
        ):
            fault_of_type = isinstance(fault, pa.ArrowNotImplementedError)
            reason = (
                "it holds values of a type that is not read; leave out or convert that column"
                if fault_of_type
                else "a row has more or fewer fields than the header, or its text is not UTF-8"
                if self.kind == "CSV"
                else "it is damaged or cut short"
            )
            fault.args = ()  # it quotes the row; `from None` hides it from print but not from those who look
            raise FileFormatError(f"{self.path} is not a readable {self.kind} file: {reason}.") from None


def batch_rows(types: Sequence[Any], most: int) -> int:
    """How many rows of columns of these Arrow types make a batch."""
    fixed = [pa.types.is_primitive(kind) or pa.types.is_fixed_size_binary(kind) for kind in types]
    bits = sum(kind.bit_width if known else TEXT_BITS for kind, known in zip(types, fixed, strict=True))
    return min(most, max(1, 8 * BATCH_BYTES // max(1, bits)))


def is_parquet(path: str | Path) -> bool:
    """Whether a file name says Parquet."""
    return str(path).lower().endswith((".parquet", ".pq"))


def encode_column(domain: Categorical, column: Any, first_row: int = 0) -> NDArray[np.int64]:
    """Positions of an Arrow column's values in the domain, −1 where missing; as `Categorical.encode`, by hashing.

    Raises AnswerError when a value is not a category; it says how many and in which row, never what.
    """
    column = settled(plain(column))
    if isinstance(domain, Numbers):
        return _encode_numbers(domain, column, first_row)
    found = pc.index_in(answer_texts(column), value_set=pa.array(domain.categories, pa.string()))
    missing = column.is_null().to_numpy(zero_copy_only=False)
    outside = np.flatnonzero(found.is_null().to_numpy(zero_copy_only=False) & ~missing)
    if outside.size:
        row = first_row + int(outside[0]) + 1
        raise AnswerError(
            f'{outside.size} of {len(column)} answers to "{domain.name}" are not among its {len(domain)} categories '
            f"(first in row {row:,}, the header not counted). Add the category to the design, correct the answers, or "
            "leave them empty and skip missing answers.",
            n_outside=int(outside.size),
            first=row,
        )
    return np.asarray(found.fill_null(-1).to_numpy(zero_copy_only=False), dtype=np.int64)


def _encode_numbers(domain: Numbers, column: Any, first_row: int) -> NDArray[np.int64]:
    """The cells of a column of numbers or of their text; each different text is read once."""
    try:
        if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
            return domain.encode(column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False))
        encoded = answer_texts(column).dictionary_encode()
        different = encoded.dictionary.to_pylist()
        rows = encoded.indices.fill_null(len(different)).to_numpy()
        return np.asarray(np.append(domain.encode(different), -1)[rows], dtype=np.int64)
    except AnswerError as fault:
        raise AnswerError(
            f"In the {len(column):,} rows from row {first_row + 1:,} on: {fault}", first=first_row + 1
        ) from None
