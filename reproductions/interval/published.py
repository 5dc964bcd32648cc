"""The numbers of section 8 of our specification: an earlier simulation of Table II, by other code and other seeds.

The entries of the published table were not found.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

EARLIER = 4000  # its replicates


@dataclass(frozen=True)
class Printed:
    """Mean, standard deviation and root mean squared error as printed."""

    mean: str
    sd: str
    rmse: str

    @property
    def mean_value(self) -> float:
        """The mean."""
        return float(self.mean)

    @property
    def sd_value(self) -> float:
        """The standard deviation."""
        return float(self.sd)

    def half_unit(self, which: Literal["mean", "sd"]) -> float:
        """The largest error of rounding.

        >>> round(Printed("9981", "0.17", "9980").half_unit("sd"), 6)
        0.005
        """
        text = self.mean if which == "mean" else self.sd
        return 0.5 * 10.0 ** -len(text.partition(".")[2])


_ROWS = {
    ("mean", 0): "0.503 0.400 0.400 | 0.505 0.351 0.351 | 0.504 0.366 0.366 | 0.500 0.100 0.100 | 0.500 0.124 0.124",
    ("mean", 1): "0.586 0.412 0.420 | 0.580 0.358 0.367 | 0.577 0.376 0.384 | 10.48 0.099 9.98 | 0.509 0.126 0.126",
    ("mean", 5): "0.924 0.446 0.615 | 0.937 0.394 0.589 | 0.933 0.408 0.595 | 50.43 0.097 49.9 | 0.566 0.127 0.143",
    ("square", 0): "1.248 0.465 0.465 | 1.268 0.403 0.404 | 1.244 0.425 0.425 | 1.251 0.171 0.171 | 0.590 0.135 0.674",
    ("square", 1): "1.425 0.464 0.496 | 1.445 0.404 0.449 | 1.421 0.424 0.457 | 9981 0.17 9980 | 0.608 0.140 0.657",
    ("square", 5): "2.110 0.455 0.973 | 2.138 0.396 0.973 | 2.111 0.417 0.956 | 49901 0.17 49900 | 0.665 0.152 0.604",
}
_METHODS = ("ipw", "npmle", "cross_fit", "mean", "median")

# (target, outliers in 100, method) -> the entry.
TABLE = {
    (target, outliers, method): Printed(*entry.split())
    for (target, outliers), row in _ROWS.items()
    for method, entry in zip(_METHODS, row.split("|"), strict=True)
}
