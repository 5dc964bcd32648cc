"""What a solver asks of likelihood rows."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Columns = NDArray[np.intp]


class Rows(Protocol):
    """Likelihood rows L, shape (n_rows, n_categories)."""

    @property
    def n_rows(self) -> int: ...

    @property
    def n_categories(self) -> int: ...

    def mv(self, w: Floats) -> Floats:
        """L w, shape (n_rows,)."""
        ...

    def rmv(self, v: Floats) -> Floats:
        """L'v, shape (n_categories,)."""
        ...

    def gram(self, d: Floats, columns: Columns) -> Floats:
        """L_S' diag(d) L_S over the columns S, with d >= 0; shape (len(columns), len(columns))."""
        ...

    def dense(self) -> Floats:
        """L itself, shape (n_rows, n_categories)."""
        ...

    def fix(self, j: int, t: float) -> "Rows":
        """Rows (1-t) L_k + t L_j over the categories k other than j: what is left once w_j = t."""
        ...
