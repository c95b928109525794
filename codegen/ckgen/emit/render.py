"""GenerationPlan → the texts of every generated file, by path relative to `--out`; pure and sorted."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

from ckgen.emit.environment import environment
from ckgen.emit.policy_view import policy_view
from ckgen.families.common import cpp
from ckgen.families.common.policy import near_gap
from ckgen.families.common.unit import HeuristicPlan
from ckgen.families.registry import family_of
from ckgen.plan.model import AnyUnit, GenerationPlan
from ckgen.version import __version__

RUNTIME_ABI = 8
"""CKGEN_RUNTIME_ABI of ckgen/library.hpp that the templates are written for."""

_COMPARISONS = {"<=": "le", "<": "lt", "==": "eq"}


def render(plan: GenerationPlan, name: str) -> dict[str, str]:
    """Every file of the tree; `name` is the library's C++ namespace and CMake target."""
    library = cpp.identifier(name)
    texts = {"policy.hpp": _policy(plan, library)}
    for unit in plan.units:
        texts |= _unit(plan, unit, library)
    units = [cpp.identifier(unit.name) for unit in plan.units]
    build_id = cpp.hex64(_digest([library, __version__, *units]))
    texts[f"include/{library}/register.hpp"] = _render("registry/register.hpp.j2", library=library)
    texts["register.cpp"] = _render("registry/register.cpp.j2", library=library, units=units, build_id=build_id)
    sources = sorted(path for path in texts if path.endswith(".cpp"))
    headers = sorted(path for path in texts if path.endswith(".hpp"))
    texts["sources.cmake"] = _render("cmake/sources.cmake.j2", sources=sources, headers=headers)
    return dict(sorted(texts.items()))


def _unit(plan: GenerationPlan, unit: AnyUnit, library: str) -> dict[str, str]:
    view = family_of(unit.signature).unit_view(unit)
    signature, key = cpp.identifier(unit.name), cpp.hex64(view.key)
    of_unit = {"signature": signature, "signature_key": key, "namespace": f"{library}::{signature}"}
    headers = {f"lookup_{one.target.gfx}_{one.target.cu_num}.hpp": one for one in view.lookups}
    texts = {
        f"{signature}/{header}": _render(
            "lookup/lookup.hpp.j2",
            **of_unit,
            library=library,
            target=str(one.target),
            policy=f"{plan.m_policy.value}_{unit.module}" if plan.m_policy.value != "ladder" else "ladder",
            row_count=one.rows,
            table=one.table,
        )
        for header, one in headers.items()
    }
    texts[f"{signature}/unit.cpp"] = _render(
        "instance/unit.cpp.j2",
        **of_unit,
        abi=RUNTIME_ABI,
        fields=view.fields,
        tables=[{"symbol": one.table["symbol"], "header": header} for header, one in headers.items()],
        inline_tables=view.inline_tables,
        archs=sorted({cpp.identifier(arch) for instance in unit.instances for arch in instance.archs}),
        instances=view.instances,
        heuristics=[_heuristic_view(unit, heuristic) for heuristic in unit.heuristics],
        defaults=_defaults_view(unit.defaults),
    )
    return texts


def _defaults_view(defaults: Mapping[str, tuple[int, ...]]) -> list[dict[str, Any]]:
    return [
        {"arch": cpp.identifier(arch), "instances": list(indices)}
        for arch, indices in sorted(defaults.items())
        if indices
    ]


def _heuristic_view(unit: AnyUnit, heuristic: HeuristicPlan) -> dict[str, Any]:
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
