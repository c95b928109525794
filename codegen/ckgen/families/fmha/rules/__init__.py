"""What is asked of a Config of attention, by backend."""

from __future__ import annotations

from ckgen.families.common.shipped_rules import shipped_rules
from ckgen.families.fmha.asm_kernels import asm_fmha_kernel_of
from ckgen.families.fmha.rules import append, backward, ck_tile, ck_tile_tiles, forward, gradients, hip, host
from ckgen.families.fmha.signature import FmhaSignature
from ckgen.rules.rule_set import Judge

_SHIPPED = shipped_rules(
    FmhaSignature, asm_fmha_kernel_of, lambda kernel, arch: tuple(one.canonical() for one in kernel.signatures)
)
_REGISTERED = (ck_tile_tiles,)
"""With ck_tile's rules."""

JUDGES: tuple[Judge, ...] = (
    ck_tile.RULES, hip.RULES, forward.RULES, host.RULES, append.OF_CK_TILE, append.OURS, backward.RULES,
    gradients.RULES, _SHIPPED,
)  # fmt: skip
