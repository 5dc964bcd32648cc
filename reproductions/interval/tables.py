"""The tables of the reproduction, as a terminal prints them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from reproductions.interval.anchor_laws import Estimated
from reproductions.interval.anchor_laws import N as PEOPLE
from reproductions.interval.laplace import EPSILON, Comparison, N
from reproductions.interval.mean_experiment import FAR, TARGETS, Cell
from reproductions.interval.progressive import EDGES, QUESTIONS, Asked, people
from reproductions.interval.published import EARLIER
from reproductions.subset.tables import aligned

SHORT = {
    "ipw": "inverse density", "npmle": "midpoints", "cross_fit": "cross-fitted", "mean": "raw mean", "median": "raw median",
}  # fmt: skip


def mean_table(cells: Sequence[Cell], replicates: int) -> list[str]:
    """Table II: ours beside the specification's, with z for means and standard deviations."""
    lines = [f"Table II. Mean (sd; root mean squared error) of estimates from 100 people, {replicates:,} replicates"]
    for target in TARGETS:
        rows: list[tuple[str, ...]] = [
            ("outliers", "method", "ours", "specification", "z mean", "z sd", "exact mean", "")
        ]
        for cell in (one for one in cells if one.target == target.name):
            there = cell.printed
            known = "" if cell.exact_mean is None else f"{cell.exact_mean:.3f} (z {_signed(cell.exact_z)})"
            rows.append((
                f"{cell.outliers} %", SHORT[cell.method], f"{_digits(cell.mean)} ({cell.sd:.3f}; {_digits(cell.rmse)})",
                f"{there.mean} ({there.sd}; {there.rmse})", _signed(cell.z_mean), _signed(cell.z_sd), known,
                "agrees" if cell.agrees else "DIFFERS",
            ))  # fmt: skip
        lines += ["", f"{target.title}, exact coverage {target.coverage:.10f}", "", *aligned(rows, left=2)]
    differing = sum(not cell.agrees for cell in cells)
    exact = [cell for cell in cells if cell.exact_sd is not None]
    refused = sum(replicates - cell.n_estimates for cell in exact)
    sds = ", ".join(f"{cell.exact_sd:.10f} (ours {cell.sd:.4f})" for cell in exact)
    return [
        *lines,
        "",
        f"Replicates without outliers left out, as all their answers were equal and nothing can be estimated: {refused}.",
        f"Exact sd of the inverse-density estimate without outliers: {sds}.",
        f"{differing} of {len(cells)} entries are beyond {FAR:g} simulation errors, ours and those of {EARLIER:,} earlier replicates.",
    ]


def laplace_table(found: Comparison) -> list[str]:
    """Fig. 3 in numbers."""
    rows: list[tuple[str, ...]] = [("report", "√n · rmse of the mean", "theory", "z", "rmse of F at −1, 0, 1")]
    for one in found.errors:
        z = "in the limit" if one.z is None else _signed(one.z)
        rows.append((one.report, f"{one.of_mean:.3f}", f"{one.limit:.3f}", z, f"{one.of_cdf:.4f}"))
    return [
        f"Fig. 3. N(0, 1) by a logistic threshold (leakage {found.leakage:.4f}), and cut to [−3, 3] with Laplace noise at "
        f"ε = {EPSILON:g}",
        f"n = {N:,}, {found.replicates:,} replicates",
        "",
        *aligned(rows),
        "",
        f"{100 * found.outside:.1f} % of noisy reports lie outside [−3, 3]; every interval holds its value.",
        "F from noisy reports is their own distribution, not corrected for the noise.",
        "An interval is not differentially private at any ε, and noise has no coverage: the two promises do not compare.",
    ]


def law_table(found: Sequence[Estimated], replicates: int) -> list[str]:
    """Fig. 5 in numbers."""
    rows: list[tuple[str, ...]] = [
        ("thresholds", "coverage", "n · variance, limit", "seen, augmented", "rmse of F(0)", "")
    ]
    for one in found:
        rows.append((
            one.law.name, f"{one.law.coverage:.4f}", f"{one.law.variance:.3f}", f"{one.seen:.2f} ± {one.seen_error:.2f}",
            f"{one.rmse[len(one.rmse) // 2]:.4f}", "agrees" if one.agrees else "DIFFERS",
        ))  # fmt: skip
    return [
        f"Fig. 5. Laws of thresholds for N(0, 1) values, n = {PEOPLE:,}, {replicates:,} replicates",
        "",
        *aligned(rows),
    ]


def progressive_table(found: Asked) -> list[str]:
    """Progressive questions in numbers."""
    rows: list[tuple[str, ...]] = [("of the people who stopped", "largest bias of F", "at", "simulation error")]
    for one in found.readings:
        place = int(np.argmax(np.abs(one.bias)))
        rows.append((one.name, _signed_share(one.bias[place]), f"{EDGES[place]} hours", f"{one.error[place]:.4f}"))
    return [
        f"Progressive questions on hours per week, {len(people()):,} people with floors of their own, {found.replicates} replicates",
        "",
        *aligned(rows),
        "",
        f"{found.stopped:.1%} stop before the last of {QUESTIONS} questions, {found.nothing:.1%} before the first; {1 - found.nothing:.1%} "
        "give an answer.",
        f"A report leaves {found.coverage:.3f} of the people on average, the narrowest {found.least:.3f}.",
    ]


def _signed_share(value: float) -> str:
    return f"{value:+.4f}".replace("-", "−")


def _digits(value: float) -> str:
    return f"{value:.3f}" if abs(value) < 5 else f"{value:.5g}"


def _signed(value: float | None) -> str:
    return "" if value is None else f"{value:+.1f}".replace("-", "−")
