"""What reports leave possible together, over several questions, designs and ways to cut a variable into categories.

A variable is what a person has one value of. Questions that ask for it in other categories (country, region) are
declared as its recodings, and then count as answers to the same variable.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from reticent.channel import Channel
from reticent.errors import ParameterError
from reticent.repetitions import possible_cells

Labels = tuple[str, ...]
Question = tuple[str, Labels]
_SHOWN = 5


@dataclass(frozen=True)
class Recoding:
    """A question that asks for a variable in other categories: category of the variable → category of the question.

    Where neither of two questions follows from the other (age in fives, age in tens from 15), declare both as recodings
    of a finer variable. Every category of the question must be reached, as a person whose answer is reached by none could
    not be told from a liar; a ledger or register refuses the recoding otherwise. Raises ParameterError unless
    `categories` is a mapping of text to text that is not empty.

    >>> Recoding("country", {"France": "Europe", "Spain": "Europe", "Kenya": "Africa"}).categories["Spain"]
    'Europe'
    """

    variable: str
    categories: Mapping[str, str]

    def __post_init__(self) -> None:
        if not isinstance(self.categories, Mapping) or not self.categories:
            raise ParameterError("A recoding needs a mapping: category of the variable → category of the question.")
        texts = (self.variable, *self.categories, *self.categories.values())
        if not all(isinstance(text, str) and text for text in texts):
            raise ParameterError("The variable of a recoding and all its categories are texts that are not empty.")


Recodings = Mapping[str, Recoding]


@dataclass(frozen=True)
class Entry:
    """One report: the digest of its channel, the questions asked with their categories, and the cells that fit it.

    A cell is one label for each question. `epsilon`, in nats, is that of the channel.
    """

    design: str
    report: int
    questions: Labels
    categories: tuple[Labels, ...]
    left: tuple[Labels, ...]
    epsilon: float

    @property
    def asked(self) -> list[Question]:
        """The questions with their categories."""
        return list(zip(self.questions, self.categories, strict=True))


def entry_of(channel: Channel, report: int) -> Entry:
    """The entry of a report. Raises ReportError for a report that the channel cannot send."""
    left = tuple(possible_cells(channel, report))
    parts = channel.domain.parts
    names, lists = tuple(part.name for part in parts), tuple(part.categories for part in parts)
    return Entry(channel.digest, int(report), names, lists, left, channel.epsilon)


def variables(questions: Iterable[str], recodings: Recodings) -> Labels:
    """The variables behind some questions, each once."""
    return tuple(dict.fromkeys(recodings[name].variable if name in recodings else name for name in questions))


def categories_of(questions: Iterable[Question], recodings: Recodings) -> dict[str, Labels]:
    """Variable → its categories, for some questions with theirs.

    Raises ParameterError when two questions on a variable do not have the same categories, or when a recoding does not
    lead to exactly the categories of its question.
    """
    known: dict[str, Labels] = {}
    for name, categories in questions:
        recoding = recodings.get(name)
        variable, own = (name, categories) if recoding is None else (recoding.variable, tuple(recoding.categories))
        strangers = sorted({*recoding.categories.values()} - {*categories}) if recoding else []
        if strangers:
            raise ParameterError(
                f'The recoding of "{name}" leads to {", ".join(strangers[:_SHOWN])}, not among its categories.',
                labels=strangers,
            )
        unreached = [label for label in categories if label not in recoding.categories.values()] if recoding else []
        if unreached:
            raise ParameterError(
                f'No category of "{variable}" leads to {", ".join(unreached[:_SHOWN])} of "{name}"; extend the recoding.',
                labels=unreached,
            )
        if {*known.setdefault(variable, own)} != {*own}:
            raise ParameterError(
                f'"{variable}" is asked in two lists of categories. Declare with a Recoding how one follows from the other.',
                variable=variable,
            )
    return known


def candidates_left(entries: Sequence[Entry], variable: str, recodings: Recodings) -> Labels | None:
    """What all entries leave of a variable, also through joint reports; None when none of them is about it.

    Entries that share a variable are joined on it, so that "smokes or drinks, not both" and "drinks" give "does not
    smoke".
    """
    known = categories_of((question for entry in entries for question in entry.asked), recodings)
    if variable not in known:
        return None
    names: Labels = ()
    cells: list[Labels] = [()]
    rest = [(entry, variables(entry.questions, recodings)) for entry in entries]
    while (at := next((i for i, (_, own) in enumerate(rest) if {*own} & {*names, variable}), None)) is not None:
        entry, own = rest.pop(at)
        names, cells = _joined(names, cells, own, _in_variables(entry, own, recodings))
    column = names.index(variable)
    left = {cell[column] for cell in cells}
    return tuple(label for label in known[variable] if label in left)


def _in_variables(entry: Entry, own: Labels, recodings: Recodings) -> list[Labels]:
    """The cells of an entry in the categories of its variables."""
    if not recodings.keys() & {*entry.questions}:
        return list(entry.left)
    back = [_backwards(name, recodings) for name in entry.questions]
    cells = []
    for cell in entry.left:
        options = ([label] if table is None else table.get(label, []) for table, label in zip(back, cell, strict=True))
        for labels in product(*options):
            values: dict[str, str] = {}
            for name, label in zip(entry.questions, labels, strict=True):
                (variable,) = variables([name], recodings)
                if values.setdefault(variable, label) != label:  # two questions on one variable that disagree
                    break
            else:
                cells.append(tuple(values[variable] for variable in own))
    return cells


def _backwards(question: str, recodings: Recodings) -> dict[str, list[str]] | None:
    if question not in recodings:
        return None
    table: dict[str, list[str]] = {}
    for label, coarse in recodings[question].categories.items():
        table.setdefault(coarse, []).append(label)
    return table


def _joined(names: Labels, cells: list[Labels], own: Labels, left: list[Labels]) -> tuple[Labels, list[Labels]]:
    """The cells over all names that fit both sides: a natural join."""
    shared = [name for name in own if name in names]
    fresh = [i for i, name in enumerate(own) if name not in names]
    fitting: dict[Labels, list[Labels]] = {}
    for cell in left:
        agreed = tuple(cell[own.index(name)] for name in shared)
        fitting.setdefault(agreed, []).append(tuple(cell[i] for i in fresh))
    at = [names.index(name) for name in shared]
    together = [cell + more for cell in cells for more in fitting.get(tuple(cell[i] for i in at), [])]
    return names + tuple(own[i] for i in fresh), together
