"""The cases of AITER's own op tests, as facts: what each test is called with (ROCm/aiter, August 2026, op_tests)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

_MS = (1, 32, 64, 128, 192, 256, 320, 512, 1024, 2048, 4096, 8192)
_QKV, _OUT = [(m, 1280, 8192) for m in _MS], [(m, 8192, 1024) for m in _MS]
_LARGE = [(16384, 1280, 8192), (16384, 8192, 1024)]
_GELU = [(m, 3072, 768) for m in (32, 4096, 8192)]
_PRESHUFFLE = [(m, 7424, 8192) for m in (16, 32, 48, 64, 4096, 5120, 8192)]
_BLOCK_MS = (
    1, 2, 4, 8, 16, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448, 480, 512, 1024, 2048, 4096,
    6144, 8192, 10240,
)  # fmt: skip
_A4W4 = (
    *((m, 1280, 8192) for m in (*_MS, 65, 127, 129)), *((m, 8192, 1024) for m in (*_MS, 16384)),
    *product((1552, 1664, 1792, 1920, 3072), (8192, 10240, 57344), (8192,)),
    *((m, 8192, 28672) for m in (1552, 1664, 1792, 1920, 3072)),
    (256, 2048, 8192), (2048, 8192, 8192), (16384, 16384, 16384), (32768, 106496, 16384), (32768, 16384, 53248),
    (32768, 18432, 16384), (32768, 16384, 16384),
    *((m, n, k) for m in (128, 64, 32) for n, k in ((106496, 16384), (16384, 53248), (18432, 16384), (16384, 16384))),
)  # fmt: skip
_HDIMS = (
    (32, 32), (40, 40), (59, 59), (64, 64), (96, 96), (111, 111), (128, 128), (160, 160), (192, 192), (224, 224),
    (256, 256), (192, 128),
)  # fmt: skip
_SEQLENS = (
    (113, 203), (128, 217), (113, 211), (108, 256), (256, 512), (512, 256), (1024, 1024), (1023, 1024), (1024, 1023),
    (2048, 2048),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Product:
    """A GEMM of a test: what the drop-in function is called, types by torch's names, sizes."""

    function: str
    operands: str
    out: str
    batch: int
    m: int
    n: int
    k: int

    @property
    def work(self) -> int:
        """Multiplications."""
        return max(self.batch, 1) * self.m * self.n * self.k


@dataclass(frozen=True, slots=True)
class Attention:
    """A case of test_mha's test_flash_attn_output."""

    dtype: str
    gqa_ratio: int
    bias: str
    local: bool
    causal: bool
    dropout_p: float
    hdim_q: int
    hdim_v: int
    seqlen_q: int
    seqlen_k: int
    batch: int = 5
    heads: int = 6

    @property
    def work(self) -> int:
        """Multiplications."""
        heads = self.heads * self.batch
        return heads * self.seqlen_q * self.seqlen_k * (self.hdim_q + self.hdim_v)


@dataclass(frozen=True, slots=True)
class Varlen:
    """A case of test_mha_varlen's test_flash_attn_varlen_func; up to 19 rows of a sequence are padding."""

    dtype: str
    heads_k: int
    alibi: bool
    local: bool
    causal: bool
    dropout_p: float
    hdim: int
    seqlen_q: int
    seqlen_k: int
    batch: int = 4
    heads: int = 9

    @property
    def work(self) -> int:
        """Multiplications."""
        return self.heads * self.batch * self.seqlen_q * self.seqlen_k * 2 * self.hdim


@dataclass(frozen=True, slots=True)
class Paged:
    """A case of test_pa_v1's test_paged_attention whose cache is not quantised: the others are skipped there."""

    context: int
    batch: int
    heads: int
    heads_k: int
    hdim: int
    alibi: bool
    block: int
    dtype: str
    layout: str
    softcap: float
    window: int

    @property
    def work(self) -> int:
        """Multiplications."""
        return self.heads * self.batch * self.context * 2 * self.hdim


@dataclass(frozen=True, slots=True)
class Columns:
    """A case of the test beside paged_attention_rocm's own source: queries of a sequence, V in columns, bf16."""

    queries: int
    context: int
    batch: int
    heads: int = 8
    heads_k: int = 1
    hdim: int = 128
    block: int = 16

    @property
    def work(self) -> int:
        """Multiplications."""
        return self.heads * self.batch * self.queries * self.context * 2 * self.hdim


@dataclass(frozen=True, slots=True)
class Experts:
    """A case of test_moe_2stage without arguments: gate and up, silu, bf16. Types of activations and weights."""

    quant: str
    operands: str
    weights: str
    tokens: int
    hidden: int = 7168
    inter: int = 256
    experts: int = 257
    top_k: int = 9

    @property
    def work(self) -> int:
        """Multiplications."""
        return self.tokens * self.top_k * self.hidden * self.inter * 3


def products() -> Iterator[Product]:
    """Of test_gemm_a8w8, _a8w8_blockscale, _a4w4, test_batched_gemm_a8w8 and _bf16."""
    for out, operands, (m, n, k) in product(
        ("bfloat16", "float16"), ("int8", "float8"), [*_QKV, *_OUT, *_LARGE, *_GELU, *_PRESHUFFLE]
    ):
        yield Product("gemm_a8w8", operands, out, 0, m, n, k)
    for name, m in product(("gemm_a8w8_blockscale", "gemm_a8w8_blockscale_bpreshuffle"), _BLOCK_MS):
        yield Product(name, "float8", "bfloat16", 0, m, 24576, 1536)
    for m, n, k in [*_QKV, *_OUT]:
        yield Product("batched_gemm_a8w8_CK", "int8", "bfloat16", 16, m, n, k)
    for m, n, k in _A4W4:
        yield Product("gemm_a4w4", "float4_e2m1fn_x2", "bfloat16", 0, m, n, k)
    for batch, m in product((16, 8, 4, 2), _MS):
        yield Product("batched_gemm_bf16_CK", "bfloat16", "bfloat16", batch, m, 1024, 4096)


def attentions() -> Iterator[Attention]:
    """Of test_mha, each of two values of `deterministic`, which change nothing forward, once."""
    options = product(
        ("float16", "bfloat16"), (1, 8), ("no", "bias", "alibi"), (False, True), (False, True), (0.0, 0.17), _HDIMS,
        _SEQLENS,
    )  # fmt: skip
    for dtype, ratio, bias, local, causal, dropout, (hdim_q, hdim_v), (q, k) in options:
        heads = 6 if ratio == 1 else 48
        yield Attention(dtype, ratio, bias, local, causal, dropout, hdim_q, hdim_v, q, k, heads=heads)


def varlens() -> Iterator[Varlen]:
    """Of test_mha_varlen, each of two values of `deterministic` and of two ways to pack, once."""
    options = product(
        ("float16", "bfloat16"), (9, 1, 3), (False, True), (False, True), (False, True), (0.0, 0.17),
        (59, 128, 160, 256), ((1, 147), (1024, 1024)),
    )  # fmt: skip
    for dtype, heads_k, alibi, local, causal, dropout, hdim, (q, k) in options:
        yield Varlen(dtype, heads_k, alibi, local, causal, dropout, hdim, q, k)


def pages() -> Iterator[Paged]:
    """Of test_pa_v1."""
    options = product(
        (1, 26, 128, 4097), (1, 3, 31, 128), ((8, 1), (4, 2), (32, 4)), (64, 128), (False, True), (1, 16, 32),
        ("float16", "bfloat16"), ("NHD", "HND"), (0.0, 30.0), (0, 10),
    )  # fmt: skip
    for context, batch, (heads, heads_k), *others in options:
        yield Paged(context, batch, heads, heads_k, *others)


def columns() -> Iterator[Columns]:
    """Of paged_attention_rocm, with the contexts in full."""
    for queries, context, batch in product((1, 2, 4), (256, 512, 2048), (1, 2, 8)):
        yield Columns(queries, context, batch)


def layers() -> Iterator[Experts]:
    """Of test_moe_2stage."""
    schemes = (
        ("No", "bfloat16", "bfloat16"), ("per_Tensor", "float8", "float8"), ("per_Token", "float8", "float8"),
        ("per_Token", "float8", "int4"), ("per_1x32", "fp4", "fp4"), ("per_128x128", "float8", "float8"),
        ("per_1x32", "bfloat16", "fp4"), ("per_1x32", "float8", "fp4"), ("per_1x32", "bfloat16", "int4"),
        ("per_1x32", "float8", "float8"),
    )  # fmt: skip
    tokens = (1, 3, 5, 16, 32, 64, 128, 256, 1024, 4096, 8192, 163840)
    for (quant, operands, weights), count in product(schemes, tokens):
        yield Experts(quant, operands, weights, count)
