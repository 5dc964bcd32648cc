"""Channels: P(report | answer)."""

from reticent.channel.channel import Channel
from reticent.channel.composition import Composition, channel_from_json, then
from reticent.channel.subset import Subset
from reticent.channel.table import Table

__all__ = ["Channel", "Composition", "Subset", "Table", "channel_from_json", "then"]
