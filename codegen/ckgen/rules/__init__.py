"""Is this Config valid on this arch for this backend? Rule id, reason and numbers, never a bare bool."""

from __future__ import annotations

from functools import cache

from ckgen.families.gemm.config import CkMoeConfig, GemmConfig, MoePairConfig
from ckgen.families.gemm.signature import GemmSignature
from ckgen.families.moe.parts import part_signatures
from ckgen.model.arch import ArchSpec
from ckgen.model.backend import Backend
from ckgen.model.finding import Finding
from ckgen.rules import (
    asm,
    ck,
    ck_moe,
    ck_tile,
    ck_tile_dense,
    ck_tile_group_quant,
    ck_tile_multi_abd,
    ck_tile_stream_k,
    hip_mxfp8,
)
from ckgen.rules.registry import Rule, registered

__all__ = ["Finding", "Rule", "all_rules", "judge"]

RULE_MODULES = (
    asm,
    ck,
    ck_moe,
    ck_tile,
    ck_tile_dense,
    ck_tile_group_quant,
    ck_tile_multi_abd,
    ck_tile_stream_k,
    hip_mxfp8,
)
_CK_MOE = "ck.moe."


def all_rules() -> tuple[Rule, ...]:
    """Every rule of every backend, by id."""
    return registered()


def judge(signature: GemmSignature, config: GemmConfig, backend: Backend, arch: ArchSpec) -> tuple[Finding, ...]:
    """What the backend's own rules have against the Config on this arch, by rule id; empty where it is valid."""
    if isinstance(config, MoePairConfig):
        parts = zip(part_signatures(signature), (config.gate_up, config.down), strict=True)
        return tuple(finding for part, kernel in parts for finding in judge(part, kernel, kernel.backend, arch))
    found = (one.judge(signature, config, arch) for one in _rules_of(backend, isinstance(config, CkMoeConfig)))
    return tuple(finding for finding in found if finding is not None)


@cache
def _rules_of(backend: Backend, of_ck_moe: bool) -> tuple[Rule, ...]:
    """Classic CK's MoE kernels have rules of their own."""
    return tuple(one for one in registered() if one.backend is backend and one.id.startswith(_CK_MOE) == of_ck_moe)
