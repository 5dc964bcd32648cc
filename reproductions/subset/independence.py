"""Tests of independence of two questions from the reports, on many tables at once: p-values of shape `(n_tables,)`.

Tables have shape `(n_tables, s, r)`: how many people sent report a to the first question and b to the second. With
channels K_A (s, p) and K_B (r, q) the answers are independent exactly when the reports are. The letters and formulas are
those of section 13 of our specification.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2, norm

import reticent as rt
from reproductions.subset.adult import Floats
from reticent.channel import Product
from reticent.likelihood import simplex_projection

Tables = NDArray[np.int64]


def pearson(tables: Tables) -> Floats:
    """Pearson's chi-square of the reports themselves, without the empty rows and columns."""
    n = tables.sum(axis=(1, 2))
    rows, columns = tables.sum(axis=2), tables.sum(axis=1)
    expected = rows[:, :, None] * columns[:, None, :] / n[:, None, None]
    terms = np.divide((tables - expected) ** 2, expected, out=np.zeros_like(expected), where=expected > 0)
    freedom = ((rows > 0).sum(axis=1) - 1) * ((columns > 0).sum(axis=1) - 1)
    return np.asarray(chi2.sf(terms.sum(axis=(1, 2)), freedom))


def likelihood_ratio(channel: Product, tables: Tables) -> Floats:
    """T = 2 [ℓ(Ŵ) − ℓ(ŵ_X ŵ_Yᵀ)] with maximum likelihood estimates, on (p − 1)(q − 1) degrees of freedom."""
    first, second = channel.channels
    together, apart = [], []
    for table in tables:
        together.append(_fitted(channel, table.ravel()))
        apart.append(np.outer(_fitted(first, table.sum(axis=1)), _fitted(second, table.sum(axis=0))).ravel())
    return _ratio(channel, tables, np.array(together), np.array(apart))


def moments_ratio(channel: Product, tables: Tables) -> Floats:
    """The same statistic with moment estimates on the simplex, moved inside by 1/n: conservative."""
    scores, n = _scores(channel), tables.sum(axis=(1, 2))[:, None]
    f = tables / n[:, :, None]
    cells = np.einsum("tab,aj,bk->tjk", f, *scores).reshape(len(tables), -1)
    margins = [np.einsum("tab,aj->tj", f, scores[0]), np.einsum("tab,bk->tk", f, scores[1])]
    together, first, second = (
        (1 - 1 / n) * np.array([simplex_projection(row) for row in linear]) + 1 / (n * linear.shape[1])
        for linear in (cells, *margins)
    )
    return _ratio(channel, tables, together, (first[:, :, None] * second[:, None, :]).reshape(len(tables), -1))


def bonferroni(channel: Product, tables: Tables) -> Floats:
    """min(1, m 2Φ(−max |z_jk|)): z_jk = √n times the correlation of the scores of categories j and k.

    m counts the cells, a question of two answers once, since its two scores are negatives of each other.
    """
    scores, n = _scores(channel), tables.sum(axis=(1, 2))
    f = tables / n[:, None, None]
    joint = np.einsum("tab,aj,bk->tjk", f, *scores)
    means, spreads = [], []
    for margin, own in zip((f.sum(axis=2), f.sum(axis=1)), scores, strict=True):
        means.append(margin @ own)
        spreads.append(np.sqrt(margin @ own**2 - means[-1] ** 2))
    covariance = joint - means[0][:, :, None] * means[1][:, None, :]
    z = np.sqrt(n)[:, None, None] * covariance / (spreads[0][:, :, None] * spreads[1][:, None, :])
    cells = np.prod([1 if own.shape[1] == 2 else own.shape[1] for own in scores])
    return np.minimum(1.0, cells * 2 * norm.sf(np.abs(z).max(axis=(1, 2))))


def pair_matrix(channel: Product) -> Floats:
    """P(a, b | x, y), one row for each pair of reports in the order of a table, one column for each pair of answers."""
    first, second = channel.channels
    return np.kron(first.matrix(), second.matrix())


def _pair_keys(channel: Product) -> NDArray[Any]:
    """The keys of the product channel in the order of a table."""
    keys = channel.keys()
    places = [
        np.searchsorted(part.keys(), own) for part, own in zip(channel.channels, channel.split(keys), strict=True)
    ]
    return np.asarray(keys[np.lexsort(places[::-1])])


def _fitted(channel: rt.Channel, counts: NDArray[np.int64]) -> Floats:
    keys = _pair_keys(channel) if isinstance(channel, Product) else channel.keys()
    tally = rt.PatternTally.from_counts(channel, dict(zip(keys.tolist(), counts.tolist(), strict=True)))
    return rt.maximum_likelihood(tally).probabilities


def _ratio(channel: Product, tables: Tables, together: Floats, apart: Floats) -> Floats:
    counts, matrix = tables.reshape(len(tables), -1), pair_matrix(channel).T
    with np.errstate(divide="ignore"):
        logs = [np.where(counts > 0, np.log(shares @ matrix), 0.0) for shares in (together, apart)]
    freedom = np.prod([part.n_categories - 1 for part in channel.channels])
    return np.asarray(chi2.sf(2 * (counts * (logs[0] - logs[1])).sum(axis=1), freedom))


def _scores(channel: Product) -> tuple[Floats, Floats]:
    """diag(1/Kw) K J(w)⁻¹ of each question at equal shares w, shape `(n_reports, n_categories)`."""
    first, second = (_efficient(part.matrix()) for part in channel.channels)
    return first, second


def _efficient(matrix: Floats) -> Floats:
    chance = matrix.mean(axis=1)
    rows = matrix / chance[:, None]
    return np.asarray(rows @ np.linalg.inv(rows.T @ matrix))
