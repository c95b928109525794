"""Texts of units: one kernel of every operation, backend and kind of Config, and constants of every policy."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from ckgen.emit.policy_view import policy_view
from ckgen.emit.render import RUNTIME_ABI, render
from ckgen.families.common.policy import MPolicy
from ckgen.families.gemm.lookup import table_view
from ckgen.families.gemm.row_key import batch_key
from ckgen.families.kernel_sets import OPS
from ckgen.model.target import Target
from ckgen.plan.model import GenerationPlan
from cpp_build import ROOT, attempt
from plan_support import MIDDLE, plan_of, row, write_table

KERNELS = (
    ("fmha_bf16", "qr_async_pad1011_128x128x32x128x32x128_4x1x1_32x32x16"),
    ("fmha_bf16", "decode_16x128_128x128"),
    ("fmha_bf16", "16x64_t0"),
    ("fmha_bf16_append", "append_8"),
    ("gemm_bf16_ccr", "compv3_intrawave_cshuffle_pad111_128x128x64_2x2x1_32x32x16"),
    ("gemm_bf16_ccr", "1x16_1x512x1024_t0"),
    ("gemm_bf16_fp16_rcr_batched", "*_256x128x128x64_32x32_2x2_*"),
    ("gemm_fp4_bf16_rcr_mx_preshuffle", "*_256x128x256x128_*"),
    ("gemm_fp8_ocp_bf16_rcr_mx", "mxfp8_gemv_m16_n4x1_k4"),
    ("grouped_gemm_bf16_ccr", "1x16_1x512x1024_t0"),
    ("moe_bf16_int4_bf16_rcr_blockscale_down_scales_b_1x32", "4x16_128x512x512_t0"),
    ("moe_fp8_ocp_bf16_rcr_mx_layer_gated_epi_gelu",
     "gateup_hip_mxfp8_moe_deep_m16_n1x16_k8_down_hip_mxfp8_moe_deep_m16_n1x16_k8"),
)  # fmt: skip
TARGETS = (Target("gfx942", 304), Target("gfx950", 256), Target("x86_64_v3", 1))


@cache
def small_plan(last: int = len(KERNELS)) -> GenerationPlan:
    signatures, kernels = (tuple(one[part] for one in KERNELS[:last]) for part in (0, 1))
    return plan_of(targets=TARGETS, ops=frozenset(OPS), signatures=signatures, kernels=kernels)


def test_a_unit_of_each_kind_of_kernel(golden: Callable[[str, str], None]) -> None:
    plan = small_plan()
    assert {unit.name for unit in plan.units if unit.instances} >= {signature for signature, _ in KERNELS}
    texts = render(plan, "my_kernels")
    units = "".join(f"== {path}\n{text}" for path, text in texts.items() if path.endswith("unit.cpp"))
    golden("emit/units.txt", units)
    assert all(f"{RUNTIME_ABI}" in text for path, text in texts.items() if path.endswith("unit.cpp"))
    assert list(texts) == sorted(texts)


def test_a_build_is_known_by_its_library_and_its_units() -> None:
    def id_of(plan: GenerationPlan, name: str) -> str:
        return next(line for line in render(plan, name)["register.cpp"].splitlines() if "ULL" in line)

    plan = small_plan()
    fewer = small_plan(1)
    assert len({id_of(plan, "a"), id_of(plan, "b"), id_of(fewer, "a")}) == 3


@pytest.mark.parametrize("policy", list(MPolicy))
def test_constants_of_a_policy(policy: MPolicy, tmp_path_factory: pytest.TempPathFactory,
                               golden: Callable[[str, str], None]) -> None:  # fmt: skip
    table = write_table(tmp_path_factory.mktemp("tables") / "a8w8_blockscale.csv", [row(16), row(64, MIDDLE)])
    texts = render(plan_of(table, m_policy=policy, kernels=("a8w8_blockscale_*",)), "my_kernels")
    golden(f"emit/policy_{policy.value}.txt", texts["policy.hpp"])
    (lookup,) = (text for path, text in texts.items() if "lookup_gfx942_304" in path)
    assert f"policy::{'aiter_a8w8_blockscale' if policy is MPolicy.AITER else 'ladder'}," in lookup


def test_only_modules_with_tables_have_a_policy(tmp_path: Path) -> None:
    table = write_table(tmp_path / "a8w8_blockscale.csv", [row(16), row(64, MIDDLE)])
    plan = plan_of(table, m_policy=MPolicy.AITER, kernels=("a8w8_*",))
    modules = {(unit.module, bool(unit.tables)) for unit in plan.units}
    assert ("a8w8_blockscale", True) in modules and any(module and not tables for module, tables in modules)
    policies = re.findall(r"\b(aiter_\w+)_kernel_m\[\]", render(plan, "my_kernels")["policy.hpp"])
    assert policies == ["aiter_a8w8_blockscale"]


def test_a_ladder_has_one_policy_and_no_roundings() -> None:
    assert policy_view(MPolicy.LADDER, ["a8w8"]) == {
        "roundings": [],
        "policies": [{"name": "ladder", "kernel_m": [], "split_k_m": []}],
    }


def test_a_table_with_more_than_16_bits_of_groups_is_refused(tmp_path_factory: pytest.TempPathFactory) -> None:
    table = write_table(tmp_path_factory.mktemp("tables") / "a8w8_blockscale.csv", [row(16), row(64, MIDDLE)])
    plan = plan_of(table, kernels=("a8w8_blockscale_*",))
    unit = next(unit for unit in plan.units if unit.tables)
    view = table_view(unit, unit.tables[0], batch_key)
    assert view["symbol"] == "gfx942_304" and [len(group["rungs"]) for group in view["groups"]] == [2]
    group = next(iter(unit.tables[0].groups.values()))
    groups = {(n, 64, 0): group for n in range(0xFFFF + 1)}
    with pytest.raises(ValueError, match=r"rcr_blockscale on gfx942:304: more than 65535 groups, instances or rungs$"):
        table_view(unit, type(unit.tables[0])(**{**fields_of(unit.tables[0]), "groups": groups}), batch_key)


def fields_of(value: object) -> dict[str, object]:
    return {name: getattr(value, name) for name in value.__dataclass_fields__}  # type: ignore[attr-defined]


@pytest.mark.cpp
@pytest.mark.parametrize("name", ["host", "attention", "rung", "band"])
def test_a_library_may_have_the_name_of_a_word(name: str, tmp_path: Path) -> None:
    table = write_table(tmp_path / "a8w8_blockscale.csv", [row(16), row(64, MIDDLE, splitK=2)])
    signatures, kernels = ("gemm_fp8_fnuz_*_rcr_blockscale", "fmha_bf16"), ("a8w8_*", "16x64_t0")
    both = (Target("gfx942", 304), Target("x86_64_v3", 1))
    plan = plan_of(table, targets=both, ops=frozenset({"gemm", "fmha"}), signatures=signatures, kernels=kernels)
    units = []
    for path, text in render(plan, name).items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
        units += [path] if path.endswith("unit.cpp") else []
    assert units == ["fmha_bf16/unit.cpp", "gemm_fp8_fnuz_bf16_rcr_blockscale/unit.cpp"]
    (tmp_path / "all.cpp").write_text(f"namespace {name} {{}}\n" + "".join(f'#include "{path}"\n' for path in units))
    flags = ("-std=c++17", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", f"-I{ROOT / 'dispatcher_cpp/include'}")
    done = attempt("g++", *flags, tmp_path / "all.cpp")
    assert done.returncode == 0, done.stdout
