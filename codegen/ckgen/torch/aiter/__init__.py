"""AITER's public functions, by name and argument, answered through ckgen or refused with the reason.

`from ckgen.torch.aiter import gemm_a8w8` in place of `from aiter import gemm_a8w8`. A function that takes what ckgen
does not compute raises `Refused`, and never computes something else.
"""

from ckgen.torch.aiter.attention import flash_attn_func, flash_attn_varlen_func
from ckgen.torch.aiter.experts import fused_moe
from ckgen.torch.aiter.pages import pa_fwd_asm, paged_attention_rocm, paged_attention_v1
from ckgen.torch.aiter.products import (
    batched_gemm_a8w8_CK,
    batched_gemm_bf16_CK,
    gemm_a4w4,
    gemm_a8w8,
    gemm_a8w8_blockscale,
    gemm_a8w8_blockscale_bpreshuffle,
    gemm_a8w8_bpreshuffle,
)
from ckgen.torch.aiter.refused import Refused

__all__ = [
    "Refused",
    "batched_gemm_a8w8_CK",
    "batched_gemm_bf16_CK",
    "flash_attn_func",
    "flash_attn_varlen_func",
    "fused_moe",
    "gemm_a4w4",
    "gemm_a8w8",
    "gemm_a8w8_blockscale",
    "gemm_a8w8_blockscale_bpreshuffle",
    "gemm_a8w8_bpreshuffle",
    "pa_fwd_asm",
    "paged_attention_rocm",
    "paged_attention_v1",
]
