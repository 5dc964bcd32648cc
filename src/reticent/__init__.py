"""reticent: ask sensitive questions, share sensitive tables, keep nobody's answer.

A mechanism is a channel P(z | x); a report is one draw from it; a tally is counts of reports; an estimate is a tally
read through its channel, with its uncertainty; leakage is a number computed from a prior and a channel.
"""

from reticent import anchors, coverage, errors, mechanisms, thresholds
from reticent.channel import (
    Channel,
    Composition,
    Offer,
    Product,
    Progressive,
    Ranges,
    Refusable,
    Subset,
    Table,
    Transformed,
    channel_from_json,
    joint_reports,
    then,
)
from reticent.coverage import coverage_by_cell, coverage_by_report, mean_coverage
from reticent.design import Design
from reticent.distributions import Distribution, Moment, Nonresponse, ReportCoverage, TalliedDistribution
from reticent.domain import Categorical, Numbers, ProductDomain
from reticent.engines import load, save
from reticent.estimators import distribution, maximum_likelihood, moments, nonresponse, npmle, npmle_on_edges, one_step
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
from reticent.mechanisms.selections import coin_given_silence, ignorable_rho, lowest_rate
from reticent.planning import NumberPlan, NumberRow, Plan, PlanRow, Simulation, plan, simulate
from reticent.precision import asymptotic_covariance
from reticent.repeated_ranges import JointCoverage, joint_coverage
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
    "Distribution",
    "GroupedTally",
    "JointCoverage",
    "Leakage",
    "Ledger",
    "Moment",
    "Nonresponse",
    "NumberPlan",
    "NumberRow",
    "Numbers",
    "PatternTally",
    "Offer",
    "Plan",
    "PlanRow",
    "Product",
    "ProductDomain",
    "Progressive",
    "Ranges",
    "Recoding",
    "Refusable",
    "Register",
    "Repetition",
    "ReportCoverage",
    "Reports",
    "Scalar",
    "Shares",
    "Simulation",
    "Subset",
    "SupportTally",
    "Table",
    "TalliedDistribution",
    "Transformed",
    "WeightedTally",
    "anchors",
    "asymptotic_covariance",
    "candidates",
    "channel_from_json",
    "coin_given_silence",
    "complete",
    "coverage",
    "coverage_by_cell",
    "coverage_by_report",
    "distribution",
    "errors",
    "ignorable_rho",
    "joint_coverage",
    "joint_reports",
    "ldp_delta",
    "ldp_epsilon",
    "leakage",
    "load",
    "log_lift",
    "lowest_rate",
    "marginal",
    "maximal_leakage",
    "maximum_likelihood",
    "mean_coverage",
    "memoised_draw",
    "min_entropy_leakage",
    "moments",
    "mutual_information",
    "nonresponse",
    "npmle",
    "npmle_on_edges",
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
    "thresholds",
]
# A new mechanism is exported by its own package and needs no line here.
__all__ += mechanisms.__all__
__all__.sort()
