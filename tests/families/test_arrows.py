"""Which way imports go between operations: what they share knows none of them, and the planner names none."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from ckgen import paths

PACKAGE = paths.package_dir()
FAMILIES = PACKAGE / "families"
MAY_IMPORT = {
    "common": {"common"},
    "gemm": {"common", "gemm"},
    "stream_k": {"common", "gemm", "stream_k"},
    "grouped_gemm": {"common", "gemm", "grouped_gemm"},
    "moe": {"common", "gemm", "moe"},
    "fmha": {"common", "fmha"},
}


def imported(file: Path) -> Iterator[str]:
    """The modules that a file imports, wherever in it."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


@pytest.mark.parametrize("family", MAY_IMPORT)
def test_a_family_imports_what_it_is_made_of_alone(family: str) -> None:
    for file in (FAMILIES / family).rglob("*.py"):
        of_families = {name.split(".")[2] for name in imported(file) if name.startswith("ckgen.families.")}
        assert of_families <= MAY_IMPORT[family], file


def test_every_operation_has_arrows() -> None:
    folders = {folder.name for folder in FAMILIES.iterdir() if (folder / "__init__.py").exists()}
    assert folders == MAY_IMPORT.keys()


def test_the_planner_names_no_operation() -> None:
    words = re.compile("fmha|moe|grouped_gemm|stream_k", re.IGNORECASE)
    for file in (PACKAGE / "plan").rglob("*.py"):
        assert words.search(file.read_text(encoding="utf-8")) is None, file
        of_families = {name.split(".")[2] for name in imported(file) if name.startswith("ckgen.families.")}
        assert of_families <= {"common", "registry", "robust", "rules", "tables", "kernel_sets"}, file
