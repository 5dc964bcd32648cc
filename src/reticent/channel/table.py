"""Table: a finite list of reports with integer weights for every answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reticent.bulk import inverse_cdf, symmetric
from reticent.channel.channel import Channel, check_title, integer_from_json, json_integer
from reticent.choose import Source, Words
from reticent.domain import Categorical, domain_from_json
from reticent.errors import ChannelError
from reticent.keys import Keys, key_dtype

WORD = 2**64
_DENOMINATOR = 2**53


@dataclass(frozen=True, eq=False, repr=False)
class Table(Channel, kind="table"):
    """P(report z | x) = weights[z][x] / denominator, or one of three symbolic laws that need no matrix.

    `keep` alone: randomised response on the domain itself, the true category with probability keep / 2^64 and every
    other one equally likely. keep = 2^64 is the full response. `weights` holds one row per report.

    Raises ChannelError when a column does not sum to the denominator, a weight is negative, or a report is impossible,
    listed twice or no text.

    >>> coin = Table.from_matrix(Categorical("smoker", ["yes", "no"]), [[0.75, 0.25], [0.25, 0.75]])
    >>> round(coin.epsilon, 6)
    1.098612
    """

    domain: Categorical
    reports: tuple[str, ...]
    keep: int | None = None
    weights: tuple[tuple[int, ...], ...] | None = None
    denominator: int = 1
    title: str = "channel table"

    def __post_init__(self) -> None:
        check_title(self.title)
        _check_labels(self.reports)
        if self.keep is not None:
            if self.weights is not None or len(self.reports) != len(self.domain) or not 0 < self.keep <= WORD:
                raise ChannelError("The symmetric law needs one report per category and 0 < keep <= 2^64.")
            return
        if self.weights is None or len(self.weights) != len(self.reports):
            raise ChannelError(f"{len(self.reports)} reports need as many rows of weights.")
        if any(len(row) != len(self.domain) for row in self.weights):
            raise ChannelError(f"Every row of weights needs {len(self.domain)} entries, one per category.")
        for row, label in zip(self.weights, self.reports, strict=True):
            if min(row) < 0 or max(row) == 0:
                raise ChannelError(
                    f'Report "{label}" has a negative weight or none at all; leave impossible reports out.'
                )
        for column, label in zip(zip(*self.weights, strict=True), self.domain.categories, strict=True):
            if sum(column) != self.denominator:
                raise ChannelError(
                    f'The weights for category "{label}" sum to {sum(column)}/{self.denominator}; they must sum to 1.',
                    category=label,
                )

    @classmethod
    def from_matrix(cls, domain: Categorical, matrix: ArrayLike, reports: Sequence[str] | None = None) -> Table:
        """A table from probabilities P(report | x), shape `(n_reports, n_categories)`.

        Every column is frozen to integers with denominator 2^53, the largest entry taking the rounding.
        Raises ChannelError for negative or non-finite entries, columns not summing to 1 within 1e-9, or empty rows.
        """
        try:
            values = np.asarray(matrix, dtype=np.float64)
        except (TypeError, ValueError):
            raise ChannelError("The matrix must be numbers in rows of one length.") from None
        if values.ndim != 2 or values.shape[1] != len(domain):
            raise ChannelError(
                f"The matrix has shape {values.shape}; it needs one row per report and {len(domain)} columns, one per category."
            )
        if not np.isfinite(values).all() or (values < 0).any():
            raise ChannelError("The matrix has a negative, infinite or missing entry; probabilities are in [0, 1].")
        for label, total in zip(domain.categories, values.sum(axis=0).tolist(), strict=True):
            if abs(total - 1) > 1e-9:
                raise ChannelError(
                    f'The column of category "{label}" sums to {total:.12g}; it must sum to 1.', category=label
                )
        columns = []
        for column in values.T:
            integers = [round(Fraction(float(entry)) * _DENOMINATOR) for entry in column]
            integers[int(np.argmax(column))] += _DENOMINATOR - sum(integers)
            columns.append(integers)
        labels = tuple(reports) if reports is not None else tuple(f"report {i + 1}" for i in range(len(values)))
        return cls(domain, labels, None, tuple(zip(*columns, strict=True)), _DENOMINATOR)

    # --- the law ---------------------------------------------------------------------------------------------
    @property
    def name(self) -> str:
        return self.title

    @property
    def n_reports(self) -> int:
        return len(self.reports)

    @property
    def key_bits(self) -> int:
        return max(1, (len(self.reports) - 1).bit_length())

    def draw_public(self, source: Source) -> int:
        return 0

    def n_cells(self, public: int) -> int:
        return len(self.reports)

    def key(self, public: int, cell: int) -> int:
        return cell

    def draw_cell(self, x: int, public: int, source: Source) -> int:
        if self.keep is None:
            return source.pick([row[x] for row in self._weights()])
        if self.keep == WORD or source.bern(self.keep):
            return x
        other = source.below(len(self.domain) - 1)
        return other + (other >= x)

    def draw_keys(self, codes: NDArray[np.int64], words: Words) -> Keys:
        if self.keep is None:
            cells = inverse_cdf(codes, self._weights(), self.denominator, words)
        else:
            cells = codes if self.keep == WORD else symmetric(codes, len(self.domain), self.keep, words)
        return np.asarray(cells).astype(key_dtype(self.key_bits), copy=True)

    def _weights(self) -> tuple[tuple[int, ...], ...]:
        assert self.weights is not None
        return self.weights

    @property
    def stray(self) -> Fraction:
        """Probability of one given other category under the symmetric law."""
        assert self.keep is not None
        return Fraction(WORD - self.keep, WORD * (len(self.domain) - 1))

    def exact_row(self, key: int) -> tuple[Fraction, ...]:
        if not 0 <= key < len(self.reports):
            return (Fraction(0),) * len(self.domain)
        if self.keep is None:
            return tuple(Fraction(weight, self.denominator) for weight in self._weights()[key])
        kept, stray = Fraction(self.keep, WORD), self.stray
        return tuple(kept if x == key else stray for x in range(len(self.domain)))

    @cached_property
    def _matrix(self) -> NDArray[np.float64]:
        return np.array([[float(p) for p in self.exact_row(key)] for key in range(len(self.reports))])

    def likelihood(self, keys: Keys) -> NDArray[np.float64]:
        if self.keep is None:
            return self._matrix[keys.astype(np.int64)]
        rows = np.full((len(keys), len(self.domain)), float(self.stray))
        rows[np.arange(len(keys)), keys.astype(np.int64)] = self.keep / WORD
        return rows

    @property
    def support_rates(self) -> tuple[Fraction, Fraction] | None:
        return None if self.keep is None else (Fraction(self.keep, WORD), self.stray)

    def support(self, keys: Keys) -> NDArray[np.bool_]:
        if self.keep is None:
            return super().support(keys)
        return np.asarray(keys[:, None] == np.arange(len(self.domain)))

    def possible(self, keys: Keys) -> NDArray[np.bool_]:
        return np.asarray(keys < len(self.reports))

    def _listed_keys(self) -> Keys:
        return np.arange(len(self.reports), dtype=key_dtype(self.key_bits))

    @property
    def likelihood_ratio(self) -> Fraction | None:
        if self.keep is not None:
            low, high = sorted((Fraction(self.keep, WORD), self.stray))
            return high / low if low else None
        if any(min(row) == 0 for row in self._weights()):
            return None
        return max(Fraction(max(row), min(row)) for row in self._weights())

    def law_json(self) -> dict[str, Any]:
        common = {"kind": "table", "title": self.title, "reports": list(self.reports)}
        if self.keep is not None:
            return {"kind": "table", "title": self.title, "law": "symmetric", "keep": json_integer(self.keep)}
        rows = [[json_integer(weight) for weight in row] for row in self._weights()]
        return {**common, "denominator": json_integer(self.denominator), "weights": rows}

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Table:
        """The table that `to_json` wrote. Raises ChannelError for a field that it would not write."""
        domain = domain_from_json(document["domain"])
        title = document.get("title", "channel table")
        if document.get("law") == "symmetric":
            return cls(domain, domain.categories, integer_from_json(document["keep"]), title=title)
        reports, rows = document["reports"], document["weights"]
        if (
            not isinstance(reports, list)
            or not isinstance(rows, list)
            or not all(isinstance(row, list) for row in rows)
        ):
            raise ChannelError("The reports of a table are a list of texts, its weights a list of rows.")
        weights = tuple(tuple(integer_from_json(weight) for weight in row) for row in rows)
        return cls(domain, tuple(reports), None, weights, integer_from_json(document["denominator"]), title)

    def describe(self, key: int) -> str:
        return self.reports[key]


def _check_labels(reports: tuple[str, ...]) -> None:
    if not reports:
        raise ChannelError("A table needs at least one report.")
    if not all(isinstance(label, str) for label in reports):
        raise ChannelError("The reports of a table are texts.")
    if len({*reports}) < len(reports):
        repeated = [label for label, times in Counter(reports).items() if times > 1][:5]
        raise ChannelError(
            f"The table lists the reports {repeated} more than once; each report once.", repeated=repeated
        )
