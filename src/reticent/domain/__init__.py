"""Domains: what an answer can be. Categories come from the questionnaire, never from the answers."""

from __future__ import annotations

from typing import Any

from reticent.domain.categorical import MISSING_RULES, NO_ANSWER, Categorical, MissingRule
from reticent.domain.numbers import Numbers
from reticent.domain.product import ProductDomain
from reticent.errors import DomainError

__all__ = ["MISSING_RULES", "NO_ANSWER", "Categorical", "MissingRule", "Numbers", "ProductDomain", "domain_from_json"]


def domain_from_json(document: dict[str, Any]) -> Categorical:
    """The domain that `to_json` wrote. Raises DomainError for a kind that is not known, and categories that are no texts."""
    kind = document.get("kind")
    if kind == "product":
        return ProductDomain(domain_from_json(part) for part in document["parts"])
    if kind == "numbers":
        return Numbers.from_json(document)
    if kind != "categorical":
        raise DomainError(f'Unknown domain kind {kind!r}; known: "categorical", "numbers", "product".')
    labels = document["categories"]
    if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
        raise DomainError("The categories of a domain are a list of texts.", name=document["name"])
    return Categorical(document["name"], labels)
