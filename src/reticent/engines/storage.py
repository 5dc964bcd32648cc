"""How files are written and doubted: whole or not at all, and damage told in one line."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from reticent.errors import ChannelError, FileFormatError, ReportError, TallyError


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A new file beside `path` that takes its place when the block ends well, and vanishes when it does not."""
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        yield part
        with part.open("rb+") as written:
            os.fsync(written.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def damage(path: str | Path) -> Iterator[None]:
    """What a damaged description or column raises, as one line that names the file."""
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError, ChannelError, ReportError, TallyError) as fault:
        reason = f": {fault}" if isinstance(fault, (ChannelError, ReportError, TallyError)) else "."
        raise FileFormatError(f"{path} is damaged or was changed by hand{reason}") from None


def dump(document: Mapping[str, Any]) -> bytes:
    """A description as it is stored in a file."""
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()
