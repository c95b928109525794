"""Which kind of device code an instance of attention is."""

from __future__ import annotations

from ckgen.families.common.asm_config import AsmConfig
from ckgen.families.common.device.kind import DeviceCode
from ckgen.families.fmha.append_config import CkTileAppendConfig, HipAppendConfig
from ckgen.families.fmha.append_problem import goes_back
from ckgen.families.fmha.backward_config import CkTileBackwardConfig, HipBackwardConfig
from ckgen.families.fmha.config import CkTileFmhaConfig
from ckgen.families.fmha.device import (
    asm_backward,
    asm_fmha,
    ck_tile_append,
    ck_tile_backward,
    ck_tile_fmha,
    hip_append,
    hip_decode,
    hip_forward,
    hip_gradients,
)
from ckgen.families.fmha.forward_config import HipForwardConfig
from ckgen.families.fmha.hip_config import HipFmhaConfig
from ckgen.families.fmha.instance import FmhaInstance


def device_code(instance: FmhaInstance) -> DeviceCode:
    """The instance as device code; ValueError for one of a Config that has none."""
    match instance.config:
        case CkTileFmhaConfig():
            return ck_tile_fmha.KIND.of(instance)
        case CkTileBackwardConfig():
            return ck_tile_backward.KIND.of(instance)
        case CkTileAppendConfig():
            return ck_tile_append.KIND.of(instance)
        case HipFmhaConfig():
            return hip_decode.KIND.of(instance)
        case HipAppendConfig():
            return hip_append.KIND.of(instance)
        case HipForwardConfig():
            return hip_forward.KIND.of(instance)
        case HipBackwardConfig():
            return hip_gradients.KIND.of(instance)
        case AsmConfig():
            of = asm_backward.KIND if goes_back(instance.signature.traits) else asm_fmha.KIND
            return of.of(instance)
    raise ValueError(f"{instance.name} has no device code")
