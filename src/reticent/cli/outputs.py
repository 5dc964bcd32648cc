"""Where the commands write: never over a file they read, nor over one of another kind."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import click

from reticent.engines import ArrowEngine
from reticent.engines.storage import check_output
from reticent.errors import FileFormatError

BEGINNINGS = {"page": (b"<!doctype html",), ".svg picture": (b"<?xml", b"<svg"), ".png picture": (b"\x89PNG",)}
"""What a page and a picture begin with, whatever is written in capitals."""


def check_place(output: str | Path, inputs: Iterable[str | None] = (), kind: str | None = None) -> None:
    """Raises UsageError when a command cannot or must not write there.

    That is: a folder, a device or a pipe; one of the `inputs`, by whatever name; with a `kind` ("tally", or one of
    BEGINNINGS), a file of another kind.
    """
    try:
        check_output(output, [path for path in inputs if path is not None])
    except FileFormatError as fault:
        raise click.UsageError(str(fault)) from fault
    if kind is not None and Path(output).exists() and not _is_of_kind(Path(output), kind):
        raise click.UsageError(f"{output} exists and is no {kind}; name another file, or remove it first.")


def _is_of_kind(path: Path, kind: str) -> bool:
    """Whether a file is of a kind, or empty."""
    if not path.stat().st_size:
        return True
    if kind == "tally":
        try:
            return (ArrowEngine(path).metadata or {}).get("kind") == "tally"
        except FileFormatError:
            return False
    with path.open("rb") as file:
        return file.read(16).lower().startswith(tuple(one.lower() for one in BEGINNINGS[kind]))
