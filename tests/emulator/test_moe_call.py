"""MoE problems on their way to an emulated dispatcher: plain data, arrays as kernels read them, a layer's two parts."""

from __future__ import annotations

import json

import numpy as np
import pytest

from ckgen.families.common.storage import encode
from ckgen.families.gemm.enums import EpilogueOp, MoePart, MoeTraits, Op, Quant
from ckgen.families.gemm.reference import shuffle_mx_scale
from ckgen.families.gemm.signature import GemmSignature
from ckgen.families.moe.config import MoePairConfig
from ckgen.families.registry import make_instance
from ckgen.model.dtype import DType
from ckgen.model.groups import Routing
from ckgen.model.tuned_row import Shape
from ckgen.specs.archs import load_archs
from ckgen_emulator.gemm.job import Job
from ckgen_emulator.gemm.kernel import GemmKernel, units_of
from ckgen_emulator.gemm.memory import Buffers
from ckgen_emulator.gemm.moe_call import MoeCall
from ckgen_emulator.gemm.problem import Data, GemmProblem, ScaleOrder
from ckgen_emulator.moe.named import named_product
from ckgen_emulator.production.routing import routed

GATE_UP = "moe_ck2stages_gemm1_256x32x64x128_1x4_MulABScale_v1_Nswizzle0_Quant2_MulRoutedWeight0_silu_F8_F8_B16"
DOWN = "moe_ck2stages_gemm2_256x32x64x128_1x4_MulABScaleExpertWeight_v1_Nswizzle0_Quant2_MulRoutedWeight1_F8_F8_B16"


def test_routing_survives_json() -> None:
    problem = GemmProblem(Shape(0, 40, 64, 256), data=Data.RANDOM, routing=Routing(4, 2), block_m=32)
    names = ("dispatcher", "hip", "kernel", "library", "device_library", "instance", "signature", "target", "report")
    work = Job(**dict.fromkeys(names, "x"), answers="y", problems=(problem,))
    assert Job.from_json(json.loads(json.dumps(work.to_json()))) == work


@pytest.mark.parametrize("part", [MoePart.GATE_UP, MoePart.DOWN])
def test_scales_of_sorted_rows(part: MoePart) -> None:
    """Those of A in the order of the sorted rows, padding's are 1; in A's order where the caller says so."""
    first = part is MoePart.GATE_UP
    signature = GemmSignature.of(
        DType.FP4, DType.BF16, quant=Quant.MX, preshuffle_b=True, op=Op.MOE,
        epilogue=(EpilogueOp.SILU,) if first else (), moe=MoeTraits(part, first),
    )  # fmt: skip
    call = MoeCall(signature, GemmProblem(Shape(0, 7, 32, 256), routing=Routing(3, 2), block_m=32))
    routing = routed(np.random.default_rng(1), 7, 3, 2, 32)
    call._sorted = (routing.ids, routing.id_weights, routing.block_experts, routing.valid)
    assert call.operands.a_scale is not None
    plain = encode(call.operands.a_scale, DType.E8M0).view(np.uint8)
    expected = np.full((len(routing.ids), 8), 127, np.uint8)
    for place, entry in enumerate(routing.ids):
        token, slot = entry & 0xFFFFFF, entry >> 24
        if slot < 2:
            expected[place] = plain[token if first else token * 2 + slot]
    buffers = Buffers(None)
    for order, wanted in (
        (ScaleOrder(a_row_major=False, mx_shuffled=True), shuffle_mx_scale(expected[None])),
        (ScaleOrder(mx_shuffled=True), shuffle_mx_scale(plain[None])),
    ):
        address = call.arguments(buffers, order).a_scale
        (held,) = (one for one in buffers.kept if one.ctypes.data == address)
        assert np.array_equal(held.view(np.uint8).reshape(-1), wanted)


def test_a_layer_is_compiled_as_its_parts() -> None:
    """Both have device code; what is registered are three instances, the layer of the two."""
    spec = load_archs()["gfx942"]
    gate_up, down = named_product(GATE_UP, spec), named_product(DOWN, spec)
    layer = GemmSignature.of(
        gate_up.signature.a, DType.BF16, quant=Quant.ROWWISE, preshuffle_b=True, op=Op.MOE,
        epilogue=(EpilogueOp.SILU,), moe=MoeTraits(MoePart.LAYER, True),
    )  # fmt: skip
    pair = MoePairConfig(gate_up.config, down.config)
    instance = make_instance(layer, pair, module="fmoe", table_kernel="", archs=("gfx942",))
    use = GemmProblem(Shape(0, 40, 512, 384)).use
    units = units_of(GemmKernel(instance, "gfx942", ()), [use])
    assert [piece.device.kernel for piece in units.pieces] == [gate_up.name, down.name]
    first, second = (tuple(symbol for symbol, _ in piece.device.expected) for piece in units.pieces)
    assert [symbol.rpartition("default_")[2] for symbol in first[:1]] == ["hot_odd_set"] and first[1].endswith("_sort")
    assert second[0].endswith("hot_even_add") and second[1].endswith("_quantize")
    assert all(name in units.registry for name in (gate_up.name, down.name, instance.name))
