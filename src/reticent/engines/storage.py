"""How files are written and doubted: whole or not at all, and damage told in one line."""

from __future__ import annotations

import errno
import json
import os
import secrets
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from reticent.errors import FileFormatError, ReticentError


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A new file beside `path` that takes its place when the block ends well, and vanishes when it does not.

    Raises FileFormatError, which names `path`, when it cannot be written.
    """
    if path.is_dir():
        raise FileFormatError(f"{path} is a folder; name a file in it.")
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        part.touch()
        yield part
        with part.open("rb+") as written:
            os.fsync(written.fileno())
        part.replace(path)
    except OSError as fault:
        if fault.errno not in _UNWRITABLE and part.name not in str(fault):
            raise
        reason = os.strerror(fault.errno) if fault.errno else "the system refused it"
        raise FileFormatError(f"{path} cannot be written: {reason}. Name another file, or make room.") from None
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


_UNWRITABLE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO}


@contextmanager
def damage(path: str | Path) -> Iterator[None]:
    """What a damaged description or column raises, as one line that names the file."""
    try:
        yield
    except FileFormatError:
        raise
    except ReticentError as fault:
        raise FileFormatError(f"{path} is damaged or was changed by hand: {' '.join(str(fault).split())}") from None
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError):
        raise FileFormatError(f"{path} is damaged or was changed by hand.") from None


def check_version(document: Mapping[str, Any], known: Collection[int], path: str | Path) -> int:
    """The version of a file's format. Raises FileFormatError when this release does not know it."""
    version = document["version"]
    if isinstance(version, bool) or not isinstance(version, int) or version < min(known):
        raise ValueError
    if version not in known:
        raise FileFormatError(
            f"{path} is of version {version}, newer than this release, which reads {sorted(known)}; update reticent."
        )
    return version


def dump(document: Mapping[str, Any]) -> bytes:
    """A description as it is stored in a file."""
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()
