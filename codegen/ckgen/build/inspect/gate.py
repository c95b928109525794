"""Is the machine code of a kernel what its Config means? One finding per rule broken, each with number and limit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction

from ckgen.build.inspect.finding import CodeFinding
from ckgen.build.inspect.report import KernelReport
from ckgen.model.arch import ArchSpec
from ckgen.model.diagnostic import Severity
from ckgen.model.expectation import Expectation

RULES: Mapping[str, str] = {
    "undecoded": "every instruction of the kernel's text must be known, else nothing can be counted",
    "no_matrix_ops": "a kernel that multiplies matrices has matrix instructions",
    "wrong_matrix_op": "every matrix instruction is one that the Config means on this arch",
    "matrix_op_count": "the matrix instructions make a whole number of K steps of one wave",
    "lds_over_arch": "the LDS fits what the arch gives one workgroup",
    "spills": "no more register spills than the family allows",
    "scratch": "no more scratch memory than the family allows",
    "occupancy": "registers leave room for the waves per SIMD of launch bounds (error if waves wait for each other)",
    "changed_figures": "figures are those recorded for this compiler and these flags (warning)",
}
"""Every rule id, in the order in which they are judged, and what it demands."""


def judge(report: KernelReport, expectation: Expectation, arch: ArchSpec) -> tuple[CodeFinding, ...]:
    """The findings of one kernel, to be joined to the report's own; empty when it is what its Config means."""
    return (
        *matrix_findings(report, dict(expectation.steps), expectation.copies),
        *lds_findings(report, min(expectation.lds_bytes, arch.lds_bytes)),
        *spill_findings(report, expectation.spills),
        *scratch_findings(report, expectation.scratch_bytes),
        *occupancy_findings(
            report, arch, expectation.waves_per_simd, Severity.ERROR if expectation.resident else Severity.WARNING
        ),
    )


def matrix_findings(report: KernelReport, steps: Mapping[str, int], copies: int = 0) -> Iterator[CodeFinding]:
    """Matrix instructions that are none, others than `steps` names, or no whole number of K steps.

    `steps` maps an acceptable mnemonic to its number per wave and K step; with `copies`, exactly so many K steps.
    """
    if not steps:
        return
    wanted = " or ".join(steps)
    if not report.matrix_ops:
        reason = f"none of the {report.instructions} instructions multiplies matrices"
        yield CodeFinding("no_matrix_ops", reason, 0, wanted)
        return
    meant = {opcode: count for opcode, count in report.matrix_ops.items() if opcode in steps}
    for opcode in sorted(report.matrix_ops.keys() - meant.keys()):
        reason = f"{report.matrix_ops[opcode]} {opcode} are not what the Config means"
        yield CodeFinding("wrong_matrix_op", reason, opcode, wanted)
    total = sum((Fraction(count, steps[opcode]) for opcode, count in meant.items()), Fraction(0))
    if total.denominator != 1 or (copies and meant and total != copies):
        found = " and ".join(f"{count} {opcode}" for opcode, count in meant.items())
        each = " or ".join(f"{steps[opcode]} {opcode}" for opcode in meant)
        limit = f"{copies} times {each}" if copies else f"a multiple of {each}"
        yield CodeFinding("matrix_op_count", f"{found} are {float(total):g} K steps of one wave", found, limit)


def lds_findings(report: KernelReport, bound: int) -> Iterator[CodeFinding]:
    """LDS over so many bytes."""
    if report.lds > bound:
        reason = f"{report.lds} bytes of LDS do not fit {report.arch}"
        yield CodeFinding("lds_over_arch", reason, report.lds, bound)


def spill_findings(report: KernelReport, bound: int) -> Iterator[CodeFinding]:
    """More spilled registers than so many."""
    if report.spills > bound:
        yield CodeFinding("spills", f"{report.spills} registers are spilled", report.spills, bound)


def scratch_findings(report: KernelReport, bound: int) -> Iterator[CodeFinding]:
    """More scratch than so many bytes per lane, or a stack that grows at run time."""
    if report.scratch > bound:
        yield CodeFinding("scratch", f"{report.scratch} bytes of scratch per lane", report.scratch, bound)
    if report.dynamic_stack:
        yield CodeFinding("scratch", "the stack grows at run time: a call was not inlined", "dynamic stack", bound)


def occupancy_findings(
    report: KernelReport, arch: ArchSpec, waves: int, severity: Severity = Severity.WARNING
) -> Iterator[CodeFinding]:
    """Registers that leave fewer waves per SIMD than wanted."""
    held = arch.waves_with(report.vgpr)
    if held < waves:
        reason = f"{report.vgpr} VGPRs leave {held} waves per SIMD"
        yield CodeFinding("occupancy", reason, held, waves, severity)
