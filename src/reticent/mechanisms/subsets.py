"""Subset designs: the answer becomes a random set of categories that holds it (Wang and Ding, arXiv 2107.02013)."""

from __future__ import annotations

from reticent.channel import Subset
from reticent.domain import Categorical
from reticent.errors import DomainError, ParameterError


def uniform_subset(domain: Categorical) -> Subset:
    """Report a uniformly drawn set of categories, or its complement, whichever holds the answer.

    P(a | x) = 1{x in a} / (2^(p−1) − p − 1), p = n_categories, over the sets with 2 ≤ |a| ≤ p − 2.

    Source: Wang and Ding, Subset Privacy, independent mechanism, uniform design (section 3.1 of our specification).
    Raises DomainError below 4 categories: a set or its complement would then be a single category.

    >>> channel = uniform_subset(Categorical("race", ["White", "Black", "Asian", "Native", "Other"]))
    >>> channel.n_reports, channel.stray, channel.independent
    (20, Fraction(2, 5), True)
    """
    if len(domain) < 4:
        remedy = "binary_dummy or randomized_response" if len(domain) == 2 else "fixed_size(domain, 2) or ternary_dummy"
        raise DomainError(
            f'uniform_subset needs at least 4 categories; "{domain.name}" has {len(domain)}. Use {remedy}, or ask it '
            "together with another question.",
            n_categories=len(domain),
        )
    return Subset(domain, title="uniform subset")


def fixed_size(domain: Categorical, size: int) -> Subset:
    """Report the answer among size − 1 other categories drawn at random.

    P(a | x) = 1{x in a} / C(p−1, size−1) over the sets of that size; the device that draws must know the answer,
    unless p = 2 · size.

    Source: Wang and Ding, Subset Privacy, section 3.2 of our specification.
    Raises ParameterError unless 2 ≤ size ≤ n_categories (size 1 is the answer itself: `full_response`).

    >>> fixed_size(Categorical("party", ["left", "centre", "right"]), 2).stray
    Fraction(1, 2)
    """
    if isinstance(size, bool) or not isinstance(size, int) or not 2 <= size <= len(domain):
        raise ParameterError(
            f"fixed_size got size {size!r}; allowed are whole numbers from 2 to {len(domain)}, the number of categories "
            f'of "{domain.name}". For the answer itself use full_response.',
            size=size,
        )
    return Subset(domain, ((size, 1),), title=f"subset of {size}")
