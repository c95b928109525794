"""CUTLASS's GEMMs as device code: one kernel per instance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ckgen.families.common.cpp import boolean
from ckgen.families.common.device.kind import DeviceKind
from ckgen.families.common.device.unit import DeviceUnit, prepare_symbol, symbol_of, workspace_symbol
from ckgen.families.gemm.cutlass_config import INSTRUCTION_M, CutlassConfig, CutlassSchedule
from ckgen.families.gemm.enums import Layout, Quant
from ckgen.families.gemm.instance import Instance
from ckgen.model.dtype import DType
from ckgen.model.expectation import Expectation
from ckgen.specs.archs import load_arch

_SIMDS = 4
_ELEMENTS: Mapping[DType, str] = {
    DType.BF16: "cutlass::bfloat16_t", DType.FP16: "cutlass::half_t",
    DType.FP8_OCP: "cutlass::float_e4m3_t", DType.BF8_OCP: "cutlass::float_e5m2_t", DType.INT8: "std::int8_t",
    DType.INT32: "std::int32_t",
}  # fmt: skip
_SCALES = {Quant.NONE: "none", Quant.PER_TENSOR: "tensors", Quant.ROWWISE: "rows", Quant.BLOCKSCALE: "blocks"}
_SCHEDULES = {CutlassSchedule.PP: "pingpong", CutlassSchedule.CO: "cooperative"}
_OF_CLUSTERS = {"header": "cluster_k.hpp", "template": "ClusterKGemm"}
_OF_CUTLASS = {"header": "gemm.hpp", "template": "Gemm"}


@dataclass(frozen=True, slots=True, order=True)
class CutlassVariant:
    """The one device kernel."""

    name: str = "gemm"


def unavailable(instance: Instance, arch: str) -> str | None:
    """Nothing keeps it from an arch that it is valid on."""
    return None


def splits_unavailable(instance: Instance, arch: str) -> str | None:
    """Why not with K splits; None of stream-K."""
    return None if cutlass_config(instance).stream_k else "these kernels sum all of K in one workgroup"


def all_variants(instance: Instance) -> tuple[CutlassVariant, ...]:
    """The kernel."""
    return (CutlassVariant(),)


def expected(instance: Instance, arch: str, variant: CutlassVariant) -> Expectation:
    """The matrix instruction that is as wide as the tile, nothing in local memory."""
    config, spec, types = cutlass_config(instance), load_arch(arch), instance.signature
    steps = []
    for row in spec.matrix_instructions:
        if (row.a, row.b, row.acc) == (types.a, types.b, types.acc) and row.tile.n == config.tile.n:
            part = config.warpgroup_tile
            steps.append((row.mnemonic, part.m // INSTRUCTION_M * (part.k // row.tile.k)))
    return Expectation(
        steps=tuple(steps),
        copies=0,
        lds_bytes=spec.lds_bytes,
        scratch_bytes=0,
        spills=0,
        waves_per_simd=-(-config.threads // spec.wave_size // _SIMDS),
    )


def device_unit(instance: Instance, variants: Sequence[CutlassVariant]) -> DeviceUnit:
    """The unit of the kernel."""
    (symbol,) = (symbol_of(instance, variant) for variant in variants)
    return DeviceUnit("device/cutlass_gemm_device.cu.j2", {**_values(instance), "symbol": symbol}, (symbol,))


def host_unit(instance: Instance, variants: Mapping[str, Sequence[CutlassVariant]]) -> DeviceUnit:
    """The host unit, the same for each arch."""
    (variant,) = all_variants(instance)
    prepare = prepare_symbol(instance.id)
    workspace = (workspace_symbol(instance.id),) if cutlass_config(instance).stream_k else ()
    values = {
        **_values(instance),
        "symbol": symbol_of(instance, variant),
        "prepare": prepare,
        "workspace": next(iter(workspace), ""),
        "shared": min(load_arch(arch).lds_bytes for arch in variants),
    }
    return DeviceUnit("device/cutlass_gemm_host.cpp.j2", values, (prepare, *workspace))


def _values(instance: Instance) -> dict[str, Any]:
    config, signature = cutlass_config(instance), instance.signature
    head = {"instance": instance.name, "extended": config.has_extended_width}
    if config.schedule is CutlassSchedule.KC:
        template, words = _OF_CLUSTERS, [*_types_and_tile(instance), str(config.parts), boolean(config.swap)]
    else:
        template = _OF_CUTLASS
        words = [*first_words(instance), boolean(config.stream_k), boolean(config.swap)]
    is_usual = signature.layout is Layout.RCR
    if signature.bias or signature.epilogue or not is_usual:
        words.append(following(instance))
    if not is_usual:
        words.append(f"ckgen::Layout::{signature.layout}")
    return {**head, "config": ", ".join(words), **template}


def following(instance: Instance) -> str:
    """What the store does beside scales, as a type of C++."""
    signature = instance.signature
    words = (boolean(signature.bias), *(f"ckgen::EpilogueOp::{op}" for op in signature.epilogue))
    return f"ckgen::cutlass_gemm::Then<{', '.join(words)}>"


def first_words(instance: Instance) -> list[str]:
    """Types, scales, tile, cluster and schedule, as arguments of a C++ template."""
    config = cutlass_config(instance)
    words = [*_types_and_tile(instance), *map(str, config.cluster)]
    return [*words, f"ckgen::cutlass_gemm::Schedule::{_SCHEDULES[config.schedule]}"]


def _types_and_tile(instance: Instance) -> list[str]:
    types, tile = instance.signature, cutlass_config(instance).tile
    words = [_ELEMENTS[types.a], _ELEMENTS[types.c], f"ckgen::cutlass_gemm::Scales::{_SCALES[types.quant]}"]
    return [*words, *map(str, (tile.m, tile.n, tile.k))]


def cutlass_config(instance: Instance) -> CutlassConfig:
    """The Config of such an instance."""
    config = instance.config
    assert isinstance(config, CutlassConfig), f"{instance.name} is no kernel of CUTLASS"
    return config


KIND: DeviceKind[Instance, CutlassVariant] = DeviceKind(
    variants=(CutlassVariant,),
    unavailable=unavailable,
    all_variants=all_variants,
    device_unit=device_unit,
    host_unit=host_unit,
    expected=expected,
    splits_unavailable=splits_unavailable,
)
"""These instances as device code."""
