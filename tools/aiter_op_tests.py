"""Runs the cases of AITER's op tests through ckgen.torch.aiter on the CPU, and counts what passes.

python tools/aiter_op_tests.py [--work 1e9] [--library SO --name NAME] [--every 1]: cases of more multiplications than
`--work` are counted as too large. A result passes within the bound of a sum of products in fp32 and one rounding, which
is tighter than the tests' own 1 %.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

import ckgen
import ckgen.torch
from aiter_op_cases import Attention, Product, attentions, products
from ckgen.torch import aiter

SIGNATURES = (
    "gemm_int8_bf16_rcr_rowwise", "gemm_int8_fp16_rcr_rowwise", "gemm_fp8_ocp_bf16_rcr_rowwise",
    "gemm_fp8_ocp_fp16_rcr_rowwise", "gemm_fp8_ocp_bf16_rcr_blockscale", "gemm_fp8_ocp_bf16_rcr_blockscale_preshuffle",
    "gemm_int8_bf16_rcr_rowwise_batched", "gemm_bf16_rcr_batched", "fmha_fp16", "fmha_bf16", "fmha_fp16_masked",
    "fmha_bf16_masked", "fmha_fp16_elementwise", "fmha_bf16_elementwise", "fmha_fp16_masked_elementwise",
    "fmha_bf16_masked_elementwise", "fmha_fp16_alibi", "fmha_bf16_alibi", "fmha_fp16_masked_alibi",
    "fmha_bf16_masked_alibi",
)  # fmt: skip
"""What a library of these functions holds."""
FP8 = torch.float8_e4m3fn


def bounded(found: Tensor, exact: Tensor, most: Tensor, k: int) -> bool:
    """Within a sum of k products in fp32 and one rounding to the result's type."""
    digits = {torch.bfloat16: 8, torch.float16: 11}[found.dtype]
    by_sum = (k + 8) * 2.0**-24 * most
    bound = by_sum + 2.0**-digits * (exact.abs() + by_sum) + 2.0**-24
    return bool(((found.double() - exact).abs() <= bound).all())


def quantised(values: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Each row by its own scale."""
    most = 127.0 if dtype is torch.int8 else torch.finfo(dtype).max
    scale = values.abs().amax(-1, keepdim=True) / most
    codes = values / scale
    return (codes.round() if dtype is torch.int8 else codes).to(dtype), scale


def run_product(case: Product) -> bool:
    """Whether the function gives what its definition says."""
    many = (case.batch,) if case.batch else ()
    out = getattr(torch, case.out)
    x, w = torch.randn(*many, case.m, case.k), torch.randn(*many, case.n, case.k)
    if case.operands == "bfloat16":
        x, w = x.bfloat16(), w.bfloat16()
        return judged(aiter.batched_gemm_bf16_CK(x, w, dtype=out), x.double(), w.double(), case.k)
    dtype = torch.int8 if case.operands == "int8" else FP8
    if "blockscale" not in case.function:
        (xq, xs), (wq, ws) = quantised(x, dtype), quantised(w, dtype)
        turned = ws.mT.contiguous() if many else ws
        found = getattr(aiter, case.function)(xq, wq, xs, turned, dtype=out)
        return judged(found, xq.double() * xs.double(), wq.double() * ws.double(), case.k)
    xs, ws = torch.rand(case.m, case.k // 128) + 0.1, torch.rand(case.n // 128, case.k // 128) + 0.1
    xq, wq = (x / 10).to(FP8), (w / 10).to(FP8)
    exact_w = wq.double() * ws.double().repeat_interleave(128, 0).repeat_interleave(128, 1)
    given = wq
    if case.function.endswith("bpreshuffle"):
        given = torch.from_numpy(ckgen.preshuffle_b(wq.view(torch.uint8).numpy())).view(FP8)
    found = getattr(aiter, case.function)(xq, given, xs, ws)
    return judged(found, xq.double() * xs.double().repeat_interleave(128, 1), exact_w, case.k)


def judged(found: Tensor, x: Tensor, w: Tensor, k: int) -> bool:
    """Against the product in fp64."""
    return bounded(found, x @ w.mT, x.abs() @ w.abs().mT, k)


def run_attention(case: Attention) -> bool:
    """Whether the function gives what the definition says, within a rounding of P and one of O."""
    dtype = getattr(torch, case.dtype)
    heads_k = case.heads // case.gqa_ratio
    q = torch.randn(case.batch, case.seqlen_q, case.heads, case.hdim_q, dtype=dtype)
    k = torch.randn(case.batch, case.seqlen_k, heads_k, case.hdim_q, dtype=dtype)
    v = torch.randn(case.batch, case.seqlen_k, heads_k, case.hdim_v, dtype=dtype)
    window = tuple(torch.randint(0, case.seqlen_k, (2,)).tolist()) if case.local else (-1, -1)
    bias = torch.randn(case.seqlen_q, case.seqlen_k, dtype=dtype) if case.bias == "bias" else None
    slopes = torch.rand(case.batch, case.heads) if case.bias == "alibi" else None
    found = aiter.flash_attn_func(q, k, v, case.dropout_p, None, case.causal, window, bias, slopes)
    scores = torch.einsum("bqhd,bkhd->bhqk", q.double(), k.double().repeat_interleave(case.gqa_ratio, 2))
    scores *= case.hdim_q**-0.5
    row = torch.arange(case.seqlen_q)[:, None] + case.seqlen_k - case.seqlen_q
    column = torch.arange(case.seqlen_k)[None]
    if bias is not None:
        scores += bias.double()
    if slopes is not None:
        scores -= slopes.double()[:, :, None, None] * (row - column).abs()
    hidden = torch.zeros(case.seqlen_q, case.seqlen_k, dtype=torch.bool)
    if case.causal or case.local:
        left, right = window
        hidden |= column > row + (0 if case.causal else right) if case.causal or right >= 0 else hidden
        hidden |= column < row - left if left >= 0 else hidden
    weights = torch.softmax(scores.masked_fill(hidden, -torch.inf), -1).nan_to_num(0)
    wide = v.double().repeat_interleave(case.gqa_ratio, 2)
    exact = torch.einsum("bhqk,bkhd->bqhd", weights, wide)
    most = torch.einsum("bhqk,bkhd->bqhd", weights, wide.abs())
    step = 2.0 ** -{torch.bfloat16: 8, torch.float16: 11}[dtype]
    # P and O are rounded once each; scores in fp32 are off by less than 2^-12 here, and 2 of that is P's own error
    return bool(((found.double() - exact).abs() <= step * (exact.abs() + most) + 2.0**-11 * most + 2.0**-24).all())


def outcome(case: Any, run: Callable[[Any], bool]) -> str:
    """What became of a case."""
    try:
        return "passes" if run(case) else "WRONG"
    except aiter.Refused as refusal:
        return f"refused: {refusal}"
    except ckgen.Unsupported as missing:
        return f"no kernel: {str(missing).split(': ', 1)[1]}"


def main() -> None:
    """Prints a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=float, default=1e9)
    parser.add_argument("--library")
    parser.add_argument("--name", default="ckgen_jit")
    parser.add_argument("--every", type=int, default=1, help="draw one in so many of attention that are small enough")
    given = parser.parse_args()
    if given.library:
        lib = ckgen.load(given.library, [given.name], "cpu")
    else:
        lib = ckgen.jit(["gemm", "fmha"], "native", signatures=SIGNATURES, device="cpu")
    ckgen.torch.use(lib)
    torch.manual_seed(1)
    counted: Counter[tuple[str, str]] = Counter()
    drawn = 0
    for case in [*products(), *attentions()]:
        if isinstance(case, Product):
            name, run, is_drawn = case.function, run_product, True
        else:
            name, run = "flash_attn_func", run_attention
            if case.dropout_p:  # refused whatever the sizes are
                case = replace(case, seqlen_q=2, seqlen_k=2)
            elif case.work <= given.work:
                drawn += 1
            is_drawn = bool(case.dropout_p) or drawn % given.every == 0
        if case.work > given.work:
            counted[name, f"not run: more than {given.work:.0e} multiplications"] += 1
        elif not is_drawn:
            counted[name, f"not run: one in {given.every} of its size is drawn"] += 1
        else:
            counted[name, outcome(case, run)] += 1
    for (name, what), count in counted.items():
        print(f"{name:34}{count:6}  {what}")


if __name__ == "__main__":
    main()
