"""Values and refusals together, from tallies of channels with refusal."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from reticent.channel import Channel, Refusable
from reticent.distributions import Nonresponse
from reticent.errors import EstimateError
from reticent.estimators.linear import MANY_CATEGORIES
from reticent.estimators.maximum_likelihood import maximum_likelihood
from reticent.likelihood import fit, maximiser_ranges
from reticent.precision import require_identifiable
from reticent.rows import DenseRows
from reticent.tallies import PatternTally, Tally, require_patterns

Floats = NDArray[np.float64]
MOST_ENTRIES = 2**23
Levels = dict[int, list[PatternTally]]


def nonresponse(*tallies: Tally) -> Nonresponse:
    """The law among those who answer, the share who refuse, and bounds for everybody, from channels with refusal.

    People who stop early are not taken to be like others: each willingness has a law of its own. Among the reports with an
    answer, P(z, tag m) ∝ Σ_{x, j ≥ m} w(x, j) P(m | j) P(z | x; m) is maximised over the masses w of (value, willingness);
    how many gave no answer says nothing of w, for nothing is known of their values. The share refusing is that of "no
    answer", less what devices dropped.

    Assumes what `with_refusal` assumes: willingness is settled before the question is drawn. Of people who decide after
    they saw their range the law is unknown, and no estimate holds; see `selective` and the `floors` of `progressive`.

    Source: section 1.5 of our specification of interval privacy, rules (b) and (c); sections 3 and 5.
    Raises EstimateError for channels without refusal, weighted tallies, tallies whose devices drop answers with different
    chances, no answer at all, a level that does not tell its values apart, or too many reports times cells.
    Warns when the solver stops early.

    >>> import reticent as rt
    >>> from reticent.mechanisms import case_one, with_refusal
    >>> channel = with_refusal(case_one(rt.Numbers("age", 0, 100, edges=[50])))
    >>> states = [("30", "1")] * 60 + [("70", "1")] * 20 + [("70", "0")] * 20
    >>> found = nonresponse(rt.tally(channel.draw_many(states, seed=1)))
    >>> found.refusing, found.probabilities.round(6).tolist(), [end.round(6).tolist() for end in found.bounds()]
    (0.2, [0.75, 0.25], [[0.6], [0.8]])
    """
    patterns = _checked(tallies)
    channel = _channel(patterns[0])
    answered, parts = _sorted_out(patterns)
    if not answered[1:].any():
        raise EstimateError("Nobody answered, so nothing is known but that people refuse.")
    for level in parts.values():
        require_identifiable(*(tally.channel for tally in level))
    rows, counts = _rows(patterns)
    found = fit(rows, counts)
    if not found.converged:
        warnings.warn(f"The solver stopped after {found.steps} steps with gap {found.gap:.1e}.", stacklevel=2)
    unique = None
    if rows.n_categories <= MANY_CATEGORIES:
        low, high = maximiser_ranges(rows, counts, found)
        unique = bool((high - low).max() <= 1e-6)
    full = parts.get(channel.most)
    return Nonresponse(
        question=channel.question,
        tallies=patterns,
        answered=answered,
        dropped=float(channel.dropped),
        masses=found.probabilities.reshape(len(channel.question), channel.most),
        fit=found,
        rows=rows,
        counts=counts,
        unique=unique,
        alike=maximum_likelihood(*(tally for level in parts.values() for tally in level)).probabilities,
        full=None if full is None else maximum_likelihood(*full).probabilities,
    )


def _checked(tallies: Sequence[Tally]) -> tuple[PatternTally, ...]:
    patterns = require_patterns(tallies)
    for one in patterns:
        if not isinstance(one.channel, Refusable):
            raise EstimateError(
                f"{one.channel.name} has no refusals. Ask through with_refusal(channel), with willingness settled before the "
                "question is drawn. If people decided after they saw their range, the law of refusal is unknown and no "
                "estimate holds; let devices decide by a known law: selective, or progressive with floors."
            )
    counted = tuple(one for one in patterns if isinstance(one, PatternTally))
    if len(counted) < len(patterns):
        raise EstimateError(
            "Sums of weights are not counts, and the share refusing is a count. Give tallies without weights."
        )
    if len({_channel(one).dropped for one in counted}) > 1:
        raise EstimateError(
            "The devices of these tallies drop answers with different chances, so that their shares of silence mean different "
            "things. Estimate each tally by itself."
        )
    return counted


def _channel(tally: PatternTally) -> Refusable:
    assert isinstance(tally.channel, Refusable)
    return tally.channel


def _sorted_out(patterns: Sequence[PatternTally]) -> tuple[NDArray[np.int64], Levels]:
    """Counts of reports by tag, and for each tag above 0 the tallies of its level, those of one channel added."""
    answered = np.zeros(_channel(patterns[0]).most + 1, dtype=np.int64)
    levels: dict[int, dict[Channel, PatternTally]] = {}
    for one in patterns:
        channel = _channel(one)
        np.add.at(answered, channel.split(one.keys)[0], one.counts)
        for tag, place, own in channel.by_tag(one.keys):
            level, known = channel.levels[tag - 1], levels.setdefault(tag, {})
            tally = PatternTally(level, own, one.counts[place], 0, one.simulated)
            known[level] = known[level] + tally if level in known else tally
    return answered, {tag: list(levels[tag].values()) for tag in sorted(levels)}


def _rows(patterns: Sequence[PatternTally]) -> tuple[DenseRows, Floats]:
    """Likelihood rows of the reports with an answer over (value, willingness 1..k), each scaled to 1, and their counts."""
    most, values = _channel(patterns[0]).most, len(_channel(patterns[0]).question)
    told = [_channel(one).split(one.keys)[0] > 0 for one in patterns]
    n_rows = int(sum(kept.sum() for kept in told))
    if n_rows * values * (most + 1) > MOST_ENTRIES:
        raise EstimateError(
            f"{n_rows:,} different reports on {values} cells with up to {most} answers are too many to read together (at most "
            f"{MOST_ENTRIES:,} entries). Join cells, or ask fewer questions.",
            n_rows=n_rows,
        )
    pieces = []
    for one, kept in zip(patterns, told, strict=True):
        matrix = one.channel.rows(one.keys[kept]).dense() if kept.any() else np.zeros((0, values * (most + 1)))
        pieces.append(matrix.reshape(-1, values, most + 1)[:, :, 1:].reshape(-1, values * most))
    matrix = np.vstack(pieces)
    counts = np.concatenate([one.counts[kept] for one, kept in zip(patterns, told, strict=True)])
    return DenseRows(matrix / matrix.max(axis=1, keepdims=True)), counts.astype(np.float64)
