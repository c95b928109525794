"""Waits that the counter's own width brings about."""

from __future__ import annotations

import pytest
from memory_support import area, rules
from step_support import assemble, emulator

from ckgen_emulator.bindings import Options, Wave

pytestmark = pytest.mark.amd

ARCH = "gfx950"


@pytest.mark.parametrize(("others", "found"), [(0, ["before_wait"]), (14, ["before_wait"]), (15, []), (30, [])])
def test_lgkmcnt_holds_fifteen(others: int, found: list[str]) -> None:
    """The sixteenth LDS read under way makes the first one's result be there."""
    reads = "".join(f"ds_read_b32 v{10 + one}, v0\n" for one in range(1 + others))
    code = assemble(reads + "v_mov_b32_e32 v100, v10\ns_waitcnt lgkmcnt(0)\n", ARCH)
    assert rules(emulator(ARCH).step(code, Wave(lds_bytes=64), Options())) == found


def test_scalar_loads_come_in_any_order() -> None:
    """So that no number of later ones says that one is there."""
    loads = "".join(f"s_load_dword s{20 + one}, s[2:3], 0\n" for one in range(20))
    with area(ARCH, 64) as memory:
        state = Wave()
        state.set_pair(2, memory.address)
        code = assemble(loads + "s_mov_b32 s50, s20\ns_waitcnt lgkmcnt(0)\n", ARCH)
        assert rules(emulator(ARCH).step(code, state, Options())) == ["before_wait"]
