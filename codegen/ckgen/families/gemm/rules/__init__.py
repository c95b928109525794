"""What is asked of a GEMM's Config, by backend."""

from __future__ import annotations

from ckgen.families.common.shipped_rules import shipped_rules
from ckgen.families.gemm.asm_kernels import asm_kernel_of
from ckgen.families.gemm.rules import (
    ck,
    ck_tile,
    ck_tile_dense,
    ck_tile_group_quant,
    ck_tile_multi_abd,
    ck_tile_stream_k,
    cutlass,
    hip_fma,
    hip_mxfp8,
    host,
)
from ckgen.families.gemm.signature import GemmSignature
from ckgen.rules.rule_set import Judge

_SHIPPED = shipped_rules(GemmSignature, asm_kernel_of, lambda kernel, arch: (kernel.signature,))
_REGISTERED = (ck_tile_dense, ck_tile_group_quant, ck_tile_multi_abd, ck_tile_stream_k)
"""With ck_tile's rules."""

JUDGES: tuple[Judge, ...] = (
    ck.RULES,
    ck_tile.RULES,
    hip_mxfp8.RULES,
    hip_fma.RULES,
    cutlass.RULES,
    _SHIPPED,
    host.RULES,
)
