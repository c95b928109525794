"""`ckgen.kernels`: the instances that a library of these words would hold, as `ckgen list instances` counts them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ckgen import paths
from ckgen.families.kernel_sets import shipped_set_files
from ckgen.families.registry import names_of
from ckgen.just_in_time.planned import planned
from ckgen.model.backend import Backend
from ckgen.model.errors import UsageError
from ckgen.plan.options import PlanOptions
from ckgen.specs import load_archs
from ckgen.specs.native import native_target
from ckgen.specs.targets import parse_targets


@dataclass(frozen=True, slots=True)
class Kernel:
    """An instance. signature: canonical. archs: that it is for."""

    name: str
    id: int
    op: str
    signature: str
    backend: str
    archs: tuple[str, ...]


def kernels(
    ops: Iterable[str] = (),
    targets: str | None = None,
    *,
    signatures: Iterable[str] = (),
    kernels: Iterable[str] = (),
    tuning: Iterable[Path | str] = (),
    backends: Iterable[str] = (),
) -> tuple[Kernel, ...]:
    """Of ops, by default all, on targets as `--targets` takes them, by default this machine's own.

    signatures, kernels: patterns of canonical names and of the tables' kernel names. tuning: in place of the shipped
    tables. backends: words of `--backend`. UsageError for what nobody knows, and for patterns that fit no kernel;
    InputError for tables that are wrong.
    """
    chosen = frozenset(names_of(ops))
    known = {str(one) for one in Backend}
    wanted = frozenset(backends)
    if wanted - known:
        raise UsageError(f"unknown backend: {', '.join(sorted(wanted - known))} (known: {', '.join(sorted(known))})")
    layers = tuple(map(Path, tuning))
    plan = planned(
        PlanOptions(
            targets=parse_targets(targets or "native", env={}, archs=load_archs(), native=native_target),
            ops=chosen,
            tuning=layers or paths.shipped_tables(),
            kernel_sets=shipped_set_files(chosen),
            signatures=tuple(signatures),
            kernels=tuple(kernels),
            backends=wanted,
        )
    )
    return tuple(
        Kernel(one.name, one.id, str(one.signature.op), one.signature.canonical(), str(one.backend), tuple(one.archs))
        for one in plan.instances
    )
