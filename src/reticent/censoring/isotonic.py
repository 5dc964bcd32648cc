"""Isotonic regression, and the maximum likelihood law when each report tells the side of one threshold.

Source: Ayer, Brunk, Ewing, Reid and Silverman, An empirical distribution function for sampling with incomplete
information (1955); section 3.1 of our specification of interval privacy.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import isotonic_regression

from reticent.rows import Floats


def isotonic(values: Floats, weights: Floats | None = None) -> Floats:
    """The non-decreasing sequence nearest to `values` in weighted least squares, by pooling adjacent violators.

    `weights` are positive; linear time. Shape of `values`, which is not empty.

    >>> isotonic(np.array([1.0, 3.0, 2.0]), np.array([1.0, 1.0, 3.0])).tolist()
    [1.0, 2.25, 2.25]
    """
    return np.asarray(isotonic_regression(values, weights=weights).x, dtype=np.float64)


def side_law(below: Floats, weights: Floats | None = None) -> Floats:
    """F at the thresholds, in increasing order, from the share of each one's reports that said "below".

    It maximises Σ weight [below log F + (1 − below) log(1 − F)] over non-decreasing F: the isotonic regression of the
    shares. Reports of one threshold may stand apart, those below first; pooling then makes their F equal.

    >>> side_law(np.array([0.0, 1, 0, 0, 1, 0, 1, 1])).round(4).tolist()
    [0.0, 0.3333, 0.3333, 0.3333, 0.5, 0.5, 1.0, 1.0]
    """
    return isotonic(below, weights)
