"""Exact draws and exact counts for columns of data: the vectorised twin of `choose`.

Same laws as the one-at-a-time samplers, from integer thresholds and AES words. Work goes block by block so
that what is between the words and the reports stays in cache. A subset is a bit mask: category j is bit j of
an unsigned integer or, above 64 categories, bit j & 7 of byte j >> 3 of a row of bytes.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import accumulate, combinations
from math import comb
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from reticent.choose import WORD, Words
from reticent.errors import AnswerError, ParameterError
from reticent.keys import Keys, key_dtype

__all__ = ["count_keys", "inverse_cdf", "subset_masks", "symmetric"]

Codes = NDArray[np.int64]

BLOCK_BYTES = 2**18
TABLE_LIMIT = 2**16
"""Up to this many subsets of one size are listed and looked up; above, Floyd's algorithm draws them."""
COUNTER_LIMIT = 2**20
"""Up to this many possible keys have a counter each; above, keys are sorted."""


def subset_masks(
    codes: Codes,
    n_categories: int,
    words: Words,
    size_weights: Mapping[int, int] | Literal["uniform"],
    contains: NDArray[np.bool_] | bool = True,
) -> Keys:
    """One random subset for each answer, holding it where `contains` is true and avoiding it elsewhere.

    P(size = k) = size_weights[k] / sum(size_weights), and given its size a subset is uniform. "uniform" makes
    all subsets of 2 to n_categories - 2 categories that hold (or avoid) the answer equally likely.

    Source: Wang and Ding, Subset Privacy, arXiv 2107.02013 (their p is n_categories).
    Shapes: codes (n,); masks (n,) unsigned or, above 64 categories, (n, ceil(n_categories / 8)) uint8.
    Raises AnswerError if a code is not in 0..n_categories-1, ParameterError if no subset has such a size.

    >>> subset_masks(np.array([0, 1, 2]), 4, Words(seed=1), {2: 1}).tolist()
    [9, 6, 6]
    """
    _check_codes(codes, n_categories)
    holds = np.broadcast_to(np.asarray(contains, dtype=bool), codes.shape)
    _check_sizes(n_categories, size_weights, holds)
    width = (n_categories + 7) // 8
    shape = codes.shape if n_categories <= 64 else (codes.size, width)
    masks = np.empty(shape, dtype=key_dtype(n_categories))
    rows = max(1, BLOCK_BYTES // max(8, width))
    for start in range(0, codes.size, rows):
        block = slice(start, start + rows)
        if not isinstance(size_weights, str):
            _of_drawn_size(masks[block], codes[block], n_categories, words, size_weights, holds[block])
        elif n_categories <= 64:
            _uniform(masks[block], codes[block], n_categories, words, holds[block])
        else:
            _uniform_wide(masks[block], codes[block], n_categories, words, holds[block])
    return masks


def inverse_cdf(codes: Codes, weights: Sequence[Sequence[int]], denominator: int, words: Words) -> NDArray[Any]:
    """One cell for each answer x, with P(cell = i | x) = weights[i][x] / denominator exactly.

    A 64-bit word is read against the floors of 2**64 times the cumulative probabilities. A word that equals
    one of them (once in 2**64 times) is extended by further words until it falls on one side.

    Shapes: codes (n,); weights (n_cells, n_categories) of integers, each column summing to the denominator.
    Raises AnswerError if a code has no column, ParameterError if a column does not sum to the denominator.

    >>> inverse_cdf(np.array([0, 0, 1]), [[1, 0], [1, 3], [1, 0]], 3, Words(seed=1)).tolist()
    [2, 0, 1]
    """
    _check_codes(codes, len(weights[0]))
    cells = np.empty(codes.shape, dtype=np.min_scalar_type(len(weights) - 1))
    order = np.argsort(codes.astype(np.min_scalar_type(len(weights[0]))), kind="stable")
    ends = np.cumsum(np.bincount(codes, minlength=len(weights[0])))
    for x, lanes in enumerate(np.split(order, ends[:-1])):
        if lanes.size:
            cells[lanes] = _cells([row[x] for row in weights], denominator, words, lanes.size)
    return cells


def symmetric(codes: Codes, n_categories: int, threshold: int, words: Words) -> NDArray[Any]:
    """Randomised response: the answer with probability threshold / 2**64, else a uniform other category.

    Raises AnswerError if a code is not in 0..n_categories-1.

    >>> symmetric(np.array([0, 1, 2]), 3, 2**63, Words(seed=1)).tolist()
    [2, 0, 0]
    """
    _check_codes(codes, n_categories)
    reports = np.empty(codes.shape, dtype=np.min_scalar_type(n_categories - 1))
    rows = BLOCK_BYTES // 8
    for start in range(0, codes.size, rows):
        own = codes[start : start + rows].astype(reports.dtype)
        other = words.below(max(1, n_categories - 1), own.size).astype(reports.dtype, copy=False)
        other += other >= own
        reports[start : start + rows] = np.where(words.bern(threshold, own.size), own, other)
    return reports


def count_keys(keys: Keys, counts: NDArray[np.int64] | None = None) -> tuple[Keys, NDArray[np.int64]]:
    """The different keys, sorted, and how often each occurs (or the sum of its `counts`).

    Rows of bytes are sorted byte by byte from the left, as `np.unique(axis=0)` does.

    >>> count_keys(np.array([3, 1, 3], dtype=np.uint8))
    (array([1, 3], dtype=uint8), array([1, 2]))
    """
    if keys.shape[0] == 0:
        return keys[:0].copy(), np.zeros(0, dtype=np.int64)
    if keys.ndim == 1 and counts is None and (keys.itemsize == 1 or int(keys.max()) < COUNTER_LIMIT):
        return _count_by_counters(keys)
    if keys.ndim == 1 and counts is None:
        ordered = np.sort(keys)
        starts = _starts(ordered[1:] == ordered[:-1])
        return ordered[starts], np.diff(starts, append=keys.size)
    if keys.ndim == 1:
        order = np.argsort(keys)
        ordered = keys[order]
        starts = _starts(ordered[1:] == ordered[:-1])
    else:
        order, same = _row_order(keys)
        starts = _starts(same)
    sums = np.diff(starts, append=order.size) if counts is None else np.add.reduceat(counts[order], starts)
    return keys[order[starts]], sums


def _uniform(masks: Keys, codes: Codes, n_categories: int, words: Words, holds: NDArray[np.bool_]) -> None:
    """Uniform design up to 64 categories: the other categories' bits, then the own bit put between them."""
    if n_categories <= 8:
        table = _uniform_table(n_categories)
        n_subsets = table.shape[1]
        index = codes * n_subsets
        index += words.below(n_subsets, codes.size)
        table.ravel().take(index, out=masks, mode="clip")
    else:
        others = _others(n_categories, words, codes.size)
        again = np.flatnonzero(_too_plain(others, n_categories))
        while again.size:
            others[again] = _others(n_categories, words, again.size)
            again = again[_too_plain(others[again], n_categories)]
        own = _bits(n_categories)[codes]
        masks[:] = _spread(others, own)
        masks |= own
    if not holds.all():
        np.bitwise_xor(masks, _full(n_categories), out=masks, where=~holds)


def _others(n_categories: int, words: Words, n: int) -> Keys:
    """n_categories - 1 fair bits in each lane."""
    dtype = key_dtype(n_categories)
    drawn: Keys = words.u8(n * dtype.itemsize).view(dtype.newbyteorder("<"))
    drawn &= dtype.type((1 << (n_categories - 1)) - 1)
    return drawn


def _too_plain(others: Keys, n_categories: int) -> NDArray[np.bool_]:
    """Whether the own category with these others is a single category, or leaves out at most one."""
    size = np.bitwise_count(others)
    plain: NDArray[np.bool_] = (size == 0) | (size >= n_categories - 2)
    return plain


def _spread(others: Keys, own: Keys) -> Keys:
    """Make room for the own bit: bits at or above it move up by one, which is 2 r - (r & (own - 1))."""
    low: Keys = others & (own - own.dtype.type(1))
    moved: Keys = (others << others.dtype.type(1)) - low
    return moved


def _uniform_wide(masks: Keys, codes: Codes, n_categories: int, words: Words, holds: NDArray[np.bool_]) -> None:
    """Uniform design above 64 categories: all bits fair, the own one set, rows of a refused size again."""
    masks[:] = words.u8(masks.size).reshape(masks.shape)
    if n_categories % 8:
        masks[:, -1] &= (1 << n_categories % 8) - 1
    byte, bit = _own_bits(codes, masks.shape[1])
    flat = masks.reshape(-1)
    flat[byte] = np.where(holds, flat[byte] | bit, flat[byte] & ~bit)
    # Two ones and two zeros among the first 64 categories settle it; other rows, if ever any, are counted.
    head = np.bitwise_count(np.ascontiguousarray(masks[:, :8]).view(np.uint64)[:, 0])
    for row in np.flatnonzero((head < 2) | (head > 62)):
        size = int(np.bitwise_count(masks[row]).sum())
        if not 2 <= size <= n_categories - 2:
            one = slice(row, row + 1)
            _uniform_wide(masks[one], codes[one], n_categories, words, holds[one])


def _of_drawn_size(
    masks: Keys,
    codes: Codes,
    n_categories: int,
    words: Words,
    size_weights: Mapping[int, int],
    holds: NDArray[np.bool_],
) -> None:
    """A size for each lane, then as many other categories as it takes, lanes of one size together."""
    sizes = np.array(list(size_weights), dtype=np.int64)
    weights = list(size_weights.values())
    others = sizes[_cells(weights, sum(weights), words, codes.size)] - holds
    counts = np.bincount(others)
    for n_others in np.flatnonzero(counts).tolist():
        lanes = slice(None) if counts[n_others] == codes.size else np.flatnonzero(others == n_others)
        masks[lanes] = _other_categories(codes[lanes], n_categories, n_others, words)
    if masks.ndim == 1:
        masks |= _bits(n_categories)[codes] * holds
    else:
        byte, bit = _own_bits(codes, masks.shape[1])
        masks.reshape(-1)[byte] |= np.where(holds, bit, np.uint8(0))


def _other_categories(codes: Codes, n_categories: int, n_others: int, words: Words) -> Keys:
    """A uniform subset of n_others of the categories other than the own one."""
    if 2 * n_others > n_categories - 1:  # the ones left out are fewer
        left_out = _other_categories(codes, n_categories, n_categories - 1 - n_others, words)
        if left_out.ndim == 1:
            left_out ^= _bits(n_categories)[codes] ^ _full(n_categories)
            return left_out
        masks: Keys = left_out ^ _full_row(n_categories)
        byte, bit = _own_bits(codes, masks.shape[1])
        masks.reshape(-1)[byte] ^= bit
        return masks
    if n_categories <= 64 and comb(n_categories - 1, n_others) <= TABLE_LIMIT:
        table = _size_table(n_categories, n_others)
        return _spread(table[words.below(table.size, codes.size)], _bits(n_categories)[codes])
    return _floyd(codes, n_categories, n_others, words)


def _floyd(codes: Codes, n_categories: int, n_others: int, words: Words) -> Keys:
    """Floyd's algorithm in lanes: the drawn category or, if it is in the subset already, the new last one."""
    width = (n_categories + 7) // 8
    flat = np.zeros(codes.size * width, dtype=np.uint8)
    offset = np.arange(codes.size) * width
    for last in range(n_categories - 1 - n_others, n_categories - 1):
        drawn = words.below(last + 1, codes.size).astype(np.int64)
        drawn += drawn >= codes
        taken = (flat[offset + (drawn >> 3)] >> (drawn & 7).astype(np.uint8)) & 1
        chosen = np.where(taken, last + (last >= codes), drawn)
        flat[offset + (chosen >> 3)] |= np.left_shift(1, chosen & 7).astype(np.uint8)
    rows = flat.reshape(codes.size, width)
    if n_categories > 64:
        return rows
    dtype = key_dtype(n_categories)
    padded = np.zeros((codes.size, dtype.itemsize), dtype=np.uint8)
    padded[:, :width] = rows
    return padded.view(dtype.newbyteorder("<"))[:, 0].astype(dtype, copy=False)


def _cells(weights: Sequence[int], denominator: int, words: Words, n: int) -> NDArray[np.intp]:
    """n draws of a cell with probabilities weights / denominator."""
    cumulative = list(accumulate(weights))
    if cumulative[-1] != denominator or min(weights) < 0:
        raise ParameterError(
            f"Weights must not be negative and must sum to the denominator {denominator}; "
            f"these sum to {cumulative[-1]}.",
            denominator=denominator,
            total=cumulative[-1],
        )
    inner = [total for total in cumulative if total < denominator]
    if not any(inner):  # a single possible cell
        return np.full(n, len(inner), dtype=np.intp)
    thresholds = np.array([total * WORD // denominator for total in inner], dtype=np.uint64)
    drawn = words.u64(n)
    cells = np.searchsorted(thresholds, drawn, side="right")
    undecided = np.array([total * WORD % denominator != 0 for total in inner])
    reached = np.maximum(cells - 1, 0)
    for lane in np.flatnonzero((thresholds[reached] == drawn) & undecided[reached]):
        cells[lane] = _extend(int(drawn[lane]), cumulative, denominator, words)
    return cells


def _extend(value: int, cumulative: Sequence[int], denominator: int, words: Words) -> int:
    """The cell of the number that starts with these 64 bits; bits are drawn until it is certain."""
    scale = WORD
    while True:
        cell = next(i for i, total in enumerate(cumulative) if value * denominator < total * scale)
        if (value + 1) * denominator <= cumulative[cell] * scale:
            return cell
        value = value * WORD + int(words.u64(1)[0])
        scale *= WORD


def _count_by_counters(keys: Keys) -> tuple[Keys, NDArray[np.int64]]:
    """A counter for each possible key, in blocks that stay in cache."""
    n_counters = 256 if keys.itemsize == 1 else int(keys.max()) + 1
    counts = np.zeros(n_counters, dtype=np.int64)
    if keys.itemsize == 1:  # two keys at a time halve the increments
        paired = np.ascontiguousarray(keys[: keys.size // 2 * 2]).view(np.uint16)
        pairs = _counters(paired, 2**16).reshape(256, 256)
        counts += pairs.sum(axis=0) + pairs.sum(axis=1)
        if keys.size % 2:
            counts[keys[-1]] += 1
    else:
        counts = _counters(keys, n_counters)
    seen = np.flatnonzero(counts)
    return seen.astype(keys.dtype), counts[seen]


def _counters(keys: Keys, n_counters: int) -> NDArray[np.int64]:
    rows = max(BLOCK_BYTES // 8, 4 * n_counters)
    counts = np.zeros(n_counters, dtype=np.int64)
    for start in range(0, keys.size, rows):
        counts += np.bincount(keys[start : start + rows], minlength=n_counters)
    return counts


def _starts(same: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Where runs of equal neighbours begin; `same` says of each item but the last if it equals the next."""
    return np.concatenate([[0], np.flatnonzero(~same) + 1])


def _row_order(keys: NDArray[np.uint8]) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """The order of rows of bytes, and which of them equal the next one in that order.

    Rows are ordered by their first eight bytes, and only those still tied by the next eight, and so on.
    """
    n, width = keys.shape
    padded = np.zeros((n, -(-width // 8) * 8), dtype=np.uint8)
    padded[:, :width] = keys
    columns = padded.view(">u8").astype(np.uint64)
    order = np.argsort(columns[:, 0])
    ordered = columns[order, 0]
    same = ordered[1:] == ordered[:-1]
    for column in range(1, columns.shape[1]):
        tied = np.flatnonzero(np.append(same, False) | np.append(False, same))
        if not tied.size:
            break
        run = np.cumsum(~np.append(False, same))[tied]
        lanes = order[tied]
        value = columns[lanes, column]
        inside = np.lexsort((value, run))
        order[tied] = lanes[inside]
        value = value[inside]
        # Positions keep their run; neighbours stay tied only if they are in one run and equal here too.
        same[tied[:-1]] &= value[1:] == value[:-1]
    return order, same


@lru_cache(maxsize=16)
def _uniform_table(n_categories: int) -> Keys:
    """All subsets of the uniform design that hold x, as row x: (n_categories, 2**(p-1) - p - 1)."""
    masks = np.arange(1 << n_categories)
    size = np.bitwise_count(masks)
    fair = masks[(size >= 2) & (size <= n_categories - 2)]
    rows = [fair[fair >> x & 1 == 1] for x in range(n_categories)]
    return np.array(rows, dtype=key_dtype(n_categories))


@lru_cache(maxsize=16)
def _size_table(n_categories: int, n_others: int) -> Keys:
    """All subsets of n_others of n_categories - 1 categories."""
    chosen = combinations([1 << j for j in range(n_categories - 1)], n_others)
    return np.array([sum(bits) for bits in chosen], dtype=key_dtype(n_categories))


@lru_cache(maxsize=16)
def _bits(n_categories: int) -> Keys:
    return np.array([1 << j for j in range(n_categories)], dtype=key_dtype(n_categories))


def _full(n_categories: int) -> Any:
    return key_dtype(n_categories).type((1 << n_categories) - 1)


def _full_row(n_categories: int) -> NDArray[np.uint8]:
    return np.packbits(np.ones(n_categories, dtype=bool), bitorder="little")


def _own_bits(codes: Codes, width: int) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Where each row's own bit is in the flattened rows, and its value in that byte."""
    return np.arange(codes.size) * width + (codes >> 3), np.left_shift(1, codes & 7).astype(np.uint8)


def _check_codes(codes: Codes, n_categories: int) -> None:
    if codes.size and (codes.min() < 0 or codes.max() >= n_categories):
        raise AnswerError(
            f"Some answers are missing or outside the {n_categories} categories. "
            "Leave missing answers out before drawing reports.",
            n_categories=n_categories,
        )


def _check_sizes(
    n_categories: int, size_weights: Mapping[int, int] | Literal["uniform"], holds: NDArray[np.bool_]
) -> None:
    if isinstance(size_weights, str):
        if size_weights != "uniform":
            raise ParameterError(f'Sizes are "uniform" or integer weights by size; got "{size_weights}".')
        if n_categories < 4:
            raise ParameterError(
                f"The uniform design needs at least 4 categories; got {n_categories}.",
                n_categories=n_categories,
            )
        return
    smallest, largest = (1 if holds.any() else 0), (n_categories if holds.all() else n_categories - 1)
    wrong = [size for size, weight in size_weights.items() if weight and not smallest <= size <= largest]
    if wrong or sum(size_weights.values()) == 0:
        raise ParameterError(
            f"Subsets of {n_categories} categories have {smallest} to {largest} members here; got {wrong}.",
            sizes=wrong,
        )
