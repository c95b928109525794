"""Stream-K on the emulator: workgroups hand partial tiles over rightly in any order, and what is left out is found."""

from __future__ import annotations

from pathlib import Path

import pytest
from emulate_support import context, runtime
from step_support import assemble
from stream_k_support import Case, code_object, launch, without

from ckgen.emit.device import render_device_unit
from ckgen.families.gemm.config import CkTileConfig, Scheduler, TilePipeline
from ckgen.families.gemm.device import ck_tile_stream_k as stream_k
from ckgen.families.gemm.signature import parse_canonical
from ckgen.families.registry import make_instance
from ckgen.model.config import Tile
from ckgen.model.strategy import Strategy
from ckgen.model.tuned_row import Shape
from ckgen_emulator.gemm.drive import Request, RunOptions, emulate
from ckgen_emulator.gemm.kernel import GemmKernel
from ckgen_emulator.gemm.problem import GemmProblem

pytestmark = [pytest.mark.amd, pytest.mark.slow]

ARCH = "gfx942"
SIGNATURE = parse_canonical("gemm_fp16_rcr")
TILE = Tile(64, 64, 64)  # one of the kernel set ci, which a test run compiles anyway
CONFIG = CkTileConfig(
    TILE, (2, 2, 1), Tile(32, 32, 16), TilePipeline.COMPV3, Scheduler.INTRAWAVE,
    pad_m=True, pad_n=True, pad_k=True, strategy=Strategy.TREE,
)  # fmt: skip
PROBLEMS = {
    "data-parallel and split tiles": ((200, 200, 328), 5),
    "one tile, five parts": ((64, 64, 328), 5),
    "one K tile for each workgroup": ((64, 64, 520), 9),
    "edges": ((72, 136, 104), 4),
    "whole tiles only": ((128, 128, 192), 2),
}
"""Sizes, and workgroups; the last K tile is a rest in all but one."""


INSTANCE = make_instance(SIGNATURE, CONFIG, archs=(ARCH,))


@pytest.fixture(scope="module")
def kernel() -> tuple[bytes, str]:
    """A code object and its kernel's name."""
    unit = stream_k.device_unit(INSTANCE, stream_k.all_variants(INSTANCE))
    return code_object(render_device_unit(unit), ARCH), unit.symbols[0]


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_partial_tiles_are_handed_over_in_any_order(kernel: tuple[bytes, str], name: str, seed: int) -> None:
    shape, grid = PROBLEMS[name]
    found = launch(*kernel, ARCH, Case(SIGNATURE, TILE, shape, grid, seed, gap=8, threads=1 + seed % 2), adds=False)
    assert found.ok(), (found.c, found.run.findings)


@pytest.mark.parametrize("instruction", ["buffer_wbl2 sc1", "buffer_inv sc1"])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_hand_over_without_cache_control_is_found(kernel: tuple[bytes, str], instruction: str, seed: int) -> None:
    code, symbol = kernel
    shape, grid = PROBLEMS["one tile, five parts"]
    broken = without(code, assemble(instruction, ARCH))
    found = launch(broken, symbol, ARCH, Case(SIGNATURE, TILE, shape, grid, seed), adds=False)
    assert found.rules() == {"global_race"}
    assert all(instruction in finding.what for finding in found.run.findings)


def test_the_wait_behind_the_write_back_is_needed(kernel: tuple[bytes, str]) -> None:
    code, symbol = kernel
    wait = assemble("s_waitcnt vmcnt(0)", ARCH)
    write_back = assemble("buffer_wbl2 sc1", ARCH)
    nop = assemble("s_nop 0", ARCH)
    assert code.count(write_back + wait) == 1
    shape, grid = PROBLEMS["one tile, five parts"]
    broken = code.replace(write_back + wait, write_back + nop)
    found = launch(broken, symbol, ARCH, Case(SIGNATURE, TILE, shape, grid), adds=False)
    assert "global_race" in found.rules()


def test_workgroups_that_nobody_hands_over_to_wait_for_ever(kernel: tuple[bytes, str]) -> None:
    """The flag's store left out: the emulator says who waits, and ends."""
    code, symbol = kernel
    write_back = assemble("buffer_wbl2 sc1\ns_waitcnt vmcnt(0)", ARCH)
    at = code.index(write_back) + len(write_back)
    nop = assemble("s_nop 0", ARCH)
    broken = code[:at] + nop * 2 + code[at + 8 :]
    shape, grid = PROBLEMS["one tile, five parts"]
    assert launch(broken, symbol, ARCH, Case(SIGNATURE, TILE, shape, grid), adds=False).rules() == {"no_progress"}


@pytest.mark.cpp
def test_the_dispatcher_launches_what_fills_the_device(tmp_path: Path) -> None:
    """Beside its host twin; a larger device shares the same tiles among more workgroups, up to where there are none."""
    shape, seeds = Shape(0, 200, 136, 328), (0, 7)
    asked = [
        Request(GemmKernel(INSTANCE, ARCH, ()), grid, tuple(GemmProblem(shape, seed=seed) for seed in seeds))
        for grid in (5, 8, 80)
    ]
    results = emulate([*asked], runtime(tmp_path), context(), RunOptions())
    small, large, refused = (results[2 * index : 2 * index + 2] for index in range(3))
    assert [result.to_json() for result in (*small, *large) if not result.ok] == []
    launches = [result.answer.launches for result in (*small, *large) if result.answer is not None]
    assert [[launch["grid"] for launch in one] for one in launches] == [[[grid, 1, 1]] for grid in (5, 5, 8, 8)]
    assert all(not one.ok and "gemm.stream_k.too-few-tiles" in one.trouble[0] for one in refused)
