"""docs/adding-a-mechanism.md, followed step by step on a copy of the source."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
COPIED = ["src", "tests", "docs", "CHANGELOG.md", "README.md", "pyproject.toml"]


def steps() -> tuple[str, str, str, str]:
    """The blocks of the page: the function, the export, the row of cases, the line of the changelog."""
    page = (ROOT / "docs" / "adding-a-mechanism.md").read_text(encoding="utf-8")
    code, export, case = re.findall(r"^```py\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    line = re.findall(r"^```text\n(- .*?)^```", page, re.MULTILINE | re.DOTALL)
    return code, export, case, line[0]


def insert(path: Path, after: str, text: str) -> None:
    before, found, rest = path.read_text(encoding="utf-8").partition(after)
    assert found, f"{path.name} has no {after!r}"
    path.write_text(f"{before}{found}{text}{rest}", encoding="utf-8")


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project with the steps of the page taken."""
    folder = tmp_path_factory.mktemp("project")
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
        else:
            shutil.copy(ROOT / name, folder / name)
    code, export, case, line = steps()
    package = folder / "src" / "reticent" / "mechanisms"
    (package / "neighbours.py").write_text(code, encoding="utf-8")
    insert(package / "__init__.py", '"""\n\n', export)
    insert(package / "__init__.py", "__all__ = [", '\n    "neighbour_response",')
    insert(folder / "tests" / "mechanism_cases.py", "CASES: dict[str, rt.Channel] = {\n", case)
    insert(folder / "CHANGELOG.md", "### Added\n\n", line)
    page = run(folder, ["-m", "reticent", "mechanisms", "--markdown"])
    (folder / "docs" / "mechanisms.md").write_text(page, encoding="utf-8")
    return folder


def run(folder: Path, arguments: Sequence[str]) -> str:
    environment = {**os.environ, "PYTHONPATH": str(folder / "src"), "PYTHONUTF8": "1"}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_four_files_are_touched_and_one_page_is_written(copy: Path) -> None:
    touched = set()
    for name in COPIED:
        for path in [copy / name] if (copy / name).is_file() else (copy / name).rglob("*"):
            original = ROOT / path.relative_to(copy)
            if path.is_file() and "__pycache__" not in path.parts and (
                not original.exists() or original.read_bytes() != path.read_bytes()
            ):  # fmt: skip
                touched.add(str(path.relative_to(copy)))
    assert touched - {"docs/mechanisms.md"} == {
        "CHANGELOG.md", "src/reticent/mechanisms/__init__.py", "src/reticent/mechanisms/neighbours.py",
        "tests/mechanism_cases.py",
    }  # fmt: skip


def test_the_laws_hold_and_the_documentation_is_complete(copy: Path) -> None:
    laws = run(copy, ["-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/test_channels.py", "tests/test_tallies.py",
                      "tests/test_estimators.py", "-k", "neighbour_response"])  # fmt: skip
    assert int(re.findall(r"(\d+) passed", laws + " 0 passed")[0]) >= 8 or laws.count(".") >= 8
    run(copy, ["-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/test_architecture.py"])
    run(copy, ["-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/test_docs.py", "-k", "neighbours or mechanisms"])


def test_the_command_line_has_it(copy: Path) -> None:
    assert "neighbour-response" in run(copy, ["-m", "reticent", "mechanisms"])
    scale = [word for label in ("never", "rarely", "sometimes", "often") for word in ("--category", label)]
    work = copy / "work"
    work.mkdir()
    run(copy, ["-m", "reticent", "design", "--column", "sport", *scale, "--mechanism", "neighbour-response",
               "--keep", "0.75", "-o", "work/design.json"])  # fmt: skip
    (work / "answers.csv").write_text("sport\n" + "never\nrarely\noften\noften\n" * 500, encoding="utf-8")
    run(copy, ["-m", "reticent", "privatize", "work/answers.csv", "--design", "work/design.json", "--seed", "1",
               "-o", "work/reports.parquet"])  # fmt: skip
    run(copy, ["-m", "reticent", "tally", "work/reports.parquet", "-o", "work/sport.parquet"])
    (estimate,) = json.loads(run(copy, ["-m", "reticent", "estimate", "work/sport.parquet", "--json"]))
    shares = {row["category"]: row["share"] for row in estimate["shares"]}
    # 2,000 reports: the standard error of a share is below 0.03, so 0.15 is five of them.
    assert abs(shares["often"] - 0.5) < 0.15 and shares["sometimes"] < 0.15
    (leakage,) = json.loads(run(copy, ["-m", "reticent", "leakage", "work/design.json", "--json"]))
    assert leakage["mechanism"] == "neighbour response"
