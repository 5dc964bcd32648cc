"""Results: numbers with their uncertainty, one protocol for all."""

from __future__ import annotations

import html
import math
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import product
from numbers import Real
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reticent import intervals
from reticent.domain import Categorical, ProductDomain
from reticent.errors import EstimateError, ParameterError
from reticent.intervals import ConfidenceInterval
from reticent.likelihood import Fit
from reticent.tallies import PatternTally, Tally, WeightedTally, chance_of_equality, same_reports

Floats = NDArray[np.float64]
Method = Literal["profile", "score", "clopper-pearson", "wald"]
Target = Literal["population", "respondents"]
PROFILE_LIMIT = 1_000_000
SIMULATED = "Simulated reports: their coins came from a seed, so they protect nobody."


@dataclass(frozen=True)
class Scalar:
    """One number with its standard error (NaN where none holds, and then with a likelihood interval).

    >>> Scalar(0.5, 0.1).confidence_interval(0.95).low.round(3).tolist()
    [0.304]
    """

    value: float
    standard_error: float
    ends: Callable[[float], tuple[float, float]] | None = field(default=None, repr=False, compare=False)

    def confidence_interval(self, confidence_level: float = 0.95) -> ConfidenceInterval:
        """value ± z · standard error; for a contrast that touches a share of 0, profile likelihood."""
        if self.ends is not None:
            low, high = self.ends(confidence_level)
            return ConfidenceInterval(np.array([low]), np.array([high]), confidence_level, "profile")
        return intervals.wald(np.array([self.value]), np.array([self.standard_error]), confidence_level)

    def to_json(self) -> dict[str, Any]:
        """Value and standard error as JSON."""
        return {"value": self.value, "standard_error": _finite(self.standard_error)}


@dataclass(frozen=True, eq=False)
class Shares:
    """Estimated shares of the categories in the population, with their uncertainty.

    `probabilities` lie on the simplex. `unconstrained` is the linear estimate behind it, unbiased, maybe negative;
    None for maximum likelihood. `covariance` (p, p) is of the unconstrained estimate where there is one; None above
    500 categories. `standard_errors` are NaN where a share is on the boundary. `fit` is the certificate of maximum
    likelihood; `range_low`, `range_high` enclose every maximiser, and `unique` says whether there is one only.
    `margin_of` names the table these shares were added up from.
    """

    domain: Categorical
    probabilities: Floats
    standard_errors: Floats
    covariance: Floats | None
    tallies: tuple[Tally, ...]
    estimator: str
    unconstrained: Floats | None = None
    fit: Fit | None = None
    range_low: Floats | None = None
    range_high: Floats | None = None
    margin_of: str | None = None

    @property
    def n(self) -> int:
        """How many reports."""
        return sum(tally.n for tally in self.tallies)

    @property
    def effective_n(self) -> float | None:
        """Kish's effective number of reports, (Σw)²/Σw², of weighted tallies; None without weights."""
        heavy = [one for one in self.tallies if isinstance(one, WeightedTally)]
        if not heavy:
            return None
        return sum(one.total_weight for one in heavy) ** 2 / sum(float(one.squares.sum()) for one in heavy)

    @property
    def missing(self) -> int:
        """How many answers were missing."""
        return sum(tally.missing for tally in self.tallies)

    @property
    def simulated(self) -> bool:
        """Whether the coins of some of the reports came from a seed, so that they protect nobody."""
        return any(tally.simulated for tally in self.tallies)

    @property
    def by_itself(self) -> Floats:
        """Each share by itself: the unconstrained estimate put between 0 and 1, the centre of its wald interval.

        They need not sum to 1; `probabilities` do, but with many categories the projection that makes them do so moves
        every one of them to an end of its interval. The same as `probabilities` where there is no linear estimate.
        """
        return self.probabilities if self.unconstrained is None else np.clip(self.unconstrained, 0.0, 1.0) + 0.0

    @property
    def gap(self) -> float | None:
        """max_j lambda_j − 1 per report: the mean log-likelihood is within it of the maximum."""
        return None if self.fit is None else self.fit.gap

    @property
    def converged(self) -> bool:
        """Whether the solver reached its certificate; always for closed forms."""
        return self.fit is None or self.fit.converged

    @property
    def log_likelihood(self) -> float | None:
        """Log-likelihood of the counts in nats, up to a constant that does not depend on the shares."""
        return None if self.fit is None else self.fit.log_likelihood

    @property
    def unique(self) -> bool | None:
        """False when other shares explain the reports equally well; None where that was not checked.

        Linear estimates are always unique; maximum likelihood is not checked above 500 categories.
        """
        if self.range_low is None or self.range_high is None:
            return None if self.fit is not None else True
        return bool((self.range_high - self.range_low).max() <= 1e-6)

    def confidence_interval(
        self, confidence_level: float = 0.95, method: Method | None = None, target: Target = "population"
    ) -> ConfidenceInterval:
        """An interval for each share.

        Default: profile likelihood while reports × categories ≤ 10^6, else efficient score, for maximum likelihood
        and one step; wald for moments, for weighted tallies and for margins, which have no other. "clopper-pearson"
        holds its level for every n. `target="respondents"` leaves out the sampling of the respondents themselves (wald
        only, not for weighted tallies).

        wald is `by_itself` ± z · standard error, cut at 0 and 1. Shares lie between 0 and 1, so it holds the true one
        whenever the unconstrained estimate ± z · standard error does: its coverage is at least that of plain wald.

        Raises ParameterError for a method, target or level that is not known, EstimateError for one that the tallies
        do not allow.
        """
        intervals.check_level(confidence_level)
        if target == "respondents":
            if method not in (None, "wald"):
                raise ParameterError(f'target="respondents" has wald intervals only, not {method!r}.')
            if self.effective_n is not None:
                raise EstimateError("Weights describe a population; weighted shares have no respondents' target.")
            return intervals.wald_of_shares(self._centre, self._respondent_errors(), confidence_level)
        if target != "population":
            raise ParameterError(f'target is {target!r}; allowed: "population", "respondents".')
        method = method or self._default_method()
        if method not in ("profile", "score", "clopper-pearson", "wald"):
            raise ParameterError(f'method is {method!r}; allowed: "profile", "score", "clopper-pearson", "wald".')
        if method == "wald":
            return intervals.wald_of_shares(self._centre, self.standard_errors, confidence_level)
        self._require_likelihood(method)
        if method == "clopper-pearson":
            return intervals.clopper_pearson(self.tallies, confidence_level)
        if method == "score":
            return intervals.efficient_score(self.tallies, self.probabilities, confidence_level)
        if self.fit is None:
            raise ParameterError(
                f'Profile intervals belong to maximum_likelihood; {self.estimator} has "wald" and "score".'
            )
        return intervals.profile(self.tallies, self.fit, confidence_level)

    def _default_method(self) -> Method:
        if self.estimator == "moments" or self.effective_n is not None or self.margin_of is not None:
            return "wald"
        rows = sum(len(tally.keys) for tally in self.tallies if isinstance(tally, PatternTally))
        return "profile" if self.fit is not None and rows * len(self.domain) <= PROFILE_LIMIT else "score"

    def _require_likelihood(self, method: Method) -> None:
        """Raises EstimateError where only wald intervals hold, with the reason."""
        if self.effective_n is not None:
            raise EstimateError(
                f"A weighted sample has no likelihood of its counts, so {method} intervals do not hold for it; use "
                'method="wald", whose variance is that of the weighted design.'
            )
        if self.margin_of is not None:
            raise EstimateError(
                f'Shares added up from {self.margin_of} have wald intervals only. Estimate "{self.domain.name}" from its own '
                f"reports for {method} intervals."
            )

    @property
    def _centre(self) -> Floats:
        return self.probabilities if self.unconstrained is None else self.unconstrained

    def _respondent_errors(self) -> Floats:
        # Cov = E[Cov given the answers] + Cov of the true shares among n respondents; take the second part away.
        variance = self.standard_errors**2 - self.probabilities * (1 - self.probabilities) / self.n
        return np.sqrt(np.maximum(variance, 0.0))

    def combine(self, weights: Mapping[str, float] | ArrayLike, minus: Shares | None = None) -> Scalar:
        """A weighted sum of shares, Σ c_j w_j, with its standard error √(cᵀ Cov c) (delta method).

        Weights by label (others 0) or one per category: {"a": 1, "b": -1} is the difference of two shares. Where it
        touches a share estimated at 0, no standard error holds: it is NaN, and the interval is by profile likelihood.
        `minus` are the shares of other people, a second group or wave: the result is Σ c_j (w_j − v_j), v theirs, whose
        variance is the sum of both. Shares of the same reports are refused where the tallies tell: one tally, parts of one,
        or counts that are equal and unlikely to be so by chance; a warning where they may be. A group within the total is
        not told.

        Raises ParameterError for unknown labels, weights that are no finite numbers or not one per category, or shares of
        another question; EstimateError without a covariance, for shares of the same reports, or a difference that touches
        a share estimated at 0.
        """
        c = self._weights(weights)
        if minus is not None:
            return self._difference(minus, c)
        value, on_boundary = float(c @ self._centre), np.isnan(self.standard_errors)
        if not (on_boundary.any() and np.ptp(np.append(c[on_boundary], 0.0)) > 0):
            return Scalar(value, math.sqrt(max(self._variance_of(c), 0.0)))
        if self.fit is None or self.margin_of is not None or self.effective_n is not None:
            raise EstimateError(
                "A combined category has an estimated share of 0, where a standard error does not hold. Combine the shares "
                "of the moments estimate.",
            )
        tallies, fit = self.tallies, self.fit
        return Scalar(value, math.nan, lambda level: intervals.profile_contrast(tallies, fit, c, level))

    def _variance_of(self, c: Floats) -> float:
        if self.covariance is not None:
            return float(c @ self.covariance @ c)
        (used,) = np.nonzero(c)
        if len(used) > 1 or (self.fit is not None and len(used)):
            raise EstimateError(
                "Above 500 categories no covariance is kept, so shares cannot be added up. Merge categories in the answers "
                "before they are reported; moments keeps the standard error of each share by itself."
            )
        return float((c[used] ** 2 * self.standard_errors[used] ** 2).sum())

    def _difference(self, minus: Shares, c: Floats) -> Scalar:
        if not isinstance(minus, Shares):
            raise ParameterError(f"minus is a {type(minus).__name__}; give the shares of other people.")
        if minus.domain != self.domain:
            raise ParameterError(
                f'Shares of "{self.domain.name}" minus shares of "{minus.domain.name}": not one question.'
            )
        pairs = list(product(self.tallies, minus.tallies))
        if any(same_reports(one, other) for one, other in pairs):
            raise EstimateError(
                "Both shares come from the same reports, so their errors are not independent. Give the shares of other "
                "people, or combine shares of one estimate."
            )
        if any(chance_of_equality(one, other) is not None for one, other in pairs):
            warnings.warn(
                "Both shares come from equal counts. By chance that happens, and then the difference stands; if they are "
                "the same reports, it means nothing.",
                stacklevel=3,
            )
        mine, theirs = self.combine(c), minus.combine(c)
        if math.isnan(mine.standard_error) or math.isnan(theirs.standard_error):
            raise EstimateError(
                "The difference touches a share estimated at 0, where a standard error does not hold. Take the difference "
                "of moments estimates."
            )
        return Scalar(mine.value - theirs.value, math.hypot(mine.standard_error, theirs.standard_error))

    def margin(self, column: str) -> Shares:
        """The shares of one question of a table of several: sums of cells, with wald intervals.

        Their covariance is A V Aᵀ, A the 0/1 matrix that adds up cells. After maximum likelihood, cells estimated at 0
        are taken as 0. Raises ParameterError for a question that is not in the table, EstimateError without a covariance.
        """
        if not isinstance(self.domain, ProductDomain):
            raise ParameterError(f'"{self.domain.name}" is one question; only tables of several have margins.')
        names = [part.name for part in self.domain.parts]
        if column not in names:
            raise ParameterError(f'"{column}" is not in the table; its questions are {names}.')
        if self.covariance is None:
            raise EstimateError(
                f"Above 500 cells no covariance is kept, so margins have no errors. Estimate the column by itself: "
                f'rt.moments(tally, columns=("{column}",)).'
            )
        axis, shape = names.index(column), self.domain.shape
        place = np.unravel_index(np.arange(len(self.domain)), shape)[axis]
        adding = (place == np.arange(shape[axis])[:, None]).astype(np.float64)
        covariance = adding @ self.covariance @ adding.T
        probabilities = adding @ self.probabilities
        errors = np.sqrt(np.maximum(np.diag(covariance), 0.0))
        nothing = np.isnan(self.standard_errors).any() & (probabilities <= 0)
        return Shares(
            domain=self.domain.parts[axis],
            probabilities=probabilities,
            standard_errors=np.where(nothing, np.nan, errors),
            covariance=covariance,
            tallies=self.tallies,
            estimator=self.estimator,
            unconstrained=None if self.unconstrained is None else adding @ self.unconstrained,
            fit=self.fit,
            range_low=None if self.range_low is None else adding @ self.range_low,
            range_high=None if self.range_high is None else np.minimum(adding @ self.range_high, 1.0),
            margin_of=self.domain.name,
        )

    def _weights(self, weights: Mapping[str, float] | ArrayLike) -> Floats:
        p = len(self.domain)
        if isinstance(weights, Mapping):
            unknown = [label for label in weights if label not in self.domain.categories]
            if unknown:
                raise ParameterError(f'{unknown[:5]} are not categories of "{self.domain.name}".')
            weights = [weights.get(label, 0.0) for label in self.domain.categories]
        if isinstance(weights, str) or not isinstance(weights, Iterable):
            raise ParameterError(f"combine needs {p} weights, one per category, or weights by label.")
        c = np.array([_number(weight) for weight in weights])
        if c.shape != (p,) or not np.isfinite(c).all():
            raise ParameterError(f"combine needs {p} finite weights, one per category, or weights by label.")
        return c

    def to_json(self, confidence_level: float = 0.95, method: Method | None = None) -> dict[str, Any]:
        """Everything the summary shows and more, as JSON (NaN as null); `share` is that of `probabilities`."""
        interval = self.confidence_interval(confidence_level, method)
        document: dict[str, Any] = {
            "question": self.domain.name,
            "estimator": self.estimator,
            "n": self.n,
            **({} if self.effective_n is None else {"effective_n": self.effective_n}),
            "missing": self.missing,
            "simulated": self.simulated,
            "channels": [tally.channel.digest for tally in self.tallies],
            "confidence_level": confidence_level,
            "interval": interval.method,
            "converged": self.converged,
            "unique": self.unique,
            "gap": self.gap,
            "log_likelihood": self.log_likelihood,
            "shares": [
                {
                    "category": label,
                    "share": float(self.probabilities[j]),
                    "standard_error": _finite(self.standard_errors[j]),
                    "low": _finite(interval.low[j]),
                    "high": _finite(interval.high[j]),
                    "unconstrained": None if self.unconstrained is None else float(self.unconstrained[j]),
                    "range": None if self.range_low is None or self.range_high is None or self.unique
                    else [float(self.range_low[j]), float(self.range_high[j])],
                }
                for j, label in enumerate(self.domain.categories)
            ],
        }  # fmt: skip
        return document

    def to_frame(self, confidence_level: float = 0.95) -> Any:
        """A pandas data frame with one row per category. Needs pandas: pip install "reticent[pandas]"."""
        try:
            import pandas as pd
        except ImportError as fault:
            raise EstimateError('to_frame needs pandas: pip install "reticent[pandas]"; or use to_json().') from fault
        return pd.DataFrame(self.to_json(confidence_level)["shares"]).set_index("category")

    def summary(self, confidence_level: float = 0.95, method: Method | None = None) -> str:
        """A plain table for the terminal: share (low–high), digits by the half-width."""
        interval = self.confidence_interval(confidence_level, method)
        width = max(len(label) for label in self.domain.categories)
        lines = [
            f"{self.domain.name}: shares from {self.n:,} reports, {confidence_level:.0%} intervals ({interval.method})"
        ]
        half = np.nanmax(interval.high - interval.low) / 2
        digits = 4 if not half > 0 else min(max(2, 1 - math.floor(math.log10(half))), 6)
        for j, label in enumerate(self.domain.categories):
            ends = f"({interval.low[j]:.{digits}f}–{interval.high[j]:.{digits}f})"
            lines.append(f"  {label:<{width}}  {self.by_itself[j]:.{digits}f} {ends}")
        if (total := total_text(self.by_itself)) is not None:
            lines.append(
                f"  Each share by itself; together they sum to {total}. `probabilities` are shares that sum to 1."
            )
        if self.missing:
            lines.append(f"  {self.missing:,} answers were missing and are not in the shares.")
        if self.unique is False:
            lines.append(
                "  Other shares explain these reports equally well (unique = False): see the ranges in to_json()."
            )
        if not self.converged:
            lines.append(f"  The solver stopped early (gap {self.gap:.1e}): do not rely on these shares.")
        return "\n".join(lines)

    def plot(self, confidence_level: float = 0.95) -> Any:
        """A matplotlib figure: a dot and its interval for each category."""
        from reticent import plots  # matplotlib loads only when a picture is asked for

        interval = self.confidence_interval(confidence_level)
        return plots.shares(
            self.domain.categories, self.by_itself.tolist(), interval.low.tolist(), interval.high.tolist()
        )

    def _repr_html_(self) -> str:
        interval = self.confidence_interval()
        cells = "".join(
            f"<tr><td>{html.escape(label)}</td><td>{self.by_itself[j]:.4f}</td>"
            f"<td>{interval.low[j]:.4f}–{interval.high[j]:.4f}</td></tr>"
            for j, label in enumerate(self.domain.categories)
        )
        head = f"<caption>{html.escape(self.domain.name)}: {self.n:,} reports</caption>"
        total = total_text(self.by_itself)
        foot = "" if total is None else f"<p>Each share by itself; together they sum to {total}.</p>"
        return f"<table>{head}<tr><th>category</th><th>share</th><th>95% interval</th></tr>{cells}</table>{foot}"

    def __repr__(self) -> str:
        return f'<shares of "{self.domain.name}", {len(self.domain)} categories, {self.n:,} reports, {self.estimator}>'


def total_text(shares: Floats) -> str | None:
    """What the shares sum to, in digits that tell it from 1; None where it is 1.

    >>> total_text(np.array([0.5, 0.53])), total_text(np.array([0.5, 0.5]))
    ('1.03', None)
    """
    total = float(shares.sum())
    if abs(total - 1) < 5e-5:
        return None
    return f"{total:.2f}" if abs(total - 1) >= 0.005 else f"{total:.4f}"


def _number(weight: object) -> float:
    """A weight as a number; NaN for anything else, also for text that reads as one."""
    try:
        return float(weight) if isinstance(weight, (Real, np.bool_)) else math.nan
    except OverflowError:
        return math.nan


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
