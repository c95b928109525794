"""Which module a table of GEMMs belongs to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import PurePath

from ckgen.model.diagnostic import Diagnostic, Location
from ckgen.model.module import Module

_BATCHED = "batched_"


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
