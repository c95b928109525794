"""A compiled library describes itself as the Python export does, and matches by every field of a Signature."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

import pytest

from ckgen.families.common.unit import UnitPlan
from ckgen.families.gemm.config import HostConfig
from ckgen.families.gemm.enums import Op
from ckgen.families.gemm.signature import GemmSignature, parse_canonical
from ckgen.families.registry import make_instance
from ckgen.model.fields import encode, hints_of
from ckgen.model.groups import NO_ROUTING, Routing
from ckgen.model.target import Target
from ckgen.plan.model import GenerationPlan
from ckgen.plan.registry_document import plan_of_units, registry_document
from ckgen.runtime import Options, RuntimeLibrary
from field_values import others
from plan_support import GFX942, plan_of
from runtime_build import load_generated

pytestmark = pytest.mark.cpp

X86 = Target("x86_64_v3", 2)
ROUTING = Routing(8, 2)
BASES = ("gemm_fp8_ocp_bf16_rcr_per_tensor", "gemm_fp16_rcr", "gemm_fp8_ocp_bf16_rcr_blockscale", "moe_fp16_rcr_down")
"""Between them, every field of a Signature can be changed alone into a legal one."""
NAME = "described"


@dataclass(frozen=True)
class Described:
    plan: GenerationPlan
    library: RuntimeLibrary


@pytest.fixture(scope="module")
def described(tmp_path_factory: pytest.TempPathFactory) -> Described:
    """Kernels of several backends from the defaults, and a host kernel for each of the bases."""
    shipped = plan_of(targets=(GFX942,), signatures=("gemm_fp32_rcr", "gemm_int8_bf16_rcr_rowwise"))
    units = (*shipped.units, *(host_unit(parse_canonical(base)) for base in BASES))
    plan = plan_of_units((GFX942, X86), tuple(sorted(units, key=lambda unit: unit.name)))
    return Described(plan, load_generated(plan, NAME, tmp_path_factory.mktemp(NAME)))


def host_unit(signature: GemmSignature) -> UnitPlan:
    config = HostConfig(4, 16, 64, 512, 512)
    instance = make_instance(signature, config, archs=[X86.gfx])
    return UnitPlan(signature, (instance,), {X86.gfx: (0,)})


def test_the_document_at_run_time_is_the_exported_one(described: Described) -> None:
    found = json.loads(described.library.registry_json([NAME]))
    exported = registry_document(described.plan)
    expected = [(unit["signature"], instance) for unit in exported["units"] for instance in unit["instances"]]
    assert found["schema"] == "ckgen.instances/1" and len(found["instances"]) == len(expected) > 10
    for there, (signature, here) in zip(found["instances"], expected, strict=True):
        same = ("name", "id", "backend", "archs", "table_kernel", "constraints")
        assert {key: there[key] for key in same} == {key: here[key] for key in same}
        assert encode(GemmSignature, parse_canonical(there["signature"])) == signature
        (config,) = here["config"].values()
        assert there["strategy"] == config.get("strategy", "data_parallel")
    tiles = [instance.config.macro_tile for instance in described.plan.instances]
    assert [tuple(one["macro_tile"].values()) for one in found["instances"]] == [(t.m, t.n, t.k) for t in tiles]
    assert {one["backend"] for one in found["instances"]} == {"ck", "ck_tile", "host"}
    assert any(one["table_kernel"] for one in found["instances"])


def test_enumeration_gives_the_same_names_and_ids(described: Described) -> None:
    dispatcher = described.library.dispatcher([NAME], Options())
    found = [(one.name, one.id, one.signature, one.backend, one.table_kernel) for one in dispatcher.instances()]
    assert found == [
        (one.name, one.id, one.signature.canonical(), str(one.backend), one.table_kernel)
        for one in described.plan.instances
    ]


def test_an_empty_registry_is_a_document_too(described: Described) -> None:
    assert json.loads(described.library.registry_json([])) == {"schema": "ckgen.instances/1", "instances": []}


@pytest.mark.parametrize("field", [field.name for field in fields(GemmSignature)])
def test_a_problem_of_another_signature_finds_no_instance(described: Described, field: str) -> None:
    dispatcher = described.library.dispatcher([NAME], Options())
    device = described.library.simulated(str(X86))

    def answer(signature: GemmSignature) -> str | None:
        batch = 2 if signature.batched else 1
        routing = ROUTING if signature.op is Op.MOE else NO_ROUTING
        problem = described.library.problem(signature.canonical(), 256, 256, 256, batch=batch, routing=routing)
        return dispatcher.select(problem, device).instance

    tried = 0
    for base in map(parse_canonical, BASES):
        assert answer(base) == host_unit(base).instances[0].name
        for other in legal_changes(base, field):
            assert described.library.signature(other.canonical()) != described.library.signature(base.canonical())
            assert answer(other) is None, other
            tried += 1
    assert tried, f"no base has a legal neighbour in '{field}'"


def legal_changes(base: GemmSignature, field: str) -> Iterator[GemmSignature]:
    built: list[Any] = list(map(parse_canonical, BASES))
    for value in others(hints_of(GemmSignature)[field], getattr(base, field)):
        changed = replace(base, **{field: value})
        if not changed.problems() and changed not in built:
            yield changed
