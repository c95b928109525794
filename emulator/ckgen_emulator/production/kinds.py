"""The kinds of production kernels that are run."""

from __future__ import annotations

from ckgen_emulator.production import (
    attention_backward,
    attention_forward,
    bf16_gemm,
    fp4_gemm,
    fp8_gemm,
    fused_moe,
    int8_gemm,
    layer_norm,
    mla,
    moe_stage1,
    paged_attention,
    topk_softmax,
)
from ckgen_emulator.production.model import Kind

KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        bf16_gemm.KIND,
        int8_gemm.KIND,
        int8_gemm.OLDER,
        fp4_gemm.KIND,
        fp8_gemm.KIND,
        topk_softmax.KIND,
        layer_norm.KIND,
        attention_forward.KIND,
        attention_backward.KIND,
        paged_attention.KIND,
        mla.KIND,
        fused_moe.KIND,
        moe_stage1.KIND,
    )
}
