"""Matrix instructions: where every entry lies, and what the arithmetic is."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest
from matrix_layout import (
    FORMATS,
    LANES,
    Matrix,
    bits_of,
    codes_of,
    input_registers,
    parse,
    product,
    result_from_registers,
    result_to_registers,
    values_of,
)
from numpy.typing import NDArray
from step_support import assemble, emulator, table

from ckgen_emulator.bindings import Options, Run, Wave

pytestmark = pytest.mark.amd

Array = NDArray[Any]

A, B, C, D, A_SCALE, B_SCALE = 0, 16, 64, 128, 40, 41
ACC = 256


def mnemonics(arch: str) -> list[str]:
    """The matrix instructions of the chip's table."""
    names = {line.split()[2] for line in table(arch).splitlines()[1:]}
    return sorted(name for name in names if name.startswith("v_mfma"))


def instruction(arch: str, mnemonic: str) -> Matrix:
    return parse(mnemonic, fnuz=arch == "gfx942")


def registers(first: int, count: int) -> str:
    bank, number = ("a", first - ACC) if first >= ACC else ("v", first)
    return f"{bank}{number}" if count == 1 else f"{bank}[{number}:{number + count - 1}]"


def line(one: Matrix, at: Sequence[int] = (D, A, B, C), controls: str = "", c: str = "") -> str:
    d_at, a_at, b_at, c_at = at
    counts = one.result_registers, one.registers(one.a), one.registers(one.b), one.result_registers
    operands = [registers(first, count) for first, count in zip((d_at, a_at, b_at, c_at), counts, strict=True)]
    if c:
        operands[3] = c
    if one.scaled:
        operands += [registers(A_SCALE, 1), registers(B_SCALE, 1)]
    return f"{one.mnemonic} {', '.join(operands)} {controls}".strip() + "\n"


@cache
def code(arch: str) -> dict[str, bytes]:
    """Every instruction of the chip as `line` writes it, one assembly for all; scales from byte 0."""
    ones = [instruction(arch, name) for name in mnemonics(arch)]
    text = "".join(line(one, controls="op_sel_hi:[0,0,0]" if one.scaled else "") for one in ones)
    return dict(zip(mnemonics(arch), split(assemble(text, arch), ones), strict=True))


def split(blob: bytes, ones: Sequence[Matrix]) -> list[bytes]:
    sizes = [16 if one.scaled else 8 for one in ones]
    assert sum(sizes) == len(blob)
    starts = np.cumsum([0, *sizes])
    return [blob[start : start + size] for start, size in zip(starts, sizes, strict=False)]


def run(arch: str, blob: bytes, rows: dict[int, Array], *, exec_mask: int = 2**64 - 1, mode: int = 0x3F0) -> Wave:
    wave, done = step(arch, blob, rows, exec_mask=exec_mask, mode=mode)
    assert done.findings == ()
    return wave


def step(
    arch: str, blob: bytes, rows: dict[int, Array], *, exec_mask: int = 2**64 - 1, mode: int = 0x3F0
) -> tuple[Wave, Run]:
    wave = Wave()
    wave.exec_mask, wave.mode = exec_mask, mode
    wave.vectors[:] = 0xDEADBEEF
    for first, held in rows.items():
        wave.vectors[first : first + len(held)] = held
    return wave, emulator(arch).step(blob, wave, Options(most_findings=5))


def inputs(one: Matrix, a: Array, b: Array, c: Array, at: Sequence[int] = (D, A, B, C)) -> dict[int, Array]:
    """Registers of A[block, i, k], B[block, j, k], C[block, i, j], given as values."""
    return {
        at[1]: input_registers(one, codes_of(a, one.a), one.a),
        at[2]: input_registers(one, codes_of(b, one.b), one.b),
        at[3]: result_to_registers(one, c),
        A_SCALE: np.full((2, LANES), 0x7F7F7F7F, np.uint32),
    }


def outcome(one: Matrix, wave: Wave, first: int = D) -> Array:
    return result_from_registers(one, wave.vectors[first : first + one.result_registers])


def drawn(one: Matrix, seed: int) -> tuple[Array, Array, Array]:
    """Small integers that every type has; every partial sum of their products is exact."""
    random = np.random.default_rng(seed)
    shape = (one.blocks, one.m, one.k)
    a, b = (random.integers(1, 5, shape) * random.choice([-1, 1], shape) for _ in range(2))
    return a, b, random.integers(-100, 101, (one.blocks, one.m, one.m))


CHIPS = ("gfx90a", "gfx942", "gfx950")


@pytest.mark.parametrize("arch", CHIPS)
def test_every_matrix_opcode_of_the_table_is_executed(arch: str) -> None:
    matrix = {name: executed for name, executed in emulator(arch).opcodes().items() if name.startswith("v_mfma")}
    assert len(matrix) >= 27
    assert [name for name, executed in matrix.items() if not executed] == []


@pytest.mark.parametrize("arch", CHIPS)
def test_every_entry_of_every_matrix_lies_where_the_isa_says(arch: str) -> None:
    """One k at a time: D is then a product of a column and a row, which shows each A[i][k], B[k][j] and C[i][j]."""
    for mnemonic, blob in code(arch).items():
        one = instruction(arch, mnemonic)
        a, b, c = drawn(one, len(mnemonic))
        for k in range(one.k):
            only = np.arange(one.k) == k
            wave = run(arch, blob, inputs(one, a * only, b * only, c))
            np.testing.assert_array_equal(outcome(one, wave), product(a * only, b * only, c), f"{mnemonic} k {k}")
        wave = run(arch, blob, inputs(one, a, b, c))
        np.testing.assert_array_equal(outcome(one, wave), product(a, b, c), mnemonic)
        untouched = np.delete(wave.vectors, [*inputs(one, a, b, c), *range(D, D + one.result_registers)], axis=0)
        assert (untouched[200:] == 0xDEADBEEF).all()


@pytest.mark.parametrize("mnemonic", ["v_mfma_f32_16x16x128_f8f6f4", "v_mfma_f32_32x32x64_f8f6f4"])
def test_every_pair_of_formats(mnemonic: str) -> None:
    plain = parse(mnemonic)
    pairs = [(a, b) for a in range(len(FORMATS)) for b in range(len(FORMATS))]
    ones = [plain.with_formats(a, b) for a, b in pairs]
    text = "".join(line(one, controls=f"cbsz:{a} blgp:{b}") for one, (a, b) in zip(ones, pairs, strict=True))
    for one, blob in zip(ones, split(assemble(text, "gfx950"), ones), strict=True):
        a, b, c = drawn(one, 3)
        for start in range(0, one.k, 16):
            for only in (np.arange(one.k) == start + start // 16, np.arange(one.k) // 16 == start // 16):
                wave = run("gfx950", blob, inputs(one, a * only, b, c))
                np.testing.assert_array_equal(outcome(one, wave), product(a * only, b, c), f"{one} {start}")


@pytest.mark.parametrize(("arch", "kind"), [("gfx942", "fp8"), ("gfx942", "bf8"), ("gfx950", "fp8"), ("gfx950", "bf8")])
def test_every_code_of_8_bits(arch: str, kind: str) -> None:
    one = instruction(arch, f"v_mfma_f32_16x16x32_{kind}_{kind}")
    check_codes(arch, one, code(arch)[one.mnemonic], 256)


@pytest.mark.parametrize("number", range(2, len(FORMATS)))
def test_every_code_of_6_and_4_bits(number: int) -> None:
    one = parse("v_mfma_f32_16x16x128_f8f6f4").with_formats(number, number)
    blob = assemble(line(one, controls=f"cbsz:{number} blgp:{number}"), "gfx950")
    check_codes("gfx950", one, blob, 2 ** bits_of(one.a))


@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_every_code_of_16_bits(kind: str) -> None:
    one = parse(f"v_mfma_f32_4x4x4_16b_{kind}")
    check_codes("gfx942", one, code("gfx942")[one.mnemonic], 2**16)


def check_codes(arch: str, one: Matrix, blob: bytes, count: int) -> None:
    """A holds codes at one k, B ones there: each row of D is what the code means."""
    zero = np.zeros((one.blocks, one.m, one.k))
    unit = zero.copy()
    unit[..., 1] = 1
    rows = inputs(one, zero, unit, np.zeros((one.blocks, one.m, one.m)))
    held = zero.astype(np.uint64)
    for part in np.arange(count, dtype=np.uint64).reshape(-1, one.blocks, one.m):
        held[..., 1] = part
        rows[A] = input_registers(one, held, one.a)
        meant = np.repeat(values_of(part, one.a)[..., None], one.m, axis=2)
        np.testing.assert_array_equal(outcome(one, run(arch, blob, rows)), meant)


@pytest.mark.parametrize("arch", CHIPS)
def test_rounding_stays_within_its_bound(arch: str) -> None:
    """A chain of K fused multiply-adds errs by at most K u / (1 - K u) times the sum of magnitudes (Higham, 3.1)."""
    random = np.random.default_rng(11)
    for mnemonic, blob in code(arch).items():
        one = instruction(arch, mnemonic)
        if one.result == "i32":
            continue
        a, b = (
            values_of(codes_of(random.standard_normal((one.blocks, one.m, one.k)), kind), kind).astype(np.longdouble)
            for kind in (one.a, one.b)
        )
        c = random.standard_normal((one.blocks, one.m, one.m)).astype(np.float64 if one.result == "f64" else np.float32)
        rows = inputs(one, a, b, c)
        if one.a == "xf32":
            a, b = (
                values_of(codes_of(side, "f32") & np.uint64(0xFFFFE000), "f32").astype(np.longdouble) for side in (a, b)
            )
        exact = np.einsum("bik,bjk->bij", a, b) + c
        size = np.einsum("bik,bjk->bij", abs(a), abs(b)) + abs(c)
        unit = 2.0**-53 if one.result == "f64" else 2.0**-24
        roundings = one.k + 2
        error = abs(outcome(one, run(arch, blob, rows)) - exact)
        assert (error <= roundings * unit / (1 - roundings * unit) * size).all(), mnemonic
        assert error.max() > 0 or one.k * one.m < 64, mnemonic


def test_f32_and_f64_are_chains_of_fused_multiply_adds() -> None:
    for mnemonic, bits in (
        ("v_mfma_f32_32x32x2_f32", 24),
        ("v_mfma_f32_16x16x4_f32", 24),
        ("v_mfma_f64_16x16x4_f64", 53),
    ):
        one = parse(mnemonic)
        blob = code("gfx942")[mnemonic]
        a, b = np.zeros((1, one.m, one.k)), np.zeros((1, one.m, one.k))
        a[..., 0] = b[..., 0] = 1 + 2.0 ** -((bits + 1) // 2)
        c = np.full((1, one.m, one.m), -(1 + 2.0 ** (1 - (bits + 1) // 2)))
        exact = 2.0 ** (-2 * ((bits + 1) // 2))  # what rounding the product first would lose
        assert (outcome(one, run("gfx942", blob, inputs(one, a, b, c))) == exact).all()
        big = 2.0**bits
        a[..., 0], a[..., -1], b[:] = big, -big, 1
        c = np.ones((1, one.m, one.m))  # 1 + big loses the 1; in another order it stays
        assert (outcome(one, run("gfx942", blob, inputs(one, a, b, c))) == 0).all()


def test_i8_wraps_at_32_bits() -> None:
    random = np.random.default_rng(5)
    for mnemonic, blob in code("gfx950").items():
        one = parse(mnemonic)
        if one.result != "i32":
            continue
        a, b = (random.integers(-128, 128, (one.blocks, one.m, one.k)) for _ in range(2))
        a[0, 0], b[0, 0] = -128, -128
        c = random.choice([2**31 - 1, -(2**31), 0, 2**31 - 100], (one.blocks, one.m, one.m))
        wanted = (np.einsum("bik,bjk->bij", a, b) + c).astype(np.int64).astype(np.int32)
        np.testing.assert_array_equal(outcome(one, run("gfx950", blob, inputs(one, a, b, c))), wanted, mnemonic)


PLACES = {
    "all v": (D, A, B, C),
    "all a": (ACC + D, ACC + A, ACC + B, ACC + C),
    "A in a": (D, ACC + A, B, C),
    "B in a": (D, A, ACC + B, C),
    "C and D in a": (ACC + D, A, B, ACC + C),
    "D is C": (C, A, B, C),
    "D is C in a": (ACC + C, A, B, ACC + C),
    "D over A": (A, A, B, C),
    "file's end": (224, A, B, 224),
}


@pytest.mark.parametrize("mnemonic", ["v_mfma_f32_32x32x8_f16", "v_mfma_f64_16x16x4_f64", "v_mfma_i32_16x16x4_4b_i8",
                                      "v_mfma_f32_4x4x4_16b_bf16", "v_mfma_f32_32x32x4_2b_f16"])  # fmt: skip
def test_operands_may_lie_anywhere(mnemonic: str) -> None:
    one = instruction("gfx942", mnemonic)
    texts = [line(one, at) for at in PLACES.values()]
    a, b, c = drawn(one, 8)
    for (name, at), blob in zip(
        PLACES.items(), split(assemble("".join(texts), "gfx942"), [one] * len(texts)), strict=True
    ):
        wave = run("gfx942", blob, inputs(one, a, b, c, at))
        np.testing.assert_array_equal(outcome(one, wave, at[0]), product(a, b, c), name)


@pytest.mark.parametrize(("mnemonic", "c", "value"), [
    ("v_mfma_f32_32x32x8_f16", "0", 0), ("v_mfma_f32_32x32x8_f16", "1.0", 1), ("v_mfma_f32_16x16x16_bf16", "-4.0", -4),
    ("v_mfma_f32_4x4x1_16b_f32", "0.5", 0.5), ("v_mfma_i32_32x32x16_i8", "-7", -7),
    ("v_mfma_i32_4x4x4_16b_i8", "64", 64),
    ("v_mfma_f64_16x16x4_f64", "-2.0", -2), ("v_mfma_f64_4x4x4_4b_f64", "1.0", 1), ("v_mfma_f64_4x4x4_4b_f64", "0", 0),
])  # fmt: skip
def test_c_may_be_a_constant(mnemonic: str, c: str, value: float) -> None:
    one = instruction("gfx942", mnemonic)
    a, b, zero = drawn(one, 9)
    rows = inputs(one, a, b, zero * 0)
    rows.pop(C)
    wave = run("gfx942", assemble(line(one, c=c), "gfx942"), rows)
    np.testing.assert_array_equal(outcome(one, wave), product(a, b, np.float64(value)))


@pytest.mark.parametrize("exec_mask", [0, 5, 0xFFFF0000FFFF])
def test_exec_does_not_matter(exec_mask: int) -> None:
    for mnemonic in ("v_mfma_f32_32x32x8_f16", "v_mfma_f64_16x16x4_f64", "v_mfma_i32_4x4x4_16b_i8"):
        one = instruction("gfx942", mnemonic)
        a, b, c = drawn(one, 10)
        wave = run("gfx942", code("gfx942")[mnemonic], inputs(one, a, b, c), exec_mask=exec_mask)
        np.testing.assert_array_equal(outcome(one, wave), product(a, b, c))


def variants(arch: str, one: Matrix, controls: Sequence[str], c: str = "") -> list[bytes]:
    """The instruction once for each of the controls, assembled together."""
    text = "".join(line(one, controls=control, c=c) for control in controls)
    return split(assemble(text, arch), [one] * len(controls))


MANY_BLOCKS = ("v_mfma_f32_32x32x1_2b_f32", "v_mfma_f32_16x16x4_4b_f16", "v_mfma_i32_4x4x4_16b_i8",
               "v_mfma_f64_4x4x4_4b_f64")  # fmt: skip


@pytest.mark.parametrize("mnemonic", MANY_BLOCKS)
def test_cbsz_and_abid_broadcast_a_block_of_a(mnemonic: str) -> None:
    one = instruction("gfx942", mnemonic)
    a, b, c = drawn(one, 12)
    pairs = [(cbsz, abid) for cbsz in range(1, 5) if 2**cbsz <= one.blocks for abid in range(2**cbsz)]
    blobs = variants("gfx942", one, [f"cbsz:{cbsz} abid:{abid}" for cbsz, abid in pairs])
    for (cbsz, abid), blob in zip(pairs, blobs, strict=True):
        sources = [block - block % 2**cbsz + abid for block in range(one.blocks)]
        found = outcome(one, run("gfx942", blob, inputs(one, a, b, c)))
        np.testing.assert_array_equal(found, product(a[sources], b, c), f"{cbsz} {abid}")


@pytest.mark.parametrize("mnemonic", [*MANY_BLOCKS[:3], "v_mfma_f32_32x32x8_f16", "v_mfma_f32_16x16x16_bf16"])
def test_blgp_moves_the_lanes_of_b(mnemonic: str) -> None:
    lanes = np.arange(LANES)
    moved = [lanes, lanes % 32, lanes % 32 + 32, np.roll(lanes, -16), *(lanes % 16 + 16 * n for n in range(4))]
    one = instruction("gfx942", mnemonic)
    a, b, c = drawn(one, 13)
    for lane, blob in zip(moved, variants("gfx942", one, [f"blgp:{n}" for n in range(8)]), strict=True):
        rows = inputs(one, a, b, c)
        found = outcome(one, run("gfx942", blob, rows))
        rows[B] = rows[B][:, lane]
        np.testing.assert_array_equal(found, outcome(one, run("gfx942", code("gfx942")[mnemonic], rows)))


@pytest.mark.parametrize("mnemonic", ["v_mfma_f64_16x16x4_f64", "v_mfma_f64_4x4x4_4b_f64"])
def test_f64_negates_its_sources(mnemonic: str) -> None:
    one = parse(mnemonic)
    a, b, c = drawn(one, 14)
    signs = [(1, 1, 1), (-1, 1, 1), (1, -1, 1), (1, 1, -1), (-1, -1, -1)]
    controls = [f"neg:[{','.join(str(int(sign < 0)) for sign in each)}]" for each in signs]
    for each, blob, with_four in zip(
        signs, variants("gfx942", one, controls), variants("gfx942", one, controls, "4.0"), strict=True
    ):
        left, right, added = (side * sign for side, sign in zip((a, b, c), each, strict=True))
        rows = inputs(one, a, b, c)
        np.testing.assert_array_equal(outcome(one, run("gfx942", blob, rows)), product(left, right, added))
        four = np.float64(4 * each[2])
        np.testing.assert_array_equal(outcome(one, run("gfx942", with_four, rows)), product(left, right, four))


@pytest.mark.parametrize("mnemonic", ["v_mfma_scale_f32_16x16x128_f8f6f4", "v_mfma_scale_f32_32x32x64_f8f6f4"])
@pytest.mark.parametrize(("a_format", "b_format"), [(0, 0), (1, 4), (4, 4), (2, 0), (3, 2)])
def test_scales_are_the_chosen_bytes_one_per_32_k(mnemonic: str, a_format: int, b_format: int) -> None:
    one = parse(mnemonic).with_formats(a_format, b_format)
    random = np.random.default_rng(15)
    a, b, c = drawn(one, 16)
    formats = f"cbsz:{a_format} blgp:{b_format}"
    chosen = [
        f"op_sel:[{x & 1},{y & 1},0] op_sel_hi:[{x >> 1},{y >> 1},0] {formats}" for x in range(4) for y in range(4)
    ]
    scales = random.integers(124, 131, (2, 4, LANES))
    for index, blob in enumerate(variants("gfx950", one, chosen)):
        rows = inputs(one, a, b, c)
        for register, held in zip((A_SCALE, B_SCALE), scales, strict=True):
            rows[register] = np.ascontiguousarray(held.astype(np.uint8).T).view(np.uint32).T
        factors = []
        for held, byte in zip(scales, divmod(index, 4), strict=True):
            of_block = held[byte].reshape(one.k // 32, one.m)  # lane = row + m * (k / 32)
            factors.append(2.0 ** (np.repeat(of_block, 32, axis=0).T - 127))
        wave = run("gfx950", blob, rows)
        np.testing.assert_array_equal(outcome(one, wave), product(a * factors[0], b * factors[1], c), str(index))


def test_extreme_scales() -> None:
    one = parse("v_mfma_scale_f32_16x16x128_f8f6f4")
    blob = code("gfx950")[one.mnemonic]
    a, b, c = drawn(one, 17)
    a, b, c = a * 32, b * 8, c * 0
    for a_scale, b_scale in ((254, 0), (0, 254), (127, 127), (180, 74), (255, 127), (127, 255)):
        rows = inputs(one, a, b, c)
        rows[A_SCALE] = np.array([[a_scale], [b_scale]], np.uint32).repeat(LANES, axis=1)
        found = outcome(one, run("gfx950", blob, rows))
        wanted = product(a, b, c) * 2.0 ** (a_scale + b_scale - 254)
        np.testing.assert_array_equal(found, wanted if 255 not in (a_scale, b_scale) else np.full_like(wanted, np.nan))


def special(arch: str, mnemonic: str, a: float, b: float, c: float, **state: int) -> float:
    """D[0][0] of one product in an otherwise zero matrix."""
    one = instruction(arch, mnemonic)
    left, right = np.zeros((2, one.blocks, one.m, one.k))
    left[0, 0, 0], right[0, 0, 0] = a, b
    with np.errstate(over="ignore", invalid="ignore"):
        rows = inputs(one, left, right, np.full((one.blocks, one.m, one.m), c))
        return float(outcome(one, run(arch, code(arch)[mnemonic], rows, **state))[0, 0, 0])


TINY = 2.0**-149


@pytest.mark.parametrize("mnemonic", ["v_mfma_f32_16x16x16_f16", "v_mfma_f32_32x32x8_bf16", "v_mfma_f32_4x4x1_16b_f32",
                                      "v_mfma_f64_16x16x4_f64", "v_mfma_f64_4x4x4_4b_f64"])  # fmt: skip
def test_infinities_and_nans(mnemonic: str) -> None:
    inf, nan = np.inf, np.nan
    assert special("gfx942", mnemonic, inf, 1, 0) == inf
    assert special("gfx942", mnemonic, inf, -2, 5) == -inf
    assert special("gfx942", mnemonic, 1, 1, -inf) == -inf
    for a, b, c in ((inf, 0, 0), (inf, 1, -inf), (nan, 1, 0), (1, nan, 0), (0, 0, nan)):
        assert np.isnan(special("gfx942", mnemonic, a, b, c))


def test_denormals_are_kept() -> None:
    for mode in (0x3F0, 0x300, 0x30F):  # all kept; all flushed; flushed and rounded toward zero
        assert special("gfx942", "v_mfma_f32_16x16x16_f16", 2.0**-24, 1, 0, mode=mode) == 2.0**-24
        assert special("gfx942", "v_mfma_f32_16x16x16_bf16", 2.0**-133, 1, 0, mode=mode) == 2.0**-133
        assert special("gfx942", "v_mfma_f32_16x16x16_bf16", 0, 0, TINY, mode=mode) == TINY
        assert special("gfx942", "v_mfma_f32_32x32x2_f32", TINY, 3, TINY, mode=mode) == 4 * TINY
        assert special("gfx942", "v_mfma_f32_32x32x2_f32", 2.0**-75, 2.0**-74, 0, mode=mode) == TINY
        assert special("gfx942", "v_mfma_f64_4x4x4_4b_f64", 2.0**-1074, 1, 0, mode=mode) == 2.0**-1074


def test_gfx90a_flushes_denormals_of_f16_and_bf16() -> None:
    assert special("gfx90a", "v_mfma_f32_16x16x16f16", 2.0**-15, 1, 0) == 0
    assert special("gfx90a", "v_mfma_f32_16x16x16f16", 2.0**-14, 1, 0) == 2.0**-14
    assert special("gfx90a", "v_mfma_f32_16x16x16bf16_1k", 2.0**-127, 2.0, 0) == 0
    assert special("gfx90a", "v_mfma_f32_16x16x8bf16", 2.0**-120, 2.0**-10, 0) == 0
    assert special("gfx90a", "v_mfma_f32_16x16x16f16", 0, 0, TINY) == 0
    assert special("gfx90a", "v_mfma_f32_32x32x2f32", TINY, 1, TINY) == 2 * TINY


def test_mode_does_not_round() -> None:
    for mode in (0x3F0, 0x3FF):  # nearest even; toward zero
        assert special("gfx942", "v_mfma_f32_16x16x16_f16", 1.5, 1, 2.0**24, mode=mode) == 2.0**24 + 2
        assert special("gfx942", "v_mfma_f64_16x16x4_f64", 1.5, 1, 2.0**53, mode=mode) == 2.0**53 + 2


def test_xf32_cuts_its_inputs() -> None:
    just_below = float(np.float32(1 + 2.0**-9 - 2.0**-23))
    for mnemonic in ("v_mfma_f32_16x16x8_xf32", "v_mfma_f32_32x32x4_xf32"):
        assert special("gfx942", mnemonic, just_below, 1, 0) == 1 + 2.0**-10
        assert special("gfx942", mnemonic, 1, -just_below, 0) == -(1 + 2.0**-10)
        assert special("gfx942", mnemonic, 0, 0, just_below) == just_below
        assert np.isnan(special("gfx942", mnemonic, float(np.uint32(0x7F800001).view(np.float32)), 1, 0))


REFUSED = {
    "v_smfmac_f32_16x16x32_f16 v[0:3], v[4:5], v[8:11], v12": ("unsupported", "sparse MFMA"),
    "v_mfma_f32_16x16x16_f16 v[0:3], v[4:5], v[8:9], v[12:15] cbsz:1": ("unsupported", "with 1 blocks"),
    "v_mfma_f32_32x32x1_2b_f32 v[0:31], v32, v33, v[64:95] cbsz:1 abid:2": ("unsupported", "abid:2"),
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_not_executed_is_said(text: str) -> None:
    rule, words = REFUSED[text]
    _, done = step("gfx942", assemble(text, "gfx942"), {})
    assert [(one.rule, words in one.what) for one in done.findings] == [(rule, True)]


def test_every_sparse_instruction_is_refused() -> None:
    opcodes = emulator("gfx950").opcodes()
    assert not any(executed for name, executed in opcodes.items() if name.startswith("v_smfmac"))
    assert sum(name.startswith("v_smfmac") for name in opcodes) >= 28


@pytest.mark.parametrize("shift", [-2, 2])
def test_c_and_d_may_overlap_by_part_in_four_registers_only(shift: int) -> None:
    """Larger ones are not encodable in LLVM's assembler: "source 2 operand must not partially overlap with dst"."""
    for mnemonic, rules in (("v_mfma_f32_16x16x16_f16", set()), ("v_mfma_f32_32x32x8_f16", {"bad_code"})):
        one = parse(mnemonic)
        blob = bytearray(assemble(line(one, (C, A, B, C)), "gfx942"))
        blob[0] += shift  # vdst
        a, b, c = drawn(one, 8)
        wave, done = step("gfx942", bytes(blob), inputs(one, a, b, c))
        assert {one.rule for one in done.findings} == rules
        np.testing.assert_array_equal(outcome(one, wave, C + shift), product(a, b, c))


def test_registers_beyond_a_bank_and_formats_beyond_the_last() -> None:
    blob = bytearray(code("gfx942")["v_mfma_f32_32x32x8_f16"])
    blob[0] = 250  # vdst
    _, done = step("gfx942", bytes(blob), {})
    assert {one.rule for one in done.findings} == {"bad_code"}
    blob = bytearray(code("gfx950")["v_mfma_f32_16x16x128_f8f6f4"])
    blob[1] |= 5  # cbsz
    _, done = step("gfx950", bytes(blob), {})
    assert {one.rule for one in done.findings} == {"bad_code"}
