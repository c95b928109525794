"""Which kind of device code an instance of a part of a MoE layer is."""

from __future__ import annotations

from ckgen.families.common.asm_config import AsmConfig
from ckgen.families.common.device.kind import DeviceCode
from ckgen.families.gemm.hip_config import HipConfig
from ckgen.families.gemm.instance import Instance
from ckgen.families.moe.ck_config import CkMoeConfig
from ckgen.families.moe.device import asm_moe, ck_moe, hip_mxfp8_moe


def device_code(instance: Instance) -> DeviceCode:
    """The instance as device code; ValueError for one of a Config that has none."""
    match instance.config:
        case CkMoeConfig():
            return ck_moe.KIND.of(instance)
        case AsmConfig():
            return asm_moe.KIND.of(instance)
        case HipConfig():
            return hip_mxfp8_moe.KIND.of(instance)
    raise ValueError(f"{instance.name} has no device code")
