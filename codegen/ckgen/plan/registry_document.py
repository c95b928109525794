"""A plan's instances as one JSON document, from which `read_registry` makes an equal plan without any table."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ckgen.families.gemm.config import GemmConfig
from ckgen.families.gemm.enums import Op
from ckgen.families.gemm.instance import Instance
from ckgen.families.gemm.problem_rules import Constraints
from ckgen.families.gemm.signature import GemmSignature
from ckgen.model.backend import Backend
from ckgen.model.fields import encode, json_schema
from ckgen.model.target import Target
from ckgen.plan.fmha_registry import fmha_unit_document, fmha_unit_properties
from ckgen.plan.model import FmhaUnit, GenerationPlan, UnitPlan
from ckgen.plan.policy import MPolicy

SCHEMA = "ckgen.registry/1"
UNIT_KEYS = ("op", "name", "module", "signature", "instances", "defaults", "heuristics")
INSTANCE_KEYS = ("name", "id", "backend", "archs", "table_kernel", "config", "constraints")
HEURISTIC_KEYS = ("arch", "module", "leaves")


def without_tables(plan: GenerationPlan) -> GenerationPlan:
    """The plan of the same instances, decision rules and defaults, and no table: what a document rebuilds."""
    units = tuple(replace(unit, tables=()) for unit in plan.units if unit.instances)
    fmha = tuple(replace(unit, tables=()) for unit in plan.fmha)
    return plan_of_units(plan.targets, units, fmha)


def plan_of_units(
    targets: tuple[Target, ...], units: tuple[UnitPlan, ...], fmha: tuple[FmhaUnit, ...] = ()
) -> GenerationPlan:
    """A plan that was made from no rows."""
    return GenerationPlan(
        targets=targets,
        m_policy=MPolicy.LADDER,
        units=units,
        fates=(),
        reports=(),
        files=(),
        selected=dict.fromkeys(targets, 0),
        diagnostics=(),
        fmha=fmha,
    )


def registry_document(plan: GenerationPlan) -> dict[str, Any]:
    """Every instance of the plan with all its fields, by unit, in the order of the generated library."""
    return {
        "schema": SCHEMA,
        "targets": [str(target) for target in plan.targets],
        "units": [
            *(fmha_unit_document(unit) for unit in plan.fmha),
            *(_unit(unit) for unit in plan.units if unit.instances),
        ],
    }


def registry_text(plan: GenerationPlan) -> str:
    """The document as text, one instance a line."""
    document = registry_document(plan)
    units = ",\n".join(_unit_text(unit) for unit in document["units"])
    head = f'{{"schema": {json.dumps(SCHEMA)},\n"targets": {json.dumps(document["targets"])},\n"units": ['
    return f"{head}\n{units}]}}\n"


def registry_schema() -> dict[str, Any]:
    """The document's JSON Schema; signatures and Configs follow their dataclasses."""
    words = {"type": "array", "items": {"type": "string"}}
    indices = {"type": "array", "items": {"type": "integer", "minimum": 0}}
    instance = {
        "name": {"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]*$"},
        "id": {"type": "string", "pattern": "^[0-9a-f]{16}$"},
        "backend": {"enum": [str(backend) for backend in Backend]},
        "archs": {**words, "minItems": 1},
        "table_kernel": {"type": "string"},
        "config": json_schema(GemmConfig),
        "constraints": json_schema(Constraints),
    }
    heuristic = {"arch": {"type": "string"}, "module": {"type": "string"}, "leaves": indices}
    unit = {
        "op": {"enum": [str(op) for op in Op]},
        "name": {"type": "string"},
        "module": {"type": "string"},
        "signature": json_schema(GemmSignature),
        "instances": {"type": "array", "items": _closed(instance)},
        "defaults": {"type": "object", "additionalProperties": indices},
        "heuristics": {"type": "array", "items": _closed(heuristic)},
    }
    document = {
        "schema": {"const": SCHEMA},
        "targets": {**words, "minItems": 1},
        "units": {
            "type": "array",
            "items": {"anyOf": [_closed(unit), _closed(fmha_unit_properties())]},
            "minItems": 1,
        },
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "https://ckgen.invalid/registry.json",
        "title": "Every instance of a library, as `ckgen export` prints it",
        **_closed(document),
    }


def _unit(unit: UnitPlan) -> dict[str, Any]:
    return {
        "op": str(unit.signature.op),
        "name": unit.name,
        "module": unit.module,
        "signature": encode(GemmSignature, unit.signature),
        "instances": [_instance(instance) for instance in unit.instances],
        "defaults": {arch: list(indices) for arch, indices in unit.defaults.items()},
        "heuristics": [
            {"arch": found.arch, "module": found.rule.module, "leaves": list(found.leaves)} for found in unit.heuristics
        ],
    }


def _instance(instance: Instance) -> dict[str, Any]:
    return {
        "name": instance.name,
        "id": f"{instance.id:016x}",
        "backend": str(instance.backend),
        "archs": list(instance.archs),
        "table_kernel": instance.table_kernel,
        "config": encode(GemmConfig, instance.config),
        "constraints": encode(Constraints, instance.constraints),
    }


def _unit_text(unit: Mapping[str, Any]) -> str:
    instances = ",\n  ".join(json.dumps(instance) for instance in unit["instances"])
    members = (
        f'"{key}": [\n  {instances}]' if key == "instances" and instances else f'"{key}": {json.dumps(unit[key])}'
        for key in unit
    )
    return "{" + ",\n ".join(members) + "}"


def _closed(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }
