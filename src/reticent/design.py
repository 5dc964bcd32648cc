"""A design: for each private column, the channel that its answers go through. Written before anybody is asked."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reticent.channel import Channel, Product, Subset, Table, channel_from_json
from reticent.domain import MISSING_RULES, MissingRule
from reticent.errors import AnswerError, ChannelError, DomainError, FileFormatError, ParameterError
from reticent.reports import Reports


@dataclass(frozen=True)
class Design:
    """Column → channel, the public columns beside them, and what to do with missing answers.

    `missing`: "refuse" them, "skip" and count them, or "symbol": they report as the category "no answer". `public` names
    columns that are passed on as they are. A channel over several questions (a pair) reads one column for each.

    Raises ParameterError for a design without columns, a column whose channel is for another question, a column that
    would be asked twice (a second report narrows the first), or one that is private and public at once.

    >>> import reticent as rt
    >>> design = Design({"smoker": rt.randomized_response(rt.Categorical("smoker", ["yes", "no"]), epsilon=1)})
    >>> Design.from_json(design.to_json()) == design
    True
    """

    columns: Mapping[str, Channel]
    missing: MissingRule = "refuse"
    public: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.columns, Mapping) or not self.columns:
            raise ParameterError("A design needs at least one column with its channel.")
        for name, channel in self.columns.items():
            _check_column(name, channel)
        if self.missing not in MISSING_RULES:
            raise ParameterError(
                f'missing is {self.missing!r}; allowed: "refuse", "skip", "symbol".', missing=self.missing
            )
        if (
            isinstance(self.public, str)
            or not isinstance(self.public, Iterable)
            or not all(isinstance(name, str) for name in self.public)
        ):
            raise ParameterError("public is a list of names of columns.")
        object.__setattr__(self, "public", tuple(self.public))
        asked = Counter([*self.sources, *self.public])
        twice = [name for name, times in asked.items() if times > 1]
        if twice:
            raise ParameterError(
                f"The design names {', '.join(twice)} twice. A column is asked once, alone or in a pair (a second report "
                "narrows the first), or it is public.",
                columns=twice,
            )
        if self.missing == "symbol":
            for channel in self.columns.values():
                channel.domain.require_no_answer()

    @property
    def sources(self) -> tuple[str, ...]:
        """The columns of a table that are privatised."""
        return tuple(part.name for channel in self.columns.values() for part in channel.domain.parts)

    @property
    def disclosed(self) -> tuple[str, ...]:
        """Columns that anybody can read: the public ones, and those that go through a full response."""
        return (*self.public, *(name for name, channel in self.columns.items() if _discloses(channel)))

    @property
    def epsilon(self) -> float:
        """Epsilon of one respondent's row over the private columns, in nats: their sum. Disclosed columns have none."""
        return sum(channel.epsilon for channel in self.columns.values() if not _discloses(channel))

    def joint(self, *names: str) -> Channel:
        """The channel of several columns together. Raises ParameterError for a name that is not in the design."""
        absent = [name for name in names if name not in self.columns]
        if absent or not names:
            raise ParameterError(
                f"The design has the columns {', '.join(self.columns)}, not {', '.join(absent) or 'none'}.",
                columns=absent,
            )
        channels = [self.columns[name] for name in names]
        return channels[0] if len(channels) == 1 else Product(channels)

    def draw_many(self, table: Mapping[str, Iterable[Any]], *, seed: int | str | None = None) -> dict[str, Reports]:
        """The reports of every private column of the design, from a mapping or data frame of answers.

        Coins come from the operating system; `seed` is for simulation only (each column gets coins of its own).
        Raises AnswerError when the table lacks a column or an answer is outside its domain.
        """
        reports = {}
        for name, channel in self.columns.items():
            parts = [part.name for part in channel.domain.parts]
            absent = [part for part in parts if part not in table]
            if absent:
                raise AnswerError(f"The table lacks {', '.join(absent)} of the design.", columns=absent)
            answers = table[parts[0]] if len(parts) == 1 else {part: table[part] for part in parts}
            reports[name] = channel.draw_many(answers, seed=column_seed(seed, name), missing=self.missing)
        return reports

    def to_json(self) -> dict[str, Any]:
        """The design as JSON: a product of channels, one key per column."""
        columns = {name: channel.to_json() for name, channel in self.columns.items()}
        return {"kind": "product", "missing": self.missing, "public": list(self.public), "columns": columns}

    @classmethod
    def from_json(cls, document: Any) -> Design:
        """The design that `to_json` wrote. Raises FileFormatError when it is not one."""
        if not isinstance(document, dict) or document.get("kind") != "product" or not document.get("columns"):
            raise FileFormatError(
                'This is not a design: a design is a JSON object with "kind": "product" and "columns".'
            )
        try:
            columns = {name: channel_from_json(channel) for name, channel in document["columns"].items()}
            return cls(columns, document.get("missing", "refuse"), document.get("public", ()))
        except (ChannelError, DomainError, ParameterError, AttributeError, TypeError, ArithmeticError) as fault:
            raise FileFormatError(f"The design is damaged: {fault}") from fault

    def save(self, path: str | Path) -> None:
        """Write the design as a JSON file."""
        Path(path).write_text(json.dumps(self.to_json(), ensure_ascii=False, indent=1) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> Design:
        """Read a design file. Raises FileFormatError when it is not one."""
        try:
            document = json.loads(Path(path).read_text(encoding="utf-8"))
        except (ValueError, RecursionError) as fault:
            raise FileFormatError(
                f"{path} is not a design: it is not JSON. Make one with `reticent design`."
            ) from fault
        try:
            return cls.from_json(document)
        except FileFormatError as fault:
            raise FileFormatError(f"{path}: {fault}") from fault


def column_seed(seed: int | str | None, name: str) -> str | None:
    """The seed of one column, so that two columns of a simulation never share their coins."""
    return None if seed is None else f"{seed}/{name}"


def _check_column(name: str, channel: object) -> None:
    if not isinstance(channel, Channel) or isinstance(channel, Product):
        raise ParameterError(
            f'The design gives column "{name}" a {type(channel).__name__}; each column needs a channel of its own, such as '
            "rt.uniform_subset(domain).",
            column=name,
        )
    if channel.domain.name != name:
        raise ParameterError(
            f'The channel of column "{name}" is for the question "{channel.domain.name}"; give both one name.',
            column=name,
        )


def _discloses(channel: Channel) -> bool:
    if isinstance(channel, Table):
        return channel.keep == 2**64
    return isinstance(channel, Subset) and channel.kept == 1 and {*channel.size_weights} == {1}
