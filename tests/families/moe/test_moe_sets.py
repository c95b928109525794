"""MoE's kernel sets: pinned counts, a kernel for each block_m that tables have, parts beside their layers."""

from __future__ import annotations

from collections import Counter

import pytest

from ckgen.families.gemm.config import HostConfig
from ckgen.families.gemm.enums import EpilogueOp, MoePart, Op
from ckgen.families.gemm.signature import GemmSignature
from ckgen.families.kernel_sets import SHIPPED, shipped_set
from ckgen.families.moe.parts import part_signatures

COUNTS = {"default": (1492, 136), "ci": (8, 4), "full": (96, 3), "matrix": (0, 0), "asm": (0, 0)}
BLOCKS = [16, 32, 64, 128]


@pytest.mark.parametrize("name", SHIPPED)
def test_counts_are_pinned(name: str) -> None:
    found = shipped_set(name, "moe")
    assert (len(found), len({one.signature for one in found})) == COUNTS[name]
    assert all(one.signature.op is Op.MOE and not one.signature.problems() for one in found)


def defaults(arch: str) -> dict[GemmSignature, list[HostConfig]]:
    found: dict[GemmSignature, list[HostConfig]] = {}
    for one in shipped_set("default", "moe"):
        if one.is_for(arch):
            assert isinstance(one.config, HostConfig)
            found.setdefault(one.signature, []).append(one.config)
    return found


@pytest.mark.parametrize("arch", ["x86_64_v3", "x86_64_v4", "x86_64_v4_bf16", "x86_64_amx"])
def test_every_signature_has_a_kernel_for_every_block_m(arch: str) -> None:
    for configs in defaults(arch).values():
        assert sorted(config.macro_tile.m for config in configs) == BLOCKS
        assert all(config.mc % config.mr == 0 for config in configs)


def test_tiles_of_amx_multiply_what_is_exact_as_bf16_and_int8() -> None:
    tiles = {s for s, configs in defaults("x86_64_amx").items() if all(config.has_tiles for config in configs)}
    assert Counter((str(s.a), str(s.quant)) for s in tiles) == {
        ("bf16", "none"): 22, ("int8", "rowwise"): 8, ("fp8_ocp", "rowwise"): 8, ("fp8_ocp", "per_tensor"): 8,
        ("fp8_ocp", "blockscale"): 8, ("fp8_ocp", "mx"): 16, ("fp4", "mx"): 8,
    }  # fmt: skip
    assert not any(
        config.has_tiles for s, configs in defaults("x86_64_amx").items() if s not in tiles for config in configs
    )


def test_the_parts_of_every_layer_have_kernels_of_their_own() -> None:
    known = defaults("x86_64_v4")
    layers = [signature for signature in known if signature.moe.part is MoePart.LAYER]
    assert Counter(signature.moe.part for signature in known) == {
        MoePart.LAYER: 53, MoePart.GATE_UP: 53, MoePart.DOWN: 28,
    }  # fmt: skip
    for layer in layers:
        gate_up, down = part_signatures(layer)
        assert {gate_up, down} <= known.keys(), layer
        assert not gate_up.problems() and not down.problems()


def test_bf16_has_every_activation_gated_or_not_with_the_weight_first_or_last() -> None:
    layers = {s for s in defaults("x86_64_v3") if s.moe.part is MoePart.LAYER and s.a is s.b and s.a.value == "bf16"}
    forms = {(s.epilogue, s.moe.gated, s.moe.weight_first) for s in layers}
    gates = {(EpilogueOp.SILU, True), (EpilogueOp.GELU, True)} | {
        (op, False) for op in (EpilogueOp.SILU, EpilogueOp.GELU, EpilogueOp.RELU)
    }
    assert forms == {((op,), gated, first) for op, gated in gates for first in (False, True)}
