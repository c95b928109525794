"""Loads straight to LDS while they are under way: who may touch their bytes when, and in which order they land."""

from __future__ import annotations

import numpy as np
import pytest
from lds_support import LANES
from memory_support import area
from step_support import arguments, assemble, emulator, kernel, launch

from ckgen_emulator.bindings import Finding, Options, Wave

pytestmark = pytest.mark.amd

ARCH = "gfx942"
LOADS = 4
LOAD = "global_load_lds_dword v2, s[12:13]"


def loads() -> str:
    """Number i brings 64 dwords to 256 i."""
    return "".join(f"s_movk_i32 m0, {256 * one}\ns_nop 0\n{LOAD}\n" for one in range(LOADS))


def state(address: int) -> Wave:
    made = Wave(lds_bytes=2048)
    made.lds[:] = 0xEE
    made.vectors[2] = 4 * np.arange(LANES)
    made.set_pair(12, address)
    return made


def stepped(text: str, made: Wave, seed: int = 0, checked: bool = True) -> tuple[Finding, ...]:
    return emulator(ARCH).step(assemble(text, ARCH), made, Options(seed=seed, checked=checked)).findings


@pytest.mark.parametrize("touch", ["ds_read_b32 v4, v3", "ds_write_b32 v3, v5", "ds_read_u8 v4, v3 offset:3"])
@pytest.mark.parametrize("limit", range(LOADS + 1))
def test_what_a_limit_tells_of_each_load(limit: int, touch: str) -> None:
    """Its own wave may touch a load's bytes when so many later ones are allowed under way; else the wait is named."""
    with area(ARCH, 256) as memory:
        for one in range(LOADS):
            for dword in (0, 63):
                made = state(memory.address)
                text = loads() + f"s_waitcnt vmcnt({limit})\ns_mov_b64 exec, 1\n"
                made.vectors[3] = 256 * one + 4 * dword
                findings = stepped(text + touch + "\ns_waitcnt vmcnt(0) lgkmcnt(0)", made)
                later = LOADS - 1 - one
                if limit <= later:
                    assert findings == ()
                    continue
                [found] = findings
                byte = 256 * one + 4 * dword + (3 if "offset:3" in touch else 0)
                verb = "written" if "write" in touch else "read"
                code = assemble(loads(), ARCH)
                place = [at for at, _, line in emulator(ARCH).disassemble(code) if line == LOAD][one]
                said = f"LDS byte {byte:#x} is {verb} before s_waitcnt vmcnt({later}) for {LOAD} at {place:#x}"
                assert (found.rule, found.what) == ("before_wait", said)


@pytest.mark.parametrize("checked", [True, False])
@pytest.mark.parametrize("seed", range(6))
def test_they_land_in_order_and_all_at_the_end(seed: int, checked: bool) -> None:
    """Where two go to one place the later one's data stays, whenever they come; also without a wait."""
    with area(ARCH, 1024) as memory:
        for wait in ("", "s_waitcnt vmcnt(0)\n", "s_waitcnt vmcnt(1)\n"):
            made = state(memory.address)
            text = "s_mov_b32 m0, 64\ns_nop 0\n"
            text += "".join(f"global_load_lds_dword v2, s[12:13]\n{wait}v_add_u32 v2, 0x100, v2\n" for _ in range(3))
            text += "s_mov_b64 exec, 0xff\nglobal_load_lds_dword v2, s[12:13]\n"
            assert stepped(text, made, seed, checked) == ()
            expected = np.full(2048, 0xEE, np.uint8)
            expected[64:320] = memory.bytes[512:768]
            expected[64:96] = memory.bytes[768:800]
            np.testing.assert_array_equal(made.lds, expected)


# Waves 0 and 1 with v1 = 4 * lane, s20 the wave, s[12:13] a source of 512 bytes.
START = """
s_load_dwordx2 s[12:13], s[0:1], 0
v_readfirstlane_b32 s20, v0
s_lshr_b32 s20, s20, 6
v_and_b32 v0, 63, v0
v_lshlrev_b32 v1, 2, v0
s_mov_b32 m0, 0
s_waitcnt lgkmcnt(0)
s_cmp_eq_u32 s20, 1
s_cbranch_scc1 second
"""


def waves(first: str, second: str, seed: int = 0) -> tuple[Finding, ...]:
    """Each runs its lines."""
    with area(ARCH, 512) as memory:
        memory.bytes[:] = np.arange(512) % 251
        code = kernel(f"{START}{first}\ns_endpgm\nsecond:\n{second}", ARCH, lds=1024, vgprs=32)
        return launch(code, ARCH, [1], 128, arguments(memory.bytes), Options(seed=seed)).findings


MINE = "global_load_lds_dword v1, s[12:13]\n"
DONE = "s_waitcnt vmcnt(0) lgkmcnt(0)\n"


BARRIER = "s_barrier\n"
READ, WRITE = "ds_read_b32 v4, v1\n", "ds_write_b32 v1, v0\n"
WAITED = "wave 0 has not waited for its global_load_lds_dword v1, s[12:13] at 0x"
WRITES = "wave 0 writes it by global_load_lds_dword v1, s[12:13] at 0x"


def at(place: int) -> str:
    """The load to another place."""
    return f"s_mov_b32 m0, {place}\ns_nop 0\n{MINE}"


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        (MINE + BARRIER, BARRIER + READ, f"is read; {WAITED}"),
        (MINE + BARRIER, BARRIER + WRITE, f"is written; {WAITED}"),
        (MINE + DONE + BARRIER, BARRIER + READ, None),
        (MINE + DONE, READ, f"is read; {WRITES}"),
        (MINE + BARRIER, BARRIER + MINE, None),
        (MINE + DONE + BARRIER, BARRIER + MINE + DONE, None),
        (MINE + BARRIER, BARRIER + at(4), WAITED),
        (MINE + DONE, at(4), f"is written; {WRITES}"),
        (MINE + BARRIER, BARRIER + at(256), None),
        ("ds_read_b32 v4, v1 offset:512\ns_barrier\n" + DONE, at(512) + BARRIER, "is written; wave 0 reads it"),
    ],
)
def test_between_waves(first: str, second: str, said: str | None) -> None:
    """Until its wave has waited and a barrier has passed nobody else may touch it, but for a load of equal bytes."""
    findings = [one for one in waves(first, second) if one.rule != "uninitialised"]
    if said is None:
        assert findings == []
        return
    [found] = findings
    assert (found.rule, found.wave) == ("lds_race", 1) and said in found.what


def test_a_seed_says_for_good_which_loads_come_late() -> None:
    """A report's seed shows its finding again: what each seed chooses stays as it is."""
    late = {}
    with area(ARCH, 256) as memory:
        memory.bytes[:] = 0x11
        for seed in range(9):
            made = state(memory.address)
            made.vectors[3] = 0
            reads = "".join(f"ds_read_u8 v{10 + one}, v3 offset:{256 * one}\n" for one in range(LOADS))
            stepped(loads() + reads + "s_waitcnt lgkmcnt(0)", made, seed, checked=False)
            late[seed] = "".join("01"[int(made.vectors[10 + one][0]) == 0xEE] for one in range(LOADS))
    assert late[0] == "0" * LOADS
    assert " ".join(late.values()) == "0000 0000 0000 0000 0001 1111 0000 0001 0000"


@pytest.mark.parametrize(("lanes", "early"), [("0xffffffff, 0", False), ("0, 0xffffffff", True)])
def test_an_instruction_that_runs_twice_is_two_loads(lanes: str, early: bool) -> None:
    """The lower half of the lanes, then the upper half of it: one load may be under way, which is the second."""
    low, high = lanes.split(", ")
    twice = f"""
    s_mov_b32 s21, 0
    s_mov_b64 exec, 0xffffffff
    again:
    {MINE}
    s_not_b64 exec, exec
    s_add_u32 s21, s21, 1
    s_cmp_lt_u32 s21, 2
    s_cbranch_scc1 again
    s_waitcnt vmcnt(1)
    s_mov_b32 exec_lo, {low}
    s_mov_b32 exec_hi, {high}
    {READ}s_waitcnt vmcnt(0) lgkmcnt(0)
    """
    assert [one.rule for one in waves(twice, "s_nop 0")] == ["before_wait"] * early


def test_who_read_a_byte_too_early_is_known_after_the_wait() -> None:
    """The wait makes whole dwords of what was read by the byte: a later write still races with the reader."""
    early, late = waves(BARRIER + "ds_read_u8 v4, v1 offset:1\n" + DONE, MINE + BARRIER + DONE + WRITE)
    assert (early.rule, early.wave, late.rule, late.wave) == ("lds_race", 0, "lds_race", 1)
    assert "is written; wave 0 reads it by ds_read_u8" in late.what
