"""What reports gave away, said beside the estimate that was made of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reticent.channel.ranges import Ranges
from reticent.coverage import coverage_by_report, mean_coverage
from reticent.measures import size_leakage
from reticent.tallies import PatternTally, Tally, WeightedTally

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ReportCoverage:
    """What share of the estimated population could have given the same report: on average, and by report that came.

    `mean` is that of the channel, `least` and `greatest` of the reports in the tally (None for channels other than
    ranges). The estimated law stands for the true one, which overstates privacy a little, the less the more reports.
    Coverage is not differential privacy.
    """

    channel: str
    n: int
    mean: float
    least: float | None
    greatest: float | None

    def __str__(self) -> str:
        words = f"On average {_people(self.mean)} could have given the same report"
        return words + ("." if self.least is None else f"; the narrowest report, {_people(self.least)}.")


def _people(share: float) -> str:
    return f"about {100 * share:.0f} of 100 people" if share >= 0.01 else "fewer than 1 of 100 people"


def coverage_of(tally: Tally, masses: Floats) -> ReportCoverage:
    """The coverage of a tally's channel and of its reports when the cells hold these masses."""
    channel = tally.channel
    if not isinstance(channel, Ranges) or not isinstance(tally, (PatternTally, WeightedTally)):
        return ReportCoverage(channel.name, tally.n, 1 - size_leakage(channel, masses), None, None)
    each = coverage_by_report(channel, masses, tally.keys)
    return ReportCoverage(channel.name, tally.n, mean_coverage(channel, masses), float(each.min()), float(each.max()))
