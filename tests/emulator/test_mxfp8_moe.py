"""Products of experts over MX-FP8 through the dispatcher on the emulator: a layer sorted, quantised and added up."""

from __future__ import annotations

from pathlib import Path

import pytest
from emulate_support import context, runtime

from ckgen.families.gemm.config import GemmConfig, HipConfig, HipKind
from ckgen.families.gemm.signature import parse_canonical
from ckgen.families.moe.config import MoePairConfig
from ckgen.families.registry import make_instance
from ckgen.model.groups import Routing
from ckgen.model.tuned_row import Shape
from ckgen_emulator.gemm.drive import Request, RunOptions, emulate
from ckgen_emulator.gemm.kernel import GemmKernel
from ckgen_emulator.gemm.problem import GemmProblem

pytestmark = [pytest.mark.amd, pytest.mark.cpp]

SHALLOW = HipConfig.moe(HipKind.MOE_SHALLOW, 16, 16, 8)
STAGES = ("sort", "mxfp8", "quantize", "mxfp8", "add_slots")


def request(part: str, config: GemmConfig, problem: GemmProblem) -> Request:
    signature = parse_canonical(f"moe_fp8_ocp_bf16_rcr_mx_{part}")
    instance = make_instance(signature, config, archs=("gfx950",))
    return Request(GemmKernel(instance, "gfx950", ()), 256, (problem,))


def test_a_layer_and_its_parts(tmp_path: Path) -> None:
    """Against the definition, by the GPU's kernels and by the twin; experts with several rows, with one and with none;
    tokens that the plan sorts, and such that the caller has sorted."""
    routing = Routing(5, 2)
    layer = GemmProblem(Shape(0, 3, 768, 768), seed=3, routing=routing)
    part = GemmProblem(Shape(0, 4, 20, 768), seed=4, routing=routing, block_m=16)
    asked = (
        request("layer_gated_epi_silu", MoePairConfig(SHALLOW, SHALLOW), layer),
        request("gate_up_gated_epi_silu", SHALLOW, part),
        request("down", SHALLOW, part),
    )
    results = emulate(asked, runtime(tmp_path), context(), RunOptions(processes=2))
    assert [result.to_json() for result in results if not result.ok] == []
    ran = [[launch["kernel"] for launch in result.answer.launches] for result in results if result.answer is not None]
    stages = [tuple(name.split("_", 2)[2] for name in names) for names in ran]
    assert stages[0][-len(STAGES) :] == STAGES and stages[1:] == [("mxfp8",), ("mxfp8", "add_slots")]
