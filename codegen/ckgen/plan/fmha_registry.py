"""Units of attention in a registry document: written, described and read back."""

from __future__ import annotations

from typing import Any

from ckgen.families.fmha.constraints import FmhaConstraints
from ckgen.families.fmha.grammar import AnyFmhaConfig
from ckgen.families.fmha.instance import FmhaInstance, make_fmha_instance
from ckgen.families.fmha.signature import OP, FmhaSignature
from ckgen.model.backend import Backend
from ckgen.model.fields import encode, json_schema
from ckgen.plan.model import FmhaUnit
from ckgen.plan.registry_reading import Place, Reading

_UNIT_KEYS = ("op", "name", "signature", "instances", "defaults")
_INSTANCE_KEYS = ("name", "id", "backend", "archs", "config", "constraints")


def is_fmha(value: Any) -> bool:
    """Whether a unit is one of attention."""
    return isinstance(value, dict) and value.get("op") == OP


def fmha_unit_document(unit: FmhaUnit) -> dict[str, Any]:
    """The unit with all its fields."""
    return {
        "op": OP,
        "name": unit.name,
        "signature": encode(FmhaSignature, unit.signature),
        "instances": [_instance_document(instance) for instance in unit.instances],
        "defaults": {arch: list(indices) for arch, indices in unit.defaults.items()},
    }


def fmha_unit_properties() -> dict[str, Any]:
    """The JSON Schema of a unit's members; signatures and Configs follow their dataclasses."""
    words = {"type": "array", "items": {"type": "string"}, "minItems": 1}
    instance = {
        "name": {"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]*$"},
        "id": {"type": "string", "pattern": "^[0-9a-f]{16}$"},
        "backend": {"enum": [str(one) for one in (Backend.CK_TILE, Backend.HIP, Backend.ASM, Backend.HOST)]},
        "archs": words,
        "config": json_schema(AnyFmhaConfig),
        "constraints": json_schema(FmhaConstraints),
    }
    closed = {"type": "object", "properties": instance, "required": list(instance), "additionalProperties": False}
    indices = {"type": "array", "items": {"type": "integer", "minimum": 0}}
    return {
        "op": {"const": OP},
        "name": {"type": "string"},
        "signature": json_schema(FmhaSignature),
        "instances": {"type": "array", "items": closed},
        "defaults": {"type": "object", "additionalProperties": indices},
    }


def read_fmha_unit(reading: Reading, value: Any, at: Place) -> FmhaUnit | None:
    """The unit; None where its own fields cannot be read. `reading` hears all that is wrong."""
    if not reading.has_keys(value, _UNIT_KEYS, at):
        return None
    signature: FmhaSignature | None = reading.decoded(FmhaSignature, value["signature"], (*at, "signature"))
    if signature is None:
        return None
    problems = signature.problems()
    for reason in problems:
        reading.say("R006", (*at, "signature"), f"the signature means nothing: {reason}")
    if problems:
        return None
    reading.is_new_unit(signature, value["name"], at)
    instances = [_instance(reading, item, signature, place) for place, item in reading.items(value, "instances", at)]
    defaults = reading.defaults(value["defaults"], (*at, "defaults"), instances)
    return FmhaUnit(signature, tuple(one for one in instances if one is not None), defaults)


def _instance_document(instance: FmhaInstance) -> dict[str, Any]:
    return {
        "name": instance.name,
        "id": f"{instance.id:016x}",
        "backend": str(instance.backend),
        "archs": list(instance.archs),
        "config": encode(AnyFmhaConfig, instance.config),
        "constraints": encode(FmhaConstraints, instance.constraints),
    }


def _instance(reading: Reading, value: Any, signature: FmhaSignature, at: Place) -> FmhaInstance | None:
    if not reading.has_keys(value, _INSTANCE_KEYS, at):
        return None

    def made(config: AnyFmhaConfig, _: Backend, archs: list[str]) -> FmhaInstance:
        return make_fmha_instance(signature, config, archs)

    return reading.instance(value, (AnyFmhaConfig, FmhaConstraints), made, at)
