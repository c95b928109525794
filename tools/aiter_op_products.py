"""Cases of AITER's GEMMs, run and held against the product in fp64."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import torch
from torch import Tensor

import ckgen
from aiter_op_cases import Product
from ckgen.torch import aiter

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
    if case.function == "gemm_a4w4":
        return run_fp4(case, x, w)
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


def run_fp4(case: Product, x: Tensor, w: Tensor) -> bool:
    """Both as the test makes them: scales of 32 elements in the order of e8m0_shuffle, weights in that of (16, 16)."""
    given, exact = [], []
    for one in (x, w):
        codes, scales = ckgen.quantize(one.numpy(), "fp4", "mx")
        halves = np.stack([codes & 0xF, codes >> 4], -1).reshape(len(codes), -1)
        values = halves.view(ml_dtypes.float4_e2m1fn).astype(np.float64)
        exact.append(torch.from_numpy(values * np.repeat(scales.astype(np.float64), 32, 1)))
        given.append((codes, torch.from_numpy(ckgen.shuffle_mx_scale(scales).view(np.uint8))))
    (xq, xs), (wq, ws) = given
    found = aiter.gemm_a4w4(torch.from_numpy(xq), torch.from_numpy(ckgen.preshuffle_b(wq)), xs, ws)
    return judged(found, *exact, case.k)


def judged(found: Tensor, x: Tensor, w: Tensor, k: int) -> bool:
    """Against the product in fp64."""
    return bounded(found, x @ w.mT, x.abs() @ w.abs().mT, k)
