"""JSON Schemas of what `lookup`, `explain` and `validate` print with --json."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckgen.emit.schema_words import COUNT, COUNTS, DRAFT, Schema, closed
from ckgen.model.diagnostic import Severity
from ckgen.model.fate import FateKind
from ckgen.model.op_words import Tier
from ckgen.plan.trail import Status

_TEXT: Schema = {"type": "string"}
_TEXT_OR_NONE: Schema = {"type": ["string", "null"]}
_PLACE: Schema = {"type": ["string", "null"], "description": "FILE:LINE of a row"}
_TIME: Schema = {"type": ["number", "null"], "description": "microseconds that a row was measured with"}
_SPLITS: Schema = {"type": ["integer", "null"], "minimum": 0, "description": "0: as the kernel decides"}
_TARGET: Schema = {"type": "string", "pattern": "^[^:]+:[1-9][0-9]*$"}


def lookup_schema() -> Schema:
    """That of `lookup --json`."""
    return _printed("lookup", "Which instance answers a problem on a target", _answer())


def explain_schema() -> Schema:
    """That of `explain --json`."""
    step = closed(
        {
            "tier": _word(Tier),
            "status": _word(Status),
            "instance": _TEXT_OR_NONE,
            "k_batch": _SPLITS,
            "source": _PLACE,
            "rule": _TEXT_OR_NONE,
            "text": _TEXT,
        }
    )
    trail = {"trail": {"type": "array", "items": step}}
    return _printed("explain", "Which instance answers a problem on a target, and what was tried", _answer() | trail)


def validate_schema() -> Schema:
    """That of `validate --json`, with --why-not and without."""
    row = closed(
        {
            "source": _TEXT,
            "fate": _word(FateKind),
            "reason": _TEXT_OR_NONE,
            "target": {"anyOf": [_TARGET, {"type": "null"}]},
            "module": _TEXT_OR_NONE,
            "shape": _TEXT_OR_NONE,
            "library": _TEXT_OR_NONE,
            "kernel": _TEXT_OR_NONE,
        }
    )
    file = closed(
        {
            "path": _TEXT,
            "module": _TEXT_OR_NONE,
            "rows": COUNT,
            "fates": {**COUNTS, "propertyNames": _word(FateKind)},
            "findings": {"type": "array", "items": {"$ref": "#/$defs/diagnostic"}},
        }
    )
    properties = {"files": {"type": "array", "items": file}}
    found = _printed("validate", "What became of the rows of tables", properties)
    found["$defs"]["answer"]["properties"]["why_not"] = {"type": "array", "items": row}
    return found


def _answer() -> dict[str, Schema]:
    size: Schema = {"type": "integer"}
    group = closed({"M": size, "N": size, "K": size})
    external = closed({"library": _TEXT, "kernel": _TEXT, "source": _TEXT, "us": _TIME})
    return {
        "target": _TARGET,
        "signature": _TEXT,
        "shape": {
            "type": "object",
            "properties": {"mask": _TEXT, "groups": {"type": "array", "items": group}, "most": group},
            "additionalProperties": size,
        },
        "tier": _word(Tier),
        "instance": _TEXT_OR_NONE,
        "table_kernel": _TEXT_OR_NONE,
        "k_batch": _SPLITS,
        "source": _PLACE,
        "us": _TIME,
        "external": {"anyOf": [external, {"type": "null"}]},
        "reason": _TEXT_OR_NONE,
        "absent": _TEXT_OR_NONE,
    }


def _printed(command: str, title: str, properties: Mapping[str, Schema]) -> Schema:
    """The document of a run that read its input, or that of one that found it wrong (exit 3)."""
    diagnostic = closed(
        {
            "code": {"type": "string", "pattern": "^[A-Z][0-9]{3}$"},
            "severity": _word(Severity),
            "file": _TEXT_OR_NONE,
            "line": {"type": ["integer", "null"], "minimum": 1},
            "message": _TEXT,
            "detail": {"type": "array", "items": _TEXT},
            "hint": _TEXT_OR_NONE,
            "related": {"type": "array", "items": _TEXT},
        }
    )
    error = closed({"error": _TEXT, "diagnostics": {"type": "array", "items": {"$ref": "#/$defs/diagnostic"}}})
    return {
        "$schema": DRAFT,
        "$id": f"https://ckgen.invalid/{command}.json",
        "title": title,
        "oneOf": [{"$ref": "#/$defs/answer"}, {"$ref": "#/$defs/error"}],
        "$defs": {"answer": closed(properties), "error": error, "diagnostic": diagnostic},
    }


def _word(kind: Any) -> Schema:
    return {"enum": [member.value for member in kind]}
