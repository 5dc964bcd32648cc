"""The known density of the thresholds, which every estimator that divides by it needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from reticent.errors import EstimateError, ParameterError, ReportError
from reticent.thresholds.answers import Floats, Merged

Domain = tuple[float, float]
EVERYWHERE: Domain = (-np.inf, np.inf)
PROBES = 1001


@runtime_checkable
class ThresholdLaw(Protocol):
    """The law that thresholds were drawn from; any frozen continuous distribution of scipy.stats is one."""

    def pdf(self, x: ArrayLike) -> Any:
        """Density."""
        ...

    def support(self) -> tuple[float, float]:
        """Ends of the support."""
        ...

    def median(self) -> float:
        """Median."""
        ...


@dataclass(frozen=True, eq=False)
class AnchorDensity:
    """Σ_j g_j, the density of all thresholds of one person, on [low, high]."""

    laws: tuple[ThresholdLaw, ...]
    low: float
    high: float

    def at(self, thresholds: Floats) -> Floats:
        """Σ_j g_j(u). Raises ReportError where it is 0: such a threshold cannot have been drawn."""
        density = self._sum(thresholds)
        impossible = ~(np.isfinite(density) & (density > 0))
        if impossible.any():
            raise ReportError(
                f"{int(impossible.sum())} of {thresholds.size} thresholds have density 0 under the law given; give the law that "
                "was really used.",
                impossible=int(impossible.sum()),
            )
        return density

    def _sum(self, at: Floats) -> Floats:
        return np.asarray(sum(np.asarray(law.pdf(at), dtype=np.float64) for law in self.laws))

    def is_zero_between(self, low: float, high: float) -> bool:
        """Whether the density is 0 somewhere strictly between, at one of a thousand places."""
        return bool(low < high and not (self._sum(np.linspace(low, high, PROBES)[1:-1]) > 0).all())

    def reference(self, c: float | None) -> float:
        """The reference point, by default the mean of the laws' medians. Raises ParameterError outside the support."""
        if c is None:
            c = float(np.mean([law.median() for law in self.laws]))
        if not (self.low <= c <= self.high and np.isfinite(c)):
            raise ParameterError(
                f"c is {c}; it must lie where thresholds are drawn, in [{self.low:g}, {self.high:g}], near the median of the "
                "values if possible.",
                c=c,
            )
        return float(c)


def anchor_density(anchors: ThresholdLaw | Sequence[ThresholdLaw] | None, n_thresholds: int = 1) -> AnchorDensity:
    """Raises ParameterError when the law is missing, is no density, or their number is not that of the thresholds."""
    if anchors is None:
        raise ParameterError(
            "This estimator divides by the density of the thresholds, which is not given. Pass anchors= (for example "
            "scipy.stats.uniform(low, width)), or use npmle_plug_in, which needs no density."
        )
    laws = tuple(anchors) if isinstance(anchors, Sequence) else (anchors,)
    for law in laws:
        if not isinstance(law, ThresholdLaw):
            raise ParameterError(
                f"{type(law).__name__} is no law of thresholds: it needs pdf, support and median, as the frozen continuous "
                "distributions of scipy.stats have. Thresholds on a grid have no density: use npmle_plug_in."
            )
    if len(laws) != n_thresholds:
        raise ParameterError(
            f"{len(laws)} laws for {n_thresholds} thresholds per person; give the marginal law of each threshold.",
            laws=len(laws),
            thresholds=n_thresholds,
        )
    ends = np.array([law.support() for law in laws], dtype=np.float64)
    return AnchorDensity(laws, float(ends[:, 0].min()), float(ends[:, 1].max()))


def clipped_to(density: AnchorDensity, domain: Domain, clip: bool, thresholds: Floats) -> Domain | None:
    """None when thresholds are drawn all over the domain, else the interval that values are clipped to.

    Raises ParameterError when values may lie where no threshold is drawn and `clip` does not say that this is meant, or
    when the density is 0 somewhere between.
    """
    low, high = domain
    if not low < high:
        raise ParameterError(f"The domain is [{low}, {high}]; give low < high.")
    _refuse_gaps(density, domain, thresholds)
    if density.low <= low and density.high >= high:
        return None
    if not clip:
        raise ParameterError(
            f"Thresholds are drawn on [{density.low:g}, {density.high:g}], but values may lie anywhere in [{low:g}, {high:g}]. "
            "Declare the domain if it is smaller, or say clip=True to estimate E h of the values clipped to where thresholds "
            "are drawn.",
            support=(density.low, density.high),
            domain=domain,
        )
    return density.low, density.high


def _refuse_gaps(density: AnchorDensity, domain: Domain, thresholds: Floats) -> None:
    """Between the ends (or, where those are infinite, the outermost thresholds) the density must be positive."""
    low, high = max(density.low, domain[0]), min(density.high, domain[1])
    low = low if np.isfinite(low) else float(thresholds.min())
    high = high if np.isfinite(high) else float(thresholds.max())
    if density.is_zero_between(low, high):
        raise ParameterError(
            "The law of the thresholds has density 0 in a part of the domain, so what lies there is not identified. Use "
            "npmle_plug_in, which bounds it."
        )


def refuse_grid(merged: Merged) -> None:
    """Raises EstimateError when the thresholds lie on a coarse grid: F between its points, and so E h(Y), is not known."""
    if merged.coarse:
        raise EstimateError(
            f"{merged.n:,.0f} answers fall on {len(merged.threshold):,} thresholds: they lie on a grid, which has no density, and "
            "only bounds for E h(Y) are known. Use npmle_plug_in: its lowest and highest are those bounds.",
            distinct=len(merged.threshold),
        )


def in_words(name: str, clipped: Domain | None) -> str:
    """What is estimated.

    >>> in_words("mean", (-3.0, 3.0))
    'mean of the values clipped to [-3, 3]'
    """
    return f"{name} of the values" + ("" if clipped is None else f" clipped to [{clipped[0]:g}, {clipped[1]:g}]")
