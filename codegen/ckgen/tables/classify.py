"""Which kind of table a header announces, and which module a tuned GEMM table belongs to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from pathlib import PurePath

from ckgen.model.diagnostic import Diagnostic, Location
from ckgen.model.module import Module

_BATCHED = "batched_"


class TableKind(Enum):
    """The dialects; everything else is UNKNOWN."""

    GEMM_TUNED = "gemm_tuned"
    GEMM_SHAPES = "gemm_shapes"
    MOE_TUNED = "moe_tuned"
    MOE_SHAPES = "moe_shapes"
    DECODE_TUNED = "decode_tuned"
    DECODE_EXPERTS = "decode_experts"
    FMHA_TUNED = "fmha_tuned"
    UNKNOWN = "unknown"


def classify(header: Sequence[str]) -> TableKind:
    """The kind of the table with these column names."""
    names = set(header)
    tuned = bool({"us", "kernelName"} & names)
    if {"token", "topk"} <= names:
        return TableKind.MOE_TUNED if tuned or "kernelName1" in names else TableKind.MOE_SHAPES
    if {"N", "K", "a_div", "use_hip"} <= names:
        return TableKind.DECODE_EXPERTS
    if {"M", "N", "K", "use_hip"} <= names:
        return TableKind.DECODE_TUNED
    if {"heads_q", "seqlen_k", "kernelName"} <= names:
        return TableKind.FMHA_TUNED
    if {"M", "N", "K"} <= names:
        return TableKind.GEMM_TUNED if tuned else TableKind.GEMM_SHAPES
    return TableKind.UNKNOWN


def resolve_module(
    path: str,
    batched: bool,
    asked: str | None,
    kernels: Iterable[str],
    modules: Mapping[str, Module],
    fits: Callable[[str], frozenset[str]],
) -> Module | None:
    """The module asked for, else the one that the base name tells, else the one that all kernel names fit."""
    name = asked or _longest_name(PurePath(path).name, batched, modules)
    if name is not None:
        module = _with_batch(modules[name], batched, modules)
        if module or asked:
            return module
    parsed = [found for found in map(fits, sorted(set(kernels))) if found]
    common = frozenset.intersection(*parsed) if parsed else frozenset()
    fitting = [name for name in sorted(common & modules.keys()) if modules[name].batched == batched]
    return modules[fitting[0]] if len(fitting) == 1 else None


def ambiguous_module(display: str, batched: bool, asked: str | None, modules: Mapping[str, Module]) -> Diagnostic:
    """T010: asks for `--module`."""
    column = "has the batch column B" if batched else "has no batch column B"
    if asked:
        message = f"module {asked!r} does not fit: the table {column}"
    else:
        message = f"cannot tell the module of table {PurePath(display).name!r}"
    choices = ", ".join(name for name, module in sorted(modules.items()) if module.batched == batched)
    return Diagnostic(
        "T010",
        message,
        Location(display),
        (f"the table {column}; expected one of: {choices}",),
        "say which: --module NAME, or name the file after its module",
    )


def _longest_name(base_name: str, batched: bool, modules: Mapping[str, Module]) -> str | None:
    """The module whose name, or for a table with batches whose name without `batched_`, is the one longest found."""
    found: dict[str, tuple[int, bool]] = {}
    for name, module in modules.items():
        if name in base_name:
            found[name] = (len(name), False)
        elif batched and module.batched and name.removeprefix(_BATCHED) in base_name:
            found[name] = (len(name.removeprefix(_BATCHED)), True)
    longest = [name for name, length in found.items() if length == max(found.values())]
    return longest[0] if len(longest) == 1 else None


def _with_batch(module: Module, batched: bool, modules: Mapping[str, Module]) -> Module | None:
    """The module if it agrees with the column B; for a table with batches, else its batched sibling."""
    if module.batched == batched:
        return module
    return modules.get(_BATCHED + module.name) if batched else None
