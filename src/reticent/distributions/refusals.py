"""What answers say when some people refuse: the law of those who answer, the share who refuse, and bounds for everybody.

Letters of section 1.5 of our specification of interval privacy: F = the law among those who answer, π = the share of people
who answer at least one question, k = the most questions.
"""

from __future__ import annotations

import html
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

from reticent.distributions.law import Distribution, finite
from reticent.distributions.limits import LawProfile
from reticent.distributions.tallied import cell_ends
from reticent.domain import Categorical, Numbers
from reticent.errors import EstimateError
from reticent.intervals import ConfidenceInterval, check_level
from reticent.likelihood import Fit
from reticent.rows import DenseRows
from reticent.tallies import PatternTally

Floats = NDArray[np.float64]
FEWEST = 10  # shares of the events are shown one by one up to this many, and then evenly taken


@dataclass(frozen=True, eq=False)
class Nonresponse:
    """The law of a question among those who answer, and what it says about everybody.

    `masses`, shape `(n_categories, k)`, are the shares of (value, willingness) among those who answer, willingness 1 to k:
    each willingness has a law of its own. `answered`, shape `(k + 1,)`, counts reports by the number of questions answered;
    the first are "no answer", of which the device itself made the share `dropped` of those of willing people. `alike` are
    the shares if stopping said nothing, `full` those of the people who answered everything (None without such reports).

    Shares are told of events: "up to each inner edge" for numbers, each category otherwise. Of those who refuse everything
    nothing is known; the shares of everybody are therefore bounds, π F to π F + 1 − π, and equal to F if those who refuse
    are like those who answered, which no report can show.

    Source: section 1.5 of our specification of interval privacy, rule (c).
    """

    question: Categorical
    tallies: tuple[PatternTally, ...]
    answered: NDArray[np.int64]
    dropped: float
    masses: Floats
    fit: Fit
    rows: DenseRows
    counts: Floats
    unique: bool | None
    alike: Floats
    full: Floats | None

    # --- those who answer ----------------------------------------------------------------------------------------
    @property
    def n(self) -> int:
        """How many reports, "no answer" included."""
        return int(self.answered.sum())

    @property
    def missing(self) -> int:
        """How many answers were missing, with no report at all."""
        return sum(tally.missing for tally in self.tallies)

    @property
    def simulated(self) -> bool:
        """Whether the coins of some of the reports came from a seed, so that they protect nobody."""
        return any(tally.simulated for tally in self.tallies)

    @property
    def probabilities(self) -> Floats:
        """The shares of the values among those who answer, shape `(n_categories,)`."""
        return np.asarray(self.masses.sum(axis=1))

    @property
    def willingness(self) -> Floats:
        """The shares of people willing to answer 1 to k questions among those who answer, shape `(k,)`."""
        return np.asarray(self.masses.sum(axis=0))

    @property
    def if_like_those_who_answered(self) -> Floats:
        """The shares of everybody on the assumption that those who refuse are like those who answered; not an estimate
        without it."""
        return self.probabilities

    @property
    def events(self) -> tuple[str, ...]:
        """What shares and intervals are given of."""
        if isinstance(self.question, Numbers):
            return tuple(self.question.label(0, edge) for edge in range(1, len(self.question)))
        return self.question.categories

    @cached_property
    def _holding(self) -> Floats:
        """Which categories each event holds, shape `(n_events, n_categories)`."""
        p = len(self.question)
        return np.tril(np.ones((p - 1, p))) if isinstance(self.question, Numbers) else np.eye(p)

    @property
    def shares(self) -> Floats:
        """The share of each event among those who answer."""
        return np.asarray(self._holding @ self.probabilities)

    @cached_property
    def law(self) -> Distribution:
        """The law of the number among those who answer: distribution function, quantiles, moments.

        Raises EstimateError for categories.
        """
        if not isinstance(self.question, Numbers):
            raise EstimateError(f'"{self.question.name}" has categories, not numbers; use probabilities.')
        left, right = cell_ends(self.question)
        (held,) = np.nonzero(self.probabilities)
        return Distribution(
            left=left[held],
            right=right[held],
            mass=self.probabilities[held],
            n=float(self.counts.sum()),
            log_likelihood=self.fit.log_likelihood,
            gap=self.fit.gap,
            shortfall=self.fit.shortfall,
            converged=self.fit.converged,
            iterations=self.fit.steps,
            unique=self.unique,
            domain=(float(self.question.low), float(self.question.high)),
            closed=self.question.step is not None,
            ends=self._ends_at,
            edges=self.question.boundaries,
        )

    def _ends_at(self, t: float, confidence_level: float) -> tuple[float, float]:
        assert isinstance(self.question, Numbers)
        left, right = cell_ends(self.question)
        begun = (left < t) | ((left == t) & ((left == left[0]) | (self.question.step is not None)))
        surely, maybe = self._spread(right <= t), self._spread(begun)
        return self._profile.least(surely, confidence_level), self._profile.greatest(maybe, confidence_level)

    def _spread(self, held: NDArray[Any]) -> Floats:
        """An event of values as one of (value, willingness)."""
        return np.repeat(held.astype(np.float64), self.masses.shape[1])

    @cached_property
    def _profile(self) -> LawProfile:
        return LawProfile(self.rows, self.counts, self.masses.ravel(), self.fit.log_likelihood)

    def confidence_interval(self, confidence_level: float = 0.95) -> ConfidenceInterval:
        """An interval for the share of each event among those who answer, each by itself, by profile likelihood.

        Raises ParameterError for a level that is not allowed.
        """
        check_level(confidence_level)
        return self._interval(self._profile, [self._spread(event) for event in self._holding], None, confidence_level)

    def _interval(
        self, limits: LawProfile, lower: list[Floats], upper: list[Floats] | None, confidence_level: float
    ) -> ConfidenceInterval:
        low = [limits.least(c, confidence_level) for c in lower]
        high = [limits.greatest(c, confidence_level) for c in (lower if upper is None else upper)]
        return ConfidenceInterval(np.array(low), np.array(high), confidence_level, "profile")

    # --- those who refuse ----------------------------------------------------------------------------------------
    @property
    def refusing(self) -> float:
        """The share of people who refuse everything: that of "no answer", less what devices dropped."""
        return self._undropped(self.answered[0] / self.n)

    def _undropped(self, silent: float) -> float:
        return max((float(silent) - self.dropped) / (1 - self.dropped), 0.0)

    def refusing_interval(self, confidence_level: float = 0.95) -> ConfidenceInterval:
        """An interval for the share who refuse everything: Clopper and Pearson's, mapped; it holds its level for every n.

        Raises ParameterError for a level that is not allowed.
        """
        check_level(confidence_level)
        silent, n, tail = int(self.answered[0]), self.n, (1 - confidence_level) / 2
        low = float(beta.ppf(tail, silent, n - silent + 1)) if silent else 0.0
        high = float(beta.ppf(1 - tail, silent + 1, n - silent)) if silent < n else 1.0
        ends = np.array([[self._undropped(low)], [self._undropped(high)]])
        return ConfidenceInterval(ends[0], ends[1], confidence_level, "clopper-pearson")

    # --- everybody -----------------------------------------------------------------------------------------------
    def bounds(self) -> tuple[Floats, Floats]:
        """The least and the greatest share of each event among everybody: π F and π F + 1 − π."""
        least = (1 - self.refusing) * self.shares
        return least, least + self.refusing

    def bounds_interval(self, confidence_level: float = 0.95) -> ConfidenceInterval:
        """The bounds with their uncertainty: from the lower limit of the least to the upper limit of the greatest share.

        By profile likelihood of (value, willingness) and refusal together; each event by itself. It holds the share of
        everybody with at least the level, however those who refuse differ. Raises what `confidence_interval` raises.
        """
        check_level(confidence_level)
        events = [self._spread(event) for event in self._holding]
        return self._interval(
            self._together,
            [np.append(0.0, event) for event in events],
            [np.append(1.0, event) for event in events],
            confidence_level,
        )

    @cached_property
    def _together(self) -> LawProfile:
        """Profile limits for (refuses, masses of those who answer): one more column, and the row of "no answer"."""
        told = np.hstack([np.zeros((self.rows.n_rows, 1)), self.rows.matrix])
        counts = self.counts
        if self.answered[0]:
            silent = np.append(1.0, np.full(told.shape[1] - 1, self.dropped))
            told, counts = np.vstack([told, silent]), np.append(counts, float(self.answered[0]))
        rows, w = DenseRows(told), np.append(self.refusing, (1 - self.refusing) * self.masses.ravel())
        return LawProfile(rows, counts, w, float(counts @ np.log(rows.mv(w))))

    def sensitivity(self) -> dict[str, Floats | None]:
        """The share of each event among those who answer, under three readings of people who stop early.

        "own law": each willingness has its own, as in `shares`. "stopping says nothing": their last set is taken as it is.
        "full answers only": they are left out; None where nobody answered everything. Where these differ, stopping depends
        on the value.
        """
        full = None if self.full is None else np.asarray(self._holding @ self.full)
        return {
            "own law": self.shares,
            "stopping says nothing": np.asarray(self._holding @ self.alike),
            "full answers only": full,
        }

    # --- as a document, a table ----------------------------------------------------------------------------------
    def to_json(self, confidence_level: float = 0.95) -> dict[str, Any]:
        """Everything the summary shows and more, as JSON."""
        silence = self.refusing_interval(confidence_level)
        return {
            "question": self.question.name,
            "n": self.n,
            "missing": self.missing,
            "simulated": self.simulated,
            "channels": [tally.channel.digest for tally in self.tallies],
            "confidence_level": confidence_level,
            "answered": self.answered.tolist(),
            "dropped": self.dropped,
            "refusing": {"share": self.refusing, "low": float(silence.low[0]), "high": float(silence.high[0])},
            "willingness": self.willingness.tolist(),
            "converged": self.fit.converged,
            "unique": self.unique,
            "gap": self.fit.gap,
            "log_likelihood": finite(self.fit.log_likelihood),
            "events": self._event_rows(confidence_level),
            "masses": self.masses.tolist(),
        }

    def _event_rows(self, confidence_level: float) -> list[dict[str, Any]]:
        among, everybody = self.confidence_interval(confidence_level), self.bounds_interval(confidence_level)
        least, greatest = self.bounds()
        readings = self.sensitivity()
        full = readings["full answers only"]
        return [
            {
                "event": label,
                "among_those_who_answer": {
                    "share": float(self.shares[i]), "low": float(among.low[i]), "high": float(among.high[i]),
                },
                "everybody": {
                    "least": float(least[i]), "greatest": float(greatest[i]),
                    "low": float(everybody.low[i]), "high": float(everybody.high[i]),
                    "if_like_those_who_answered": float(self.shares[i]),
                },
                "if_stopping_says_nothing": float((self._holding @ self.alike)[i]),
                "full_answers_only": None if full is None else float(full[i]),
            }
            for i, label in enumerate(self.events)
        ]  # fmt: skip

    def to_frame(self, confidence_level: float = 0.95) -> Any:
        """A pandas data frame with one row per event. Needs pandas: pip install "reticent[pandas]"."""
        try:
            import pandas as pd
        except ImportError as fault:
            raise EstimateError('to_frame needs pandas: pip install "reticent[pandas]"; or use to_json().') from fault
        rows = [
            {"event": row["event"], **row["among_those_who_answer"]}
            | {f"everybody_{name}": value for name, value in row["everybody"].items()}
            for row in self._event_rows(confidence_level)
        ]
        return pd.DataFrame(rows).set_index("event")

    def summary(self, confidence_level: float = 0.95) -> str:
        """A plain text for the terminal: who answers, shares among them, bounds for everybody, what stopping changes."""
        silence = self.refusing_interval(confidence_level)
        lines = [
            f"{self.question.name}: {self.n:,} reports, {int(self.answered[0]):,} without an answer; {confidence_level:.0%} "
            "intervals",
            f"  refuse to answer: {self.refusing:.3f} ({silence.low[0]:.3f}–{silence.high[0]:.3f})",
        ]
        if len(self.willingness) > 1:
            shares = ", ".join(f"{asked}: {share:.3f}" for asked, share in enumerate(self.willingness, 1))
            lines.append(f"  of those who answer, by the number of questions: {shares}")
        lines += self._event_lines(confidence_level)
        lines.append(
            "  The bounds hold however those who refuse differ; the first column is theirs only if they are alike."
        )
        if len(self.willingness) > 1:
            lines.append(f"  {self._stopping_line()}")
        if self.missing:
            lines.append(f"  {self.missing:,} answers were missing, without any report.")
        if not self.fit.converged:
            lines.append(f"  The solver stopped early (gap {self.fit.gap:.1e}): do not rely on these shares.")
        return "\n".join(lines)

    def _event_lines(self, confidence_level: float) -> list[str]:
        rows = self._event_rows(confidence_level)
        step = math.ceil(len(rows) / FEWEST)
        width = max(len(row["event"]) for row in rows[step // 2 :: step])
        lines = [f"  {'':<{width}}  those who answer     everybody, between"]
        for row in rows[step // 2 :: step]:
            own, everybody = row["among_those_who_answer"], row["everybody"]
            lines.append(
                f"  {row['event']:<{width}}  {own['share']:.3f} ({own['low']:.3f}–{own['high']:.3f})  "
                f"{everybody['least']:.3f} and {everybody['greatest']:.3f} ({everybody['low']:.3f}–{everybody['high']:.3f})"
            )
        return lines

    def _stopping_line(self) -> str:
        moved = float(np.abs(self._holding @ (self.probabilities - self.alike)).max())
        return f"If stopping said nothing, shares would differ by up to {moved:.3f} (see sensitivity())."

    def _repr_html_(self) -> str:
        cells = "".join(
            f"<tr><td>{html.escape(row['event'])}</td><td>{row['among_those_who_answer']['share']:.4f}</td>"
            f"<td>{row['everybody']['least']:.4f}–{row['everybody']['greatest']:.4f}</td></tr>"
            for row in self._event_rows(0.95)
        )
        head = f"<caption>{html.escape(self.question.name)}: {self.n:,} reports, {self.refusing:.3f} refuse</caption>"
        return f"<table>{head}<tr><th>answer</th><th>those who answer</th><th>everybody</th></tr>{cells}</table>"

    def __repr__(self) -> str:
        return f'<nonresponse to "{self.question.name}", {self.n:,} reports, {self.refusing:.3f} refuse>'
