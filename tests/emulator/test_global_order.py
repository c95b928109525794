"""Races between workgroups: the memory model's release and acquire are clean, each form that lacks a part is found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from step_support import arguments, emulator, kernel, launch

from ckgen_emulator.bindings import Options, Run

pytestmark = pytest.mark.amd

ARCH = "gfx942"
SEEDS = (0, 1, 2, 3)

# v0 work item, v1 its dword's offset, v2 0, v4 1; s[8:9] data, s[10:11] flag; s2 workgroup
START = """
s_load_dwordx4 s[8:11], s[0:1], 0
v_lshlrev_b32 v1, 2, v0
v_mov_b32 v2, 0
v_mov_b32 v4, 1
v_add_u32 v3, 100, v0
v_readfirstlane_b32 s20, v0
s_lshr_b32 s20, s20, 6
s_waitcnt lgkmcnt(0)
"""
STORE = "global_store_dword v1, v3, s[8:9]"
RELEASE = "buffer_wbl2 sc1\ns_waitcnt vmcnt(0)"
PUBLISH = "global_store_dword v2, v4, s[10:11] sc1"
OBSERVE = "global_load_dword v5, v2, s[10:11] sc1"
PUBLISH_ELSEWHERE = "global_store_dword v2, v4, s[10:11] offset:8 sc1"
ACQUIRE = "buffer_inv sc1"
READ = "global_load_dword v6, v1, s[8:9]"
RESULT = "s_waitcnt vmcnt(0)\nglobal_store_dword v1, v6, s[8:9] offset:1024"


def spin(observe: str = OBSERVE, wait: str = "s_waitcnt vmcnt(0)", limit: int = 1, name: str = "spin") -> str:
    """Until the flag is `limit`, by what `observe` loads to v5."""
    return f"""
    {name}:
    {observe}
    {wait}
    v_readfirstlane_b32 s12, v5
    s_cmp_lt_u32 s12, {limit}
    s_cbranch_scc1 {name}
    """


def roles(*bodies: str) -> str:
    """Workgroup i runs body i."""
    lines = [START]
    for index in range(1, len(bodies)):
        lines += [f"s_cmp_eq_u32 s2, {index}", f"s_cbranch_scc1 role{index}"]
    for index, body in enumerate(bodies):
        lines += [f"role{index}:", body, "s_endpgm"]
    return "\n".join(lines)


def both(*parts: str) -> str:
    """Lines one after the other."""
    return "\n".join(parts)


class Case:
    """Data of 2048 bytes and a flag of a launch, or of several."""

    def __init__(self, arch: str = ARCH) -> None:
        self.arch = arch
        self.data: NDArray[Any] = np.zeros(512, np.uint32)
        self.flag: NDArray[Any] = np.zeros(16, np.uint32)

    def __enter__(self) -> Case:
        for array in (self.data, self.flag):
            emulator(self.arch).add(array)
        return self

    def __exit__(self, *_: object) -> None:
        for array in (self.data, self.flag):
            emulator(self.arch).remove(array)

    def run(self, body: str, groups: int, *, block: int = 64, seed: int = 0, threads: int = 1) -> Run:
        """One launch, the flag reset before it."""
        self.flag[:] = 0
        options = Options(seed=seed, threads=threads, most_instructions=2_000_000)
        return launch(
            kernel(body, self.arch, lds=256), self.arch, [groups], block, arguments(self.data, self.flag), options
        )


def races(result: Run) -> list[str]:
    """What the races lack; nothing else may have been found. A wait that is missing on purpose may show twice."""
    assert {one.rule for one in result.findings} <= {"global_race", "before_wait"}, result.findings
    return [one.what for one in result.findings if one.rule == "global_race"]


def check(body: str, groups: int, missing: str | None, *, block: int = 64, seeds: Sequence[int] = SEEDS) -> None:
    """Clean, or a race whose text names what is missing, whatever the order."""
    for seed in seeds:
        with Case() as case:
            found = races(case.run(body, groups, block=block, seed=seed))
            if missing is None:
                assert not found, (seed, found)
            else:
                assert found, seed
                assert any(missing in one for one in found), (seed, found)


def pair(
    store: str = STORE, release: str = RELEASE, publish: str = PUBLISH, observe: str | None = None,
    acquire: str = ACQUIRE, read: str = READ,
) -> tuple[str, str]:  # fmt: skip
    """A producer and a consumer."""
    return both(store, release, publish), both(spin() if observe is None else observe, acquire, read, RESULT)


ADD = "global_atomic_add v2, v4, s[10:11]"
FETCH = "global_atomic_or v5, v2, v2, s[10:11] sc0"
CLEAN = {
    "the model": pair(),
    "system scope": pair(
        release="buffer_wbl2 sc0 sc1\ns_waitcnt vmcnt(0)", publish=PUBLISH + " sc0", observe=spin(OBSERVE + " sc0"),
        acquire="buffer_inv sc0 sc1",
    ),
    "an atomic publishes": pair(publish=ADD),
    "an atomic observes": pair(observe=spin(FETCH)),
    "stores that write through": pair(store=STORE + " sc1", release="s_waitcnt vmcnt(0)"),
    "loads that bypass": pair(acquire="", read=READ + " sc1"),
    "an atomic as data": pair(
        store="global_atomic_add v1, v3, s[8:9]", release="s_waitcnt vmcnt(0)", acquire="",
        read="global_atomic_add v6, v1, v2, s[8:9] sc0",
    ),
}  # fmt: skip
BROKEN = {
    "no write back": (pair(release="s_waitcnt vmcnt(0)"), "no buffer_wbl2 sc1"),
    "write back of another scope": (pair(release="buffer_wbl2 sc0\ns_waitcnt vmcnt(0)"), "no buffer_wbl2 sc1"),
    "write back first": (pair(store="buffer_wbl2 sc1", release=STORE + "\ns_waitcnt vmcnt(0)"), "no buffer_wbl2 sc1"),
    "write back not waited for": (pair(release="buffer_wbl2 sc1\ns_waitcnt vmcnt(1)"), "no buffer_wbl2 sc1"),
    "no wait in the release": (pair(release="buffer_wbl2 sc1"), "no release of that workgroup"),
    "no wait behind a store that writes through": (
        pair(store=PUBLISH_ELSEWHERE + "\ns_waitcnt vmcnt(0)\n" + STORE + " sc1", release=""),
        "before that access was complete",
    ),
    "a plain flag": (pair(publish="global_store_dword v2, v4, s[10:11]"), "no release of that workgroup"),
    "a plain look at the flag": (
        pair(observe=spin("global_load_dword v5, v2, s[10:11]")), "no release of that workgroup",
    ),
    "a look at workgroup scope": (
        pair(observe=spin("global_load_dword v5, v2, s[10:11] sc0")), "no release of that workgroup",
    ),
    "no invalidation": (pair(acquire=""), "no buffer_inv sc1"),
    "invalidation of another scope": (pair(acquire="buffer_inv sc0"), "no buffer_inv sc1"),
    "invalidation before the wait": (
        pair(observe=spin(OBSERVE + "\nbuffer_inv sc1"), acquire=""), "no buffer_inv sc1",
    ),
    "no flag": ((STORE, both(READ, RESULT)), "no release of that workgroup"),
    "invalidation after the read": (pair(acquire="", read=READ + "\nbuffer_inv sc1"), "no buffer_inv sc1"),
}  # fmt: skip


@pytest.mark.parametrize("name", CLEAN)
@pytest.mark.parametrize("consumer_first", [False, True])
def test_release_and_acquire(name: str, consumer_first: bool) -> None:
    bodies = CLEAN[name]
    check(roles(*bodies[:: -1 if consumer_first else 1]), 2, None)


@pytest.mark.parametrize("name", BROKEN)
def test_what_lacks_a_part(name: str) -> None:
    bodies, missing = BROKEN[name]
    check(roles(*bodies), 2, missing)


TO_LDS = """
s_mov_b32 m0, 0
s_nop 0
global_load_lds_dword v2, s[10:11] sc1
s_waitcnt vmcnt(0)
ds_read_b32 v5, v2
"""


def test_a_load_to_lds_observes() -> None:
    for scope, missing in (("sc1", None), ("sc0", "no release of that workgroup")):
        observe = spin(TO_LDS.replace("sc1", scope), "s_waitcnt lgkmcnt(0)")
        check(roles(*pair(observe=observe)), 2, missing)


def test_the_consumer_gets_the_data() -> None:
    for threads in (1, 2):
        with Case() as case:
            assert not races(case.run(roles(*pair()), 2, seed=1, threads=threads))
            np.testing.assert_array_equal(case.data[256:320], np.arange(64) + 100)


def test_knowledge_is_passed_on() -> None:
    """What the second workgroup has acquired, its own release gives to the third."""
    middle = both(spin(), ACQUIRE, RELEASE, "global_store_dword v2, v4, s[10:11] offset:32 sc1")
    third = spin(OBSERVE.replace(" sc1", " offset:32 sc1"), name="again")
    check(roles(pair()[0], middle, both(third, ACQUIRE, READ, RESULT)), 3, None)
    silent = both(spin(), "global_store_dword v2, v4, s[10:11] offset:32 sc1")
    check(roles(pair()[0], silent, both(third, READ, RESULT)), 3, "no buffer_inv sc1")


def test_a_second_release_tells_what_was_done_since_the_first() -> None:
    acknowledge = "global_store_dword v2, v4, s[10:11] offset:32 sc1"
    acknowledged = spin(OBSERVE.replace(" sc1", " offset:32 sc1"), name="acknowledged")
    first = both(STORE + " offset:1536", "s_waitcnt vmcnt(0)", PUBLISH, acknowledged)
    second = both(STORE + " sc1", "{}", "v_mov_b32 v4, 2", PUBLISH)
    consumer = both(spin(), acknowledge, spin(limit=2, name="again"), ACQUIRE, READ, RESULT)
    for wait, missing in (("s_waitcnt vmcnt(0)", None), ("", "before that access was complete")):
        check(roles(both(first, second.format(wait)), consumer), 2, missing)


def test_a_counter_collects_releases() -> None:
    """Whoever sees the last count has acquired all workgroups before; one that does not release is missing."""
    last = both(
        spin(limit=3),
        ACQUIRE,
        *(f"global_load_dword v6, v1, s[8:9] offset:{256 * i}" for i in range(3)),
        "s_waitcnt vmcnt(0)",
    )
    stores = [
        both(
            f"global_store_dword v1, v3, s[8:9] offset:{256 * i}",
            RELEASE,
            "v_cmp_eq_u32 vcc, 0, v0\ns_mov_b64 exec, vcc",
            ADD,
        )
        for i in range(3)
    ]
    check(roles(*stores, last), 4, None)
    check(roles(stores[0], stores[1].replace("buffer_wbl2 sc1", ""), stores[2], last), 4, "wave 0 of workgroup 1 wrote")


def test_another_store_ends_what_a_flag_says() -> None:
    """The second workgroup's flag is not the first one's: its release does not cover the first one's data."""
    reader = both(spin(limit=2), ACQUIRE, READ, RESULT)
    for before in ("", "global_load_dword v7, v2, s[8:9] offset:1040\ns_waitcnt vmcnt(0)"):
        overwrite = both(before, "v_mov_b32 v4, 2", PUBLISH)
        check(roles(pair()[0], overwrite, reader), 3, "no release", seeds=[0])


ONE_WAVE = "s_cmp_eq_u32 s20, {}\ns_cbranch_scc0 {}\n"


def waves(first: str, second: str, name: str) -> str:
    """Wave 0 runs the one, wave 1 the other, both go on behind them."""
    return both(ONE_WAVE.format(0, f"{name}1"), first, f"s_branch {name}2", f"{name}1:", second, f"{name}2:")


OTHER = "v_xor_b32 v1, 0x100, v1"  # the other wave's dwords


@pytest.mark.parametrize(("wait", "missing"), [("s_waitcnt vmcnt(0)", None), ("", "vmcnt(0) of that wave and barrier")])
def test_between_waves_of_a_workgroup(wait: str, missing: str | None) -> None:
    """The wait that a barrier does not do."""
    check(both(START, STORE, wait, "s_barrier", OTHER, READ, RESULT), 1, missing, block=128)


def test_waves_of_a_workgroup_need_no_cache_control() -> None:
    """A flag between them is enough, behind a wait."""
    first, second = both(STORE, "{}", PUBLISH), both(spin(), OTHER, READ, RESULT)
    body = both(START, waves(first, second, "one"))
    check(body.format("s_waitcnt vmcnt(0)"), 1, None, block=128)
    check(body.format(""), 1, "vmcnt(0) of that wave and barrier", block=128)


@pytest.mark.parametrize(("wait", "missing"), [("s_waitcnt vmcnt(0)", None), ("", "does not cover that wave")])
def test_one_wave_releases_for_all(wait: str, missing: str | None) -> None:
    release = waves(both(RELEASE, PUBLISH), "", "pub")
    acquire = waves(both(spin(), ACQUIRE), "", "acq")
    check(
        roles(both(STORE, wait, "s_barrier", release), both(acquire, "s_barrier", READ, RESULT)), 2, missing, block=128
    )


@pytest.mark.parametrize(
    ("release", "missing"), [(RELEASE, None), ("s_waitcnt vmcnt(0)", "no buffer_wbl2 sc1")], ids=["whole", "waits"]
)
@pytest.mark.parametrize("writer", [0, 1])
def test_one_wave_writes_back_and_the_other_publishes(release: str, missing: str | None, writer: int) -> None:
    parts = waves(*(release, "")[:: -1 if writer else 1], "back"), waves(*("", PUBLISH)[:: -1 if writer else 1], "pub")
    stored = both(STORE, "s_waitcnt vmcnt(0)", "s_barrier")
    acquire = waves(both(spin(), ACQUIRE), "", "acq")
    consumer = both(acquire, "s_barrier", READ, RESULT)
    check(roles(both(stored, parts[0], "s_barrier", parts[1]), consumer), 2, missing, block=128)


def test_a_wave_that_did_not_acquire() -> None:
    acquire = waves(both(spin(), ACQUIRE), "", "acq")
    check(
        roles(both(STORE, "s_waitcnt vmcnt(0)", "s_barrier", RELEASE, PUBLISH), both(acquire, READ, RESULT)),
        2,
        "no release",
        block=128,
    )


def test_writes_after_reads_and_writes() -> None:
    check(roles(both(READ, "s_waitcnt vmcnt(0)"), STORE), 2, "reads: no release", seeds=[0])
    check(roles(STORE, both("v_mov_b32 v3, 7", STORE)), 2, "wrote: no release")
    check(roles(STORE, STORE), 2, None)  # the same values


def test_a_write_that_waits_for_the_reader() -> None:
    """The reader needs no write back for that, only its data."""
    reader = both(READ, "s_waitcnt vmcnt(0)", PUBLISH)
    check(roles(reader, both(spin(), STORE)), 2, None)
    check(
        roles(both(PUBLISH_ELSEWHERE, "s_waitcnt vmcnt(0)", READ, PUBLISH), both(spin(), STORE)),
        2,
        "before that access was complete",
    )


def test_bytes_of_a_dword_are_apart() -> None:
    body = both(START, "v_mov_b32 v3, s2\nv_add_u32 v3, 5, v3\nv_mov_b32 v1, s2\nglobal_store_byte v1, v3, s[8:9]")
    check(body, 4, None)
    check(body.replace("byte", "short"), 4, "no release")


SIZES = {"byte": 1, "short": 2, "dword": 4, "dwordx2": 8, "dwordx3": 12, "dwordx4": 16}


@pytest.mark.parametrize("first", ["writes", "reads"])
@pytest.mark.parametrize("size", SIZES)
def test_every_byte_of_every_lane(size: str, first: str) -> None:
    """One workgroup touches one byte; another one meets it exactly where a lane that is on covers it."""
    width = SIZES[size]
    registers = "v20" if width <= 4 else f"v[20:{19 + width // 4}]"
    inputs = "s_load_dwordx4 s[16:19], s[0:1], 16\nv_mov_b32 v7, v1\nv_mul_u32_u24 v7, {}, v0\ns_waitcnt lgkmcnt(0)"
    one = both("s_load_dword s16, s[0:1], 16\ns_waitcnt lgkmcnt(0)\nv_mov_b32 v7, s16\ns_mov_b64 exec, 1")
    byte = "global_store_byte v7, v3, s[8:9]" if first == "writes" else "global_load_ubyte v8, v7, s[8:9]"
    values = "\n".join(f"v_mov_b32 v{row}, -1" for row in range(20, 24))
    many = both(inputs.format(width), values, "s_mov_b64 exec, s[18:19]")
    ways = ["global_store_{} v7, {}, s[8:9]"]
    if first == "writes":
        ways.append("global_load_{} {}, v7, s[8:9]")
    random = np.random.default_rng(width)
    for way in ways:
        name = {"byte": "ubyte", "short": "ushort"}.get(size, size) if "load" in way else size
        code = kernel(roles(both(one, byte), both(many, way.format(name, registers))), ARCH)
        with Case() as case:
            for at in [0, 1, 2, 3, 5, 64 * width - 1, *random.integers(0, 64 * width, 10).tolist()]:
                for mask in (2**64 - 1, int(random.integers(0, 2**63))):
                    case.data[:] = 0
                    args = arguments(case.data, case.flag, at, mask)
                    found = races(launch(code, ARCH, [2], 64, args, Options()))
                    assert bool(found) == bool(mask >> at // width & 1), (way, at, mask)


def test_atomics_do_not_race() -> None:
    check(both(START, "global_atomic_add v1, v3, s[8:9]"), 4, None)
    check(both(START, "global_atomic_add v1, v3, s[8:9]", "s_waitcnt vmcnt(0)", READ, RESULT), 4, "no release")


SUM = both("v_mov_b32 v9, 1.0", "global_atomic_{} v1, v9, s[8:9]", "s_waitcnt vmcnt(0)")


@pytest.mark.parametrize("sum_", ["add_f32", "pk_add_f16", "pk_add_bf16"])
def test_a_store_past_the_caches_and_a_sum_race(sum_: str) -> None:
    """Which is first decides what is there in the end. Atomics of integers may be flags, which give an order."""
    clear, adds = both(STORE + " sc1", "s_waitcnt vmcnt(0)"), SUM.format(sum_)
    check(roles(clear, adds), 2, "no release of that workgroup")
    check(roles(clear, SUM.format("add")), 2, None)
    check(both(START, adds), 4, None)
    check(roles(both(clear, PUBLISH), both(spin(), adds)), 2, None)
    check(roles(both(adds, PUBLISH), both(spin(), clear)), 2, None)


ADD_BY_SWAPS = """
v_mov_b32 v20, v1
global_load_dword v11, v20, s[8:9]
again:
s_waitcnt vmcnt(0)
v_add_u32 v10, v11, v4
v_mov_b32 v12, v11
v_mov_b32 v13, v10
v_mov_b32 v14, v11
v_mov_b32 v15, v10
v_mov_b32 v16, v15
v_mov_b32 v17, v14
global_atomic_cmpswap v18, v20, v[16:17], s[8:9] sc0
s_waitcnt vmcnt(0)
v_cmp_ne_u32 vcc, v18, v11
v_mov_b32 v11, v18
s_nop 4
s_and_b64 exec, exec, vcc
s_cbranch_execnz again
"""


@pytest.mark.parametrize("seed", SEEDS)
def test_a_read_that_a_swap_confirms_is_no_race(seed: int) -> None:
    with Case() as case:
        assert not races(case.run(both(START, ADD_BY_SWAPS), 6, seed=seed))
        assert list(case.data[:64]) == [6] * 64


def test_a_read_that_nothing_confirms_is_one() -> None:
    adds = both("global_atomic_add v1, v3, s[8:9]", "s_waitcnt vmcnt(0)")
    check(roles(adds, both(READ, "s_waitcnt vmcnt(0)")), 2, "no release", seeds=(0,))


def test_a_swap_confirms_the_read_of_its_own_dword_alone() -> None:
    adds = both("global_atomic_add v1, v3, s[8:9]", "s_waitcnt vmcnt(0)")
    swap = both("s_mov_b64 exec, 1", "global_atomic_cmpswap v18, v1, v[16:17], s[8:9] sc0", "s_waitcnt vmcnt(0)")
    read = both("v_mov_b32 v16, 7", "v_mov_b32 v17, 7", READ, "s_waitcnt vmcnt(0)")
    with Case() as case:
        [found] = case.run(roles(adds, both(read, swap)), 2).findings
    assert (found.rule, found.lane, found.count) == ("global_race", 1, 63)


def test_launches_are_ordered() -> None:
    with Case() as case:
        for groups in (2, 3, 4):
            assert not races(
                case.run(
                    both(
                        START,
                        "v_mov_b32 v7, s2\nv_lshlrev_b32 v7, 8, v7\nv_add_u32 v1, v1, v7",
                        READ,
                        "s_waitcnt vmcnt(0)",
                        "v_add_u32 v3, v6, v4",
                        STORE,
                    ),
                    groups,
                )
            )
        assert not races(case.run(both(START, READ, RESULT), 1))


def test_what_a_launch_did_is_no_race_with_later_ones_however_many_there_are() -> None:
    """Records hold ten bits of a launch's number."""
    touch = both(START, "global_load_dword v5, v2, s[10:11]", "s_waitcnt vmcnt(0)", "s_endpgm")
    with Case() as case:
        assert not races(case.run(roles(STORE, "s_nop 0"), 2))
        for _ in range(1022):
            case.run(touch, 1)
        assert not races(case.run(roles("s_nop 0", both(READ, "s_waitcnt vmcnt(0)")), 2))


@pytest.mark.parametrize(("invalidate", "found"), [("", 1), ("s_dcache_inv\ns_waitcnt lgkmcnt(0)", 0)])
def test_scalar_loads_of_what_was_written(invalidate: str, found: int) -> None:
    body = both(START, STORE, "s_waitcnt vmcnt(0)", invalidate, "s_load_dword s16, s[8:9], 16\ns_waitcnt lgkmcnt(0)")
    with Case() as case:
        assert len(races(case.run(body, 1))) == found


def test_a_chip_whose_workgroups_share_their_cache() -> None:
    bodies = pair(
        release="s_waitcnt vmcnt(0)",
        publish="global_store_dword v2, v4, s[10:11]",
        observe=spin("global_load_dword v5, v2, s[10:11] glc"),
        acquire="buffer_wbinvl1_vol",
    )
    with Case("gfx90a") as case:
        assert not case.run(roles(*bodies), 2).findings


# v[12:13]: data in the first 32 lanes, the flag in the others
IN_TWO_ALLOCATIONS = """
v_mov_b32 v10, s10
v_mov_b32 v11, s11
v_mov_b32 v12, s8
v_mov_b32 v13, s9
v_cmp_gt_u32 vcc, 32, v0
v_cndmask_b32 v12, v10, v12, vcc
v_cndmask_b32 v13, v11, v13, vcc
"""


@pytest.mark.parametrize("access", ["global_load_dword v6, v[12:13], off", "global_store_dword v[12:13], v4, off"])
@pytest.mark.parametrize("first", [True, False])
def test_lanes_in_two_allocations_race_as_others_do(access: str, first: bool) -> None:
    for offset, count in (("", 1), (" offset:32", 0)):
        bodies = STORE + "\ns_waitcnt vmcnt(0)", both(IN_TWO_ALLOCATIONS, access + offset)
        limited = "s_mov_b64 exec, 255\n" + bodies[0]  # what lies behind is not touched by it
        with Case() as case:
            found = races(case.run(roles(*((bodies[1], limited) if first else (limited, bodies[1]))), 2))
        assert len(found) == count, (offset, found)
