"""The registry of quantities: every subject's module adds its own under the names of its functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Input = Mapping[str, Any]
QUANTITIES: dict[str, Callable[[Input], Any]] = {}


def quantity(function: Callable[[Input], Any]) -> Callable[[Input], Any]:
    """Register a function under its own name."""
    if function.__name__ in QUANTITIES:
        raise ValueError(f"two quantities are called {function.__name__}")
    QUANTITIES[function.__name__] = function
    return function
