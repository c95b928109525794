"""AITER's names and arguments, answered as its own tests' references say, or refused with the reason."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch
from torch import Tensor

import ckgen
import ckgen.torch
from calls_library import library_on
from ckgen.families.gemm.reference import preshuffle
from ckgen.torch import aiter, state
from ckgen.torch.aiter import Refused

pytestmark = pytest.mark.cpp
FP8 = torch.float8_e4m3fnuz


@pytest.fixture(autouse=True)
def library() -> Iterator[None]:
    torch.manual_seed(7)
    ckgen.torch.use(library_on("cpu"))
    yield
    state._library = None


def near(found: Tensor, exact: Tensor, most: Tensor, k: int) -> None:
    """Within a sum of k products in fp32 and one rounding to bf16."""
    by_sum = (k + 8) * 2.0**-24 * most
    assert found.shape == exact.shape
    assert ((found.double() - exact).abs() <= by_sum + 2.0**-8 * (exact.abs() + by_sum)).all()


def rows_of(dtype: torch.dtype, *shape: int) -> Tensor:
    return torch.randint(-100, 100, shape, dtype=torch.int8) if dtype is torch.int8 else torch.randn(*shape).to(dtype)


@pytest.mark.parametrize("dtype", [torch.int8, FP8])
def test_rowwise(dtype: torch.dtype) -> None:
    x, w = rows_of(dtype, 17, 256), rows_of(dtype, 48, 256)
    x_scale, w_scale = torch.rand(17, 1) + 0.1, torch.rand(1, 48) + 0.1
    exact = (x.double() @ w.double().T) * x_scale.double() * w_scale.double()
    most = (x.double().abs() @ w.double().abs().T) * x_scale.double() * w_scale.double()
    near(aiter.gemm_a8w8(x, w, x_scale, w_scale), exact, most, 256)
    near(aiter.gemm_a8w8(x, w, x_scale, w_scale.T.contiguous()), exact, most, 256)


@pytest.mark.parametrize("shuffled", [False, True])
def test_blocks(shuffled: bool) -> None:
    x, w = torch.randn(9, 384).to(FP8), torch.randn(256, 384).to(FP8)
    x_scale, w_scale = torch.rand(9, 3) + 0.1, torch.rand(2, 3) + 0.1
    wide = x.double() * x_scale.double().repeat_interleave(128, 1)
    weight = w.double() * w_scale.double().repeat_interleave(128, 0).repeat_interleave(128, 1)
    exact, most = wide @ weight.T, wide.abs() @ weight.T.abs()
    if not shuffled:
        near(aiter.gemm_a8w8_blockscale(x, w, x_scale, w_scale), exact, most, 384)
        return
    order = preshuffle(w.view(torch.uint8).numpy()[None])[0]
    ckgen.torch.use(library_on("gfx942:304"))
    given = torch.from_numpy(order).view(FP8)
    near(aiter.gemm_a8w8_blockscale_bpreshuffle(x, given, x_scale, w_scale), exact, most, 384)


def test_fp4_with_scales_in_the_order_of_e8m0_shuffle() -> None:
    random = np.random.default_rng(3)
    (x, xs), (w, ws) = (ckgen.quantize(random.standard_normal((rows, 256)), "fp4", "mx") for rows in (24, 64))
    values = []
    for codes, scales in ((x, xs), (w, ws)):
        halves = np.stack([codes & 0xF, codes >> 4], -1).reshape(len(codes), -1)
        values.append(halves.view(ml_dtypes.float4_e2m1fn).astype(float) * np.repeat(scales.astype(float), 32, 1))
    exact, most = (torch.from_numpy(a @ b.T) for a, b in (values, [np.abs(one) for one in values]))
    shuffled = [torch.from_numpy(ckgen.shuffle_mx_scale(one).view(np.uint8)) for one in (xs, ws)]
    given = torch.from_numpy(x), torch.from_numpy(ckgen.preshuffle_b(w))
    near(aiter.gemm_a4w4(*given, *shuffled), exact, most, 256)


def test_batches() -> None:
    x, w = torch.randn(3, 9, 128).bfloat16(), torch.randn(3, 32, 128).bfloat16()
    exact = x.double() @ w.double().mT
    near(aiter.batched_gemm_bf16_CK(x, w), exact, x.double().abs() @ w.double().abs().mT, 128)
    xq, wq = rows_of(torch.int8, 3, 9, 128), rows_of(torch.int8, 3, 32, 128)
    xs, ws = torch.rand(3, 9, 1) + 0.1, torch.rand(3, 1, 32) + 0.1
    scaled = (xq.double() @ wq.double().mT) * xs.double() * ws.double()
    near(aiter.batched_gemm_a8w8_CK(xq, wq, xs, ws), scaled, scaled.abs(), 128)


def test_attention() -> None:
    q, k = torch.randn(2, 9, 4, 64).bfloat16(), torch.randn(2, 17, 2, 64).bfloat16()
    found = aiter.flash_attn_func(q, k, k)
    turned = [one.double().transpose(1, 2) for one in (q, k, k)]
    exact = torch.nn.functional.scaled_dot_product_attention(*turned, enable_gqa=True).transpose(1, 2)
    bound = 2.0**-8 * (k.double().abs().amax() + exact.abs())
    assert ((found.double() - exact).abs() <= bound).all()
    starts = torch.tensor([0, 9, 18], dtype=torch.int32), torch.tensor([0, 17, 34], dtype=torch.int32)
    flat = [one.flatten(0, 1) for one in (q, k, k)]
    assert torch.equal(aiter.flash_attn_varlen_func(*flat, *starts, 9, 17).unflatten(0, (2, 9)), found)


def paged_reference(q: Tensor, rows: Tensor, lengths: list[int], window: int = 0) -> Tensor:
    """[sequences, heads, D] in fp64 of rows [sequences, longest, kv heads, D], which are keys and values."""
    found = torch.zeros(q.shape, dtype=torch.float64)
    for b, length in enumerate(lengths):
        keys = rows[b, max(length - window, 0) if window else 0 : length].double()
        for h in range(q.shape[1]):
            one = keys[:, h * rows.shape[2] // q.shape[1]]
            found[b, h] = torch.softmax(one @ q[b, h].double() * q.shape[2] ** -0.5, 0) @ one
    return found


def test_attention_over_pages() -> None:
    lengths, table = [3, 37, 64], torch.tensor([[5, 1, 0, 0], [2, 7, 9, 0], [4, 3, 8, 6]], dtype=torch.int32)
    q, rows = torch.randn(3, 4, 64).bfloat16(), torch.randn(3, 64, 2, 64).bfloat16()
    linear = torch.zeros(10, 16, 2, 64).bfloat16()
    for b in range(3):
        linear[table[b].long()] = rows[b].unflatten(0, (4, 16))  # pages that two share are the first's to read last
    given = {"query": q, "block_tables": table, "context_lens": torch.tensor(lengths), "max_context_len": 64}
    for b, pages in ((0, [5]), (1, [2, 7, 9]), (2, [4, 3, 8, 6])):
        linear[pages] = rows[b].unflatten(0, (4, 16))[: len(pages)]
    bound = 2.0**-8 * rows.double().abs().amax()
    for window in (0, 5):
        exact = paged_reference(q, rows, lengths, window)
        nhd = {"key_cache": linear, "value_cache": linear}
        hnd = {name: one.transpose(1, 2).contiguous() for name, one in nhd.items()}
        for layout, caches in (("NHD", nhd), ("HND", hnd)):
            out = torch.empty_like(q)
            found = paged(**given, **caches, out=out, kv_cache_layout=layout, sliding_window=window)
            assert found is out
            assert ((out.double() - exact).abs() <= bound + 2.0**-8 * exact.abs()).all()
    exact = paged_reference(q, rows, lengths)
    vectors = linear.unflatten(3, (8, 8)).permute(0, 2, 3, 1, 4).contiguous()
    columns = linear.unflatten(1, (2, 8)).permute(0, 3, 1, 4, 2).contiguous()
    found = aiter.pa_fwd_asm(q, vectors, columns, table, given["context_lens"], table.stride(0))
    assert ((found.double() - exact).abs() <= bound + 2.0**-8 * exact.abs()).all()
    table[0, 1:] = -(2**20)  # behind the context of 3 nobody reads it
    for values in (columns, linear.permute(0, 2, 3, 1).contiguous()):
        out = torch.empty_like(q)
        found = rocm(**given, key_cache=vectors, value_cache=values, out=out)
        assert found is out
        assert ((out.double() - exact).abs() <= bound + 2.0**-8 * exact.abs()).all()
    table[0, 1:] = 0
    starts = torch.tensor([0, 1, 2, 3], dtype=torch.int32)
    ends = torch.tensor([0, *lengths]).cumsum(0).int()
    by_starts = aiter.flash_attn_varlen_func(q, linear, linear, starts, ends, 1, 64, block_table=table, causal=True)
    assert ((by_starts.double() - exact).abs() <= bound + 2.0**-8 * exact.abs()).all()


@pytest.mark.parametrize("form", ["vectors", "columns"])
def test_more_queries_of_a_sequence_see_its_whole_context(form: str) -> None:
    rows, table = torch.randn(2, 32, 2, 64).bfloat16(), torch.tensor([[3, 0], [1, 2]], dtype=torch.int32)
    pages = torch.empty(4, 16, 2, 64).bfloat16()
    pages[table.long()] = rows.unflatten(1, (2, 16))
    keys = pages.unflatten(3, (8, 8)).permute(0, 2, 3, 1, 4).contiguous()
    columns = pages.permute(0, 2, 3, 1).contiguous()
    values = columns if form == "columns" else columns.unflatten(3, (2, 8)).transpose(2, 3).contiguous()
    lengths, q = [17, 32], torch.randn(6, 4, 64).bfloat16()
    exact = paged_reference(q, rows.repeat_interleave(3, 0), [length for length in lengths for _ in range(3)])
    out = rocm(
        out=torch.empty_like(q), query=q, key_cache=keys, value_cache=values, block_tables=table, mtp=3,
        context_lens=torch.tensor(lengths), max_context_len=32,
    )  # fmt: skip
    assert ((out.double() - exact).abs() <= 2.0**-8 * (rows.double().abs().amax() + exact.abs())).all()


def test_experts() -> None:
    a, w1, w2 = torch.randn(5, 64), torch.randn(4, 256, 64) / 8, torch.randn(4, 64, 128) / 11
    ids = torch.tensor([[0, 1], [2, 3], [1, 3], [0, 2], [3, 1]], dtype=torch.int32)
    weights = torch.rand(5, 2)
    exact = torch.zeros(5, 64, dtype=torch.float64)
    for token in range(5):
        for slot in range(2):
            expert = ids[token, slot]
            gate, up = (a[token].double() @ w1[expert].double().T).chunk(2)
            hidden = torch.nn.functional.silu(gate) * up
            exact[token] += weights[token, slot] * (hidden @ w2[expert].double().T)
    torch.testing.assert_close(aiter.fused_moe(a, w1, w2, weights, ids).double(), exact, rtol=1e-4, atol=1e-4)


X, S = torch.zeros(2, 128, dtype=torch.int8), torch.ones(2, 1)
Q = torch.zeros(1, 2, 2, 64, dtype=torch.bfloat16)
REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "splitK": (lambda: aiter.gemm_a8w8(X, X, S, S, splitK=2), "splitK is given, and the dispatcher chooses it"),
    "bias": (
        lambda: aiter.batched_gemm_bf16_CK(Q[0], Q[0], bias=S),
        "bias is given, and a batch of",
    ),
    "beta": (lambda: aiter.gemm_a4w4(X, X, S, S, beta=1.0), "beta is given, and C is written, not added to"),
    "window": (lambda: aiter.flash_attn_func(Q, Q, Q, window_size=(1, 1, 4)), r"a sink's tokens are an argument"),
    "probabilities": (lambda: aiter.flash_attn_func(Q, Q, Q, return_attn_probs=True), "no kernel keeps"),
    "quantised": (
        lambda: aiter.fused_moe(Q, X, X, S, S, quant_type="per_1x32"),
        "quant_type per_1x32: schemes of ckgen's layers by this call are No, per_Tensor",
    ),
    "not quantised": (
        lambda: aiter.fused_moe(S, X, X, S, S, quant_type="No"),
        "hidden_states is torch.float32 and w1 torch.int8, by quant_type No",
    ),
    "groups": (
        lambda: aiter.fused_moe(Q[0, 0], X, X, S, S, quant_type="per_1x128"),
        "rows of 64 are no whole groups of 128",
    ),
    "block_size": (lambda: rocm(block_size=32), "num_kv_heads 2 and block_size 32, and key_cache .*16, 8. is"),
    "columns": (
        lambda: rocm(value_cache=torch.zeros(4, 2, 64, 12).bfloat16()),
        r"value_cache \(4, 2, 64, 12\) is \[pages, heads, head_size, rows\], with rows of key_cache's 16",
    ),
    "q_scale": (lambda: rocm(q_scale=S), "q_scale is given, and Q has the type of the cache"),
    "8 bits of vectors": (lambda: rocm(kv_cache_dtype="fp8"), "paged_attention_rocm: kv_cache_dtype fp8: a cache of 8"),
    "rows of mtp": (lambda: rocm(mtp=3), r"query \(2, 2, 64\) has not 3 rows of each of 2 sequences"),
    "slopes of mtp": (
        lambda: rocm(query=torch.zeros(4, 2, 64).bfloat16(), mtp=2, alibi_slopes=S[:, 0]),
        "mtp 2 with alibi_slopes: distances are those of one query",
    ),
    "8 bits": (lambda: paged(kv_cache_dtype="fp8"), "kv_cache_dtype fp8: a cache of 8 bits is an argument of Library"),
    "two queries": (lambda: paged(mtp=2), "more than one query of a sequence: flash_attn_varlen_func with block_table"),
    "slopes and cap": (
        lambda: paged(alibi_slopes=S[:, 0], logits_soft_cap=30.0),
        "logits_soft_cap with alibi_slopes: no signature has both",
    ),
    "shared": (lambda: aiter.fused_moe(Q, Q, Q, S, S, shared_w1=Q), "shared_w1 is given, and the layer has no such"),
}


def paged(**changed: Any) -> Tensor:
    """A call of two sequences over pages that hold zeros."""
    given: dict[str, Any] = {
        "out": Q[0].clone(), "workspace_buffer": None, "query": Q[0], "key_cache": torch.zeros(4, 16, 2, 64).bfloat16(),
        "value_cache": torch.zeros(4, 16, 2, 64).bfloat16(), "scale": 0.125, "cu_query_lens": None,
        "block_tables": torch.tensor([[0], [1]]), "context_lens": torch.tensor([3, 9]), "max_context_len": 9,
        "alibi_slopes": None, "kv_cache_dtype": "auto", "kv_cache_layout": "NHD", "logits_soft_cap": 0.0,
        "k_scale": None, "v_scale": None,
    }  # fmt: skip
    return aiter.paged_attention_v1(**given | changed)


def rocm(**changed: Any) -> Tensor:
    """The same by paged_attention_rocm, over pages of vectors and of columns."""
    given: dict[str, Any] = {
        "out": Q[0].clone(), "exp_sums": None, "max_logits": None, "tmp_out": None, "query": Q[0],
        "key_cache": torch.zeros(4, 2, 8, 16, 8).bfloat16(), "value_cache": torch.zeros(4, 2, 64, 16).bfloat16(),
        "num_kv_heads": 2, "scale": 0.125, "block_tables": torch.tensor([[0], [1]]),
        "context_lens": torch.tensor([3, 9]), "block_size": 16, "max_context_len": 9, "alibi_slopes": None,
        "kv_cache_dtype": "auto", "k_scale": S, "v_scale": S,
    }  # fmt: skip
    return aiter.paged_attention_rocm(**given | changed)


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_computed_is_refused_with_its_reason(case: str) -> None:
    call, reason = REFUSED[case]
    with pytest.raises(Refused, match=reason):
        call()
