"""AMD's production kernels run unmodified: results against NumPy, and what the checks say of them."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from amd_support import production_wheel
from ckgen.model.errors import UsageError
from ckgen_emulator.production.kinds import KINDS
from ckgen_emulator.production.model import Outcome
from ckgen_emulator.production.run import SIDE_BY_SIDE, run_production
from ckgen_emulator.production.wheel import KernelFile, Wheel

pytestmark = pytest.mark.amd

# Every kind on every arch, and what the checks find in it (docs/upstream/asm_*.md).
RUNS: tuple[tuple[str, str, str, str, tuple[str, ...]], ...] = (
    ("bf16gemm", "gfx942", "bf16gemm/bf16gemm_outf32_tn_32x64_pf3", "edge", ()),
    ("bf16gemm", "gfx942", "bf16gemm/bf16gemm_outf32_tn_48x64_pf3", "uneven-split", ()),
    ("bf16gemm", "gfx950", "bf16gemm/bf16gemm_outf32_tn_96x64_pf3", "tile", ()),
    ("i8gemm", "gfx942", "i8gemm/I8gemm_bf16_perTokenI8_BpreShuffle_128x128", "row", ("lds_race", "uninitialised")),
    (
        "i8gemm", "gfx942", "i8gemm/I8gemm_bf16_perTokenI8_BpreShuffle_192x128", "split",
        ("before_wait", "global_race", "lds_race"),
    ),
    (
        "gemm_a8w8_m128", "gfx942", "gemm_a8w8_m128_noSplitK", "edge",
        ("before_wait", "lds_race", "out_of_bounds", "uninitialised"),
    ),
    ("f4gemm", "gfx950", "f4gemm/f4gemm_bf16_per1x32Fp4_BpreShuffle_32x256", "edge", ()),
    ("f4gemm", "gfx950", "f4gemm/f4gemm_bf16_per1x32Fp4_BpreShuffle_128x512", "split", ()),
    ("f4gemm", "gfx950", "f4gemm/f4gemm_bf16_per1x32Fp4_BpreShuffle_256x256", "scaled", ()),
    ("f4gemm", "gfx950", "f4gemm/f4gemm_bf16_per1x32Fp4_BpreShuffle_192x256", "tile", ("lds_race",)),
    ("f4gemm", "gfx950", "f4gemm/f4gemm_bf16_per1x32Fp4_noBpreShuffle_256x256", "row", ("out_of_bounds",)),
    ("f8blockscale", "gfx942", "flatmm_uk_gfx9_f16f8_128x256x128_1x4x1_16x16x32", "tile", ("hazard",)),
    ("f8blockscale", "gfx950", "f8_block_scale_mi350_x32", "edge", ("before_wait", "lds_race")),
    ("topksoftmax", "gfx942", "topksoftmax/topksoftmax_4x128x8", "edge", ("hazard",)),
    ("topksoftmax", "gfx942", "topksoftmax/topksoftmax_12x256x6", "renormalized", ("hazard",)),
    ("layernorm", "gfx942", "layer_norm", "group", ("lds_race",)),
    ("layernorm", "gfx942", "layer_norm_qnt", "group", ("lds_race",)),
    ("fmha_v3_fwd", "gfx942", "fmha_v3_fwd/MI300/fwd_hd128_bf16_causal_rtna", "edge", ("hazard",)),
    ("fmha_v3_fwd", "gfx942", "fmha_v3_fwd/MI308/fwd_hd128_bf16_rtz_group", "several", ("hazard",)),
    ("fmha_v3_fwd", "gfx950", "fmha_v3_fwd/fwd_hd128_bf16_causal", "tile", ("hazard",)),
    ("fmha_v3_fwd", "gfx950", "fmha_v3_fwd/fwd_hd192_hd128_bf16_group", "one", ("hazard", "lds_race")),
)  # fmt: skip

CLEAN = [run[:4] for run in RUNS if not run[4]]


@cache
def wheel() -> Wheel:
    return Wheel(production_wheel())


def run(kind: str, arch: str, path: str, problem: str, seed: int = 0, data: int = 1) -> Outcome:
    options = replace(SIDE_BY_SIDE, seed=seed)
    return run_production(KINDS[kind], KernelFile(arch, path), problem, options, wheel=wheel(), data=data)


@pytest.mark.parametrize(("kind", "arch", "path", "problem", "rules"), RUNS)
def test_right(kind: str, arch: str, path: str, problem: str, rules: tuple[str, ...]) -> None:
    outcome = run(kind, arch, path, problem)
    assert outcome.right, outcome.compared
    assert tuple(sorted({one.rule for one in outcome.findings})) == rules


@pytest.mark.parametrize("seed", range(1, 6))
@pytest.mark.parametrize(("kind", "arch", "path", "problem"), CLEAN)
def test_clean_ones_stay_so_in_any_order(kind: str, arch: str, path: str, problem: str, seed: int) -> None:
    outcome = run(kind, arch, path, problem, seed)
    assert outcome.ok, (outcome.compared, outcome.findings)


def test_an_order_shows_what_a_missing_wait_does() -> None:
    """The loads that i8gemm leaves under way land on its results where they come late."""
    path = "i8gemm/I8gemm_bf16_perTokenI8_BpreShuffle_128x128"
    assert run("i8gemm", "gfx942", path, "edge").right
    assert not all(run("i8gemm", "gfx942", path, "edge", seed).right for seed in range(1, 4))


class _Altered(Wheel):
    """Another instruction in the place of the first of some bytes."""

    def __init__(self, before: bytes, after: bytes) -> None:
        super().__init__(production_wheel())
        self._change = before, after

    def read(self, file: KernelFile) -> bytes:
        code = super().read(file)
        assert self._change[0] in code
        return code.replace(*self._change, 1)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("1c00e1d32001721c", "000080bf000080bf"),  # v_mfma_f32_16x16x16_bf16: s_nop 0 twice
        ("8031fedb18000020", "9031fedb18000020"),  # ds_read_b128: another offset
        ("850c0c24", "840c0c24"),  # v_lshlrev_b32: by 4, not 5
    ],
)
def test_another_instruction_is_seen(before: str, after: str) -> None:
    kind, file = KINDS["bf16gemm"], KernelFile("gfx942", "bf16gemm/bf16gemm_outf32_tn_32x64_pf3")
    altered = _Altered(bytes.fromhex(before), bytes.fromhex(after))
    assert not run_production(kind, file, "tile", wheel=altered).right


def test_a_missing_barrier_is_found() -> None:
    kind, file = KINDS["bf16gemm"], KernelFile("gfx942", "bf16gemm/bf16gemm_outf32_tn_32x64_pf3")
    altered = _Altered(bytes.fromhex("00008abf"), bytes.fromhex("000080bf"))  # s_barrier: s_nop 0
    outcome = run_production(kind, file, "tile", wheel=altered)
    assert "lds_race" in {one.rule for one in outcome.findings}


def test_unknown_problem() -> None:
    with pytest.raises(UsageError, match="no problem 'none'"):
        run("bf16gemm", "gfx942", "bf16gemm/bf16gemm_outf32_tn_32x64_pf3", "none")


def test_every_kind_has_its_kernels() -> None:
    numbers = {"bf16gemm": 8, "i8gemm": 2, "gemm_a8w8_m128": 2, "f4gemm": 35, "f8blockscale": 5, "topksoftmax": 8,
               "layernorm": 2, "fmha_v3_fwd": 40}  # fmt: skip
    assert {name: len(KINDS[name].files(wheel())) for name in numbers} == numbers
