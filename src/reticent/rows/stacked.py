"""Rows of several tallies, one below the other."""

from collections.abc import Sequence

import numpy as np

from reticent.errors import ParameterError
from reticent.rows.structure import Columns, Floats, Rows


class StackedRows:
    """Rows of several tallies over one domain, one below the other.

    >>> from reticent.rows.dense import DenseRows
    >>> StackedRows([DenseRows([[1.0, 0.0]]), DenseRows([[0.5, 1.0]])]).n_rows
    2
    """

    def __init__(self, parts: Sequence[Rows]) -> None:
        widths = sorted({part.n_categories for part in parts})
        if len(widths) != 1:
            raise ParameterError(
                f"rows to stack have {widths or 'no'} categories; give at least one part, over one domain.",
                n_categories=widths,
            )
        self.parts = tuple(parts)
        self._cuts = np.cumsum([part.n_rows for part in parts])[:-1]

    @property
    def n_rows(self) -> int:
        return sum(part.n_rows for part in self.parts)

    @property
    def n_categories(self) -> int:
        return self.parts[0].n_categories

    def mv(self, w: Floats) -> Floats:
        return np.concatenate([part.mv(w) for part in self.parts])

    def rmv(self, v: Floats) -> Floats:
        pieces = np.split(v, self._cuts)
        sums = [part.rmv(piece) for part, piece in zip(self.parts, pieces, strict=True)]
        return np.asarray(np.sum(sums, axis=0))

    def gram(self, d: Floats, columns: Columns) -> Floats:
        pieces = np.split(d, self._cuts)
        grams = [part.gram(piece, columns) for part, piece in zip(self.parts, pieces, strict=True)]
        return np.asarray(np.sum(grams, axis=0))

    def dense(self) -> Floats:
        return np.vstack([part.dense() for part in self.parts])

    def fix(self, j: int, t: float) -> Rows:
        return StackedRows([part.fix(j, t) for part in self.parts])
