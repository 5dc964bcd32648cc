"""Mechanisms: a domain and privacy parameters become a channel."""

from reticent.mechanisms.dummies import binary_dummy, ternary_dummy
from reticent.mechanisms.explicit import explicit_subsets
from reticent.mechanisms.follow_ups import progressive, with_refusal
from reticent.mechanisms.optimal import optimal_sizes
from reticent.mechanisms.pairing import pair
from reticent.mechanisms.partitions import extended
from reticent.mechanisms.ranges import case_one, case_two, random_ranges, ring
from reticent.mechanisms.responses import full_response, no_response, randomized_response
from reticent.mechanisms.selections import lazy, selective
from reticent.mechanisms.subsets import fixed_size, random_nonresponse, size_weighted, uniform_subset
from reticent.mechanisms.transformations import transformed

__all__ = [
    "binary_dummy", "case_one", "case_two", "explicit_subsets", "extended", "fixed_size", "full_response", "lazy", "no_response", "optimal_sizes", "pair", "progressive", "random_nonresponse", "random_ranges", "randomized_response", "ring", "selective", "size_weighted", "ternary_dummy", "transformed", "uniform_subset", "with_refusal",
]  # fmt: skip
