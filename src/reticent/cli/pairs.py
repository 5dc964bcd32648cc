"""Questions that were asked together: one channel, found by its own name or by the names of its questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reticent.channel import Channel


def spelled(name: str, channels: Mapping[str, Channel]) -> str:
    """The name as the channels have it: `smokes x drinks` is `smokes × drinks`."""
    crossed = name.replace(" x ", " × ")
    return crossed if name not in channels and crossed in channels else name


def joined(names: Sequence[str], channels: Mapping[str, Channel]) -> tuple[str, ...]:
    """The names, those of questions that were asked together replaced by the one name of their channel."""
    left = [spelled(name, channels) for name in names]
    for column, channel in channels.items():
        parts = _parts(channel)
        if len(parts) > 1 and {*parts} <= {*left}:
            left.insert(min(left.index(part) for part in parts), column)
            left = [name for name in left if name not in parts]
    return tuple(left)


def asked_with(name: str, channels: Mapping[str, Channel]) -> tuple[str, str, tuple[str, ...]] | None:
    """For a question that was asked together with others: a sentence that says so, the channel's name, its questions."""
    for column, channel in channels.items():
        parts = _parts(channel)
        if len(parts) > 1 and name in parts and name not in channels:
            others = " and ".join(f'"{part}"' for part in parts if part != name)
            return f'"{name}" was asked together with {others}, as "{column}".', column, parts
    return None


def _parts(channel: Channel) -> tuple[str, ...]:
    return tuple(part.name for part in channel.domain.parts)
