"""Rows held as a plain matrix."""

import numpy as np
from numpy.typing import ArrayLike

from reticent.errors import ParameterError
from reticent.rows.structure import Columns, Floats, Rows


class DenseRows:
    """Rows held as a plain matrix, shape (n_rows, n_categories).

    >>> DenseRows([[0.75, 0.25], [0.25, 0.75]]).mv(np.array([1.0, 0.0])).tolist()
    [0.75, 0.25]
    """

    def __init__(self, matrix: ArrayLike) -> None:
        self.matrix: Floats = np.asarray(matrix, dtype=np.float64)
        if self.matrix.ndim != 2:
            raise ParameterError(
                f"likelihood rows have shape {self.matrix.shape}; give a matrix (n_rows, n_categories).",
                shape=self.matrix.shape,
            )

    @property
    def n_rows(self) -> int:
        return int(self.matrix.shape[0])

    @property
    def n_categories(self) -> int:
        return int(self.matrix.shape[1])

    def mv(self, w: Floats) -> Floats:
        return self.matrix @ w

    def rmv(self, v: Floats) -> Floats:
        return v @ self.matrix

    def gram(self, d: Floats, columns: Columns) -> Floats:
        everything = len(columns) == self.n_categories
        half = (self.matrix if everything else self.matrix[:, columns]) * np.sqrt(d)[:, None]
        return half.T @ half  # the same array twice: BLAS does half the work

    def dense(self) -> Floats:
        return self.matrix

    def fix(self, j: int, t: float) -> Rows:
        others = np.delete(self.matrix, j, axis=1)
        return DenseRows((1.0 - t) * others + t * self.matrix[:, [j]])
