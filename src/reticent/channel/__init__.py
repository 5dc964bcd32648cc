"""Channels: P(report | answer)."""

from reticent.channel.channel import Channel, channel_from_json
from reticent.channel.composition import Composition, then
from reticent.channel.product import Product, joint_reports
from reticent.channel.progressive import Choice, Offer, Progressive
from reticent.channel.ranges import Ranges
from reticent.channel.refusable import Refusable
from reticent.channel.subset import Subset
from reticent.channel.table import Table
from reticent.channel.transformed import Transformed

__all__ = [
    "Channel",
    "Choice",
    "Composition",
    "Offer",
    "Product",
    "Progressive",
    "Ranges",
    "Refusable",
    "Subset",
    "Table",
    "Transformed",
    "channel_from_json",
    "joint_reports",
    "then",
]
