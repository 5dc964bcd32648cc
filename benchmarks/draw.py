"""Drawing and tallying subset reports, in nanoseconds per report: `python -m benchmarks.draw [--full]`.

Uniform design. Three things in one run, best of three rounds taken in turn:

* reticent: exact subsets from AES-256 words, exact counts;
* plain NumPy: `rng.random((n, p)) < .5` with redraw, complement, `packbits`, `np.unique` (PCG64, not secure);
* the memory limit: copying the answers and the reports (draw), or the reports (tally), once.

Nothing here uses more than one thread.
"""

import sys
from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.bulk import count_keys, subset_masks
from reticent.choose import Words

Array = NDArray[Any]
ROUNDS = 3
SHAPES = {5: 1_000_000, 16: 500_000, 128: 100_000, 1024: 10_000}
"""Reports drawn for each number of categories; ten times as many with --full."""


def plain_draw(codes: Array, n_categories: int, rng: np.random.Generator) -> Array:
    """The uniform design as one would write it in NumPy: whole rows of bits, one pass per step."""
    lanes = np.arange(codes.size)
    bits = rng.random((codes.size, n_categories)) < 0.5
    while True:
        size = bits[lanes].sum(axis=1)
        lanes = lanes[(size < 2) | (size > n_categories - 2)]
        if not lanes.size:
            break
        bits[lanes] = rng.random((lanes.size, n_categories)) < 0.5
    bits ^= ~bits[np.arange(codes.size), codes][:, None]
    packed = np.packbits(bits, axis=1, bitorder="little")
    return packed[:, 0] if n_categories <= 8 else packed


def plain_tally(keys: Array) -> tuple[Array, Array]:
    if keys.ndim == 2 and keys.shape[1] == 2:
        keys = keys.view(np.uint16)[:, 0]
    return np.unique(keys, return_counts=True, axis=0)


def best_in_turn(tasks: dict[str, Callable[[], object]], n: int) -> dict[str, float]:
    """Least time of each task in nanoseconds per report; they alternate so that noise meets all."""
    least = dict.fromkeys(tasks, float("inf"))
    for _ in range(ROUNDS):
        for name, task in tasks.items():
            start = perf_counter()
            task()
            least[name] = min(least[name], (perf_counter() - start) / n * 1e9)
    return least


def measure(n_categories: int, n: int) -> dict[str, dict[str, float]]:
    rng, words = np.random.default_rng(1), Words(seed=1)
    codes = rng.integers(0, n_categories, n)
    keys = subset_masks(codes, n_categories, words, "uniform")
    plain_keys = plain_draw(codes, n_categories, rng)
    draw = {
        "reticent": lambda: subset_masks(codes, n_categories, words, "uniform"),
        "plain": lambda: plain_draw(codes, n_categories, rng),
        "memory": lambda: (codes.copy(), keys.copy()),
    }
    count = {
        "reticent": lambda: count_keys(keys),
        "plain": lambda: plain_tally(plain_keys),
        "memory": lambda: keys.copy(),
    }
    return {"draw": best_in_turn(draw, n), "tally": best_in_turn(count, n)}


def main() -> None:
    scale = 10 if "--full" in sys.argv[1:] else 1
    print("uniform design, ns per report   reticent    plain  faster   memory  above it")
    for n_categories, n in SHAPES.items():
        for step, ns in measure(n_categories, n * scale).items():
            ours, plain, memory = ns["reticent"], ns["plain"], ns["memory"]
            print(
                f"{n_categories:5} categories  n={n * scale:<9} {step:5}"
                f" {ours:8.2f} {plain:8.1f} {plain / ours:6.1f}x {memory:8.2f} {ours / memory:8.1f}x"
            )


if __name__ == "__main__":
    main()
