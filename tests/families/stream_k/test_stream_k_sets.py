"""Stream-K's kernel sets: pinned counts, names that tell the strategy, and plain sets that hold none."""

from __future__ import annotations

from collections import Counter

import pytest

from ckgen.families.common.naming import instance_name
from ckgen.families.gemm.config import strategy_of
from ckgen.families.gemm.constraints import constraints_of
from ckgen.families.kernel_sets import OPS, SHIPPED, load_kernel_set, shipped_set
from ckgen.families.registry import FAMILIES
from ckgen.families.rules import judge
from ckgen.model.errors import InputError
from ckgen.model.strategy import Strategy
from ckgen.plan.options import PlanOptions
from ckgen.plan.planner import make_plan
from ckgen.specs.archs import load_archs
from ckgen.specs.targets import Target

STREAM_K = [strategy for strategy in Strategy if strategy.is_stream_k]
COUNTS = {"default": 519, "ci": 15, "full": 1968, "matrix": 12, "asm": 0}


@pytest.mark.parametrize("name", SHIPPED)
def test_counts_are_pinned_and_every_strategy_has_a_third(name: str) -> None:
    found = Counter(strategy_of(candidate.config) for candidate in shipped_set(name, "stream_k"))
    assert found == Counter(dict.fromkeys(STREAM_K, COUNTS[name] // 3))
    assert not any(strategy_of(candidate.config).is_stream_k for candidate in shipped_set(name))


@pytest.mark.parametrize("name", ["default", "ci"])
def test_every_kernel_is_legal_where_it_is_asked_for(name: str) -> None:
    archs = load_archs()
    for candidate in shipped_set(name, "stream_k"):
        for arch in candidate.archs or {"x86_64_v3"}:
            signature = candidate.signature.resolved(archs[arch].fp8_flavour)
            assert judge(signature, candidate.config, candidate.backend, archs[arch]) == ()
            constraints = constraints_of(signature, candidate.config)
            assert constraints.max_k_batch == 1 and not constraints.atomic_split
            assert instance_name(signature, candidate.backend, candidate.config).endswith(
                f"_streamk_{strategy_of(candidate.config)}"
            )


def test_every_op_with_sets_is_a_family() -> None:
    assert list(OPS) == list(FAMILIES)


@pytest.mark.parametrize(("ops", "strategies"), [(["gemm"], 1), (["stream_k"], 3), (["gemm", "stream_k"], 4)])
def test_ops_choose_the_sets(ops: list[str], strategies: int) -> None:
    options = PlanOptions(targets=(Target("gfx942", 304),), ops=frozenset(ops), signatures=("gemm_fp16_rcr",))
    (unit,) = make_plan(options, load_archs()).units
    assert len({strategy_of(instance.config) for instance in unit.instances}) == strategies
    assert unit.defaults["gfx942"] and len(unit.instances) == len(unit.defaults["gfx942"])


@pytest.mark.parametrize(("op", "strategy"), [("gemm", "tree"), ("stream_k", "data_parallel")])
def test_a_set_of_the_other_op_is_refused(op: str, strategy: str) -> None:
    text = f"""
op: {op}
name: mine
signatures: [fp32]
backend: host
targets: "*"
configs: {{register: 4x16, block: 64x64x64, strategy: {strategy}}}
"""
    with pytest.raises(InputError) as caught:
        load_kernel_set(text, "mine.yaml")
    assert f"op {op} does not hold a config that is" in str(caught.value.diagnostics[0])


@pytest.mark.parametrize(
    ("op", "signature", "own"),
    [
        ("gemm", "grouped:fp32", "grouped_gemm"),
        ("grouped_gemm", "fp32", "gemm"),
        ("moe", "grouped:fp32", "grouped_gemm"),
    ],
)
def test_a_set_holds_signatures_of_its_op_alone(op: str, signature: str, own: str) -> None:
    text = f"""
op: {op}
name: mine
signatures: ["{signature}"]
backend: host
targets: "*"
configs: {{register: 4x16, block: 64x64x64}}
"""
    with pytest.raises(InputError) as caught:
        load_kernel_set(text, "mine.yaml")
    assert f"op {op} does not hold {own}_fp32_rcr" in str(caught.value.diagnostics[0])
