"""Kernels that no table row names: the shipped defaults, the leaves of decision rules, users' kernel sets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from ckgen.families.gemm.grammar import identify
from ckgen.families.gemm.heuristic import heuristic_for
from ckgen.families.gemm.kernel_set import KernelCandidate, read_kernel_set, shipped_set
from ckgen.families.gemm.signature import GemmSignature, module_of
from ckgen.model.arch import ArchKind, ArchSpec
from ckgen.model.backend import Backend
from ckgen.model.diagnostic import Diagnostic, Severity
from ckgen.model.dtype import DType, Fp8Flavour
from ckgen.model.errors import InputError
from ckgen.model.finding import Finding
from ckgen.model.target import Target
from ckgen.plan.units import Kernel, SignatureDefaults, SignatureHeuristic
from ckgen.rules import judge

Keep = Callable[[Iterable[GemmSignature], str, Backend], str | None]
"""Why a kernel is filtered out for all of these signatures, or None."""

Defaults = dict[GemmSignature, SignatureDefaults]


def kernel_defaults(
    targets: Sequence[Target], archs: Mapping[str, ArchSpec], keep: Keep, sets: Sequence[Path]
) -> tuple[Defaults, tuple[Diagnostic, ...]]:
    """The shipped defaults and, after them, the users' own kernels; a user's set that yields nothing is an error."""
    names = sorted({target.gfx for target in targets})
    found: dict[GemmSignature, dict[str, list[Kernel]]] = {}
    findings: list[Diagnostic] = []
    _collect(found, shipped_set("default"), names, archs, keep)
    for path in sets:
        try:
            candidates = read_kernel_set(path)
        except InputError as error:
            findings += error.diagnostics
            continue
        rejected = _collect(found, candidates, names, archs, keep)
        if rejected is not None:
            findings.append(_yields_nothing(path, candidates, rejected))
    defaults = {
        signature: SignatureDefaults(
            signature, module_of(signature) or "", {arch: tuple(kernels) for arch, kernels in by_arch.items()}
        )
        for signature, by_arch in found.items()
    }
    return defaults, tuple(findings)


def heuristics_for(
    signature: GemmSignature, module: str, targets: Sequence[Target], archs: Mapping[str, ArchSpec], keep: Keep
) -> tuple[SignatureHeuristic, ...]:
    """The decision rules of the signature's module on the requested archs, with the kernel of every arm."""
    found = []
    for arch in sorted({target.gfx for target in targets}):
        rule = heuristic_for(module, arch)
        if rule is None or not of_flavour(signature, archs[arch].fp8_flavour):
            continue
        leaves = []
        for arm in rule.arms:
            kernel = identify(rule.module, rule.library, arm.kernel)
            if kernel is None:
                raise ValueError(f"heuristics/{arch}_{module}.json: '{arm.kernel}' does not parse")
            leaves.append(Kernel(kernel.backend, kernel.config, arm.kernel, (arch,)))
        if all(keep((signature,), leaf.table_kernel, leaf.backend) is None for leaf in leaves):
            found.append(SignatureHeuristic(rule, tuple(leaves)))
    return tuple(found)


def _collect(
    found: dict[GemmSignature, dict[str, list[Kernel]]],
    candidates: Iterable[KernelCandidate],
    names: Sequence[str],
    archs: Mapping[str, ArchSpec],
    keep: Keep,
) -> list[Finding] | None:
    """Adds what is valid on the requested archs; the findings that refused all of it, None where anything was added."""
    rejected: list[Finding] = []
    added = False
    for candidate in candidates:
        for arch in names:
            if not _concerns(candidate, archs[arch]):
                continue
            signature = candidate.signature.resolved(archs[arch].fp8_flavour)
            name = candidate.table_kernel or candidate.config.text()
            if keep((signature,), name, candidate.backend) is not None:
                continue
            findings = judge(signature, candidate.config, candidate.backend, archs[arch])
            if findings:
                rejected += findings
                continue
            kernel = Kernel(candidate.backend, candidate.config, candidate.table_kernel, (arch,))
            kernels = found.setdefault(signature, {}).setdefault(arch, [])
            if kernel not in kernels:
                kernels.append(kernel)
            added = True
    return None if added else rejected


def _concerns(candidate: KernelCandidate, arch: ArchSpec) -> bool:
    """Whether the candidate is asked for on the arch, and its fp8 is of the arch's flavour."""
    on_cpu = candidate.backend is Backend.HOST
    if not candidate.is_for(arch.name) or on_cpu != (arch.kind is ArchKind.CPU):
        return False
    return on_cpu or of_flavour(candidate.signature, arch.fp8_flavour)


def of_flavour(signature: GemmSignature, flavour: Fp8Flavour | None) -> bool:
    """Whether the operands hold no 8-bit float of another flavour; a plain fp8 is of any."""
    others = {dtype.resolve(other) for dtype in (DType.FP8, DType.BF8) for other in Fp8Flavour if other is not flavour}
    return not {signature.a, signature.b} & others


def _yields_nothing(path: Path, candidates: Sequence[KernelCandidate], rejected: Iterable[Finding]) -> Diagnostic:
    reasons = tuple(dict.fromkeys(str(finding) for finding in rejected))
    return Diagnostic(
        "K009",
        f"none of the {len(candidates)} kernels of this set is valid on the requested targets",
        candidates[0].location,
        detail=reasons[:8] or ("its targets and backends fit none of --targets",),
        hint=f"see `ckgen list rules`; the set is {path}",
        severity=Severity.ERROR,
    )
