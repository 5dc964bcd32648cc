"""The documentation is true: its Python blocks run, its commands exist, and so do the doctests of the modules."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import reticent

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(reticent.__path__, "reticent.")
    if not module.name.endswith("__main__")
)


def blocks(page: Path) -> list[tuple[int, str]]:
    """The Python blocks of a page, each with the line it starts on."""
    text = page.read_text(encoding="utf-8")
    found = re.finditer(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return [(text.count("\n", 0, match.start(1)) + 1, match[1]) for match in found]


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)], ids=lambda page: page.name)
def test_python_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": page.stem}
    for line, source in blocks(page):
        code = compile("\n" * (line - 1) + source, str(page), "exec")
        exec(code, names)
    assert "rt" in names


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8"))
    missing = [target for target in targets if "://" not in target and not (page.parent / target).exists()]
    assert missing == []


@pytest.mark.parametrize("name", MODULES)
def test_doctests(name: str) -> None:
    failed, _ = doctest.testmod(importlib.import_module(name))
    assert failed == 0


def test_the_page_of_mechanisms_is_what_they_say_of_themselves() -> None:
    from reticent.cli.recipes import page

    written = (ROOT / "docs" / "mechanisms.md").read_text(encoding="utf-8")
    assert written == page(), "write it anew: reticent mechanisms --markdown > docs/mechanisms.md"


def test_every_command_is_documented() -> None:
    from reticent.cli import main

    page = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
    for command in main.commands:
        assert f"reticent {command}" in page, f"docs/command-line.md does not mention `reticent {command}`"
