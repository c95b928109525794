"""JSON that is read in diffs: a record is a line."""

from __future__ import annotations

import json
from typing import Any


def json_lines(value: Any, depth: int, indent: str = "") -> str:
    """The text, without a last line end; members down to `depth` have lines of their own, what is in them has not."""
    if depth == 0 or not isinstance(value, dict | list) or not value:
        return json.dumps(value, ensure_ascii=False)
    inner = indent + " "
    if isinstance(value, dict):
        members = [
            f"{json.dumps(key, ensure_ascii=False)}: {json_lines(one, depth - 1, inner)}" for key, one in value.items()
        ]
    else:
        members = [json_lines(one, depth - 1, inner) for one in value]
    opened, closed = "{}" if isinstance(value, dict) else "[]"
    return opened + "\n" + ",\n".join(inner + one for one in members) + "\n" + indent + closed
