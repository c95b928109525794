"""`ckgen inspect`: what is in a code object, and whether it is what it should be."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ckgen.cli.errors import Command
from ckgen.cli.options import PATH, json_option
from ckgen.cli.output import columns, show, show_json
from ckgen.model.errors import InputError, UsageError

if TYPE_CHECKING:
    from ckgen.build.inspect.code_object import CodeObject
    from ckgen.build.inspect.finding import CodeFinding
    from ckgen.build.inspect.report import KernelReport
    from ckgen.model.arch import ArchSpec
    from ckgen.model.diagnostic import Diagnostic

_MATRIX_OP = re.compile(r"(v_\w+)(?::([1-9][0-9]{0,5}))?")
_HEADER = ("kernel", "arch", "instructions", "vgpr", "agpr", "sgpr", "spills", "scratch", "lds", "code", "matrix ops")


@click.command(cls=Command, name="inspect", short_help="Show what is in AMDGPU code objects, and judge it.")
@click.argument("files", nargs=-1, required=True, type=PATH, metavar="FILE…")
@click.option(
    "--matrix-op",
    "matrix_ops",
    multiple=True,
    metavar="NAME[:COUNT]",
    help="Demand these matrix instructions and no others, in multiples of COUNT; may be repeated for alternatives.",
)
@click.option("--max-spills", type=click.IntRange(min=0), metavar="N", help="Demand at most N spilled registers.")
@click.option("--max-scratch", type=click.IntRange(min=0), metavar="N", help="Demand at most N bytes of scratch.")
@click.option("--waves", type=click.IntRange(1, 16), metavar="N", help="Warn if registers leave fewer waves per SIMD.")
@json_option
def command(
    files: tuple[Path, ...],
    matrix_ops: tuple[str, ...],
    max_spills: int | None,
    max_scratch: int | None,
    waves: int | None,
    as_json: bool,
) -> int:
    """Show instructions, registers, LDS and scratch of every kernel in linked AMDGPU code objects.

    LDS is always held against the arch; the options demand more. Exits 1 if a demand is not met. Instructions are
    decoded with the toolchain that `ckgen toolchain amd` prepares.
    """
    from ckgen.build.amd.toolchain import load
    from ckgen.build.inspect.report import reports_of
    from ckgen.specs.archs import arch_of_processor

    steps = _steps(matrix_ops)
    codes = _read(files)
    decoder = load().decoder
    reports = []
    for code in codes:
        arch = arch_of_processor(code.arch)
        for report in reports_of(code, decoder):
            reports.append(report.with_findings(_findings(report, arch, steps, max_spills, max_scratch, waves)))
    if as_json:
        show_json([report.to_json() for report in reports])
    else:
        show(_text(reports))
    return int(any(report.failed for report in reports))


def _read(files: Sequence[Path]) -> list[CodeObject]:
    """Every file's code object; InputError carries what is wrong with any of them."""
    from ckgen.build.inspect.code_object import read_file

    found: list[CodeObject] = []
    problems: list[Diagnostic] = []
    for file in files:
        try:
            found.append(read_file(file))
        except InputError as error:
            problems += error.diagnostics
    if problems:
        raise InputError(problems)
    return found


def _steps(texts: Sequence[str]) -> dict[str, int]:
    """Mnemonic → number per K step."""
    found: dict[str, int] = {}
    for text in texts:
        match = _MATRIX_OP.fullmatch(text)
        if match is None:
            raise UsageError(f"--matrix-op takes NAME[:COUNT], as in v_mfma_f32_32x32x8_f16:16; got '{text}'")
        found[match[1]] = int(match[2] or 1)
    return found


def _findings(
    report: KernelReport,
    arch: ArchSpec | None,
    steps: dict[str, int],
    max_spills: int | None,
    max_scratch: int | None,
    waves: int | None,
) -> Iterator[CodeFinding]:
    from ckgen.build.inspect import gate

    yield from gate.matrix_findings(report, steps)
    if arch is not None:
        yield from gate.lds_findings(report, arch.lds_bytes)
        yield from gate.occupancy_findings(report, arch, waves or 0)
    if max_spills is not None:
        yield from gate.spill_findings(report, max_spills)
    if max_scratch is not None:
        yield from gate.scratch_findings(report, max_scratch)


def _text(reports: Sequence[KernelReport]) -> str:
    lines = [columns([_HEADER, *map(_row, reports)])]
    lines += [f"{f.severity.value}: {report.kernel}: {f}" for report in reports for f in report.findings]
    return "\n".join(lines)


def _row(report: KernelReport) -> tuple[str, ...]:
    ops = ", ".join(f"{count} {name}" for name, count in report.matrix_ops.items()) or "–"
    figures = (
        report.instructions, report.vgpr, report.agpr, report.sgpr, report.spills, report.scratch, report.lds,
        report.code_bytes,
    )  # fmt: skip
    return (report.kernel, report.arch, *map(str, figures), ops)
