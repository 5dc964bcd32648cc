"""Leakage: a channel and a prior become a number."""

from reticent.measures.differential_privacy import ldp_delta, ldp_epsilon
from reticent.measures.information import mutual_information
from reticent.measures.lift import log_lift
from reticent.measures.maximal import maximal_leakage
from reticent.measures.measure import Measure
from reticent.measures.overview import CategoryLeakage, Leakage, ReportLeakage, leakage
from reticent.measures.pinned import marginal, pinned_chances
from reticent.measures.prediction import min_entropy_leakage, prediction_leakage
from reticent.measures.size import size_leakage

__all__ = [
    "CategoryLeakage", "Leakage", "Measure", "ReportLeakage", "ldp_delta", "ldp_epsilon", "leakage", "log_lift",
    "marginal", "maximal_leakage", "min_entropy_leakage", "mutual_information", "pinned_chances", "prediction_leakage",
    "size_leakage",
]  # fmt: skip
