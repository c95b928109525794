"""The table modules of all operations, the forms of the kernel names in their tables, and how the peer rounds M."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

from ckgen.families.common.m_policy import Rounded, Rounding
from ckgen.families.instance_dialect import TUNED
from ckgen.families.registry import FAMILIES, AnyFamily
from ckgen.model.module import Module
from ckgen.tables.dialect import Dialect


@cache
def table_modules() -> Mapping[str, Module]:
    """Every module that has tables, by name, in registry order."""
    return {name: module for family in FAMILIES.values() for name, module in family.table_modules.items()}


def describe_names(module: str) -> str:
    """The forms of a module's kernel names for an error hint, joined by `or`; empty for a module without any."""
    return "" if module not in table_modules() else _owner(module).describe_names(module)


def fits(kernel_name: str) -> frozenset[str]:
    """The modules whose tables may hold this name, of those that files' names tell."""
    return frozenset().union(*(family.fits(kernel_name) for family in FAMILIES.values()))


def name_forms(module: str) -> Iterator[tuple[str, str]]:
    """Library and form of the names of a module's kernels; nothing for one that has no tables."""
    if module in table_modules():
        yield from _owner(module).name_forms(module)


@cache
def table_dialects() -> tuple[Dialect, ...]:
    """Every kind of table of every operation, each once, then that of all."""
    of_families = dict.fromkeys(dialect for family in FAMILIES.values() for dialect in family.dialects)
    return (*of_families, TUNED)


@cache
def all_roundings() -> Mapping[str, Rounding]:
    """Every rounding of M by name, in registry order."""
    return {name: rounding for family in FAMILIES.values() for name, rounding in family.roundings.items()}


def rounded_module(module: str) -> Rounded:
    """How the peer rounds M for a module."""
    return _owner(module).rounded(module)


def _owner(module: str) -> AnyFamily:
    return next(family for family in FAMILIES.values() if module in family.table_modules)
