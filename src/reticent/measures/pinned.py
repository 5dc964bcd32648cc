"""What a report on several questions says about one of them: how often it settles it, and its channel to the report."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from reticent.channel import Channel, Table
from reticent.domain import ProductDomain
from reticent.errors import ChannelError, ParameterError
from reticent.keys import integers_from_keys
from reticent.measures.enumeration import require_listable
from reticent.measures.prior import as_prior


def pinned_chances(channel: Channel) -> dict[str, Fraction]:
    """For each question of a joint channel, the largest chance over answers that one report leaves a single value of it.

    For two questions with the same answers, in whatever order, "whether they agree" is listed too. Exact fractions.

    Source: section 5.1 of our specification.
    Raises ChannelError for a channel on a single question, or with too many reports to go through.

    >>> from reticent.channel import Subset
    >>> from reticent.domain import Categorical
    >>> yes_no = [Categorical(name, ["yes", "no"]) for name in ("smokes", "drinks")]
    >>> {name: str(chance) for name, chance in pinned_chances(Subset(ProductDomain(yes_no))).items()}
    {'smokes': '1/3', 'drinks': '1/3', 'whether smokes and drinks agree': '1/3'}
    """
    domain = _product_domain(channel)
    require_listable(channel, "The chance of revealing one question")
    names = [part.name for part in domain.parts]
    values = dict(zip(names, np.indices(domain.shape).reshape(len(names), -1), strict=True))
    if len(names) == 2 and {*domain.parts[0].categories} == {*domain.parts[1].categories}:
        answers = (np.array(part.categories)[values[part.name]] for part in domain.parts)
        values[f"whether {' and '.join(names)} agree"] = np.equal(*answers).astype(np.intp)
    chances = {name: [Fraction(0)] * len(domain) for name in values}
    for key in integers_from_keys(channel.keys()):
        row = channel.exact_row(key)
        held = np.flatnonzero([bool(chance) for chance in row])
        for name, value in values.items():
            if len({*value[held].tolist()}) == 1:
                chances[name] = [total + chance for total, chance in zip(chances[name], row, strict=True)]
    return {name: max(each) for name, each in chances.items()}


def marginal(channel: Channel, prior: Any, question: str) -> Table:
    """The channel from one question to the joint report: P(z | x₁) = Σ_y P(y | x₁) P(z | x₁, y).

    Leakage on one question must be measured through it: where questions are related, the report on one narrows the
    other, I(X₁; A₁, A₂) ≥ I(X₁; A₁). `prior` is the joint law of all questions, in the order of the joint domain.

    Source: section 6 of our specification.
    Raises ParameterError for a question that the channel does not have or a prior that is not a distribution,
    ChannelError when there are too many reports to go through.

    >>> from reticent.channel import Product
    >>> from reticent.domain import Categorical
    >>> from reticent.mechanisms import randomized_response
    >>> both = Product([randomized_response(Categorical(name, ["yes", "no"]), 1) for name in ("smokes", "drinks")])
    >>> marginal(both, [0.4, 0.1, 0.1, 0.4], "smokes").n_reports
    4
    """
    domain = _product_domain(channel)
    names = [part.name for part in domain.parts]
    if question not in names:
        raise ParameterError(f'There is no question "{question}"; there are {", ".join(names)}.', question=question)
    require_listable(channel, "The leakage on one question")
    axis = names.index(question)
    joint = np.moveaxis(as_prior(domain, prior).probabilities.reshape(domain.shape), axis, 0)
    joint = joint.reshape(len(domain.parts[axis]), -1)
    shares = joint.sum(axis=1, keepdims=True)
    given = np.where(shares > 0, joint / np.where(shares > 0, shares, 1), 1 / joint.shape[1])
    keys = channel.keys()
    rows = np.moveaxis(channel.likelihood(keys).reshape(len(keys), *domain.shape), axis + 1, 1)
    matrix = np.einsum("zxy,xy->zx", rows.reshape(len(keys), *joint.shape), given)
    possible = matrix.any(axis=1)
    labels = [channel.describe(key) for key, kept in zip(integers_from_keys(keys), possible, strict=True) if kept]
    return Table.from_matrix(domain.parts[axis], matrix[possible], labels)


def _product_domain(channel: Channel) -> ProductDomain:
    if not isinstance(channel.domain, ProductDomain):
        raise ChannelError(f'"{channel.domain.name}" is a single question; this is about several asked together.')
    return channel.domain
