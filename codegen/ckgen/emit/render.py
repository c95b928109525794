"""GenerationPlan → the texts of every generated file, by path relative to `--out`; pure and sorted."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ckgen.emit.environment import environment
from ckgen.emit.policy_view import policy_view
from ckgen.families.common import cpp
from ckgen.families.common.decision_rule import Condition, Next
from ckgen.families.common.policy import MPolicy, near_gap
from ckgen.families.common.unit import HeuristicPlan
from ckgen.families.common.unit_view import LookupView, UnitView
from ckgen.families.registry import family_of
from ckgen.plan.model import AnyUnit, GenerationPlan
from ckgen.version import __version__

RUNTIME_ABI = 22
"""CKGEN_RUNTIME_ABI of ckgen/library.hpp that the templates are written for."""

_COMPARISONS = {"<=": "le", "<": "lt", "==": "eq"}


def render(plan: GenerationPlan, name: str) -> dict[str, str]:
    """Every file of the tree; `name` is the library's C++ namespace and CMake target."""
    library = cpp.identifier(name)
    texts = {"policy.hpp": _policy(plan, library)}
    for file in written_together(plan.units):
        texts |= _units(plan, file, library)
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


def written_together(units: Iterable[AnyUnit]) -> tuple[tuple[tuple[AnyUnit, ...], ...], ...]:
    """Those whose instances are made of one another stand in one file: what comes or goes with an instance is there.

    The first names its folder: one of the wholes, for parts have no tables. All levels are in the order of `units`.
    """
    sharing = sharing_tables(units)
    whole_of: dict[object, int] = {}  # the first that the signature stands with
    file_of = list(range(len(sharing)))

    def file(at: int) -> int:
        while file_of[at] != at:
            at = file_of[at]
        return at

    for at, group in enumerate(sharing):
        made_of = {part.signature for unit in group for one in unit.instances for part in one.parts}
        for signature in {*made_of, *(unit.signature for unit in group)}:
            other = file(whole_of.setdefault(signature, at))
            file_of[max(other, file(at))] = min(other, file(at))
    together: dict[int, list[tuple[AnyUnit, ...]]] = {}
    for at, group in enumerate(sharing):
        together.setdefault(file(at), []).append(group)
    return tuple(tuple(sorted(groups, key=_is_of_parts)) for groups in together.values())


def _is_of_parts(units: Sequence[AnyUnit]) -> bool:
    return not any(one.parts for unit in units for one in unit.instances)


def _units(plan: GenerationPlan, file: Sequence[Sequence[AnyUnit]], library: str) -> dict[str, str]:
    """One unit.cpp, in the folder of its first signature, and the headers of each group that shares tables."""
    texts: dict[str, str] = {}
    groups: list[dict[str, Any]] = []
    for units in file:
        views = [family_of(unit.signature).unit_view(unit) for unit in units]
        folder, headers = _headers(plan, units, views[0], library)
        texts |= {f"{folder}/{path}": text for path, text in headers.items()}
        groups.append(
            {
                "namespace": f"{library}::{folder}",
                "numbers": [instance.number for instance in views[0].instances],
                "tables": [
                    {"symbol": one.table["symbol"], "header": f"{'' if not groups else f'../{folder}/'}{_header(one)}"}
                    for one in views[0].lookups
                ],
                "products": [
                    {"table": at, "sku": one.target.sku} for at, one in enumerate(views[0].lookups) if one.target.sku
                ],
                "units": [_unit(unit, view) for unit, view in zip(units, views, strict=True)],
                "own": views[0].own,
            }
        )
    text = _render(
        "instance/unit.cpp.j2",
        library=library,
        abi=RUNTIME_ABI,
        archs=sorted(
            {cpp.identifier(arch) for units in file for unit in units for one in unit.instances for arch in one.archs}
        ),
        own=groups[0]["own"],
        groups=groups,
    )
    return {f"{cpp.identifier(file[0][0].name)}/unit.cpp": text, **texts}


def _header(lookup: LookupView) -> str:
    return f"lookup_{cpp.target_symbol(lookup.target)}.hpp"


def _headers(
    plan: GenerationPlan, units: Sequence[AnyUnit], first: UnitView, library: str
) -> tuple[str, dict[str, str]]:
    """The folder of units that share tables, and the headers of these in it."""
    signatures = [cpp.identifier(unit.name) for unit in units]
    shared = {
        "library": library,
        "signatures": signatures,
        "namespace": f"{library}::{signatures[0]}",
        "numbers": [instance.number for instance in first.instances],
    }
    texts = {
        _header(one): _render(
            "lookup/lookup.hpp.j2",
            **shared,
            target=str(one.target),
            policy=_policy_name(plan, units[0].module),
            table=one.table,
        )
        for one in first.lookups
    }
    if texts:
        texts["instances.hpp"] = _render("instance/instances.hpp.j2", **shared)
    return signatures[0], texts


def _policy_name(plan: GenerationPlan, module: str) -> str:
    policy = plan.policy_of(module)
    return policy.value if policy is MPolicy.LADDER else f"{policy.value}_{module}"


def _unit(unit: AnyUnit, view: UnitView) -> dict[str, Any]:
    numbers = [instance.number for instance in view.instances]
    return {
        "signature": cpp.identifier(unit.name),
        "key": cpp.hex64(view.key),
        "words": view.words,
        "instances": view.instances,
        "own_tables": view.own_tables,
        "heuristics": [_heuristic_view(heuristic, numbers) for heuristic in unit.heuristics],
        "defaults": _defaults_view(unit.defaults, numbers),
        "predicted": _predicted_view(view.predicted, numbers),
    }


def _defaults_view(defaults: Mapping[str, tuple[int, ...]], numbers: Sequence[str]) -> list[dict[str, Any]]:
    return [
        {"arch": cpp.identifier(arch), "instances": [numbers[index] for index in indices]}
        for arch, indices in sorted(defaults.items())
        if indices
    ]


def _predicted_view(predicted: Mapping[str, Mapping[int, str]], numbers: Sequence[str]) -> list[dict[str, Any]]:
    return [
        {"arch": cpp.identifier(arch), "works": [(numbers[index], work) for index, work in works.items()]}
        for arch, works in sorted(predicted.items())
    ]


def _heuristic_view(heuristic: HeuristicPlan, numbers: Sequence[str]) -> dict[str, Any]:
    """Leaves of which nothing is built are left out, and what leads to them has no answer."""
    rule = heuristic.rule
    built = [(at, index) for at, index in enumerate(heuristic.leaves) if index is not None]
    places = {at: place for place, (at, _) in enumerate(built)}
    device = tuple(filter(None, (rule.arch, rule.sku)))
    return {
        "arch": cpp.identifier(heuristic.arch),
        "sku": rule.sku,
        "symbol": cpp.identifier("_".join(device)),
        "name": cpp.identifier("_".join((*device, rule.module))),
        "leaves": [{"instance": numbers[index], "k_batch": rule.leaves[at].k_batch} for at, index in built],
        "nodes": [
            {
                "condition": _condition(one.condition),
                "then": _next(one.then, places),
                "otherwise": _next(one.otherwise, places),
            }
            for one in rule.nodes
        ],
    }


def _condition(condition: Condition) -> str:
    feature, compare = condition.feature.value.lower(), _COMPARISONS[condition.comparison.value]
    sizes = (condition.tile_m, condition.tile_n)[: condition.feature.tile_sizes]
    words = (f"ckgen::Feature::{feature}", f"ckgen::Compare::{compare}", *map(str, (condition.limit, *sizes)))
    return "{" + ", ".join(words) + "}"


def _next(following: Next, places: Mapping[int, int]) -> str:
    if following is not None and following >= 0:
        return str(following)
    place = places.get(~following) if following is not None else None
    return f"leaf({place})" if place is not None else "ckgen::no_leaf"


def _policy(plan: GenerationPlan, library: str) -> str:
    gap = near_gap()
    modules = sorted({unit.module for unit in plan.units if unit.tables})
    view = policy_view(plan.m_policy, modules)
    return _render("lookup/policy.hpp.j2", library=library, near_add=gap.add, near_factor=gap.factor, **view)


def _render(template: str, **values: Any) -> str:
    return environment().get_template(template).render(version=__version__, **values)


def _digest(words: Iterable[str]) -> int:
    """64 bits that change with any of the words or their order."""
    return int(hashlib.sha256("\0".join(words).encode()).hexdigest()[:16], 16)
