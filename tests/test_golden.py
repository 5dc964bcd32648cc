"""The golden values, one test each, and the runner itself."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.golden.__main__ import QUANTITIES, agrees, check, main

FOLDER = Path(__file__).parent / "golden"
CASES = [case for file in sorted(FOLDER.glob("*.json")) for case in json.loads(file.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_golden_value(case: dict[str, Any]) -> None:
    assert check(case) is None


def test_every_quantity_is_documented() -> None:
    page = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)) == set(QUANTITIES)


def test_the_runner_fails_on_a_wrong_or_unknown_value(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    unknown = {"id": "X1", "quantity": "no_such_thing", "input": {}, "expected": 1, "tol": 1e-9}
    wrong = {**CASES[0], "expected": 0}
    file = tmp_path / "cases.json"
    file.write_text(json.dumps([CASES[0], wrong, unknown]), encoding="utf-8")
    assert main([str(file)]) == 1
    assert capsys.readouterr().out.endswith("1 passed, 2 failed\n")


def test_tolerance_is_relative_above_one_and_absolute_below() -> None:
    assert agrees(1000.5, 1000, 1e-3) and not agrees(0.5, 0.4985, 1e-3)
    assert agrees({"a": [1.0, True]}, {"a": [1, True]}, 0) and not agrees([1.0], [1.0, 1.0], 1)
    assert not agrees(float("nan"), 1.0, 1.0)
