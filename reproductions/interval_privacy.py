"""Reproduce results of Ding and Ding, Interval Privacy (arXiv 2106.09565): Table II, Fig. 3, Fig. 5, progressive questions.

    python -m reproductions.interval_privacy                    tables, pictures and results.json in build/interval-privacy
    python -m reproductions.interval_privacy --quick            200 replicates of the table, 60 of the figures
    python -m reproductions.interval_privacy --replicates 4000  as many as the specification's own simulation
    python -m reproductions.interval_privacy --json             the same numbers as JSON

The published entries of Table II were not found: ours stand beside an earlier simulation by other code, and beside exact values
where there are any. Every seed is fixed, so two runs with one version of NumPy give the same numbers. The exit code is 1 when
something is further from its value than simulation error allows.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reproductions.interval import (
    anchor_laws,
    anchor_pictures,
    claims,
    laplace_picture,
    mean_picture,
    progressive,
    progressive_picture,
    tables,
)
from reproductions.interval.anchor_laws import LAWS, Curve, Estimated
from reproductions.interval.laplace import Comparison, comparison
from reproductions.interval.mean_experiment import SEED, TARGETS, Cell, T, experiment
from reproductions.interval.progressive import Asked
from reproductions.subset.claim import Claim
from reproductions.subset.frame import save
from reproductions.subset.tables import claim_table

OUT = Path("build", "interval-privacy")
REPLICATES, QUICK_REPLICATES = 2000, 200
FIGURES, QUICK_FIGURES = 400, 60


@dataclass(frozen=True, eq=False)
class Results:
    """Everything that is printed and drawn."""

    replicates: int
    figure_replicates: int
    cells: tuple[Cell, ...]
    laplace: Comparison
    laws: tuple[Estimated, ...]
    curves: tuple[Curve, ...]
    asked: Asked
    claims: tuple[Claim, ...]

    @property
    def agrees(self) -> bool:
        """Whether every checked number is within its simulation error."""
        return all(one.agrees for one in (*self.cells, *self.laplace.errors, *self.laws, self.asked))


def run(replicates: int, figure_replicates: int) -> Results:
    """All simulations and exact numbers."""
    cells = experiment(replicates, _progress)
    _progress(f"Fig. 3 and Fig. 5: {figure_replicates} replicates")
    found = comparison(figure_replicates)
    laws = tuple(anchor_laws.estimated(law, figure_replicates) for law in LAWS)
    _progress("Progressive questions")
    asked = progressive.asked(max(10, figure_replicates // 10))
    return Results(replicates, figure_replicates, cells, found, laws, anchor_laws.curves(), asked, claims.claims(found))


def document(results: Results) -> dict[str, Any]:
    """All numbers as JSON."""
    return {
        "paper": "Ding and Ding, Interval Privacy: A Framework for Privacy-Preserving Data Collection, arXiv 2106.09565",
        "seed": SEED,
        "replicates": results.replicates,
        "figure_replicates": results.figure_replicates,
        "T": T,
        "coverage": {target.name: target.coverage for target in TARGETS},
        "table_2": [cell.to_json() for cell in results.cells],
        "fig_3": results.laplace.to_json(),
        "fig_5": {
            "laws": [law.to_json() for law in results.laws],
            "curves": [curve.to_json() for curve in results.curves],
        },
        "progressive": results.asked.to_json(),
        "claims": [claim.to_json() for claim in results.claims],
        "agrees": results.agrees,
    }


def report(results: Results) -> str:
    """All tables."""
    parts = [
        tables.mean_table(results.cells, results.replicates),
        tables.laplace_table(results.laplace),
        tables.law_table(results.laws, results.figure_replicates),
        tables.progressive_table(results.asked),
        claim_table(results.claims),
    ]
    return "\n\n\n".join("\n".join(lines) for lines in parts)


def draw(results: Results, folder: Path) -> list[str]:
    """Every picture as SVG and PNG; the names of the files."""
    pictures = {
        "table2-mean": mean_picture.means(results.cells),
        "fig3-people": laplace_picture.people(results.laplace),
        "fig5-distributions": anchor_pictures.distributions(results.laws),
        "fig5-tradeoff": anchor_pictures.tradeoff(results.curves, results.laws),
        "progressive": progressive_picture.readings(results.asked),
    }
    return [name for stem, (drawn, finding) in pictures.items() for name in save(drawn, folder, stem, finding)]


def _progress(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m reproductions.interval_privacy", description=__doc__.split("\n\n")[0]
    )
    parser.add_argument("--out", type=Path, default=OUT, metavar="DIR", help=f"folder for the files (default {OUT})")
    parser.add_argument("--replicates", type=int, metavar="R", help=f"replicates of Table II (default {REPLICATES})")
    parser.add_argument(
        "--figure-replicates", type=int, metavar="R", help=f"replicates of Fig. 3 and 5 (default {FIGURES})"
    )
    parser.add_argument(
        "--quick", action="store_true", help=f"{QUICK_REPLICATES} and {QUICK_FIGURES} replicates unless given"
    )
    parser.add_argument("--json", action="store_true", help="print the numbers as JSON instead of tables")
    arguments = parser.parse_args(given)
    if arguments.replicates is None:
        arguments.replicates = QUICK_REPLICATES if arguments.quick else REPLICATES
    if arguments.figure_replicates is None:
        arguments.figure_replicates = QUICK_FIGURES if arguments.quick else FIGURES
    if min(arguments.replicates, arguments.figure_replicates) < 20:
        parser.error("replicates are at least 20, for their spread is compared too")
    return arguments


def main(given: Sequence[str] | None = None) -> int:
    """Run, print, write the files; 1 when a number is outside its simulation error."""
    arguments = _arguments(given)
    started = time.perf_counter()
    results = run(arguments.replicates, arguments.figure_replicates)
    numbers = json.dumps(document(results), indent=2, ensure_ascii=False)
    print(numbers if arguments.json else report(results))
    names = draw(results, arguments.out)
    (arguments.out / "results.json").write_text(numbers + "\n", encoding="utf-8")
    _progress(f"{arguments.out}: {', '.join([*names, 'results.json'])}; {time.perf_counter() - started:.0f} s")
    return int(not results.agrees)


if __name__ == "__main__":
    sys.exit(main())
