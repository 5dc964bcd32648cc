"""Rows that remain once one share is held fixed, for any structure."""

import numpy as np

from reticent.rows.dense import DenseRows
from reticent.rows.structure import Columns, Floats, Rows


class HeldRows:
    """Rows (1−t) L_k + t L_j over the categories k other than j, without building them.

    >>> held = HeldRows(DenseRows([[1.0, 0.0, 0.5]]), 2, 0.5)
    >>> held.mv(np.array([0.5, 0.5])).tolist()
    [0.5]
    """

    def __init__(self, rows: Rows, j: int, t: float) -> None:
        self.rows, self.j, self.t = rows, j, t
        self._column = rows.mv(np.eye(1, rows.n_categories, j)[0])

    @property
    def n_rows(self) -> int:
        return self.rows.n_rows

    @property
    def n_categories(self) -> int:
        return self.rows.n_categories - 1

    def mv(self, w: Floats) -> Floats:
        return (1 - self.t) * self.rows.mv(np.insert(w, self.j, 0.0)) + self.t * float(w.sum()) * self._column

    def rmv(self, v: Floats) -> Floats:
        return (1 - self.t) * np.delete(self.rows.rmv(v), self.j) + self.t * float(v @ self._column)

    def gram(self, d: Floats, columns: Columns) -> Floats:
        full = self.rows.gram(d, np.append(columns + (columns >= self.j), self.j))
        both, cross, own = full[:-1, :-1], full[:-1, -1], float(full[-1, -1])
        mixed = (1 - self.t) * self.t * (cross[:, None] + cross)
        return np.asarray((1 - self.t) ** 2 * both + mixed + self.t**2 * own)

    def dense(self) -> Floats:
        return DenseRows(self.rows.dense()).fix(self.j, self.t).dense()

    def fix(self, j: int, t: float) -> Rows:
        return HeldRows(self, j, t)
