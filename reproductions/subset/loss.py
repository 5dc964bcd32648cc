"""Fig. 2: how far each estimate is from the truth, against the number of people."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

import reticent as rt
from reproductions.subset.methods import EARLY, METHODS, Counts, Floats, Method, by_cvxpy, by_tally, em

SIZES = (100, 1_000, 10_000, 100_000)
QUICK_SIZES = SIZES[:3]
SEED = 2107_02013
FLAGGED = 4.0
ASYMPTOTIC = 100_000  # from this n on the limits of the other estimators are held against the simulation


@dataclass(frozen=True)
class Loss:
    """n times the mean of ‖ŵ − w‖² over the replicates, its Monte Carlo error, and the constant it should be.

    `checked` says that the constant holds at this n: exactly for linear unbiased estimates, and as a limit from
    n = 100,000 on for the others. `z` compares the two; None where there is no constant.
    """

    method: str
    n: int
    mean: float
    error: float
    constant: float | None
    checked: bool

    @property
    def z(self) -> float | None:
        """(mean − constant) / error."""
        return None if self.constant is None else (self.mean - self.constant) / self.error

    @property
    def flagged(self) -> bool:
        """Whether the constant should hold here and does not, at four standard errors."""
        return self.checked and self.z is not None and abs(self.z) > FLAGGED

    def to_json(self) -> dict[str, Any]:
        """The row as JSON."""
        return {**asdict(self), "z": self.z, "flagged": self.flagged}


@dataclass(frozen=True, eq=False)
class Simulation:
    """All losses, and every method's estimate in the first replicate of each n."""

    replicates: int
    losses: tuple[Loss, ...]
    first: dict[int, dict[str, Floats]]
    em_iterations: dict[int, tuple[int, int]]
    furthest: dict[int, dict[str, float]] = field(default_factory=dict)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The numbers of people."""
        return tuple(self.first)

    @property
    def methods(self) -> tuple[Method, ...]:
        """The methods that ran, in their order."""
        return tuple(method for method in METHODS if method.name in self.first[self.sizes[0]])

    def loss(self, method: str, n: int) -> Loss:
        """The row of one method and n."""
        return next(row for row in self.losses if row.method == method and row.n == n)

    def differences(self, n: int) -> dict[str, float]:
        """Largest distance in any share from maximum likelihood, in the first replicate."""
        centre = self.first[n]["maximum_likelihood"]
        others = {name: shares for name, shares in self.first[n].items() if name != "maximum_likelihood"}
        return {name: float(np.abs(shares - centre).max()) for name, shares in others.items()}

    def to_json(self) -> dict[str, Any]:
        """Everything as JSON."""
        return {
            "replicates": self.replicates,
            "seed": SEED,
            "losses": [loss.to_json() for loss in self.losses],
            "one_replication": {
                str(n): {
                    "estimates": {name: shares.tolist() for name, shares in found.items()},
                    "largest_difference_from_maximum_likelihood": self.differences(n),
                }
                for n, found in self.first.items()
            },
            "largest_difference_from_maximum_likelihood": {str(n): row for n, row in self.furthest.items()},
            "em_iterations": {str(n): {"median": a, "most": b} for n, (a, b) in self.em_iterations.items()},
        }


def draw(channel: rt.Channel, shares: Floats, n: int, replicates: int) -> tuple[Counts, Counts]:
    """Counts of the answers and of the reports of n people, for each replicate.

    The answers are multinomial, and so are the reports of the people in each category: the law of n people drawn one
    by one. The same people stand behind both, as in the paper.
    """
    random = np.random.default_rng([SEED, n])
    answers = random.multinomial(n, shares, size=replicates)
    chances = channel.matrix().T
    reports = [random.multinomial(answers[:, j], chance / chance.sum()) for j, chance in enumerate(chances)]
    return answers, np.sum(reports, axis=0)


def constants(channel: rt.Channel, shares: Floats) -> dict[str, float | None]:
    """tr V, the limit of n times the loss, for each method."""
    return {method.name: _constant(channel, shares, method) for method in METHODS}


def _constant(channel: rt.Channel, shares: Floats, method: Method) -> float | None:
    if method.variance is None:
        return None
    covariance: Callable[..., NDArray[np.float64]] = rt.asymptotic_covariance
    return float(np.trace(covariance(channel, shares, *method.variance)))


def simulate(
    channel: rt.Channel,
    shares: Floats,
    sizes: Sequence[int],
    replicates: int,
    *,
    cvxpy: bool,
    say: Callable[[str], None] = lambda _: None,
) -> Simulation:
    """Every method on the same reports, for each n."""
    limit = constants(channel, shares)
    losses: list[Loss] = []
    first, iterations, furthest = {}, {}, {}
    for n in sizes:
        say(f"n = {n:,}: {replicates} replicates")
        estimates, steps = _estimates(channel, shares, n, replicates, cvxpy)
        for method in METHODS:
            if method.name in estimates:
                losses.append(_loss(method, n, estimates[method.name], shares, limit[method.name]))
        first[n] = {name: found[0] for name, found in estimates.items()}
        iterations[n] = (int(np.median(steps)), int(steps.max()))
        centre = estimates["maximum_likelihood"]
        furthest[n] = {
            name: float(np.abs(found - centre).max())
            for name, found in estimates.items()
            if name != "maximum_likelihood"
        }
    return Simulation(replicates, tuple(losses), first, iterations, furthest)


def _estimates(
    channel: rt.Channel, shares: Floats, n: int, replicates: int, cvxpy: bool
) -> tuple[dict[str, Floats], NDArray[np.int64]]:
    answers, counts = draw(channel, shares, n, replicates)
    matrix = channel.matrix()
    complete = em(matrix, counts)
    estimates = {
        "sample": np.asarray(answers / n),
        "em": complete.shares,
        **{f"em_{limit}": em(matrix, counts, limit).shares for limit in EARLY},
        **by_tally(channel, counts),
    }
    if cvxpy:
        estimates["cvxpy"] = by_cvxpy(matrix, counts)
    return estimates, complete.iterations


def _loss(method: Method, n: int, estimates: Floats, shares: Floats, constant: float | None) -> Loss:
    each = n * ((estimates - shares) ** 2).sum(axis=1)
    checked = constant is not None and (method.unbiased or n >= ASYMPTOTIC)
    error = float(each.std(ddof=1)) / math.sqrt(len(each))
    return Loss(method.name, n, float(each.mean()), error, constant, checked)
