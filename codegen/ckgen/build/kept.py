"""JSON that is kept between runs: a file appears whole or not at all, and is believed only as it was written."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any


def keep(place: Path, schema: str, value: Any) -> None:
    """Writes the value, in place of what was there; `schema` names its form and has no spaces.

    The first line is the schema and the sha256 of what follows. OSError where the folder cannot be written.
    """
    body = json.dumps(value, separators=(",", ":")).encode()
    place.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=place.parent, prefix=f".{place.name}-")
    with os.fdopen(descriptor, "wb") as file:
        file.write(_head(schema, body) + body)
    Path(name).replace(place)


def kept(place: Path, schema: str) -> Any:
    """The value; None where there is none, or it is of another schema, cut short or changed."""
    try:
        head, _, body = place.read_bytes().partition(b"\n")
    except OSError:
        return None
    return json.loads(body) if head + b"\n" == _head(schema, body) else None


def _head(schema: str, body: bytes) -> bytes:
    return f"{schema} {hashlib.sha256(body).hexdigest()}\n".encode()
