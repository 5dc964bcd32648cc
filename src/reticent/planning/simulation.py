"""A plan put to the test: reports drawn, tallied, estimated, many times over."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom, norm

from reticent.channel import Channel, Product
from reticent.choose import Words
from reticent.errors import ParameterError
from reticent.estimators.maximum_likelihood import maximum_likelihood
from reticent.estimators.moments import moments
from reticent.measures.prior import as_prior
from reticent.planning.one_channel import Estimator, PlanRow
from reticent.planning.plans import Plan, plan
from reticent.planning.text import aligned, points
from reticent.planning.variances import second_moments
from reticent.precision import lists_its_reports
from reticent.tallies import PatternTally, default_kind, parts_of, tally

Floats = NDArray[np.float64]
MARGIN = 0.02  # a plan is a normal approximation; 2 % wider than planned is as planned
STANDARD_ERRORS = 4.0
FALSE_ALARM = 1e-6
SHOWN = 20


@dataclass(frozen=True, eq=False, repr=False)
class Simulation:
    """What `n_replicates` simulated surveys of n answers gave, beside what was planned; made by `simulate`.

    By category: mean `half_width` of the intervals (wald: before they are cut at 0 and 1, as planned) with its Monte-Carlo
    standard error; `coverage`, the share of intervals that held the true share; `held`, the same with estimates that were
    within the plan's largest half-width of it counted as well, since more was not promised. `rms` is the root-mean-square
    error of all shares together.
    """

    channel: Channel
    n: int
    shares: tuple[float, ...]
    n_replicates: int
    confidence_level: float
    estimator: Estimator
    interval: str
    planned_half_width: Floats
    half_width: Floats
    half_width_error: Floats
    coverage: Floats
    held: Floats
    planned_rms: float
    rms: float
    rms_error: float

    @property
    def coverage_error(self) -> float:
        """Monte-Carlo standard error of a coverage, were it the confidence level."""
        return math.sqrt(self.confidence_level * (1 - self.confidence_level) / self.n_replicates)

    @property
    def widths_hold(self) -> bool:
        """Whether no mean half-width is above the planned one: by more than 2 % and 4 Monte-Carlo standard errors."""
        limit = (1 + MARGIN) * self.planned_half_width + STANDARD_ERRORS * self.half_width_error
        return bool((self.half_width <= limit + 1e-12).all())

    @property
    def coverage_holds(self) -> bool:
        """Whether no share was missed so often that intervals that hold their level would do so once in a million
        simulations; nearer to the truth than the plan's ± is no miss."""
        return bool(self._likely(self.held).all())

    @property
    def too_narrow(self) -> int:
        """How many shares have intervals that miss them too often, if by less than was planned: rare ones, mostly."""
        return int((~self._likely(self.coverage)).sum())

    def _likely(self, coverage: Floats) -> NDArray[np.bool_]:
        chance = binom.cdf(np.round(coverage * self.n_replicates), self.n_replicates, self.confidence_level)
        return np.asarray(chance >= FALSE_ALARM / len(coverage))

    @property
    def rms_holds(self) -> bool:
        """Whether the root-mean-square error is not above the planned one, by the same margin as half-widths."""
        return self.rms <= (1 + MARGIN) * self.planned_rms + STANDARD_ERRORS * self.rms_error + 1e-12

    @property
    def holds(self) -> bool:
        """Whether the simulation confirms the plan."""
        return self.widths_hold and self.coverage_holds and self.rms_holds

    def summary(self) -> str:
        """The table for a terminal, and whether the plan holds."""
        widest = np.argsort(-self.planned_half_width, kind="stable")[:SHOWN]
        table = [["", "share", "± planned", "± found", "coverage"]]
        for j in sorted(widest.tolist()) if len(self.shares) <= SHOWN else widest.tolist():
            table.append([
                self.channel.domain.categories[j], f"{self.shares[j]:.3f}", f"{100 * self.planned_half_width[j]:.2f}",
                f"{100 * self.half_width[j]:.2f}", f"{self.coverage[j]:.1%}",
            ])  # fmt: skip
        name = self.estimator.replace("_", " ")
        lines = [f"Simulated: {self.n_replicates:,} surveys of {self.n:,} answers, {name}, {self.interval} intervals"]
        lines += aligned(table)
        if len(self.shares) > SHOWN:
            lines.append(f"  … and {len(self.shares) - SHOWN:,} more categories (all with --json)")
        lines.append(
            f"  All shares together: error {points(self.rms)} points (root of the summed squared error), planned "
            f"{points(self.planned_rms)}; a coverage is known to ±{200 * self.coverage_error:.1f} points."
        )
        if self.coverage_holds and self.too_narrow:
            lines.append(
                f"  The {self.interval} intervals of {self.too_narrow:,} of the shares are too narrow; there rely on the "
                f"±{points(float(self.planned_half_width.max()))} points of the plan."
            )
        return "\n".join([*lines, self._verdict()])

    def _verdict(self) -> str:
        if self.holds:
            return "The plan holds."
        faults = [
            words
            for good, words in (
                (self.widths_hold, "intervals are wider than planned"),
                (self.coverage_holds, "intervals miss the truth more often than they may"),
                (self.rms_holds, "the error is larger than planned"),
            )
            if not good
        ]
        return f"The plan does not hold: {', and '.join(faults)}. Plan for more answers."

    def to_json(self) -> dict[str, Any]:
        """Everything as JSON."""
        columns = {
            "share": list(self.shares), "planned_half_width": self.planned_half_width.tolist(),
            "half_width": self.half_width.tolist(), "half_width_error": self.half_width_error.tolist(),
            "coverage": self.coverage.tolist(), "held": self.held.tolist(),
        }  # fmt: skip
        return {
            "question": self.channel.domain.name, "mechanism": self.channel.name, "channel": self.channel.digest,
            "n": self.n, "n_replicates": self.n_replicates, "confidence_level": self.confidence_level,
            "estimator": self.estimator, "interval": self.interval, "coverage_error": self.coverage_error,
            "planned_rms": self.planned_rms, "rms": self.rms, "rms_error": self.rms_error, "holds": self.holds,
            "categories": [
                {"category": label, **{name: column[j] for name, column in columns.items()}}
                for j, label in enumerate(self.channel.domain.categories)
            ],
        }  # fmt: skip

    def __repr__(self) -> str:
        return f'<simulation of {self.n_replicates:,} surveys on "{self.channel.domain.name}": {self._verdict()}>'


def simulate(
    planned: Plan | Channel,
    n: int | None = None,
    shares: Any = None,
    n_replicates: int = 200,
    seed: int = 1,
    *,
    confidence_level: float = 0.95,
    progress: Callable[[float], None] | None = None,
) -> Simulation:
    """Draw, tally and estimate `n_replicates` surveys of n answers, and compare their intervals with the plan.

    A plan brings its first row's channel, n, shares, level and estimator; a worst-case plan is tried at the shares that are
    hardest for it. Another n or other shares ask whether the plan would still hold. A channel needs n and shares. Maximum
    likelihood has its default intervals, as they will be reported; moments have Wald intervals.

    Raises ParameterError for a missing n or shares, or numbers that are not whole.

    >>> import reticent as rt
    >>> channel = rt.uniform_subset(rt.Categorical("letter", ["a", "b", "c", "d"]))
    >>> simulate(channel, 500, [0.4, 0.3, 0.2, 0.1], n_replicates=20).holds
    True
    """
    if isinstance(planned, Plan):
        confidence_level = planned.confidence_level
    elif not isinstance(planned, Channel) or n is None or shares is None:
        raise ParameterError("simulate takes a plan, or a channel with n and shares.")
    for name, value in (("n", n if n is not None else 1), ("n_replicates", n_replicates - 1)):
        if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
            raise ParameterError(f"{name} is not a whole number from {1 if name == 'n' else 2}.")
    row = (
        planned.rows[0]
        if isinstance(planned, Plan)
        else plan(planned, n=n, shares=shares, confidence_level=confidence_level).rows[0]
    )
    n, truth = row.n if n is None else int(n), _truth(planned, row, shares)
    low, high, widths, centres, interval = [], [], [], [], ""
    z = float(norm.ppf(0.5 + confidence_level / 2))
    for done, counted in enumerate(_surveys(row.channel, truth, n, n_replicates, seed), 1):
        found = maximum_likelihood(counted) if row.estimator == "maximum_likelihood" else moments(counted)
        ends = found.confidence_interval(confidence_level)
        centres.append(found.probabilities if found.unconstrained is None else found.unconstrained)
        low.append(ends.low)
        high.append(ends.high)
        widths.append(z * found.standard_errors if ends.method == "wald" else (ends.high - ends.low) / 2)
        interval = ends.method
        if progress is not None:
            progress(done / n_replicates)
    half, error = np.array(widths), np.array(centres) - truth
    inside = (np.array(low) <= truth) & (truth <= np.array(high))
    squared = (error**2).sum(axis=1)
    rms = math.sqrt(squared.mean())
    spread = float(squared.std(ddof=1)) / math.sqrt(n_replicates)
    return Simulation(
        channel=row.channel, n=n, shares=tuple(truth.tolist()), n_replicates=n_replicates,
        confidence_level=confidence_level, estimator=row.estimator, interval=interval,
        planned_half_width=row.half_width, half_width=half.mean(axis=0),
        half_width_error=half.std(axis=0, ddof=1) / math.sqrt(n_replicates),
        coverage=inside.mean(axis=0), held=(inside | (np.abs(error) <= row.half_width.max())).mean(axis=0),
        planned_rms=row.rms, rms=rms, rms_error=spread / (2 * rms) if rms > 0 else 0.0,
    )  # fmt: skip


def _truth(planned: Plan | Channel, row: PlanRow, shares: Any) -> Floats:
    if shares is not None:
        return as_prior(row.channel.domain, shares).probabilities
    assert isinstance(planned, Plan)
    if planned.shares is not None:
        return np.array(planned.shares)
    hardest = second_moments(row.channel)
    return (
        hardest.worst_total_shares() if planned.asked == "rms" else hardest.worst_shares(int(hardest.worst().argmax()))
    )


def _surveys(channel: Channel, shares: Floats, n: int, n_replicates: int, seed: int) -> Iterator[Any]:
    """Tallies of n reports each: counts of all reports at once where they can be listed, else one report per answer.

    Those are counted as a survey would count them: by what they support where there are too many patterns, the columns
    of a product together.
    """
    generator = np.random.default_rng(seed)
    if lists_its_reports(channel):
        keys, chance = channel.keys(), channel.matrix() @ shares
        for counts in generator.multinomial(n, chance / chance.sum(), size=n_replicates):
            yield PatternTally(channel, keys[counts > 0], counts[counts > 0].astype(np.int64))
        return
    together = isinstance(channel, Product) and default_kind(channel) == "support"
    sets = [[part.domain.name for part in parts_of(channel)]] if together else None
    for _ in range(n_replicates):
        answers = np.repeat(np.arange(len(shares)), generator.multinomial(n, shares / shares.sum()))
        words = Words(int(generator.integers(2**62)))
        yield tally(channel.draw_codes(answers, words, simulated=True), sets=sets)
