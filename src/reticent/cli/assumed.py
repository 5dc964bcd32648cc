"""Shares that are assumed: equal ones, or those in a JSON file."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.domain import Categorical
from reticent.engines.storage import parse_json
from reticent.errors import FileFormatError
from reticent.measures.prior import TOLERANCE

FORMAT = (
    '"uniform", or a JSON file of shares: {"label": share, …}, [share, …] in the order of the categories, '
    '{"question": either of them, …}, or what `reticent estimate --json` prints.'
)
SHOWN = 5
BEYOND = 1e300


def read_shares(domain: Categorical, given: str | None) -> NDArray[np.float64]:
    """The shares assumed for a question, shape `(n_categories,)`.

    Raises FileFormatError for a file that does not hold them.
    """
    p = len(domain)
    if given in (None, "uniform"):
        return np.full(p, 1 / p)
    assert given is not None
    try:
        document = parse_json(Path(given).read_bytes())
    except ValueError:
        raise FileFormatError(f'{given} is not JSON; write {{"label": share, …}} or [share, …].') from None
    found = _of_question(domain, document, given)
    if isinstance(found, Mapping):
        values = _by_label(domain, found, given)
    elif isinstance(found, list) and found:
        values = found
    else:
        raise FileFormatError(f'{given} has no shares for "{domain.name}".')
    return _checked(domain, values, given)


def _of_question(domain: Categorical, document: Any, path: str) -> Any:
    """The part of a document that is about a question: a list of shares, or a mapping of labels to shares."""
    if isinstance(document, list) and any(isinstance(item, dict) for item in document):  # reticent estimate --json
        about = [one for one in document if isinstance(one, dict) and one.get("question") == domain.name]
        if len(about) > 1:
            raise FileFormatError(f'{path} has shares for "{domain.name}" {len(about)} times; keep those of one group.')
        document = about[0] if about else None
    if not isinstance(document, dict):
        return document
    if isinstance(document.get(domain.name), (dict, list)):
        return document[domain.name]
    rows = document.get("shares")
    if isinstance(rows, list):
        try:
            return {row["category"]: row["share"] for row in rows}
        except (TypeError, KeyError):
            return None
    return None if any(isinstance(value, (dict, list)) for value in document.values()) else document


def _by_label(domain: Categorical, found: Mapping[str, Any], path: str) -> list[Any]:
    unknown = [label for label in found if label not in domain.categories]
    missing = [label for label in domain.categories if label not in found]
    if unknown or missing:
        told = [f"{what}: {_listed(labels)}" for what, labels in (("unknown", unknown), ("missing", missing)) if labels]
        raise FileFormatError(
            f'The shares in {path} are not those of "{domain.name}", which need one number for each category; '
            f"{'; '.join(told)}."
        )
    return [found[label] for label in domain.categories]


def _checked(domain: Categorical, values: Sequence[Any], path: str) -> NDArray[np.float64]:
    if len(values) != len(domain):
        raise FileFormatError(
            f'{path} lists {len(values):,} {"share" if len(values) == 1 else "shares"} and "{domain.name}" has '
            f"{len(domain):,} categories; give one for each, in their order: {_listed(domain.categories)}."
        )
    numbers = (isinstance(value, (int, float)) and not isinstance(value, bool) for value in values)
    if not all(numbers) or not all(abs(value) < BEYOND for value in values):  # such numbers have no sum
        raise FileFormatError(f'The shares of "{domain.name}" in {path} must be numbers.')
    total, least = math.fsum(values), min(values)
    if not math.isfinite(total) or least < 0 or abs(total - 1) > TOLERANCE:
        told = f"the smallest is {least:.6g}" if least < 0 else f"they sum to {total:.12g}"
        raise FileFormatError(
            f'The shares of "{domain.name}" in {path} must not be negative and must sum to 1; {told}. Divide counts by '
            "their total."
        )
    return np.array(values, dtype=np.float64) / total


def _listed(labels: Sequence[str]) -> str:
    more = f" and {len(labels) - SHOWN:,} more" if len(labels) > SHOWN else ""
    return ", ".join(labels[:SHOWN]) + more
