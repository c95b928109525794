"""The one kernel that a name or glob means; kept between runs, as reading all tables takes seconds."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ckgen.build.device_code import BACKENDS
from ckgen.build.kept import keep, kept
from ckgen.build.wanted import KernelFilter, chosen_instances, is_legal, plan_digest, with_spaces
from ckgen.families.gemm.instance import Instance
from ckgen.families.registry import FAMILIES
from ckgen.model.arch import ArchSpec
from ckgen.model.errors import UsageError
from ckgen.model.fields import Unreadable, decode, encode
from ckgen.model.target import Target
from ckgen.plan.options import PlanOptions
from ckgen.plan.uses import uses_of
from ckgen_emulator.gemm.kernel import GemmKernel

_SHOWN = 10
_SCHEMA = "ckgen.emulated_kernel/1"


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
        keep(place, _SCHEMA, encode(GemmKernel, found))
    return found


def _kept(place: Path) -> GemmKernel | None:
    try:
        found: GemmKernel | None = decode(GemmKernel | None, kept(place, _SCHEMA), (), lambda *_: None)
    except Unreadable:
        return None
    return found


def _choose(
    glob: str,
    arch: str,
    options: PlanOptions,
    kernel_filter: KernelFilter,
    archs: Mapping[str, ArchSpec],
    spaces: frozenset[str],
) -> GemmKernel:
    plan, named = chosen_instances(options, kernel_filter, archs, spaces)
    gemms = [one for one in named if isinstance(one, Instance)]
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
