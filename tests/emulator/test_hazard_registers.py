"""Which registers a hazard is about: the first and the last of a range, those beside it, and what was written since."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from step_support import assemble, emulator

from ckgen_emulator.bindings import Wave

pytestmark = pytest.mark.amd

ARCH = "gfx942"


Lines = tuple[str, ...]


def hazards(sequences: Sequence[Lines], arch: str = ARCH) -> list[list[str]]:
    """What is said of each; all lines are assembled at once."""
    lines = list(dict.fromkeys(line for one in sequences for line in one))
    code = assemble("\n".join(lines), arch)
    places = emulator(arch).disassemble(code)
    assert len(places) == len(lines)
    parts = {line: code[at : at + size] for line, (at, size, _) in zip(lines, places, strict=True)}
    found = []
    for one in sequences:
        findings = emulator(arch).step(b"".join(parts[line] for line in one), Wave(lds_bytes=1024)).findings
        found.append([each.what for each in findings if each.rule == "hazard"])
    return found


def check(expected: dict[Lines, bool], arch: str = ARCH) -> None:
    """Which of them are hazards."""
    for (lines, meets), found in zip(expected.items(), hazards(list(expected), arch), strict=True):
        assert bool(found) == meets, (lines, found)


def rows(first: int, count: int) -> str:
    return f"v{first}" if count == 1 else f"v[{first}:{first + count - 1}]"


WIDE = {
    "global_store_dwordx4 v[0:1], v[40:43], off": (40, 4),
    "global_store_dwordx3 v[0:1], v[40:42], off": (40, 3),
    "v_mfma_f32_16x16x16_f16 v[40:43], v[4:5], v[6:7], v[40:43]": (40, 4),
    "v_mfma_f32_4x4x4_16b_f16 v[40:43], v[4:5], v[6:7], 0": (40, 4),
    "v_mfma_f64_16x16x4_f64 v[40:47], v[4:5], v[6:7], v[40:47]": (40, 8),
}


@pytest.mark.parametrize("first", WIDE)
def test_ranges_that_are_overwritten(first: str) -> None:
    """By one register or two, before, at both ends and behind."""
    start, size = WIDE[first]
    expected = {}
    for at in range(start - 4, start + size + 4):
        expected[first, f"v_mov_b32 v{at}, v200"] = start <= at < start + size
        if at % 2 == 0:
            expected[first, f"v_mov_b64 {rows(at, 2)}, v[200:201]"] = start - 2 < at < start + size
    check(expected)


@pytest.mark.parametrize("first", [one for one in WIDE if "mfma" in one])
def test_ranges_that_are_read(first: str) -> None:
    start, size = WIDE[first]
    expected = {}
    for at in range(start - 4, start + size + 4):
        expected[first, f"v_not_b32 v200, v{at}"] = start <= at < start + size
        expected[first, f"ds_write_b32 v200, v{at}"] = start <= at < start + size
        if at % 2 == 0:
            factor = f"v_mfma_f32_16x16x16_f16 v[100:103], v[4:5], {rows(at, 2)}, v[100:103]"
            expected[first, factor] = start - 2 < at < start + size
    check(expected)


WRITTEN: dict[str, set[int]] = {
    "s_mov_b32 s19, 0": {19}, "s_mov_b32 s20, 0": {20}, "s_mov_b32 s21, 0": {21}, "s_mov_b32 s22, 0": {22},
    "s_mov_b64 s[20:21], 0": {20, 21}, "s_mov_b64 s[18:19], 0": {18, 19}, "s_mov_b64 s[22:23], 0": {22, 23},
    "s_nop 0": set(), "s_cmp_eq_u32 s20, s21": set(),
}  # fmt: skip


@pytest.mark.parametrize("vector", ["v_readfirstlane_b32 s20, v0", "v_cmp_eq_u32 s[20:21], v0, v1"])
def test_what_the_scalar_unit_writes_since_is_guarded(vector: str) -> None:
    """Register for register."""
    made = {20, 21} if "[20:21]" in vector else {20}
    expected: dict[Lines, bool] = {}
    for scalar, written in WRITTEN.items():
        for register in (19, 20, 21, 22):
            use = f"v_add_u32 v5, s{register}, v6"
            expected[vector, scalar, use] = register in made - written
            expected[vector, scalar, "s_nop 0", use] = False
        expected[vector, scalar, "buffer_load_dword v3, v2, s[20:23], 0 offen"] = bool(made - written)
    check(expected)


def test_exec_is_guarded_as_a_whole() -> None:
    dpp = "v_mov_b32_dpp v2, v100 row_mirror row_mask:0xf bank_mask:0xf"
    others = ("s_mov_b32 exec_lo, -1", "s_mov_b32 exec_hi, -1", "s_mov_b64 vcc, 0", "s_nop 0")
    write = "v_cmpx_eq_f32_e32 vcc, v0, v1"
    check({(write, "s_mov_b64 exec, -1", dpp): False, **{(write, one, dpp): True for one in others}})


def test_s_nop_is_as_many_wait_states_as_it_says_and_one() -> None:
    product = "v_mfma_f32_32x32x8_f16 v[8:23], v[0:1], v[2:3], v[8:23]"
    found = hazards([(product, f"s_nop {states}", "v_not_b32 v100, v8") for states in range(16)])
    for states, said in enumerate(found):
        if states + 1 >= 11:
            assert said == []
        else:
            assert f": 11 wait states needed, {states + 1} found since v_mfma_f32_32x32x8_f16 at 0x0" in said[0]


def test_the_youngest_is_meant() -> None:
    """Of several that wrote a register, and not one that is long past."""
    uses = [f"v_not_b32 v100, v{10 + one}" for one in range(8)]
    writes = [f"v_exp_f32 v{10 + one}, v0" for one in range(8)]
    found = hazards([(*writes, use) for use in uses])
    assert [bool(one) for one in found] == [False] * 7 + [True] and found[7][0].endswith("since v_exp_f32 at 0x1c")
    dots = [f"v_dot2_f32_f16 v{10 + one}, v0, v1, v2" for one in range(8)]
    found = hazards([(*dots, use) for use in uses])
    assert [bool(one) for one in found] == [False] * 5 + [True] * 3
    assert all(f"3 wait states needed, {7 - one} found" in found[one][0] for one in (5, 6, 7))


def test_two_stores_are_remembered() -> None:
    stores = [f"global_store_dwordx4 v[0:1], v[{at}:{at + 3}], off" for at in (40, 44, 48)]
    places = {40: False, 43: False, 44: True, 48: True, 51: True, 52: False}
    check({(*stores, f"v_mov_b32 v{at}, 0"): found for at, found in places.items()})
    overwrite = "v_mov_b32 v40, 0"
    check({(stores[0], "s_nop 1", overwrite): False, (stores[0], "s_nop 0", overwrite): True})
    check({(stores[0], "s_nop 0", overwrite): False, (stores[0], overwrite): True}, "gfx90a")


def test_registers_by_index_are_others() -> None:
    """What the instruction names is not what it reads: nothing is certain."""
    by_index, plain, off = "s_set_gpr_idx_on s20, gpr_idx(SRC0)", "s_set_gpr_idx_on s20, gpr_idx()", "s_set_gpr_idx_off"
    lines = ("s_nop 4", "v_exp_f32 v10, v0", "v_not_b32 v100, v10")
    check({(by_index, *lines): False, (plain, *lines): True, (by_index, *lines, off, *lines): True})
