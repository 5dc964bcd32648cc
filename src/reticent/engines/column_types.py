"""The types of columns that are read, and the text and the numbers of their values, the same in every engine."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from reticent.errors import AnswerError, FileFormatError

ALLOWED = "text, whole numbers, decimals, floating-point numbers, booleans, dates, and times without a time zone"
ALLOWED_WEIGHTS = "whole numbers, decimals, floating-point numbers, or their text"

UNWRITABLE = (
    "A public column holds bytes that are not UTF-8, or a time that is finer than a microsecond or outside the years 1 to "
    "9999; convert it to text."
)


def check_types(path: str, types: Iterable[tuple[str, Any]], weights: bool = False) -> None:
    """Raises FileFormatError for a column whose Arrow type has no text, or as weights no number, that all engines agree on."""
    readable, allowed = (_holds_numbers, ALLOWED_WEIGHTS) if weights else (_holds_values, ALLOWED)
    for name, kind in types:
        if not readable(plain_type(kind)):
            raise FileFormatError(
                f'{path}: the column "{name}" is of the type {kind}. What is read is {allowed}. Convert it, or leave it out.',
                column=name,
                type=str(kind),
            )


def _holds_values(kind: Any) -> bool:
    is_of = pa.types
    return bool(
        _holds_numbers(kind)
        or is_of.is_boolean(kind)
        or is_of.is_binary(kind)  # text by old writers; what is not UTF-8 is refused when it is read
        or is_of.is_large_binary(kind)
        or is_of.is_date(kind)
        or (is_of.is_timestamp(kind) and kind.tz is None)
    )


def _holds_numbers(kind: Any) -> bool:
    is_of = pa.types
    return bool(
        is_of.is_string(kind)
        or is_of.is_large_string(kind)
        or is_of.is_integer(kind)
        or is_of.is_floating(kind)
        or (is_of.is_decimal(kind) and not is_of.is_decimal256(kind))  # DuckDB rounds longer ones
        or is_of.is_null(kind)
    )


def plain(column: Any) -> Any:
    """A column without its dictionary."""
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def settled(column: Any) -> Any:
    """A column whose missing values are all null (not-a-number is how pandas writes them) and whose zeros are one."""
    if not pa.types.is_dictionary(column.type) and column.type != plain_type(column.type):
        column = column.cast(plain_type(column.type))
    if pa.types.is_floating(column.type):
        zero, nothing = (pa.scalar(value, column.type) for value in (0.0, None))
        return pc.if_else(pc.is_nan(column), nothing, pc.if_else(pc.equal(column, zero), zero, column))
    return column


def plain_type(kind: Any) -> Any:
    """An Arrow type without its dictionary, and wider where Arrow cannot compare the values: short floats and decimals."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    if pa.types.is_decimal32(kind) or pa.types.is_decimal64(kind):
        return pa.decimal128(kind.precision, kind.scale)
    return pa.float32() if pa.types.is_float16(kind) else kind


def answer_texts(column: Any) -> Any:
    """A column of answers as text, as the labels of categories are written; null where missing.

    Raises AnswerError when it holds bytes that are not text.
    """
    try:
        return settled(plain(column)).cast(pa.string())
    except pa.ArrowException:  # it may quote a value
        raise AnswerError("A column of answers holds bytes that are not text in UTF-8; convert it to text.") from None


def public_texts(column: Any) -> tuple[list[str | None], Any]:
    """The different values of a public column as text, and the place of each row's among them (null where missing).

    Raises FileFormatError for bytes that are not text, and for times that Python cannot write down.
    """
    encoded = column if pa.types.is_dictionary(column.type) else settled(column).dictionary_encode()
    values = settled(encoded.dictionary)
    try:
        if pa.types.is_timestamp(values.type):
            values = values.cast(pa.timestamp("us"))
        elif pa.types.is_binary(values.type) or pa.types.is_large_binary(values.type):
            values = values.cast(pa.string())
    except pa.ArrowInvalid:
        raise FileFormatError(UNWRITABLE) from None
    return [None if value is None else str(value) for value in python_values(values)], encoded.indices


def python_values(column: Any) -> list[Any]:
    """The values of a column as Python's. Raises FileFormatError for a time that Python cannot hold."""
    try:
        return list(column.to_pylist())
    except (ValueError, OverflowError):
        raise FileFormatError(UNWRITABLE) from None


def as_numbers(column: Any) -> Any:
    """A column as floating-point numbers; null where a text is none."""
    column = plain(column)
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        try:
            return column.cast(pa.float64(), safe=False)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return pa.nulls(len(column), pa.float64())
    text = pc.ascii_trim_whitespace(column)
    try:
        return text.cast(pa.float64())
    except pa.ArrowInvalid:  # it quotes the value; look for the texts that are numbers one by one
        return pa.array([_number(value) for value in text.to_pylist()], pa.float64())


def _number(text: str | None) -> float | None:
    """A number in the digits 0 to 9: Python would also read those of other scripts, and underscores between them."""
    try:
        return float(text) if text is not None and text.isascii() and text.isprintable() and "_" not in text else None
    except ValueError:
        return None
