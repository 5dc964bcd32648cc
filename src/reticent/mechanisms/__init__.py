"""Mechanisms: a domain and privacy parameters become a channel."""

from reticent.mechanisms.dummies import binary_dummy, ternary_dummy
from reticent.mechanisms.responses import full_response, no_response, randomized_response
from reticent.mechanisms.subsets import fixed_size, uniform_subset

__all__ = [
    "binary_dummy", "fixed_size", "full_response", "no_response", "randomized_response", "ternary_dummy", "uniform_subset",
]  # fmt: skip
