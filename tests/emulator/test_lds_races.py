"""Which LDS accesses of several waves are in order: kernels that are right, and the same with one thing wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from step_support import arguments, emulator, kernel, launch

from ckgen_emulator.bindings import Finding, Options, Run

pytestmark = pytest.mark.amd

SEEDS = range(21)

# v0: work item; v1: 4 * work item; v2: the same of the work item 64 further on, in the next wave; s20: the wave.
START = """
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_and_b32_e32 v0, 0x3ff, v0
  v_lshlrev_b32_e32 v1, 2, v0
  v_add_u32_e32 v2, 0x100, v1
  v_and_b32_e32 v2, 0x3ff, v2
  v_lshrrev_b32_e32 v3, 6, v0
  v_mul_u32_u24_e32 v9, 3, v0
  s_waitcnt lgkmcnt(0)
  v_readfirstlane_b32 s20, v3
"""
END = """
  s_waitcnt vmcnt(0) lgkmcnt(0)
  global_store_dword v1, v10, s[4:5]
"""
WAIT = "s_waitcnt lgkmcnt(0)"
BARRIER = "s_barrier"
RESULT = "v_mov_b32_e32 v10, 0"


def run(
    body: str, seed: int, *, arch: str = "gfx942", waves: int = 4, checked: bool = True
) -> tuple[Run, NDArray[np.uint32]]:
    """The run, and what each work item stored from v10. s[6:7]: a source of 256 dwords, 1000 and up."""
    out = np.zeros(256, np.uint32)
    source = np.arange(1000, 1256, dtype=np.uint32)
    chip = emulator(arch)
    for array in (out, source):
        chip.add(array)
    try:
        code = kernel(START + body + END, arch, lds=4096)
        options = Options(checked=checked, seed=seed)
        return launch(code, arch, [1], 64 * waves, arguments(out, source), options), out
    finally:
        for array in (out, source):
            chip.remove(array)


def rules(found: tuple[Finding, ...]) -> set[str]:
    return {one.rule for one in found}


def clean(body: str, expected: NDArray[Any] | None = None, *, arch: str = "gfx942") -> None:
    for seed in SEEDS:
        made, out = run(body, seed, arch=arch)
        assert made.findings == (), (seed, made.findings)
        if expected is not None:
            assert np.array_equal(out, expected), seed


def reported(body: str, rule: str, *, arch: str = "gfx942", seeds: range = SEEDS) -> list[Finding]:
    """Under every seed, and nothing else but a read that came before any write; the findings of the first."""
    first: list[Finding] = []
    for seed in seeds:
        made, _ = run(body, seed, arch=arch)
        assert rules(made.findings) - {"uninitialised"} == {rule}, (seed, made.findings)
        first = first or [found for found in made.findings if found.rule == rule]
    return first


ITEMS = np.arange(256)
NEIGHBOURS = (ITEMS + 64) % 256 * 3

EXCHANGE = ["ds_write_b32 v1, v9", WAIT, BARRIER, "ds_read_b32 v10, v2"]


def lines(parts: list[str]) -> str:
    return "\n".join(parts)


def only(wave: int, text: str) -> list[str]:
    """Lines that one wave executes."""
    return [f"s_cmp_eq_u32 s20, {wave}", f"s_cbranch_scc0 past_{wave}", text, f"past_{wave}:"]


def without(parts: list[str], index: int) -> str:
    return lines(parts[:index] + parts[index + 1 :])


def test_exchange_through_lds() -> None:
    clean(lines(EXCHANGE), NEIGHBOURS)


def test_thread_addresses_are_of_whole_dwords() -> None:
    write = "s_lshl_b32 s21, s20, 8\ns_mov_b32 m0, s21\ns_nop 4\nds_write_addtid_b32 v9"
    clean(lines([write, "ds_read_b32 v10, v1"]), ITEMS * 3)
    clean(lines([write, WAIT, BARRIER, "ds_read_b32 v10, v2"]), NEIGHBOURS)
    reported(lines([write, WAIT, "ds_read_u8 v10, v2 offset:3"]), "lds_race")


def test_exchange_without_barrier_or_wait() -> None:
    for found in reported(without(EXCHANGE, 2), "lds_race"):
        assert "no barrier is between" in found.what
    for found in reported(without(EXCHANGE, 1), "lds_race"):
        assert "had not waited for when it came to the barrier" in found.what
        assert "ds_write_b32 v1, v9 at 0x" in found.what
    reported(lines([EXCHANGE[0], BARRIER, WAIT, EXCHANGE[3]]), "lds_race")
    reported(lines([EXCHANGE[0], WAIT, EXCHANGE[3], BARRIER]), "lds_race")


def test_the_other_access_is_named() -> None:
    body = """
      s_cmp_eq_u32 s20, 0
      s_cbranch_scc0 read
      ds_write_b32 v1, v9
      s_branch end
    read:
      s_cmp_eq_u32 s20, 3
      s_cbranch_scc0 end
      ds_read_b32 v4, v2
    end:
      v_mov_b32_e32 v10, 0
    """
    for seed in range(6):
        made, _ = run("ds_write_b32 v1, v9 offset:1024\n" + body, seed)
        race = next(found for found in made.findings if found.rule == "lds_race")
        if race.wave == 3:
            assert "wave 0 writes it by ds_write_b32 v1, v9 at 0x" in race.what
        else:
            assert "wave 3 reads it by ds_read_b32 v4, v2 at 0x" in race.what


# Two rounds over the same buffer: the second write must not come before the first reads are done.
TWICE = [
    "ds_write_b32 v1, v9", WAIT, BARRIER, "ds_read_b32 v11, v2", WAIT, BARRIER, "v_add_u32_e32 v9, 1, v9",
    "ds_write_b32 v1, v9", WAIT, BARRIER, "ds_read_b32 v10, v2",
]  # fmt: skip


def test_reused_buffer() -> None:
    clean(lines(TWICE), NEIGHBOURS + 1)
    for index in (2, 5, 9):
        reported(without(TWICE, index), "lds_race")
    for found in reported(without(TWICE, 4), "lds_race"):
        assert "reads it by ds_read_b32 v11, v2" in found.what
        assert "had not waited for" in found.what


def test_two_buffers_need_one_barrier() -> None:
    parts = [
        "ds_write_b32 v1, v9", WAIT, BARRIER, "ds_read_b32 v11, v2", "ds_write_b32 v1, v9 offset:1024", WAIT, BARRIER,
        "ds_read_b32 v10, v2 offset:1024", "ds_write_b32 v1, v9", WAIT, BARRIER, "ds_read_b32 v12, v2",
    ]  # fmt: skip
    clean(lines(parts), NEIGHBOURS)
    reported(without(parts, 6), "lds_race")


def test_a_later_wait_orders_the_next_barrier_only() -> None:
    """The write is outstanding at the first barrier and done at the second."""
    parts = ["ds_write_b32 v1, v9", BARRIER, WAIT, BARRIER, "ds_read_b32 v10, v2"]
    clean(lines(parts), NEIGHBOURS)
    reported(without(parts, 3), "lds_race")


def test_partial_wait() -> None:
    """lgkmcnt(1) covers the older write of two."""
    parts = ["ds_write_b32 v1, v9", "ds_write_b32 v1, v9 offset:1024", "s_waitcnt lgkmcnt(1)", BARRIER]
    clean(lines([*parts, "ds_read_b32 v10, v2"]), NEIGHBOURS)
    reported(lines([*parts, "ds_read_b32 v10, v2 offset:1024"]), "lds_race")


@pytest.mark.parametrize("touch", ["ds_read_b32 v11, v1", "ds_add_u32 v1, v9", "ds_add_rtn_u32 v11, v1, v9"])
def test_reads_and_atomics_need_something_written(touch: str) -> None:
    for seed in range(4):
        made, _ = run(lines([touch, RESULT]), seed)
        assert rules(made.findings) == {"uninitialised"}, seed
    clean(lines(["ds_write_b32 v1, v9", touch, RESULT]))


def test_own_accesses_are_in_order() -> None:
    clean("ds_write_b32 v1, v9\nds_read_b32 v10, v1\nds_write_b32 v1, v1\nds_write_b32 v1, v9", ITEMS * 3)


@pytest.mark.parametrize(("width", "kind"), [(8, "b8"), (16, "b16")])
def test_bytes_beside_each_other(width: int, kind: str) -> None:
    """Waves interleave bytes or words within dwords: no race; one of another wave's: a race."""
    size = width // 8
    # Work item i has element (i % 64) * 4 + i / 64: each dword (or pair) belongs to four waves.
    place = f"""
      v_and_b32_e32 v4, 63, v0
      v_lshl_or_b32 v4, v4, 2, v3
      v_mul_u32_u24_e32 v4, {size}, v4
      v_mul_u32_u24_e32 v5, {4 * size}, v0
    """
    write = f"ds_write_{kind} v4, v9"
    read = f"ds_read_u{width} v10, v4"
    clean(lines([place, write, WAIT, read]), ITEMS * 3 % 2**width)
    reported(lines([place, write, WAIT, f"{read} offset:{size}"]), "lds_race")
    # All of it, after the barrier, by every wave.
    clean(lines([place, write, WAIT, BARRIER, "v_and_b32_e32 v6, 0xfc, v1", "ds_read_b32 v10, v6"]))
    reported(lines([place, write, WAIT, "v_and_b32_e32 v6, 0xfc, v1", "ds_read_b32 v10, v6"]), "lds_race")
    last = ["v_and_b32_e32 v6, 0xfc, v1", *only(3, "ds_read_b32 v11, v6"), RESULT]
    reported(lines([place, write, WAIT, *last]), "lds_race")
    # Whole dwords, then bytes of them, then whole ones again.
    mixed = ["ds_write_b32 v1, v9", WAIT, BARRIER, place, f"{read}", WAIT, BARRIER, "ds_write_b32 v1, v9"]
    clean(lines(mixed))
    reported(without(mixed, 6), "lds_race")


def test_atomics_do_not_race_with_each_other() -> None:
    same = "v_mov_b32_e32 v4, 0x400\nv_mov_b32_e32 v5, 1"
    zero = [
        "v_mov_b32_e32 v6, 0",
        "s_cmp_eq_u32 s20, 0",
        "s_cbranch_scc0 zeroed",
        "ds_write_b32 v4, v6",
        "zeroed:",
        WAIT,
    ]
    parts = [same, *zero, BARRIER, "ds_add_u32 v4, v5", WAIT, BARRIER, "ds_read_b32 v10, v4"]
    clean(lines(parts), np.full(256, 256))
    reported(without(parts, 7), "lds_race")
    reported(without(parts, 10), "lds_race")
    twice = [
        same,
        *zero,
        BARRIER,
        "ds_add_u32 v4, v5",
        "ds_add_rtn_u32 v11, v4, v5",
        WAIT,
        BARRIER,
        "ds_read_b32 v10, v4",
    ]
    clean(lines(twice), np.full(256, 512))
    mixed = [same, *zero, BARRIER, "ds_add_u32 v4, v5", "ds_write_b32 v4, v5", "v_mov_b32_e32 v10, 0"]
    reported(lines(mixed), "lds_race")
    reported(lines([same, *zero, BARRIER, "ds_add_u32 v4, v5", *only(3, "ds_write_b32 v4, v5"), RESULT]), "lds_race")


@pytest.mark.parametrize("after", ["ds_write_b32 v4, v9", "ds_add_u32 v4, v9", "ds_add_rtn_u32 v12, v4, v9"])
def test_a_write_or_an_atomic_after_everybody_reads(after: str) -> None:
    """Also where the wave that does it was the last to read."""
    parts = ["v_and_b32_e32 v4, 0xfc, v1", *only(0, "ds_write_b32 v4, v9"), WAIT, BARRIER, "ds_read_b32 v11, v4"]
    clean(lines([*parts, WAIT, BARRIER, *only(3, after), RESULT]))
    reported(lines([*parts, WAIT, *only(3, after), RESULT]), "lds_race")


@pytest.mark.parametrize("first", ["ds_write_b32 v4, v9\nds_add_u32 v4, v9", "ds_add_u32 v4, v9\nds_write_b32 v4, v9"])
def test_an_atomic_races_with_a_write_whose_wave_has_an_atomic_too(first: str) -> None:
    start = ["v_and_b32_e32 v4, 0xfc, v1", *only(1, "ds_write_b32 v4, v9"), WAIT, BARRIER, *only(0, first)]
    last = [*only(3, "ds_add_u32 v4, v9"), RESULT]
    clean(lines([*start, WAIT, BARRIER, *last]))
    reported(lines([*start, *last]), "lds_race")


def test_everybody_reads_what_one_wave_wrote() -> None:
    parts = [
        "v_and_b32_e32 v4, 0xfc, v1", "v_and_b32_e32 v6, 63, v0", "s_cmp_eq_u32 s20, 2", "s_cbranch_scc0 written",
        "ds_write_b32 v4, v6", "written:", WAIT, BARRIER, "ds_read_b32 v10, v4",
    ]  # fmt: skip
    clean(lines(parts), ITEMS % 64)
    reported(without(parts, 7), "lds_race")
    everybody = lines(["v_and_b32_e32 v4, 0xfc, v1", "ds_write_b32 v4, v1", WAIT, BARRIER, "ds_read_b32 v10, v4"])
    reported(everybody, "lds_race")


def test_many_barriers() -> None:
    """As many as the checks count, so that their count comes round: what was done long ago is in order."""
    parts = ["ds_write_b32 v1, v9", WAIT, "s_mov_b32 s21, 0xffff", "again:", BARRIER, "s_sub_u32 s21, s21, 1"]
    parts += ["s_cmp_lg_u32 s21, 0", "s_cbranch_scc1 again", "ds_read_b32 v10, v2"]
    made, out = run(lines(parts), 0)
    assert made.findings == ()
    assert np.array_equal(out, NEIGHBOURS)


@pytest.mark.parametrize(("between", "blamed"), [(31, "wave 0 writes it by ds_write_b32"), (32, "another wave writes")])
def test_an_access_is_named_as_long_as_it_is_among_the_last_of_its_wave(between: int, blamed: str) -> None:
    reads = ["ds_read_b32 v10, v1", WAIT] * between
    parts = ["s_cmp_eq_u32 s20, 0", "s_cbranch_scc0 other", "ds_write_b32 v1, v9", WAIT, "v_add_u32 v1, 0x800, v1"]
    parts += [*reads, "s_branch end", "other:", "s_cmp_eq_u32 s20, 3", "s_cbranch_scc0 end", "ds_read_b32 v10, v2"]
    made, _ = run(lines([*parts, "end:", "v_mov_b32 v1, 0"]), 0)
    [found] = [one for one in made.findings if one.rule == "lds_race"]
    assert blamed in found.what


def test_what_was_done_as_many_barriers_ago_is_not_blamed() -> None:
    """Wave 1's addition lies in an epoch of the same number as those of waves 2 and 3; wave 0 leaves LDS alone."""
    add = ["ds_add_u32 v4, v9", WAIT]
    parts = ["v_mov_b32 v4, 0", "s_cmp_eq_u32 s20, 1", "s_cbranch_scc0 begin", *add, "begin:", "s_mov_b32 s21, 0xffff"]
    parts += ["again:", BARRIER, "s_sub_u32 s21, s21, 1", "s_cmp_lg_u32 s21, 0", "s_cbranch_scc1 again"]
    parts += ["s_cmp_lt_u32 s20, 2", "s_cbranch_scc1 end", *add, "s_cmp_eq_u32 s20, 3", "s_cbranch_scc0 end"]
    made, _ = run(lines([*parts, "ds_read_b32 v10, v4", "end:"]), 0)
    [found] = [one for one in made.findings if one.rule == "lds_race"]
    assert "wave 2 writes it by ds_add_u32" in found.what


# A direct-to-LDS load: 64 dwords a wave, wave w's to 256 w.
DMA = """
  s_lshl_b32 s21, s20, 8
  s_mov_b32 m0, s21
  s_nop 4
  global_load_lds_dword v1, s[6:7]
"""
LANDED = "s_waitcnt vmcnt(0)"


def test_direct_loads() -> None:
    parts = [DMA, LANDED, BARRIER, "ds_read_b32 v10, v2"]
    clean(lines(parts), 1000 + (ITEMS + 64) % 256)
    clean(lines([DMA, LANDED, "ds_read_b32 v10, v1"]), 1000 + ITEMS)
    for found in reported(without(parts, 1), "lds_race"):
        assert "has not waited for its global_load_lds_dword" in found.what
    reported(without(parts, 2), "lds_race")
    reported(lines([DMA, BARRIER, LANDED, "ds_read_b32 v10, v2"]), "lds_race")


@pytest.mark.parametrize("after", ["ds_read_b32 v10, v1", "ds_write_b32 v1, v9", "ds_add_u32 v1, v9"])
def test_own_direct_load_before_its_wait(after: str) -> None:
    for found in reported(lines([DMA, RESULT, after]), "before_wait"):
        assert "s_waitcnt vmcnt(0) for global_load_lds_dword" in found.what


def test_a_direct_load_is_no_atomic() -> None:
    """Also over what had been added to before the barrier."""
    add = "ds_add_u32 v4, v9"
    start = ["v_and_b32_e32 v4, 0xfc, v1", *only(1, "ds_write_b32 v4, v9"), WAIT, BARRIER, *only(2, add), WAIT, BARRIER]
    start += only(0, f"{DMA}\n{LANDED}")
    last = [*only(3, add), RESULT]
    clean(lines([*start, BARRIER, *last]))
    reported(lines([*start, *last]), "lds_race")


def test_direct_loads_are_waited_for_in_order() -> None:
    second = "s_add_u32 m0, s21, 0x400\ns_nop 4\nglobal_load_lds_dword v1, s[6:7]"
    one = "s_waitcnt vmcnt(1)"
    clean(lines([DMA, second, one, "ds_read_b32 v10, v1"]), 1000 + ITEMS)
    for found in reported(lines([DMA, second, one, "ds_read_b32 v10, v1 offset:1024"]), "before_wait"):
        assert "vmcnt(0)" in found.what


def test_direct_loads_land_in_order() -> None:
    """Of two to the same place, the second is there in the end, whenever either lands."""
    second = "v_xor_b32_e32 v4, 4, v1\nglobal_load_lds_dword v4, s[6:7]"
    clean(lines([DMA, second, LANDED, "ds_read_b32 v10, v1"]), 1000 + (ITEMS ^ 1))


def test_direct_load_over_what_others_read() -> None:
    """The next load into a buffer comes after a barrier that its readers have waited before."""
    parts = [DMA, LANDED, BARRIER, "ds_read_b32 v10, v2", WAIT, BARRIER, DMA]
    clean(lines(parts), 1000 + (ITEMS + 64) % 256)
    reported(without(parts, 5), "lds_race")
    reported(without(parts, 4), "lds_race")


@pytest.mark.parametrize("checked", [True, False])
def test_landing_is_the_seeds_choice(checked: bool) -> None:
    """Without the wait, the results of different seeds differ: data may still be on its way."""
    body = lines(["ds_write_b32 v1, v9", WAIT, DMA, "ds_read_b32 v10, v1"])
    outs = [run(body, seed, checked=checked)[1] for seed in SEEDS]
    assert np.array_equal(outs[0], 1000 + ITEMS)
    late = [int((out == ITEMS * 3).sum()) // 64 for out in outs]
    assert all(np.isin(out, np.concatenate([1000 + ITEMS, ITEMS * 3])).all() for out in outs)
    assert len(set(late)) > 2
    waited = lines(["ds_write_b32 v1, v9", WAIT, DMA, LANDED, "ds_read_b32 v10, v1"])
    for seed in SEEDS:
        assert np.array_equal(run(waited, seed, checked=checked)[1], 1000 + ITEMS)


def test_sixteen_bytes_a_lane() -> None:
    load = """
      s_cmp_eq_u32 s20, 0
      s_cbranch_scc0 loaded
      s_mov_b32 m0, 0
      v_lshlrev_b32_e32 v4, 4, v0
      s_nop 4
      global_load_lds_dwordx4 v4, s[6:7]
    loaded:
    """
    clean(lines([load, LANDED, BARRIER, "ds_read_b32 v10, v2"]), 1000 + (ITEMS + 64) % 256, arch="gfx950")
    reported(lines([load, BARRIER, LANDED, "ds_read_b32 v10, v2"]), "lds_race", arch="gfx950")


def test_plain_runs_have_the_same_results() -> None:
    for seed in range(4):
        assert np.array_equal(run(lines(TWICE), seed, checked=False)[1], NEIGHBOURS + 1)
