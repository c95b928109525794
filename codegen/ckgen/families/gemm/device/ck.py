"""Classic ck instances as device code: the units' names and constants, and what the machine code must look like."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ckgen.families.common.device.unit import DeviceUnit, symbol_of
from ckgen.families.gemm.config import CkBlockScaleConfig, CkConfig, CkPreshuffledConfig, CkRowwiseConfig
from ckgen.families.gemm.device.ck_variants import CkVariant
from ckgen.families.gemm.instance import Instance
from ckgen.model.dtype import DType


@dataclass(frozen=True, slots=True)
class OpAlias:
    """A module's header under dispatcher_cpp/backends and the class template in it that takes the constants."""

    header: str
    template: str


ALIASES: Mapping[str, OpAlias] = {
    "a8w8": OpAlias("ck/ops/a8w8.hpp", "A8w8"),
    "a8w8_bpreshuffle": OpAlias("ck/ops/bpreshuffle.hpp", "A8w8BPreshuffle"),
    "a8w8_blockscale": OpAlias("ck/ops/blockscale.hpp", "A8w8BlockScale"),
    "a8w8_blockscale_bpreshuffle": OpAlias("ck/ops/blockscale_bpreshuffle.hpp", "A8w8BlockScaleBPreshuffle"),
    "a4w4_blockscale": OpAlias("ck/ops/a4w4.hpp", "A4w4"),
    "batched_a8w8": OpAlias("ck/ops/batched.hpp", "Batched"),
    "batched_bf16": OpAlias("ck/ops/batched.hpp", "Batched"),
}
"""By module."""

_TYPES = {
    DType.INT8: "int8_t",
    DType.FP8_FNUZ: "ck::f8_t",
    DType.FP8_OCP: "ck::f8_t",
    DType.BF16: "ck::bhalf_t",
    DType.FP16: "ck::half_t",
    DType.FP4: "ck::f4x2_pk_t",
}
_BK1 = 16
"""BK1 of the 8-bit ops whose names do not tell it; a constant of the tables' owner's instance generators."""


def device_unit(instance: Instance, variants: Sequence[CkVariant]) -> DeviceUnit:
    """The unit of these kernels, in the order given."""
    symbols = tuple(symbol_of(instance, variant) for variant in variants)
    rows = [
        {
            "symbol": symbol,
            "spec": variant.spec.value,
            "hot": "true" if variant.hot else "false",
            "tail": variant.tail.value,
            "write": "AtomicAdd" if variant.add else "Set",
        }
        for symbol, variant in zip(symbols, variants, strict=True)
    ]
    values = {"instance": instance.name, "variants": rows, **op_values(instance)}
    return DeviceUnit("device/ck_device.hip.j2", values, symbols)


def op_values(instance: Instance) -> dict[str, Any]:
    """What names the instance's op: the alias and its constants, for device units and host units alike."""
    config, alias = _config(instance), ALIASES[instance.module]
    return {
        "header": alias.header,
        "module": alias.template,
        "types": list(types_of(instance)),
        "constants": list(constants_of(instance)),
        "scheduler": config.scheduler.value.capitalize(),
        "version": f"v{config.pipeline}",
    }


def types_of(instance: Instance) -> tuple[tuple[str, str], ...]:
    """The Config's member types: operands, C, and the clusters as sequences."""
    config = _config(instance)
    return (
        ("Operand", _TYPES[instance.signature.a]),
        ("Out", _TYPES[instance.signature.c]),
        ("ACluster", _sequence(config.a_cluster)),
        ("BCluster", _sequence(config.b_cluster)),
        ("CCluster", _sequence(config.c_cluster)),
        ("CVector", _sequence(config.c_vector)),
    )


def constants_of(instance: Instance) -> tuple[tuple[str, int], ...]:
    """The Config's numbers; K, AK1 and BK1 in units of the operand type as stored (pairs for fp4)."""
    config = _config(instance)
    ak1, bk1 = k1_of(instance)
    per_wave = xdl_per_wave(config)
    scale = () if not has_scale_block(instance) else _scale_block(config)
    return (
        ("block", config.block),
        *zip(("scale_m", "scale_n", "scale_k"), scale, strict=False),
        ("m", config.tile.m),
        ("n", config.tile.n),
        ("k", config.tile.k),
        ("ak1", ak1),
        ("bk1", bk1),
        ("xdl_m", config.xdl[0]),
        ("xdl_n", config.xdl[1]),
        ("per_wave_m", per_wave[0]),
        ("per_wave_n", per_wave[1]),
        ("shuffle_m", config.cshuffle[0]),
        ("shuffle_n", config.cshuffle[1]),
    )


def k1_of(instance: Instance) -> tuple[int, int]:
    """AK1 and BK1: as the name says; else a cluster's share of tile K, but 16 for B of 8-bit operands."""
    config = _config(instance)
    if not isinstance(config, CkRowwiseConfig):
        return config.ak1, config.bk1
    bk1 = config.tile.k // config.b_cluster[0] if instance.signature.a is DType.BF16 else _BK1
    return config.tile.k // config.a_cluster[0], bk1


def xdl_per_wave(config: CkConfig) -> tuple[int, int]:
    """XDL tiles per wave along M and N: as the name says, else as its owner means it, else by the fewest waves in M."""
    if not isinstance(config, CkPreshuffledConfig):
        return config.xdl_per_wave
    told = _told_per_wave().get(config.text())
    if told is not None:
        return told
    waves = config.waves
    assert waves is not None, "the rules admit no Config whose waves do not divide its tile"
    return config.tile.m // (waves[0] * config.xdl[0]), config.tile.n // (waves[1] * config.xdl[1])


@cache
def _told_per_wave() -> Mapping[str, tuple[int, int]]:
    data = json.loads(Path(__file__).with_name("ck_waves.json").read_text(encoding="utf-8"))
    return {config: (m, n) for config, (m, n) in data["xdl_per_wave"].items()}


def has_scale_block(instance: Instance) -> bool:
    """Whether the op takes the size of a scale's block as constants."""
    return instance.module in ("a8w8_blockscale", "a8w8_blockscale_bpreshuffle")


def _scale_block(config: CkConfig) -> tuple[int, int, int]:
    assert isinstance(config, CkBlockScaleConfig | CkPreshuffledConfig)
    assert config.scale_block is not None, "the grammar of block-scaled names gives it"
    return config.scale_block


def _config(instance: Instance) -> CkConfig:
    config = instance.config
    assert isinstance(config, CkConfig), f"{instance.name} is no classic ck instance"
    return config


def _sequence(values: tuple[int, ...]) -> str:
    return f"S<{', '.join(map(str, values))}>"
