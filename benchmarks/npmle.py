"""The law behind intervals: reticent against SurPyval, lifelines and plain isotonic regression, where installed.

    python -m benchmarks.npmle           to 1e5 reports
    python -m benchmarks.npmle --full    to 1e6 reports

Answers from three laws; every respondent tells between which of her random thresholds the answer lies. All methods get
the same two columns of ends and do everything from there, in turn, best of three rounds of processor time, one thread.
`x` is a peer's time divided by reticent's. `short` is how much log-likelihood a peer's law lacks, in nats; reticent's
certificate says that its own lacks less than 1e-6. SurPyval's criterion, a gap of 1e-6 per report, is laxer. lifelines
runs once, on a thousand reports.

With one threshold the peer is what one would write by hand: `argsort` and scikit-learn's `isotonic_regression`.
"""

import argparse
import importlib.util
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from reticent.censoring.likelihood import IntervalFit, fit_intervals

Floats = NDArray[np.float64]
Peer = Callable[[Floats, Floats], object]
ROUNDS = 3
LIFELINES_MOST = 1_000
SEVERAL = (("exponential, 3 uniform", 3), ("two normals, 2 normal", 2), ("log-normal, 2 exponential", 2))


def answers(law: str, n: int, thresholds: int, seed: int = 1) -> tuple[Floats, Floats]:
    """The interval (low, high] of every respondent."""
    rng = np.random.default_rng([seed, n, thresholds])
    if law.startswith("exponential"):
        y, u = rng.exponential(1, n), 4 * rng.random((n, thresholds))
    elif law.startswith("two normals"):
        y, u = rng.normal(np.where(rng.random(n) < 0.4, -1, 1.5), 0.8), rng.normal(0, 2, (n, thresholds))
    else:
        y, u = rng.lognormal(0, 1, n), rng.exponential(2, (n, thresholds))
    ends = np.column_stack([np.full(n, -np.inf), np.sort(u, axis=1), np.full(n, np.inf)])
    at = (y[:, None] > ends).sum(axis=1) - 1
    return ends[np.arange(n), at], ends[np.arange(n), at + 1]


def by_surpyval(low: Floats, high: Floats) -> Callable[[Floats], Floats]:
    from surpyval import Turnbull

    model = Turnbull.fit(xl=low, xr=high, turnbull_estimator="Kaplan-Meier", tol=1e-6)
    x, law = np.asarray(model.x), 1.0 - np.asarray(model.R)
    return lambda t: np.append(0.0, law)[np.searchsorted(x, t, side="right")]


def by_lifelines(low: Floats, high: Floats) -> object:
    from lifelines import KaplanMeierFitter

    return KaplanMeierFitter().fit_interval_censoring(np.where(np.isneginf(low), 0.0, low), high)  # it knows no -inf


def by_hand(low: Floats, high: Floats) -> Floats:
    from sklearn.isotonic import isotonic_regression

    below = np.isneginf(low)
    u = np.where(below, high, low)
    return np.asarray(isotonic_regression(below[np.argsort(u)].astype(np.float64)))


def in_turn(tasks: dict[str, Callable[[], object]], rounds: int = ROUNDS) -> dict[str, tuple[float, object]]:
    """The least time of each task and what it returned; they alternate so that noise meets all."""
    best: dict[str, tuple[float, object]] = {}
    for _ in range(rounds):
        for name, task in tasks.items():
            start = time.process_time()
            result = task()
            took = time.process_time() - start
            if name not in best or took < best[name][0]:
                best[name] = took, result
    return best


def shortfall(ours: IntervalFit, low: Floats, high: Floats, law: object) -> float:
    """How much log-likelihood a peer's distribution function lacks."""
    assert callable(law)
    at_high = np.where(np.isposinf(high), 1.0, law(high))
    at_low = np.where(np.isneginf(low), 0.0, law(low))
    with np.errstate(divide="ignore", invalid="ignore"):
        return ours.log_likelihood - float(np.log(at_high - at_low).sum())


def memory(n: int) -> int:
    """The most memory, in MB, that a process of its own took which made n reports and fitted them."""
    code = f"from benchmarks import npmle; npmle.fit_intervals(*npmle.answers(npmle.SEVERAL[1][0], {n}, 2))"
    code += "; import resource; print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)"
    return int(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout)


def tasks_for(low: Floats, high: Floats, peers: dict[str, Peer]) -> dict[str, Callable[[], object]]:
    tasks: dict[str, Callable[[], object]] = {"reticent": partial(fit_intervals, low, high)}
    return tasks | {name: partial(peer, low, high) for name, peer in peers.items()}


def several_thresholds(sizes: list[int], peers: dict[str, Peer]) -> None:
    print(f"{'law, thresholds':<26} {'n':>8}  {'reticent':>11} {'gap':>8} {'cells':>6}", end="")
    print("".join(f"  {name:>13} {'x':>8} {'short':>8}" for name in peers))
    for law, thresholds in SEVERAL:
        for n in sizes:
            low, high = answers(law, n, thresholds)
            best = in_turn(tasks_for(low, high, peers))
            took, ours = best.pop("reticent")
            assert isinstance(ours, IntervalFit)
            line = f"{law:<26} {n:8}  {1e3 * took:8.1f} ms {ours.gap:8.0e} {len(ours.mass):6}"
            for theirs, result in best.values():
                lacks = shortfall(ours, low, high, result)
                line += f"  {1e3 * theirs:10.1f} ms {theirs / took:7.1f}x {lacks:8.0e}"
            print(line, flush=True)


def slow_peer() -> None:
    low, high = answers(SEVERAL[0][0], LIFELINES_MOST, SEVERAL[0][1])
    took = in_turn(tasks_for(low, high, {}))["reticent"][0]
    theirs = in_turn({"lifelines": partial(by_lifelines, low, high)}, rounds=1)["lifelines"][0]
    print(f"lifelines, {SEVERAL[0][0]}, n = {LIFELINES_MOST}: {theirs:.1f} s, {theirs / took:.0f}x")


def one_threshold(sizes: list[int], peers: dict[str, Peer]) -> None:
    print(
        f"\n{'one threshold':<26} {'n':>8}  {'reticent':>11} {'gap':>8}" + "".join(f"  {p:>13} {'x':>8}" for p in peers)
    )
    for n in sizes:
        best = in_turn(tasks_for(*answers("log-normal", n, 1), peers))
        took, ours = best.pop("reticent")
        assert isinstance(ours, IntervalFit)
        line = f"{'log-normal, 1 exponential':<26} {n:8}  {1e3 * took:8.1f} ms {ours.gap:8.0e}"
        print(line + "".join(f"  {1e3 * t:10.1f} ms {t / took:7.1f}x" for t, _ in best.values()), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="The law behind intervals, against its peers.")
    parser.add_argument("--full", action="store_true", help="up to a million reports")
    sizes = [10**k for k in range(3, 7 if parser.parse_args().full else 6)]
    absent = [name for name in ("surpyval", "lifelines", "sklearn") if not importlib.util.find_spec(name)]
    if absent:
        print(
            f"Not installed and left out: {', '.join(absent)}. To compare: pip install surpyval lifelines scikit-learn\n"
        )
    warnings.simplefilter("ignore")  # the peers' own
    peers: dict[str, Peer] = {} if "surpyval" in absent else {"SurPyval": by_surpyval}
    several_thresholds(sizes, peers)
    if "lifelines" not in absent:
        slow_peer()
    one_threshold(sizes, peers | ({} if "sklearn" in absent else {"by hand": by_hand}))
    print(f"\nmost memory, {sizes[-1]} reports made and fitted: {memory(sizes[-1])} MB")


if __name__ == "__main__":
    main()
