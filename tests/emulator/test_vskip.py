"""s_setvskip: while the mode is set, vector, LDS and vector memory instructions are as if they were not there."""

from __future__ import annotations

import numpy as np
import pytest
from step_support import arguments, assemble, emulator, kernel, launch

from ckgen_emulator.bindings import Wave

pytestmark = pytest.mark.amd

ARCH = "gfx942"
SKIPPED = """
s_setvskip s20, 3
v_mov_b32 v1, 7
v_readfirstlane_b32 s30, v0
ds_write_b32 v0, v1
v_cmp_eq_u32 vcc, v0, v0
s_add_u32 s31, s31, 5
s_getreg_b32 s32, hwreg(HW_REG_MODE, 28, 1)
s_setvskip 0, 0
v_mov_b32 v2, 9
s_getreg_b32 s33, hwreg(HW_REG_MODE, 28, 1)
"""


@pytest.mark.parametrize("skipping", [False, True])
def test_vector_instructions_do_nothing_while_the_bit_says_so(skipping: bool) -> None:
    wave = Wave(lds_bytes=1024)
    wave.scalars[20] = 0xFFFFFFFF if skipping else 0xFFFFFFF7
    wave.scalars[30], wave.scalars[31] = 99, 1
    wave.vectors[0] = 4 * np.arange(64)
    emulator(ARCH).step(assemble(SKIPPED, ARCH), wave)
    done = not skipping
    assert (wave.vectors[1] == (7 if done else 0)).all()
    assert wave.scalars[30] == (0 if done else 99)
    assert wave.lds[:256].view(np.uint32).sum() == (64 * 7 if done else 0)
    assert wave.pair(106) == (2**64 - 1 if done else 0)
    assert wave.scalars[31] == 6
    assert (wave.scalars[32], wave.scalars[33]) == (int(skipping), 0)
    assert (wave.vectors[2] == 9).all()


def test_a_skipped_store_does_not_count_as_outstanding() -> None:
    code = kernel(
        """
        s_load_dwordx2 s[8:9], s[0:1], 0x0
        v_lshlrev_b32 v1, 2, v0
        v_mov_b32 v2, 1
        s_waitcnt lgkmcnt(0)
        global_load_dword v3, v1, s[8:9]
        s_waitcnt vmcnt(0)
        s_setvskip 1, 0
        global_store_dword v1, v2, s[8:9]
        global_load_dword v3, v1, s[8:9]
        s_setvskip 0, 0
        v_add_u32 v3, v3, v2
        global_store_dword v1, v3, s[8:9] offset:256
        """,
        ARCH,
    )
    memory = np.zeros(128, np.uint32)
    memory[:64] = np.arange(64)
    chip = emulator(ARCH)
    chip.add(memory)
    try:
        run = launch(code, ARCH, [1], 64, arguments(memory))
    finally:
        chip.remove(memory)
    assert run.findings == ()
    assert (memory[:64] == np.arange(64)).all()
    assert (memory[64:] == np.arange(64) + 1).all()
