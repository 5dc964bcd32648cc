"""Statistics of thresholds: what answers to "is your value at most u?" say about the values.

Everything takes arrays: thresholds, 0/1 answers δ = 1{y ≤ u}, and how many people gave each.
"""

from reticent.thresholds.agreement import (
    CoverageEstimate,
    agreement_coverage,
    cross_fit_coverage,
    plug_in_coverage,
)
from reticent.thresholds.anchor_density import ThresholdLaw
from reticent.thresholds.band import Band, uniform_band
from reticent.thresholds.cdf_intervals import cdf_interval, critical_value, likelihood_ratio
from reticent.thresholds.cross_fit import augmented
from reticent.thresholds.families import FamilyFit, fit_family, sides
from reticent.thresholds.functional import MEAN, SECOND_MOMENT, Functional, FunctionalEstimate
from reticent.thresholds.midpoints import npmle_plug_in
from reticent.thresholds.smoothing import SmoothedLaw, smoothed
from reticent.thresholds.step_cdf import StepCDF, threshold_cdf
from reticent.thresholds.weighting import inverse_density

__all__ = [
    "MEAN", "SECOND_MOMENT", "Band", "CoverageEstimate", "FamilyFit", "Functional", "FunctionalEstimate", "SmoothedLaw",
    "StepCDF", "ThresholdLaw", "agreement_coverage", "augmented", "cdf_interval", "critical_value", "cross_fit_coverage",
    "fit_family", "inverse_density", "likelihood_ratio", "npmle_plug_in", "plug_in_coverage", "sides", "smoothed",
    "threshold_cdf", "uniform_band",
]  # fmt: skip
