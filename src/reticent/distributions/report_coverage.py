"""What reports gave away, said beside the estimate that was made of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reticent.channel import Channel, Progressive, Ranges, Transformed
from reticent.coverage import coverage_by_report, mean_coverage
from reticent.distributions.report_sets import shares_supported
from reticent.measures import size_leakage
from reticent.tallies import PatternTally, Tally, WeightedTally

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ReportCoverage:
    """What share of the estimated population could have given the same report: on average, and by report that came.

    `mean` is that of the channel, `least` and `greatest` of the reports in the tally (None for channels whose reports are no
    ranges). `group` names the tally where several are read together. The estimated law stands for the true one, which
    overstates privacy a little, the less the more reports. Coverage is not differential privacy.
    """

    channel: str
    n: int
    mean: float
    least: float | None
    greatest: float | None
    group: str = ""

    def __str__(self) -> str:
        words = f"{self.group}: on average" if self.group else "On average"
        words += f" {people(self.mean)} could have given the same report"
        return words + ("." if self.least is None else f"; the narrowest report, {people(self.least)}.")


def people(share: float) -> str:
    """A share of the population as a number of people out of 100.

    >>> people(0.641), people(0.004)
    ('about 64 of 100 people', 'fewer than 1 of 100 people')
    """
    return f"about {100 * share:.0f} of 100 people" if share >= 0.01 else "fewer than 1 of 100 people"


def _of_ranges(channel: Channel) -> Ranges | Transformed | None:
    """The channel, if it is of ranges or of ranges of a function of the answer."""
    inner = channel
    while isinstance(inner, Transformed):
        inner = inner.inner
    return channel if isinstance(inner, Ranges) and isinstance(channel, (Ranges, Transformed)) else None


def coverage_of(tally: Tally, masses: Floats, group: str = "") -> ReportCoverage:
    """The coverage of a tally's channel and of its reports when the cells hold these masses."""
    channel, ranges = tally.channel, _of_ranges(tally.channel)
    by_report = ranges is not None or isinstance(channel, Progressive)
    if not by_report or not isinstance(tally, (PatternTally, WeightedTally)):
        return ReportCoverage(channel.name, tally.n, 1 - size_leakage(channel, masses), None, None, group)
    if ranges is not None:
        each, mean = coverage_by_report(ranges, masses, tally.keys), mean_coverage(ranges, masses)
    else:
        each, mean = shares_supported(channel, masses, tally.keys), 1 - size_leakage(channel, masses)
    return ReportCoverage(channel.name, tally.n, mean, float(each.min()), float(each.max()), group)
