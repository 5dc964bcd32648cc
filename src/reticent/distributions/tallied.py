"""The law of a number read from tallies: masses of the cells of its grid, their uncertainty, and what reports gave away."""

from __future__ import annotations

import html
import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reticent.channel.cuts import IndependentCuts
from reticent.channel.ranges import NULL, Ranges
from reticent.distributions import documents
from reticent.distributions.law import Distribution, Floats, power_range
from reticent.distributions.limits import LawProfile, LawWald, Limits, cells_of_quantile
from reticent.distributions.moment import Moment
from reticent.distributions.report_coverage import ReportCoverage, coverage_of
from reticent.domain import Numbers
from reticent.errors import EstimateError, ParameterError
from reticent.intervals import ConfidenceInterval, check_level
from reticent.results import Shares
from reticent.tallies import PatternTally, Tally, stack
from reticent.thresholds import Band, cdf_interval

Method = Literal["profile", "wald", "guaranteed"]
MOST_EDGES = 200
BAND_EDGES = 20


@dataclass(frozen=True, eq=False)
class TalliedDistribution(Distribution):
    """A `Distribution` on the cells of a `Numbers` domain, with the tallies and the shares it was read from.

    Only cells with mass are listed. With a step they run from their smallest to their largest possible value. Where in
    its cell a mass lies is not known. `shares` are the masses of all cells, with their covariance and certificate. `groups`
    may name the tallies, strata for example, for what is said of each.
    """

    shares: Shares = field(kw_only=True)
    groups: tuple[str, ...] = field(default=(), kw_only=True)

    # --- what it was read from --------------------------------------------------------------------------------------
    @property
    def question(self) -> Numbers:
        """The number that was asked for."""
        domain = self.shares.domain
        assert isinstance(domain, Numbers)
        return domain

    @property
    def tallies(self) -> tuple[Tally, ...]:
        """The tallies of the reports."""
        return self.shares.tallies

    @property
    def missing(self) -> int:
        """How many answers were missing."""
        return self.shares.missing

    @property
    def effective_n(self) -> float | None:
        """Kish's effective number of reports of weighted tallies; None without weights."""
        return self.shares.effective_n

    @cached_property
    def coverage(self) -> tuple[ReportCoverage, ...]:
        """What the reports gave away under this law, by tally."""
        named = zip(self.tallies, self.groups or ("",) * len(self.tallies), strict=True)
        return tuple(coverage_of(one, self.shares.probabilities, group) for one, group in named if one.n)

    # --- the distribution function ----------------------------------------------------------------------------------
    @cached_property
    def cells(self) -> tuple[Floats, Floats]:
        """Where each cell of the grid begins and ends, those without mass too."""
        return cell_ends(self.question)

    def confidence_interval(
        self, confidence_level: float = 0.95, method: str | None = None, *, at: ArrayLike | None = None
    ) -> ConfidenceInterval:
        """An interval for F(t) at each t of `at`, by itself (see `band`); without `at`, at the inner edges of the grid.

        "profile": {θ : 2 (l(maximum) − l(F(t) = θ)) ≤ χ²₁ quantile}, the limit law for thresholds on a grid, at its edges;
        between edges F is enclosed by its neighbours. The default, but for weighted tallies, which have "wald" only, by
        the sandwich covariance on the cells with mass. "guaranteed" holds its level for every n, for one threshold per
        person (see `cdf_interval`).

        Source: section 5 of our specification of interval privacy.
        Raises EstimateError for a method that the tallies do not allow, a bootstrap, or reports that all agree;
        ParameterError for a level, method or t that is not allowed, and for more than 200 edges without `at`.
        """
        check_level(confidence_level)
        points = self._points(self._edges_or_refusal() if at is None else at)
        if method == "guaranteed":
            return self._guaranteed(points, confidence_level)
        limits, method = self._limits(method)
        left, right = self.cells
        begun = left[:, None] <= points if self.closed else left[:, None] < points
        begun[0] |= left[0] == points
        surely, maybe = (right[:, None] <= points).T.astype(np.float64), begun.T.astype(np.float64)
        low = np.array([limits.least(c, confidence_level) for c in surely])
        high = np.array([limits.greatest(c, confidence_level) for c in maybe])
        return ConfidenceInterval(low, high, confidence_level, method)

    def band(self, confidence_level: float = 0.95, method: str | None = None, *, at: ArrayLike | None = None) -> Band:
        """Limits that hold F at all t together: intervals at J edges, each with 1/J of the error, carried on by monotonicity.

        At most 20 edges, evenly taken, unless `at` says which points. Holds as its intervals do, in the limit of many
        reports ("guaranteed" for every n). Raises what `confidence_interval` raises.
        """
        check_level(confidence_level)
        points = np.unique(self._points(self.few_edges() if at is None else at))
        each = self.confidence_interval(1 - (1 - confidence_level) / len(points), method, at=points)
        low, high = np.maximum.accumulate(each.low), np.minimum.accumulate(each.high[::-1])[::-1]
        return Band(points, low, high, confidence_level)

    def quantile_interval(
        self, q: ArrayLike, confidence_level: float = 0.95, method: str | None = None
    ) -> ConfidenceInterval:
        """An interval for each q-quantile inf{t : F(t) ≥ q}: where the intervals for F at the edges do not rule q out.

        Ends are edges, or the ends of the domain where no edge is ruled out; each quantile by itself. `q` are shares
        inside (0, 1). Raises ParameterError for other q, and what `confidence_interval` raises.
        """
        check_level(confidence_level)
        shares = np.atleast_1d(np.asarray(q, dtype=np.float64))
        if shares.ndim != 1 or not ((shares > 0) & (shares < 1)).all():
            raise ParameterError("A quantile has an interval for shares inside (0, 1), such as 0.5 for the median.")
        limits, method = self._limits(method)
        left, right = self.cells
        found = [cells_of_quantile(limits, len(left), float(share), confidence_level) for share in shares]
        low, high = left[[first for first, _ in found]], right[[last for _, last in found]]
        return ConfidenceInterval(low, high, confidence_level, f"{method}, inverted")

    def moment_estimate(self, order: int = 1) -> Moment:
        """E X^order with its standard error, intervals, and the range left open by where masses lie in their cells.

        Raises EstimateError where the domain has an infinite end or the reports all agree, ParameterError for an order
        below 1.
        """
        self._require_moments(order)
        left, right = self.cells
        if not (math.isfinite(left[0]) and math.isfinite(right[-1])):
            raise EstimateError(
                f'"{self.question.name}" has an infinite end, so no report bounds its moments. Give the number finite ends, or '
                "ask for quantiles.",
            )
        middles, (least, greatest) = (left + (right - left) / 2) ** order, power_range(left, right, order)
        masses, heavy = self.shares.probabilities, self.effective_n is not None
        wald = None if self.no_wald() else self._wald
        limits = wald if heavy else self._profile
        ends = None if heavy else self._profile.interval(middles)
        return Moment(
            float(masses @ middles),
            math.nan if wald is None else wald.standard_error(middles),
            ends,
            least=float(masses @ least),
            greatest=float(masses @ greatest),
            bounds=(float(least.min()), float(greatest.max())),
            widest=None
            if limits is None
            else lambda level: (limits.least(least, level), limits.greatest(greatest, level)),
        )

    # --- methods --------------------------------------------------------------------------------------------------------
    @cached_property
    def _profile(self) -> LawProfile:
        rows, counts = stack(self.tallies)
        assert self.shares.fit is not None
        return LawProfile(rows, counts, self.shares.probabilities, self.shares.fit.log_likelihood)

    @cached_property
    def _wald(self) -> LawWald:
        covariance = self.shares.covariance
        assert covariance is not None
        return LawWald(self.shares.probabilities, covariance)

    def _limits(self, method: str | None) -> tuple[Limits, Method]:
        self._require_disagreement("intervals")
        heavy = self.effective_n is not None
        if method == "wald" or (method is None and heavy):
            reason = self.no_wald()
            if reason is not None:
                raise EstimateError(reason)
            return self._wald, "wald"
        if method not in (None, "profile"):
            raise self._no_method(method, ("profile", "wald", "guaranteed"))
        if heavy:
            raise EstimateError(
                "A weighted sample has no likelihood of its counts, so profile intervals do not hold for it; use "
                'method="wald", whose variance is that of the weighted design.'
            )
        return self._profile, "profile"

    def no_wald(self) -> str | None:
        """Why standard errors do not hold, or None where they do."""
        empty = int((self.shares.probabilities <= 0).sum())
        if empty:
            return (
                f"{empty} of {len(self.shares.domain)} cells have an estimated mass of 0, where standard errors do not hold. "
                "Join cells until each has some mass; without weights profile intervals hold."
            )
        if self.shares.covariance is None:
            return "Above 500 cells no covariance is kept, so there are no standard errors. Join cells."
        return "Other laws fit as well, so there are no standard errors." if self.unique is False else None

    @property
    def has_intervals(self) -> bool:
        """Whether the reports allow intervals; `no_wald` says why they may not."""
        return not self.degenerate and (self.effective_n is None or self.no_wald() is None)

    def _guaranteed(self, points: Floats, confidence_level: float) -> ConfidenceInterval:
        parts = [_thresholds(one) for one in self.tallies if one.n]
        threshold, below, counts = (np.concatenate(part) for part in zip(*parts, strict=True))
        if not len(threshold):
            raise EstimateError("Nobody was asked about a threshold, so nothing is known.")
        return cdf_interval(
            threshold, below, points, confidence_level=confidence_level, method="guaranteed", counts=counts
        )

    def _edges_or_refusal(self) -> Floats:
        edges = self.cells[1][:-1]
        if len(edges) > MOST_EDGES:
            raise ParameterError(
                f'"{self.question.name}" has {len(edges)} inner edges; above {MOST_EDGES} say at which t the intervals are '
                "wanted, at=[...], or take the band.",
                n_edges=len(edges),
            )
        return edges

    def few_edges(self) -> Floats:
        """All inner edges, or 20 of them, evenly taken."""
        edges = self.cells[1][:-1]
        if len(edges) <= BAND_EDGES:
            return edges
        return edges[np.rint((np.arange(BAND_EDGES) + 0.5) * len(edges) / BAND_EDGES - 0.5).astype(np.intp)]

    # --- as a document, a table, a picture ------------------------------------------------------------------------------
    def to_json(self, confidence_level: float = 0.95) -> dict[str, Any]:
        """Everything the summary shows and more, as JSON (NaN and infinite ends as null).

        `cdf` and `quantiles` have intervals by themselves, `band` limits for all numbers together, `shares` every cell.
        """
        check_level(confidence_level)
        return {
            "question": self.question.name,
            "unit": self.question.unit,
            "estimator": self.shares.estimator,
            **super().to_json(),
            **({} if self.effective_n is None else {"effective_n": self.effective_n}),
            "missing": self.missing,
            "simulated": self.shares.simulated,
            "channels": [tally.channel.digest for tally in self.tallies],
            "confidence_level": confidence_level,
            **documents.told(self, confidence_level),
            "band": documents.band_rows(self, confidence_level),
            "shares": documents.share_rows(self),
            "coverage": [vars(one) for one in self.coverage if not self.degenerate],
        }

    def _columns(self) -> dict[str, Any]:
        told = documents.told(self, 0.95)["cdf"]
        return {name: [row[name] for row in told] for name in ("up_to", "share", "low", "high")}

    def summary(self, confidence_level: float = 0.95) -> str:
        """A plain text for the terminal: shares up to some edges, quartiles and mean with intervals, coverage."""
        return "\n".join(documents.lines(self, confidence_level))

    def plot(self, confidence_level: float = 0.95) -> Any:
        """A matplotlib figure: the distribution function with its band, a smoothed density, and ranges that were reported."""
        from reticent.plots.distributions import cumulative  # matplotlib loads only when a picture is asked for

        band = None
        if self.has_intervals:
            found = self.band(confidence_level)
            band = (found.at.tolist(), found.low.tolist(), found.high.tolist())
        return cumulative(
            self.left.tolist(),
            self.right.tolist(),
            self.mass.tolist(),
            finding=documents.finding(self, confidence_level),
            note=""
            if band is None
            else f"The pale band holds the share up to every number with {confidence_level:.0%} confidence.",
            axis=self.axis,
            ends=self.domain,
            band=band,
            density=documents.density(self),
            ranges=documents.common_ranges(self),
        )

    @property
    def axis(self) -> str:
        """What the number is and in which unit, as an axis is labelled."""
        name, unit = self.question.name, self.question.unit
        return f"{name} in {unit}" if unit and unit not in name else name

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>up to {row['up_to']:.6g}</td><td>{row['share']:.4f}</td>"
            f"<td>{documents.around(row, '.4f')}</td></tr>"
            for row in documents.told(self, 0.95)["cdf"]
        )
        head = f"<caption>{html.escape(self.question.name)}: {self.shares.n:,} reports</caption>"
        return f"<table>{head}<tr><th>number</th><th>share</th><th>95% interval</th></tr>{rows}</table>"

    def __repr__(self) -> str:
        return f'<distribution of "{self.question.name}", {len(self.shares.domain)} cells, {self.shares.n:,} reports>'


def cell_ends(domain: Numbers) -> tuple[Floats, Floats]:
    """Where each cell begins and ends, shapes `(n_cells,)`: its edges, or with a step its smallest and largest values.

    >>> [ends.tolist() for ends in cell_ends(Numbers("age", 18, 90, step=1, edges=[30, 60]))]
    [[18.0, 31.0, 61.0], [30.0, 60.0, 90.0]]
    """
    half = 0 if domain.step is None else domain.step / 2
    left = [domain.low, *(edge + half for edge in domain.edges)]
    right = [*(edge - half for edge in domain.edges), domain.high]
    return np.array([float(end) for end in left]), np.array([float(end) for end in right])


def _thresholds(tally: Tally) -> tuple[Floats, NDArray[np.bool_], NDArray[np.int64]]:
    """Thresholds, whether answers were at most that, and how often, of reports of one threshold each."""
    channel = tally.channel
    single = isinstance(channel, Ranges) and isinstance(channel.cuts, IndependentCuts) and channel.cuts.n_cuts == 1
    if not isinstance(channel, Ranges) or not single or channel.acceptable is not None or channel.selection is not None:
        raise EstimateError(
            f"Guaranteed intervals are for one threshold per person, all reported; {channel.name} is not that. Use "
            'method="profile".'
        )
    if not isinstance(tally, PatternTally):
        raise EstimateError('Weights are not counts, so nothing is guaranteed for them; use method="wald".')
    start, stop = channel.arcs(tally.keys)
    asked = (tally.keys != NULL) & (tally.keys != channel.whole)
    start, stop, below = start[asked], stop[asked], start[asked] == 0
    ends = cell_ends(channel.domain)[1]
    return ends[np.where(below, stop, start) - 1], below, tally.counts[asked]
