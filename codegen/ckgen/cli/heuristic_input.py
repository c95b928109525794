"""What the commands on decision rules have in common: a module, an arch, and its measured winners."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ckgen.cli.options import PATH, json_option
from ckgen.cli.output import errors_of, progress
from ckgen.model.errors import InputError, UsageError

if TYPE_CHECKING:
    from ckgen.learn.examples import Example
    from ckgen.learn.fit import Growth

F = TypeVar("F", bound=Callable[..., Any])

_TABLES = "Tables or folders of them; may be repeated.  [default: the shipped ones]"
_LIBRARY = "Only winners of this library, such as ck: tables differ in what was tried."


def rule_options(function: F) -> F:
    """The module, the arch, and JSON."""
    for option in (
        json_option,
        click.option("--arch", required=True, metavar="GFX", help="The arch, such as gfx942."),
        click.argument("module"),
    ):
        function = option(function)
    return function


def tables_options(function: F) -> F:
    """Which rows count."""
    for option in (
        click.option("--library", default="", metavar="NAME", help=_LIBRARY),
        click.option("--tables", type=PATH, multiple=True, metavar="PATH", help=_TABLES),
    ):
        function = option(function)
    return function


def growth_options(function: F) -> F:
    """How far a tree grows."""
    for option in (
        click.option("--unsure", type=click.FloatRange(0, 1), default=0.25, show_default=True,
                     help="Share of the commonest winner below which a leaf has no answer."),
        click.option("--least", type=click.IntRange(1), default=3, show_default=True, help="Rows of a leaf."),
        click.option("--leaves", type=click.IntRange(2, 4096), default=48, show_default=True, help="At most."),
    ):  # fmt: skip
        function = option(function)
    return function


def growth_of(params: Mapping[str, Any]) -> Growth:
    """As the options say."""
    from ckgen.learn.fit import Growth

    return Growth(params["leaves"], params["least"], params["unsure"])


def examples(params: Mapping[str, Any]) -> tuple[Example, ...]:
    """The winners of the module on the arch.

    InputError for wrong tables; UsageError for an unknown arch or module, or where no row is left.
    """
    from ckgen import paths
    from ckgen.families.gemm.modules import modules
    from ckgen.learn.examples import examples_of
    from ckgen.model.target import Target
    from ckgen.plan.options import PlanOptions
    from ckgen.plan.planner import make_plan
    from ckgen.specs.archs import load_arch, load_archs

    module, arch = params["module"], load_arch(params["arch"])
    if module not in modules():
        raise UsageError(f"no module {module!r} of GEMM tables (known: {', '.join(sorted(modules()))})")
    target = Target(arch.name, arch.default_cu_num)
    tuning = tuple(params["tables"]) or paths.shipped_tables()
    with progress("reading tables"):
        plan = make_plan(PlanOptions(targets=(target,), tuning=tuning, every_count=True), load_archs())
    errors = errors_of(plan.diagnostics)
    if errors:
        raise InputError(errors)
    found = examples_of(plan, module, arch.name)
    kept = tuple(one for one in found if params["library"] in ("", one.winner.library))
    if not kept:
        libraries = ", ".join(sorted({one.winner.library for one in found}))
        why = f"their winners are of {libraries}" if found else "see `ckgen tables stats`"
        raise UsageError(f"no row of {module} on {arch.name} is selected in these tables: {why}")
    return kept
