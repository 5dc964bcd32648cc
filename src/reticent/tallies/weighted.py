"""WeightedTally: how much each report weighs, for samples in which people stand for different numbers of people."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reticent.bulk import count_keys
from reticent.channel import Channel
from reticent.errors import TallyError
from reticent.keys import Keys, keys_from_integers
from reticent.tallies.addition import MOST_REPORTS, Tally, check_missing
from reticent.tallies.pattern import check_distinct

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class WeightedTally(Tally):
    """Report → number of reports, sum of their weights, sum of their squared weights.

    One weighted tally is one stratum (or the whole sample, when it is not stratified): adding two makes one stratum of
    them; giving both to an estimator keeps them apart. Weights are the inverse chances of being in the sample, up to a
    factor. Sums of weights are floats: order and partition change them by rounding only, and never the counts.

    Within a stratum people are taken to be drawn one by one, few of many. Clusters and finite population corrections
    are not supported: where households or schools were drawn, the standard errors are too small.

    `keys` ascend and are distinct; `counts` whole and positive; `weights` and `squares` positive and finite. Raises
    TallyError otherwise.
    """

    channel: Channel
    keys: Keys
    counts: NDArray[np.int64]
    weights: Floats
    squares: Floats
    missing: int = 0
    simulated: bool = False

    def __post_init__(self) -> None:
        if not len(self.keys) == len(self.counts) == len(self.weights) == len(self.squares):
            raise TallyError("A weighted tally needs one count, one weight and one sum of squares per report.")
        if self.counts.dtype != np.int64 or (self.counts <= 0).any():
            raise TallyError("Counts are whole numbers above 0, of type int64; leave out reports that never came.")
        if float(self.counts.sum(dtype=np.float64)) >= MOST_REPORTS:
            raise TallyError("A tally holds fewer than 2^62 reports.")
        check_missing(self.missing)
        for name, values in (("weights", self.weights), ("squares", self.squares)):
            if values.dtype != np.float64 or not np.isfinite(values).all() or not (values > 0).all():
                raise TallyError(f"The {name} of a weighted tally are positive, finite numbers of type float64.")
        # Σw² ≤ (Σw)² and (Σw)² ≤ count · Σw²; anything else is no sum of squares of these weights.
        squared = self.weights**2
        if (self.squares > squared * (1 + 1e-9)).any() or (squared > self.counts * self.squares * (1 + 1e-9)).any():
            raise TallyError("The sums of squares do not fit the weights and counts; make the tally with rt.tally.")
        check_distinct(self.keys)
        self.channel.check_keys(self.keys)

    @classmethod
    def empty(cls, channel: Channel) -> WeightedTally:
        """The tally of nobody."""
        nothing = np.zeros(0)
        return cls(channel, keys_from_integers([], channel.key_bits), np.zeros(0, dtype=np.int64), nothing, nothing)

    @property
    def n(self) -> int:
        """How many reports, missing answers not included."""
        return int(self.counts.sum())

    @property
    def total_weight(self) -> float:
        """Sum of the weights."""
        return float(self.weights.sum())

    @property
    def effective_n(self) -> float:
        """Kish's effective number of reports, (Σw)² / Σw²; 0 for no report."""
        return self.total_weight**2 / float(self.squares.sum()) if len(self.keys) else 0.0

    def __add__(self, other: object) -> WeightedTally:
        if not isinstance(other, Tally):
            return NotImplemented
        self._check_addition(other)
        assert isinstance(other, WeightedTally)
        keys = np.concatenate([self.keys, other.keys])
        distinct, _ = count_keys(keys)
        weights = sum_by_key(distinct, keys, np.concatenate([self.weights, other.weights]))
        squares = sum_by_key(distinct, keys, np.concatenate([self.squares, other.squares]))
        _, counts = count_keys(keys, np.concatenate([self.counts, other.counts]))
        missing, simulated = self.missing + other.missing, self.simulated or other.simulated
        return WeightedTally(self.channel, distinct, counts, weights, squares, missing, simulated)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, WeightedTally)
            and self.channel == other.channel
            and self.missing == other.missing
            and all(
                np.array_equal(getattr(self, name), getattr(other, name))
                for name in ("keys", "counts", "weights", "squares")
            )
        )

    def __repr__(self) -> str:
        return (
            f"<weighted tally of {self.n} reports, total weight {self.total_weight:g}, {self.missing} missing{self._mark}, "
            f"from {self.channel!r}>"
        )


def sum_by_key(distinct: Keys, keys: Keys, values: Floats) -> Floats:
    """The sum of `values` for each of the distinct keys, in their order."""
    if keys.ndim > 1:  # rows of bytes as one value each, ordered byte by byte as the keys are
        whole = np.dtype((np.void, keys.shape[1]))
        distinct, keys = (np.ascontiguousarray(rows).view(whole).ravel() for rows in (distinct, keys))
    place = np.searchsorted(distinct, keys)
    return np.bincount(place, values, len(distinct)).astype(np.float64)
