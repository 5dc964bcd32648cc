"""The product-limit law: the maximum in closed form where every report names one cell, or all cells from one on.

Source: Kaplan and Meier, Nonparametric estimation from incomplete observations (1958); Efron's redistribution to the
right.
"""

from __future__ import annotations

import numpy as np

from reticent.rows import Floats
from reticent.rows.runs import RunRows


def product_limit(rows: RunRows, counts: Floats) -> Floats | None:
    """The most likely masses, shape (n_categories,); None where some row is neither one cell nor a tail.

    With d_j the weight of the reports of cell j alone and Y_j that of all reports not yet known to lie before or to be lost:
    p_j = d_j / Y_j Π_{k<j} (1 − d_k / Y_k).

    >>> rows = RunRows([0, 1, 2], [1, 3, 3], 3)
    >>> product_limit(rows, np.array([1.0, 1.0, 1.0])).round(4).tolist()
    [0.3333, 0.0, 0.6667]
    """
    m = rows.n_categories
    alone = rows.stop - rows.first == 1
    if rows.extra is not None or not (alone | (rows.stop == m)).all():
        return None
    told = np.bincount(rows.first[alone], counts[alone], m)
    lost = np.bincount(rows.first[~alone], counts[~alone], m)
    at_risk = np.cumsum((told + np.append(lost[1:], 0.0))[::-1])[::-1]
    hazard = np.divide(told, at_risk, out=np.zeros(m), where=at_risk > 0)
    survival = np.cumprod(1.0 - hazard)
    masses = np.append(1.0, survival[:-1]) * hazard
    return np.asarray(masses / masses.sum())
