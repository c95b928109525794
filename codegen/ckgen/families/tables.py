"""The table modules of all operations, and the forms of the kernel names in their tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

from ckgen.families.gemm import mxfp8_tables
from ckgen.families.gemm.grammar import describe_grammar, grammars
from ckgen.families.gemm.modules import modules
from ckgen.families.moe.grammar import hints
from ckgen.families.moe.module import moe_module
from ckgen.families.registry import FAMILIES
from ckgen.model.module import Module
from ckgen.tables.dialect import Dialect


@cache
def table_modules() -> Mapping[str, Module]:
    """Every module that has tables, by name: those of GEMM, then that of MoE layers."""
    moe = moe_module().module
    return {**{name: entry.module for name, entry in modules().items()}, moe.name: moe}


def describe_names(module: str) -> str:
    """The forms of a module's kernel names for an error hint, joined by `or`; empty for a module without any."""
    return " or ".join(hints(full=False)) if module == moe_module().module.name else describe_grammar(module)


def name_forms(module: str) -> Iterator[tuple[str, str]]:
    """Library and form of the names of a module's kernels."""
    if module == moe_module().module.name:
        yield from (("ck", form) for form in hints(full=True))
    if module == mxfp8_tables.MODULE:
        yield mxfp8_tables.LIBRARY, mxfp8_tables.FORM
    for grammar in grammars():
        if module in grammar.modules:
            yield grammar.library, grammar.hint(full=True)


@cache
def table_dialects() -> tuple[Dialect, ...]:
    """Every kind of table of every operation, each once."""
    return tuple(dict.fromkeys(dialect for family in FAMILIES.values() for dialect in family.dialects))
