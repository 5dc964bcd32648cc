"""How the parameters of mechanisms are written in a shell: the form of each value and what it means."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal, get_args, get_origin

# A parameter that is not here is described by its annotation alone.
FORMS = {
    "at_most": ("X", "The bound on the leakage: in --unit for information and maximal, a probability for the others."),
    "design": (None, "How real and dummy categories are mixed."),
    "epsilon": ("X", "In nats, above 0 up to 30."),
    "independent": (None, "Only designs whose question is drawn without looking at the answer."),
    "law": ("K:P,… or FILE.json", "Each size with its probability: 2:1/2,4:1/2, or a file with {\"2\": \"1/2\", …}."),
    "measure": (None, "Which leakage is bounded."),
    "rho": ("P", "The chance that the truth takes part, above 0 up to 1."),
    "sets": ("FILE.json", 'The sets with their masses: [[["a", "b"], "1/3"], …].'),
    "size": ("K", "How many categories a report holds, the answer among them; from 2."),
    "unit": (None, "The unit of --at-most."),
    "allow_singletons": (None, "Allow reports of one category, which are the answer itself."),
}  # fmt: skip
ELSEWHERE = {"pair": "--pair-with COLUMN and --pair-category", "random-nonresponse": "--nonresponse P"}
"""Mechanisms that are options of `reticent design` beside --mechanism, as they take two questions or a channel."""


def choices(hint: Any) -> tuple[str, ...]:
    """The values that an annotation names, or none."""
    return tuple(
        str(choice)
        for kind in (hint, *get_args(hint))
        if get_origin(kind) is Literal
        for choice in get_args(kind)
    )  # fmt: skip


def form(name: str, hint: Any) -> str:
    """How a value is written: its choices, or a word for it."""
    named = FORMS.get(name, (None, ""))[0]
    if named is not None or choices(hint):
        return named or "|".join(choices(hint))
    return {int: "N", float: "X"}.get(hint, "VALUE")


def meaning(name: str) -> str:
    """What a parameter means, in a sentence or nothing."""
    return FORMS.get(name, (None, ""))[1]


def is_of_sets(hint: Any) -> bool:
    """Whether an annotation is a mapping of sets of categories, which only a file can hold."""
    kinds = [kind for kind in (hint, *get_args(hint)) if get_origin(kind) is not None]
    return any(issubclass(get_origin(kind), Mapping) and get_origin(get_args(kind)[0]) is tuple for kind in kinds)


def in_shell(message: str, names: Mapping[str, Any]) -> str:
    """A message of the library in the words of a shell: `fixed_size` is fixed-size, `name=True` is --name.

    `names` are the mechanisms as the shell calls them.
    """
    for name in sorted(names, key=len, reverse=True):
        message = re.sub(rf"\b{name.replace('-', '_')}\b", name, message)
    return re.sub(r"\b(\w+)=True\b", lambda found: f"--{found[1].replace('_', '-')}", message)
