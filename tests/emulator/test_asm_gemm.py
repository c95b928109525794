"""AMD's shipped GEMM kernels as ckgen's instances: through the dispatcher on the emulator, against the exact result."""

from __future__ import annotations

import pytest
from test_emulate import context, runtime

from amd_support import production_wheel
from ckgen.families.gemm.asm_kernels import AsmKernel, asm_kernels
from ckgen.families.gemm.problem_rules import supports
from ckgen.families.gemm.signature import parse_canonical
from ckgen.families.registry import make_instance
from ckgen.model.tuned_row import Shape
from ckgen.specs.archs import load_archs
from ckgen_emulator.gemm.drive import Request, RunOptions, emulate
from ckgen_emulator.gemm.kernel import GemmKernel
from ckgen_emulator.gemm.problem import Data, GemmProblem

pytestmark = [pytest.mark.amd, pytest.mark.cpp, pytest.mark.slow]

SMALL = ("f4gemm_bf16_per1x32Fp4_BpreShuffle_32x128", "bf16gemm_outf32_tn_48x64_pf3")
LARGE = (
    "f4gemm_bf16_per1x32Fp4_BpreShuffle_96x640",
    "f4gemm_bf16_per1x32Fp4_BpreShuffle_128x512",
    "f4gemm_bf16_per1x32Fp4_BpreShuffle_256x256",
)
"""Kernels in which the checks find nothing: those of docs/upstream hand LDS on before it is there."""


def problems(kernel: AsmKernel) -> tuple[GemmProblem, ...]:
    """One row of C; ends of tiles in M and, where it may be, N; several K steps; splits, where K may be split."""
    tile = kernel.config.tile
    wide = tile.n + kernel.n_multiple
    small = max(tile.k, kernel.min_k)
    found = [
        GemmProblem(Shape(0, 1, tile.n, small)),
        GemmProblem(Shape(0, tile.m + 5, wide, 3 * tile.k), 1, 3, Data.RANDOM),
    ]
    if kernel.max_splits > 1:
        found.append(GemmProblem(Shape(0, tile.m - 3, tile.n, 2 * max(2 * tile.k, small)), 2))
    return tuple(found)


def request(kernel: AsmKernel, arch: str, most: int | None = None) -> Request:
    """The kernel as an instance of its one signature, with all of its problems or so many."""
    instance = make_instance(
        parse_canonical(kernel.signature),
        kernel.config,
        module=kernel.module,
        table_kernel=kernel.symbol,
        archs=kernel.archs,
    )
    asked = problems(kernel)[:most]
    assert all(supports(instance.constraints, one.shape, one.k_batch) is None for one in asked)
    return Request(GemmKernel(instance, arch, ()), load_archs()[arch].default_cu_num, asked)


@pytest.mark.parametrize(
    "most", [1, pytest.param(None, marks=pytest.mark.long)], ids=["a tile of the large ones", "all of the large ones"]
)
def test_shipped_kernels_give_what_a_gemm_is(most: int | None, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Several tiles, steps and splits of the small ones: what ckgen adds to a kernel differs between kinds alone."""
    production_wheel()
    by_name = {kernel.config.name: kernel for kernel in asm_kernels().values()}
    asked = [
        request(by_name[name], arch, most if name in LARGE else None)
        for name in (*SMALL, *LARGE)
        for arch in by_name[name].archs
    ]
    results = emulate(asked, runtime(tmp_path_factory.mktemp("asm")), context(), RunOptions(processes=2))
    assert len(results) == sum(len(one.problems) for one in asked)
    assert [result.to_json() for result in results if not result.ok] == []
    assert all(result.gpu is not None and result.twin is not None for result in results)
    # without its number of splits a kernel computes all of C in each of them
    assert all((result.stats()["atomics"] > 0) == (result.problem.k_batch > 1) for result in results)


def test_what_a_shipped_kernel_cannot_is_refused(tmp_path_factory: pytest.TempPathFactory) -> None:
    production_wheel()
    kernel = next(one for one in asm_kernels().values() if one.config.name.endswith("BpreShuffle_256x256"))
    made = request(kernel, "gfx950").kernel
    shapes = (GemmProblem(Shape(0, 16, 256, 2304), 3), GemmProblem(Shape(0, 16, 288, 512)))
    asked = Request(made, 256, shapes)
    odd, narrow = emulate([asked], runtime(tmp_path_factory.mktemp("asm")), context(), RunOptions(checked=False))
    assert odd.gpu is None and odd.twin is not None and "k_batch = 3 is no power of two" in odd.trouble[0]
    assert narrow.gpu is None and "N = 288 is not a multiple of 256" in narrow.trouble[0]
