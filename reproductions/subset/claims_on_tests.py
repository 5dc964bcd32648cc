"""The paper's claims about tests of independence."""

from __future__ import annotations

import math

import numpy as np

from reproductions.subset.adult import Floats
from reproductions.subset.claim import Claim, Results, uniform_design
from reproductions.subset.power import TESTS, best

RHOS = (0.5, 2 / 3, 0.75, 0.8, 0.9)


def claims(results: Results) -> tuple[Claim, ...]:
    """Each claim in turn."""
    return (tests_need_four_times(results), ratio_tests_best(results))


def tests_need_four_times(results: Results) -> Claim:
    """The loss of power from the dummies' value Y to the report A, for a test of sex against income."""
    factors = {rho: _power_loss(rho, results.found.binary) for rho in RHOS}
    four = [rho for rho, factor in factors.items() if 3.5 < factor < 4.5]
    return Claim(
        "tests need four times the sample",
        "Independence tests on reports need about four times the sample of tests on Y.",
        "It depends on ρ, which our text of the paper does not give: "
        + ", ".join(f"{factor:.1f} at ρ = {rho:.2g}" for rho, factor in factors.items())
        + " (sex × income, two dummies each, uniform on 4).",
        f"Not checkable; about four only near ρ = {', '.join(f'{rho:.2g}' for rho in four)}.",
        None,
        {"factor": {f"{rho:.4f}": factor for rho, factor in factors.items()}},
    )  # fmt: skip


def ratio_tests_best(results: Results) -> Claim:
    """Beyond 2×2 the two likelihood-ratio tests lead; in 2×2 there is one cell, and Bonferroni costs nothing."""
    rows, ratios = results.powers, ("likelihood", "moments")
    ahead = all(best(rows, ratios, "pearson", setting) for setting in ("2×2", "4×4")) and best(
        rows, ratios, "bonferroni", "4×4"
    )
    close = all(abs(row.power["bonferroni"] - row.power["likelihood"]) < 0.15 for row in rows if row.setting == "2×2")
    shown = "; ".join(
        f"{row.setting} n = {row.n:,}: " + ", ".join(f"{row.power[name]:.2f}" for name in TESTS) for row in rows
    )
    return Claim(
        "likelihood-ratio tests are best",
        "Of the tests on reports, the likelihood-ratio tests have most power.",
        f"Share of {rows[0].replicates} surveys rejected ({', '.join(TESTS.values())}): {shown}.",
        ("Reproduced against Pearson's test, and beyond 2×2 against Bonferroni" if ahead else "Not reproduced")
        + ("; in 2×2 Bonferroni is about as good." if close else "."),
        ahead,
        {"powers": [row.to_json() for row in rows]},
    )


def _power_loss(rho: float, shares: tuple[float, float]) -> float:
    """η_Yη_Y / (η_Aη_B) with η = w_1w_2 Σ_a (K_a1 − K_a2)²/(Kw)_a, which is ρ for Y itself."""
    matrix = dummy_matrix(rho)
    return math.prod(rho / _efficacy(matrix, np.array([share, 1 - share])) for share in shares)


def dummy_matrix(rho: float) -> Floats:
    """P(A=a | X=x) of two real categories and two dummies in the uniform design on the four; shape (6, 2)."""
    channel, _ = uniform_design(4)
    mixing = np.vstack([rho * np.eye(2), np.full((2, 2), (1 - rho) / 2)])
    return np.asarray(channel.matrix() @ mixing)


def _efficacy(matrix: Floats, shares: Floats) -> float:
    return float(shares.prod() * ((matrix[:, 0] - matrix[:, 1]) ** 2 / (matrix @ shares)).sum())
