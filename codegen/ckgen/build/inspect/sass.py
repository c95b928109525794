"""The instructions of a cubin's kernels, counted in what nvdisasm wrote."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

from ckgen.build.inspect.cubin import Cubin, CudaKernel
from ckgen.build.inspect.finding import CodeFinding
from ckgen.build.inspect.report import KernelReport

_SECTION = re.compile(r"\s*\.section\s+\.text\.([^,\s]+)")
_INSTRUCTION = re.compile(r"\s*/\*[0-9a-f]{4,}\*/\s+(?:\{\s*)?(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9_.a-z]*)")
_MATRIX = ("hgmma_", "qgmma_", "igmma_", "hmma_", "qmma_", "imma_", "bgmma_")
_LOCAL = ("ldl", "stl")
_INSTRUCTION_BYTES = 16


def count_instructions(text: str) -> dict[str, dict[str, int]]:
    """By kernel its instructions by mnemonic, in lower case with underscores for dots, in order of name."""
    found: dict[str, Counter[str]] = {}
    kernel: Counter[str] | None = None
    for line in text.splitlines():
        if section := _SECTION.match(line):
            kernel = found.setdefault(section[1].strip('"'), Counter())
        elif line.lstrip().startswith(".section"):
            kernel = None
        elif kernel is not None and (instruction := _INSTRUCTION.match(line)):
            kernel[instruction[1].lower().replace(".", "_")] += 1
    return {name: dict(sorted(counts.items())) for name, counts in found.items()}


def report_of(cubin: Cubin, kernel: CudaKernel, counts: Mapping[str, int]) -> KernelReport:
    """One kernel's report; `spills` are its instructions that load from or store to local memory."""
    length = kernel.code_bytes // _INSTRUCTION_BYTES
    total = sum(counts.values())
    undecoded = (
        (CodeFinding("undecoded", f"{total} of {length} instructions were read", total, length),)
        if total != length
        else ()
    )
    return KernelReport(
        kernel=kernel.name,
        arch=cubin.arch,
        matrix_ops={name: count for name, count in counts.items() if name.startswith(_MATRIX)},
        opcodes=counts,
        vgpr=kernel.registers,
        agpr=0,
        sgpr=0,
        spills=sum(count for name, count in counts.items() if name.split("_")[0] in _LOCAL),
        scratch=kernel.stack,
        lds=kernel.shared,
        code_bytes=kernel.code_bytes,
        findings=undecoded,
    )
