"""What GEMM kernels on a CPU ask of a Config: a register tile of the level, for what its panels hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckgen.families.gemm.config import HostConfig
from ckgen.families.gemm.signature import parse_signature
from ckgen.families.kernel_sets import kernel_set_files
from ckgen.families.registry import family_of
from ckgen.families.rules import judge
from ckgen.fuzz.case import Case
from ckgen.fuzz.operations import operation_of
from ckgen.measure.library import Contents
from ckgen.model.backend import Backend
from ckgen.model.target import Target
from ckgen.plan.select import select
from ckgen.specs.archs import load_archs
from ckgen.tune.asked import ops_to_plan
from ckgen.tune.problems import signature_of

ARCHS = load_archs()
AVX2 = {(1, 16), (2, 16), (4, 16), (6, 16)}


def broken(signature: str, tile: tuple[int, int], arch: str) -> list[str]:
    config = HostConfig(*tile, 64, 512, 512)
    return [one.rule for one in judge(parse_signature(signature, None), config, Backend.HOST, ARCHS[arch])]


@pytest.mark.parametrize(
    ("signature", "tile", "levels"),
    [
        ("gemm_bf16_rcr", (6, 16), {"x86_64_v3"}),
        ("gemm_fp32_rcr", (14, 32), {"x86_64_v4", "x86_64_v4_bf16", "x86_64_amx"}),
        ("moe_bf16_rcr_layer_gated_epi_silu", (1, 32), {"x86_64_v4", "x86_64_v4_bf16", "x86_64_amx"}),
        ("gemm_int8_int32_rcr", (13, 32), set()),
        ("gemm_bf16_rcr", (6, 64), {"x86_64_v4"}),
        ("gemm_fp16_rcr", (6, 64), {"x86_64_v4", "x86_64_v4_bf16", "x86_64_amx"}),
        ("gemm_fp8_ocp_bf16_rcr_rowwise", (16, 32), {"x86_64_amx"}),
        ("gemm_fp8_ocp_bf16_rcr_blockscale", (16, 32), {"x86_64_amx"}),
        ("gemm_bf16_rcr_a_add", (16, 32), set()),
        ("gemm_bf16_rcr", (3, 16), set()),
    ],
)
def test_a_level_has_the_register_tiles_of_its_kernels(signature: str, tile: tuple[int, int], levels: set[str]) -> None:
    for name in ("x86_64_v3", "x86_64_v4", "x86_64_v4_bf16", "x86_64_amx"):
        assert broken(signature, tile, name) == ([] if name in levels else ["host.register_tile"]), name


@pytest.mark.parametrize(
    "case",
    [
        Case("gemm_bf16_rcr", "x86_64_v3:2", m=256, n=4096, k=512),
        Case("gemm_fp32_rcr", "x86_64_v3:2", m=14, n=640, k=64),
        Case("moe_bf16_rcr_layer_gated_epi_silu", "x86_64_v3:2", m=1, n=64, k=64, experts=4, top_k=2),
    ],
    ids=lambda case: case.signature,
)
def test_with_every_kernel_of_the_search_space_selection_takes_one_that_runs_on_avx2(case: Case) -> None:
    signature, target = signature_of(case.signature), Target("x86_64_v3", 2)
    ops = tuple(sorted(ops_to_plan((case.signature,))))
    space = Contents(target, ops, (case.signature,), (), kernel_set_files(Path("full"), ops)).space()
    asked = operation_of(signature).problem(case, signature)
    found = select(family_of(signature).query(space.plan, target, signature, asked, case.wishes)).instance
    assert found is not None
    tiles = {(one.config.mr, one.config.nr) for one in space.all_instances.values()}
    assert (found.config.mr, found.config.nr) in AVX2
    assert tiles <= AVX2 and (1, 16) in tiles
