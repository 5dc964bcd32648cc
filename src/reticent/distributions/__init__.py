"""Distributions of numbers as results: masses between ends, with their uncertainty and what was given away."""

from reticent.distributions.law import Distribution
from reticent.distributions.moment import Moment
from reticent.distributions.refusals import Nonresponse
from reticent.distributions.report_coverage import ReportCoverage
from reticent.distributions.tallied import TalliedDistribution

__all__ = ["Distribution", "Moment", "Nonresponse", "ReportCoverage", "TalliedDistribution"]
