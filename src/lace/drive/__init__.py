"""Drivers of exchanges: what answers a machine, what joins two of them, and both without a wire."""

from lace.drive.host import Host
from lace.drive.inprocess import Party, interlace_in_process
from lace.drive.side import Item, Side
from lace.drive.snapshots import StoreSnapshots

__all__ = ["Host", "Item", "Party", "Side", "StoreSnapshots", "interlace_in_process"]
