"""Masses of sets such that the sets holding each category have masses that sum to 1: condition (2.1) of section 2.

With S the incidence matrix (one row of zeros and ones per set) and μ the masses, the condition is Sᵀμ = 1, μ ≥ 0. Sets are
tuples of positions, p is the number of categories. Solvers in floats say which masses are zero; the masses themselves are
solved for in fractions, so that the condition holds exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr
from scipy.optimize import linprog

Floats = NDArray[np.float64]
Members = tuple[int, ...]
_ZERO = 1e-9
_PROOF = 1e-6
_SOLVED = 1e-12
_MOST_STEPS = 500


def incidence(sets: Sequence[Members], p: int) -> Floats:
    """S, shape `(n_sets, p)`."""
    held = np.zeros((len(sets), p))
    for row, members in zip(held, sets, strict=True):
        row[list(members)] = 1
    return held


def coverage(sets: Sequence[Members], masses: Sequence[Fraction], p: int) -> list[Fraction]:
    """Sᵀμ: for each category the mass of the sets that hold it."""
    sums = [Fraction(0)] * p
    for members, mass in zip(sets, masses, strict=True):
        for j in members:
            sums[j] += mass
    return sums


def rank_of(sets: Sequence[Members], p: int) -> int:
    """How many categories' shares the sets can tell apart: the rank of S."""
    return int(np.linalg.matrix_rank(incidence(sets, p)))


def obstruction(sets: Sequence[Members], p: int) -> Floats | None:
    """Why no masses are balanced, or None if some are.

    A vector y, shape `(p,)`, with Σ_{j∈a} y_j ≤ 0 for every set and Σ_j y_j > 0 (Farkas). Whatever the masses, if the
    categories with y > 0 are covered once, one with y < 0 is covered more than once.
    """
    held = incidence(sets, p)
    found = _certificate(held, 0.0)
    if found.sum() <= _PROOF:
        return None
    fewest = _certificate(held, 1 / (4 * p))
    return fewest if fewest.sum() > _PROOF else found


def _certificate(held: Floats, penalty: float) -> Floats:
    """The y in [−1, 1]^p with Sy ≤ 0 that maximises Σ y − penalty · Σ |y|; the penalty keeps idle categories out of it."""
    p = held.shape[1]
    cost = np.concatenate([np.full(p, penalty - 1), np.full(p, penalty + 1)])
    found = linprog(cost, A_ub=np.hstack([held, -held]), b_ub=np.zeros(len(held)), bounds=(0, 1)).x
    y = found[:p] - found[p:]
    return np.where(np.abs(y) > _ZERO, y, 0.0)


def nearest(sets: Sequence[Members], target: Sequence[Fraction], p: int) -> list[Fraction] | None:
    """The balanced masses that minimise Σ (μ_a − target_a)²; None if the fractions cannot be settled.

    Floats tell which masses are positive; on those, fractions. A mass that comes out negative there is really 0.
    """
    masses = _least_distance(incidence(sets, p), np.array([float(mass) for mass in target]))
    support = np.flatnonzero(masses > _ZERO).tolist()
    while support:
        found = _nearest_on(sets, target, support, p)
        if found is None:
            return None
        if min(found) >= 0:
            exact = [Fraction(0)] * len(sets)
            for i, mass in zip(support, found, strict=True):
                exact[i] = mass
            return exact
        support = [i for i, mass in zip(support, found, strict=True) if mass >= 0]
    return None


def _least_distance(held: Floats, target: Floats) -> Floats:
    # The dual has one multiplier λ_j per category and no constraints: minimise ½ ‖max(0, target + Sλ)‖² − Σ_j λ_j. It is
    # convex, made of quadratic pieces, and its slope is the coverage in excess of 1.
    def loss(multipliers: Floats) -> float:
        return float(0.5 * (np.maximum(target + held @ multipliers, 0.0) ** 2).sum() - multipliers.sum())

    multipliers = np.zeros(held.shape[1])
    for _ in range(_MOST_STEPS):
        masses = np.maximum(target + held @ multipliers, 0.0)
        slope = held.T @ masses - 1
        if np.abs(slope).max() < _SOLVED:
            break
        positive = held[masses > 0]
        damping = 1e-9 + 1e-3 * np.linalg.norm(slope)
        step = np.linalg.solve(positive.T @ positive + damping * np.eye(len(slope)), -slope)
        length, now = 1.0, loss(multipliers)
        while length > _SOLVED and loss(multipliers + length * step) > now + 1e-4 * length * float(slope @ step):
            length /= 2
        multipliers += length * step
    return np.maximum(target + held @ multipliers, 0.0)


def _nearest_on(
    sets: Sequence[Members], target: Sequence[Fraction], support: Sequence[int], p: int
) -> list[Fraction] | None:
    """The balanced masses on `support` nearest to the target, of either sign: μ = target + Sλ, SᵀSλ = 1 − Sᵀtarget."""
    chosen, wanted = [sets[i] for i in support], [target[i] for i in support]
    held = incidence(chosen, p)
    gram = [[Fraction(int(entry)) for entry in row] for row in held.T @ held]
    multipliers = solve(gram, [1 - covered for covered in coverage(chosen, wanted, p)])
    if multipliers is None:
        return None
    return [
        mass + sum((multipliers[j] for j in members), Fraction(0)) for members, mass in zip(chosen, wanted, strict=True)
    ]


def corrected(sets: Sequence[Members], masses: Sequence[Fraction], p: int) -> list[Fraction] | None:
    """Masses that are balanced up to rounding, made so exactly by changing as few as possible of them, and large ones.

    Those of as many independent sets as the rank are solved for. None if this would make one negative.
    """
    held = incidence(sets, p)
    *_, order = qr(held.T * [float(mass) for mass in masses], mode="economic", pivoting=True)
    basis = order[: rank_of(sets, p)].tolist()
    fixed = [Fraction(0) if i in basis else mass for i, mass in enumerate(masses)]
    rows = [[Fraction(int(held[i, j])) for i in basis] for j in range(p)]
    found = solve(rows, [1 - covered for covered in coverage(sets, fixed, p)])
    if found is None or min(found) < 0:
        return None
    for i, mass in zip(basis, found, strict=True):
        fixed[i] = mass
    return fixed


def solve(rows: Sequence[Sequence[Fraction]], right: Sequence[Fraction]) -> list[Fraction] | None:
    """One solution of a linear system, by elimination in fractions; None if there is none.

    >>> solve([[Fraction(1), Fraction(1)], [Fraction(2), Fraction(2)]], [Fraction(3), Fraction(6)])
    [Fraction(3, 1), Fraction(0, 1)]
    """
    table = [[*row, value] for row, value in zip(rows, right, strict=True)]
    n = len(rows[0])
    pivots: list[int] = []
    for column in range(n):
        top = len(pivots)
        found = next((i for i in range(top, len(table)) if table[i][column]), None)
        if found is None:
            continue
        table[top], table[found] = table[found], table[top]
        lead = table[top][column]
        table[top] = [entry / lead for entry in table[top]]
        for i, row in enumerate(table):
            if i != top and row[column]:
                table[i] = [entry - row[column] * pivot for entry, pivot in zip(row, table[top], strict=True)]
        pivots.append(column)
    if any(row[n] for row in table[len(pivots) :]):
        return None
    solution = [Fraction(0)] * n
    for row, column in zip(table, pivots, strict=False):
        solution[column] = row[n]
    return solution
