"""The law of a number from tallies of its reports."""

from __future__ import annotations

import warnings

import numpy as np

from reticent.channel import Refusable
from reticent.distributions.law import Floats
from reticent.distributions.tallied import TalliedDistribution, cell_ends
from reticent.domain import Numbers
from reticent.errors import EstimateError
from reticent.estimators.maximum_likelihood import maximum_likelihood
from reticent.results import Shares
from reticent.tallies import Tally, check_tallies, stack


def distribution(*tallies: Tally) -> TalliedDistribution:
    """The law of a number under which the tallied reports are most likely, as masses on the cells of its grid.

    `maximum_likelihood` on the cells of a `Numbers` domain, read as a law: distribution function, quantiles and moments,
    each with its uncertainty, and what reports gave away. Several tallies (two waves, two laws of anchors) are read
    together. "No range" enters with its own likelihood, 1 − rho · a(cell), so that silence does not bias the law.

    Source: Ding and Ding, Interval Privacy (arXiv 2106.09565); sections 3, 4.4 and 5 of our specification.
    Raises EstimateError for tallies of categories rather than numbers, and what `maximum_likelihood` raises: empty
    tallies, different domains, reports that cannot tell the cells apart. Warns when the reports all agree.

    >>> import reticent as rt
    >>> from reticent.domain import Numbers
    >>> from reticent.mechanisms.ranges import ring
    >>> channel = ring(Numbers("age", 0, 100, unit="years", edges=[20, 40, 60, 80]), 0.2)
    >>> law = distribution(rt.tally(channel.draw_many([30] * 300 + [50] * 300 + [70] * 400, seed=1)))
    >>> bool(abs(law.cdf(60.0) - 0.6) < 0.1), law.quantile(0.5), law.converged
    (True, 60.0, True)
    """
    check_tallies(tallies)
    domain = tallies[0].channel.domain
    if isinstance(tallies[0].channel, Refusable):
        raise EstimateError(
            "Some people refuse, and nothing is known of their numbers. nonresponse(tally) has the law of those who answer, the "
            "share who refuse, and bounds for everybody."
        )
    if not isinstance(domain, Numbers):
        raise EstimateError(
            f'"{domain.name}" has categories, not numbers, so it has shares and no distribution function; use '
            "maximum_likelihood. For a distribution declare it as Numbers."
        )
    shares = maximum_likelihood(*tallies)
    left, right = cell_ends(domain)
    (held,) = np.nonzero(shares.probabilities)
    degenerate = len(held) == 1 and _all_agree(shares)
    if degenerate:
        warnings.warn(
            "All reports name the same side, so all mass is at one end of the domain and nothing else is known. Ask at "
            "thresholds that lie among the numbers.",
            stacklevel=2,
        )
    fit = shares.fit
    assert fit is not None
    return TalliedDistribution(
        left=left[held],
        right=right[held],
        mass=shares.probabilities[held],
        n=float(shares.n),
        log_likelihood=fit.log_likelihood,
        gap=fit.gap,
        shortfall=fit.shortfall,
        converged=fit.converged,
        iterations=fit.steps,
        unique=shares.unique,
        degenerate=degenerate,
        domain=(float(domain.low), float(domain.high)),
        closed=domain.step is not None,
        edges=domain.boundaries,
        shares=shares,
    )


def _all_agree(shares: Shares) -> bool:
    """Whether each report that says something says "up to", or each says "above"."""
    rows, _ = stack(shares.tallies)
    held: Floats = (rows.dense() > 0).astype(np.float64)
    steps = np.diff(held, axis=1)
    return bool((steps <= 0).all() or (steps >= 0).all())
