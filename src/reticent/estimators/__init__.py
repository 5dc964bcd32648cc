"""Estimators: a tally, read through its channel, becomes shares with their uncertainty."""

from reticent.estimators.maximum_likelihood import maximum_likelihood
from reticent.estimators.moments import moments
from reticent.estimators.one_step import one_step

__all__ = ["maximum_likelihood", "moments", "one_step"]
