"""Subset: the report is a set of categories whose probability depends on its size and on whether it holds the answer.

Letters of Wang and Ding (Subset Privacy, arXiv 2107.02013) and of the local-privacy texts: p = n_categories,
k = size, mu_a = P(A=a | x) for x in a; keep = P(x in A | x), stray = P(y in A | x) for another y.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import combinations
from math import comb, lcm, perm
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from reticent.bulk import subset_masks
from reticent.channel.channel import Channel, check_title, integer_from_json, json_integer
from reticent.choose import Source, Words
from reticent.domain import Categorical, domain_from_json
from reticent.errors import ChannelError
from reticent.keys import Keys, key_dtype, keys_from_integers
from reticent.rows import MaskRows, Rows

WORD = 2**64
Sizes = tuple[tuple[int, int], ...]


@dataclass(frozen=True, eq=False, repr=False)
class Subset(Channel, kind="subset"):
    """Report a set of categories, which holds the answer with probability keep / 2^64.

    Given that it does, its size is drawn by the integer weights `sizes` (or "uniform": every set of 2 to
    n_categories − 2 members that holds the answer is equally likely); given that it does not, by `miss_sizes`.
    Given size and membership, all sets are equally likely.

        P(a | x) = keep · sizes[k] / C(p−1, k−1)  for x in a,   (1−keep) · miss_sizes[k] / C(p−1, k)  otherwise

    Source: Wang and Ding, Subset Privacy, symmetric designs; Ye and Barg, subset selection.
    Raises ChannelError for sizes outside 1..p, weights that are not positive, a keep outside (0, 2^64], or sets of
    one category that always hold the answer, unless `allow_singletons`. Warns when every report is the full set.

    >>> letters = Subset(Categorical("letter", "a b c d".split()), sizes=((2, 1),))
    >>> letters.n_reports, letters.stray
    (6, Fraction(1, 3))
    """

    domain: Categorical
    sizes: Sizes | Literal["uniform"] = "uniform"
    keep: int = WORD
    miss_sizes: Sizes = ()
    title: str = "random subset"
    allow_singletons: bool = False

    def __post_init__(self) -> None:
        check_title(self.title)
        p = len(self.domain)
        if isinstance(self.sizes, str):
            if self.sizes != "uniform" or p < 4:
                raise ChannelError('The symbolic law of sizes is "uniform" and needs at least 4 categories.')
        else:
            _check_sizes(self.sizes, 1, p)
        if not 0 < self.keep <= WORD:
            raise ChannelError(f"keep is {self.keep}; it must be in 1..2^64.")
        if self.keep < WORD:
            _check_sizes(self.miss_sizes, 1, p - 1)
        elif self.miss_sizes:
            raise ChannelError("keep = 2^64 leaves nothing for miss_sizes; leave them out.")
        if self._gives_away and not self.allow_singletons:
            raise ChannelError(
                "A set of one category is the answer itself. Leave size 1 out, or say allow_singletons=True.", size=1
            )
        if self._drawn_sizes == {p}:
            warnings.warn(
                f'Every report on "{self.domain.name}" is the full set: it says nothing, and shares cannot be estimated.',
                stacklevel=3,
            )

    # --- sizes -------------------------------------------------------------------------------------------------
    @cached_property
    def size_weights(self) -> dict[int, int]:
        """Integer weights of the size, given that the set holds the answer."""
        p = len(self.domain)
        if isinstance(self.sizes, str):
            return dict(zip(range(2, p - 1), _binomials(p - 1)[1 : p - 2], strict=True))
        return dict(self.sizes)

    @cached_property
    def _drawn_sizes(self) -> set[int]:
        """Every size a report can have."""
        if isinstance(self.sizes, str):
            return set(range(2, len(self.domain) - 1))
        return {*dict(self.sizes), *dict(self.miss_sizes)}

    @property
    def _gives_away(self) -> bool:
        """Whether a report can be the answer itself."""
        return self.keep == WORD and 1 in self._drawn_sizes

    def size_law(self) -> dict[int, Fraction]:
        """P(|A| = k), the same whatever the answer."""
        law: dict[int, Fraction] = {}
        for keep, weights in ((self.kept, self.size_weights), (1 - self.kept, dict(self.miss_sizes))):
            total = sum(weights.values())
            for k, weight in weights.items():
                law[k] = law.get(k, Fraction(0)) + keep * Fraction(weight, total)
        return dict(sorted(law.items()))

    @cached_property
    def _hit(self) -> dict[int, Fraction]:
        p, total = len(self.domain), sum(self.size_weights.values())
        if isinstance(self.sizes, str):
            return dict.fromkeys(self.size_weights, self.kept * Fraction(1, total))
        return {k: self.kept * Fraction(w, total * comb(p - 1, k - 1)) for k, w in self.size_weights.items()}

    @cached_property
    def _miss(self) -> dict[int, Fraction]:
        p, total = len(self.domain), sum(weight for _, weight in self.miss_sizes)
        return {k: (1 - self.kept) * Fraction(w, total * comb(p - 1, k)) for k, w in self.miss_sizes}

    def hit_by_size(self) -> dict[int, Fraction]:
        """P(A = a | x) for x in a, by the size of a (the papers' mu)."""
        return dict(self._hit)

    def miss_by_size(self) -> dict[int, Fraction]:
        """P(A = a | x) for x not in a, by the size of a; empty when the answer is always held."""
        return dict(self._miss)

    @property
    def kept(self) -> Fraction:
        """P(x in A | x)."""
        return Fraction(self.keep, WORD)

    @cached_property
    def stray(self) -> Fraction:
        """P(y in A | x) for another category y (the papers' q)."""
        return self.joint_support(2) if self.keep == WORD else self._mean_stray()

    def _mean_stray(self) -> Fraction:
        others = len(self.domain) - 1
        hit, miss = sum(self.size_weights.values()), sum(weight for _, weight in self.miss_sizes)
        given_hit = sum((Fraction(w * (k - 1), hit * others) for k, w in self.size_weights.items()), Fraction(0))
        given_miss = sum((Fraction(w * k, miss * others) for k, w in self.miss_sizes), Fraction(0))
        return self.kept * given_hit + (1 - self.kept) * given_miss

    def joint_support(self, t: int) -> Fraction:
        """q_t = P(T ⊆ A | x ∈ T) for a set T of t categories, when the answer is always held (section 3)."""
        p, total = len(self.domain), sum(self.size_weights.values())
        inside = sum(weight * perm(k - 1, t - 1) for k, weight in self.size_weights.items())
        return Fraction(inside, total * perm(p - 1, t - 1))

    @cached_property
    def independent(self) -> bool:
        """Whether one yes/no question, drawn without looking at the answer, gives the report.

        It does when the answer is always held and π_k/k = π_{p−k}/(p−k) for every 1 ≤ k < p (section 3.2).
        """
        if self.keep < WORD:
            return False
        if isinstance(self.sizes, str):
            return True
        p, weights = len(self.domain), self.size_weights
        return all(w * (p - k) == weights.get(p - k, 0) * k for k, w in weights.items() if k < p)

    # --- drawing -------------------------------------------------------------------------------------------------
    @cached_property
    def _question_sizes(self) -> tuple[list[int], list[int]]:
        p, weights = len(self.domain), self.size_weights
        if isinstance(self.sizes, str):
            return list(weights), _binomials(p)[2 : p - 1]
        scale = lcm(*weights)
        # nu has half the mass of mu on a set and on its complement; the full set stands for "no question asked".
        return list(weights), [(scale // k) * w * (p if k < p else 2 * p) for k, w in weights.items()]

    @property
    def n_reports(self) -> int:
        p = len(self.domain)
        if isinstance(self.sizes, str):
            return (1 << p) - 2 * p - 2
        return sum(comb(p, k) for k in self._drawn_sizes)

    @property
    def key_bits(self) -> int:
        return len(self.domain)

    def draw_public(self, source: Source) -> int:
        if not self.independent:
            return 0
        sizes, weights = self._question_sizes
        return _mask(source.subset(len(self.domain), sizes[source.pick(weights)]))

    def n_cells(self, public: int) -> int:
        if not self.independent:
            return self.n_reports
        return 1 if public == 2 ** len(self.domain) - 1 else 2

    def draw_cell(self, x: int, public: int, source: Source) -> int:
        """Independent designs: 1 if the drawn set holds the answer, else 0. Others: the set itself, as a bit mask."""
        if self.independent:
            return (public >> x) & 1
        hit = self.keep == WORD or bool(source.bern(self.keep))
        law = self.size_weights if hit else dict(self.miss_sizes)
        size = list(law)[source.pick(list(law.values()))]
        others = source.subset(len(self.domain) - 1, size - hit)
        return _mask(j + (j >= x) for j in others) | (hit << x)

    def key(self, public: int, cell: int) -> int:
        if not self.independent:
            return cell
        return public if cell else (2 ** len(self.domain) - 1) ^ public

    def draw_keys(self, codes: NDArray[np.int64], words: Words) -> Keys:
        p = len(self.domain)
        hit = np.ones(len(codes), dtype=np.bool_) if self.keep == WORD else words.bern(self.keep, len(codes))
        law: Mapping[int, int] | Literal["uniform"] = "uniform" if isinstance(self.sizes, str) else self.size_weights
        if hit.all():
            return subset_masks(codes, p, words, law, hit)
        keys = keys_from_integers([], p)
        keys = np.zeros((len(codes), *keys.shape[1:]), dtype=keys.dtype)
        keys[hit] = subset_masks(codes[hit], p, words, law, hit[hit])
        keys[~hit] = subset_masks(codes[~hit], p, words, dict(self.miss_sizes), hit[~hit])
        return keys

    # --- probabilities -----------------------------------------------------------------------------------------------
    @property
    def support_rates(self) -> tuple[Fraction, Fraction] | None:
        return self.kept, self.stray

    def support(self, keys: Keys) -> NDArray[np.bool_]:
        """Which categories each reported set holds, shape `(n_reports, n_categories)`."""
        return _members(keys, len(self.domain))

    def exact_row(self, key: int) -> tuple[Fraction, ...]:
        p, size = len(self.domain), key.bit_count()
        hit, miss = self._hit.get(size, Fraction(0)), self._miss.get(size, Fraction(0))
        if key >> p:
            return (Fraction(0),) * p
        return tuple(hit if key >> x & 1 else miss for x in range(p))

    def likelihood(self, keys: Keys) -> NDArray[np.float64]:
        """P(report | x); underflows to 0 above about 1,000 categories, where `rows` keeps what an estimate needs."""
        members = self.support(keys)
        sizes = members.sum(axis=1)
        hit, miss = _by_size(self._hit, len(self.domain)), _by_size(self._miss, len(self.domain))
        return np.where(members, hit[sizes, None], miss[sizes, None])

    def rows(self, keys: Keys) -> Rows:
        """Bit masks; where the answer may be missed, plus miss / (hit − miss), so that a row keeps its ratio."""
        if self.keep == WORD:
            return MaskRows(keys, len(self.domain))
        sizes = self.support(keys).sum(axis=1)
        offsets = {}
        for k in {*sizes.tolist()}:
            hit, miss = self._hit.get(k, Fraction(0)), self._miss.get(k, Fraction(0))
            if hit <= miss:  # not more likely inside than outside: no mask form
                return super().rows(keys)
            offsets[k] = float(miss / (hit - miss))
        return MaskRows(keys, len(self.domain), np.array([offsets[k] for k in sizes.tolist()]))

    def possible(self, keys: Keys) -> NDArray[np.bool_]:
        p = len(self.domain)
        allowed = np.zeros(8 * keys.itemsize * (1 if keys.ndim == 1 else keys.shape[1]) + 1, dtype=np.bool_)
        allowed[list(self._drawn_sizes)] = True
        bits = np.bitwise_count(keys)
        sizes = bits.astype(np.int64) if keys.ndim == 1 else bits.sum(axis=1, dtype=np.int64)
        if keys.ndim == 1:
            within = (
                (keys >> np.asarray(p, dtype=keys.dtype)) == 0 if p < 8 * keys.itemsize else np.ones(len(keys), bool)
            )
        else:
            within = keys[:, -1] < 2 ** (p - 8 * (keys.shape[1] - 1))
        return np.asarray(allowed[sizes] & within)

    def _listed_keys(self) -> Keys:
        p = len(self.domain)
        if p <= 24:
            every = np.arange(2**p, dtype=key_dtype(p))
            return every[self.possible(every)]
        sizes = self._drawn_sizes
        return keys_from_integers(sorted(_mask(c) for k in sizes for c in combinations(range(p), k)), p)

    @property
    def likelihood_ratio(self) -> Fraction | None:
        sizes = {*self._hit, *self._miss}
        if sizes == {len(self.domain)}:
            return Fraction(1)
        pairs = [(self._hit.get(k, Fraction(0)), self._miss.get(k, Fraction(0))) for k in sizes if k < len(self.domain)]
        if any(min(pair) == 0 for pair in pairs):
            return None
        return max(max(pair) / min(pair) for pair in pairs)

    # --- as a document -------------------------------------------------------------------------------------------------
    @property
    def name(self) -> str:
        return self.title

    def law_json(self) -> dict[str, Any]:
        document: dict[str, Any] = {"kind": "subset", "title": self.title}
        document["sizes"] = self.sizes if isinstance(self.sizes, str) else _sizes_json(self.sizes)
        if self.keep < WORD:
            document |= {"keep": json_integer(self.keep), "miss_sizes": _sizes_json(self.miss_sizes)}
        if self._gives_away:
            document["allow_singletons"] = True
        return document

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Subset:
        """The channel that `to_json` wrote. Raises ChannelError for a field that it would not write."""
        sizes = document["sizes"]
        return cls(
            domain_from_json(document["domain"]),
            "uniform" if sizes == "uniform" else _sizes_from_json(sizes),
            integer_from_json(document.get("keep", WORD)),
            _sizes_from_json(document.get("miss_sizes", [])),
            document.get("title", "random subset"),
            document.get("allow_singletons") is True,
        )

    def describe(self, key: int) -> str:
        return "{" + ", ".join(label for x, label in enumerate(self.domain.categories) if key >> x & 1) + "}"


def sizes_of(law: Mapping[int, int]) -> Sizes:
    """A law of sizes as the tuple a Subset stores, ascending."""
    return tuple(sorted(law.items()))


def _check_sizes(sizes: Sizes, low: int, high: int) -> None:
    if not sizes or len(dict(sizes)) < len(sizes):
        raise ChannelError("A law of sizes needs at least one size, and each size once.")
    for k, weight in sizes:
        if not low <= k <= high or weight <= 0:
            raise ChannelError(
                f"Size {k} with weight {weight}: sizes are in {low}..{high}, weights positive integers.", size=k
            )


@lru_cache(maxsize=8)
def _binomials(n: int) -> list[int]:
    row = [1]
    for k in range(n):
        row.append(row[-1] * (n - k) // (k + 1))
    return row


def _mask(members: Iterable[int]) -> int:
    mask = 0
    for j in members:
        mask |= 1 << j
    return mask


def _members(keys: Keys, p: int) -> NDArray[np.bool_]:
    if keys.ndim == 1:
        wide = np.ascontiguousarray(keys.astype(f"<u{keys.itemsize}"))
        octets = wide.view(np.uint8).reshape(len(keys), keys.itemsize)
    else:
        octets = keys
    return np.unpackbits(octets, axis=1, count=p, bitorder="little").astype(np.bool_)


def _by_size(law: dict[int, Fraction], p: int) -> NDArray[np.float64]:
    return np.array([float(law.get(k, 0)) for k in range(p + 1)])


def _sizes_json(sizes: Sizes) -> list[list[int | str]]:
    return [[k, json_integer(weight)] for k, weight in sizes]


def _sizes_from_json(sizes: object) -> Sizes:
    if not isinstance(sizes, list) or not all(isinstance(one, list) and len(one) == 2 for one in sizes):
        raise ChannelError(
            'A law of sizes is written as pairs of a size and its weight, [[2, 1], [3, 2]], or "uniform".'
        )
    return tuple((integer_from_json(k), integer_from_json(weight)) for k, weight in sizes)
