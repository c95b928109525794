"""The one kernel that a name or glob means; kept between runs, as reading all tables takes seconds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ckgen.build.device_code import BACKENDS
from ckgen.build.kept import keep, kept
from ckgen.build.wanted import KernelFilter, chosen_instances, is_legal, plan_digest, with_spaces
from ckgen.families.common.device.unit import Use
from ckgen.families.registry import FAMILIES, make_instance
from ckgen.model.arch import ArchSpec
from ckgen.model.errors import UsageError
from ckgen.model.fields import Unreadable, decode, encode
from ckgen.model.target import Target
from ckgen.plan.model import AnyInstance
from ckgen.plan.options import PlanOptions
from ckgen.plan.registry_document import unit_forms
from ckgen.plan.uses import uses_of
from ckgen_emulator.gemm.kernel import GemmKernel

_SHOWN = 10
_SCHEMA = "ckgen.emulated_kernel/4"


Chosen = tuple[AnyInstance, tuple[Use, ...]]
"""An instance, and the tables' problems that choose it: none where it answers by default."""


@dataclass(frozen=True, slots=True)
class _Told:
    """What is kept beside signature and Config."""

    archs: tuple[str, ...]
    module: str
    table_kernel: str
    uses: tuple[Use, ...]


@dataclass(frozen=True, slots=True)
class Place:
    """Where kernels are looked for, beside defaults and search spaces."""

    tuning: tuple[Path, ...]
    kernel_sets: tuple[Path, ...] = ()


def choose_kernel(
    glob: str, target: Target, place: Place, archs: Mapping[str, ArchSpec], cache: Path, op: str = "gemm"
) -> GemmKernel:
    """As choose_instance, of an op whose problems are GEMMs."""
    instance, uses = choose_instance(op, glob, target, place, archs, cache)
    return GemmKernel(instance, target.gfx, uses)


def choose_instance(
    op: str, glob: str, target: Target, place: Place, archs: Mapping[str, ArchSpec], cache: Path
) -> Chosen:
    """The op's kernel that is legal on the target and whose name, table name or Config fits.

    A layer of experts in two kernels is meant by its own name, its parts by theirs. UsageError unless it is exactly
    one; InputError for tables that are wrong.
    """
    family = FAMILIES[op]
    kernel_filter = KernelFilter((glob,), None)
    options = PlanOptions(
        targets=(target,),
        ops=family.planned_with,
        tuning=place.tuning if family.has_shipped_tables else (),
        kernel_sets=place.kernel_sets,
        backends=frozenset(str(backend) for backend in BACKENDS),
        every_count=True,
    )
    options, spaces = with_spaces(options, kernel_filter)
    file = cache / "plans" / f"{plan_digest(options, kernel_filter)}.kernel"
    found = _kept(op, file)
    if found is None:
        found = _choose(glob, target.gfx, options, kernel_filter, archs, spaces)
        _keep(op, file, found)
    return found


def _keep(op: str, file: Path, found: Chosen) -> None:
    (one, uses), form = found, unit_forms()[op]
    told = _Told(one.archs, one.module, one.table_kernel, uses)
    words = {"signature": (form.signature, one.signature), "config": (form.config, one.config), "told": (_Told, told)}
    keep(file, _SCHEMA, {name: encode(kind, value) for name, (kind, value) in words.items()})


def _kept(op: str, file: Path) -> Chosen | None:
    document, form = kept(file, _SCHEMA), unit_forms()[op]
    kinds: dict[str, Any] = {"signature": form.signature, "config": form.config, "told": _Told}
    if not isinstance(document, dict) or document.keys() != kinds.keys():
        return None
    try:
        words = {name: decode(kind, document[name], (), lambda *_: None) for name, kind in kinds.items()}
    except Unreadable:
        return None
    told: _Told = words["told"]
    said = {"module": told.module, "table_kernel": told.table_kernel}
    instance: AnyInstance = make_instance(words["signature"], words["config"], told.archs, **said)
    return instance, told.uses


def _choose(
    glob: str,
    arch: str,
    options: PlanOptions,
    kernel_filter: KernelFilter,
    archs: Mapping[str, ArchSpec],
    spaces: frozenset[str],
) -> Chosen:
    plan, named = chosen_instances(options, kernel_filter, archs, spaces)
    whole = [one for one in plan.instances if one.parts and one.name == glob]
    legal = whole or [one for one in named if arch in one.archs or is_legal(one, archs[arch])]
    if not legal:
        reason = f"{named[0].name} is not legal on {arch}" if named else "see `ckgen list instances`"
        raise UsageError(f"--kernel: no kernel for {arch} fits '{glob}': {reason}")
    if len(legal) > 1:
        names = [f"  {one.name}" for one in legal[:_SHOWN]]
        more = [f"  and {len(legal) - _SHOWN} more"] if len(legal) > _SHOWN else []
        raise UsageError("\n".join([f"--kernel: {len(legal)} kernels fit '{glob}'; name one:", *names, *more]))
    (instance,) = legal
    uses = uses_of(plan).get(instance, {})
    known = uses.get(arch) or frozenset().union(*uses.values())
    return instance, tuple(sorted(known))
