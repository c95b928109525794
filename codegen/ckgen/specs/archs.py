"""arch_specs/*.json to `ArchSpec`: strict, every error at once, each with file and line."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from ckgen import paths
from ckgen.model.arch import ArchKind, ArchSpec
from ckgen.model.diagnostic import Diagnostic, Location
from ckgen.model.errors import InputError, UsageError
from ckgen.specs.build import build_arch
from ckgen.specs.kinds import SCHEMA_FILE
from ckgen.specs.positions import scan
from ckgen.specs.reader import Problem, Reader, did_you_mean


def load_archs(directory: Path | None = None) -> dict[str, ArchSpec]:
    """Every spec of a folder (the project's own when None) by name, sorted; InputError carries all problems of all."""
    return dict(_shipped()) if directory is None else _load(directory)


def load_arch(name: str) -> ArchSpec:
    """One of the project's own specs; UsageError names those that exist."""
    found = _shipped()
    if name in found:
        return found[name]
    hint = did_you_mean(name, found)
    raise UsageError(f"unknown arch '{name}'{f', {hint}' if hint else ''} (known: {', '.join(found)})")


def arch_of_cu_num(archs: Mapping[str, ArchSpec], cu_num: int) -> str | None:
    """The only GPU arch with a product of that CU count; None if there is none or more than one."""
    found = [name for name, arch in archs.items() if arch.kind is ArchKind.GPU and arch.skus_with(cu_num)]
    return found[0] if len(found) == 1 else None


@cache
def _shipped() -> dict[str, ArchSpec]:
    return _load(paths.arch_specs_dir())


def _load(directory: Path) -> dict[str, ArchSpec]:
    found: dict[str, ArchSpec] = {}
    diagnostics: list[Diagnostic] = []
    for file in sorted(directory.glob("*.json")):
        if file.name == SCHEMA_FILE:
            continue
        shown = _shown(file)
        arch, problems = _parse(file.read_text(encoding="utf-8"), shown, file.stem)
        diagnostics += problems
        if arch is not None:
            found[arch.name] = arch
    if not found and not diagnostics:
        raise UsageError(f"no arch specs in {directory}")
    if diagnostics:
        raise InputError(diagnostics)
    return found


def _shown(file: Path) -> str:
    root = paths.root()
    return file.relative_to(root).as_posix() if file.is_relative_to(root) else file.as_posix()


def _parse(text: str, shown: str, stem: str) -> tuple[ArchSpec | None, list[Diagnostic]]:
    repeated = False

    def pairs(members: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal repeated
        found = dict(members)
        repeated = repeated or len(found) != len(members)
        return found

    def constant(word: str) -> Any:
        raise ValueError(f"{word} is not JSON")

    try:
        value = json.loads(text, object_pairs_hook=pairs, parse_constant=constant)
    except json.JSONDecodeError as error:
        return None, [Diagnostic("A001", f"not JSON: {error.msg}", Location(shown, error.lineno))]
    except ValueError as error:
        return None, [Diagnostic("A001", f"not JSON: {error}", Location(shown))]
    problems: list[Problem] = []
    reader = Reader(value, (), problems)
    arch = build_arch(reader, stem)
    if not problems and not repeated:
        return arch, []
    return None, _located(text, shown, problems)


def _located(text: str, shown: str, problems: list[Problem]) -> list[Diagnostic]:
    positions = scan(text)
    found = [Diagnostic(p.code, p.message, Location(shown, positions.line_of(p.path)), hint=p.hint) for p in problems]
    for path, line, first in positions.duplicates:
        message = f"key '{path[-1]}' is given twice"
        found.append(Diagnostic("A002", message, Location(shown, line), related=(Location(shown, first),)))
    return found
