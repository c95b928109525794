"""How operands reach lanes: every inline constant, DPP control and SDWA selection, whichever lanes are on."""

from __future__ import annotations

import random
import struct

import numpy as np
import pytest
from memory_support import wave
from step_support import assemble, emulator

from ckgen_emulator.bindings import LANES, VCC, Wave

pytestmark = pytest.mark.amd

ARCH = "gfx942"
FLOATS = (0.5, -0.5, 1.0, -1.0, 2.0, -2.0, 4.0, -4.0)
INVERSE_TWO_PI = {"<f": 0x3E22F983, "<d": 0x3FC45F306DC9C882, "<e": 0x3118}
MASKS = (2**64 - 1, 1, 1 << 63, 0xF0F0_1234_8001_FFFE, 0x0123_4567_89AB_CDEF)


def run(code: bytes, state: Wave) -> None:
    found = emulator(ARCH).step(code, state).findings
    assert [one for one in found if one.rule != "hazard"] == []


def bits(value: float, kind: str) -> int:
    return int.from_bytes(struct.pack(kind, value), "little")


def constant(code: int, kind: str = "<f") -> int:
    """64 bits of an inline constant; of the integers all, of floats those of the kind."""
    if code <= 192:
        return code - 128
    if code <= 208:
        return (192 - code) % 2**64
    return INVERSE_TWO_PI[kind] if code == 248 else bits(FLOATS[code - 240], kind)


CODES = (*range(128, 209), *range(240, 249))


def test_scalar_constants() -> None:
    """s_mov_b32, s_mov_b64; VCCZ, EXECZ, SCC and apertures."""
    for code in CODES:
        state = Wave()
        state.scalars[30] = state.scalars[31] = 7
        run(struct.pack("<II", 0xBE9E0100 | code, 0xBEA00000 | code), state)
        assert state.pair(30) == constant(code, "<d"), code
        assert state.scalars[32] == constant(code) % 2**32, code
    state = Wave()
    text = "s_mov_b64 s[20:21], src_shared_base\ns_mov_b64 s[22:23], src_shared_limit\n"
    text += "s_mov_b64 s[24:25], src_private_base\ns_mov_b64 s[26:27], src_private_limit\n"
    run(assemble(text, ARCH), state)
    places = [state.pair(first) for first in (20, 22, 24, 26)]
    assert places == [1 << 48, (1 << 48) + 2**32 - 1, 2 << 48, (2 << 48) + 2**32 - 1]
    for scc in (0, 1):
        for vcc in (0, 1, 1 << 63):
            for mask in (0, 1, 1 << 63):
                state = Wave()
                state.scc, state.exec_mask = scc, mask
                state.set_pair(VCC, vcc)
                run(assemble("s_mov_b32 s20, src_vccz\ns_mov_b32 s21, src_execz\ns_mov_b32 s22, src_scc", ARCH), state)
                assert state.scalars[20:23].tolist() == [vcc == 0, mask == 0, scc]


def test_vector_constants() -> None:
    """As f32, f16 and f64, by the instruction that takes them."""
    for code in CODES:
        state = Wave()
        move = struct.pack("<I", 0x7E000200 | 2 << 17 | code)  # v_mov_b32 v2
        double = struct.pack("<II", 0xD2830006, code | code << 9)  # v_max_f64 v[6:7]
        half = struct.pack("<I", 0x3E000000 | 9 << 17 | 10 << 9 | code)  # v_add_f16 v9, …, v10
        run(move + double + half, state)
        assert (state.vectors[2] == constant(code) % 2**32).all(), code
        if code >= 240:
            assert int(state.vectors[6, 0]) | int(state.vectors[7, 0]) << 32 == constant(code, "<d")
            assert (state.vectors[9] == constant(code, "<e")).all(), code


def dpp_source(control: int, lane: int) -> int | None:
    """CDNA3 ISA, table "DPP_CTRL"."""
    row, at = lane // 16, lane % 16
    if control < 0x100:
        return lane // 4 * 4 + (control >> 2 * (lane % 4)) % 4
    amount = control % 16
    if control // 16 == 0x10:
        return lane + amount if at + amount < 16 else None
    if control // 16 == 0x11:
        return lane - amount if at >= amount else None
    if control // 16 == 0x12:
        return 16 * row + (at - amount) % 16
    if control // 16 == 0x15:
        return 16 * row + amount
    return {
        0x130: lane + 1 if lane < 63 else None, 0x134: (lane + 1) % 64, 0x138: lane - 1 if lane else None,
        0x13C: (lane - 1) % 64, 0x140: 16 * row + 15 - at, 0x141: lane // 8 * 8 + 7 - lane % 8,
        0x142: 16 * row - 1 if row else None, 0x143: 31 if lane >= 32 else None,
    }[control]  # fmt: skip


CONTROLS = (
    *range(0, 0x100, 7), 0x1B, 0xE4, *range(0x101, 0x110), *range(0x111, 0x120), *range(0x121, 0x130), 0x130, 0x134,
    0x138, 0x13C, *range(0x140, 0x144), *range(0x150, 0x160),
)  # fmt: skip


def test_every_dpp_control() -> None:
    """A lane without a source stays, or takes 0 where bounds are to be heeded; masks of rows and banks."""
    dice = random.Random(6)
    nops = assemble("s_nop 4", ARCH)
    for control in CONTROLS:
        for _ in range(3):
            mask = dice.choice(MASKS)
            bound = dice.randrange(2)
            rows, banks = dice.choice(((15, 15), (dice.randrange(16), 15), (15, dice.randrange(16)), (6, 9)))
            state = wave(control)
            state.exec_mask = mask
            before = state.vectors.copy()
            first = 0x7E0002FA | 3 << 17  # v_mov_b32_dpp v3, v4
            run(nops + struct.pack("<II", first, 4 | control << 8 | bound << 19 | banks << 24 | rows << 28), state)
            expected = before[3].copy()
            for lane in range(LANES):
                source = dpp_source(control, lane)
                there = source is not None and bool(mask >> source & 1)
                enabled = mask >> lane & rows >> lane // 16 & banks >> lane // 4 % 4 & 1
                if enabled and (there or bound):
                    assert source is not None or not there
                    expected[lane] = before[4, source or 0] if there else 0
            np.testing.assert_array_equal(state.vectors[3], expected, f"{control:#x} {bound} {rows} {banks}")
            np.testing.assert_array_equal(state.vectors[4], before[4])


def selected(value: int, part: int, extend: bool) -> int:
    if part == 6:
        return value
    width, shift = (8, 8 * part) if part < 4 else (16, 16 * (part - 4))
    cut = value >> shift & (1 << width) - 1
    return (cut - (1 << width)) % 2**32 if extend and cut >> width - 1 else cut


def placed(value: int, old: int, part: int, unused: int) -> int:
    if part == 6:
        return value
    width, shift = (8, 8 * part) if part < 4 else (16, 16 * (part - 4))
    field = (1 << width) - 1
    if unused == 2:
        return old & ~(field << shift) | (value & field) << shift
    signed = (value & field) - (1 << width) * (unused == 1 and value >> width - 1 & 1)
    return (signed << shift) % 2**32


@pytest.mark.parametrize("mask", [2**64 - 1, 0xF0F0_1234_8001_FFFE])
def test_every_sdwa_selection(mask: int) -> None:
    """Of the source, with and without its sign, and of the destination, whatever becomes of the rest."""
    for source in range(7):
        for extend in (0, 1):
            for target in range(7):
                for unused in range(3):
                    state = wave(source + 7 * target)
                    state.exec_mask = mask
                    before = state.vectors.copy()
                    fields = 4 | target << 8 | unused << 11 | source << 16 | extend << 19
                    run(struct.pack("<II", 0x7E0002F9 | 3 << 17, fields), state)
                    expected = [
                        placed(selected(int(value), source, bool(extend)), int(old), target, unused)
                        if mask >> lane & 1 else int(old)
                        for lane, (value, old) in enumerate(zip(before[4], before[3], strict=True))
                    ]  # fmt: skip
                    assert state.vectors[3].tolist() == expected, (source, extend, target, unused)
