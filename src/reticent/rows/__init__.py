"""The likelihood of observed reports, in the forms a solver needs and never larger than it needs.

A tally of n_rows different reports read through a channel is a matrix L of shape (n_rows, n_categories),
L[i, j] proportional to P(report i | category j). The solver asks for four things only: L w, L'v, a weighted
Gram matrix of some columns, and the rows that remain once one share is held fixed. Every structure here gives
those four.
"""

from reticent.rows.dense import DenseRows
from reticent.rows.held import HeldRows
from reticent.rows.kronecker import KroneckerRows
from reticent.rows.masks import DENSE_BELOW, MaskRows
from reticent.rows.stacked import StackedRows
from reticent.rows.structure import Columns, Floats, Rows

__all__ = [
    "DENSE_BELOW", "Columns", "DenseRows", "Floats", "HeldRows", "KroneckerRows", "MaskRows", "Rows", "StackedRows",
]  # fmt: skip
