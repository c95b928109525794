"""What is in each kernel of a code object: one report per kernel, the same for `ckgen build` and `ckgen inspect`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from ckgen.build.inspect.code_object import CodeObject, Kernel
from ckgen.build.inspect.decode import Instructions, count_instructions
from ckgen.build.inspect.finding import CodeFinding, fails
from ckgen.build.inspect.formats import Formats, is_decoded, load_formats
from ckgen.model.diagnostic import Severity


@dataclass(frozen=True, slots=True)
class KernelReport:
    """One kernel of one code object.

    Registers per lane (`vgpr` counts `agpr` too where the file is one) and per wave (`sgpr`); `spills` of both kinds;
    `scratch` per lane, `lds` per workgroup and `code_bytes` in bytes, `lds` without what the launch adds. `opcodes`
    counts every instruction of the text by mnemonic, `matrix_ops` those that multiply matrices. A `dynamic_stack` takes
    scratch that no number bounds.
    """

    kernel: str
    arch: str
    matrix_ops: Mapping[str, int]
    opcodes: Mapping[str, int]
    vgpr: int
    agpr: int
    sgpr: int
    spills: int
    scratch: int
    lds: int
    code_bytes: int
    dynamic_stack: bool = False
    findings: tuple[CodeFinding, ...] = ()

    @property
    def instructions(self) -> int:
        """How many instructions the text has."""
        return sum(self.opcodes.values())

    @property
    def failed(self) -> bool:
        """Whether a finding fails the gate."""
        return fails(self.findings)

    def with_findings(self, findings: Iterable[CodeFinding]) -> KernelReport:
        """The same report with these findings after its own."""
        return replace(self, findings=(*self.findings, *findings))

    def to_json(self) -> dict[str, object]:
        """One entry of the array that `--json` prints; what only a build knows is null."""
        return {
            "kernel": self.kernel,
            "table_name": None,
            "arch": self.arch,
            "seconds": None,
            "peak_mb": None,
            "matrix_ops": dict(self.matrix_ops),
            "opcodes": dict(self.opcodes),
            "vgpr": self.vgpr,
            "agpr": self.agpr,
            "sgpr": self.sgpr,
            "spills": self.spills,
            "scratch": self.scratch,
            "lds": self.lds,
            "code_bytes": self.code_bytes,
            "findings": [finding.to_json() for finding in self.findings],
        }


def reports_of(code: CodeObject, decoder: Path | None) -> tuple[KernelReport, ...]:
    """A report per kernel, by name; `decoder` is the folder that holds tinygrad.

    Instructions that cannot be decoded become the finding `undecoded`. UsageError if `decoder` holds no tinygrad.
    """
    formats = load_formats(decoder, code.arch) if decoder is not None and is_decoded(code.arch) else None
    return tuple(_report(code, kernel, formats) for kernel in code.kernels)


def _report(code: CodeObject, kernel: Kernel, formats: Formats | None) -> KernelReport:
    found = count_instructions(kernel.text, formats) if formats is not None else Instructions({}, 0)
    taken = kernel.resources
    return KernelReport(
        kernel=kernel.name,
        arch=code.arch,
        matrix_ops=found.matrix_ops,
        opcodes=found.counts,
        vgpr=taken.vgprs,
        agpr=taken.agprs,
        sgpr=taken.sgprs,
        spills=taken.vgpr_spills + taken.sgpr_spills,
        scratch=taken.scratch,
        lds=taken.lds,
        code_bytes=len(kernel.text),
        dynamic_stack=taken.dynamic_stack,
        findings=_undecoded(code, kernel, formats, found),
    )


def _undecoded(
    code: CodeObject, kernel: Kernel, formats: Formats | None, found: Instructions
) -> tuple[CodeFinding, ...]:
    size = len(kernel.text)
    if formats is None:
        why = "in this toolchain" if is_decoded(code.arch) else f"for {code.arch}"
        reason = f"instructions are not counted: there is no decoder {why}"
        return (CodeFinding("undecoded", reason, 0, size, Severity.WARNING),)
    if found.undecoded is None:
        return ()
    place = f"{code.source.name}, byte {kernel.offset + found.undecoded:#x}"
    return (CodeFinding("undecoded", f"no instruction of {code.arch} begins at {place}", found.undecoded, size),)
