from __future__ import annotations

import math
from dataclasses import replace
from random import Random

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ckgen.families.common.storage import Values, decode, encode
from ckgen.families.gemm import reference
from ckgen.families.gemm.enums import OperandOp, Quant
from ckgen.families.gemm.reference import Operands, expect, expect_of_integers, preshuffle, quantum, store_a, store_b
from ckgen.families.gemm.reference_data import make_integers, make_operands
from ckgen.families.gemm.signature import GemmSignature, parse_signature
from ckgen.families.kernel_sets import shipped_set
from ckgen.model.dtype import DType, Fp8Flavour
from ckgen.model.tuned_row import Shape

SIGNATURES = sorted({
    c.signature.resolved(Fp8Flavour.OCP) for c in shipped_set("default")
    if (c.signature.epilogue, c.signature.a_op, c.signature.b_op) == ((), OperandOp.NONE, OperandOp.NONE)
}, key=str)  # fmt: skip


def by_hand(operands: reference.Operands, batch: int, row: int, column: int) -> float:
    """One element of C in exact arithmetic, from the definition."""
    s = operands.signature
    terms = []
    for k in range(operands.a.shape[-1]):
        scale = 1.0
        block = s.scale_block
        where = {
            "none": ((), ()), "per_tensor": ((0,), (0,)), "rowwise": ((row,), (column,)),
            "blockscale": ((row, k // block.k), (column // block.n, k // block.k)),
            "mx": ((row, k // 32), (column, k // 32)),
        }[s.quant.value]  # fmt: skip
        for scales, index in zip((operands.a_scale, operands.b_scale), where, strict=True):
            if scales is not None:
                scale *= float(scales[(min(batch, len(scales) - 1), *index)])
        terms.append(float(operands.a[batch, row, k]) * float(operands.b[batch, k, column]) * scale)
    if operands.bias is not None:
        terms.append(float(operands.bias[column]))
    return math.fsum(terms)


@pytest.mark.parametrize("signature", [*SIGNATURES, *(
    parse_signature(text, None) for text in (
        "gemm_bf16_rcr_per_tensor_batched_bias", "gemm_fp64_rcr", "a8w8:int8:bias", "gemm_fp8_ocp_fp4_bf16_rcr_mx",
        "gemm_bf8_fnuz_bf16_rcr_blockscale_batched_scales_both_8x16", "gemm_fp16_int4_fp32_rcr",
        "gemm_fp8_ocp_bf16_rcr_blockscale_scales_a_128x64", "gemm_fp8_ocp_bf16_rcr_blockscale_scales_b_16x32",
        "gemm_bf16_int4_bf16_rcr_blockscale_batched_scales_b_1x128",
    )
)], ids=str)  # fmt: skip
def test_the_reference_is_the_definition(signature: GemmSignature) -> None:
    shape = Shape(2 if signature.batched else 0, 3, 144, 256)
    operands = make_operands(signature, shape, seed=3)
    expected = expect(operands)
    assert expected.c.shape == (max(shape.batch, 1), 3, 144)
    for at in ((0, 0, 0), (expected.c.shape[0] - 1, 2, 143), (0, 1, 130)):
        exact = by_hand(operands, *at)
        if expected.bound[at] == 0:
            exact = float(decode(encode(np.array(exact), signature.c)))
        assert expected.c[at] == pytest.approx(exact, rel=1e-12, abs=1e-12)


PLAIN = ("fp32", "fp16", "bf16", "int8", "a8w8:int8", "a8w8:fp8", "gemm_fp8_ocp_fp16_rcr_blockscale", "mxfp8")


def in_parts(operands: Operands, cuts: list[int], order: list[int], backwards: bool) -> Values:
    """C of a kernel that rounds each part of K to C's type and adds them up in it, [batch, M, N]."""
    a, b = reference.scaled_operands(operands)
    bounds = [0, *sorted(cuts), a.shape[-1]]
    total = np.zeros((a.shape[0], a.shape[1], b.shape[-1]))
    for part in order:
        acc = np.zeros(total.shape, np.float32)
        ks = range(bounds[part], bounds[part + 1])
        for k in reversed(ks) if backwards else ks:
            acc = (acc + (a[..., k, None] * b[..., k, None, :]).astype(np.float32)).astype(np.float32)
        rounded = decode(encode(acc.astype(np.float64), operands.signature.c))
        total = decode(encode(total + rounded, operands.signature.c))
    return total


@given(
    st.sampled_from(PLAIN), st.integers(0, 99), st.lists(st.integers(0, 160), max_size=7), st.booleans(), st.randoms()
)
@settings(max_examples=60)
def test_no_order_of_integer_parts_gives_another_result(
    text: str, seed: int, cuts: list[int], backwards: bool, random: Random
) -> None:
    operands = make_integers(parse_signature(text, Fp8Flavour.OCP), Shape(0, 3, 5, 160), seed)
    order = list(range(len(cuts) + 1))
    random.shuffle(order)
    expected = expect(operands)
    assert (in_parts(operands, cuts, order, backwards) == expected.c).all()
    assert (expected.c == exactly(operands)).all()


@pytest.mark.parametrize(("epilogue", "is_exact"), [("mul_add", True), ("add_relu", True), ("mul_silu", False)])
def test_equality_is_asked_of_integers_that_an_epilogue_keeps(epilogue: str, is_exact: bool) -> None:
    operands = make_integers(parse_signature(f"gemm_fp32_rcr_epi_{epilogue}", None), Shape(0, 16, 16, 160), seed=1)
    of_any, of_integers = expect(operands), expect_of_integers(operands)
    assert (of_any.bound > 0).any() and (np.abs(of_any.c - of_integers.c) <= of_any.bound).all()
    assert np.array_equal(of_integers.c, np.rint(of_integers.c)) == is_exact
    assert (of_integers.bound == (0 if is_exact else of_any.bound)).all()


def test_elements_that_no_number_tells_keep_their_bound() -> None:
    operands = make_integers(parse_signature("gemm_fp32_rcr_epi_add", None), Shape(0, 3, 5, 160), seed=1)
    operands.a[0, 1, 7] = np.inf
    with np.errstate(invalid="ignore"):
        of_any, of_integers = expect(operands), expect_of_integers(operands)
    assert (np.isfinite(of_integers.c) == [[True], [False], [True]]).all()
    assert np.array_equal(of_any.bound[0, 1], of_integers.bound[0, 1], equal_nan=True)
    assert (of_integers.bound[0, ::2] == 0).all()


@given(st.sampled_from(PLAIN), st.integers(0, 99), st.booleans())
@settings(max_examples=40)
def test_no_order_of_products_gives_another_sum(text: str, seed: int, backwards: bool) -> None:
    operands = make_operands(parse_signature(text, Fp8Flavour.OCP), Shape(0, 3, 5, 384), seed)
    if operands.signature.quant is not Quant.ROWWISE:
        assert (in_parts(operands, [], [0], backwards) == expect(operands).c).all()
    plain = replace(operands, a_scale=operands.a_scale * 0 + 1.0) if operands.a_scale is not None else operands
    assert expect(plain).excess(in_parts(plain, [], [0], backwards)) <= 1.0


@given(st.sampled_from(("fp32", "fp16", "bf16")), st.integers(0, 99), st.booleans())
@settings(max_examples=30)
def test_a_float32_kernel_is_within_the_bound_of_sums_that_round(text: str, seed: int, backwards: bool) -> None:
    operands = make_operands(parse_signature(text, None), Shape(0, 3, 5, 96), seed)
    random = np.random.default_rng(seed)
    a, b = (
        decode(encode(random.uniform(-2, 2, of.shape) / 3, operands.signature.a)) for of in (operands.a, operands.b)
    )
    rounding = replace(operands, a=a, b=b)
    expected = expect(rounding)
    assert (expected.bound > 0).all() or text != "fp32"
    assert expected.excess(in_parts(rounding, [], [0], backwards)) <= 1.0


def exactly(operands: Operands) -> Values:
    a, b = reference.scaled_operands(operands)
    return a @ b


@pytest.mark.parametrize(
    ("text", "k", "holds"), [("bf16", 1 << 17, True), ("fp32", 1 << 12, True), ("a8w8_blockscale", 1 << 16, True)]
)
def test_sums_are_exact_up_to_a_large_k(text: str, k: int, holds: bool) -> None:
    operands = make_operands(parse_signature(text, Fp8Flavour.FNUZ), Shape(0, 1, 2, k), seed=7)
    assert (expect(operands).bound.max() == 0) == holds


@pytest.mark.parametrize("seed", [0, 1])
def test_one_operand_of_fp32_has_more_bits_than_a_narrower_type(seed: int) -> None:
    operands = make_operands(parse_signature("fp32", None), Shape(0, 8, 8, 64), seed)
    fine = (operands.b, operands.a)[seed]
    as_tf32 = np.ldexp(np.rint(np.ldexp(np.frexp(fine)[0], 11)), np.frexp(fine)[1] - 11)
    assert (as_tf32 != fine).mean() > 0.5


@pytest.mark.parametrize(("total", "nearest"), [(257.0, 256.0), (259.0, 260.0), (-257.0, -256.0)])
def test_of_two_values_as_near_to_an_exact_sum_only_the_even_one_is_right(total: float, nearest: float) -> None:
    a, b = np.ones((1, 1, 2)), np.array([[[total - 1.0], [1.0]]])
    expected = expect(Operands(parse_signature("bf16", None), a, b))
    assert expected.c == nearest and expected.bound == 0


def test_neighbouring_scales_of_blocks_differ() -> None:
    for text in ("a8w8_blockscale", "mxfp8"):
        operands = make_operands(parse_signature(text, Fp8Flavour.OCP), Shape(0, 9, 600, 2048), seed=4)
        for scales in (operands.a_scale, operands.b_scale):
            assert scales is not None and len(np.unique(scales)) >= 3
            for axis in (1, 2):
                assert (np.diff(scales, axis=axis) != 0).all()


def test_quantum_is_the_largest_power_of_two_that_divides_all() -> None:
    assert quantum(np.array([0.75, -6.0, 0.0, np.nan])) == 0.25
    assert quantum(np.array([3.0 * 2**-1060])) == 2.0**-1060
    assert quantum(np.zeros(3)) == np.inf
    later = np.concatenate([np.zeros(300_000), np.full(300_000, 2.0), [0.75, np.nan, np.inf, -6.0]])
    wide = np.concatenate([np.full(5000, 2.0**1000), [2.0**-1000]])
    assert quantum(wide) == quantum(wide[::-1]) == 2.0**-1000
    assert quantum(later) == quantum(later[::-1]) == quantum(np.stack([later, later]).T) == 0.25


def test_nan_is_wrong_and_overflow_may_be_infinite() -> None:
    operands = make_operands(parse_signature("fp16", None), Shape(0, 1, 1, 4), seed=0)
    expected = expect(operands)
    assert expected.excess(np.array([[[np.nan]]])) == np.inf
    assert expected.excess(np.array([[[np.inf]]])) == np.inf
    assert expected.excess(expected.c) == 0.0
    huge = reference.Operands(operands.signature, operands.a * 0 + 300.0, operands.b * 0 + 300.0)
    assert expect(huge).excess(np.array([[[np.inf]]])) <= 1.0


def test_all_batches_share_per_tensor_scales() -> None:
    operands = make_operands(parse_signature("gemm_bf16_rcr_per_tensor_batched", None), Shape(3, 2, 2, 8), seed=0)
    assert operands.a_scale is not None
    assert operands.a_scale.shape == (1, 1)


@pytest.mark.parametrize("layout", ["rcr", "rrr", "ccr", "crr"])
def test_storage_follows_the_layout(layout: str) -> None:
    operands = make_operands(parse_signature(f"fp32:{layout}", None), Shape(0, 2, 3, 4), seed=0)
    a, b = (stored.view(np.float32)[0] for stored in (store_a(operands), store_b(operands)))
    assert (a == (operands.a[0] if layout[0] == "r" else operands.a[0].T)).all()
    assert (b == (operands.b[0] if layout[1] == "r" else operands.b[0].T)).all()


def test_fp4_packs_the_first_of_two_in_the_low_half() -> None:
    operands = make_operands(parse_signature("gemm_fp4_bf16_rcr_mx", None), Shape(0, 1, 16, 64), seed=0)
    stored = store_a(operands)
    assert stored.shape == (1, 1, 32)
    codes = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])
    assert (codes[stored[0, 0] & 0xF] == operands.a[0, 0, 0::2]).all()
    assert (codes[stored[0, 0] >> 4] == operands.a[0, 0, 1::2]).all()


def test_preshuffling_puts_16_rows_of_16_bytes_side_by_side() -> None:
    rows = np.arange(32 * 64, dtype=np.int64).reshape(1, 32, 64) % 251
    shuffled = preshuffle(rows.astype(np.uint8)).reshape(-1)
    for n in (0, 15, 16, 31):
        for byte in (0, 15, 16, 47, 63):
            offset = (n // 16) * 16 * 64 + (byte // 16) * 256 + (n % 16) * 16 + byte % 16
            assert shuffled[offset] == rows[0, n, byte]


@pytest.mark.parametrize("dtype", [d for d in DType if d not in (DType.INT4, DType.FP8, DType.BF8, DType.E8M0)])
def test_operands_are_exact_in_their_type(dtype: DType) -> None:
    if dtype is DType.INT32:
        assert decode(encode(np.array([7.0, -3.0]), dtype)).tolist() == [7.0, -3.0]
        return
    values = decode(encode(np.linspace(-2, 2, 41), dtype))
    assert (decode(encode(values, dtype)) == values).all()


def test_bf16_and_fp8_use_the_flavours_own_encodings() -> None:
    assert encode(np.array([240.0]), DType.FP8_FNUZ).view(np.uint8)[0] == 0x7F
    assert encode(np.array([448.0]), DType.FP8_OCP).view(np.uint8)[0] == 0x7E
    assert encode(np.array([1.0]), DType.BF16).dtype == ml_dtypes.bfloat16


@pytest.mark.parametrize(("sides", "a_sizes", "b_sizes"), [
    ("both", (1, 3, 4), (1, 5, 4)), ("a", (1, 3, 4), None), ("b", None, (1, 5, 4)),
])  # fmt: skip
def test_a_side_without_block_scales_has_none(
    sides: str, a_sizes: tuple[int, ...] | None, b_sizes: tuple[int, ...] | None
) -> None:
    n = 128 if sides == "a" else 32
    text = f"gemm_fp8_ocp_bf16_rcr_blockscale_scales_{sides}_{n}x64"
    operands = make_operands(parse_signature(text, None), Shape(0, 3, 144, 256), seed=0)
    found = [scale.shape if scale is not None else None for scale in (operands.a_scale, operands.b_scale)]
    assert found == [a_sizes, b_sizes]


def test_int4_packs_twos_complement_low_nibble_first() -> None:
    operands = make_operands(parse_signature("gemm_fp16_int4_fp32_rcr", None), Shape(0, 1, 1, 4), seed=0)
    assert store_b(operands, np.array([[[-8.0], [7.0], [-1.0], [1.0]]])).tolist() == [[[0x78, 0x1F]]]
