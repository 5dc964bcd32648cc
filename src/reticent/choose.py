"""Exact random choices on a source of bytes.

Everything random in the package goes through four primitives with integer weights: `bern`, `below`,
`subset` and `pick`. They run on the operating system's entropy (respondents), on a seeded stream (golden
values, simulation) or on an exhaustive replay that returns the law itself as fractions. No probability is
ever a float.
"""

import hashlib
import hmac
import os
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from itertools import accumulate, combinations, count
from math import comb, inf, nextafter
from typing import Any, Protocol, TypeVar

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from reticent.errors import ParameterError

__all__ = [
    "ByteSource",
    "Source",
    "Words",
    "derived",
    "enumerate_law",
    "exp_lower_bound",
    "from_os",
    "log_upper_bound",
    "seeded",
]

T = TypeVar("T")
WORD = 2**64
"""Denominator of every threshold: `bern(threshold)` is true with probability threshold / 2**64."""
_SECRET_BYTES = 32


class Source(Protocol):
    """The four ways to choose. Each call is one atomic choice for the enumerator."""

    def bern(self, threshold: int) -> bool:
        """True with probability exactly threshold / 2**64, for 0 <= threshold <= 2**64."""

    def below(self, m: int) -> int:
        """A uniform integer in 0..m-1."""

    def subset(self, m: int, s: int) -> tuple[int, ...]:
        """A uniform subset of s of the integers 0..m-1, sorted so that the order of drawing is lost."""

    def pick(self, weights: Sequence[int]) -> int:
        """Index i with probability weights[i] / sum(weights)."""


class ByteSource:
    """The primitives on a stream of bytes, byte for byte the same in Python and in the browser.

    `read(n)` returns the next n bytes. `subset` is R. W. Floyd's algorithm (Bentley and Floyd, A sample of
    brilliance, CACM 1987).

    >>> source = seeded(b"doctest")
    >>> source.below(6), source.subset(10, 3), source.bern(2**63)
    (1, (2, 3, 7), True)
    """

    def __init__(self, read: Callable[[int], bytes]) -> None:
        self._read = read

    def bern(self, threshold: int) -> bool:
        """True with probability exactly threshold / 2**64: bytes are compared until one differs."""
        _check_threshold(threshold)
        if threshold in (0, WORD):
            return threshold == WORD
        for wanted in threshold.to_bytes(8, "big"):
            drawn = self._read(1)[0]
            if drawn != wanted:
                return drawn < wanted
        return False

    def below(self, m: int) -> int:
        """A uniform integer in 0..m-1: the fewest bits that reach m-1, drawn again while m or more."""
        _check_size(m)
        if m == 1:
            return 0
        bits = (m - 1).bit_length()
        mask = (1 << bits) - 1
        while (drawn := int.from_bytes(self._read((bits + 7) // 8), "big") & mask) >= m:
            pass
        return drawn

    def subset(self, m: int, s: int) -> tuple[int, ...]:
        """A uniform subset of s of the integers 0..m-1, sorted, in s draws."""
        _check_subset(m, s)
        chosen: set[int] = set()
        for j in range(m - s, m):
            drawn = self.below(j + 1)
            chosen.add(j if drawn in chosen else drawn)
        return tuple(sorted(chosen))

    def pick(self, weights: Sequence[int]) -> int:
        """Index i with probability weights[i] / sum(weights): one `below` read against their sums."""
        _check_weights(weights)
        cumulative = list(accumulate(weights))
        return bisect_right(cumulative, self.below(cumulative[-1]))


def from_os() -> ByteSource:
    """The operating system's secure generator; the only source for a respondent's own answer."""
    return ByteSource(os.urandom)


def seeded(seed: bytes) -> ByteSource:
    """A repeatable stream for simulation: SHA-256(seed || 4-byte big-endian counter 0, 1, 2, ...)."""
    return _from_blocks(hashlib.sha256(seed + i.to_bytes(4, "big")).digest() for i in count())


def derived(secret: bytes, *labels: str | int) -> ByteSource:
    """The same stream for the same secret and labels, and to anyone without the secret like fresh coins.

    Block i = 0, 1, 2, … is HMAC-SHA-256(secret, labels || i in 8 bytes), big-endian. Each label is written as "t" for a
    text or "i" for an integer, the number of its bytes in 4, and its UTF-8 or decimal digits, so that no two lists of
    labels are written alike.

    Source: section 8 of our specification (a device repeats its question without storing it).
    Raises ParameterError for a secret of fewer than 32 bytes or a label that is neither text nor an integer.

    >>> secret = bytes(range(32))
    >>> derived(secret, "race", 0).below(1000) == derived(secret, "race", 0).below(1000)
    True
    """
    if not isinstance(secret, bytes) or len(secret) < _SECRET_BYTES:
        raise ParameterError(f"A secret is at least {_SECRET_BYTES} random bytes; take secrets.token_bytes(32).")
    prefix = b"".join(_label_bytes(label) for label in labels)
    return _from_blocks(hmac.digest(secret, prefix + i.to_bytes(8, "big"), "sha256") for i in count())


def _label_bytes(label: str | int) -> bytes:
    if isinstance(label, bool) or not isinstance(label, (str, int)):
        raise ParameterError(f"A label is a text or an integer, not {type(label).__name__}.")
    written = str(label).encode()
    return (b"t" if isinstance(label, str) else b"i") + len(written).to_bytes(4, "big") + written


def _from_blocks(blocks: Iterator[bytes]) -> ByteSource:
    buffer = bytearray()

    def read(n: int) -> bytes:
        while len(buffer) < n:
            buffer.extend(next(blocks))
        head = bytes(buffer[:n])
        del buffer[:n]
        return head

    return ByteSource(read)


def enumerate_law(draw: Callable[[Source], T]) -> dict[T, Fraction]:
    """The exact law of `draw`: every path of choices replayed, its probability a product of fractions.

    >>> enumerate_law(lambda source: source.below(2) + source.below(2))
    {0: Fraction(1, 4), 1: Fraction(1, 2), 2: Fraction(1, 4)}
    """
    law: dict[T, Fraction] = {}
    path: list[int] = []
    while True:
        replay = _Replay(path)
        outcome = draw(replay)
        law[outcome] = law.get(outcome, Fraction(0)) + replay.probability
        path = replay.path
        while path and path[-1] + 1 == replay.widths[len(path) - 1]:
            path.pop()
        if not path:
            return law
        path[-1] += 1


class _Replay:
    """A source that follows `path`, one option index per choice, and beyond its end the first option."""

    def __init__(self, path: list[int]) -> None:
        self.path = list(path)
        self.widths: list[int] = []
        self.probability = Fraction(1)

    def _option(self, width: int) -> int:
        if len(self.widths) == len(self.path):
            self.path.append(0)
        self.widths.append(width)
        return self.path[len(self.widths) - 1]

    def bern(self, threshold: int) -> bool:
        _check_threshold(threshold)
        return self.pick((WORD - threshold, threshold)) == 1

    def below(self, m: int) -> int:
        _check_size(m)
        self.probability /= m
        return self._option(m)

    def subset(self, m: int, s: int) -> tuple[int, ...]:
        _check_subset(m, s)
        options = list(combinations(range(m), s))
        self.probability /= comb(m, s)
        return options[self._option(len(options))]

    def pick(self, weights: Sequence[int]) -> int:
        _check_weights(weights)
        possible = [i for i, weight in enumerate(weights) if weight]
        chosen = possible[self._option(len(possible))]
        self.probability *= Fraction(weights[chosen], sum(weights))
        return chosen


class Words:
    """Random words in bulk: the keystream of AES-256 in counter mode, for columns of data.

    Without a seed the key comes from the operating system, and a forked process takes a fresh one. With a
    seed (for simulation only) the key is SHA-256 of it and the stream is the same everywhere, in a forked
    process too. Words are consecutive little-endian pieces of the stream.

    >>> Words(seed=1).u16(3).tolist()
    [49799, 28140, 30028]
    """

    _BLOCK = bytes(2**18)

    def __init__(self, seed: int | str | bytes | None = None) -> None:
        self._fixed_key = None if seed is None else hashlib.sha256(_seed_bytes(seed)).digest()
        self._rekey()

    @property
    def seeded(self) -> bool:
        """Whether the stream can be repeated, so that the reports it makes protect nobody."""
        return self._fixed_key is not None

    def _rekey(self) -> None:
        key = os.urandom(32) if self._fixed_key is None else self._fixed_key
        self._stream = Cipher(algorithms.AES256(key), modes.CTR(bytes(16))).encryptor()
        self._pid = os.getpid()

    def u8(self, n: int) -> NDArray[np.uint8]:
        """n uniform bytes."""
        if self._fixed_key is None and self._pid != os.getpid():
            self._rekey()
        out = np.empty(n + 16, dtype=np.uint8)  # update_into asks for one cipher block of slack
        for start in range(0, n, len(self._BLOCK)):
            size = min(len(self._BLOCK), n - start)
            self._stream.update_into(memoryview(self._BLOCK)[:size], out[start:].data)
        return out[:n]

    def u16(self, n: int) -> NDArray[np.uint16]:
        """n uniform 16-bit words."""
        return self.u8(2 * n).view("<u2")

    def u32(self, n: int) -> NDArray[np.uint32]:
        """n uniform 32-bit words."""
        return self.u8(4 * n).view("<u4")

    def u64(self, n: int) -> NDArray[np.uint64]:
        """n uniform 64-bit words."""
        return self.u8(8 * n).view("<u8")

    def bern(self, threshold: int, n: int) -> NDArray[np.bool_]:
        """n independent booleans, each true with probability exactly threshold / 2**64.

        16 bits decide all but one in 65,536; those few are decided by the 48 bits that follow.
        """
        _check_threshold(threshold)
        if threshold in (0, WORD):
            return np.full(n, threshold == WORD)
        head, tail = threshold >> 48, threshold & (2**48 - 1)
        drawn = self.u16(n)
        hit: NDArray[np.bool_] = drawn < head
        tied = np.flatnonzero(drawn == head)
        hit[tied] = (self.u64(tied.size) >> np.uint64(16)) < tail
        return hit

    def below(self, m: int, n: int) -> NDArray[Any]:
        """n independent uniform integers in 0..m-1, m <= 2**64, in the smallest unsigned type.

        Multiply and shift; the products whose low half would favour some integers are drawn again.
        Source: Lemire, Fast random integer generation in an interval, arXiv 1805.10941.
        """
        _check_size(m)
        if m > WORD:
            raise ParameterError(f"below takes at most 2**64 integers at once; got {m}.", m=m)
        dtype = np.min_scalar_type(m - 1)
        out = np.zeros(n, dtype=dtype)
        if m == 1:
            return out
        open_lanes: NDArray[np.intp] | slice = slice(None)
        size = n
        while size:
            out[open_lanes], biased = self._scaled(m, size)
            again = np.flatnonzero(biased)
            open_lanes = again if isinstance(open_lanes, slice) else open_lanes[again]
            size = again.size
        return out

    def _scaled(self, m: int, n: int) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """n candidates for `below` and which of them must be drawn again."""
        if m > 2**32:
            drawn = self.u64(n) & np.uint64((1 << (m - 1).bit_length()) - 1)
            return drawn, drawn > np.uint64(m - 1)
        if m > 2**8:
            wide = self.u32(n).astype(np.uint64) * np.uint64(m)
            return wide >> np.uint64(32), wide.astype(np.uint32) < 2**32 % m
        product = self.u16(n).astype(np.uint32) * np.uint32(m)
        return product >> np.uint32(16), product.astype(np.uint16) < 2**16 % m


def exp_lower_bound(epsilon: Fraction) -> Fraction:
    """A rational just below e**epsilon: never above it, relative error under 2**-150 for 0 <= epsilon <= 30.

    >>> float(exp_lower_bound(Fraction(1)))
    2.718281828459045
    """
    if not 0 <= epsilon <= 30:
        given = float(epsilon)
        raise ParameterError(f"epsilon must lie between 0 and 30; got {given:g}.", epsilon=given)
    if epsilon == 0:
        return Fraction(1)
    down = Context(prec=60, rounding=ROUND_FLOOR)
    exponent = down.divide(Decimal(epsilon.numerator), Decimal(epsilon.denominator))
    return max(Fraction(1), Fraction(down.next_minus(down.exp(exponent))))


def log_upper_bound(ratio: Fraction) -> float:
    """The natural logarithm of a positive ratio as a float, rounded up: a stated epsilon is never too small.

    >>> log_upper_bound(Fraction(3))
    1.0986122886681098
    """
    if ratio <= 0:
        raise ParameterError(f"log_upper_bound needs a positive ratio; got {ratio}.", ratio=ratio)
    if ratio == 1:
        return 0.0
    up = Context(prec=60, rounding=ROUND_CEILING)
    log = up.next_plus(up.ln(up.divide(Decimal(ratio.numerator), Decimal(ratio.denominator))))
    nearest = float(log)
    return nearest if Decimal(nearest) >= log else nextafter(nearest, inf)


def _seed_bytes(seed: int | str | bytes) -> bytes:
    """The seed with its type in front, so that 1, "1" and b"1" give different streams."""
    if isinstance(seed, bytes):
        return b"bytes:" + seed
    return f"{'text' if isinstance(seed, str) else 'int'}:{seed}".encode()


def _check_threshold(threshold: int) -> None:
    if not 0 <= threshold <= WORD:
        raise ParameterError(f"A threshold lies between 0 and 2**64; got {threshold}.", threshold=threshold)


def _check_size(m: int) -> None:
    if m < 1:
        raise ParameterError(f"There must be at least one integer to choose from; got m = {m}.", m=m)


def _check_subset(m: int, s: int) -> None:
    if not 0 <= s <= m:
        raise ParameterError(f"A subset of {m} takes between 0 and {m} of them; got {s}.", m=m, s=s)


def _check_weights(weights: Sequence[int]) -> None:
    if not weights or min(weights) < 0 or sum(weights) == 0:
        raise ParameterError("Weights are integers, none negative and not all zero.", n_weights=len(weights))
