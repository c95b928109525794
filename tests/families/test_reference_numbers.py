"""Operands and bounds of the references, as numbers: what was derived once, and what a seed draws."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ckgen.families.fmha import operands as fmha_operands
from ckgen.families.fmha import reference as fmha
from ckgen.families.fmha.signature import parse_canonical as parse_fmha
from ckgen.families.gemm import reference as gemm
from ckgen.families.gemm.signature import parse_canonical
from ckgen.families.moe import reference as moe
from ckgen.model.fmha_shape import FmhaShape
from ckgen.model.groups import Routing
from ckgen.model.tuned_row import Shape

GEMMS = (
    "gemm_fp32_rcr", "gemm_fp64_rcr", "gemm_fp16_rcr_bias", "gemm_bf16_rrr_batched", "gemm_int8_bf16_rcr_rowwise",
    "gemm_fp8_ocp_bf16_rcr_blockscale", "gemm_fp8_fnuz_bf16_rcr_per_tensor", "gemm_fp4_bf16_rcr_mx",
    "gemm_fp16_int4_fp32_rcr", "gemm_fp16_rcr_epi_add_mul_relu", "gemm_fp16_rcr_epi_gelu", "gemm_bf16_rcr_epi_silu",
    "gemm_fp16_rcr_epi_scale", "gemm_bf16_rcr_b_mul", "gemm_fp16_rcr_a_add",
)  # fmt: skip
LAYERS = (
    "moe_bf16_rcr_layer_gated_epi_silu", "moe_fp8_fnuz_bf16_rcr_rowwise_layer_gated_epi_gelu",
    "moe_fp8_ocp_bf16_rcr_mx_layer_epi_relu", "moe_int8_bf16_rcr_per_tensor_layer_gated_weightfirst_epi_silu",
    "moe_fp8_ocp_bf16_rcr_blockscale_layer_gated_epi_silu",
)  # fmt: skip
ATTENTION = (
    "fmha_fp32", "fmha_fp16_masked_lse", "fmha_bf16_alibi_dropout", "fmha_bf16_elementwise_softcap",
    "fmha_fp8_ocp_bf16_pertensor", "fmha_bf16_varlen_masked_sink", "fmha_fp16_blocktable",
)  # fmt: skip


def numbers(*values: Any) -> str:
    """Sum, least and greatest of each array; None where there is none."""
    said = (
        "-" if value is None else " ".join(f"{f(np.asarray(value, np.float64)):.9g}" for f in (np.sum, np.min, np.max))
        for value in values
    )
    return "; ".join(said)


def of_gemms() -> Iterator[str]:
    for name in GEMMS:
        signature = parse_canonical(name)
        made = gemm.make_operands(signature, Shape(2 if signature.batched else 0, 5, 64, 256), seed=7)
        yield f"{name}\n  {numbers(made.a, made.b, made.a_scale, made.b_scale)}\n"
        for k_batch in (1, 4):
            found = gemm.expect(made, k_batch)
            yield f"  {k_batch}: {numbers(found.c, found.bound)}\n"


def of_layers() -> Iterator[str]:
    for name in LAYERS:
        made = moe.make_operands(parse_canonical(name), moe.MoeSize(6, 64, 128, Routing(4, 2)), seed=7)
        for adds_in_c in (False, True):
            found = moe.expect(made, adds_in_c)
            yield f"{name} {adds_in_c}\n  {numbers(made.a, made.a_scale, made.weights, found.c, found.bound)}\n"


def of_attention() -> Iterator[str]:
    shape = FmhaShape(2, 4, 2, 9, 40, 16, 24, window_left=12, window_right=3, sink_tokens=2, page_size=16, pages=8)
    for name in ATTENTION:
        made = fmha_operands.make_operands(parse_fmha(name), shape, seed=7)
        yield f"{name} {made.lengths}\n  {numbers(made.q, made.k, made.v, made.bias, made.sink, made.scale)}\n"
        for truncates in (False, True):
            found = fmha.expect(made, truncates)
            o, lse = found.o, found.lse
            finite = [np.where(np.isfinite(one), one, 0.0) for one in (o.c, o.bound, lse.c, lse.bound)]
            yield f"  {truncates}: {numbers(*finite)}\n"


def test_operands_and_bounds_are_those_that_were_derived(golden: Callable[[str, str], None]) -> None:
    golden("families/reference_numbers.txt", "".join((*of_gemms(), *of_layers(), *of_attention())))


def test_a_shuffled_mx_scale_lies_as_its_kernels_read_it() -> None:
    """In blocks of 32 rows and 8 groups: by group % 4, then row % 16, then which 4 groups, then which 16 rows."""
    scales = np.arange(1, 1 + 45 * 11, dtype=np.uint16).reshape(1, 45, 11)
    found = gemm.shuffle_mx_scale(scales)
    assert found.shape == (64 * 16,)
    seen = np.zeros(found.shape, bool)
    for row in range(45):
        for group in range(11):
            block = (row // 32) * 2 + group // 8
            inside = ((group % 4) * 16 + row % 16) * 4 + (group % 8 // 4) * 2 + (row % 32 // 16)
            assert found[block * 256 + inside] == scales[0, row, group]
            seen[block * 256 + inside] = True
    assert not found[~seen].any()
