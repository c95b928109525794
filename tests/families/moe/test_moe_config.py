"""A layer of two kernels: its parts, its name, its JSON."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from ckgen.families.common import cpp
from ckgen.families.common.device.unit import Use
from ckgen.families.gemm.config import HostConfig
from ckgen.families.gemm.enums import MoePart
from ckgen.families.gemm.instance import Instance
from ckgen.families.gemm.signature import parse_signature
from ckgen.families.kernel_sets import shipped_set
from ckgen.families.moe.ck_config import CkMoeConfig, CkMoeOp
from ckgen.families.moe.config import MoePairConfig
from ckgen.families.moe.family import FAMILY
from ckgen.families.moe.parts import part_signatures
from ckgen.families.registry import make_instance
from ckgen.model.backend import Backend
from ckgen.model.config import Tile
from ckgen.model.fields import decode, encode
from ckgen.model.tuned_row import Shape

LAYER = parse_signature("moe:bf16:gated:silu:weightfirst", None)
HOSTS = st.builds(
    HostConfig, *(st.integers(1, 99) for _ in range(5)), threads=st.integers(0, 9)
)  # fmt: skip
TILES = st.sampled_from([one.config for one in shipped_set("default") if one.backend is Backend.CK_TILE])
STAGES = HOSTS | TILES
PAIRS = st.builds(MoePairConfig, STAGES, STAGES)


def layer_of(config: MoePairConfig) -> Instance:
    return make_instance(LAYER, config, archs=["x86_64_v3"])


def test_the_parts_are_instances_of_their_own_signatures() -> None:
    gate_up, down = HostConfig(4, 16, 32, 512, 512), HostConfig(8, 16, 32, 256, 512)
    layer = layer_of(MoePairConfig(gate_up, down))
    assert [part.config for part in layer.parts] == [gate_up, down]
    assert [part.signature.moe.part for part in layer.parts] == [MoePart.GATE_UP, MoePart.DOWN]
    assert [str(part.signature) for part in layer.parts] == [
        "moe_bf16_rcr_gate_up_gated_weightfirst_epi_silu",
        "moe_bf16_rcr_down_weightfirst",
    ]
    assert not any(part.signature.problems() for part in layer.parts)
    assert layer.config.macro_tile.m == 32
    assert layer.name == cpp.identifier(
        "moe_bf16_rcr_layer_gated_weightfirst_epi_silu_host_gateup_host_4x16_32x512x512_t0_down_host_8x16_32x256x512_t0"
    )


@given(st.lists(PAIRS, min_size=2, max_size=6))
def test_no_two_pairs_share_a_name(pairs: list[MoePairConfig]) -> None:
    assert len({layer_of(pair).name for pair in pairs}) == len(set(pairs))


@given(PAIRS)
def test_a_pair_is_read_back_from_its_json(pair: MoePairConfig) -> None:
    assert decode(FAMILY.configs, encode(FAMILY.configs, pair), (), lambda *_: None) == pair


def test_the_words_between_the_parts_are_in_no_text() -> None:
    words = ["gateup", "down"]
    texts = [
        one.config.text()
        for op, name in product(["gemm", "stream_k"], ["default", "full"])
        for one in shipped_set(name, op)
    ]
    assert not [text for text in texts for word in words if word in text.split("_")]


def test_the_text_of_a_kernel_of_classic_ck_has_the_words_of_its_tables() -> None:
    config = CkMoeConfig(256, Tile(32, 64, 128), (1, 4), CkMoeOp.SCALE, 1)
    assert config.text() == f"256x32x64x128_1x4_{CkMoeOp.SCALE}_v1"
    assert replace(config, n_swizzle=True, k_pack=2).text() == f"{config.text()}_nswizzle_pack2"


def test_what_is_n_of_gate_up_is_k_of_down() -> None:
    whole = Use(Shape(3, 16, 512, 256), 1)
    assert [FAMILY.part_use(part, whole) for part in part_signatures(LAYER)] == [whole, Use(Shape(3, 16, 256, 512), 1)]
