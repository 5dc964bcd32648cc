"""The engine for DuckDB: groups are counted in SQL, and only counts leave the database.

Columns are renamed to c0, c1, … by position before any query is written, so that no name from a file is ever part of
one. Nothing is installed, loaded or fetched; what does not fit in memory goes to a temporary folder that is removed.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from reticent.engines.arrow import BATCH_ROWS, ArrowEngine, batch_rows, is_parquet
from reticent.engines.column_types import plain
from reticent.engines.groups import Groups, WeightCheck
from reticent.errors import FileFormatError, ParameterError, ReportError


class DuckDBEngine:
    """A Parquet or CSV file, a DuckDB relation, or a table of a DuckDB connection.

    A CSV is parsed as by ArrowEngine (all text, an empty field is missing) and counted in DuckDB. `memory` bounds what
    DuckDB holds for a file, `threads` how many it uses; a relation and a connection keep their own settings.
    DuckDB does not verify the checksums that the package writes into Parquet; ArrowEngine does.

    Raises FileFormatError when the file is damaged or lacks a column that is asked for.

    >>> import duckdb
    >>> DuckDBEngine(duckdb.sql("SELECT 'north' AS region FROM range(3)")).count(["region"]).to_dict()
    {('north',): 3}
    """

    def __init__(
        self,
        source: str | Path | duckdb.DuckDBPyRelation | duckdb.DuckDBPyConnection,
        table: str | None = None,
        *,
        missing_values: Sequence[str] = (),
        memory: str = "512MB",
        threads: int | None = None,
    ) -> None:
        self.progress = 0.0
        self._missing_values, self._memory, self._threads = missing_values, memory, threads
        self._relation: duckdb.DuckDBPyRelation | None = None
        if isinstance(source, duckdb.DuckDBPyConnection):
            if table is None:
                raise ParameterError("A DuckDB connection holds many tables; name one as table.")
            with _readable(f'The connection has no table "{table}" that can be read'):
                self._relation = source.sql(f"FROM {_quoted(table)}")
        elif isinstance(source, duckdb.DuckDBPyRelation):
            self._relation = source
        else:
            # The absolute path of a file that exists: never an address for DuckDB to fetch.
            self._path = "-" if str(source) == "-" else str(Path(source).resolve())
            self._file = ArrowEngine(source, missing_values)
            self._columns = self._file.columns
            return
        self._columns = tuple(self._relation.columns)
        if len({name.lower() for name in self._columns}) < len(self._columns):
            raise FileFormatError("The relation has two columns of one name (DuckDB reads a and A as one); rename one.")

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return self._columns

    def batches(self, columns: Sequence[str]) -> Iterator[Mapping[str, Any]]:
        """The rows in order as Arrow record batches, restricted to some columns; streamed, never all in memory."""
        types = self._file.types(columns) if self._relation is None else [pa.string()] * len(columns)
        with self._rows(columns) as rows:
            for batch in rows.to_arrow_reader(batch_rows(types, BATCH_ROWS)):
                yield batch.rename_columns(list(columns))
        self.progress = 1.0

    def count(self, columns: Sequence[str], weight: str | None = None) -> Groups:
        """How often each combination of values of these columns occurs, and the sums of a column of weights.

        Raises TallyError when a weight is missing, not positive or not finite.
        """
        keys = ", ".join(f"c{i}" for i in range(len(columns)))
        with self._rows([*columns, *([weight] if weight is not None else [])]) as rows:
            if weight is None:
                table = rows.aggregate(f"{keys}, count(*) AS n", keys).to_arrow_table()
            else:
                read = _number_in_sql(f"c{len(columns)}", str(rows.types[-1]))
                weighed = rows.project(f"{keys}, {read} AS x").project(
                    f"{keys}, CASE WHEN isnan(x) THEN NULL ELSE x END AS w"
                )
                table = weighed.aggregate(
                    f"{keys}, count(*) AS n, fsum(w) FILTER (isfinite(w)) AS w, fsum(w * w) FILTER (isfinite(w)) AS s, "
                    "count(*) FILTER (w IS NULL) AS missing, count(*) FILTER (isfinite(w) AND w <= 0) AS not_positive, "
                    "count(*) FILTER (NOT isfinite(w)) AS endless",
                    keys,
                ).to_arrow_table()
        self.progress = 1.0
        values = tuple(plain(table[f"c{i}"].combine_chunks()) for i in range(len(columns)))
        counts = table["n"].to_numpy().astype(np.int64)
        if weight is None:
            return Groups(values, counts)
        check = WeightCheck(weight)
        totals = [int(table[name].to_numpy().sum()) for name in ("missing", "not_positive", "endless")]
        check.add(int(counts.sum()), *totals)
        check.refuse()
        return Groups(values, counts, table["w"].to_numpy(), table["s"].to_numpy())

    def count_bits(self, column: str, n_bits: int, sizes: Sequence[int], by: Sequence[str] = ()) -> Groups:
        """For each combination of `by`, how often each bit of the values of a column is set.

        The values of the groups are those of `by`, then the position of the bit, n_bits for the number of values and
        −1 for the number of missing ones. Raises ReportError when a value has a bit beyond n_bits (at most 64), or
        another number of bits set than the `sizes`.
        """
        keys, names = ", ".join(f"c{i}" for i in range(len(by))), [f"b{j}" for j in range(n_bits)]
        value, possible = f"c{len(by)}", ", ".join(str(int(size)) for size in sizes)
        sums = {name: f"count_if(value & {2**j} <> 0)" for j, name in enumerate(names)}
        sums |= {"present": "count(value)", "missing": f"count(*) - count({value})"}
        sums["bad"] = f"count_if(value IS NULL OR value >> {n_bits} <> 0 OR bit_count(value) NOT IN ({possible}))"
        sums["bad"] += f" FILTER ({value} IS NOT NULL)"
        selected = ", ".join(f"coalesce({sql}, 0)::BIGINT AS {name}" for name, sql in sums.items())
        with self._rows([*by, column]) as rows:
            read = rows.project(f"*, {_key_in_sql(value, str(rows.types[-1]))} AS value")
            table = read.aggregate(f"{keys}, {selected}" if by else selected, keys).to_arrow_table()
        self.progress = 1.0
        bad = int(table["bad"].to_numpy().sum())
        if bad:
            raise ReportError(f'{bad} reports in "{column}" cannot come from its channel', n_bad=bad)
        counts = np.concatenate([table[name].to_numpy() for name in (*names, "present", "missing")])
        rows_of = pa.array(np.tile(np.arange(len(table)), n_bits + 2))
        labels = [plain(table[f"c{i}"].combine_chunks()).take(rows_of) for i in range(len(by))]
        positions = np.repeat(np.array([*range(n_bits + 1), -1]), len(table))
        return Groups((*labels, pa.array(positions)), counts.astype(np.int64))

    @contextmanager
    def _rows(self, columns: Sequence[str]) -> Iterator[duckdb.DuckDBPyRelation]:
        """The columns as a relation whose own are named c0, c1, …"""
        if self._relation is not None:
            for name in columns:
                if name not in self._columns:
                    raise FileFormatError(
                        f'There is no column "{name}" in the relation; it has {len(self._columns)} others.'
                    )
            with _readable("The relation could not be read by DuckDB"):
                yield _renamed(self._relation, columns)
            return
        self._file.check_columns(columns)
        with tempfile.TemporaryDirectory(prefix="reticent-") as spill:
            config: dict[str, str | bool | int | float | list[str]] = {
                "memory_limit": self._memory, "temp_directory": spill,
                "autoinstall_known_extensions": "false", "autoload_known_extensions": "false",
            }  # fmt: skip
            if self._threads is not None:
                config["threads"] = self._threads
            with duckdb.connect(":memory:", config=config) as connection:
                if is_parquet(self._path):
                    with _readable(f"{self._path} is not a readable Parquet file: it is damaged or cut short"):
                        yield _renamed(self._parquet(connection), [f"d{self._columns.index(name)}" for name in columns])
                else:
                    yield from self._csv_rows(connection, columns)

    def _parquet(self, connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyRelation:
        names = ", ".join(f"d{i}" for i in range(len(self._columns)))
        # A star or a bracket in the name of the file stands for itself, and folders named a=b add no columns.
        literal = "".join(f"[{c}]" if c in "*?[" else c for c in self._path)
        return connection.sql(
            f"SELECT * FROM read_parquet($path, hive_partitioning = false) AS t({names})", params={"path": literal}
        )

    def _csv_rows(
        self, connection: duckdb.DuckDBPyConnection, columns: Sequence[str]
    ) -> Iterator[duckdb.DuckDBPyRelation]:
        different = list(dict.fromkeys(columns))
        names = [f"d{i}" for i in range(len(different))]
        file = self._file if self._path == "-" else ArrowEngine(self._path, self._missing_values)
        faults: list[FileFormatError] = []

        def parsed() -> Iterator[Any]:
            try:
                for batch in file.batches(different):
                    self.progress = file.progress
                    yield pa.record_batch([batch[name] for name in different], names)
            except FileFormatError as fault:  # DuckDB would keep only its text
                faults.append(fault)
                raise

        schema = pa.schema([(name, pa.string()) for name in names])
        try:
            rows = connection.from_arrow(pa.RecordBatchReader.from_batches(schema, parsed()))
            yield _renamed(rows, [names[different.index(name)] for name in columns])
        except (duckdb.Error, pa.ArrowException) as fault:
            fault.args = ()
            raise (faults or [FileFormatError(f"{self._path} could not be counted in DuckDB.")])[0] from None


@contextmanager
def _readable(what: str) -> Iterator[None]:
    """Turns DuckDB's errors into one line. They may quote a value, and values are answers."""
    try:
        yield
    except duckdb.OutOfMemoryException:
        raise FileFormatError(f"{what}, or it needs more memory than DuckDB may take; give the engine more.") from None
    except duckdb.NotImplementedException as fault:
        fault.args = ()
        raise FileFormatError(
            "A column is of a type that DuckDB does not read; convert it, or count with the engine arrow."
        ) from None
    except (duckdb.Error, pa.ArrowException, OSError) as fault:
        fault.args = ()
        raise FileFormatError(f"{what}.") from None


def _renamed(rows: duckdb.DuckDBPyRelation, names: Sequence[str]) -> duckdb.DuckDBPyRelation:
    kinds = dict(zip(rows.columns, map(str, rows.types), strict=True))
    columns = []
    for i, name in enumerate(names):
        column = _quoted(name)
        if kinds[name] in ("FLOAT", "DOUBLE"):  # pandas writes a missing number as not-a-number
            column = f"CASE WHEN isnan({column}) THEN NULL WHEN {column} = 0 THEN 0 ELSE {column} END"
        columns.append(f"{column} AS c{i}")
    return rows.project(", ".join(columns))


def _number_in_sql(column: str, kind: str) -> str:
    """A column as floating-point numbers, null where a text is none; digits with underscores are not a number here."""
    number = f"TRY_CAST({column} AS DOUBLE)"
    return f"CASE WHEN contains({column}, '_') THEN NULL ELSE {number} END" if kind == "VARCHAR" else number


def _key_in_sql(column: str, kind: str) -> str:
    """A column as whole numbers, null where it holds none: SQL would round 1.5 and read 1e2 as a hundred."""
    if kind == "VARCHAR":
        return f"CASE WHEN regexp_full_match({column}, '[0-9]+') THEN TRY_CAST({column} AS UBIGINT) END"
    return f"TRY_CAST({column} AS UBIGINT)" if kind.isalpha() and kind.endswith(("INT", "INTEGER")) else "NULL::UBIGINT"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
