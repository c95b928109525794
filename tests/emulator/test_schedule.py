"""Orders in which workgroups run: one after the other, or side by side."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from step_support import arguments, emulator, kernel, launch

from ckgen_emulator.bindings import Options

_COUNT = """
s_load_dwordx4 s[4:7], s[0:1], 0x0
v_mov_b32_e32 v1, 1
v_mov_b32_e32 v2, 0
s_waitcnt lgkmcnt(0)
v_cmp_eq_u32_e32 vcc, 0, v0
s_and_b64 exec, exec, vcc
global_atomic_add v2, v1, s[4:5] sc1
s_waitcnt vmcnt(0)
s_mov_b32 s10, 200
wait:
s_sub_u32 s10, s10, 1
s_cmp_lg_u32 s10, 0
s_cbranch_scc1 wait
global_load_dword v3, v2, s[4:5] sc1
s_lshl_b32 s2, s2, 2
v_mov_b32_e32 v2, s2
s_waitcnt vmcnt(0)
global_store_dword v2, v3, s[6:7]
"""


def counted(code: bytes, workgroups: int, options: Options) -> tuple[int, npt.NDArray[np.uint32]]:
    """What a counter ends at that workgroups share, and what each of them saw of it; nothing may be found."""
    chip = emulator("gfx942")
    counter, seen = np.zeros(1, np.uint32), np.zeros(workgroups, np.uint32)
    chip.add(counter)
    chip.add(seen)
    try:
        run = launch(code, "gfx942", [workgroups], 64, arguments(counter, seen), options)
    finally:
        chip.remove(counter)
        chip.remove(seen)
    assert not run.findings
    return int(counter[0]), seen


@pytest.mark.parametrize(("turn", "expected"), [(0, [1, 2, 3, 4]), (1, [4] * 4), (8, [4] * 4)])
def test_workgroups_side_by_side_see_each_other(turn: int, expected: list[int]) -> None:
    """Each counts itself, then looks how many have come."""
    _, seen = counted(kernel(_COUNT, "gfx942"), 4, Options(turn=turn))
    assert seen.tolist() == expected


# Each counts itself in, spends more instructions than a round has, looks how many there are, and counts itself out.
_RESIDENT = """
s_load_dwordx4 s[4:7], s[0:1], 0x0
v_mov_b32_e32 v1, 1
v_mov_b32_e32 v2, 0
v_mov_b32_e32 v4, -1
s_mov_b64 exec, 1
s_waitcnt lgkmcnt(0)
global_atomic_add v2, v1, s[4:5] sc1
s_mov_b32 s10, 11000
wait:
s_sub_u32 s10, s10, 1
s_cmp_lg_u32 s10, 0
s_cbranch_scc1 wait
global_load_dword v3, v2, s[4:5] sc1
s_lshl_b32 s2, s2, 2
v_mov_b32_e32 v5, s2
s_waitcnt vmcnt(0)
global_store_dword v5, v3, s[6:7]
global_atomic_add v2, v4, s[4:5] sc1
"""


def test_a_seed_chooses_how_many_workgroups_run_at_once() -> None:
    """Two at least, so that they can meet; seven at most, so that some come late."""
    code = kernel(_RESIDENT, "gfx942")
    found = set()
    for seed in range(1, 25):
        count, seen = counted(code, 9, Options(seed=seed, checked=False))
        assert count == 0
        found.add(int(seen.max()))
    assert found == {2, 3, 4, 5, 6, 7}
