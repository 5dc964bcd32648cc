"""The import order, the import bans and the public names, read from the syntax trees of the source."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import reticent

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "reticent"

# A module imports only from lines above its own, or from its own line.
ORDER = [
    {"errors"},
    {"quadrature"},
    {"domain"},
    {"anchors"},
    {"keys"},
    {"choose"},
    {"bulk", "rows"},
    {"reports"},
    {"channel"},
    {"measures", "mechanisms"},
    {"coverage"},
    {"repeated_ranges"},
    {"intersection"},
    {"repetitions"},
    {"ledger"},
    {"tallies"},
    {"likelihood", "precision"},
    {"censoring"},
    {"intervals", "plots"},
    {"results"},
    {"thresholds"},
    {"distributions"},
    {"estimators"},
    {"planning"},
    {"design"},
    {"engines"},
    {"findings"},
    {"demo"},
    {"cli"},
    {"__init__", "__main__"},
]
LINE = {name: line for line, names in enumerate(ORDER) for name in names}

# Third-party libraries, and where besides NumPy and SciPy each may be imported.
MATHEMATICS = {"numpy", "scipy"}
ALLOWED = {
    "cryptography": {"choose"},
    "pyarrow": {"engines", "demo", "cli"},
    "duckdb": {"engines"},
    "matplotlib": {"plots", "findings"},
    "click": {"cli"},
    "pandas": set(),
}
# Optional or heavy libraries that one method needs, and only when somebody calls it.
INSIDE_A_FUNCTION = {
    ("reports", "__arrow_c_array__", "pyarrow"),
    ("results", "to_frame", "pandas"),
    ("distributions", "to_frame", "pandas"),
}


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def part(path: Path) -> str:
    """The name in ORDER that a file belongs to: its folder, or the module at the top."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports(tree: ast.AST, function: str | None = None) -> Iterator[tuple[str, str | None]]:
    """Every imported module, with the function the import stands in; imports for type checkers do not count."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.Import):
            yield from ((alias.name, function) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            assert node.module is not None
            if node.module == "reticent":
                yield from ((f"reticent.{alias.name}", function) for alias in node.names)
            else:
                yield node.module, function
        inside = node.name if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) else function
        yield from imports(node, inside)


def identity(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


@pytest.mark.parametrize("path", modules(), ids=identity)
def test_imports_point_up_the_order(path: Path) -> None:
    here = part(path)
    assert here in LINE, f"{here} has no line in ORDER"
    for name, _ in imports(ast.parse(path.read_text(encoding="utf-8"))):
        if name.startswith("reticent."):
            other = name.split(".")[1]
            assert other in LINE, f"{identity(path)} imports {name}, which has no line in ORDER"
            assert LINE[other] <= LINE[here], f"{identity(path)} imports {name}, which stands below it"


@pytest.mark.parametrize("path", modules(), ids=identity)
def test_third_party_imports_stay_in_their_place(path: Path) -> None:
    here = part(path)
    for name, function in imports(ast.parse(path.read_text(encoding="utf-8"))):
        library = name.split(".")[0]
        if library in sys.stdlib_module_names or library == "reticent" or library in MATHEMATICS:
            continue
        assert library in ALLOWED, f"{identity(path)} imports {library}, which is not a dependency"
        allowed = here in ALLOWED[library] or (here, function, library) in INSIDE_A_FUNCTION
        assert allowed, f"{identity(path)} imports {library}; only {sorted(ALLOWED[library])} may"


def test_the_public_names_are_sorted_and_exist() -> None:
    assert list(reticent.__all__) == sorted(reticent.__all__)
    assert [name for name in reticent.__all__ if not hasattr(reticent, name)] == []


def test_every_public_name_is_in_the_reference() -> None:
    pages = "".join((ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("reference.md", "mechanisms.md"))
    documented = set(re.findall(r"`(\w+)", pages))
    assert sorted(set(reticent.__all__) - documented) == []


def test_every_public_name_has_a_docstring() -> None:
    named = {name: getattr(reticent, name) for name in reticent.__all__}
    assert [name for name, thing in named.items() if callable(thing) and not thing.__doc__] == []
