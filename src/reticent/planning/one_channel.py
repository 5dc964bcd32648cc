"""The plan for one channel: its variances, what they ask for or give, and what one report gives away."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from reticent.channel import Channel
from reticent.channel.channel import MAX_LISTED
from reticent.errors import ParameterError
from reticent.estimators.linear import MANY_CATEGORIES
from reticent.measures import mutual_information, prediction_leakage, size_leakage
from reticent.measures.enumeration import listable
from reticent.planning.variances import (
    SecondMoments,
    likelihood_variances,
    open_moments,
    second_moments,
)
from reticent.precision import condition_number

Floats = NDArray[np.float64]
Asked = Literal["n", "half_width", "rms"]
Estimator = Literal["maximum_likelihood", "moments"]
MOST_ANSWERS = 2**53
DRAWS = 2_000  # of reports, for the mutual information of channels whose reports cannot be listed


@dataclass(frozen=True)
class GivenAway:
    """What one report gives away at the expected shares, or at equal ones: bits of the `entropy` bits in an answer, the share
    of the population ruled out, the chance that the best guess is right beside that without any report (`floor`), epsilon."""

    bits: float
    entropy: float
    size: float
    prediction: float
    floor: float
    epsilon: float


@dataclass(frozen=True, eq=False)
class PlanRow:
    """The plan for one channel. `n` answers give each category's `half_width` and `rms`, the root of the summed squared
    error; `n_open` is what asking openly needs for the same, `factor` how many times as many that makes (design effect).

    `n_each` is what each category alone needs for the half-width asked for, else None. `variances` holds n·variance by
    category for "moments" and, where it is known, "maximum_likelihood"; `estimator` is the one planned with.
    """

    channel: Channel
    n: int
    n_open: int
    factor: float
    half_width: Floats
    half_width_open: Floats
    rms: float
    rms_open: float
    n_each: NDArray[np.int64] | None
    estimator: Estimator
    variances: dict[str, Floats]
    n_by_estimator: dict[str, int]
    condition_number: float
    given_away: GivenAway

    @property
    def worth(self) -> float:
        """How many open answers are as exact as these n."""
        return self.n / self.factor

    @property
    def name(self) -> str:
        """The mechanism in words, with its epsilon where the name alone does not tell."""
        name, epsilon = self.channel.name, self.channel.epsilon
        if " with dummies, " in name:  # how many answers the question has is known
            return "dummies, " + name.partition(" with dummies, ")[2].removeprefix("balanced, ")
        return f"{name}, ε {epsilon:.3g}" if name == "randomised response" else name

    def to_json(self) -> dict[str, Any]:
        """The row as JSON; an infinite number is the text "infinity"."""
        given = {name: _json(value) for name, value in vars(self.given_away).items()}
        rows = {
            "half_width": self.half_width.tolist(),
            "half_width_open": self.half_width_open.tolist(),
            "n": None if self.n_each is None else self.n_each.tolist(),
            **{f"variance_{name}": values.tolist() for name, values in self.variances.items()},
        }
        labels = self.channel.domain.categories
        return {
            "mechanism": self.name, "channel": self.channel.digest, "n": self.n, "n_open": self.n_open,
            "factor": self.factor, "rms": self.rms, "rms_open": self.rms_open, "estimator": self.estimator,
            "n_by_estimator": self.n_by_estimator, "condition_number": _json(self.condition_number),
            "given_away": given,
            "categories": [
                {"category": label, **{name: column[j] for name, column in rows.items() if column is not None}}
                for j, label in enumerate(labels)
            ],
        }  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Variance:
    each: Floats
    total: float

    def n_for(self, asked: Asked, target: float, z: float) -> int:
        if asked == "n":
            return int(target)
        return answers_for(z**2 * float(self.each.max()) if asked == "half_width" else self.total, target)


def plan_row(channel: Channel, asked: Asked, target: float, shares: Floats | None, level: float) -> PlanRow:
    """The plan for one channel, at the expected shares or, with None, for the worst ones."""
    z = float(norm.ppf(0.5 + level / 2))
    by_estimator = {"moments": _variance(second_moments(channel), shares)}
    likelihood = None if shares is None else likelihood_variances(channel, shares)
    if likelihood is not None:
        by_estimator = {"maximum_likelihood": _Variance(likelihood, float(likelihood.sum())), **by_estimator}
    # Above, reports are counted by what they support, which only moments read.
    few = likelihood is not None and channel.n_reports <= MAX_LISTED and channel.n_categories <= MANY_CATEGORIES
    estimator: Estimator = "maximum_likelihood" if few else "moments"
    own, openly = by_estimator[estimator], _variance(open_moments(channel.n_categories), shares)
    n, n_open = own.n_for(asked, target, z), openly.n_for(asked, target, z)
    criterion = [v.total if asked == "rms" else float(v.each.max()) for v in (own, openly)]
    each = None
    if asked == "half_width":
        each = np.array([answers_for(z**2 * float(v), target) for v in own.each], dtype=np.int64)
    return PlanRow(
        channel=channel, n=n, n_open=n_open,
        factor=criterion[0] / criterion[1] if criterion[1] > 0 else math.inf if criterion[0] > 0 else 1.0,
        half_width=z * np.sqrt(own.each / n), half_width_open=z * np.sqrt(openly.each / n),
        rms=math.sqrt(own.total / n), rms_open=math.sqrt(openly.total / n), n_each=each, estimator=estimator,
        variances={name: v.each for name, v in by_estimator.items()},
        n_by_estimator={name: v.n_for(asked, target, z) for name, v in by_estimator.items()},
        condition_number=condition_number(channel), given_away=_given_away(channel, shares),
    )  # fmt: skip


def _variance(moments: SecondMoments, shares: Floats | None) -> _Variance:
    each = moments.worst() if shares is None else moments.variances(shares)
    w = moments.worst_total_shares() if shares is None else shares
    return _Variance(each, float(moments.total @ w - w @ w))


def answers_for(variance: float, target: float, what: str = "shares") -> int:
    """The number of answers whose mean, each of that variance, has the standard deviation `target`.

    Raises ParameterError for more than 2^53.

    >>> answers_for(0.25, 0.01)
    2500
    """
    needed = variance / target**2 if target**2 > 0 else math.inf
    if needed > MOST_ANSWERS:
        raise ParameterError(f"To know {what} to {target:g} takes more than 2^53 answers; ask for less.", target=target)
    return max(1, math.ceil(needed * (1 - 1e-12)))  # a whole number stays one in spite of rounding


def _given_away(channel: Channel, shares: Floats | None) -> GivenAway:
    p = channel.n_categories
    prior = np.full(p, 1 / p) if shares is None else shares
    positive = prior[prior > 0]
    draws = None if channel.support_rates is None or listable(channel) or p <= 500 else DRAWS
    return GivenAway(
        bits=mutual_information(channel, prior, "bits", None if channel.name == "randomised response" else draws),
        entropy=max(0.0, -float(positive @ np.log2(positive))),
        size=size_leakage(channel, prior), prediction=prediction_leakage(channel, prior), floor=float(prior.max()),
        epsilon=channel.epsilon,
    )  # fmt: skip


def _json(value: float) -> float | str:
    return "infinity" if math.isinf(value) else value
