"""The paper's two statements about coverage that can be checked exactly.

Source: Ding and Ding, Interval Privacy (arXiv 2106.09565); sections 2.1 and 8 of our specification.
"""

from __future__ import annotations

from reproductions.interval.laplace import Comparison
from reproductions.interval.mean_experiment import MEAN, SQUARE
from reproductions.subset.claim import Claim

ABOUT = 0.0125  # "about" 0.25 or 0.95


def claims(found: Comparison) -> tuple[Claim, ...]:
    """Each in turn."""
    return leakage_of_a_threshold(found), coverage_of_wide_thresholds()


def leakage_of_a_threshold(found: Comparison) -> Claim:
    """Exact, by quadrature."""
    near = abs(found.leakage - 0.25) < ABOUT
    return Claim(
        "leakage of a logistic threshold",
        "N(0, 1) values and a standard logistic threshold: leakage about 0.25.",
        f"{found.leakage:.10f}",
        "Reproduced, rounded to a quarter." if near else "Not reproduced.",
        near,
        {"leakage": found.leakage},
    )


def coverage_of_wide_thresholds() -> Claim:
    """Near for the mean, further for the second moment."""
    y, square = MEAN.coverage, SQUARE.coverage
    near = [abs(value - 0.95) < ABOUT for value in (y, square)]
    return Claim(
        "coverage in the mean experiment",
        "Coverage is about 0.95 for both targets of Table II.",
        f"{y:.10f} for Y and {square:.10f} for Y².",
        "Reproduced." if all(near) else ("Holds for Y; lower for Y²." if near[0] else "Not reproduced."),
        all(near),
        {"mean": y, "second_moment": square},
    )
