"""What is lasting in summaries: the facts of each kernel, which a later check is compared with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ckgen.model.errors import UsageError
from ckgen.report import amd_check
from ckgen.report.json_lines import json_lines

SCHEMA = "ckgen.amd_baseline/1"
PLACE = ("module", "library", "name", "arch")
FIGURES = (
    "status",
    "gated",
    "matrix_ops",
    "vgpr",
    "agpr",
    "sgpr",
    "spills",
    "scratch",
    "lds",
    "code_bytes",
    "variants",
)
RUN = ("right", "findings")
"""Of what the emulator executed: None where it did not."""
FIELDS = (*PLACE, "dtype", "flags", *FIGURES, *RUN)


def baseline(summaries: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The document of all kernels of the summaries, in the order of places.

    UsageError for a document of another schema, and for a kernel that two of them have.
    """
    kernels: dict[tuple[str, ...], dict[str, Any]] = {}
    for summary in summaries:
        if summary.get("schema") != amd_check.SCHEMA:
            raise UsageError(f"not a summary of amd-check: its schema is not {amd_check.SCHEMA}")
        runs = {place_of(run): run for run in summary["runs"]}
        for kernel in summary["kernels"]:
            place = place_of(kernel)
            if place in kernels:
                raise UsageError(f"{kernel['name']} on {kernel['arch']}: two of the summaries have it")
            run = runs.get(place, dict.fromkeys(RUN))
            kernels[place] = {name: run[name] if name in RUN else kernel[name] for name in FIELDS}
    return {
        "schema": SCHEMA,
        "compilers": sorted({one for summary in summaries for one in summary["compilers"]}),
        "kernels": [kernels[place] for place in sorted(kernels)],
    }


def baseline_text(document: Mapping[str, Any]) -> str:
    """The document as JSON, a line per kernel."""
    return json_lines(document, 2) + "\n"


def kernels_of(document: Any) -> dict[tuple[str, ...], Mapping[str, Any]]:
    """The kernels of a document that was read, by place; UsageError where it is no baseline."""
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise UsageError(f"not a baseline, which `ckgen amd-check --out` writes: its schema is not {SCHEMA}")
    kernels = document.get("kernels")
    if not isinstance(kernels, list):
        raise UsageError("not a baseline: it has no list of kernels")
    for number, kernel in enumerate(kernels, 1):
        missing = [name for name in FIELDS if not isinstance(kernel, dict) or name not in kernel]
        if missing:
            raise UsageError(f"not a baseline: kernel {number} has no {', '.join(missing)}")
    return {place_of(kernel): kernel for kernel in kernels}


def place_of(kernel: Mapping[str, Any]) -> tuple[str, ...]:
    """What a kernel or a run is known by."""
    return tuple(str(kernel[name]) for name in PLACE)
