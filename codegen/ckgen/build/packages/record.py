"""What `ckgen toolchain` says of a prefix that it prepared: one JSON document in it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ckgen.model.document import JSON, DocumentError, read_text
from ckgen.model.json_document import parse_json

_FILE = "toolchain.json"
_SCHEMA = "ckgen.toolchain/1"


def read_record(prefix: Path) -> Mapping[str, Any] | None:
    """None when nothing was prepared there, or by a ckgen of another form."""
    try:
        found = parse_json(read_text(prefix / _FILE, JSON)).value
    except DocumentError:
        return None
    return found if isinstance(found, dict) and found.get("schema") == _SCHEMA else None


def write_record(prefix: Path, kind: str, **places: Path | None) -> None:
    """Written beside and renamed."""
    told = {name: str(place) if place is not None else None for name, place in places.items()}
    document = {"schema": _SCHEMA, "kind": kind, **told}
    beside = prefix / f".{_FILE}.{os.getpid()}"
    beside.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    beside.replace(prefix / _FILE)
