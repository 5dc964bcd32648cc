"""Files of tallies: Parquet with the public columns and the counts, and the channel in the schema metadata.

Patterns: `report` and `count`; weighted tallies add `weight` and `square`, the sums of the weights and of their
squares. The row whose report is null counts the missing answers. Support: `answered` and `set` (positions in the lists
of the metadata), `cell` (of the set's table, the last column moving fastest) and `count`; cells that are not there
are 0. The row without a set counts the people of a block, the row without a block those who answered nothing.

The metadata hold a digest of all counts, so that a row that was lost, moved or changed is noticed. `simulated` stands
in them when the coins of some reports came from a seed; it then marks every group.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from reticent.channel import Channel, channel_from_json
from reticent.engines.arrow import METADATA_KEY, ArrowEngine, is_parquet
from reticent.engines.groups import Group, labelled
from reticent.engines.report_file import keys_from_arrow, report_array
from reticent.engines.storage import check_version, damage, dump, replacing
from reticent.errors import FileFormatError, TallyError
from reticent.keys import keys_from_integers
from reticent.reports import Reports
from reticent.tallies import (
    GroupedTally,
    PatternTally,
    SupportCounts,
    SupportTally,
    Tally,
    WeightedTally,
    parts_of,
    sets_within,
)

AnyTally = Tally | GroupedTally

_KINDS: Mapping[str, type[Tally]] = {"patterns": PatternTally, "weighted": WeightedTally, "support": SupportTally}
_COLUMNS: Mapping[str, tuple[str, ...]] = {
    "patterns": ("report", "count"),
    "weighted": ("report", "count", "weight", "square"),
    "support": ("answered", "set", "cell", "count"),
}
_FIELDS = {"kind", "version", "channel", "by", "groups"}


@dataclass(frozen=True)
class _Description:
    """What a tally file says about itself, checked field by field."""

    counted: str
    channel: Channel
    by: tuple[str, ...]
    groups: tuple[Group, ...]
    counts: str | None = None
    sets: tuple[Group, ...] = ()
    blocks: tuple[Group, ...] = ()
    simulated: bool = False

    @classmethod
    def of(cls, tally: AnyTally) -> _Description:
        groups: Mapping[Group, Tally] = tally.groups if isinstance(tally, GroupedTally) else {(): tally}
        by = tally.by if isinstance(tally, GroupedTally) else ()
        if not groups:
            raise TallyError("There is no group to write.")
        first, *others = groups.values()
        counted = next((name for name, kind in _KINDS.items() if type(first) is kind), None)
        if counted is None:
            raise TallyError(f"A {type(first).__name__} is not a tally that is written to files.")
        sets = first.sets if isinstance(first, SupportTally) else ()
        if any(one.channel != first.channel or getattr(one, "sets", ()) != sets for one in others):
            raise TallyError("The groups are of different channels or sets; write them to a file each.")
        clash = {*_COLUMNS[counted]} & {*by}
        if clash:
            listed = ", ".join(_COLUMNS[counted])
            raise TallyError(
                f"A tally file already has the columns {listed}; rename the public column {sorted(clash)}."
            )
        answered = {block for one in groups.values() if isinstance(one, SupportTally) for block in one.blocks}
        return cls(
            counted,
            first.channel,
            by,
            tuple(groups),
            _digest(groups),
            sets,
            tuple(sorted(answered)),
            _simulated(groups),
        )

    def to_json(self) -> dict[str, Any]:
        document: dict[str, Any] = {
            "kind": "tally", "version": 2, "counted": self.counted, "channel": self.channel.to_json(),
            "digest": self.channel.digest, "by": self.by, "groups": self.groups, "counts": self.counts,
        }  # fmt: skip
        document |= {"simulated": True} if self.simulated else {}
        return document | ({"sets": self.sets, "blocks": self.blocks} if self.counted == "support" else {})

    @classmethod
    def from_json(cls, document: Mapping[str, Any], path: str | Path) -> _Description:
        """Raises what `damage` turns into one line."""
        version = check_version(document, {1, 2}, path)
        counted = document["counted"] if version > 1 else "patterns"
        fields = _FIELDS | ({"counted", "digest", "counts"} if version > 1 else set())
        fields |= {"sets", "blocks"} if counted == "support" else set()
        simulated = version > 1 and "simulated" in document
        if counted not in _KINDS or {*document} - ({"simulated"} if simulated else set()) != fields:
            raise TallyError("its description has other fields than a tally's")
        if simulated and document["simulated"] is not True:
            raise TallyError("simulated stands in it only to say so")
        channel = channel_from_json(document["channel"])
        if version > 1 and document["digest"] != channel.digest:
            raise TallyError("its channel is not the one that was written")
        by, groups = _names(document["by"]), tuple(_names(group, distinct=False) for group in document["groups"])
        if len({*groups}) < len(groups) or not groups or any(len(group) != len(by) for group in groups):
            raise TallyError("its groups do not fit the public columns")
        sets, blocks = (tuple(map(_names_of_set, document.get(field, ()))) for field in ("sets", "blocks"))
        if len({*blocks}) < len(blocks) or {*by} & {*_COLUMNS[counted]}:
            raise TallyError("a block or a column stands in it twice")
        return cls(counted, channel, by, groups, document.get("counts"), sets, blocks, simulated)

    @property
    def schema(self) -> pa.Schema:
        """The columns of the file, in order."""
        keys = keys_from_integers([], self.channel.key_bits)
        report = pa.from_numpy_dtype(keys.dtype) if keys.ndim == 1 else pa.binary(keys.shape[1])
        types = {
            "report": report, "count": pa.int64(), "weight": pa.float64(), "square": pa.float64(),
            "answered": pa.int32(), "set": pa.int32(), "cell": pa.int64(),
        }  # fmt: skip
        public = [(name, pa.string()) for name in self.by]
        return pa.schema([*public, *((name, types[name]) for name in _COLUMNS[self.counted])])


def write_tally(tally: AnyTally, path: str | Path) -> None:
    """Write a tally as Parquet. Raises TallyError for a grouped tally without groups or of different channels."""
    description = _Description.of(tally)
    groups = tally.groups if isinstance(tally, GroupedTally) else {(): tally}
    schema = description.schema
    tables = []
    for group, part in groups.items():
        columns = _support_columns(part, description) if isinstance(part, SupportTally) else _report_columns(part)
        n_rows = len(columns["count"])
        labels = {name: [value] * n_rows for name, value in zip(description.by, group, strict=True)}
        tables.append(pa.table({**labels, **columns}, schema))
    with replacing(Path(path)) as part_path:
        table = pa.concat_tables(tables).replace_schema_metadata({METADATA_KEY: dump(description.to_json())})
        pq.write_table(table, part_path, compression="zstd")


def _report_columns(tally: Tally) -> dict[str, Any]:
    assert isinstance(tally, (PatternTally, WeightedTally))
    columns = {"report": report_array(Reports(tally.channel, np.array(tally.keys))), "count": pa.array(tally.counts)}
    if isinstance(tally, WeightedTally):
        columns |= {"weight": pa.array(tally.weights), "square": pa.array(tally.squares)}
    if tally.missing:
        missing = {name: pa.nulls(1, column.type) for name, column in columns.items()}
        missing["count"] = pa.array([tally.missing], pa.int64())
        columns = {name: pa.concat_arrays([column, missing[name]]) for name, column in columns.items()}
    return columns


def _support_columns(tally: SupportTally, description: _Description) -> dict[str, Any]:
    pieces: list[tuple[int | None, int | None, Any, Any]] = []
    for answered, block in tally.blocks.items():
        place = description.blocks.index(answered)
        pieces.append((place, None, [None], [block.n]))
        for one_set, counts in block.arrays.items():
            cells = np.flatnonzero(counts)
            pieces.append((place, description.sets.index(one_set), cells, counts.ravel()[cells]))
    if tally.missing:
        pieces.append((None, None, [None], [tally.missing]))
    columns: dict[str, list[Any]] = {name: [] for name in _COLUMNS["support"]}
    for block_place, set_place, cells, counts in pieces:
        columns["answered"].append(pa.repeat(pa.scalar(block_place, pa.int32()), len(counts)))
        columns["set"].append(pa.repeat(pa.scalar(set_place, pa.int32()), len(counts)))
        columns["cell"].append(pa.array(cells, pa.int64()))
        columns["count"].append(pa.array(counts, pa.int64()))
    types = {name: description.schema.field(name).type for name in columns}
    return {name: pa.chunked_array(parts, types[name]) for name, parts in columns.items()}


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
        description = _Description.from_json(document, path)
        names = description.schema.names
        if list(engine.columns) != names or engine.types(names) != description.schema.types:
            raise TallyError("its columns are not those of its description")
        table = pa.Table.from_batches(list(engine.batches(names)), description.schema)
        if any(table[name].null_count for name in (*description.by, "count")):
            raise TallyError("a group or a count is missing")
        columns = {name: table[name].combine_chunks() for name in names}
        rows_of = dict(labelled([columns[name] for name in description.by], len(table)))
        if not {*rows_of} <= {*description.groups}:
            raise TallyError("it has rows of a group that is not described")
        nothing = np.zeros(0, dtype=np.int64)
        groups = {}
        for group in description.groups:
            rows = pa.array(rows_of.get(group, nothing))
            groups[group] = _tally({name: column.take(rows) for name, column in columns.items()}, description, path)
        if document["version"] > 1 and description.counts != _digest(groups):
            raise TallyError("its counts are not those that were written")
        return GroupedTally(description.by, groups) if description.by else groups[()]


def _tally(columns: Mapping[str, Any], description: _Description, path: str | Path) -> Tally:
    counts = columns["count"].to_numpy()
    if (counts <= 0).any():
        raise TallyError("a count is not above 0")
    if description.counted == "support":
        return _support_tally(columns, counts, description)
    channel = description.channel
    keys, valid = keys_from_arrow(channel, columns["report"], path)
    missing = counts[~valid]
    if len(missing) > 1:
        raise TallyError("the missing answers stand in it twice")
    absent = int(missing.sum())
    if description.counted == "patterns":
        return PatternTally(channel, keys[valid], counts[valid], absent, description.simulated)
    sums = [columns[name].to_numpy(zero_copy_only=False) for name in ("weight", "square")]
    if not all(np.isnan(values[~valid]).all() for values in sums):
        raise TallyError("missing answers have a weight")
    weights, squares = (values[valid] for values in sums)
    return WeightedTally(channel, keys[valid], counts[valid], weights, squares, absent, description.simulated)


def _support_tally(columns: Mapping[str, Any], counts: NDArray[np.int64], description: _Description) -> SupportTally:
    channel, n_sets = description.channel, len(description.sets)
    sizes = {part.domain.name: part.n_categories for part in parts_of(channel)}
    place, which, cell = (columns[name].fill_null(-1).to_numpy() for name in ("answered", "set", "cell"))
    if place.size and (max(place.max() - len(description.blocks), which.max() - n_sets) >= 0):
        raise TallyError("a count belongs to no block or set")
    absent = place < 0
    if (
        absent.sum() > 1
        or (which[absent] >= 0).any()
        or ((which < 0) != (cell < 0)).any()
        or min(place, default=0) < -1
    ):
        raise TallyError("a count belongs to no cell, or stands in it twice")
    blocks = {}
    for i, answered in enumerate(description.blocks):
        people = counts[(place == i) & (which < 0)]
        if not people.size and not (place == i).any():
            continue
        if people.size != 1:
            raise TallyError("the people of a block are not counted once")
        arrays = {}
        for columns_of_set in sets_within(description.sets, answered):
            rows = (place == i) & (which == description.sets.index(columns_of_set))
            arrays[columns_of_set] = _table(cell[rows], counts[rows], [sizes[name] for name in columns_of_set])
        if 1 + sum(int((array > 0).sum()) for array in arrays.values()) != int((place == i).sum()):
            raise TallyError("a count belongs to a set that its block did not answer")
        blocks[answered] = SupportCounts(int(people[0]), arrays)
    return SupportTally(channel, description.sets, blocks, int(counts[absent].sum()), description.simulated)


def _table(cells: NDArray[np.int64], counts: NDArray[np.int64], shape: Sequence[int]) -> NDArray[np.int64]:
    array = np.zeros(int(np.prod(shape)), dtype=np.int64)
    if cells.size and (np.diff(cells) <= 0).any():
        raise TallyError("the cells of a set do not ascend")
    if cells.size and cells[-1] >= len(array):
        raise TallyError("a cell is outside its table")
    array[cells] = counts
    return array.reshape(shape)


def _names(listed: object, distinct: bool = True) -> Group:
    if not isinstance(listed, list) or not all(isinstance(name, str) for name in listed):
        raise TallyError("a list of names in its description is none")
    if distinct and len({*listed}) < len(listed):
        raise TallyError("a name stands twice in a list of its description")
    return tuple(listed)


def _names_of_set(listed: object) -> Group:
    return _names(listed, distinct=False)


def _digest(groups: Mapping[Group, Tally]) -> str:
    """SHA-256 of the channel and every count of every group, however they are stored, and of the mark of a seed."""
    found = hashlib.sha256(b"simulated" if _simulated(groups) else b"")
    for group, part in groups.items():
        for numbers in _numbers(part):
            found.update(dump({"channel": part.channel.digest, "group": group, "shape": numbers.shape}))
            found.update(np.ascontiguousarray(numbers, numbers.dtype.newbyteorder("<")).tobytes())
    return found.hexdigest()


def _simulated(groups: Mapping[Group, Tally]) -> bool:
    return any(part.simulated for part in groups.values())


def _numbers(tally: Tally) -> Iterator[NDArray[Any]]:
    """The arrays that make a tally."""
    yield np.array([tally.missing])
    if isinstance(tally, SupportTally):
        for answered in sorted(tally.blocks):
            block = tally.blocks[answered]
            yield from (np.array([block.n]), *(block.arrays[one] for one in sets_within(tally.sets, answered)))
    elif isinstance(tally, (PatternTally, WeightedTally)):
        yield from (tally.keys, tally.counts)
        if isinstance(tally, WeightedTally):
            yield from (tally.weights, tally.squares)
