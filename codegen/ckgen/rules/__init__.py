"""Is this Config valid on this arch for this backend? Rule id, reason and numbers, never a bare bool."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from ckgen.families.fmha.append_config import CkTileAppendConfig, HipAppendConfig
from ckgen.families.fmha.config import CkTileFmhaConfig
from ckgen.families.fmha.hip_config import HipFmhaConfig
from ckgen.families.fmha.host_config import HostFmhaConfig
from ckgen.families.fmha.signature import FmhaSignature
from ckgen.families.gemm.enums import MoePart, Op
from ckgen.families.gemm.signature import GemmSignature
from ckgen.families.moe.ck_config import CkMoeConfig
from ckgen.families.moe.config import MoePairConfig
from ckgen.families.moe.parts import part_signatures
from ckgen.model.arch import ArchSpec
from ckgen.model.backend import Backend
from ckgen.model.config import Config
from ckgen.model.finding import Finding
from ckgen.rules import (
    asm,
    ck,
    ck_moe,
    ck_tile,
    ck_tile_dense,
    ck_tile_fmha,
    ck_tile_fmha_tiles,
    ck_tile_group_quant,
    ck_tile_multi_abd,
    ck_tile_stream_k,
    fmha_append,
    hip_fmha,
    hip_mxfp8,
    host_fmha,
)
from ckgen.rules.registry import Rule, registered

__all__ = ["Finding", "Rule", "all_rules", "judge"]

RULE_MODULES = (
    asm,
    ck,
    ck_moe,
    ck_tile,
    ck_tile_dense,
    ck_tile_fmha,
    ck_tile_fmha_tiles,
    ck_tile_group_quant,
    ck_tile_multi_abd,
    ck_tile_stream_k,
    fmha_append,
    hip_fmha,
    hip_mxfp8,
    host_fmha,
)
_KINDS = ("ck.moe.", "ck_tile.append.", "ck_tile.fmha.", "hip.append.", "hip.fmha.", "host.fmha.")
"""Beginnings of ids of rules that are about other Configs than the rest of their backend's."""


def all_rules() -> tuple[Rule, ...]:
    """Every rule of every backend, by id."""
    return registered()


def judge(
    signature: GemmSignature | FmhaSignature, config: Config, backend: Backend, arch: ArchSpec
) -> tuple[Finding, ...]:
    """What the backend's own rules have against the Config on this arch, by rule id; empty where it is valid."""
    if isinstance(config, MoePairConfig) and isinstance(signature, GemmSignature):
        if signature.op is not Op.MOE or signature.moe.part is not MoePart.LAYER:
            return (Finding("moe.pair", "two kernels compute a whole layer", signature.canonical(), "a layer"),)
        parts = zip(part_signatures(signature), (config.gate_up, config.down), strict=True)
        return tuple(finding for part, kernel in parts for finding in judge(part, kernel, kernel.backend, arch))
    rules = _rules_of(backend, _kind_of(config))
    found = [(one, finding) for one in rules if (finding := one.check(signature, config, arch)) is not None]
    return tuple(replace(finding, rule=one.id) for one, finding in found)


def _kind_of(config: Config) -> str | None:
    """The beginning of the ids of the Config's own rules; None where its backend's usual ones are about it."""
    if isinstance(config, CkMoeConfig):
        return "ck.moe."
    if isinstance(config, CkTileFmhaConfig):
        return "ck_tile.fmha."
    if isinstance(config, CkTileAppendConfig):
        return "ck_tile.append."
    if isinstance(config, HipAppendConfig):
        return "hip.append."
    if isinstance(config, HipFmhaConfig):
        return "hip.fmha."
    return "host.fmha." if isinstance(config, HostFmhaConfig) else None


@cache
def _rules_of(backend: Backend, kind: str | None) -> tuple[Rule, ...]:
    return tuple(
        one
        for one in registered()
        if one.backend is backend and next((start for start in _KINDS if one.id.startswith(start)), None) == kind
    )
