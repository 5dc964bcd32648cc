"""`reticent privatize` and `reticent tally`: from answers to reports to counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, count
from pathlib import Path
from typing import Any, Literal

import click

from reticent.cli.assumed import FORMAT, read_shares
from reticent.cli.outputs import check_place
from reticent.cli.pairs import asked_with, joined, spelled
from reticent.cli.terminal import columns as aligned
from reticent.cli.terminal import hint, note, print_json, progress_bar
from reticent.design import Design
from reticent.domain import MISSING_RULES, MissingRule
from reticent.engines import ArrowEngine, ReportFile, privatize_file, tally_files, write_tally
from reticent.engines.arrow import is_parquet
from reticent.engines.decoded_file import decode_files
from reticent.engines.report_file import files_of
from reticent.engines.storage import cut
from reticent.errors import FileFormatError
from reticent.results import SIMULATED
from reticent.tallies import GroupedTally, PatternTally, SupportTally, Tally, WeightedTally

LONGEST_NAME = 180
"""Bytes of a question's name that are in the name of its file; a file system takes 255 in all."""
OWN_COLUMNS = ("report", "count", "weight", "square")


@click.command()
@click.argument("file", type=click.Path(dir_okay=False, allow_dash=True))
@click.option("--design", "design_path", required=True, type=click.Path(dir_okay=False), help="The design file.")
@click.option("-o", "--output", required=True, type=click.Path(dir_okay=False), help="reports.parquet, or reports.csv.")
@click.option("--keep", multiple=True, help="A public column to copy as it is; repeat for more.")
@click.option("--missing", type=click.Choice(list(MISSING_RULES)), help="Instead of the design's rule.")
@click.option("--missing-value", "missing_values", multiple=True, help="Text in a CSV that means missing, e.g. NA.")
@click.option("--coverage", is_flag=True, help="Add the share of people that each report leaves possible.")
@click.option("--pilot", help=f"For --coverage, shares of the categories or cells: {FORMAT} Default: equal ones.")
@click.option("--seed", help="For simulation only: coins that can be repeated protect nobody.")
@click.option("--overwrite", is_flag=True, help="Replace the output file if there is one.")
@click.option("--json", "as_json", is_flag=True, help="Print the counts as JSON.")
def privatize(
    file: str,
    design_path: str,
    output: str,
    keep: tuple[str, ...],
    missing: MissingRule | None,
    missing_values: tuple[str, ...],
    coverage: bool,
    pilot: str | None,
    seed: str | None,
    overwrite: bool,
    as_json: bool,
) -> None:
    """Draw a report for every answer in FILE (CSV, Parquet, or - for CSV on standard input).

    Only the columns of the design, privatised, its public columns and those of --keep reach the output.
    """
    if pilot is not None and not coverage:
        raise click.UsageError("--pilot says how people are counted for --coverage; give both, or leave it out.")
    for path in files_of(output):
        check_place(path, [*files_of(file), design_path, pilot])
    existing = [path for path in files_of(output) if Path(path).exists()]
    if existing and not overwrite:
        raise click.UsageError(
            f"{existing[0]} exists. A second report on the same answers narrows them further: keep the first, or say "
            "--overwrite and make sure that nobody has a copy."
        )
    design = Design.load(design_path)
    if missing is not None:
        design = replace(design, missing=missing)
    if seed is not None:
        note("Simulation only: with --seed the coins can be repeated, so these reports protect nobody.")
    shares = None if pilot is None else {name: read_shares(one.domain, pilot) for name, one in design.columns.items()}
    with progress_bar("privatizing") as progress:
        counts = privatize_file(
            file, design, output, keep=keep, coverage=coverage, shares=shares, seed=seed, missing_values=missing_values,
            progress=progress,
        )  # fmt: skip
    rows = counts.pop("rows")
    disclosed = list(dict.fromkeys([*design.disclosed, *keep]))
    covered = _covered(output, list(design.columns)) if coverage else {}
    if as_json:
        document: dict[str, Any] = {"file": output, "rows": rows, "missing": counts, "public": disclosed}
        document |= {"coverage": {"shares": pilot or "uniform", **covered}} if coverage else {}
        print_json({**document, "simulated": seed is not None})
    else:
        click.echo(f"{output}: {rows:,} rows with reports on {', '.join(design.columns)}")
        for name, absent in counts.items():
            if absent:
                click.echo(f"  {name}: {absent:,} answers missing, counted apart")
        for name, found in covered.items():
            click.echo(_of_people(name, found, pilot))
    if disclosed:
        note(f"Not protected: {', '.join(disclosed)} (readable as they are).")
    hint(f"reticent tally {output}")


def _covered(output: str, columns: list[str]) -> dict[str, dict[str, float | None]]:
    """The mean and the least coverage of the reports in a file, by question; None where there are no reports."""
    names = [f"{name}_coverage" for name in columns]
    known: dict[str, list[Any]] = {name: [] for name in names}
    for batch in ArrowEngine(output).batches(names):
        for name in names:
            values = batch[name].cast("float64").drop_null().to_numpy(zero_copy_only=False)
            known[name] += [(len(values), float(values.sum()), float(values.min()))] if len(values) else []
    found: dict[str, dict[str, float | None]] = {}
    for column, name in zip(columns, names, strict=True):
        n = sum(count for count, _, _ in known[name])
        total, least = sum(total for _, total, _ in known[name]), min((low for *_, low in known[name]), default=None)
        found[column] = {"mean": total / n if n else None, "least": least}
    return found


def _of_people(name: str, found: dict[str, float | None], pilot: str | None) -> str:
    mean, least = found["mean"], found["least"]
    if mean is None or least is None:
        return f"  {name}: no reports"
    what = "people" if pilot not in (None, "uniform") else "people if all categories are equally common"
    return f"  {name}: a report leaves {100 * mean:.0f} of 100 {what}, the narrowest {100 * least:.0f}"


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(dir_okay=False))
@click.option("--column", "columns", multiple=True, help="The question to count; default: all of them.")
@click.option(
    "--joint",
    multiple=True,
    help="A question to count together with others; repeat for two or more. Those of a pair by their own names.",
)
@click.option("--by", multiple=True, help="A public column: one tally for each of its values; repeat for more.")
@click.option(
    "--kind",
    type=click.Choice(["patterns", "support"]),
    help="Count equal reports, or how often each category was supported. Default: patterns up to 2^20 possible reports.",
)
@click.option("--weight", help="A public column with a positive weight for each row.")
@click.option(
    "--engine", type=click.Choice(["arrow", "duckdb"]), default="arrow", show_default=True, help="What counts."
)
@click.option(
    "--decoded",
    type=click.Path(dir_okay=False),
    help="Also write every report in words and, for numbers, as low and high: .parquet or .csv.",
)
@click.option("-o", "--output", type=click.Path(), help="One question: a file. Several: a folder. Default: here.")
@click.option("--json", "as_json", is_flag=True, help="Print the counts as JSON.")
def tally(
    files: tuple[str, ...],
    columns: tuple[str, ...],
    joint: tuple[str, ...],
    by: tuple[str, ...],
    kind: Literal["patterns", "support"] | None,
    weight: str | None,
    engine: Literal["arrow", "duckdb"],
    decoded: str | None,
    output: str | None,
    as_json: bool,
) -> None:
    """Count the reports in FILES; several files of one design are added up."""
    _check_usage(columns, joint, by, kind, weight)
    _check_once("FILES", [str(Path(file).resolve()) for file in files])
    columns, joint = _as_asked(files[0], columns, joint)
    read = [path for file in files for path in files_of(file)]
    if output is not None and is_parquet(output):
        check_place(output, read, "tally")
    if output is not None and is_parquet(output) and not joint:
        n_questions = len(columns or ReportFile.open(files[0]).channels)
        if n_questions > 1:
            raise click.UsageError(f"There are {n_questions} questions: give a folder with -o, or one --column.")
    with progress_bar("counting") as progress:
        tallies = tally_files(
            files, columns, by, joint=joint, kind=kind, weight=weight, engine=engine, progress=progress
        )
    paths = _paths(list(tallies), output)
    for path in paths.values():
        check_place(path, read, "tally")
    if decoded is not None:
        _decode(files, [*columns, *joint], decoded, paths)
    for name, counted in tallies.items():
        paths[name].parent.mkdir(parents=True, exist_ok=True)
        write_tally(counted, paths[name])
    documents = [_document(name, counted, paths[name], weight) for name, counted in tallies.items()]
    if as_json:
        print_json(documents)
    else:
        rows = [["question", "reports", "counted", "missing", "file"]]
        for name, counted in tallies.items():
            total = counted.total() if isinstance(counted, GroupedTally) else counted
            groups = f" ({len(counted.groups)} groups)" if isinstance(counted, GroupedTally) else ""
            rows.append([name, f"{total.n:,}", _counted(total), f"{total.missing:,}", f"{paths[name]}{groups}"])
        click.echo("\n".join(aligned(rows)))
    if any(group["simulated"] for document in documents for group in document["groups"]):
        note(SIMULATED)
    hint("reticent estimate " + " ".join(_quoted(path) for path in list(paths.values())[:3]))


def _decode(files: tuple[str, ...], columns: list[str], output: str, tallies: dict[str, Path]) -> None:
    """Writes the reports as people read them. Raises UsageError for the place of a tally."""
    if any(Path(output).resolve() == path.resolve() for path in tallies.values()):
        raise click.UsageError(f"--decoded and -o name the same file {output}; give each its own.")
    check_place(output, [path for file in files for path in files_of(file)])
    rows = decode_files(files, columns, output)
    note(f"{output}: {rows:,} reports in words; ranges are (low, high].")


def _check_usage(
    columns: tuple[str, ...], joint: tuple[str, ...], by: tuple[str, ...], kind: str | None, weight: str | None
) -> None:
    """Raises UsageError for options that contradict each other."""
    if joint and columns:
        raise click.UsageError("--joint and --column exclude each other: count single questions in a run of their own.")
    if joint and len({*joint}) < max(2, len(joint)):
        raise click.UsageError("--joint counts two or more different questions together; give it once for each.")
    if weight is not None and kind == "support":
        raise click.UsageError("--weight sums weights by patterns; leave out --kind support, or --weight.")
    _check_once("--column", columns)
    _check_once("--by", by)
    for name in {*by} & {*columns, *joint}:
        raise click.UsageError(f'"{name}" cannot be counted and divide the counts; choose --by or --column.')
    if weight is not None and {*by} & {*OWN_COLUMNS}:
        raise click.UsageError(
            f"A weighted tally file has columns {', '.join(OWN_COLUMNS)} of its own, so it cannot be divided by a public "
            "column of such a name. Give the public column another name before `reticent privatize`."
        )


def _as_asked(file: str, columns: tuple[str, ...], joint: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """--column and --joint by the names in the file: a pair is one column, also when its two questions are named.

    Raises FileFormatError for one question alone of several that were asked together.
    """
    channels = ReportFile.open(file).channels
    columns, joint = tuple(spelled(name, channels) for name in columns), joined(joint, channels)
    for name in (*columns, *joint):
        if (told := asked_with(name, channels)) is not None:
            said, _, parts = told
            options = " ".join(f"--joint {_quoted(part)}" for part in parts)
            raise FileFormatError(
                f"{said} Count them with {options}; `reticent estimate` then shows the shares of each."
            )
    return (joint, ()) if len(joint) == 1 else (columns, joint)


def _check_once(option: str, given: Sequence[str]) -> None:
    """Raises UsageError when something is given twice, as it would be counted twice."""
    for name in given:
        if given.count(name) > 1:
            raise click.UsageError(f"{option} names {name} twice; give it once.")


def _counted(total: Tally) -> str:
    """What was counted, in words."""
    if isinstance(total, SupportTally):
        return "support of " + ", ".join(" × ".join(one) for one in total.sets)
    if isinstance(total, WeightedTally):
        return f"{len(total.keys):,} patterns, total weight {total.total_weight:,.6g}"
    return f"{len(total.keys):,} patterns" if isinstance(total, PatternTally) else ""


def _paths(names: list[str], output: str | None) -> dict[str, Path]:
    if output is not None and is_parquet(output):
        return {names[0]: Path(output)}
    folder, paths = Path(output or "."), dict[str, Path]()
    taken: set[str] = set()
    for name in names:
        stem = _file_name(name)
        # Two names may differ in signs that no file name holds, or only in capitals.
        stem = next(s for s in chain([stem], (f"{stem}-{i}" for i in count(2))) if s.lower() not in taken)
        taken.add(stem.lower())
        paths[name] = folder / f"{stem}.tally.parquet"
    return paths


def _file_name(name: str) -> str:
    name = name.replace("×", "x")
    safe = "".join(c if c.isalnum() or c in "-_ " else "_" for c in name).strip()
    return cut(safe, LONGEST_NAME).strip() or "question"


def _quoted(path: Path | str) -> str:
    return f'"{path}"' if " " in str(path) else str(path)


def _document(name: str, counted: Tally | GroupedTally, path: Path, weight: str | None) -> dict[str, Any]:
    groups = counted.groups if isinstance(counted, GroupedTally) else {(): counted}
    by = counted.by if isinstance(counted, GroupedTally) else ()
    return {
        "question": name,
        "file": str(path),
        "by": list(by),
        "weight": weight,
        "groups": [{"group": dict(zip(by, group, strict=True)), **_summary(part)} for group, part in groups.items()],
    }


def _summary(part: Tally) -> dict[str, object]:
    summary: dict[str, object] = {
        "n": part.n, "missing": part.missing, "simulated": part.simulated, "channel": part.channel.digest,
    }  # fmt: skip
    if isinstance(part, SupportTally):
        return {"kind": "support", **summary, "sets": part.sets}
    if isinstance(part, WeightedTally):
        weights = {"total_weight": part.total_weight, "effective_n": part.effective_n}
        return {"kind": "weighted", **summary, "different": len(part.keys), **weights}
    different = len(part.keys) if isinstance(part, PatternTally) else None
    return {"kind": "patterns", **summary, "different": different}
