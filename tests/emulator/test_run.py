"""Workgroups: all of them run, in orders that a seed fixes, and those that can only wait are found."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from step_support import CHIPS, arguments, emulator, kernel, launch, table

from ckgen.model.errors import UsageError
from ckgen_emulator.bindings import Emulator, Options, Run

pytestmark = pytest.mark.amd

ARCH = "gfx942"

# The launch's n-th workgroup to come here writes n into out[workgroup]. s[0:1]: counter, out.
TICKETS = """
s_load_dwordx4 s[4:7], s[0:1], 0x0
v_mov_b32 v1, 0
v_mov_b32 v2, 1
s_mov_b64 exec, 1
s_waitcnt lgkmcnt(0)
global_atomic_add v3, v1, v2, s[4:5] sc0 sc1
s_lshl_b32 s8, s2, 2
v_mov_b32 v4, s8
s_waitcnt vmcnt(0)
global_store_dword v4, v3, s[6:7]
"""

# Workgroup 0 waits until another one has set the flag. s[0:1]: flag.
WAITING = """
s_load_dwordx2 s[4:5], s[0:1], 0x0
v_mov_b32 v1, 0
v_mov_b32 v2, 1
s_mov_b64 exec, 1
s_waitcnt lgkmcnt(0)
s_cmp_lg_u32 s2, 0
s_cbranch_scc1 set
again:
s_sleep 1
global_load_dword v3, v1, s[4:5] sc0 sc1
s_waitcnt vmcnt(0)
v_readfirstlane_b32 s9, v3
s_cmp_eq_u32 s9, 0
s_cbranch_scc1 again
s_branch end
set:
global_store_dword v1, v2, s[4:5] sc0 sc1
end:
"""

# out[workgroup] = the XCD that it runs on. s[0:1]: out.
WHERE = """
s_load_dwordx2 s[4:5], s[0:1], 0x0
s_getreg_b32 s8, hwreg(HW_REG_XCC_ID, 0, 4)
s_lshl_b32 s9, s2, 2
v_mov_b32 v1, s9
v_mov_b32 v2, s8
s_mov_b64 exec, 1
s_waitcnt lgkmcnt(0)
global_store_dword v1, v2, s[4:5]
"""


@contextmanager
def memory(*arrays: NDArray[np.uint32]) -> Iterator[None]:
    """Arrays that kernels may touch meanwhile."""
    chip = emulator(ARCH)
    for array in arrays:
        chip.add(array)
    try:
        yield
    finally:
        for array in arrays:
            chip.remove(array)


def tickets(seed: int, threads: int, groups: int = 24) -> tuple[list[int], Run]:
    counter, out = np.zeros(1, np.uint32), np.zeros(groups, np.uint32)
    with memory(counter, out):
        options = Options(seed=seed, threads=threads)
        run = launch(kernel(TICKETS, ARCH), ARCH, [groups], 64, arguments(counter, out), options)
    assert counter[0] == groups
    return list(map(int, out)), run


# Workgroup 0 stores for longer than a wave's turn before it takes its ticket: another thread's workgroup is first.
LATE = f"""
s_load_dwordx4 s[4:7], s[0:1], 0x0
v_mov_b32 v1, 0
s_waitcnt lgkmcnt(0)
s_cmp_lg_u32 s2, 0
s_cbranch_scc1 go
s_mov_b32 s9, 0x10000
wait:
global_store_dword v1, v1, s[6:7] offset:8
s_sub_u32 s9, s9, 1
s_cmp_lg_u32 s9, 0
s_cbranch_scc1 wait
go:
{TICKETS}
"""


@pytest.mark.parametrize(("threads", "order"), [(0, [0, 1]), (1, [0, 1]), (2, [1, 0])])
def test_threads_that_nobody_asked_for_are_one(threads: int, order: list[int]) -> None:
    counter, out = np.zeros(1, np.uint32), np.zeros(3, np.uint32)
    with memory(counter, out):
        launch(kernel(LATE, ARCH), ARCH, [2], 64, arguments(counter, out), Options(checked=False, threads=threads))
    assert out[:2].tolist() == order


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_every_workgroup_runs_once(seed: int, threads: int) -> None:
    order, run = tickets(seed, threads)
    assert sorted(order) == list(range(24))
    assert run.findings == ()
    assert (run.counts["groups"], run.counts["waves"], run.counts["atomics"]) == (24, 24, 24)
    assert run.instructions == 24 * 11


def test_a_seed_is_one_order_and_others_differ() -> None:
    for threads in (1, 2):
        once = [tickets(seed, threads)[0] for seed in range(6)]
        again = [tickets(seed, threads)[0] for seed in range(6)]
        assert once == again
        assert len(set(map(tuple, once))) >= 4
    assert tickets(0, 1)[0] == list(range(24))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("seed", [0, 3])
def test_a_workgroup_may_wait_for_one_that_can_be_resident(seed: int, threads: int) -> None:
    flag = np.zeros(1, np.uint32)
    with memory(flag):
        run = launch(kernel(WAITING, ARCH), ARCH, [4], 64, arguments(flag), Options(seed=seed, threads=threads))
    assert run.findings == ()
    assert flag[0] == 1


@pytest.mark.parametrize("seed", [0, 3])
def test_waiting_for_one_that_cannot_be_resident_is_found(seed: int) -> None:
    flag = np.zeros(1, np.uint32)
    with Emulator(replace(CHIPS[ARCH], compute_units=1, xcds=1), table(ARCH)) as chip:
        chip.add(flag)
        module = chip.load(kernel(WAITING, ARCH, lds=65536))
        run = chip.launch(module, "k", [2, 1, 1], [64, 1, 1], arguments(flag), Options(seed=seed))
        assert run.occupancy == 1
        chip.unload(module)
    assert [one.rule for one in run.findings] == ["no_progress"]
    assert flag[0] == 0


@pytest.mark.parametrize("seed", [0, 3])
@pytest.mark.parametrize("body", ["s_nop 0", "s_barrier"])
def test_a_limit_of_instructions_ends_an_endless_loop(body: str, seed: int) -> None:
    options = Options(most_instructions=100_000, seed=seed)
    run = launch(kernel(f"again:\n{body}\ns_branch again", ARCH), ARCH, [1], 128, b"", options)
    assert [one.rule for one in run.findings] == ["no_progress"]
    assert "instructions" in run.findings[0].what


def test_workgroups_go_to_the_dies_in_turn() -> None:
    out = np.zeros(20, np.uint32)
    with memory(out):
        launch(kernel(WHERE, ARCH), ARCH, [20], 64, arguments(out))
    assert list(out) == [group % 8 for group in range(20)]


@pytest.mark.parametrize(
    ("made", "grid", "block", "dynamic", "said"),
    [
        ({"max_workgroup": 256}, (1, 1, 1), (257, 1, 1), 0, "257x1x1 work-items; k is compiled for at most 256"),
        ({"max_workgroup": 256}, (1, 1, 1), (32, 3, 3), 0, "32x3x3 work-items; k is compiled for at most 256"),
        ({}, (1, 1, 1), (1025, 1, 1), 0, "1025x1x1 work-items, of at most 1024"),
        ({}, (1, 1, 1), (2**31, 2**31, 4), 0, "work-items, of at most 1024"),
        ({}, (2, 0, 2), (64, 1, 1), 0, "2x0x2 times a workgroup of 64x1x1 work-items: 0 along axis 1"),
        ({}, (1, 1, 1), (64, 1, 0), 0, "0 along axis 2"),
        ({}, (2**26, 1, 1), (64, 1, 1), 0, "4294967296 along axis 0"),
        ({"lds": 65536 + 4096}, (1, 1, 1), (64, 1, 1), 0, "69632 bytes of LDS (0 of them dynamic) of at most 65536"),
        ({"lds": 1024}, (1, 1, 1), (64, 1, 1), 64513, "65537 bytes of LDS (64513 of them dynamic) of at most 65536"),
        ({"lds": 1024}, (1, 1, 1), (64, 1, 1), 2**32 - 1, "bytes of LDS"),
        ({"lds": 65540}, (16843009, 1, 1), (255, 1, 1), 0, "65540 bytes of LDS (0 of them dynamic) of at most 65536"),
        ({"vgprs": 512}, (1, 1, 1), (1024, 1, 1), 0, "with 512 vector registers each: no compute unit has so many"),
    ],
)
def test_a_dispatch_that_no_unit_takes_is_refused(
    made: dict[str, int], grid: tuple[int, ...], block: tuple[int, ...], dynamic: int, said: str
) -> None:
    chip = emulator(ARCH)
    module = chip.load(kernel("", ARCH, **made))
    try:
        with pytest.raises(UsageError, match=re.escape(said)):
            chip.launch(module, "k", grid, block, b"", Options(), dynamic)
    finally:
        chip.unload(module)


@pytest.mark.parametrize(("most", "block"), [(256, (256, 1, 1)), (256, (32, 4, 2)), (0, (1024, 1, 1))])
def test_a_workgroup_as_large_as_the_kernel_allows_runs(most: int, block: tuple[int, ...]) -> None:
    chip = emulator(ARCH)
    module = chip.load(kernel("", ARCH, vgprs=64, max_workgroup=most))
    assert chip.launch(module, "k", [1, 1, 1], block, b"", Options()).counts["waves"] == np.prod(block) // 64
    chip.unload(module)


@pytest.mark.parametrize(
    ("vgprs", "lds", "block", "groups"),
    [
        (128, 0, 256, 4), (512, 0, 256, 1), (64, 16384, 256, 4), (64, 21800, 256, 2), (64, 40000, 256, 1),
        (8, 0, 64, 32), (8, 0, 65, 16), (8, 0, 128, 16), (8, 0, 192, 10), (8, 0, 1024, 2), (64, 0, 64, 32),
        (72, 0, 64, 28), (168, 0, 64, 12), (176, 0, 64, 8), (256, 0, 64, 8), (264, 0, 64, 4), (504, 0, 64, 4),
        (8, 65536, 64, 1), (8, 32768, 64, 2), (8, 32769, 64, 1), (8, 8192, 64, 8), (8, 8193, 64, 7), (8, 1, 64, 32),
        (8, 2048, 64, 32), (8, 2049, 64, 25),
    ],
)  # fmt: skip
def test_occupancy_is_bounded_by_registers_and_lds(vgprs: int, lds: int, block: int, groups: int) -> None:
    run = launch(kernel("", ARCH, lds=lds, vgprs=vgprs), ARCH, [1], block, b"")
    assert run.occupancy == groups
    chip = emulator(ARCH)
    module = chip.load(kernel("", ARCH, vgprs=vgprs))
    dynamic = chip.launch(module, "k", [1, 1, 1], [block, 1, 1], b"", Options(), lds)
    chip.unload(module)
    assert dynamic.occupancy == groups
