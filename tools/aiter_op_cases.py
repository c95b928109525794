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
