"""Pairing: two questions with too few answers to hide among become one with four, six or nine."""

from __future__ import annotations

import warnings

from reticent.channel import Subset
from reticent.domain import Categorical, ProductDomain
from reticent.errors import DomainError
from reticent.measures.pinned import pinned_chances


def pair(first: Categorical, second: Categorical) -> Subset:
    """Two questions of two or three answers asked as one, through the uniform subset design on their cells.

    The cell is never given away, but a report may lie within one row or column of the table and then gives one of the two
    answers away: with two yes/no questions each of them one time in three. `pinned_chances` says how often; a warning
    repeats it. `binary_dummy` and `randomized_response` never reveal an answer.

    Source: Wang and Ding, Subset Privacy (the idea); section 5.1 of our specification (what it reveals).
    Raises DomainError unless both questions have 2 or 3 categories and different names.

    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as told:
    ...     both = pair(Categorical("smokes", ["yes", "no"]), Categorical("drinks", ["yes", "no"]))
    >>> both.n_reports, "one respondent in 3 gives the answer to smokes away" in str(told[0].message)
    (6, True)
    """
    for question in (first, second):
        if len(question) not in (2, 3) or isinstance(question, ProductDomain):
            raise DomainError(
                f'pair is for questions with 2 or 3 categories; "{question.name}" has {len(question)}. Ask it alone, with '
                "uniform_subset.",
                n_categories=len(question),
            )
    channel = Subset(ProductDomain([first, second]), title="pair, uniform subset")
    warnings.warn(pairing_warning(channel), stacklevel=2)
    return channel


def pairing_warning(channel: Subset) -> str:
    """What a respondent to a pair must be told, as sentences."""
    chances = pinned_chances(channel)
    questions = {part.name for part in channel.domain.parts}
    told = [
        f"in {1 / float(chance):.3g} gives " + (f"the answer to {name} away" if name in questions else f"away {name}")
        for name, chance in chances.items()
        if chance
    ]
    return f"{channel.domain.name}: one respondent {', one '.join(told)}. Only the combination of both answers is never given away."
