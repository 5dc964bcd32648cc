"""Answering once: a device repeats its report and keeps a ledger; the collector accepts one report from each person."""

from reticent.ledger.entries import Entry, Recoding
from reticent.ledger.ledger import Ledger
from reticent.ledger.memo import memoised_draw
from reticent.ledger.register import Outcome, Register

__all__ = ["Entry", "Ledger", "Outcome", "Recoding", "Register", "memoised_draw"]
