"""Every name of an instance tells its signature and Config, and no other text does."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ckgen import paths
from ckgen.families.common.naming import instance_name
from ckgen.families.registry import FAMILIES, family_of_name
from ckgen.model.target import Target
from ckgen.plan.model import AnyInstance
from ckgen.plan.options import PlanOptions
from ckgen.plan.planner import make_plan
from ckgen.specs.archs import load_archs
from examples import examples


@cache
def instances() -> tuple[AnyInstance, ...]:
    """Of a library of all ops, archs and shipped tables."""
    archs = load_archs()
    tuning = (paths.tuning_dir() / "aiter", paths.tuning_dir() / "ckgen")
    targets = tuple(Target(name, arch.default_cu_num) for name, arch in archs.items())
    return make_plan(PlanOptions(targets=targets, ops=frozenset(FAMILIES), tuning=tuning), archs).instances


def test_every_name_tells_signature_and_config() -> None:
    for one in instances():
        assert family_of_name(one.name).parse_instance(one.name) == (one.signature, one.config)
    kinds = {(str(one.signature.op), type(one.config).__name__) for one in instances()}
    assert {op for op, _ in kinds} == {"gemm", "grouped_gemm", "moe", "fmha"}
    assert len(kinds) >= 15, "every kind of Config of the shipped libraries"


@settings(max_examples=examples(60))
@given(st.data())
def test_a_changed_name_tells_what_it_says_or_nothing(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(instances())).name
    at = data.draw(st.integers(0, len(name) - 1))
    text = data.draw(st.sampled_from(["", "0", "1", "7", "99999999999", "_", "x", "_host_", "_ck_", "tile_", "_down_"]))
    changed = name[:at] + text + name[at + data.draw(st.integers(0, 2)) :]
    found = family_of_name(changed).parse_instance(changed)
    if found is not None:
        signature, config = found
        assert instance_name(signature, config.backend, config) == changed
        assert not signature.problems()


@pytest.mark.parametrize(
    "name",
    [
        "", "_host_", "gemm_bf16_rcr", "gemm_bf16_rcr_host_", "gemm_bf16_rcr_host_4x16_64x512x512",
        "gemm_bf16_rcr_host_04x16_64x512x512_t0", "gemm_bf16_rcr_host_4x16_64x512x512_t00",
        "gemm_bf16_rcr_host_4x16_64x512x512_t0_streamk_any", "gemm_bf61_rcr_host_4x16_64x512x512_t0",
        "gemm_fp8_bf16_rcr_host_4x16_64x512x512_t0", "gemm_rcr_bf16_host_4x16_64x512x512_t0",
        "moe_bf16_rcr_layer_gated_epi_silu_host_gateup_host_4x16_16x512x512_t0",
        "moe_bf16_rcr_layer_gated_epi_silu_ck_gateup_host_4x16_16x512x512_t0_down_host_4x16_16x512x512_t0",
        "gemm_bf16_rcr_asm_nothing", "gemm_bf16_rcr_hip_fma_64x64", "gemm_bf16_rcr_ck_tile_compv3",
    ],
)  # fmt: skip
def test_what_is_no_name_tells_nothing(name: str) -> None:
    assert family_of_name(name).parse_instance(name) is None
