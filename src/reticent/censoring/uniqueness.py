"""Whether the masses on cells are the only ones of the greatest likelihood.

All maximisers give the rows the same probabilities L v = L w and have mass only where the multiplier is 1. For runs of
cells the matter is one of graphs: with B the distribution function at the boundaries between cells, a run fixes the
difference of B at its two ends. So the masses are fixed when the boundaries, joined by the runs and by the fact that
all masses sum to 1, hang together. Where they do not, or rows are of another kind, linear programmes decide.

Source: section 3.6 of our specification of interval privacy (masses may not be unique); Gentleman and Vandal,
Computational algorithms for censored-data problems using intersection graphs (2001).
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from reticent.likelihood import Fit, maximiser_ranges
from reticent.rows import Columns, DenseRows, Floats, Rows, StackedRows
from reticent.rows.runs import RunRows

MANY_CELLS = 500
"""Above this many cells no linear programmes are solved."""


def is_unique(rows: Rows, counts: Floats, p: Floats, multipliers: Floats, gap: float) -> bool | None:
    """True when p is the only maximiser, False when there are others, None when it could not be settled."""
    slack = max(1e-6, 10.0 * float(np.sqrt(gap)))
    wide = np.flatnonzero((p > 0) | (multipliers >= 1.0 - slack))
    if isinstance(rows, RunRows) and rows.extra is None:
        narrow, few = rows.restrict(counts, wide)
        if hang_together(narrow):
            return True
        if not hang_together(narrow.restrict(few, np.flatnonzero(p[wide]))[0]):
            return False
    if len(wide) > MANY_CELLS:
        return None
    small, few = _over(rows, counts, wide)
    low, high = maximiser_ranges(small, few, Fit(p[wide], 0.0, gap, 0.0, True, 0, multipliers[wide]))
    return bool((high - low).max() <= 1e-6)


def hang_together(rows: RunRows) -> bool:
    """Are the boundaries between the cells all joined by the runs, and the first to the last?

    >>> hang_together(RunRows([0, 2], [2, 4], 4)), hang_together(RunRows([0, 0, 0], [1, 2, 3], 4))
    (False, True)
    """
    size = rows.n_categories + 1
    ends = np.append(rows.first, 0), np.append(rows.stop, size - 1)
    graph = coo_array((np.ones(len(ends[0]), dtype=np.int8), ends), shape=(size, size))
    return int(connected_components(graph, directed=False, return_labels=False)) == 1


def _over(rows: Rows, counts: Floats, columns: Columns) -> tuple[Rows, Floats]:
    """The rows over some of the cells."""
    if isinstance(rows, RunRows):
        return rows.restrict(counts, columns)
    if isinstance(rows, StackedRows):
        parts = [_over(part, np.ones(part.n_rows), columns)[0] for part in rows.parts]
        return StackedRows(parts), np.ones(sum(part.n_rows for part in parts))
    return DenseRows(rows.dense()[:, columns]), counts
