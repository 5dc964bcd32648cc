"""A design: for each private column, the channel that its answers go through. Written before anybody is asked."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from reticent.channel import Channel, channel_from_json
from reticent.errors import ChannelError, FileFormatError, ParameterError
from reticent.reports import Reports

Missing = Literal["refuse", "skip"]


@dataclass(frozen=True)
class Design:
    """Column → channel, and what to do with missing answers: "refuse" them, or "skip" and count them.

    Raises ParameterError for a design without columns or an unknown rule for missing answers.

    >>> import reticent as rt
    >>> design = Design({"smoker": rt.randomized_response(rt.Categorical("smoker", ["yes", "no"]), epsilon=1)})
    >>> Design.from_json(design.to_json()) == design
    True
    """

    columns: Mapping[str, Channel]
    missing: Missing = "refuse"

    def __post_init__(self) -> None:
        if not self.columns:
            raise ParameterError("A design needs at least one column with its channel.")
        if self.missing not in ("refuse", "skip"):
            raise ParameterError(f'missing is {self.missing!r}; allowed: "refuse", "skip".', missing=self.missing)

    def draw_many(self, table: Mapping[str, Iterable[Any]], *, seed: int | str | None = None) -> dict[str, Reports]:
        """The reports of every column of the design, from a mapping or data frame of answers.

        Coins come from the operating system; `seed` is for simulation only (each column gets coins of its own).
        """
        return {
            name: channel.draw_many(table[name], seed=column_seed(seed, name), missing=self.missing)
            for name, channel in self.columns.items()
        }

    def to_json(self) -> dict[str, Any]:
        """The design as JSON: a product of channels, one key per column."""
        columns = {name: channel.to_json() for name, channel in self.columns.items()}
        return {"kind": "product", "missing": self.missing, "columns": columns}

    @classmethod
    def from_json(cls, document: Any) -> Design:
        """The design that `to_json` wrote. Raises FileFormatError when it is not one."""
        if not isinstance(document, dict) or document.get("kind") != "product" or not document.get("columns"):
            raise FileFormatError(
                'This is not a design: a design is a JSON object with "kind": "product" and "columns".'
            )
        try:
            columns = {name: channel_from_json(channel) for name, channel in document["columns"].items()}
            return cls(columns, document.get("missing", "refuse"))
        except (ChannelError, ParameterError, AttributeError) as fault:
            raise FileFormatError(f"The design is damaged: {fault}") from fault

    def save(self, path: str | Path) -> None:
        """Write the design as a JSON file."""
        Path(path).write_text(json.dumps(self.to_json(), ensure_ascii=False, indent=1) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> Design:
        """Read a design file. Raises FileFormatError when it is not one."""
        try:
            document = json.loads(Path(path).read_text(encoding="utf-8"))
        except ValueError as fault:
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
