"""GenerationPlan → the texts of every generated file, by path relative to `--out`; pure and sorted."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ckgen.emit.environment import environment
from ckgen.emit.policy_view import policy_view
from ckgen.families.common import cpp
from ckgen.families.common.policy import near_gap
from ckgen.families.common.unit import HeuristicPlan
from ckgen.families.common.unit_view import UnitView
from ckgen.families.registry import family_of
from ckgen.plan.model import AnyUnit, GenerationPlan
from ckgen.version import __version__

RUNTIME_ABI = 10
"""CKGEN_RUNTIME_ABI of ckgen/library.hpp that the templates are written for."""

_COMPARISONS = {"<=": "le", "<": "lt", "==": "eq"}


def render(plan: GenerationPlan, name: str) -> dict[str, str]:
    """Every file of the tree; `name` is the library's C++ namespace and CMake target."""
    library = cpp.identifier(name)
    texts = {"policy.hpp": _policy(plan, library)}
    for together in sharing_tables(plan.units):
        texts |= _units(plan, together, library)
    units = [cpp.identifier(unit.name) for unit in plan.units]
    build_id = cpp.hex64(_digest([library, __version__, *units]))
    texts[f"include/{library}/register.hpp"] = _render("registry/register.hpp.j2", library=library)
    texts["register.cpp"] = _render("registry/register.cpp.j2", library=library, units=units, build_id=build_id)
    sources = sorted(path for path in texts if path.endswith(".cpp"))
    headers = sorted(path for path in texts if path.endswith(".hpp"))
    texts["sources.cmake"] = _render("cmake/sources.cmake.j2", sources=sources, headers=headers)
    return dict(sorted(texts.items()))


def sharing_tables(units: Iterable[AnyUnit]) -> tuple[tuple[AnyUnit, ...], ...]:
    """The units that are written together: those of signatures that no row of their tables tells apart.

    A unit whose signature has no table of its own is alone. Both levels are in the order of `units`.
    """
    together: dict[tuple[object, ...], list[AnyUnit]] = {}
    for unit in units:
        tables: tuple[object, ...] = tuple(id(table) for table in unit.tables)
        together.setdefault(tables or (unit.name,), []).append(unit)
    return tuple(tuple(of_tables) for of_tables in together.values())


def _units(plan: GenerationPlan, units: Sequence[AnyUnit], library: str) -> dict[str, str]:
    """The files of units that share tables, in the folder of the first."""
    views = [family_of(unit.signature).unit_view(unit) for unit in units]
    first, signatures = views[0], [cpp.identifier(unit.name) for unit in units]
    shared = {
        "library": library,
        "signatures": signatures,
        "namespace": f"{library}::{signatures[0]}",
        "numbers": [instance.number for instance in first.instances],
    }
    headers = {f"lookup_{one.target.gfx}_{one.target.cu_num}.hpp": one for one in first.lookups}
    texts = {
        header: _render(
            "lookup/lookup.hpp.j2",
            **shared,
            target=str(one.target),
            policy=f"{plan.m_policy.value}_{units[0].module}" if plan.m_policy.value != "ladder" else "ladder",
            table=one.table,
        )
        for header, one in headers.items()
    }
    if headers:
        texts["instances.hpp"] = _render("instance/instances.hpp.j2", **shared)
    texts["unit.cpp"] = _render(
        "instance/unit.cpp.j2",
        **shared,
        abi=RUNTIME_ABI,
        tables=[{"symbol": one.table["symbol"], "header": header} for header, one in headers.items()],
        archs=sorted({cpp.identifier(arch) for unit in units for one in unit.instances for arch in one.archs}),
        units=[_unit(unit, view) for unit, view in zip(units, views, strict=True)],
    )
    return {f"{signatures[0]}/{path}": text for path, text in texts.items()}


def _unit(unit: AnyUnit, view: UnitView) -> dict[str, Any]:
    numbers = [instance.number for instance in view.instances]
    return {
        "signature": cpp.identifier(unit.name),
        "key": cpp.hex64(view.key),
        "words": view.words,
        "instances": view.instances,
        "inline_tables": view.inline_tables,
        "heuristics": [_heuristic_view(heuristic, numbers) for heuristic in unit.heuristics],
        "defaults": _defaults_view(unit.defaults, numbers),
    }


def _defaults_view(defaults: Mapping[str, tuple[int, ...]], numbers: Sequence[str]) -> list[dict[str, Any]]:
    return [
        {"arch": cpp.identifier(arch), "instances": [numbers[index] for index in indices]}
        for arch, indices in sorted(defaults.items())
        if indices
    ]


def _heuristic_view(heuristic: HeuristicPlan, numbers: Sequence[str]) -> dict[str, Any]:
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
            "instance": numbers[leaf],
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
