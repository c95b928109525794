"""Which modules a test file can run: those that it imports, and so on."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

_SOURCES = ("codegen", "emulator")
_ANYTHING = ("subprocess", "import_module")
"""Words of files that may run modules which they do not import."""


@cache
def can_reach(tree: Path, test: str, file: str) -> bool:
    """Whether a test file may run a module, by imports at any depth of nesting; True where imports do not tell."""
    start = tree / test
    conftests = [folder / "conftest.py" for folder in start.parents if (folder / "conftest.py").is_file()]
    seen: set[Path] = set()
    todo = [start, *conftests]
    while todo:
        path = todo.pop()
        if path in seen:
            continue
        seen.add(path)
        is_source = any(path.is_relative_to(tree / folder) for folder in _SOURCES)
        if not is_source and any(word in path.read_text("utf-8") for word in _ANYTHING):
            return True
        todo += _imported(tree, path)
    return tree / file in seen


@cache
def _imported(tree: Path, path: Path) -> frozenset[Path]:
    return frozenset(found for name in _names(path) for found in _files(tree, path, name))


def _names(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _files(tree: Path, path: Path, name: str) -> Iterator[Path]:
    """The module, and the packages around it, which are run before it."""
    parts = name.split(".")
    for root in (*(tree / folder for folder in _SOURCES), tree / "tests", path.parent):
        for end in range(1, len(parts) + 1):
            place = root.joinpath(*parts[:end])
            yield from (one for one in (place.with_suffix(".py"), place / "__init__.py") if one.is_file())
