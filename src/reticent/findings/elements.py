"""The pieces a page is made of: words as safe HTML, numbers as text, figures with their data beside them."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, SupportsFloat
from urllib.parse import quote

from reticent import plots
from reticent.plots import readable

TABLE_ROWS = 100  # of the largest; the download has more, and keeps the page small
DOWNLOAD_ROWS = 400


def figure(picture: str, caption: str, table: str) -> str:
    return f"<figure>{picture}<figcaption>{caption}</figcaption>{table}</figure>"


def data(head: Sequence[str], body: Sequence[Sequence[str]], full: Any, name: str) -> str:
    """Return a closed table of a figure's numbers, with the same numbers to download as JSON."""
    size = len(full) if isinstance(full, Sequence) else len(full.get("per_category", ()))
    more = f"<p>The {len(body):,} largest of {size:,}.</p>" if size > len(body) else ""
    if isinstance(full, Sequence) and size > DOWNLOAD_ROWS:
        full = [full[i] for i in plots.largest([number(r.get("estimate")) or 0.0 for r in full], DOWNLOAD_ROWS)]
    elif size > DOWNLOAD_ROWS:
        full = {**full, "per_category": full["per_category"][:DOWNLOAD_ROWS]}
    text = json.dumps(strict(full), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    address = "data:application/json;charset=utf-8," + quote(text, safe=SAFE, errors="replace")
    link = f'<a download="{escape(name)}.json" href="{address}">JSON</a>'
    top = "".join(f'<th scope="col">{words(h)}</th>' for h in head)
    lines = "".join("<tr>" + "".join(f"<td>{words(cell)}</td>" for cell in line) + "</tr>" for line in body)
    return (
        f'<details><summary>data</summary><div class="scroll"><table><thead><tr>{top}</tr></thead>'
        f"<tbody>{lines}</tbody></table></div>{more}<p>{link}</p></details>"
    )


SAFE = ",:;[]{}()@!*/?$=+.-_~"  # allowed unescaped in the path of a data URI inside a quoted attribute

KEYS = {
    "estimate": '<path d="M2 4h20" stroke="var(--estimate)" stroke-width="1.6"/>'
    '<circle cx="12" cy="4" r="3.4" fill="var(--estimate)"/>',
    "truth": '<path d="M12 -.4l4.4 4.4-4.4 4.4-4.4-4.4z" fill="var(--truth)" stroke="currentColor"/>',
    "curve": '<path d="M2 7h7v-3h6v-3h7" fill="none" stroke="var(--estimate)" stroke-width="1.8"/>',
    "true": '<path d="M2 4h20" stroke="var(--truth)" stroke-width="3.4"/>',
    "cells": '<path d="M2 0h20v8h-20z" fill="var(--light)" fill-opacity="0.5"/>',
    "band": '<path d="M2 0h20v8h-20z" fill="var(--estimate)" fill-opacity="0.14"/>'
    '<path d="M2 0h20M2 8h20" stroke="var(--estimate)" stroke-width="0.8"/>',
    "free": '<circle cx="12" cy="4" r="3.3" fill="none" stroke="var(--light)" stroke-width="1.5"/>',
}


def key(mark: str, meaning: str) -> str:
    """Return one mark of a picture and its meaning, for the caption."""
    picture = f'<svg viewBox="0 -1 24 10" aria-hidden="true">{KEYS[mark]}</svg>'
    return f'<span class="key">{picture}{words(meaning)}</span> '


def paragraph(text: object) -> str:
    return f"<p>{words(text)}</p>"


def words(text: object) -> str:
    """Return any text as one safe line of HTML."""
    return escape(readable(text))


def number(value: object) -> float | None:
    """Return a finite number, or None for nothing, infinity ("inf" in JSON) and not-a-number."""
    if not isinstance(value, (str, SupportsFloat)):
        return None
    try:
        read = float(value)
    except (TypeError, ValueError):
        return None
    return read if math.isfinite(read) else None


def float_of(value: float | None) -> float:
    return math.nan if value is None else value


def decimal(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}".replace("-", "−")


def measured(value: float | None, low: float | None = None, high: float | None = None) -> str:
    """Return a number and its interval with the digits that its half-width supports; an end may be open.

    >>> measured(41.3556, 41.1271, 41.5855), measured(2300.0, 2000.0, None), measured(40.0), measured(-1.25, -2.0, 0.5)
    ('41.36 (41.13–41.59)', '2,300 (from 2,000)', '40', '−1.2 (−2.0 to 0.5)')
    """
    if value is None:
        return "–"
    if low is None and high is None:
        return f"{value:,.6g}".replace("-", "−")
    if low is None or high is None:
        end = f"up to {high:,.6g}" if low is None else f"from {low:,.6g}"
        return f"{value:,.6g} ({end})".replace("-", "−")
    half = (high - low) / 2
    digits = max(0, 1 - math.floor(math.log10(half))) if half > 0 else 0
    between = " to " if low < 0 else "–"
    return f"{value:,.{digits}f} ({low:,.{digits}f}{between}{high:,.{digits}f})".replace("-", "−")


def precise(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.2f}%".replace("-", "−")


def strict(value: Any) -> Any:
    """Return the value with infinities as the string "inf", so that any JSON reader accepts it."""
    if isinstance(value, Mapping):
        return {str(k): strict(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [strict(v) for v in value]
    if value is None or isinstance(value, (bool, int, str)):
        return value
    read = float(value)
    return read if math.isfinite(read) else None if math.isnan(read) else "inf" if read > 0 else "-inf"
