"""JSON Schemas of what ckgen reads, writes and prints."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import cast

from ckgen import paths
from ckgen.emit.manifest import SCHEMA
from ckgen.emit.output_schema import explain_schema, lookup_schema, validate_schema
from ckgen.emit.schema_words import COUNTS, DRAFT, Schema, closed
from ckgen.families.common.policy import MPolicy
from ckgen.families.kernel_sets import OPS
from ckgen.model.backend import Backend
from ckgen.model.dtype import DType
from ckgen.model.word import Word
from ckgen.plan.profile_file import profile_schema
from ckgen.plan.registry_document import registry_schema
from ckgen.specs.kinds import SCHEMA_FILE

_SHA256: Schema = {"type": "string", "pattern": "^[0-9a-f]{64}$"}


def schema(kind: str) -> Schema:
    """The schema of one of `KINDS`."""
    return _SCHEMAS[kind]()


def words_schema(words: Mapping[str, type[Word]]) -> Schema:
    """The words of each enum, as signatures, kernel sets and registries have them, and of types in tables' columns.

    `$defs` alone, no document.
    """
    spelt = [dtype.torch for dtype in cast("type[DType]", words["DType"]) if dtype.torch]
    return {
        "$schema": DRAFT,
        "$id": "https://ckgen.invalid/words.json",
        "title": "The words of signatures, by the names of their enums in Python and C++",
        "$defs": {
            name: {"description": " ".join((kind.__doc__ or "").split()), "enum": [member.value for member in kind]}
            for name, kind in words.items()
        }
        | {"TableDType": {"description": "An element type, as columns of tuning tables spell it.", "enum": spelt}},
    }


def bundle() -> Schema:
    """One schema that takes each of them."""
    return {
        "$schema": DRAFT,
        "title": "A document that ckgen reads, writes or prints",
        "anyOf": [{"$ref": f"#/$defs/{kind}"} for kind in _SCHEMAS],
        "$defs": {kind: schema(kind) for kind in _SCHEMAS},
    }


def _arch() -> Schema:
    found: Schema = json.loads((paths.arch_specs_dir() / SCHEMA_FILE).read_text(encoding="utf-8"))
    return found


def _kernel_set() -> Schema:
    text: Schema = {"type": "string", "minLength": 1}
    scalar: Schema = {"type": ["string", "integer", "boolean"]}
    texts: Schema = {"oneOf": [text, {"type": "array", "items": text, "minItems": 1}]}
    values: Schema = {"oneOf": [scalar, {"type": "array", "items": scalar, "minItems": 1}]}
    product: Schema = {"type": "object", "required": ["types"], "additionalProperties": values}
    single: Schema = {"type": "object", "additionalProperties": values}
    part: Schema = {"oneOf": [single, {"type": "array", "items": single, "minItems": 1}]}
    block: Schema = {
        "if": {"required": ["gate_up", "down"]},
        "then": closed({"gate_up": part, "down": part}),
        "else": single,
    }
    properties: Mapping[str, Schema] = {
        "op": {"enum": list(OPS)},
        "name": text,
        "signatures": {
            "description": "Names; of op fmha also types and traits that multiply out",
            "oneOf": [text, product, {"type": "array", "items": {"oneOf": [text, product]}, "minItems": 1}],
        },
        "backend": {"enum": sorted(str(backend) for backend in Backend)},
        "targets": {"description": 'Archs or families of archs, or "*" for all', **texts},
        "kernels": {"description": "Kernel names of the module's tables; of op fmha Configs, or tree", **texts},
        "configs": {
            "description": 'Values that multiply out; "*" stands for all of the search space',
            "oneOf": [block, {"type": "array", "items": block, "minItems": 1}],
        },
    }
    return {
        "$schema": DRAFT,
        "$id": "https://ckgen.invalid/kernel-set.json",
        "title": "One document of a kernel set",
        "type": "object",
        "properties": dict(properties),
        "required": ["op", "name", "signatures", "backend", "targets"],
        "oneOf": [{"required": ["kernels"]}, {"required": ["configs"]}],
        "additionalProperties": False,
    }


def _manifest() -> Schema:
    digests: Schema = {"type": "object", "additionalProperties": _SHA256}
    words: Schema = {"type": "array", "items": {"type": "string"}}
    options: Mapping[str, Schema] = {
        "name": {"type": "string"},
        "targets": words,
        "ops": words,
        "module": {"type": ["string", "null"]},
        "kernels": words,
        "signatures": words,
        "backends": words,
        "m_policy": {"enum": [policy.value for policy in MPolicy]},
        "assume_gfx": {"type": "object", "additionalProperties": {"type": "string"}},
        "assume_dtype": {"type": ["string", "null"]},
    }
    summary = {"rows": {"type": "integer", "minimum": 0}, "fates": COUNTS, "selected": COUNTS, "instances": COUNTS}
    summary["left_out"] = COUNTS
    return {
        "$schema": DRAFT,
        "$id": "https://ckgen.invalid/manifest.json",
        "title": "What a generated tree was made from, and the files that it owns",
        "type": "object",
        "properties": {
            "schema": {"const": SCHEMA},
            "generator": _SHA256,
            "options": closed(options),
            "inputs": digests,
            "files": digests,
            "summary": closed(summary),
            "digest": _SHA256,
        },
        "required": ["schema", "generator", "options", "inputs", "files", "summary", "digest"],
        "additionalProperties": False,
    }


_SCHEMAS: Mapping[str, Callable[[], Schema]] = {
    "arch": _arch,
    "kernel-set": _kernel_set,
    "profile": profile_schema,
    "manifest": _manifest,
    "registry": registry_schema,
    "lookup": lookup_schema,
    "explain": explain_schema,
    "validate": validate_schema,
}

KINDS = tuple(_SCHEMAS)
"""What there is a schema of."""
