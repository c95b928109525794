"""GenerationPlan → the texts of every generated file, by path relative to `--out`; pure and sorted."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

from ckgen.emit import cpp, cpp_fmha
from ckgen.emit.environment import environment
from ckgen.emit.lookup_view import policy_view, table_view
from ckgen.families.common.policy import near_gap
from ckgen.families.common.unit import HeuristicPlan
from ckgen.families.fmha.host_config import HostFmhaConfig
from ckgen.families.fmha.instance import FmhaInstance
from ckgen.families.fmha.measured import FmhaUnit
from ckgen.families.fmha.signature import FmhaSignature
from ckgen.families.gemm.config import HostConfig
from ckgen.families.gemm.instance import Instance
from ckgen.families.gemm.measured import GemmUnit
from ckgen.families.gemm.problem_rules import Constraints
from ckgen.families.gemm.signature import GemmSignature
from ckgen.model.arch import CPU_LEVELS
from ckgen.model.backend import Backend
from ckgen.plan.model import GenerationPlan
from ckgen.version import __version__

RUNTIME_ABI = 8
"""CKGEN_RUNTIME_ABI of ckgen/library.hpp that the templates are written for."""

_COMPARISONS = {"<=": "le", "<": "lt", "==": "eq"}


def render(plan: GenerationPlan, name: str) -> dict[str, str]:
    """Every file of the tree; `name` is the library's C++ namespace and CMake target."""
    library = cpp.identifier(name)
    texts = {"policy.hpp": _policy(plan, library)}
    for unit in plan.units_of(GemmSignature):
        texts |= _unit(plan, unit, library)
    for attention in plan.units_of(FmhaSignature):
        texts |= _fmha_unit(attention, library)
    units = [cpp.identifier(unit.name) for unit in plan.units]
    build_id = cpp.hex64(_digest([library, __version__, *units]))
    texts[f"include/{library}/register.hpp"] = _render("registry/register.hpp.j2", library=library)
    texts["register.cpp"] = _render("registry/register.cpp.j2", library=library, units=units, build_id=build_id)
    sources = sorted(path for path in texts if path.endswith(".cpp"))
    headers = sorted(path for path in texts if path.endswith(".hpp"))
    texts["sources.cmake"] = _render("cmake/sources.cmake.j2", sources=sources, headers=headers)
    return dict(sorted(texts.items()))


def _unit(plan: GenerationPlan, unit: GemmUnit, library: str) -> dict[str, str]:
    signature = cpp.identifier(unit.name)
    namespace = f"{library}::{signature}"
    key = cpp.hex64(cpp.pack(unit.signature))
    texts: dict[str, str] = {}
    tables = []
    for table in unit.tables:
        view = table_view(unit, table)
        header = f"lookup_{table.target.gfx}_{table.target.cu_num}.hpp"
        tables.append({"symbol": view["symbol"], "header": header})
        texts[f"{signature}/{header}"] = _render(
            "lookup/lookup.hpp.j2",
            signature=signature,
            signature_key=key,
            namespace=namespace,
            library=library,
            target=str(table.target),
            policy=f"{plan.m_policy.value}_{unit.module}" if plan.m_policy.value != "ladder" else "ladder",
            row_count=sum(len(group.rows) for group in table.groups.values()),
            table=view,
        )
    texts[f"{signature}/unit.cpp"] = _render(
        "instance/unit.cpp.j2",
        abi=RUNTIME_ABI,
        signature=signature,
        signature_key=key,
        namespace=namespace,
        fields=cpp.signature_fields(unit.signature),
        tables=tables,
        attention=[],
        archs=sorted({cpp.identifier(arch) for instance in unit.instances for arch in instance.archs}),
        instances=[_instance_view(instance) for instance in unit.instances],
        heuristics=[_heuristic_view(unit, heuristic) for heuristic in unit.heuristics],
        defaults=_defaults_view(unit.defaults),
    )
    return texts


def _fmha_unit(unit: FmhaUnit, library: str) -> dict[str, str]:
    signature = cpp.identifier(unit.name)
    text = _render(
        "instance/unit.cpp.j2",
        abi=RUNTIME_ABI,
        signature=signature,
        signature_key=cpp.hex64(cpp_fmha.pack(unit.signature)),
        namespace=f"{library}::{signature}",
        fields=cpp_fmha.signature_fields(unit.signature),
        tables=[],
        attention=[cpp_fmha.table(table) for table in unit.tables],
        archs=sorted({cpp.identifier(arch) for instance in unit.instances for arch in instance.archs}),
        instances=[_fmha_view(instance) for instance in unit.instances],
        heuristics=[],
        defaults=_defaults_view(unit.defaults),
    )
    return {f"{signature}/unit.cpp": text}


def _defaults_view(defaults: Mapping[str, tuple[int, ...]]) -> list[dict[str, Any]]:
    return [
        {"arch": cpp.identifier(arch), "instances": list(indices)}
        for arch, indices in sorted(defaults.items())
        if indices
    ]


def _fmha_view(instance: FmhaInstance) -> dict[str, Any]:
    config, on_cpu = instance.config, instance.backend is Backend.HOST
    isa = min(instance.archs, key=CPU_LEVELS.index) if on_cpu else "x86_64_v3"
    threads = config.threads if isinstance(config, HostFmhaConfig) else 0
    return {
        "name": cpp.identifier(instance.name),
        "id": cpp.hex64(instance.id),
        "backend": cpp.backend(instance.backend),
        "archs": [cpp.identifier(arch) for arch in instance.archs],
        "table_kernel": "",
        "tile": cpp.tile(config.macro_tile),
        "constraints": cpp.constraints(Constraints()),
        "twin": "{0, 0, 0, 0, false, false, false}",
        "host": f"{{ckgen::Isa::{cpp.identifier(isa)}, 0, 0, 0, 0, 0, {threads}}}",
        "workspace": "ckgen::fmha_workspace_of",
        "launch": "ckgen::launch_fmha",
        "more": f", {{}}, {{0, 0}},\n     {cpp_fmha.numbers(instance.constraints)}",
    }


def _instance_view(instance: Instance) -> dict[str, Any]:
    host = isinstance(instance.config, HostConfig)
    kernel = f"{instance.signature.op}_{'host' if host else 'twin'}"
    isa = min(instance.archs, key=CPU_LEVELS.index) if host else None
    return {
        "name": cpp.identifier(instance.name),
        "id": cpp.hex64(instance.id),
        "backend": cpp.backend(instance.backend),
        "archs": [cpp.identifier(arch) for arch in instance.archs],
        "table_kernel": cpp.quotable(instance.table_kernel),
        "tile": cpp.tile(instance.config.macro_tile),
        "constraints": cpp.constraints(instance.constraints),
        "twin": cpp.twin_config(instance.config, instance.constraints),
        "host": cpp.host_config(instance.config, isa),
        "workspace": f"ckgen::{kernel}_workspace_of",
        "launch": f"ckgen::launch_{kernel}",
        "more": cpp.descriptor_tail(instance),
    }


def _heuristic_view(unit: GemmUnit, heuristic: HeuristicPlan) -> dict[str, Any]:
    arms = [
        {
            "index": index,
            "conditions": [
                {
                    "feature": condition.feature.value.lower(),
                    "compare": _COMPARISONS[condition.comparison.value],
                    "value": condition.limit,
                }
                for condition in arm.conditions
            ],
            "instance": leaf,
            "name": unit.instances[leaf].config.text(),
        }
        for index, (arm, leaf) in enumerate(zip(heuristic.rule.arms, heuristic.leaves, strict=True))
    ]
    name = f"{heuristic.rule.arch}_{heuristic.rule.module}"
    return {"arch": cpp.identifier(heuristic.arch), "name": cpp.identifier(name), "arms": arms}


def _policy(plan: GenerationPlan, library: str) -> str:
    gap = near_gap()
    modules = sorted({unit.module for unit in plan.units if unit.module and unit.tables})
    view = policy_view(plan.m_policy, modules)
    return _render("lookup/policy.hpp.j2", library=library, near_add=gap.add, near_factor=gap.factor, **view)


def _render(template: str, **values: Any) -> str:
    return environment().get_template(template).render(version=__version__, **values)


def _digest(words: Iterable[str]) -> int:
    """64 bits that change with any of the words or their order."""
    return int(hashlib.sha256("\0".join(words).encode()).hexdigest()[:16], 16)
