"""Element types, spelt alike in Python, C++, JSON and docs."""

from __future__ import annotations

from ckgen.model.word import Word


class DType(Word):
    """An element type; FP8 and BF8 mean the arch's own flavour and are resolved per target."""

    FP32 = "fp32"
    FP16 = "fp16"
    BF16 = "bf16"
    FP64 = "fp64"
    INT8 = "int8"
    INT32 = "int32"
    INT4 = "int4"
    FP4 = "fp4"
    E8M0 = "e8m0"
    FP8_FNUZ = "fp8_fnuz"
    FP8_OCP = "fp8_ocp"
    BF8_FNUZ = "bf8_fnuz"
    BF8_OCP = "bf8_ocp"
    FP8 = "fp8"
    BF8 = "bf8"

    @property
    def bits(self) -> int:
        """Bits per element: fp4 and int4 are packed two per byte."""
        return _BITS[self]

    def resolve(self, flavour: Fp8Flavour | None) -> DType:
        """FP8 or BF8 in the arch's flavour; any other dtype, or no flavour, is returned as it is."""
        if flavour is None:
            return self
        return _RESOLVED.get((self, flavour), self)


class Fp8Flavour(Word):
    """Which 8-bit float encodings an arch computes with."""

    FNUZ = "fnuz"
    OCP = "ocp"


_BITS = {
    DType.FP32: 32, DType.FP16: 16, DType.BF16: 16, DType.FP64: 64, DType.INT8: 8, DType.INT32: 32,
    DType.INT4: 4, DType.FP4: 4, DType.E8M0: 8, DType.FP8_FNUZ: 8, DType.FP8_OCP: 8, DType.BF8_FNUZ: 8,
    DType.BF8_OCP: 8, DType.FP8: 8, DType.BF8: 8,
}  # fmt: skip

_RESOLVED = {
    (DType.FP8, Fp8Flavour.FNUZ): DType.FP8_FNUZ,
    (DType.FP8, Fp8Flavour.OCP): DType.FP8_OCP,
    (DType.BF8, Fp8Flavour.FNUZ): DType.BF8_FNUZ,
    (DType.BF8, Fp8Flavour.OCP): DType.BF8_OCP,
}

_WORDS = {dtype.value: dtype for dtype in DType}


def take_dtypes(words: list[str]) -> tuple[list[DType], list[str]]:
    """The types that the words of a name begin with, each of one word or two, and the words behind them."""
    found: list[DType] = []
    while words:
        taken = next((n for n in (2, 1) if "_".join(words[:n]) in _WORDS), 0)
        if not taken:
            break
        found.append(_WORDS["_".join(words[:taken])])
        words = words[taken:]
    return found, words


TORCH_NAMES = {
    "torch.float32": DType.FP32,
    "torch.float16": DType.FP16,
    "torch.bfloat16": DType.BF16,
    "torch.int8": DType.INT8,
    "torch.int32": DType.INT32,
    "torch.float8_e4m3fnuz": DType.FP8_FNUZ,
    "torch.float8_e4m3fn": DType.FP8_OCP,
    "torch.float8_e5m2fnuz": DType.BF8_FNUZ,
    "torch.float8_e5m2": DType.BF8_OCP,
    "torch.float4_e2m1fn_x2": DType.FP4,
}
"""How the public tuning tables spell an element type."""
