"""Kernel names of the peer's tables: the grammars of grammars.json, compiled once, to read and to write names."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ckgen.families.common.asm_config import ASM, AsmConfig
from ckgen.families.common.name_forms import NameForm, name_form
from ckgen.families.common.rows import Identified
from ckgen.families.gemm import mxfp8_tables as hip_tables
from ckgen.families.gemm.asm_kernels import asm_kernel_of, asm_kernels
from ckgen.families.gemm.config import (
    CkBlockScaleConfig,
    CkPreshuffledConfig,
    CkRowwiseConfig,
    CkTileConfig,
    Scheduler,
    TilePipeline,
)
from ckgen.model.backend import Backend

NamedConfig = CkRowwiseConfig | CkBlockScaleConfig | CkPreshuffledConfig | CkTileConfig

_CONFIGS: Mapping[str, type[NamedConfig]] = {
    kind.__name__: kind for kind in (CkRowwiseConfig, CkBlockScaleConfig, CkPreshuffledConfig, CkTileConfig)
}


@dataclass(frozen=True, slots=True)
class Grammar:
    """One kernel-name form: which modules and library use it, and what it makes."""

    modules: tuple[str, ...]
    library: str
    backend: Backend
    form: NameForm[NamedConfig]

    def parse(self, name: str) -> NamedConfig | None:
        """The Config that `name` says; None if the name has another form."""
        return self.form.parse(name)

    def format(self, config: NamedConfig) -> str | None:
        """The name of `config`; None if this form cannot say all of its fields."""
        return self.form.format(config)

    def hint(self, *, full: bool) -> str:
        """The form for people; cut after the tile unless `full`."""
        return self.form.hint(_labels(), full=full)


@cache
def grammars() -> tuple[Grammar, ...]:
    """Every kernel-name form."""
    return tuple(_grammar(entry, _data()["macros"]) for entry in _data()["grammars"])


@cache
def identify(module: str, library: str, kernel_name: str) -> Identified | None:
    """What a kernel name says in a table of `module`; None if it has no form of that module and library.

    Names of the library `asm` have no form: known are those of the kernels that AMD ships for the module.
    """
    if library == ASM:
        shipped = asm_kernels().get(kernel_name)
        return Identified(shipped.config, Backend.ASM) if shipped is not None and shipped.module == module else None
    if library == hip_tables.LIBRARY and module == hip_tables.MODULE:
        own = hip_tables.config_named(kernel_name)
        return Identified(own, Backend.HIP) if own is not None else None
    for grammar in grammars():
        if module in grammar.modules and library == grammar.library:
            config = grammar.parse(kernel_name)
            if config is not None:
                return Identified(config, grammar.backend)
    return None


@cache
def fits(kernel_name: str) -> frozenset[str]:
    """The modules whose tables may hold this name."""
    return frozenset(
        module for grammar in grammars() if grammar.form.regex.fullmatch(kernel_name) for module in grammar.modules
    )


def table_name(module: str, config: NamedConfig | AsmConfig) -> str | None:
    """The name that a table of `module` gives to `config`; None if it has no name there."""
    if isinstance(config, AsmConfig):
        shipped = asm_kernel_of(config)
        return shipped.symbol if shipped.module == module else None
    names = (grammar.format(config) for grammar in grammars() if module in grammar.modules)
    return next((name for name in names if name is not None), None)


def describe_grammar(module: str, *, full: bool = False) -> str:
    """The forms of a module's kernel names for an error hint, joined by `or`; empty for a module without any."""
    if module == hip_tables.MODULE:
        return hip_tables.describe_names()
    return " or ".join(grammar.hint(full=full) for grammar in grammars() if module in grammar.modules)


@cache
def _data() -> dict[str, Any]:
    data: dict[str, Any] = json.loads(Path(__file__).with_name("grammars.json").read_text(encoding="utf-8"))
    return data


def _labels() -> Mapping[str, list[str]]:
    labels: Mapping[str, list[str]] = _data()["labels"]
    return labels


def _grammar(entry: Mapping[str, Any], macros: Mapping[str, str]) -> Grammar:
    config = _CONFIGS[entry["config"]]
    form = name_form(entry["pattern"], macros, config, entry.get("fixed", {}), _choice)
    return Grammar(tuple(entry["modules"]), entry["library"], Backend(entry["backend"]), form)


def _choice(field: str, value: Any) -> Any:
    """A word of a name or of `fixed` as the field's type."""
    if field == "scheduler":
        return None if value is None else Scheduler(value)
    if field == "pipeline":
        return int(value) if str(value).isdigit() else TilePipeline(value)
    return value
