"""From what a job left to a Result: inspects the code object, holds it against what its Config means."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

from ckgen.build.compile import ASSEMBLY, flags_for
from ckgen.build.entry import Entry
from ckgen.build.inspect import gate
from ckgen.build.inspect.finding import CodeFinding
from ckgen.build.inspect.report import KernelReport
from ckgen.build.kept import keep, kept
from ckgen.build.packed_code import pack_code
from ckgen.build.planned import Planned
from ckgen.build.pool import Outcome
from ckgen.build.result import Figures, Result, ResultFinding, Status
from ckgen.build.toolchain import Toolchain
from ckgen.build.unit_files import code_objects
from ckgen.emit.manifest import generator_digest
from ckgen.model.arch import ArchSpec
from ckgen.model.errors import InputError

_SCHEMA = "ckgen.verdict/1"


class Judge:
    """Makes Results; what it has once seen of a kept entry it keeps beside it."""

    def __init__(self, toolchain: Toolchain, archs: Mapping[str, ArchSpec], version: str) -> None:
        """`version` identifies the rules: what was kept under another is looked at anew."""
        self.toolchain, self.archs, self.version = toolchain, archs, version

    def result(self, planned: Planned, outcome: Outcome | None) -> Result:
        """What came of the kernel; no outcome where nothing was to be compiled."""
        if outcome is None:
            finding = ResultFinding("unavailable", "note", planned.unavailable, "-", "-")
            return self._result(planned, Status.UNAVAILABLE, "", None, None, (finding,))
        entry = outcome.entry
        if not entry.ok:
            return self._result(planned, Status.FAILED, outcome.job.key, entry, None, (_failure(entry),))
        figures, findings = self._kept(planned, outcome)
        if planned.splits_unavailable:
            findings = (
                *findings,
                ResultFinding("unavailable_splits", "note", planned.splits_unavailable, "K splits", "-"),
            )
        return self._result(planned, Status.BUILT, outcome.job.key, entry, figures, findings)

    def _kept(self, planned: Planned, outcome: Outcome) -> tuple[Figures, tuple[ResultFinding, ...]]:
        place = outcome.entry.output(f"judged-{self.version}.json")
        fields = kept(place, _SCHEMA)
        if fields is not None:
            return Figures(**fields["figures"]), tuple(ResultFinding(**finding) for finding in fields["findings"])
        figures, findings = self._look(planned, outcome.entry)
        if not outcome.passing:
            _write(place, {"figures": asdict(figures), "findings": [asdict(finding) for finding in findings]})
        return figures, findings

    def _look(self, planned: Planned, entry: Entry) -> tuple[Figures, tuple[ResultFinding, ...]]:
        objects = [place.read_bytes() for place in code_objects(entry.folder)]
        size, packed = sum(map(len, objects)), sum(len(pack_code(data, 9)) for data in objects)
        name = f"{planned.kernel}.{planned.arch}{self.toolchain.code_suffix}"
        reports: list[KernelReport] = []
        for data in objects:
            try:
                reports += self.toolchain.reports(name, data, entry.output(ASSEMBLY))
            except InputError as error:
                found = ResultFinding("unreadable", "error", str(error), len(data), "-")
                return _figures((), size, packed), (found,)
        return _figures(reports, size, packed), tuple(self._findings(planned, reports))

    def _findings(self, planned: Planned, reports: Sequence[KernelReport]) -> Iterator[ResultFinding]:
        expected = dict(planned.expected)
        for symbol in sorted(expected.keys() - {report.kernel for report in reports}):
            yield ResultFinding("missing_kernel", "error", "the code object lacks a kernel", "-", symbol, symbol)
        for report in reports:
            demands = expected.get(report.kernel)
            if demands is None:
                reason = "the code object has a kernel that nothing asked for"
                yield ResultFinding("unexpected_kernel", "error", reason, report.kernel, "-", report.kernel)
                continue
            judged = gate.judge(report, demands, self.archs[planned.arch])
            yield from _with_variant((*report.findings, *judged), report.kernel)

    def _result(
        self,
        planned: Planned,
        status: Status,
        key: str,
        entry: Entry | None,
        figures: Figures | None,
        findings: tuple[ResultFinding, ...],
    ) -> Result:
        return Result(
            kernel=planned.kernel,
            table_name=planned.table_name,
            backend=planned.backend,
            module=planned.module,
            signature=planned.signature,
            arch=planned.arch,
            status=status,
            key=key,
            flags=flags_for(planned.unit, self.toolchain).id,
            compiler=self.toolchain.compiler_version,
            seconds=entry.seconds if entry is not None else None,
            cpu_seconds=entry.cpu_seconds if entry is not None else None,
            peak_mb=entry.peak_mb if entry is not None else None,
            figures=figures,
            findings=findings,
        )


def first_error(log: str) -> str:
    """The line of a compiler's log that says most: the first with an error, else its last."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    return next((line for line in lines if "error:" in line), lines[-1] if lines else "no output")


def _failure(entry: Entry) -> ResultFinding:
    return ResultFinding("compile", "error", first_error(entry.log), f"exit code {entry.code}", 0)


def _figures(reports: Sequence[KernelReport], object_bytes: int, packed_bytes: int) -> Figures:
    matrix: Counter[str] = Counter()
    opcodes: Counter[str] = Counter()
    for report in reports:
        matrix.update(report.matrix_ops)
        opcodes.update(report.opcodes)

    def largest(values: Iterable[int]) -> int:
        return max(values, default=0)

    return Figures(
        matrix_ops=dict(sorted(matrix.items())),
        opcodes=dict(sorted(opcodes.items())),
        vgpr=largest(report.vgpr for report in reports),
        agpr=largest(report.agpr for report in reports),
        sgpr=largest(report.sgpr for report in reports),
        spills=largest(report.spills for report in reports),
        scratch=largest(report.scratch for report in reports),
        lds=largest(report.lds for report in reports),
        code_bytes=sum(report.code_bytes for report in reports),
        object_bytes=object_bytes,
        packed_bytes=packed_bytes,
        variants=len(reports),
    )


def _with_variant(findings: Iterable[CodeFinding], variant: str) -> Iterator[ResultFinding]:
    for found in findings:
        severity = found.severity.value
        yield ResultFinding(found.rule, severity, found.reason, found.measured, found.limit, variant)


def _write(place: Path, fields: Mapping[str, Any]) -> None:
    """In place of what older rules found; a folder that cannot be written keeps nothing."""
    with suppress(OSError):
        for old in place.parent.glob("judged-*.json"):
            old.unlink(missing_ok=True)
        keep(place, _SCHEMA, fields)


@cache
def rules_version() -> str:
    """Identifies everything that decides a verdict besides the code object: this package's own sources and data."""
    return generator_digest()[:12]
