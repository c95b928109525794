"""Instructions that steer a wave and compute nothing, and vector registers by index."""

from __future__ import annotations

import numpy as np
import pytest
from step_support import assemble, emulator

from ckgen_emulator.bindings import M0, Wave

pytestmark = pytest.mark.amd

ARCH = "gfx942"

WITHOUT_EFFECT = """
s_nop 3
s_sleep 1
s_setprio 2
s_icache_inv
s_incperflevel 1
s_decperflevel 1
s_ttracedata
s_wakeup
s_dcache_inv
s_dcache_wb
s_dcache_inv_vol
s_dcache_wb_vol
s_waitcnt vmcnt(0) lgkmcnt(0)
buffer_wbl2 sc1
buffer_inv sc1
s_waitcnt vmcnt(0)
"""


def test_registers_stay_as_they_are() -> None:
    wave = Wave()
    random = np.random.default_rng(3)
    wave.scalars[:100] = random.integers(0, 2**32, 100, np.uint32)
    wave.vectors[:] = random.integers(0, 2**32, wave.vectors.shape, np.uint32)
    scalars, vectors = wave.scalars.copy(), wave.vectors.copy()
    code = assemble(WITHOUT_EFFECT, ARCH)
    run = emulator(ARCH).step(code, wave)
    assert run.findings == ()
    assert run.instructions == len(emulator(ARCH).disassemble(code)) + 1
    assert (wave.scalars == scalars).all()
    assert (wave.vectors == vectors).all()


def test_a_register_is_found_by_index() -> None:
    """Mode bits: 1 first source, 2 second, 4 third, 8 destination; the index is M0[7:0]."""
    lines = """
    s_set_gpr_idx_on s2, gpr_idx(SRC0)
    s_nop 1
    v_add_u32_e32 v10, v1, v2
    s_set_gpr_idx_idx s3
    s_nop 1
    v_add_u32_e32 v11, v1, v2
    s_set_gpr_idx_mode gpr_idx(SRC1)
    s_nop 1
    v_add_u32_e32 v12, v1, v2
    s_set_gpr_idx_mode gpr_idx(DST)
    s_nop 1
    v_add_u32_e32 v13, v1, v2
    s_set_gpr_idx_off
    s_nop 1
    v_add_u32_e32 v30, v1, v2
    """
    wave = Wave()
    wave.scalars[2], wave.scalars[3], wave.scalars[M0] = 4, 6, 0
    wave.vectors[:64] = (np.arange(64, dtype=np.uint32) * 100)[:, None]
    run = emulator(ARCH).step(assemble(lines, ARCH), wave)
    assert run.findings == ()
    found = {register: int(wave.vectors[register, 5]) for register in (10, 11, 12, 13, 19, 30)}
    assert found == {10: 500 + 200, 11: 700 + 200, 12: 100 + 800, 13: 1300, 19: 300, 30: 300}


def test_a_hardware_register_that_is_not_modelled_is_read_as_zero() -> None:
    wave = Wave()
    wave.scalars[8] = 5
    run = emulator(ARCH).step(assemble("s_getreg_b32 s8, hwreg(HW_REG_TRAPSTS)", ARCH), wave)
    [found] = run.findings
    assert (found.rule, found.what) == ("unsupported", "hardware register 3 is read as 0")
    assert wave.scalars[8] == 0
