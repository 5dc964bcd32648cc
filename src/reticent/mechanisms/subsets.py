"""Subset designs: the answer becomes a random set of categories that holds it (Wang and Ding, arXiv 2107.02013)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from reticent.channel import Subset
from reticent.domain import Categorical
from reticent.errors import DomainError, ParameterError
from reticent.mechanisms.chances import Chance, all_exact, as_chance

_WORD = 2**64
_TOLERANCE = Fraction(1, 10**12)


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
        remedy = (
            "binary_dummy or randomized_response" if len(domain) == 2 else "ternary_dummy, or fixed_size with size 2"
        )
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
        allowed = f"are whole numbers from 2 to {len(domain)}" if len(domain) > 2 else "is only 2"
        raise ParameterError(
            f'fixed_size got size {size!r}; allowed {allowed}, as "{domain.name}" has {len(domain)} categories. For the '
            "answer itself use full_response.",
            size=size,
        )
    return Subset(domain, ((size, 1),), title=f"subset of {size}")


def size_weighted(domain: Categorical, law: Mapping[int, Chance], allow_singletons: bool = False) -> Subset:
    """Report the answer among other categories, after drawing how many by a law of sizes.

    P(a | x) = 1{x in a} · law[|a|] / C(p−1, |a|−1), p = n_categories. The law maps a size to its probability: a
    fraction, a float, or a text such as "1/2". Drawn without looking at the answer when
    law[k] / k = law[p−k] / (p−k) for every k < p.

    Source: Wang and Ding, Subset Privacy (arXiv 2107.02013), symmetric designs; section 3.2 of our specification
    (π is `law`, k a size). Raises ParameterError for sizes outside 1..p, a probability that is negative or not finite,
    a law that does not sum to 1 (exactly; with floats within 1e-12), or a size 1 without `allow_singletons`.

    >>> letters = Categorical("letter", ["a", "b", "c", "d", "e", "f"])
    >>> channel = size_weighted(letters, {2: "1/2", 4: "3/10", 6: "1/5"})
    >>> channel.n_reports, channel.stray
    (31, Fraction(12, 25))
    """
    if not isinstance(law, Mapping):
        raise ParameterError('The law of sizes maps each size to its probability, as in {2: "1/2", 4: "1/2"}.')
    p = len(domain)
    chances: dict[int, Fraction] = {}
    for size, chance in law.items():
        if isinstance(size, bool) or not isinstance(size, int) or not 1 <= size <= p:
            raise ParameterError(
                f"The law has a size {size!r}; sizes are whole numbers from 1 to {p}, the number of categories of "
                f'"{domain.name}".',
                size=size,
            )
        chances[size] = as_chance(chance, f"The probability of size {size}")
    total = sum(chances.values(), Fraction(0))
    exact = all_exact(law.values())
    if abs(total - 1) > (0 if exact else _TOLERANCE):
        told = f"{total} = {float(total):.12g}" if exact else f"{float(total):.15g}"
        raise ParameterError(
            f'The probabilities of the sizes sum to {told}; they must sum to 1. Write thirds as "1/3".', total=total
        )
    if chances.get(1) and not allow_singletons:
        raise ParameterError(
            f"Size 1 has probability {law[1]!r}: a set of one category is the answer itself. Leave size 1 out, or say "
            "allow_singletons=True.",
            size=1,
        )
    return subset_of_law(domain, chances, "size-weighted subset", allow_singletons)


def random_nonresponse(channel: Subset, rate: Chance) -> Subset:
    """A subset design that asks nothing with chance `rate`: the report is then the full set, whatever the answer.

    P'(|A| = k) = (1 − rate) · P(|A| = k) for k < p, and rate is added to the full set; mutual information
    and size leakage shrink by the factor 1 − rate. A text such as "1/10" is exact, a float is taken as the number it is.

    Source: Wang and Ding, Subset Privacy (arXiv 2107.02013), full set; section 3.2 of our specification.
    Raises ParameterError unless 0 ≤ rate < 1, and for a channel that is no subset design or may miss the answer.

    >>> channel = random_nonresponse(uniform_subset(Categorical("letter", ["a", "b", "c", "d"])), "1/4")
    >>> {size: str(chance) for size, chance in channel.size_law().items()}, channel.independent
    ({2: '3/4', 4: '1/4'}, True)
    """
    if not isinstance(channel, Subset):
        name = getattr(channel, "name", type(channel).__name__)
        raise ParameterError(f"random_nonresponse is for subset designs, such as uniform_subset; it got {name}.")
    if channel.keep < _WORD:
        raise ParameterError(
            f"{channel.name} may leave the answer out, and the full set cannot be mixed in. Use a subset design that "
            "always holds the answer."
        )
    silent = as_chance(rate, "rate")
    if silent >= 1:
        raise ParameterError(
            f"rate is {rate!r}; allowed is 0 <= rate < 1, the chance that nothing is asked. To ask nothing at all use "
            "no_response.",
            rate=rate,
        )
    if not silent:
        return channel
    p = len(channel.domain)
    law = {size: (1 - silent) * chance for size, chance in channel.size_law().items()}
    law[p] = law.get(p, Fraction(0)) + silent
    title = f"{channel.title}, nothing asked with chance {float(silent):.4g}"
    return subset_of_law(channel.domain, law, title, channel.allow_singletons)


def subset_of_law(
    domain: Categorical, law: Mapping[int, Fraction], title: str, allow_singletons: bool = False
) -> Subset:
    """The subset channel with sizes in the proportions of `law`, as the smallest integers; sizes of chance 0 left out."""
    weights = smallest_integers({size: chance for size, chance in sorted(law.items()) if chance})
    return Subset(domain, tuple(weights.items()), title=title, allow_singletons=allow_singletons)


def smallest_integers(law: Mapping[Any, Fraction]) -> dict[Any, int]:
    """The smallest integers in the proportions of positive fractions."""
    common = math.lcm(*(chance.denominator for chance in law.values()))
    weights = {key: int(chance * common) for key, chance in law.items()}
    divisor = math.gcd(*weights.values())
    return {key: weight // divisor for key, weight in weights.items()}
