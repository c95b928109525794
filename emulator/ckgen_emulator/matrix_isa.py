"""Matrix opcodes that AMD's newest CDNA table lacks: CDNA 3's xf32, and CDNA 2's where later chips have others.

Numbers as clang 22.1.8 assembles them (opcode field of VOP3P); operand widths from their shapes, M * K * blocks / 64
elements per lane of A and B, M * N * blocks / 64 results.
"""

from __future__ import annotations

from collections.abc import Mapping

_OWN: Mapping[str, Mapping[int, str]] = {"cdna3": {62: "v_mfma_f32_16x16x8_xf32", 63: "v_mfma_f32_32x32x4_xf32"}}

_INPUTS_RESULTS = {
    "v_mfma_f32_16x16x8_xf32": ("num_pk2_f32:64", "num_pk4_f32:128"),
    "v_mfma_f32_32x32x4_xf32": ("num_pk2_f32:64", "num_pk16_f32:512"),
    "v_mfma_i32_32x32x8i8": ("num_pk4_i8:32", "num_pk16_i32:512"),
    "v_mfma_i32_16x16x16i8": ("num_pk4_i8:32", "num_pk4_i32:128"),
    "v_mfma_f32_32x32x4bf16_1k": ("num_pk4_bf16:64", "num_pk32_f32:1024"),
    "v_mfma_f32_16x16x4bf16_1k": ("num_pk4_bf16:64", "num_pk16_f32:512"),
    "v_mfma_f32_4x4x4bf16_1k": ("num_pk4_bf16:64", "num_pk4_f32:128"),
    "v_mfma_f32_32x32x8bf16_1k": ("num_pk4_bf16:64", "num_pk16_f32:512"),
    "v_mfma_f32_16x16x16bf16_1k": ("num_pk4_bf16:64", "num_pk4_f32:128"),
    "v_mfma_f32_32x32x2bf16": ("num_pk2_bf16:32", "num_pk32_f32:1024"),
    "v_mfma_f32_16x16x2bf16": ("num_pk2_bf16:32", "num_pk16_f32:512"),
    "v_mfma_f32_4x4x2bf16": ("num_pk2_bf16:32", "num_pk4_f32:128"),
    "v_mfma_f32_32x32x4bf16": ("num_pk2_bf16:32", "num_pk16_f32:512"),
    "v_mfma_f32_16x16x8bf16": ("num_pk2_bf16:32", "num_pk4_f32:128"),
}


def matrix_opcodes(family: str) -> Mapping[int, str]:
    """Mnemonics by number that only this family has, beside its renamed ones."""
    return _OWN.get(family, {})


def matrix_operands(mnemonic: str) -> list[str] | None:
    """`field:type:bits` of each operand; None where AMD's table has them."""
    if mnemonic not in _INPUTS_RESULTS:
        return None
    inputs, results = _INPUTS_RESULTS[mnemonic]
    return [f"src0:{inputs}", f"src1:{inputs}", f"src2:{results}", f"vdst:{results}"]
