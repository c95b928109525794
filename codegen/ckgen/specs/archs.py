"""arch_specs/*.json to `ArchSpec`: strict, every error at once, each with file and line."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
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

ENVIRONMENT = "CKGEN_ARCH_SPECS"
"""Names a folder whose specs are known beside the project's own."""


def load_archs(directory: Path | None = None) -> dict[str, ArchSpec]:
    """Every spec of a folder by name, sorted; when None those of `spec_dirs`. InputError carries all errors of all."""
    return dict(_known(spec_dirs())) if directory is None else _load((directory,))


def spec_dirs() -> tuple[Path, ...]:
    """The folders of all specs that are known: the project's own, and that of CKGEN_ARCH_SPECS."""
    return _dirs(os.environ.get(ENVIRONMENT, ""))


def load_arch(name: str) -> ArchSpec:
    """One of the known specs; UsageError names those that exist."""
    found = _known(spec_dirs())
    if name in found:
        return found[name]
    hint = did_you_mean(name, found)
    raise UsageError(f"unknown arch '{name}'{f', {hint}' if hint else ''} (known: {', '.join(found)})")


def arch_of_cu_num(archs: Mapping[str, ArchSpec], cu_num: int) -> str | None:
    """The only GPU arch with a product of that CU count; None if there is none or more than one."""
    found = [name for name, arch in archs.items() if arch.kind is ArchKind.GPU and arch.skus_with(cu_num)]
    return found[0] if len(found) == 1 else None


def arch_of_processor(processor: str) -> ArchSpec | None:
    """The arch that a processor's code is for: the one of that name, else the first that is compiled as it."""
    found = _known(spec_dirs())
    same = [arch for arch in found.values() if arch.processor == processor]
    return next((arch for arch in same if arch.name == processor), same[0] if same else None)


def processor_of(name: str) -> str:
    """What the compiler is told for an arch; the name itself where there is no spec of it."""
    found = _known(spec_dirs()).get(name)
    return found.processor if found is not None else name


@cache
def _dirs(more: str) -> tuple[Path, ...]:
    return (paths.arch_specs_dir(), *((Path(more).absolute(),) if more else ()))


@cache
def _known(directories: tuple[Path, ...]) -> dict[str, ArchSpec]:
    return _load(directories)


def _load(directories: tuple[Path, ...]) -> dict[str, ArchSpec]:
    found: dict[str, ArchSpec] = {}
    files: dict[str, str] = {}
    diagnostics: list[Diagnostic] = []
    for file in _spec_files(directories):
        shown = _shown(file)
        try:
            arch, errors = _parse(read_text(file, JSON), shown, file.stem)
        except DocumentError as error:
            arch, errors = None, [error.diagnostic("A001", shown)]
        diagnostics += errors
        if arch is None:
            continue
        diagnostics += _against(arch, shown, found.values(), files)
        found[arch.name], files[arch.name] = arch, shown
    if diagnostics:
        raise InputError(diagnostics)
    return {name: found[name] for name in sorted(found)}


def _spec_files(directories: tuple[Path, ...]) -> list[Path]:
    found = []
    for directory in directories:
        of_folder = [file for file in sorted(directory.glob("*.json")) if file.name != SCHEMA_FILE]
        if not of_folder:
            raise UsageError(f"no arch specs in {directory}")
        found += of_folder
    return found


def _against(arch: ArchSpec, file: str, others: Iterable[ArchSpec], files: Mapping[str, str]) -> list[Diagnostic]:
    """What a spec contradicts in others: a name is given once; one processor has one machine number and family."""
    found = []
    for other in others:
        shared = {arch.name, *arch.aliases} & {other.name, *other.aliases}
        if shared and other.name != arch.name:
            message, hint = f"'{min(shared)}' means another arch already", f"see {files[other.name]}"
        elif other.name == arch.name:
            message, hint = f"arch '{arch.name}' has a spec already", f"see {files[other.name]}; choose another name"
        elif (
            arch.vendor is other.vendor
            and arch.processor
            and (other.processor == arch.processor) != (other.elf_machine == arch.elf_machine)
        ):
            message = f"'{arch.processor}' with elf_machine {arch.elf_machine} contradicts {files[other.name]}"
            hint = f"there, '{other.processor}' has {other.elf_machine}"
        elif arch.processor and other.processor == arch.processor and other.family != arch.family:
            message = f"'{arch.processor}' of family {arch.family} contradicts {files[other.name]}"
            hint = f"there it is of {other.family}"
        else:
            continue
        found.append(Diagnostic("A006", message, Location(file), hint=hint))
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
