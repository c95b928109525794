"""Our attention kernel over a KV cache, launched as its host unit says, executed under all checks."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from amd_support import amd_toolchain
from ckgen.emulator.core import Options
from ckgen.emulator.fmha.build import build_kernel
from ckgen.emulator.fmha.call import prepare
from ckgen.emulator.fmha.decode_cases import decode_cases
from ckgen.emulator.fmha.problem import FmhaData, FmhaProblem, fmha_data
from ckgen.emulator.fmha.run import FmhaKernel, run_fmha
from ckgen.families.fmha.hip_config import HipFmhaConfig
from ckgen.families.fmha.instance import make_fmha_instance
from ckgen.families.fmha.signature import parse_canonical
from ckgen.model.errors import UsageError

pytestmark = [pytest.mark.amd, pytest.mark.slow]

WIDE = HipFmhaConfig(16, 128, 128, 64)
NARROW = HipFmhaConfig(16, 256, 64, 128)
KERNELS = {
    "gfx942": ("fmha_bf16_fp8_fnuz_bf16_varlen_masked_sink_lse_pertensor", NARROW),
    "gfx950": ("fmha_fp16_masked_softcap_lse", WIDE),
}
CASES = [
    (arch, case) for arch, (name, config) in KERNELS.items() for case in decode_cases(parse_canonical(name), config)
]


@cache
def kernel(arch: str) -> FmhaKernel:
    amd_toolchain()
    name, config = KERNELS[arch]
    result, found = build_kernel(make_fmha_instance(parse_canonical(name), config, (arch,)), arch)
    assert not result.findings
    return found


@pytest.mark.parametrize(("arch", "problem"), CASES, ids=str)
def test_o_and_lse_are_within_their_bounds(arch: str, problem: FmhaProblem) -> None:
    """Whatever the order of waves, and nothing is found."""
    for seed in (0, 3):
        outcome = run_fmha(kernel(arch), problem, Options(seed=seed))
        assert outcome.right and not outcome.findings, (outcome.compared, outcome.findings)


def plain(**changes: object) -> FmhaData:
    return fmha_data(parse_canonical(KERNELS["gfx950"][0]), FmhaProblem((2,), (9,), 4, 2, 128, 64, **changes))  # type: ignore[arg-type]


def test_the_grid_is_a_workgroup_per_tile_and_kv_head() -> None:
    data = plain()
    shape = replace(data.shape, batch=3, seqlen_q=9)
    call = prepare(kernel("gfx950").library, shape, data.args)
    assert (call.grid, call.block) == ((3 * 2 * 2, 1, 1), (256, 1, 1))


@pytest.mark.parametrize(
    ("shape", "args", "words"),
    [
        ({}, {"k_strides": (132, 128, 0)}, "a stride of K of 132: the kernel loads 16 bytes at a time"),
        ({}, {"o_strides": (130, 64, 0)}, "a stride of O of 130"),
        ({}, {"sink": None, "lse": None}, "lse is null"),
        ({"batch": 1 << 24}, {}, "a grid holds 1 to 16777215 workgroups"),
    ],
)
def test_what_the_kernel_cannot_do_is_refused(shape: dict[str, int], args: dict[str, object], words: str) -> None:
    data = plain()
    with pytest.raises(UsageError, match=words):
        prepare(kernel("gfx950").library, replace(data.shape, **shape), {**data.args, **args})  # type: ignore[arg-type]
