"""Maximum likelihood from a tally: reticent against plain EM and, if installed, CVXPY with Clarabel.

    python -m benchmarks.mle           peers capped at 5 s each
    python -m benchmarks.mle --full    peers capped at 60 s each

Each respondent reports a random set of the p categories, or its complement, whichever holds the answer. The
tally is made beforehand; reticent's time includes its look-up tables and its moment start. `x` is a peer's
time divided by reticent's, a lower bound (>) where the peer had not reached gap 1e-6 when it stopped. Every
method's gap is the certificate max_j lambda_j - 1 of the shares it returned. One thread.
"""

import argparse
import importlib.util
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from reticent.likelihood import fit, simplex_projection
from reticent.rows import MaskRows

Floats = NDArray[np.float64]
TARGET = 1e-6


def subsets(p: int, n: int, seed: int) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """A tally of the uniform subset design: masks and counts."""
    rng = np.random.default_rng([seed, p, n])
    answers = rng.choice(p, size=n, p=rng.dirichlet(np.ones(p))).astype(np.uint64)
    questions = rng.integers(0, 2**p, size=n, dtype=np.uint64)
    sizes = np.bitwise_count(questions)
    while (refused := (sizes < 2) | (sizes > p - 2)).any():
        questions[refused] = rng.integers(0, 2**p, size=int(refused.sum()), dtype=np.uint64)
        sizes = np.bitwise_count(questions)
    inside = questions >> answers & np.uint64(1)
    masks, counts = np.unique(np.where(inside, questions, questions ^ np.uint64(2**p - 1)), return_counts=True)
    return masks, counts


def gap(rows: MaskRows, f: Floats, w: Floats) -> float:
    return float(rows.rmv(f / rows.mv(w)).max()) - 1.0


def by_reticent(masks: NDArray[np.uint64], counts: NDArray[np.int64], p: int, cap: float) -> Floats:
    rows = MaskRows(masks, p)
    stray = (2 ** (p - 2) - p + 1) / (2 ** (p - 1) - p - 1)
    held = rows.rmv(counts / counts.sum())
    return fit(rows, counts, simplex_projection((held - held.mean()) / (1 - stray) + 1 / p)).probabilities


def by_em(masks: NDArray[np.uint64], counts: NDArray[np.int64], p: int, cap: float) -> Floats:
    rows, f, w = MaskRows(masks, p), counts / counts.sum(), np.full(p, 1 / p)
    end = time.perf_counter() + cap
    while time.perf_counter() < end:
        multipliers = rows.rmv(f / rows.mv(w))
        if multipliers.max() - 1.0 <= TARGET:
            break
        w = w * multipliers
    return w


def by_cvxpy(masks: NDArray[np.uint64], counts: NDArray[np.int64], p: int, cap: float) -> Floats:
    import cvxpy

    w = cvxpy.Variable(p, nonneg=True)
    f = counts / counts.sum()
    likelihood = f @ cvxpy.log(MaskRows(masks, p).dense() @ w)
    problem = cvxpy.Problem(cvxpy.Maximize(likelihood), [cvxpy.sum(w) == 1])
    problem.solve(solver="CLARABEL", time_limit=cap)
    if w.value is None:
        raise RuntimeError("stopped without shares")
    shares = np.maximum(w.value, 1e-12)
    return np.asarray(shares / shares.sum())


def timed(method: Callable[..., Floats], *problem: object) -> tuple[float, Floats]:
    start = time.perf_counter()
    shares = method(*problem)
    return time.perf_counter() - start, shares


def main() -> None:
    parser = argparse.ArgumentParser(description="Maximum likelihood from a tally of subsets, against its peers.")
    parser.add_argument("--full", action="store_true", help="give peers 60 s each rather than 5 s")
    cap = 60.0 if parser.parse_args().full else 5.0
    peers: dict[str, Callable[..., Floats]] = {"plain EM": by_em}
    if importlib.util.find_spec("cvxpy"):
        peers["CVXPY"] = by_cvxpy
    print(f"{'p':>3} {'n':>7} {'rows':>7}  {'reticent':>9} {'gap':>8}", end="")
    print("".join(f"  {name:>9} {'x':>7} {'gap':>8}" for name in peers))
    for p in (5, 20, 50):
        for n in (1_000, 10_000, 100_000):
            masks, counts = subsets(p, n, seed=1)
            rows, f = MaskRows(masks, p), counts / counts.sum()
            runs = [timed(by_reticent, masks, counts, p, cap) for _ in range(5)]
            ours, shares = min(runs, key=lambda run: run[0])
            line = f"{p:3} {n:7} {len(masks):7}  {1e3 * ours:6.1f} ms {gap(rows, f, shares):8.0e}"
            for method in peers.values():
                try:
                    theirs, shares = timed(method, masks, counts, p, cap)
                except Exception as problem:  # a peer that fails is a result, not the end of the table
                    line += f"  {type(problem).__name__:>26}"
                    continue
                reached = gap(rows, f, shares)
                ratio = f"{'' if reached <= TARGET else '>'}{theirs / ours:.1f}"
                line += f"  {theirs:7.2f} s {ratio:>7} {reached:8.0e}"
            print(line, flush=True)


if __name__ == "__main__":
    main()
