"""`reticent privatize` and `reticent tally`: from answers to reports to counts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from reticent.cli.terminal import columns as aligned
from reticent.cli.terminal import hint, note, print_json, progress_bar
from reticent.design import Design
from reticent.engines import privatize_file, tally_files, write_tally
from reticent.tallies import GroupedTally, PatternTally


@click.command()
@click.argument("file", type=click.Path(dir_okay=False, allow_dash=True))
@click.option("--design", "design_path", required=True, type=click.Path(dir_okay=False), help="The design file.")
@click.option("-o", "--output", required=True, type=click.Path(dir_okay=False), help="reports.parquet, or reports.csv.")
@click.option("--keep", multiple=True, help="A public column to copy as it is; repeat for more.")
@click.option("--missing", type=click.Choice(["refuse", "skip"]), help="Instead of the design's rule.")
@click.option("--missing-value", "missing_values", multiple=True, help="Text in a CSV that means missing, e.g. NA.")
@click.option("--coverage", is_flag=True, help="Add the share of the categories that each report leaves possible.")
@click.option("--seed", help="For simulation only: coins that can be repeated protect nobody.")
@click.option("--overwrite", is_flag=True, help="Replace the output file if there is one.")
@click.option("--json", "as_json", is_flag=True, help="Print the counts as JSON.")
def privatize(
    file: str,
    design_path: str,
    output: str,
    keep: tuple[str, ...],
    missing: str | None,
    missing_values: tuple[str, ...],
    coverage: bool,
    seed: str | None,
    overwrite: bool,
    as_json: bool,
) -> None:
    """Draw a report for every answer in FILE (CSV, Parquet, or - for CSV on standard input).

    Only the columns of the design, privatised, and those of --keep reach the output.
    """
    if Path(output).exists() and not overwrite:
        raise click.UsageError(
            f"{output} exists. A second report on the same answers narrows them further: keep the first, or say "
            "--overwrite and make sure that nobody has a copy."
        )
    design = Design.load(design_path)
    if missing is not None:
        design = replace(design, missing="skip" if missing == "skip" else "refuse")
    if seed is not None:
        note("Simulation only: with --seed the coins can be repeated, so these reports protect nobody.")
    with progress_bar("privatizing") as progress:
        counts = privatize_file(
            file, design, output, keep=keep, coverage=coverage, seed=seed, missing_values=missing_values,
            progress=progress,
        )  # fmt: skip
    rows = counts.pop("rows")
    if as_json:
        print_json(
            {"file": output, "rows": rows, "missing": counts, "public": list(keep), "simulated": seed is not None}
        )
    else:
        click.echo(f"{output}: {rows:,} rows with reports on {', '.join(design.columns)}")
        for name, absent in counts.items():
            if absent:
                click.echo(f"  {name}: {absent:,} answers missing, counted apart")
    if keep:
        note(f"Not protected: {', '.join(keep)} (kept as they are).")
    hint(f"reticent tally {output}")


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(dir_okay=False))
@click.option("--column", "columns", multiple=True, help="The question to count; default: all of them.")
@click.option("--by", multiple=True, help="A public column: one tally for each of its values; repeat for more.")
@click.option("-o", "--output", type=click.Path(), help="One question: a file. Several: a folder. Default: here.")
@click.option("--json", "as_json", is_flag=True, help="Print the counts as JSON.")
def tally(
    files: tuple[str, ...], columns: tuple[str, ...], by: tuple[str, ...], output: str | None, as_json: bool
) -> None:
    """Count equal reports in FILES; several files of one design are added up."""
    with progress_bar("counting") as progress:
        tallies = tally_files(files, columns, by, progress)
    if output is not None and output.endswith(".parquet") and len(tallies) > 1:
        raise click.UsageError(f"There are {len(tallies)} questions: give a folder with -o, or one --column.")
    paths = _paths(list(tallies), output)
    for name, counted in tallies.items():
        paths[name].parent.mkdir(parents=True, exist_ok=True)
        write_tally(counted, paths[name])
    if as_json:
        print_json([_document(name, counted, paths[name]) for name, counted in tallies.items()])
    else:
        rows = [["question", "reports", "different", "missing", "file"]]
        for name, counted in tallies.items():
            total = counted.total() if isinstance(counted, GroupedTally) else counted
            groups = f" ({len(counted.groups)} groups)" if isinstance(counted, GroupedTally) else ""
            rows.append([name, f"{total.n:,}", f"{len(total.keys):,}", f"{total.missing:,}", f"{paths[name]}{groups}"])
        click.echo("\n".join(aligned(rows)))
    hint("reticent estimate " + " ".join(_quoted(path) for path in list(paths.values())[:3]))


def _paths(names: list[str], output: str | None) -> dict[str, Path]:
    if output is not None and output.endswith(".parquet"):
        return {names[0]: Path(output)}
    folder = Path(output or ".")
    return {name: folder / f"{_file_name(name)}.tally.parquet" for name in names}


def _file_name(name: str) -> str:
    return "".join(c if c.isalnum() or c in "-_ " else "_" for c in name).strip() or "question"


def _quoted(path: Path) -> str:
    return f'"{path}"' if " " in str(path) else str(path)


def _document(name: str, counted: PatternTally | GroupedTally, path: Path) -> dict[str, object]:
    groups = counted.groups if isinstance(counted, GroupedTally) else {(): counted}
    by = counted.by if isinstance(counted, GroupedTally) else ()
    return {
        "question": name,
        "file": str(path),
        "by": list(by),
        "groups": [
            {
                "group": dict(zip(by, group, strict=True)),
                "n": part.n,
                "missing": part.missing,
                "different": len(part.keys),
                "channel": part.channel.digest,
            }
            for group, part in groups.items()
        ],
    }
