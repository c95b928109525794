"""What the JSON Schemas of several documents have in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Schema = dict[str, Any]

DRAFT = "https://json-schema.org/draft/2020-12/schema"
COUNT: Schema = {"type": "integer", "minimum": 0}
COUNTS: Schema = {"type": "object", "additionalProperties": COUNT}


def closed(properties: Mapping[str, Schema]) -> Schema:
    """An object with exactly these keys."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }
