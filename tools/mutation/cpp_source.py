"""Where C++ source can be changed, and its text once it is."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from .cpp_changes import Change, changes
from .mutant import Mutant, Site, changed_line, numbered

_SUFFIXES = (".cpp", ".hpp", ".h")


def cpp_sites(tree: Path, folders: Sequence[str]) -> list[Site]:
    """Sites of all sources and headers in `folders`, which are relative to `tree`."""
    files = sorted(
        path.relative_to(tree).as_posix()
        for folder in folders
        for path in (tree / folder).iterdir()
        if path.suffix in _SUFFIXES
    )
    return [site for file in files for site in _sites(file, (tree / file).read_text(encoding="utf-8"))]


def cpp_mutant(tree: Path, site: Site) -> Mutant:
    """The mutant of a site."""
    file = site.key.file
    source = (tree / file).read_text(encoding="utf-8")
    change = _changes(file, source)[_sites(file, source).index(site)]
    text = change.applied(source)
    return Mutant(site, *changed_line(source, text), text)


@cache
def _sites(file: str, source: str) -> list[Site]:
    lines = source.splitlines()
    places = [_place(source, change) for change in _changes(file, source)]
    return numbered(
        (file, change.operator, lines[line], line + 1, column)
        for change, (line, column) in zip(_changes(file, source), places, strict=True)
    )


@cache
def _changes(file: str, source: str) -> list[Change]:
    return changes(source, c_header=file.endswith(".h"))


def _place(source: str, change: Change) -> tuple[int, int]:
    before = source.encode()[: change.start].decode()
    return before.count("\n"), len(before) - (before.rfind("\n") + 1)
