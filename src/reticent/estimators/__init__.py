"""Estimators: a tally, read through its channel, becomes shares with their uncertainty."""

from reticent.estimators.distributions import distribution
from reticent.estimators.interval_censoring import npmle, npmle_on_edges
from reticent.estimators.maximum_likelihood import maximum_likelihood
from reticent.estimators.moments import moments
from reticent.estimators.one_step import one_step
from reticent.estimators.refusals import nonresponse

__all__ = ["distribution", "maximum_likelihood", "moments", "nonresponse", "npmle", "npmle_on_edges", "one_step"]
