"""Is this Config valid on this arch for this backend? Rule id, reason and numbers, never a bare bool."""

from __future__ import annotations

from functools import cache

from ckgen.families.gemm.config import GemmConfig
from ckgen.families.gemm.signature import GemmSignature
from ckgen.model.arch import ArchSpec
from ckgen.model.backend import Backend
from ckgen.model.finding import Finding
from ckgen.rules import asm, ck, ck_tile, ck_tile_dense, ck_tile_group_quant, ck_tile_multi_abd, ck_tile_stream_k
from ckgen.rules.registry import Rule, registered

__all__ = ["Finding", "Rule", "all_rules", "judge"]

RULE_MODULES = (asm, ck, ck_tile, ck_tile_dense, ck_tile_group_quant, ck_tile_multi_abd, ck_tile_stream_k)


def all_rules() -> tuple[Rule, ...]:
    """Every rule of every backend, by id."""
    return registered()


def judge(signature: GemmSignature, config: GemmConfig, backend: Backend, arch: ArchSpec) -> tuple[Finding, ...]:
    """What the backend's own rules have against the Config on this arch, by rule id; empty where it is valid."""
    found = (one.judge(signature, config, arch) for one in _rules_of(backend))
    return tuple(finding for finding in found if finding is not None)


@cache
def _rules_of(backend: Backend) -> tuple[Rule, ...]:
    return tuple(one for one in registered() if one.backend is backend)
