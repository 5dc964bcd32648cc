"""Dummy categories: subset designs for questions with two or three answers (section 5.2 of our specification)."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Literal

from reticent.channel import Channel, Composition, Subset, Table
from reticent.domain import Categorical
from reticent.errors import DomainError, ParameterError

WORD = 2**64
Design = Literal["balanced", "uniform"]


def binary_dummy(domain: Categorical, rho: float = 0.5, design: Design = "balanced") -> Channel:
    """A two-answer question with two dummy categories: the truth takes part with probability rho.

    With probability rho the true category enters the subset design, otherwise a dummy drawn at random. "balanced"
    reports one real and one dummy category, P(real i | x) = rho·1{i=x} + (1−rho)/2; its epsilon is
    ln((1+rho)/(1−rho)). "uniform" reports any two of the four.

    Source: Wang and Ding, Subset Privacy (the idea); section 5.2 of our specification (the scheme).
    Raises DomainError unless there are 2 categories, ParameterError unless 0 < rho ≤ 1.

    >>> round(binary_dummy(Categorical("smoker", ["yes", "no"])).epsilon, 6)
    1.098612
    """
    return _dummies(domain, 2, rho, design, "binary_dummy")


def ternary_dummy(domain: Categorical, rho: float = 0.5, design: Design = "balanced") -> Channel:
    """A three-answer question with dummy categories; see `binary_dummy`.

    "balanced" has three dummies and epsilon ln(1 + 3·rho/(1−rho)); "uniform" has one dummy and reports any two of
    the four, which rules answers out, so that its epsilon is infinite.

    Source: Wang and Ding, Subset Privacy (the idea); section 5.2 of our specification (the scheme).
    Raises DomainError unless there are 3 categories, ParameterError unless 0 < rho ≤ 1.

    >>> round(ternary_dummy(Categorical("party", ["left", "centre", "right"])).epsilon, 6)
    1.386294
    """
    return _dummies(domain, 3, rho, design, "ternary_dummy")


def _dummies(domain: Categorical, p: int, rho: float, design: Design, name: str) -> Channel:
    if len(domain) != p:
        suited = {2: "binary_dummy", 3: "ternary_dummy"}.get(len(domain), "uniform_subset")
        raise DomainError(
            f'{name} is for {p} categories; "{domain.name}" has {len(domain)}. Use {suited}.',
            n_categories=len(domain),
        )
    if isinstance(rho, bool) or not isinstance(rho, (int, float, Fraction)) or not 0 < rho <= 1:
        raise ParameterError(f"rho is {rho!r}; allowed is 0 < rho <= 1, the chance that the truth takes part.", rho=rho)
    if design not in ("balanced", "uniform"):
        raise ParameterError(f'design is {design!r}; allowed: "balanced", "uniform".', design=design)
    keep = math.floor(WORD * Fraction(rho))
    title = f"{'two' if p == 2 else 'three'} answers with dummies, {design}, rho {float(rho):g}"
    return (_balanced if design == "balanced" else _uniform)(domain, keep, title)


def _balanced(domain: Categorical, keep: int, title: str) -> Table:
    # Every allowed set is {real i, dummy k}; which dummy comes with it is a coin that has nothing to do with the answer.
    p = len(domain)
    dummies = _dummy_labels(domain, p)
    pairs = [(i, k) for k in range(p) for i in range(p)]
    weights = tuple(tuple(keep * p * (i == x) + (WORD - keep) for x in range(p)) for i, _ in pairs)
    names = tuple(f"{{{domain.categories[i]}, {dummies[k]}}}" for i, k in pairs)
    return Table(domain, names, None, weights, p * p * WORD, title)


def _uniform(domain: Categorical, keep: int, title: str) -> Composition:
    if keep == WORD:
        raise ParameterError("rho = 1 leaves nothing for the dummies of the uniform design; give rho < 1.")
    p = len(domain)
    n_dummies = 4 - p
    labels = domain.categories + tuple(_dummy_labels(domain, n_dummies))
    real = tuple(tuple(keep * n_dummies * (i == x) for x in range(p)) for i in range(p))
    dummy = tuple((WORD - keep,) * p for _ in range(n_dummies))
    entry = Table(domain, labels, None, real + dummy, WORD * n_dummies)
    return Composition(entry, Subset(Categorical(domain.name, labels)), title)


def _dummy_labels(domain: Categorical, n_dummies: int) -> list[str]:
    prefix = "dummy"
    while any(label.startswith(prefix) for label in domain.categories):
        prefix += "*"
    return [f"{prefix} {k + 1}" for k in range(n_dummies)]
