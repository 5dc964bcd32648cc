"""Channels: P(report | answer)."""

from reticent.channel.channel import Channel, channel_from_json
from reticent.channel.composition import Composition, then
from reticent.channel.product import Product, joint_reports
from reticent.channel.ranges import Ranges
from reticent.channel.subset import Subset
from reticent.channel.table import Table

__all__ = [
    "Channel",
    "Composition",
    "Product",
    "Ranges",
    "Subset",
    "Table",
    "channel_from_json",
    "joint_reports",
    "then",
]
