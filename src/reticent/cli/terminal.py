"""What the commands print: tables aligned on the decimal point, JSON, hints and progress on standard error."""

from __future__ import annotations

import json
import math
import sys
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click

from reticent.results import Shares, total_text

SHOWN = 30


def print_json(value: Any) -> None:
    """One JSON document on standard output; infinity and not-a-number become "inf" and null."""
    click.echo(json.dumps(strict(value), ensure_ascii=False, indent=1))


def strict(value: Any) -> Any:
    """The value as every JSON reader accepts it."""
    if isinstance(value, dict):
        return {str(key): strict(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [strict(item) for item in value]
    if value is None or isinstance(value, (bool, int, str)):
        return value
    number = float(value)
    return number if math.isfinite(number) else None if math.isnan(number) else "inf" if number > 0 else "-inf"


def note(text: str) -> None:
    """A line on standard error."""
    click.echo(text, err=True)


def hint(command: str) -> None:
    """What to do next, on standard error."""
    note(f"Next: {command}")


@contextmanager
def progress_bar(label: str) -> Iterator[Callable[[float], None] | None]:
    """A bar on standard error when that is a terminal; otherwise nothing, and None."""
    if not sys.stderr.isatty():
        yield None
        return
    with click.progressbar(length=1000, label=label, file=sys.stderr) as bar:

        def report(share: float) -> None:
            bar.update(max(0, round(1000 * share) - bar.pos))

        yield report


def width(text: str) -> int:
    """Columns that a text takes in a terminal."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def columns(rows: Sequence[Sequence[str]], left: Sequence[int] = (0,)) -> list[str]:
    """Rows as aligned lines: the columns in `left` to the left, the others to the right."""
    if not rows:
        return []
    widths = [max(width(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = []
        for i, (cell, w) in enumerate(zip(row, widths, strict=True)):
            padding = " " * (w - width(cell))
            cells.append(cell + padding if i in left else padding + cell)
        lines.append("  " + "  ".join(cells).rstrip())
    return lines


def digits_for(half_widths: Sequence[float]) -> int:
    """Decimals that a half-width supports: its first two significant digits, from 2 to 6."""
    known = [half for half in half_widths if math.isfinite(half) and half > 0]
    return min(max(2, 1 - math.floor(math.log10(max(known)))), 6) if known else 3


def interval_text(value: float, low: float, high: float, digits: int) -> str:
    """`0.31 (0.28–0.34)`; without an interval, the value alone."""
    if not (math.isfinite(low) and math.isfinite(high)):
        return f"{value:.{digits}f} (no interval)"
    return f"{value:.{digits}f} ({low:.{digits}f}–{high:.{digits}f})".replace("-", "−")


def shares_table(
    shares: Shares, low: Sequence[float], high: Sequence[float], truth: Sequence[float] | None = None
) -> list[str]:
    """One line per category with its interval, the largest first when there are more than fit."""
    labels, values = shares.domain.categories, shares.by_itself.tolist()
    order = list(range(len(labels)))
    if len(labels) > SHOWN:
        order = sorted(order, key=lambda j: -values[j])[:SHOWN]
    digits = digits_for([(high[j] - low[j]) / 2 for j in order])
    rows = [["", "share (interval)", *(["truth"] if truth is not None else [])]]
    for j in order:
        cells = [labels[j], interval_text(values[j], low[j], high[j], digits)]
        rows.append([*cells, f"{truth[j]:.{digits}f}"] if truth is not None else cells)
    lines = columns(rows, left=(0, 1))  # shares have one digit before the point, so this aligns the points
    total = total_text(shares.by_itself)
    if len(labels) > SHOWN:
        rest = sum(values) - sum(values[j] for j in order)
        together = f", together {max(rest, 0.0):.3f}" if total is None else ""
        lines.append(f"  … and {len(labels) - SHOWN:,} more categories{together} (all with --json)")
    if total is not None:
        lines.append(f"  Each share by itself; together they sum to {total}. Shares that sum to 1 are in --json.")
    return lines
