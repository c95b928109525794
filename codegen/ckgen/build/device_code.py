"""What an instance becomes as device code, whichever operation it is of."""

from __future__ import annotations

from collections.abc import Iterable

from ckgen.families.common.device.kind import DeviceCode
from ckgen.families.common.device.unit import Use, Variant
from ckgen.families.registry import family_of
from ckgen.model.backend import Backend
from ckgen.plan.model import AnyInstance

BACKENDS = frozenset({Backend.CK, Backend.CK_TILE, Backend.HIP, Backend.ASM, Backend.CUTLASS})
"""Whose instances have device code that a build makes or takes."""


def device_code(instance: AnyInstance) -> DeviceCode:
    """The instance as device code of its family; its backend is one of BACKENDS."""
    return family_of(instance.signature).device_code(instance)


def variants_of(instance: AnyInstance, uses: Iterable[Use]) -> tuple[Variant, ...]:
    """What the uses reach; all there are where there are no uses, as for an instance that only answers by default."""
    code, known = device_code(instance), tuple(uses)
    return code.reachable(known) if known else code.all_variants()
