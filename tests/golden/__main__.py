"""Check golden values: `python -m tests.golden FILE...` prints how many passed; the public interface only.

The file format and every quantity are described in README.md beside this file.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.golden.quantities import QUANTITIES, Input

for subject in ("subsets", "ldp", "intervals", "threshold_answers"):  # each registers its quantities
    import_module(f"tests.golden.{subject}")


def agrees(value: Any, expected: Any, tolerance: float) -> bool:
    """|x - e| <= tolerance * max(1, |e|), element by element; text, truth and missing values exactly, "inf" as infinity."""
    if isinstance(expected, dict):
        same = isinstance(value, dict) and value.keys() == expected.keys()
        return same and all(agrees(value[key], expected[key], tolerance) for key in expected)
    if isinstance(expected, list):
        same = isinstance(value, list) and len(value) == len(expected)
        return same and all(agrees(v, e, tolerance) for v, e in zip(value, expected, strict=True))
    if expected in ("inf", "-inf") and not isinstance(value, str):
        expected = float(expected)
    if expected is None or isinstance(expected, (bool, str)):
        return type(value) is type(expected) and value == expected
    if isinstance(value, (bool, str, list, dict)) or value is None:
        return False
    if math.isinf(expected):
        return value == expected
    return abs(value - expected) <= tolerance * max(1.0, abs(expected))


def check(case: Input) -> str | None:
    """What is wrong with a case, or None."""
    function = QUANTITIES.get(case["quantity"])
    if function is None:
        return f"unknown quantity {case['quantity']!r}; known: {', '.join(sorted(QUANTITIES))}"
    try:
        value = function(case["input"])
    except Exception as error:  # one broken case must not hide the others
        return f"{type(error).__name__}: {error}"
    if agrees(value, case["expected"], case["tol"]):
        return None
    return f"expected {case['expected']}, got {value} (tolerance {case['tol']:g})"


def main(files: Iterable[str]) -> int:
    passed = failed = 0
    for file in files:
        for case in json.loads(Path(file).read_text(encoding="utf-8")):
            wrong = check(case)
            passed += wrong is None
            failed += wrong is not None
            if wrong is not None:
                print(f"{case['id']} {case['quantity']}: {wrong}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
