"""MoE layers on the CPU against families/moe/reference.py: rounding and exact data of every type and scheme."""

import ctypes

import host_backend as hb
import numpy as np
import pytest

from ckgen.families.elements import encode
from ckgen.families.gemm.signature import parse_canonical
from ckgen.families.moe.exact_operands import exact_operands
from ckgen.families.moe.reference import MoeSize, expect, make_operands
from ckgen.fuzz.moe import wrong_layer
from ckgen.model.groups import Routing

pytestmark = pytest.mark.cpp

PARTS = ["layer", "gate_up", "down"]
SIZES = [MoeSize(1, 64, 128, Routing(8, 2)), MoeSize(37, 192, 160, Routing(4, 3)), MoeSize(90, 64, 96, Routing(2, 1))]
LAYERS = [
    "moe_fp32_rcr_layer_gated_epi_silu",
    "moe_bf16_rcr_layer_gated_weightfirst_epi_gelu",
    "moe_fp16_rcr_layer_epi_relu",
    "moe_int8_bf16_rcr_rowwise_layer_gated_epi_silu",
    "moe_int8_bf16_rcr_per_tensor_layer_gated_epi_gelu",
    "moe_fp8_ocp_bf16_rcr_rowwise_layer_gated_epi_silu",
    "moe_fp8_fnuz_bf16_rcr_per_tensor_preshuffle_layer_gated_epi_silu",
    "moe_fp8_fnuz_bf16_rcr_blockscale_layer_gated_weightfirst_epi_silu",
    "moe_fp8_ocp_bf16_rcr_mx_layer_gated_epi_silu",
    "moe_fp4_bf16_rcr_mx_layer_gated_epi_gelu",
    "moe_fp8_ocp_fp4_bf16_rcr_mx_layer_gated_epi_silu",
    "moe_bf16_int4_bf16_rcr_blockscale_layer_gated_scales_b_1x128_epi_silu",
]


class MoeArgs(ctypes.Structure):
    _fields_ = (
        [(f, ctypes.c_void_p) for f in ("a", "w1", "w2", "c", "a_scale", "w1_scale", "w2_scale")]
        + [(f, ctypes.c_int64) for f in ("tokens", "lda", "ldc")]
        + [(f, ctypes.c_void_p) for f in ("topk_ids", "topk_weights", "token_ids", "weights", "expert_ids", "valid")]
        + [("a_scale_row_major", ctypes.c_bool), ("mx_scale_shuffled", ctypes.c_bool)]
    )


@pytest.fixture(scope="module")
def lib(tmp_path_factory):
    return hb.load(hb.build(tmp_path_factory.mktemp("host_moe")))


def traits_of(lib, signature):
    s = signature
    words = [step.value for step in s.epilogue]
    traits = hb.traits_of(
        lib, *(t.value for t in (s.a, s.b, s.c)), "rcr", s.quant.value, s.preshuffle_b, epilogue=words
    )
    block = s.scale_block
    traits.scale_sides, traits.scale_n, traits.scale_k = ("both", "a", "b").index(block.sides.value), block.n, block.k
    return traits


def run(lib, operands, config):
    """C as the kernel leaves it."""
    signature, size = operands.signature, operands.size
    moe = signature.moe
    c = encode(np.full((size.tokens, size.k), np.nan), signature.c)
    kept = [operands.bytes_of_a(), c]
    args = MoeArgs(tokens=size.tokens, lda=size.k, ldc=size.k, a_scale_row_major=True)
    args.a, args.c = (x.ctypes.data for x in kept)

    def give(name, array):
        kept.append(np.ascontiguousarray(array))
        setattr(args, name, kept[-1].ctypes.data)

    for name, weights in (("w1", operands.w1), ("w2", operands.w2)):
        give(name, operands.bytes_of(weights))
        if weights.scales is not None:
            give(f"{name}_scale", encode(weights.scales, signature.scale))
    if operands.a_scale is not None:
        give("a_scale", encode(operands.a_scale, signature.scale))
    give("topk_ids", operands.ids)
    give("topk_weights", operands.weights)
    sizes = (ctypes.c_int64 * 5)(size.tokens, size.n, size.k, size.routing.experts, size.routing.top_k)
    told = (ctypes.c_uint8 * 3)(PARTS.index(moe.part.value), moe.gated, moe.weight_first)
    message = ctypes.create_string_buffer(240)
    own = config if isinstance(config, hb.HostConfig) else None
    twin = None if own else ctypes.byref(config)
    code = lib.shim_moe(ctypes.byref(traits_of(lib, signature)), told, twin, own and ctypes.byref(own), sizes,
                        ctypes.byref(args), message)  # fmt: skip
    assert code == 0, message.value.decode()
    return c


def own_config(lib, signature):
    isa = lib.shim_isa()
    pairs = (ctypes.c_int32 * 2)()
    assert lib.shim_tiles(ctypes.byref(traits_of(lib, signature)), isa, pairs, 1) == 1
    return hb.HostConfig(isa, pairs[0], pairs[1], 32, 256, 128, 0)


@pytest.mark.parametrize("text", LAYERS)
@pytest.mark.parametrize("own", [False, True], ids=["twin", "own"])
def test_a_layer_is_within_its_bound(lib, text, own):
    signature = parse_canonical(text)
    config = own_config(lib, signature) if own else hb.TwinConfig(32, 64, 64, 0, True, True, True)
    for seed, size in enumerate(SIZES):
        for make in (make_operands, exact_operands):
            operands = make(signature, size, seed)
            assert not wrong_layer(expect(operands), run(lib, operands, config))


def test_another_routing_is_beyond_the_bound(lib):
    operands = make_operands(parse_canonical(LAYERS[1]), SIZES[1], seed=3)
    found = run(lib, operands, hb.TwinConfig(32, 64, 64, 0, True, True, True))
    operands.ids[:, [0, 1]] = operands.ids[:, [1, 0]]
    assert expect(operands).excess(found) > 1.0
