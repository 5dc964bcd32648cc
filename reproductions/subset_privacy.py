"""Reproduce the figures of Wang and Ding, Subset Privacy (arXiv 2107.02013), on the data and design of the paper.

    python -m reproductions.subset_privacy                    tables, pictures and results.json in build/subset-privacy
    python -m reproductions.subset_privacy --quick            60 replicates, up to n = 10,000
    python -m reproductions.subset_privacy --json             the same numbers as JSON

Every seed is fixed, so two runs with one version of NumPy give the same numbers. The exit code is 1 when a constant of
theory is more than four simulation errors away.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from reproductions.subset import (
    case_picture,
    claims_on_estimates,
    claims_on_leakage,
    claims_on_tests,
    leakage_picture,
    leakages,
    loss_pictures,
    tables,
)
from reproductions.subset.adult import Adult, adult
from reproductions.subset.cases import cases
from reproductions.subset.claim import Claim, Results
from reproductions.subset.frame import save
from reproductions.subset.loss import QUICK_SIZES, SIZES, simulate
from reproductions.subset.methods import has_cvxpy
from reproductions.subset.power import powers

OUT = Path("build", "subset-privacy")
REPLICATES, QUICK_REPLICATES = 500, 60
NO_CVXPY = "CVXPY is not installed, so its column is left out; install the test extra: pip install 'reticent[test]'."


def run(found: Adult, sizes: Sequence[int], replicates: int) -> Results:
    """Everything that the paper's figures and claims need."""
    simulation = simulate(found.channel, found.shares, sizes, replicates, cvxpy=has_cvxpy(), say=_progress)
    return Results(
        found=found,
        simulation=simulation,
        measures=leakages.table(found),
        categories=leakages.by_category(found),
        cases=cases(found),
        powers=powers(found, replicates, _progress),
    )


def claims(results: Results) -> tuple[Claim, ...]:
    """What the paper says, what we get, and the verdicts."""
    return (*claims_on_leakage.claims(results), *claims_on_estimates.claims(results), *claims_on_tests.claims(results))


def document(results: Results, found_claims: Sequence[Claim]) -> dict[str, Any]:
    """All numbers as JSON."""
    found = results.found
    return {
        "paper": "Wang and Ding, Subset Privacy: Draw from an Obfuscated Urn, arXiv 2107.02013",
        "data": {
            "table": "Adult",
            "rows": len(found.answers),
            "categories": list(found.labels),
            "counts": found.counts.tolist(),
            "shares": found.shares.tolist(),
        },
        "channel": found.channel.digest,
        "cvxpy": has_cvxpy(),
        "fig_2": results.simulation.to_json(),
        "fig_3": [asdict(row) for row in results.measures],
        "fig_4": [case.to_json() for case in results.cases],
        "tests": [row.to_json() for row in results.powers],
        "by_category": [row.to_json() for row in results.categories],
        "claims": [claim.to_json() for claim in found_claims],
    }


def report(results: Results, found_claims: Sequence[Claim]) -> str:
    """All tables."""
    found = results.found
    parts = [
        tables.loss_table(results.simulation) + ([] if has_cvxpy() else [NO_CVXPY]),
        tables.difference_table(results.simulation),
        tables.measure_table(results.measures),
        tables.case_table(results.cases, found.short_labels),
        tables.category_table(results.categories),
        tables.power_table(results.powers),
        tables.claim_table(found_claims),
    ]
    return "\n\n\n".join("\n".join(lines) for lines in parts)


def draw(results: Results, folder: Path) -> list[str]:
    """Every picture as SVG and PNG; the names of the files."""
    found, simulation = results.found, results.simulation
    pictures = {
        "fig2-loss": loss_pictures.loss(simulation),
        "fig2-loss-times-n": loss_pictures.loss_times_n(simulation),
        "fig2-differences": loss_pictures.differences(simulation),
        "fig3-leakage": leakage_picture.leakages(results.measures),
        "fig4-cases": case_picture.cases(results.cases, found.labels, found.shares.tolist()),
    }
    return [name for stem, (drawn, finding) in pictures.items() for name in save(drawn, folder, stem, finding)]


def _progress(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m reproductions.subset_privacy", description=__doc__.split("\n\n")[0]
    )
    parser.add_argument("--out", type=Path, default=OUT, metavar="DIR", help=f"folder for the files (default {OUT})")
    parser.add_argument(
        "--replicates", type=int, metavar="R", help=f"replicates of Fig. 2 and of the tests (default {REPLICATES})"
    )
    parser.add_argument(
        "--quick", action="store_true", help=f"{QUICK_REPLICATES} replicates, n up to {QUICK_SIZES[-1]:,}"
    )
    parser.add_argument("--json", action="store_true", help="print the numbers as JSON instead of tables")
    arguments = parser.parse_args(given)
    if arguments.replicates is None:
        arguments.replicates = QUICK_REPLICATES if arguments.quick else REPLICATES
    if arguments.replicates < 2:
        parser.error("--replicates is at least 2, for a simulation error needs two")
    return arguments


def main(given: Sequence[str] | None = None) -> int:
    """Run, print, write the files; 1 when a constant is outside its simulation error."""
    arguments = _arguments(given)
    started = time.perf_counter()
    results = run(adult(), QUICK_SIZES if arguments.quick else SIZES, arguments.replicates)
    found_claims = claims(results)
    numbers = json.dumps(document(results, found_claims), indent=2, ensure_ascii=False)
    print(numbers if arguments.json else report(results, found_claims))
    names = draw(results, arguments.out)
    (arguments.out / "results.json").write_text(numbers + "\n", encoding="utf-8")
    _progress(f"{arguments.out}: {', '.join([*names, 'results.json'])}; {time.perf_counter() - started:.0f} s")
    return int(any(loss.flagged for loss in results.simulation.losses))


if __name__ == "__main__":
    sys.exit(main())
