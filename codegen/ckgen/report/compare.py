"""Two summaries side by side: which figures changed. Figures of unequal flags are not compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ckgen.model.errors import UsageError
from ckgen.report.amd_check import SCHEMA

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


@dataclass(frozen=True, slots=True)
class Change:
    """One figure of a kernel on an arch, as it was and as it is."""

    name: str
    arch: str
    figure: str
    old: Any
    new: Any

    def __str__(self) -> str:
        return f"{self.name} on {self.arch}: {self.figure} was {self.old}, is {self.new}"


def compare(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[Change, ...]:
    """The changes of kernels that both documents have, in the order of `new`.

    UsageError for a document of another schema, and where a kernel was compiled with other flags.
    """
    for document in (old, new):
        if document.get("schema") != SCHEMA:
            raise UsageError(f"not a summary of amd-check: its schema is not {SCHEMA}")
    known = {_place(kernel): kernel for kernel in old["kernels"]}
    return tuple(change for kernel in new["kernels"] for change in _changes(known.get(_place(kernel)), kernel))


def _changes(old: Mapping[str, Any] | None, new: Mapping[str, Any]) -> Iterator[Change]:
    if old is None:
        return
    if old["flags"] != new["flags"]:
        raise UsageError(
            f"{new['name']} on {new['arch']}: compiled with flags {new['flags']}, before with {old['flags']}: "
            "figures of unequal flags are not compared"
        )
    for figure in FIGURES:
        if old[figure] != new[figure]:
            yield Change(new["name"], new["arch"], figure, old[figure], new[figure])


def _place(kernel: Mapping[str, Any]) -> tuple[str, str, str, str]:
    return (kernel["module"], kernel["library"], kernel["name"], kernel["arch"])
