"""Tallies: reports counted. Integers (or sums of weights) that add, in any order and any partition of the reports."""

from reticent.tallies.addition import MOST_REPORTS, Tally
from reticent.tallies.counting import count_support, default_kind, tally, tally_by, tally_columns
from reticent.tallies.grouped import GroupedTally
from reticent.tallies.overlap import chance_of_equality, same_reports, supported
from reticent.tallies.pattern import PatternTally
from reticent.tallies.stacked import Patterns, check_tallies, require_patterns, stack, weighted, weights_of
from reticent.tallies.support import (
    SupportCounts,
    SupportTally,
    complete_sets,
    counts_support,
    parts_of,
    sets_within,
)
from reticent.tallies.weighted import WeightedTally, sum_by_key

__all__ = [
    "MOST_REPORTS",
    "GroupedTally",
    "PatternTally",
    "Patterns",
    "SupportCounts",
    "SupportTally",
    "Tally",
    "WeightedTally",
    "chance_of_equality",
    "check_tallies",
    "complete_sets",
    "count_support",
    "counts_support",
    "default_kind",
    "parts_of",
    "require_patterns",
    "same_reports",
    "sets_within",
    "stack",
    "sum_by_key",
    "supported",
    "tally",
    "tally_by",
    "tally_columns",
    "weighted",
    "weights_of",
]
