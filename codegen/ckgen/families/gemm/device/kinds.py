"""Which kind of device code an instance of a GEMM is."""

from __future__ import annotations

from ckgen.families.common.device.kind import DeviceCode, DeviceKind
from ckgen.families.gemm.ck_tile_geometry import is_group_quant, is_multi_abd
from ckgen.families.gemm.config import (
    AsmConfig,
    CkBlockScaleConfig,
    CkPreshuffledConfig,
    CkRowwiseConfig,
    CkTileConfig,
    CutlassConfig,
    FmaConfig,
    HipConfig,
    TilePipeline,
)
from ckgen.families.gemm.device import (
    asm,
    ck,
    ck_absent,
    ck_expected,
    ck_host,
    ck_tile,
    ck_tile_flatmm,
    ck_tile_group_quant,
    ck_tile_multi_abd,
    ck_tile_quant,
    ck_tile_stream_k,
    ck_variants,
    cutlass,
    hip_blockscale,
    hip_fma,
    hip_mxfp8,
)
from ckgen.families.gemm.enums import Quant
from ckgen.families.gemm.instance import Instance

_CK: DeviceKind[Instance, ck_variants.CkVariant] = DeviceKind(
    variants=(ck_variants.CkVariant,),
    unavailable=ck_absent.unavailable,
    reachable=ck_variants.reachable,
    all_variants=ck_variants.all_variants,
    device_unit=ck.device_unit,
    host_unit=ck_host.host_unit,
    expected=ck_expected.expected,
    splits_unavailable=ck_absent.splits_unavailable,
)


def device_code(instance: Instance) -> DeviceCode:
    """The instance as device code; ValueError for one of a Config that has none."""
    match instance.config:
        case CkRowwiseConfig() | CkBlockScaleConfig() | CkPreshuffledConfig():
            return _CK.of(instance)
        case AsmConfig():
            return asm.KIND.of(instance)
        case HipConfig():
            return hip_mxfp8.KIND.of(instance)
        case FmaConfig():
            return hip_fma.KIND.of(instance)
        case CutlassConfig():
            return cutlass.KIND.of(instance)
        case CkTileConfig() as config:
            return _of_ck_tile(instance, config)
    raise ValueError(f"{instance.name} has no device code")


def _of_ck_tile(instance: Instance, config: CkTileConfig) -> DeviceCode:
    if config.pipeline is TilePipeline.ABQUANT:
        return hip_blockscale.KIND.of(instance)
    if config.strategy.is_stream_k:
        return ck_tile_stream_k.KIND.of(instance)
    if config.pipeline is TilePipeline.FLATMM:
        return ck_tile_flatmm.KIND.of(instance)
    if is_multi_abd(instance.signature):
        return ck_tile_multi_abd.KIND.of(instance)
    if is_group_quant(instance.signature):
        return ck_tile_group_quant.KIND.of(instance)
    if instance.signature.quant is Quant.NONE:
        return ck_tile.KIND.of(instance)
    return ck_tile_quant.KIND.of(instance)
