"""arch_specs/*.json to `ArchSpec`: strict, every error at once, each with file and line."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from ckgen import paths
from ckgen.model.arch import ArchKind, ArchSpec
from ckgen.model.diagnostic import Diagnostic, Location
from ckgen.model.document import JSON, DocumentError, read_text
from ckgen.model.errors import InputError, UsageError
from ckgen.model.json_document import parse_json
from ckgen.model.json_positions import scan
from ckgen.model.suggestion import did_you_mean
from ckgen.specs.build import build_arch
from ckgen.specs.kinds import SCHEMA_FILE
from ckgen.specs.reader import Reader, SpecError


def load_archs(directory: Path | None = None) -> dict[str, ArchSpec]:
    """Every spec of a folder (the project's own when None) by name, sorted; InputError carries all errors of all."""
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
        try:
            arch, errors = _parse(read_text(file, JSON), shown, file.stem)
        except DocumentError as error:
            arch, errors = None, [error.diagnostic("A001", shown)]
        diagnostics += errors
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
    document = parse_json(text)
    errors: list[SpecError] = []
    reader = Reader(document.value, (), errors)
    arch = build_arch(reader, stem)
    if not errors and not document.repeats:
        return arch, []
    return None, _located(text, shown, errors)


def _located(text: str, shown: str, errors: list[SpecError]) -> list[Diagnostic]:
    positions = scan(text)
    found = [Diagnostic(p.code, p.message, Location(shown, positions.line_of(p.path)), hint=p.hint) for p in errors]
    for path, line, first in positions.duplicates:
        message = f"key '{path[-1]}' is given twice"
        found.append(Diagnostic("A002", message, Location(shown, line), related=(Location(shown, first),)))
    return found
