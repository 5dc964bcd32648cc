"""The tables of the reproduction, as a terminal prints them."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from itertools import zip_longest

from reproductions.subset.cases import Case
from reproductions.subset.claim import Claim
from reproductions.subset.leakages import CategoryRow, Row
from reproductions.subset.loss import FLAGGED, Loss, Simulation
from reproductions.subset.power import RHO, TESTS, Power

CLAIM_WIDTHS = (30, 52, 32)


def aligned(rows: Sequence[Sequence[str]], left: int = 1) -> list[str]:
    """Lines of columns, the first `left` of them to the left and the others to the right.

    >>> aligned([("n", "loss"), ("100", "2.5")])
    ['n    loss', '100   2.5']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) if j < left else cell.rjust(width) for j, (cell, width) in enumerate(zip(row, widths, strict=True))).rstrip()
        for row in rows
    ]  # fmt: skip


def loss_table(simulation: Simulation) -> list[str]:
    """n times the mean loss, its Monte Carlo error, the constant and z; a star where the constant must hold."""
    rows = [("method", *(f"n = {n:,}" for n in simulation.sizes), "constant")]
    scores = [("z against the constant", *(f"n = {n:,}" for n in simulation.sizes))]
    for method in simulation.methods:
        losses = [simulation.loss(method.name, n) for n in simulation.sizes]
        constant = losses[0].constant
        limit = "none" if constant is None else f"{constant:.6f}"
        rows.append((method.title, *(f"{loss.mean:.3f} ± {loss.error:.3f}" for loss in losses), limit))
        if constant is not None:
            scores.append((method.title, *(_score(loss) for loss in losses)))
    checked = [loss for loss in simulation.losses if loss.checked]
    flagged = [loss for loss in checked if loss.flagged]
    return [
        f"Fig. 2. n × mean ‖ŵ − w‖² over {simulation.replicates} replicates, ± one simulation error",
        "",
        *aligned(rows),
        "",
        *aligned(scores),
        "",
        "* the constant must hold here: at every n for unbiased linear estimates, from n = 100,000 on for the others.",
        f"{len(flagged)} of {len(checked)} comparisons are beyond |z| = {FLAGGED:g}.",
    ]


def _score(loss: Loss) -> str:
    assert loss.z is not None  # asked for only where there is a constant
    mark = " OUTSIDE" if loss.flagged else "*" if loss.checked else " "
    return f"{loss.z:+.1f}{mark}".replace("-", "−")


def difference_table(simulation: Simulation) -> list[str]:
    """Largest difference in a share from maximum likelihood, in one replication."""
    titles = {method.name: method.title for method in simulation.methods}
    columns = {n: simulation.differences(n) for n in simulation.sizes}
    rows = [("method", *(f"n = {n:,}" for n in simulation.sizes))]
    rows += [
        (title, *(f"{columns[n][name]:.1e}".replace("-", "−") for n in simulation.sizes))
        for name, title in titles.items()
        if name != "maximum_likelihood"
    ]
    steps = ", ".join(f"{middle:,} / {most:,}" for middle, most in simulation.em_iterations.values())
    return [
        "One replication: largest difference in a share from maximum likelihood",
        "",
        *aligned(rows),
        "",
        f"EM iterations to the certificate, median / most: {steps}.",
    ]


def measure_table(rows: Iterable[Row]) -> list[str]:
    """Three measures by three designs, with floor and ceiling."""
    lines: list[tuple[str, ...]] = [("measure", "answer itself", "uniform subset", "nothing", "floor", "ceiling")]
    lines += [
        (f"{row.measure.replace('_', ' ')}, {row.unit}",
         *(f"{v:.6f}" for v in (row.no_privacy, row.uniform, row.full_privacy, row.floor, row.ceiling)))
        for row in rows
    ]  # fmt: skip
    return ["Fig. 3. What one report gives away on average", "", *aligned(lines)]


def category_table(rows: Iterable[CategoryRow]) -> list[str]:
    """Individual measures by category, of the answer itself and of the uniform design."""
    lines = [("category", "share", "size", "→ subset", "factor", "bits", "→ subset", "factor", "best guess right")]
    lines += [
        (row.label, f"{row.share:.6f}", f"{row.size_openly:.4f}", f"{row.size_uniform:.4f}", f"{row.size_factor:.3f}",
         f"{row.bits_openly:.3f}", f"{row.bits_uniform:.3f}", f"{row.bits_factor:.3f}", f"{row.best_guess:.2f}")
        for row in rows
    ]  # fmt: skip
    return ["What an answer in each category gives away, on average over its reports", "", *aligned(lines)]


def case_table(cases: Iterable[Case], labels: Sequence[str]) -> list[str]:
    """Each case with the set drawn, its measures and their range over all sets."""
    lines = [
        (
            "case",
            "own category",
            "set drawn",
            "bits",
            "over all sets",
            "openly",
            "size",
            "over all sets",
            "openly",
            "best guess",
        )
    ]
    for case in cases:
        (low, high), (small, large) = case.span("bits"), case.span("size")
        lines.append((
            str(case.row), case.label, "{" + ", ".join(labels[j] for j in case.drawn.members) + "}",
            f"{case.drawn.bits:.3f}", f"{low:.3f}–{high:.3f}", f"{case.open_bits:.3f}",
            f"{case.drawn.size:.3f}", f"{small:.3f}–{large:.3f}", f"{case.open_size:.3f}",
            "right" if case.drawn.prediction else "wrong",
        ))  # fmt: skip
    return [
        "Fig. 4. Four people: one set each, drawn with a fixed seed, and the range over all sets",
        "",
        *aligned(lines, left=3),
        "",
        "Which sets the paper drew is not stated.",
    ]


def power_table(rows: Sequence[Power]) -> list[str]:
    """How often each test rejects independence."""
    lines: list[tuple[str, ...]] = [("table", "n", "answers", "Y", *TESTS.values())]
    lines += [
        (row.setting, f"{row.n:,}", f"{row.openly:.2f}", "–" if row.dummies is None else f"{row.dummies:.2f}",
         *(f"{row.power[name]:.2f}" for name in TESTS))
        for row in rows
    ]  # fmt: skip
    most = max(row.error(0.5) for row in rows)
    return [
        f"Tests of independence: share of {rows[0].replicates} surveys in which each rejects at 5 %, ± at most {most:.2f}",
        "",
        *aligned(lines),
        "",
        f"2×2: sex × income, two dummies each, uniform on 4, ρ = {RHO:g}. 4×4: uniform subset designs, 1/16 ± 0.03 in two blocks.",
        "answers and Y (what the dummies leave): Pearson's test without the subsets.",
    ]


def claim_table(claims: Iterable[Claim]) -> list[str]:
    """What the paper says, what we get and the verdict, in three columns of wrapped text."""
    lines = [_columns("paper says", "we get", "verdict")]
    for claim in claims:
        wrapped = [
            textwrap.wrap(text, width)
            for text, width in zip((claim.paper, claim.we_get, claim.verdict), CLAIM_WIDTHS, strict=True)
        ]
        lines.append("")
        lines += [_columns(*cells) for cells in zip_longest(*wrapped, fillvalue="")]
    return ["What the paper says, and where its words do not hold", "", *lines]


def _columns(*cells: str) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, CLAIM_WIDTHS, strict=True)).rstrip()
