"""What several independent answers by one person about one value reveal together.

The collector intersects the reports. Letters of section 8 of our specification of subset privacy: m = n_answers,
p = n_categories, q_t = P(T ⊆ A | x) for a set T of t categories with the answer x in it. Of numbers: see repeated_ranges.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, xlogy

from reticent.channel import Channel, Subset, Transformed
from reticent.domain import Numbers
from reticent.errors import ChannelError, ParameterError, ReportError
from reticent.intersection import MOST_ANSWERS, Intersection, intersection, law_of_size
from reticent.keys import Keys, keys_from_integers
from reticent.measures import ldp_epsilon, maximal_leakage
from reticent.measures.enumeration import listable
from reticent.measures.information import information_by_category, log_ratio
from reticent.measures.measure import Unit, json_number, nonnegative, per_unit
from reticent.measures.prior import as_prior
from reticent.repeated_ranges import MOST_CELLS, JointCoverage, joint_coverage

Floats = NDArray[np.float64]
_EXACT_CATEGORIES = 20
_MOST_ENTRIES = 2**18
_MOST_CELLS = 2**22


@dataclass(frozen=True, eq=False)
class Information:
    """What the answers tell together: `value` in the unit of the repetition, at most `ceiling`, the entropy of the prior.

    With `is_bound` the value is min(m·I, H), which is not exceeded; otherwise it is exact, and `by_category` holds the
    expected log( P(reports|x) / P(reports) ) of an answer x, shape `(n_categories,)`.
    """

    value: float
    ceiling: float
    is_bound: bool
    by_category: Floats | None = None


@dataclass(frozen=True, eq=False)
class Repetition:
    """What m independent answers by one person about one value reveal; made by `repetition`.

    `pinned_by_category` and `candidates_by_category`, shape `(n_categories,)`: the chance that only the true answer x is
    left, and how many categories are left on average. `pinned` and `expected_candidates` are their means under the
    prior; without a prior they are those of the answer most exposed (for subset designs and randomised response all
    answers are alike). With `pinned_is_bound` (rings and other unions of ranges, above 16 cells) the chance of being
    pinned is an upper bound. `maximal` is a bound, None where the reports are too many to list; `epsilon` is in nats.
    `coverage`, for numbers with a prior, is the share of the population that fits all the answers.
    """

    channel: Channel
    n_answers: int
    pinned_by_category: Floats
    candidates_by_category: Floats
    method: Literal["closed form", "exact"]
    maximal: float | None
    epsilon: float
    unit: Unit = "nats"
    prior: Floats | None = None
    information: Information | None = None
    pinned_is_bound: bool = False
    coverage: JointCoverage | None = None

    @cached_property
    def pinned(self) -> float:
        """Probability that the value is pinned down exactly."""
        each = self.pinned_by_category
        return float(each.max() if self.prior is None else self.prior @ each)

    @cached_property
    def expected_candidates(self) -> float:
        """How many categories remain possible on average."""
        each = self.candidates_by_category
        return float(each.min() if self.prior is None else self.prior @ each)

    def to_json(self) -> dict[str, Any]:
        """Everything as JSON; an infinite number is the text "infinity"."""
        told = self.information
        return {
            "question": self.channel.domain.name,
            "channel": self.channel.digest,
            "n_answers": self.n_answers,
            "pinned": self.pinned,
            "pinned_is_bound": self.pinned_is_bound,
            "expected_candidates": self.expected_candidates,
            "joint_coverage": None if self.coverage is None else self.coverage.to_json(),
            "averaged_over": "the prior" if self.prior is not None else "nothing: the answer most exposed",
            "method": self.method,
            "unit": self.unit,
            "mutual_information": None if told is None else told.value,
            "mutual_information_is_bound": None if told is None else told.is_bound,
            "entropy": None if told is None else told.ceiling,
            "maximal_leakage_at_most": self.maximal,
            "epsilon": json_number(self.epsilon),
            "categories": [
                {"label": label, "pinned": pinned, "expected_candidates": left}
                for label, pinned, left in zip(
                    self.channel.domain.categories,
                    self.pinned_by_category.tolist(),
                    self.candidates_by_category.tolist(),
                    strict=True,
                )
            ],
        }

    def summary(self) -> str:
        """What the answers reveal, in a few lines."""
        p, domain = self.channel.n_categories, self.channel.domain
        answers = "1 answer" if self.n_answers == 1 else f"{self.n_answers} independent answers"
        lines = [
            f'{answers} by one person to "{domain.name}" through {self.channel.name}:',
            f"  pinned down exactly  {'at most ' if self.pinned_is_bound else ''}{self.pinned:.4f}",
            f"  {'cells left     ' if isinstance(domain, Numbers) else 'categories left'}      "
            f"{self.expected_candidates:.4g} of {p}, on average",
        ]
        if self.coverage is not None:
            lines.append(self.coverage.line())
        if self.information is not None:
            told = self.information
            value = f"{'at most ' if told.is_bound else ''}{told.value:.4g} of {told.ceiling:.4g} {self.unit}"
            lines.append(f"  mutual information   {value}")
        if self.maximal is not None:
            lines.append(f"  maximal leakage      at most {self.maximal:.4g} {self.unit}")
        epsilon = "infinite" if math.isinf(self.epsilon) else f"{self.epsilon:.4g}"
        lines.append(f"  epsilon              {epsilon}")
        return "\n".join(lines)


def repetition(channel: Channel, n_answers: int, prior: Any = None, unit: Unit = "nats") -> Repetition:
    """What `n_answers` independent answers by one person about one value reveal together.

        P(only x is left) = Σ_{T∋x} (−1)^{|T|−1} P(T possible | x)^m
        subset designs:     Σ_s (−1)^s C(p−1, s) q_{s+1}^m,    E[categories left] = 1 + (p−1) q_2^m

    The sums alternate and cancel, so they are done in integers: closed forms in fixed point with enough digits that
    the result is right to more than 300 decimals at any number of categories; other channels, up to 16 categories, by
    inclusion–exclusion over all sets, in integers up to 4,096 different reports. Ranges of numbers on more cells: from
    the pairs of cells that stay possible together; the chance of being pinned is exact on a line, on a ring a bound. A
    prior (array, mapping or shares) adds the mutual information: exact where the sets or the joint reports can be listed,
    else the bound min(m·I, H); and, for numbers, the joint coverage.

    Source: section 8 of our specification, for Wang and Ding, Subset Privacy (arXiv 2107.02013); section 1.6 of that of
    interval privacy, for Ding and Ding (arXiv 2106.09565).
    Raises ParameterError unless n_answers is in 1..1000 or for a prior that is not a distribution, ChannelError for a
    channel without closed form above 16 categories, and for numbers on more than 4,096 cells.

    >>> from reticent.domain import Categorical
    >>> letters = Subset(Categorical("letter", ["a", "b", "c", "d", "e"]))
    >>> three = repetition(letters, 3)
    >>> three.pinned, round(three.expected_candidates, 3)
    (0.75, 1.256)
    """
    if (
        isinstance(n_answers, bool)
        or not isinstance(n_answers, (int, np.integer))
        or not 1 <= n_answers <= MOST_ANSWERS
    ):
        raise ParameterError(
            f"n_answers is {n_answers!r}; allowed are whole numbers from 1 to {MOST_ANSWERS:,}.", n_answers=n_answers
        )
    n_answers, factor = int(n_answers), per_unit(unit)
    left = intersection(channel, n_answers)
    weights = None if prior is None else as_prior(channel.domain, prior).probabilities
    return Repetition(
        channel,
        n_answers,
        left.pinned,
        left.candidates,
        left.method,
        _maximal(channel, n_answers, unit),
        _epsilon(channel, n_answers),
        unit,
        weights,
        None if weights is None else _information(channel, left, weights, n_answers, factor),
        left.pinned_is_bound,
        None if weights is None or not _has_coverage(channel) else joint_coverage([channel] * n_answers, weights),
    )


def _has_coverage(channel: Channel) -> bool:
    numbers = isinstance(channel.domain, Numbers) or isinstance(channel, Transformed)
    return numbers and channel.n_categories <= MOST_CELLS


def candidates(channel: Channel, reports: Keys | Sequence[int]) -> tuple[str, ...]:
    """The categories that remain possible after these reports of one person through one channel.

    Raises ReportError for a report that the channel cannot send, and when nothing remains: the reports are
    inconsistent, so they are not by one person about one value.

    >>> from reticent.domain import Categorical
    >>> candidates(Subset(Categorical("letter", ["a", "b", "c", "d"])), [0b0011, 0b0110])
    ('b',)
    """
    left = np.flatnonzero(_rows(channel, reports).all(axis=0))
    return tuple(channel.domain.categories[x] for x in left)


def posterior(channel: Channel, reports: Keys | Sequence[int], prior: Any) -> Floats:
    """P(x | these reports of one person), shape `(n_categories,)`: the prior times their likelihoods, renormalised.

    For a subset design it is the prior restricted to the candidates. Raises ReportError as `candidates`, or when the
    prior excludes all candidates; ParameterError for a prior that is not a distribution.

    >>> from reticent.domain import Categorical
    >>> posterior(Subset(Categorical("letter", ["a", "b", "c", "d"])), [0b0011], [0.3, 0.1, 0.2, 0.4]).round(12).tolist()
    [0.75, 0.25, 0.0, 0.0]
    """
    weights = as_prior(channel.domain, prior).probabilities
    rows = _rows(channel, reports)
    with np.errstate(divide="ignore"):
        logs = np.log(rows).sum(axis=0) + np.log(weights)
    if np.isneginf(logs).all():
        raise ReportError("These reports have probability 0 under the prior; give a prior under which they can occur.")
    joint = np.exp(logs - logs.max())
    return np.asarray(joint / joint.sum())


def possible_cells(channel: Channel, report: int) -> list[tuple[str, ...]]:
    """The categories that one report leaves possible, each as one label for every question of the channel.

    Raises ReportError for a report that the channel cannot send.
    """
    domain = channel.domain
    left = np.flatnonzero(_rows(channel, [report])[0])
    codes = np.unravel_index(left, tuple(len(part) for part in domain.parts))
    columns = [[part.categories[x] for x in own.tolist()] for part, own in zip(domain.parts, codes, strict=True)]
    return list(zip(*columns, strict=True))


def checked_keys(channel: Channel, reports: Keys | Sequence[int]) -> Keys:
    """Reports as an array of keys. Raises ReportError for one that the channel cannot send, or that is no whole number."""
    if not _are_keys(reports, channel.key_bits):
        integers = [checked_report(report) for report in _listed(reports)]
        if any(report < 0 or report.bit_length() > channel.key_bits for report in integers):
            raise ReportError(f"A report does not fit the {channel.key_bits} bits of {channel.name}.")
        reports = keys_from_integers(integers, channel.key_bits)
    keys = np.asarray(reports)
    channel.check_keys(keys)
    return keys


def checked_report(report: object) -> int:
    """A report as an integer. Raises ReportError for anything else, rather than rounding or reading it."""
    if isinstance(report, bool) or not isinstance(report, (int, np.integer)):
        raise ReportError(f"A report is a whole number, the key under which it travels, not a {type(report).__name__}.")
    return int(report)


def _are_keys(reports: object, bits: int) -> bool:
    """Whether these are keys already: unsigned integers, or rows of bytes above 64 bits."""
    if not isinstance(reports, np.ndarray) or reports.dtype.kind != "u":
        return False
    return reports.ndim == 1 if bits <= 64 else reports.dtype == np.uint8 and reports.shape[1:] == (-(-bits // 8),)


def _listed(reports: object) -> list[Any]:
    if isinstance(reports, (str, bytes)) or not isinstance(reports, Iterable):
        raise ReportError("Reports are a list of whole numbers, also where there is only one: [report].")
    return list(reports)


def _rows(channel: Channel, reports: Keys | Sequence[int]) -> Floats:
    """Likelihood rows, each up to a factor; raises ReportError for impossible or inconsistent reports."""
    keys = checked_keys(channel, reports)
    if not len(keys):
        return np.ones((1, channel.n_categories))
    rows = channel.rows(keys).dense()
    if not rows.all(axis=0).any():
        raise ReportError(
            f'These {len(keys)} reports on "{channel.domain.name}" are inconsistent: no category fits all of them. '
            "They are not by one person about one value that did not change; reject them.",
            reason="inconsistent",
        )
    return np.asarray(rows)


def _maximal(channel: Channel, m: int, unit: Unit) -> float | None:
    try:
        one = maximal_leakage(channel, unit)
    except ChannelError:  # too many reports to list
        return None
    return min(m * one, per_unit(unit) * math.log(channel.n_categories))


def _epsilon(channel: Channel, m: int) -> float:
    # The same report m times reaches m times the largest ratio, so the sum is exact, not a bound.
    one = ldp_epsilon(channel)
    return math.nextafter(m * one, math.inf) if m > 1 and 0 < one < math.inf else one


# --- mutual information ----------------------------------------------------------------------------------------------


def _information(channel: Channel, left: Intersection, prior: Floats, m: int, factor: float) -> Information:
    entropy = nonnegative(-float(xlogy(prior, prior).sum()))
    values = _exact_information(channel, left, prior, m)
    if values is not None:
        told = min(nonnegative(float(prior @ values)), entropy)
        return Information(factor * told, factor * entropy, False, factor * values)
    one = information_by_category(channel, prior)
    # Where one answer is itself a mean of draws, five standard errors keep the bound a bound.
    bound = m * (nonnegative(float(prior @ one.values)) + 5 * one.standard_error)
    return Information(factor * min(bound, entropy), factor * entropy, True)


def _exact_information(channel: Channel, left: Intersection, prior: Floats, m: int) -> Floats | None:
    if isinstance(channel, Subset) and channel.keep == 2**64 and channel.n_categories <= _EXACT_CATEGORIES:
        return _of_intersection(channel, prior, m)
    rows = joint_rows(channel, m)
    if rows is None:
        return None
    total = np.broadcast_to((rows @ prior)[:, None], rows.shape)
    return np.asarray(log_ratio(rows, total).sum(axis=0))


def _of_intersection(channel: Subset, prior: Floats, m: int) -> Floats:
    # The intersection of m reports says all that they say, and is itself a subset design with its own law of sizes.
    law = law_of_size(channel, m)
    if [*law] == [channel.n_categories]:
        return np.zeros(channel.n_categories)
    scale = math.lcm(*(share.denominator for share in law.values()))
    sizes = tuple((size, int(share * scale)) for size, share in law.items())
    return information_by_category(Subset(channel.domain, sizes, allow_singletons=True), prior).values


def joint_rows(channel: Channel, m: int) -> Floats | None:
    """P(m reports in any order | x), one row for each multiset of reports; None where there are too many to list.

    Reports whose rows are proportional say the same, and count as one.
    """
    if not listable(channel) or channel.n_reports * channel.n_categories > _MOST_ENTRIES:
        return None
    rows = _merged(channel.matrix())
    n, p = rows.shape
    n_joint = math.comb(n + m - 1, m)
    if n_joint * max(n, m, p) > _MOST_CELLS:
        return None
    chosen = np.array(list(combinations_with_replacement(range(n), m)), dtype=np.int64)
    counts = np.zeros((n_joint, n))
    np.add.at(counts, (np.arange(n_joint)[:, None], chosen), 1.0)
    with np.errstate(divide="ignore"):
        logs = np.log(rows)
    orders = gammaln(m + 1) - gammaln(counts + 1).sum(axis=1)
    joint = np.zeros((n_joint, p))
    for x in range(p):
        joint[:, x] = np.exp(orders + logs[chosen, x].sum(axis=1))
    return joint


def _merged(rows: Floats) -> Floats:
    shapes = np.round(rows / rows.sum(axis=1, keepdims=True), 12)
    _, group = np.unique(shapes, axis=0, return_inverse=True)
    merged = np.zeros((int(group.max()) + 1, rows.shape[1]))
    np.add.at(merged, group.reshape(-1), rows)
    return merged
