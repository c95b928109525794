"""Problems at the conditions of the host code: that every kind has some, and what comes of those that matter."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from amd_support import production_wheel
from ckgen_emulator.production.kinds import KINDS
from ckgen_emulator.production.run import SIDE_BY_SIDE, run_production
from ckgen_emulator.production.wheel import KernelFile, Wheel

pytestmark = pytest.mark.amd

PA = "pa/pa_bf16_noquant_gqa16_1tg_4w"
FORWARD = "fmha_v3_fwd/fwd_hd128_bf16_causal_group"
F4 = "f4gemm/f4gemm_bf16_per1x32Fp4_BpreShuffle_256x256"
RUNS = (
    ("topksoftmax", "gfx942", "topksoftmax/topksoftmax_12x128x6", {"a group less 1": True, "two groups and 1": True}),
    ("layernorm", "gfx942", "layer_norm", {"2 rows": True, "columns 8192 and 8": False}),
    ("pa", "gfx942", PA, {"240 tokens": True, "241 tokens": False, "255 tokens": False, "256 tokens": True}),
    ("f4gemm", "gfx950", F4, {"K 1 step": True, "K 3 steps less 64": False, "4 steps, 4 splits": True,
                              "4 steps, 8 splits": False}),
    ("f8blockscale", "gfx950", "f8_block_scale_mi350_x32", {"K 3 blocks": True, "K 5 blocks less 64": False}),
    ("fmha_v3_fwd", "gfx950", FORWARD, {"63 keys": True, "no queries, no keys": True}),
    ("fmha_v3_bwd", "gfx942", "fmha_v3_bwd/bwd_hd128_bf16_a16_rtna", {"64 of both": True, "63 of both": False}),
)  # fmt: skip


@cache
def wheel() -> Wheel:
    return Wheel(production_wheel())


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_has_problems_at_its_conditions(name: str) -> None:
    kind = KINDS[name]
    for file in kind.files(wheel()):
        edges = kind.edges(file)
        assert len(edges) >= 5 and not edges.keys() & kind.problems(file).keys(), file
    kind.prepare(file, next(iter(edges.values())), np.random.default_rng(0))


@pytest.mark.parametrize(("kind", "arch", "path", "edges"), RUNS, ids=[one[0] for one in RUNS])
def test_what_comes_of_them(kind: str, arch: str, path: str, edges: dict[str, bool]) -> None:
    file = KernelFile(arch, path)
    found = {edge: run_production(KINDS[kind], file, edge, SIDE_BY_SIDE, wheel=wheel()).right for edge in edges}
    assert found == edges
