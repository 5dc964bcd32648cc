"""Words and numbers as a picture writes them: shares in per cent, labels on one or two lines, and how wide they are."""

from __future__ import annotations

import math
import textwrap
import unicodedata
from collections.abc import Sequence
from typing import TypeGuard


def percent(share: float, low: float | None = None, high: float | None = None) -> str:
    """Return a share as per cent with the digits its half-width supports, and its interval if given.

    >>> percent(0.312, 0.28, 0.34), percent(0.0312, 0.0282, 0.0342), percent(0.5), percent(1 / 2000)
    ('31% (28–34)', '3.1% (2.8–3.4)', '50%', '0.05%')
    """
    if not finite(share):
        return "–"
    if low is None or high is None or not (finite(low) and finite(high)):
        if 1e-6 <= share < 0.00995:
            return f"{100 * share:.2g}%"
        text = f"{abs(100 * share):.{0 if abs(share) >= 0.1 else 1}f}%"
        return text if share > -5e-4 else "−" + text
    half = (high - low) / 2
    digits = 0 if half >= 0.015 else 1 if half >= 0.0015 else 2
    text = f"{100 * share:.{digits}f}% ({100 * low:.{digits}f}–{100 * high:.{digits}f})"
    return text.replace("-", "−")


def percentage_points(share: float) -> str:
    """Return a share as percentage points with two significant digits.

    >>> percentage_points(0.03), percentage_points(0.0342), percentage_points(1.2)
    ('3', '3.4', '120')
    """
    return f"{100 * share:.2g}" if share < 0.995 else f"{100 * share:,.0f}"


def thousands(number: float) -> str:
    """Return a whole number with commas, in millions where it is that large.

    >>> thousands(2846), thousands(2_781_175), thousands(14_145_505)
    ('2,846', '2.8 M', '14 M')
    """
    if number < 999_500:
        return f"{number:,.0f}"
    return f"{number / 1e6:.2g} M" if number < 9.95e7 else f"{number / 1e6:,.0f} M"


def readable(label: object) -> str:
    """Return a label as one line of characters that every XML reader accepts.

    >>> readable("two\\nlines\\x00")
    'two lines'
    """
    kept = "".join(" " if unicodedata.category(c)[0] == "C" and c not in "\u200c\u200d" else c for c in str(label))
    return " ".join(kept.replace("\ufffe", "").replace("\uffff", "").split())


def finite(value: float | None) -> TypeGuard[float]:
    """Return whether there is a number, and a finite one."""
    return value is not None and math.isfinite(value)


def largest(values: Sequence[float], limit: int) -> list[int]:
    """Return all positions in their own order, or the `limit` largest in falling order if there are more."""
    if len(values) <= limit:
        return list(range(len(values)))
    return sorted(range(len(values)), key=lambda i: (-values[i], i))[:limit]


def shortened(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def wrapped(label: object, limit: int) -> str:
    """Return a label on at most two lines of `limit` characters."""
    lines = textwrap.wrap(readable(label), limit) or ["(empty)"]
    return "\n".join(lines[:2] if len(lines) <= 2 else [lines[0], shortened(" ".join(lines[1:]), limit)])


def text_width(text: str, size: float) -> float:
    """Return about how many points the widest line takes in a common system font."""
    wide = {"W", "F"}
    return max(
        sum(1.0 if unicodedata.east_asian_width(c) in wide else 0.58 for c in line) * size for line in text.split("\n")
    )
