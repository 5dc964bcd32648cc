"""reticent: ask sensitive questions, share sensitive tables, keep nobody's answer.

A mechanism is a channel P(z | x); a report is one draw from it; a tally is counts of reports; an estimate is a tally
read through its channel, with its uncertainty; leakage is a number computed from a prior and a channel.
"""

from reticent import errors, mechanisms
from reticent.channel import (
    Channel,
    Composition,
    Product,
    Subset,
    Table,
    channel_from_json,
    joint_reports,
    then,
)
from reticent.design import Design
from reticent.domain import Categorical, ProductDomain
from reticent.engines import load, save
from reticent.estimators import maximum_likelihood, moments, one_step
from reticent.intervals import ConfidenceInterval
from reticent.ledger import Ledger, Recoding, Register, memoised_draw
from reticent.measures import (
    Leakage,
    ldp_delta,
    ldp_epsilon,
    leakage,
    log_lift,
    marginal,
    maximal_leakage,
    min_entropy_leakage,
    mutual_information,
    pinned_chances,
    prediction_leakage,
    size_leakage,
)
from reticent.mechanisms import *
from reticent.mechanisms.explicit import complete
from reticent.planning import Plan, PlanRow, Simulation, plan, simulate
from reticent.precision import asymptotic_covariance
from reticent.repetitions import Repetition, candidates, posterior, repetition
from reticent.reports import Reports
from reticent.results import Scalar, Shares
from reticent.tallies import GroupedTally, PatternTally, SupportTally, WeightedTally, tally, tally_by, tally_columns

__version__ = "0.1.0"

__all__ = [
    "Categorical",
    "Channel",
    "Composition",
    "ConfidenceInterval",
    "Design",
    "GroupedTally",
    "Leakage",
    "Ledger",
    "PatternTally",
    "Plan",
    "PlanRow",
    "Product",
    "ProductDomain",
    "Repetition",
    "Recoding",
    "Register",
    "Reports",
    "Scalar",
    "Shares",
    "Simulation",
    "Subset",
    "SupportTally",
    "Table",
    "WeightedTally",
    "asymptotic_covariance",
    "candidates",
    "channel_from_json",
    "complete",
    "errors",
    "joint_reports",
    "ldp_delta",
    "ldp_epsilon",
    "leakage",
    "load",
    "log_lift",
    "marginal",
    "maximal_leakage",
    "maximum_likelihood",
    "memoised_draw",
    "min_entropy_leakage",
    "moments",
    "mutual_information",
    "one_step",
    "pinned_chances",
    "plan",
    "posterior",
    "prediction_leakage",
    "repetition",
    "save",
    "simulate",
    "size_leakage",
    "tally",
    "tally_by",
    "tally_columns",
    "then",
]
# A new mechanism is exported by its own package and needs no line here.
__all__ += mechanisms.__all__
__all__.sort()
