"""Mechanisms: a domain and privacy parameters become a channel."""

from reticent.mechanisms.dummies import binary_dummy, ternary_dummy
from reticent.mechanisms.explicit import explicit_subsets
from reticent.mechanisms.optimal import optimal_sizes
from reticent.mechanisms.pairing import pair
from reticent.mechanisms.responses import full_response, no_response, randomized_response
from reticent.mechanisms.subsets import fixed_size, random_nonresponse, size_weighted, uniform_subset

__all__ = [
    "binary_dummy", "explicit_subsets", "fixed_size", "full_response", "no_response", "optimal_sizes", "pair",
    "random_nonresponse", "randomized_response", "size_weighted", "ternary_dummy", "uniform_subset",
]  # fmt: skip
