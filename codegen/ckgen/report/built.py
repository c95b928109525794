"""What a build cost, kernel by kernel, from the record that it left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ckgen.model.document import JSON, DocumentError, read_text
from ckgen.model.errors import InputError, UsageError
from ckgen.model.json_document import parse_json
from ckgen.report.amd_check import SCHEMA

_NEEDED = ("name", "arch", "status", "cpu_seconds", "object_bytes")


def read_built(path: Path) -> Sequence[Mapping[str, Any]]:
    """The kernels of `summary.json` of `ckgen amd-check --out`; InputError B004 for no JSON, UsageError for another."""
    try:
        found = parse_json(read_text(path, JSON)).value
    except DocumentError as error:
        hint = "give summary.json of `ckgen amd-check --out`"
        raise InputError([error.diagnostic("B004", path, hint)]) from None
    kernels = found.get("kernels") if isinstance(found, dict) and found.get("schema") == SCHEMA else None
    if not isinstance(kernels, list):
        raise UsageError(f"{path}: no summary of `ckgen amd-check --out`: its schema is not {SCHEMA}")
    if any(not isinstance(one, dict) or not set(_NEEDED) <= one.keys() for one in kernels):
        raise UsageError(f"{path}: a kernel lacks one of {', '.join(_NEEDED)}")
    return kernels
