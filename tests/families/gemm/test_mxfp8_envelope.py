"""What the MX-FP8 kernels for few rows take: each number of the envelope from both sides, through `supports`."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from ckgen.families.gemm.config import GemmConfig, HipConfig, HipKind
from ckgen.families.gemm.instance import Instance
from ckgen.families.gemm.problem_rules import supports
from ckgen.families.gemm.signature import parse_canonical
from ckgen.families.moe.config import MoePairConfig
from ckgen.families.moe.problem_rules import supports_routing
from ckgen.families.registry import make_instance
from ckgen.model.groups import Routing
from ckgen.model.tuned_row import Shape

DEEP, WIDE = HipConfig.moe(HipKind.MOE_DEEP, 16, 8, 8), HipConfig.moe(HipKind.MOE_DEEP, 16, 16, 8)
SHALLOW = HipConfig.moe(HipKind.MOE_SHALLOW, 16, 16, 8)


@cache
def instance(signature: str, config: GemmConfig) -> Instance:
    return make_instance(parse_canonical(signature), config, archs=("gfx950",))


def gemm(config: HipConfig, m: int, n: int, k: int) -> str:
    """Why a GEMM is not taken; empty where it is."""
    found = supports(instance("gemm_fp8_ocp_bf16_rcr_mx", config).constraints, Shape(0, m, n, k), 1)
    return found.text if found is not None else ""


@pytest.mark.parametrize("m", [1, 2, 4, 8, 16])
def test_each_number_of_rows_up_to_16_has_one_gemv(m: int) -> None:
    config, least = HipConfig.gemv(m, 4, 4), {1: 1, 2: 2, 4: 3, 8: 5, 16: 9}[m]
    assert [rows for rows in range(1, 130) if not gemm(config, rows, 4096, 4096)] == [*range(least, m + 1)]
    assert gemm(config, m + 1, 4096, 4096) == f"M = {m + 1} is above {m} (rule gemm.instance.max-m)"
    assert m < 3 or gemm(config, least - 1, 4096, 4096) == (
        f"M = {least - 1} is below {least} (rule gemm.instance.min-m)"
    )


@pytest.mark.parametrize("m", [8, 16, 32, 64])
def test_matrix_instructions_have_exactly_their_kernels_rows(m: int) -> None:
    assert [rows for rows in range(1, 130) if not gemm(HipConfig.mfma(m, 1, 8), rows, 4096, 4096)] == [m]


@pytest.mark.parametrize(("config", "grain"), [(HipConfig.gemv(4, 4, 4), 32), (HipConfig.mfma(8, 1, 8), 128)])
def test_k_of_a_gemm(config: HipConfig, grain: int) -> None:
    assert [k for k in range(1, 400) if not gemm(config, config.m, 64, k)] == list(range(grain, 400, grain))


def test_two_gib_of_b_are_taken_and_one_row_more_is_not() -> None:
    config = HipConfig.gemv(1, 4, 4)
    assert not gemm(config, 1, 2**31 // 4096, 4096)
    assert "is above 2147483648 (rule gemm.instance.matrix-size)" in gemm(config, 1, 2**31 // 4096 + 1, 4096)


GATE_UP, DOWN = "gate_up_gated_epi_silu", "down"


def refusal(
    part: str,
    config: GemmConfig,
    *,
    tokens: int = 1,
    n: int = 768,
    k: int = 6144,
    experts: int = 64,
    top_k: int = 8,
    block_m: int = 16,
) -> str:
    """Why a product of experts is not taken; empty where it is."""
    one = instance(f"moe_fp8_ocp_bf16_rcr_mx_{part}", config)
    found = supports_routing(one, Shape(0, tokens, n, k), Routing(experts, top_k), block_m, 1)
    return found.text if found is not None else ""


def test_k_of_experts_is_a_multiple_of_1024_or_768() -> None:
    for config, taken in ((WIDE, [1024, 2048, 3072, 4096, 5120, 6144]), (SHALLOW, [768])):
        assert [k for k in range(1, 6200) if not refusal(DOWN, config, n=2048, k=k)] == taken
    assert refusal(DOWN, SHALLOW, k=1536) == "K = 1536 is above 768 (rule moe.k-max)"


@pytest.mark.parametrize(
    ("part", "config", "k", "experts", "most"),
    [
        (GATE_UP, DEEP, 6144, 8, 16), (GATE_UP, DEEP, 6144, 127, 16), (GATE_UP, DEEP, 6144, 128, 64),
        (GATE_UP, DEEP, 6144, 200, 64), (DOWN, SHALLOW, 768, 8, 8), (DOWN, SHALLOW, 768, 256, 8),
    ],
)  # fmt: skip
@pytest.mark.parametrize("top_k", [1, 2, 4, 8])
def test_routed_rows_are_bounded_by_depth_and_experts(
    part: str, config: HipConfig, k: int, experts: int, most: int, top_k: int
) -> None:
    """tokens * top_k, not tokens: 16 tokens that go to 4 of 32 experts each are 64 rows, of 16 at most."""
    assert not refusal(part, config, k=k, experts=experts, tokens=most // top_k, top_k=top_k)
    says = refusal(part, config, k=k, experts=experts, tokens=most // top_k + 1, top_k=top_k)
    assert says.startswith(f"routed rows (tokens times top_k) = {most + top_k} are above {most}")


@pytest.mark.parametrize(("experts", "taken"), [(227, True), (228, False), (256, False)])
def test_gate_and_up_of_256_experts_are_beyond_two_gib(experts: int, taken: bool) -> None:
    says = refusal(GATE_UP, DEEP, experts=experts)
    assert (not says) is taken
    assert taken or says.startswith(f"weights of all experts of {experts * 1536 * 6144} elements are above 2147483648 ")


def test_down_of_256_experts_is_within_two_gib() -> None:
    assert 256 * 6144 * 768 == 1_207_959_552 and not refusal(DOWN, SHALLOW, n=6144, k=768, experts=256)


def test_rows_of_slots_are_within_two_gib() -> None:
    """A of down has a row per token and slot."""
    at_most = 2**31 // 64 // 1024 * 1024
    assert not refusal(DOWN, DEEP, tokens=8, n=1, k=at_most // 4, experts=128, top_k=8)
    most = replace(instance(f"moe_fp8_ocp_bf16_rcr_mx_{DOWN}", DEEP).constraints.routed, max_weights=0)
    unbounded = replace(instance(f"moe_fp8_ocp_bf16_rcr_mx_{DOWN}", DEEP).constraints, routed=most)
    one = replace(instance(f"moe_fp8_ocp_bf16_rcr_mx_{DOWN}", DEEP), constraints=unbounded)
    assert supports_routing(one, Shape(0, 8, 1, at_most), Routing(128, 8), 16, 1) is None
    found = supports_routing(one, Shape(0, 8, 1, at_most + 1024), Routing(128, 8), 16, 1)
    says = found.text if found is not None else ""
    assert "(rule gemm.instance.matrix-size)" in says


@pytest.mark.parametrize(("part", "most"), [(GATE_UP, 1016), (GATE_UP.replace("_gated", ""), 2032), (DOWN, 2032)])
def test_which_block_n_goes_by_the_rows_of_b(part: str, most: int) -> None:
    for n in (16, most, most + 1, 2 * most):
        taken = [config for config in (DEEP, WIDE) if not refusal(part, config, n=n, k=1024, tokens=1)]
        assert taken == [DEEP if n <= most else WIDE], n


def test_tokens_are_sorted_in_the_kernels_blocks_and_plans_sort_in_16() -> None:
    for block_m in (16, 32, 64):
        config = HipConfig.moe(HipKind.MOE_DEEP, block_m, 8, 8)
        assert not refusal(GATE_UP, config, block_m=block_m)
        assert "(rule moe.block-m)" in refusal(GATE_UP, config, block_m=8)
        unsorted = refusal(GATE_UP, config, block_m=0)
        assert (unsorted == "") is (block_m == 16) and (not unsorted or "(rule moe.presorted)" in unsorted)


def test_a_layer_takes_what_both_products_take() -> None:
    layer = "layer_gated_epi_silu"
    whole = MoePairConfig(DEEP, SHALLOW)
    assert not refusal(layer, whole, n=768, k=6144)
    for n, k, tokens, rule in (
        (1536, 6144, 1, "moe.n-max"),
        (768, 6144 + 512, 1, "gemm.instance.k-multiple"),
        (384, 6144, 1, "moe.n-min"),
        (768, 6144, 2, "moe.routed-max"),
    ):
        assert f"(rule {rule})" in refusal(layer, whole, n=n, k=k, tokens=tokens)
    assert "(rule moe.weights)" in refusal(layer, whole, experts=228)
    deep = MoePairConfig(WIDE, WIDE)
    assert not refusal(layer, deep, n=2048, k=4096, tokens=2, experts=8)
    assert "(rule moe.few-experts)" in refusal(layer, deep, n=2048, k=4096, tokens=3, experts=8)
    assert "(rule gemm.instance.min-k)" in refusal(layer, deep, n=2048, k=1024)
    assert "(rule moe.k-max)" in refusal(layer, MoePairConfig(WIDE, DEEP), n=2048, k=4096)
