"""A plan's units as one JSON document, from which `read_registry` makes a plan that selects the same."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, reduce
from operator import or_
from typing import Any, get_args

from ckgen.families.common.policy import MPolicy
from ckgen.families.registry import FAMILIES
from ckgen.model.backend import Backend
from ckgen.model.fields import encode, json_schema
from ckgen.model.target import Target
from ckgen.plan.model import AnyInstance, AnyUnit, GenerationPlan

SCHEMA = "ckgen.registry/3"


@dataclass(frozen=True, slots=True)
class UnitForm:
    """The form of units of operations that share a kind of signature, and of the problems of their tables.

    `has_modules`: modules of tables speak of them.
    """

    ops: tuple[str, ...]
    signature: type
    config: Any
    constraints: type
    has_modules: bool
    shape: type

    @property
    def unit_keys(self) -> tuple[str, ...]:
        """The members of a unit, in order."""
        module, heuristics = (("module",), ("heuristics",)) if self.has_modules else ((), ())
        return ("op", "name", *module, "signature", "instances", "defaults", *heuristics, "tables")

    @property
    def instance_keys(self) -> tuple[str, ...]:
        """The members of an instance, in order."""
        named = ("table_kernel",) if self.has_modules else ()
        return ("name", "id", "backend", "archs", *named, "config", "constraints")

    @property
    def backends(self) -> tuple[Backend, ...]:
        """Those that its Configs are of."""
        known = {getattr(kind, "backend", None) for kind in get_args(self.config)}
        return tuple(backend for backend in Backend if backend in known)


HEURISTIC_KEYS = ("arch", "sku", "module", "leaves")
TABLE_KEYS = ("target", "selected", "external")
SELECTED_KEYS = ("shape", "instance", "k_batch")
EXTERNAL_KEYS = ("shape", "library", "kernel")


@cache
def unit_forms() -> Mapping[str, UnitForm]:
    """By op, in registry order; a form's Configs are those of all its operations."""
    kinds = dict.fromkeys(family.signature_type for family in FAMILIES.values())
    found: dict[str, UnitForm] = {}
    for kind in kinds:
        alike = [family for family in FAMILIES.values() if family.signature_type is kind]
        ops = tuple(dict.fromkeys(family.op for family in alike))
        config, first = reduce(or_, (family.configs for family in alike)), alike[0]
        has_modules = any(family.table_modules for family in alike)
        found |= dict.fromkeys(ops, UnitForm(ops, kind, config, first.constraints_type, has_modules, first.shape_type))
    return found


def plan_of_units(targets: tuple[Target, ...], units: tuple[AnyUnit, ...]) -> GenerationPlan:
    """A plan that was made from no rows."""
    return GenerationPlan(targets, MPolicy.LADDER, units, selected=dict.fromkeys(targets, 0))


def registry_document(plan: GenerationPlan) -> dict[str, Any]:
    """Every unit of the plan in the order of the generated library, with all fields of its instances and its tables.

    Units that share tables name the first one that has them.
    """
    first: dict[tuple[int, ...], str] = {}
    return {
        "schema": SCHEMA,
        "targets": [str(target) for target in plan.targets],
        "units": [_unit(unit, first) for unit in plan.units if unit.instances or unit.tables],
    }


def registry_text(plan: GenerationPlan) -> str:
    """The document as text, one instance a line."""
    document = registry_document(plan)
    units = ",\n".join(_unit_text(unit) for unit in document["units"])
    head = f'{{"schema": {json.dumps(SCHEMA)},\n"targets": {json.dumps(document["targets"])},\n"units": ['
    return f"{head}\n{units}]}}\n"


def registry_schema() -> dict[str, Any]:
    """The document's JSON Schema; signatures and Configs follow their dataclasses."""
    forms = [_closed(_unit_schema(form)) for form in dict.fromkeys(unit_forms().values())]
    document = {
        "schema": {"const": SCHEMA},
        "targets": {"type": "array", "items": {"type": "string"}, "minItems": 1},
        "units": {"type": "array", "items": {"anyOf": forms}, "minItems": 1},
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "https://ckgen.invalid/registry.json",
        "title": "Every instance of a library, as `ckgen export` prints it",
        **_closed(document),
    }


def _unit_schema(form: UnitForm) -> dict[str, Any]:
    index = {"type": "integer", "minimum": 0}
    indices, leaves = ({"type": "array", "items": one} for one in (index, {"oneOf": [{"type": "null"}, index]}))
    text = {"type": "string"}
    instance = {
        "name": {"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]*$"},
        "id": {"type": "string", "pattern": "^[0-9a-f]{16}$"},
        "backend": {"enum": [str(backend) for backend in form.backends]},
        "archs": {"type": "array", "items": text, "minItems": 1},
        "table_kernel": text,
        "config": json_schema(form.config),
        "constraints": json_schema(form.constraints),
    }
    members = {
        "op": {"enum": list(form.ops)} if len(form.ops) > 1 else {"const": form.ops[0]},
        "name": text,
        "module": text,
        "signature": json_schema(form.signature),
        "instances": {"type": "array", "items": _closed({key: instance[key] for key in form.instance_keys})},
        "defaults": {"type": "object", "additionalProperties": indices},
        "heuristics": {
            "type": "array",
            "items": _closed({"arch": text, "sku": text, "module": text, "leaves": leaves}),
        },
        "tables": {"oneOf": [text, {"type": "array", "items": _table_schema(form)}]},
    }
    return {key: members[key] for key in form.unit_keys}


def _table_schema(form: UnitForm) -> dict[str, Any]:
    shape, text = json_schema(form.shape), {"type": "string"}
    splits = {"oneOf": [{"type": "null"}, {"type": "integer"}]}
    selected = {"shape": shape, "instance": {"type": "integer", "minimum": 0}, "k_batch": splits}
    rows = {"selected": selected, "external": {"shape": shape, "library": text, "kernel": text}}
    return _closed({"target": text} | {key: {"type": "array", "items": _closed(row)} for key, row in rows.items()})


def _unit(unit: AnyUnit, first: dict[tuple[int, ...], str]) -> dict[str, Any]:
    form = unit_forms()[str(unit.signature.op)]
    members = {
        "op": str(unit.signature.op),
        "name": unit.name,
        "module": unit.module,
        "signature": encode(form.signature, unit.signature),
        "instances": [_instance(form, instance) for instance in unit.instances],
        "defaults": {arch: list(indices) for arch, indices in unit.defaults.items()},
        "heuristics": [
            {"arch": found.arch, "sku": found.rule.sku, "module": found.rule.module, "leaves": list(found.leaves)}
            for found in unit.heuristics
        ],
        "tables": _tables(form, unit, first),
    }
    return {key: members[key] for key in form.unit_keys}


def _tables(form: UnitForm, unit: AnyUnit, first: dict[tuple[int, ...], str]) -> list[dict[str, Any]] | str:
    """The unit's tables, or the name of the first unit that has them too."""
    holder = first.setdefault(tuple(map(id, unit.tables)), unit.name) if unit.tables else unit.name
    if holder != unit.name:
        return holder
    return [
        {
            "target": str(table.target),
            "selected": [
                {"shape": encode(form.shape, one.shape), "instance": one.instance, "k_batch": one.k_batch}
                for one in table.measured()
                if one.instance is not None
            ],
            "external": [
                {"shape": encode(form.shape, one.shape), "library": one.library, "kernel": one.kernel}
                for one in table.measured()
                if one.instance is None
            ],
        }
        for table in unit.tables
    ]


def _instance(form: UnitForm, instance: AnyInstance) -> dict[str, Any]:
    members = {
        "name": instance.name,
        "id": f"{instance.id:016x}",
        "backend": str(instance.backend),
        "archs": list(instance.archs),
        "table_kernel": instance.table_kernel,
        "config": encode(form.config, instance.config),
        "constraints": encode(form.constraints, instance.constraints),
    }
    return {key: members[key] for key in form.instance_keys}


def _unit_text(unit: Mapping[str, Any]) -> str:
    instances = ",\n  ".join(json.dumps(instance) for instance in unit["instances"])
    texts = {key: json.dumps(unit[key]) for key in unit if key not in ("instances", "tables")}
    texts["instances"] = f"[\n  {instances}]" if instances else "[]"
    tables = unit["tables"]
    texts["tables"] = json.dumps(tables) if isinstance(tables, str) else f"[{', '.join(map(_table_text, tables))}]"
    return "{" + ",\n ".join(f'"{key}": {texts[key]}' for key in unit) + "}"


def _table_text(table: Mapping[str, Any]) -> str:
    """One row a line."""
    sides = (f'"{key}": [{_lines(table[key])}]' for key in ("selected", "external"))
    return f'{{"target": {json.dumps(table["target"])}, {", ".join(sides)}}}'


def _lines(rows: Sequence[Mapping[str, Any]]) -> str:
    return ",".join(f"\n  {json.dumps(row)}" for row in rows)


def _closed(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }
