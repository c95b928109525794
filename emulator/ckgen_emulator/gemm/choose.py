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
from ckgen.families.gemm.signature import GemmSignature
from ckgen.families.registry import FAMILIES, make_instance
from ckgen.model.arch import ArchSpec
from ckgen.model.config import Config
from ckgen.model.errors import UsageError
from ckgen.model.fields import Unreadable, decode, encode
from ckgen.model.target import Target
from ckgen.plan.options import PlanOptions
from ckgen.plan.registry_document import unit_forms
from ckgen.plan.uses import uses_of
from ckgen_emulator.gemm.kernel import GemmKernel

_SHOWN = 10
_SCHEMA = "ckgen.emulated_kernel/2"


@dataclass(frozen=True, slots=True)
class _Named:
    """What tells a kernel, beside its Config."""

    signature: GemmSignature
    archs: tuple[str, ...]
    module: str
    table_kernel: str
    arch: str
    uses: tuple[Use, ...]


def choose_kernel(
    glob: str, target: Target, tuning: tuple[Path, ...], archs: Mapping[str, ArchSpec], cache: Path
) -> GemmKernel:
    """The kernel of tables, defaults and search spaces whose name, table name or Config fits, on the target's arch.

    UsageError unless it is exactly one; InputError for tables that are wrong.
    """
    kernel_filter = KernelFilter((glob,), None)
    options = PlanOptions(
        targets=(target,),
        ops=frozenset(FAMILIES),
        tuning=tuning,
        backends=frozenset(str(backend) for backend in BACKENDS),
        every_count=True,
    )
    options, spaces = with_spaces(options, kernel_filter)
    place = cache / "plans" / f"{plan_digest(options, kernel_filter)}.kernel"
    found = _kept(place)
    if found is None:
        found = _choose(glob, target.gfx, options, kernel_filter, archs, spaces)
        one = found.instance
        named = _Named(one.signature, one.archs, one.module, one.table_kernel, found.arch, found.uses)
        keep(place, _SCHEMA, {"named": encode(_Named, named), "config": encode(_configs(), one.config)})
    return found


def _kept(place: Path) -> GemmKernel | None:
    document = kept(place, _SCHEMA)
    if not isinstance(document, dict) or document.keys() != {"named", "config"}:
        return None
    try:
        named: _Named = decode(_Named, document["named"], (), lambda *_: None)
        config: Config = decode(_configs(), document["config"], (), lambda *_: None)
    except Unreadable:
        return None
    said = {"module": named.module, "table_kernel": named.table_kernel}
    return GemmKernel(make_instance(named.signature, config, named.archs, **said), named.arch, named.uses)


def _configs() -> Any:
    """The kinds of Config that instances of such signatures may have."""
    return unit_forms()["gemm"].config


def _choose(
    glob: str,
    arch: str,
    options: PlanOptions,
    kernel_filter: KernelFilter,
    archs: Mapping[str, ArchSpec],
    spaces: frozenset[str],
) -> GemmKernel:
    plan, named = chosen_instances(options, kernel_filter, archs, spaces)
    gemms = [one for one in named if isinstance(one.signature, GemmSignature)]
    legal = [one for one in gemms if arch in one.archs or is_legal(one, archs[arch])]
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
    return GemmKernel(instance, arch, tuple(sorted(known)))
