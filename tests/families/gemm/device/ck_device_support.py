"""Classic ck instances by name, and those of the shipped tables with their problems."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from ckgen import paths
from ckgen.families.common.device.unit import Use
from ckgen.families.gemm.grammar import identify
from ckgen.families.gemm.instance import Instance
from ckgen.families.gemm.signature import parse_signature
from ckgen.families.registry import make_instance
from ckgen.model.backend import Backend
from ckgen.model.dtype import Fp8Flavour
from ckgen.plan.options import PlanOptions
from ckgen.plan.planner import make_plan
from ckgen.plan.uses import Uses, uses_of
from ckgen.specs import load_archs


def instance_of(signature: str, kernel: str, arch: str = "gfx942") -> Instance:
    """The instance of a table's kernel name for a signature's alias."""
    module = signature.split(":")[0]
    found = identify(module, "ck", kernel)
    assert found is not None, kernel
    parsed = parse_signature(signature, Fp8Flavour.FNUZ if arch == "gfx942" else Fp8Flavour.OCP)
    return make_instance(parsed, found.config, module=module, table_kernel=kernel, archs=(arch,))


def ck_uses() -> Iterator[tuple[Instance, str, frozenset[Use]]]:
    """Instances, archs and the problems that the shipped tables send there."""
    for instance, by_arch in _uses().items():
        if instance.backend is Backend.CK:
            for arch, uses in by_arch.items():
                yield instance, arch, uses


@cache
def _uses() -> Uses:
    return uses_of(make_plan(PlanOptions(targets=None, tuning=(paths.tuning_dir() / "aiter",)), load_archs()))
