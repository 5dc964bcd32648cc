"""reticent: ask sensitive questions, share sensitive tables, keep nobody's answer.

A mechanism is a channel P(z | x); a report is one draw from it; a tally is counts of reports; an estimate is a tally
read through its channel, with its uncertainty; leakage is a number computed from a prior and a channel.
"""

from reticent import errors
from reticent.channel import Channel, Composition, Subset, Table, channel_from_json, then
from reticent.design import Design
from reticent.domain import Categorical
from reticent.engines import load, save
from reticent.estimators import maximum_likelihood, moments, one_step
from reticent.intervals import ConfidenceInterval
from reticent.measures import (
    Leakage,
    ldp_delta,
    ldp_epsilon,
    leakage,
    log_lift,
    maximal_leakage,
    min_entropy_leakage,
    mutual_information,
    prediction_leakage,
    size_leakage,
)
from reticent.mechanisms import (
    binary_dummy,
    fixed_size,
    full_response,
    no_response,
    randomized_response,
    ternary_dummy,
    uniform_subset,
)
from reticent.precision import asymptotic_covariance
from reticent.reports import Reports
from reticent.results import Scalar, Shares
from reticent.tallies import GroupedTally, PatternTally, tally, tally_by

__version__ = "0.1.0"

__all__ = [
    "Categorical",
    "Channel",
    "Composition",
    "ConfidenceInterval",
    "Design",
    "GroupedTally",
    "Leakage",
    "PatternTally",
    "Reports",
    "Scalar",
    "Shares",
    "Subset",
    "Table",
    "asymptotic_covariance",
    "binary_dummy",
    "channel_from_json",
    "errors",
    "fixed_size",
    "full_response",
    "ldp_delta",
    "ldp_epsilon",
    "leakage",
    "load",
    "log_lift",
    "maximal_leakage",
    "maximum_likelihood",
    "min_entropy_leakage",
    "moments",
    "mutual_information",
    "no_response",
    "one_step",
    "prediction_leakage",
    "randomized_response",
    "save",
    "size_leakage",
    "tally",
    "tally_by",
    "ternary_dummy",
    "then",
    "uniform_subset",
]
