"""Which way imports go between rooms: to those that docs/architecture.md puts below, wherever in a file they stand."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from ckgen import paths

PACKAGE = paths.package_dir()
BELOW = {
    "model": set[str](),
    "specs": {"model"},
    "rules": {"model"},
    "tables": {"model"},
    "tensors": {"model"},
    "families": {"model", "specs", "rules", "tables", "tensors"},
    "plan": {"model", "specs", "tables", "families"},
    "emit": {"model", "specs", "tables", "families", "plan"},
    "build": {"model", "specs", "tables", "families", "plan", "emit"},
    "workload": {"model", "tables", "families", "plan"},
    "runtime": {"model", "tensors", "families", "extension"},
    "report": {"model", "specs", "tables", "families", "plan", "emit", "build", "workload", "measure", "tune", "fuzz"},
    "just_in_time": {"model", "specs", "families", "plan", "build", "runtime"},
    "torch": {"model", "tensors", "families", "runtime"},
    "quickstart": {"model", "specs", "families", "build", "runtime"},
    "fuzz": {"model", "specs", "families", "plan", "build", "runtime"},
    "measure": {"model", "specs", "tables", "families", "plan", "build", "runtime", "fuzz"},
    "predict": {"model", "specs", "families", "plan"},
    "tune": {
        "model", "specs", "tables", "families", "plan", "build", "runtime", "fuzz", "workload", "measure", "predict",
    },
    "learn": {"model", "specs", "families", "plan", "fuzz", "workload", "measure", "tune"},
    "cli": {
        "model", "specs", "tables", "families", "plan", "emit", "build", "report", "quickstart", "fuzz", "workload",
        "measure", "tune", "learn", "predict", "extension",
    },
}  # fmt: skip
ANYWHERE = {"cluster", "paths", "progress", "version"}
"""Modules that belong to no room."""
SURFACE = PACKAGE / "tables" / "__init__.py"
"""`ckgen.tables.frame`, for programs of users."""


def imported(file: Path) -> Iterator[str]:
    """What a file imports of the package, by the first word behind its name."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        yield from (name.split(".")[1] for name in names if name.startswith("ckgen."))


def test_rooms_import_what_is_below_them() -> None:
    for room, below in BELOW.items():
        for file in (PACKAGE / room).rglob("*.py"):
            found = set(imported(file)) - {room} - ANYWHERE
            assert file == SURFACE or found <= below, f"{file}: {sorted(found - below)}"


def test_every_room_has_its_place() -> None:
    rooms = {folder.name for folder in PACKAGE.iterdir() if (folder / "__init__.py").exists()}
    assert rooms == BELOW.keys()


def test_the_order_has_no_ring() -> None:
    left = dict(BELOW)
    while left:
        free = [room for room, below in left.items() if not below & left.keys()]
        assert free, f"a ring: {sorted(left)}"
        for room in free:
            del left[room]
