"""How files are written and doubted: whole or not at all, never over an input, and damage told in one line."""

from __future__ import annotations

import errno
import json
import os
import re
import secrets
import stat
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from reticent.errors import FileFormatError, ReticentError

STALE = 24 * 60 * 60
"""Seconds after which the part of a file that was never finished is taken for abandoned."""


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A new file beside `path` that takes its place when the block ends well, and vanishes when it does not.

    A link is followed: the file it leads to is replaced. Parts that a killed run left behind are removed after a day.
    Raises FileFormatError, which names `path`, when it cannot be written or is no regular file.
    """
    check_output(path)
    target = Path(os.path.realpath(path))
    _remove_stale(target)
    part = target.with_name(f".{cut(target.name, 200)}.{secrets.token_hex(4)}.part")
    try:
        part.touch()
        yield part
        with part.open("rb+") as written:
            os.fsync(written.fileno())
        part.replace(target)
    except OSError as fault:
        if fault.errno not in _UNWRITABLE and part.name not in str(fault):
            raise
        raise _unwritable(path, fault) from None
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


_UNWRITABLE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO}


_STREAMS = {0: "an input itself", 1: "standard output", 2: "standard error"}


def check_output(path: str | Path, inputs: Iterable[str | Path] = ()) -> None:
    """Raises FileFormatError when `path` is no place for a file: a folder, a device, a pipe, or one of the `inputs`.

    Links, symbolic and hard, are followed: the same file under another name is the same file. What the process has as
    standard input, output or error is no place either.
    """
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return
    except OSError as fault:
        raise _unwritable(path, fault) from None
    if stat.S_ISDIR(found.st_mode):
        raise FileFormatError(f"{path} is a folder; name a file in it.")
    if not stat.S_ISREG(found.st_mode):
        raise FileFormatError(f"{path} is not a regular file but a device or a pipe; name a file.")
    for given in (*inputs, *_STREAMS):
        with suppress(OSError):  # an input that is not there is not the output
            if os.path.samestat(found, os.stat(given)):
                what = _STREAMS[given] if isinstance(given, int) else "an input itself"
                raise FileFormatError(f"{path} is {what}; name another file.")


def _unwritable(path: str | Path, fault: OSError) -> FileFormatError:
    reason = os.strerror(fault.errno) if fault.errno else "the system refused it"
    return FileFormatError(f"{path} cannot be written: {reason}. Name another file, or make room.")


def _remove_stale(target: Path) -> None:
    """Removes the parts of this file that nobody has touched for a day."""
    name = re.compile(re.escape(f".{cut(target.name, 200)}.") + "[0-9a-f]{8}" + re.escape(".part"))
    with suppress(OSError), os.scandir(target.parent) as entries:
        for entry in entries:
            if name.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                if entry.stat(follow_symlinks=False).st_mtime < time.time() - STALE:
                    with suppress(OSError):
                        os.unlink(entry.path)


def cut(name: str, most: int) -> str:
    """The beginning of a name of a file, at most so many bytes in UTF-8: file systems take 255."""
    return name.encode("utf-8", "surrogateescape")[:most].decode("utf-8", "ignore")


def parse_json(text: str | bytes) -> Any:
    """The value of a JSON text. Raises ValueError when it is none: also for NaN and Infinity, and for endless nesting."""
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


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
