"""The paper's claims about estimates."""

from __future__ import annotations

import math

import numpy as np

import reticent as rt
from reproductions.subset.claim import MANY, TRIED, Claim, Results, listed, uniform_design
from reproductions.subset.loss import ASYMPTOTIC, constants
from reproductions.subset.methods import EARLY


def claims(results: Results) -> tuple[Claim, ...]:
    """Each claim in turn."""
    makers = (
        four_times_sample, constant_loss, em_equals_likelihood, twice_the_sample, short_form,
    )  # fmt: skip
    return tuple(make(results) for make in makers)


def four_times_sample(results: Results) -> Claim:
    """Four is p − 1, for equal shares."""
    here = constants(results.found.channel, results.found.shares)
    ratio = _known(here["maximum_likelihood"]) / _known(here["sample"])
    seen = {
        n: results.simulation.loss("maximum_likelihood", n).mean / results.simulation.loss("sample", n).mean
        for n in results.simulation.sizes
    }
    equal = {p: _equal_ratio(p) for p in MANY}
    exact = max(abs(value - (p - 1)) for p, value in equal.items()) < 1e-9
    return Claim(
        "four times the sample's loss",
        "The loss of maximum likelihood is about four times that of the non-private sample.",
        f"{ratio:.2f} times in the limit; simulated {listed(seen, 1)} at n = {', '.join(f'{n:,}' for n in seen)}. With equal "
        f"shares and p = {TRIED}: {listed(equal, 0)} times" + (", p − 1." if exact else "."),
        "Same order; exactly 4 = p − 1 holds for equal shares." if exact and 2 < ratio < 6 else "Does not hold.",
        2 < ratio < 6,
        {"limit": ratio, "simulated": {str(n): v for n, v in seen.items()}, "equal_shares": {str(p): v for p, v in equal.items()}},
    )  # fmt: skip


def _equal_ratio(p: int) -> float:
    limit = constants(*uniform_design(p))
    return _known(limit["maximum_likelihood"]) / _known(limit["sample"])


def _known(value: float | None) -> float:
    assert value is not None  # every method asked for here has a limit
    return value


def constant_loss(results: Results) -> Claim:
    """The constants are traces of the asymptotic covariances."""
    simulation, limit = results.simulation, constants(results.found.channel, results.found.shares)
    n = simulation.sizes[-1]
    checked = [loss for loss in simulation.losses if loss.checked]
    worst = max(abs(loss.z) for loss in checked if loss.z is not None)
    names = ("maximum_likelihood", "one_step", "centred")
    reached = {name: simulation.loss(name, n) for name in names}
    near = abs(reached["one_step"].mean / reached["maximum_likelihood"].mean - 1) < 0.1
    ordered = near and reached["maximum_likelihood"].mean < reached["centred"].mean
    holds = ordered and not any(loss.flagged for loss in checked)
    shown = "; ".join(
        f"{name.replace('_', ' ')} {loss.mean:.3f} ± {loss.error:.3f} ({_known(limit[name]):.3f})" for name, loss in reached.items()
    )  # fmt: skip
    return Claim(
        "n·loss is constant",
        "n·loss converges to a constant; one step ≈ maximum likelihood < moments.",
        f"At n = {n:,}, in brackets the limit: {shown}. Largest |z| of the {len(checked)} comparisons with a constant: {worst:.1f}.",
        ("Reproduced" if holds else "Not reproduced") + ("." if n >= ASYMPTOTIC else f" as far as n = {n:,} shows."),
        holds,
        {"largest_z": worst, "comparisons": len(checked)},
    )


def em_equals_likelihood(results: Results) -> Claim:
    """EM converges to the maximum, slowly; stopped early it is another estimate."""
    simulation = results.simulation
    apart = {
        name: max(row[name] for row in simulation.furthest.values())
        for name in simulation.furthest[simulation.sizes[0]]
    }
    stopped = {limit: apart[f"em_{limit}"] for limit in EARLY}
    most = max(iterations[1] for iterations in simulation.em_iterations.values())
    n = simulation.sizes[-1]
    losses = {limit: simulation.loss(f"em_{limit}", n).mean for limit in EARLY}
    same = apart["em"] < 1e-6
    solver = f"; CVXPY {apart['cvxpy']:.0e}" if "cvxpy" in apart else "; CVXPY is not installed"
    return Claim(
        "EM is maximum likelihood",
        "EM, CVXPY and maximum likelihood are ways to the same estimate.",
        f"Largest difference in a share over all replicates: EM run to its certificate {apart['em']:.0e} (up to {most:,} "
        f"iterations){solver}; EM stopped after "
        + ", ".join(f"{limit} {difference:.2g}" for limit, difference in stopped.items())
        + f". n·loss at n = {n:,}: {', '.join(f'{loss:.2f} after {limit}' for limit, loss in losses.items())}, "
        f"{simulation.loss('em', n).mean:.2f} at the certificate.",
        "Holds at the certificate; EM stopped early is another estimate, pulled towards its start." if same else "Does not hold.",
        same,
        {"largest_difference": apart, "most_iterations": most, "loss": {str(limit): loss for limit, loss in losses.items()}},
    )  # fmt: skip


def twice_the_sample(results: Results) -> Claim:
    """n·loss is constant, so a fourfold loss takes a fourfold sample."""
    loss = {p: (_known(limit["maximum_likelihood"]), _known(limit["sample"])) for p, limit in
            ((p, constants(*uniform_design(p))) for p in MANY)}  # fmt: skip
    private, sample = loss[5]
    at_twice, at_four = private / 2 / sample, private / 4 / sample
    holds = abs(at_twice - 1) < 0.05
    return Claim(
        "doubling the sample",
        "A fourfold squared loss calls for doubling the sample.",
        f"Equal shares, p = 5, loss {private / sample:.0f} times the sample's: with twice the people still {at_twice:.1f} times, "
        f"with four times the people {at_four:.1f}. (A fourfold squared loss is a doubled standard error.)",
        "Holds." if holds else "Does not hold: four times the sample, not double.",
        holds,
        {"ratio": private / sample, "at_twice": at_twice, "at_four_times": at_four},
    )


def short_form(results: Results) -> Claim:
    """Q⁻¹γ sums to E|A| / (1 − q + pq), which is constant only where all sets are of one size."""
    apart = {p: _forms_apart(p) for p in MANY}
    spread = _sum_spread(5) / math.sqrt(1000)
    equal = [p for p, difference in apart.items() if difference < 1e-9]
    return Claim(
        "inverse = short form",
        "The short form (γ − q)/(1 − q) equals Q⁻¹γ, because the shares sum to 1.",
        f"Largest difference in one report's scores at p = {TRIED}: {listed(apart, 3)}. At p = 5 and n = "
        f"1,000 the sum of Q⁻¹γ has standard deviation {spread:.4f}.",
        "Holds." if len(equal) == len(MANY) else f"True only at p = {', '.join(map(str, equal))}, where every set has two members.",
        len(equal) == len(MANY),
        {"largest_difference": {str(p): v for p, v in apart.items()}, "sum_standard_deviation": spread},
    )  # fmt: skip


def _forms_apart(p: int) -> float:
    """Largest difference between the two forms, over all reports and categories."""
    channel, _ = uniform_design(p)
    worst = 0.0
    for key in channel.keys().tolist():
        one = rt.PatternTally.from_counts(channel, {int(key): 1})
        inverse, affine = (rt.moments(one, form=form).unconstrained for form in ("inverse", "affine"))
        assert inverse is not None and affine is not None
        worst = max(worst, float(np.abs(inverse - affine).max()))
    return worst


def _sum_spread(p: int) -> float:
    """Standard deviation of the sum of one report's inverse scores; the same whatever the answer."""
    channel, _ = uniform_design(p)
    sums = []
    for key in channel.keys().tolist():
        scores = rt.moments(rt.PatternTally.from_counts(channel, {int(key): 1}), form="inverse").unconstrained
        assert scores is not None
        sums.append(scores.sum())
    law = channel.matrix()[:, 0]
    return float(np.sqrt(law @ np.square(sums) - (law @ sums) ** 2))
