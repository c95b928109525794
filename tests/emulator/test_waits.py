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


@pytest.mark.parametrize(
    "before", ["ds_read_b32 v10, v0", "s_load_dword s20, s[8:9], 0", "flat_load_dword v10, v[2:3]"]
)
@pytest.mark.parametrize(
    "behind", ["ds_read_b32 v11, v0", "s_load_dword s21, s[8:9], 0", "flat_load_dword v11, v[2:3]"]
)
@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_limit_tells_something_where_all_come_in_order(before: str, behind: str, number: int) -> None:
    """One and then another are under way: by lgkmcnt(1) the first is there only if both are of LDS."""
    with area(ARCH, 64) as memory:
        state = Wave(lds_bytes=64)
        state.vectors[2], state.vectors[3] = memory.address % 2**32, memory.address >> 32
        state.set_pair(8, memory.address)
        use = "s_mov_b32 s30, s20" if before.startswith("s_") else "v_mov_b32 v12, v10"
        lines = [before, behind, f"s_waitcnt vmcnt(0) lgkmcnt({number})", use, "s_waitcnt lgkmcnt(0)"]
        found = rules(emulator(ARCH).step(assemble("\n".join(lines), ARCH), state, Options()))
        ordered = before.startswith("ds") and behind.startswith("ds")
        assert found == ([] if number == 0 or (number == 1 and ordered) else ["before_wait"])


@pytest.mark.parametrize("unordered", ["s_memtime s[20:21]", "flat_load_dword v9, v[2:3]"])
@pytest.mark.parametrize("place", [0, 7, 14])
def test_what_comes_in_any_order_lets_nothing_be_there(unordered: str, place: int) -> None:
    """Sixteen under way do not tell that the first is done while one of them is not of LDS."""
    with area(ARCH, 64) as memory:
        state = Wave(lds_bytes=64)
        state.vectors[2], state.vectors[3] = memory.address % 2**32, memory.address >> 32
        lines = [f"ds_read_b32 v{10 + one}, v0" for one in range(16)]
        lines.insert(place, unordered)
        text = "\n".join([*lines, "v_mov_b32_e32 v100, v10", "s_waitcnt vmcnt(0) lgkmcnt(0)"])
        assert rules(emulator(ARCH).step(assemble(text, ARCH), state, Options())) == ["before_wait"]
        done = "\n".join([unordered, "s_waitcnt vmcnt(0) lgkmcnt(0)", *lines[:place], *lines[place + 1 :]])
        code = assemble(done + "\nv_mov_b32_e32 v100, v10\ns_waitcnt lgkmcnt(0)", ARCH)
        assert rules(emulator(ARCH).step(code, state, Options())) == []
