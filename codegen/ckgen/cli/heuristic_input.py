"""What the commands on decision rules have in common: what is ruled, on which arch, and its measurements."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ckgen.cli.options import PATH, json_option
from ckgen.cli.output import errors_of, progress, say
from ckgen.model.errors import InputError, UsageError

if TYPE_CHECKING:
    from ckgen.learn.examples import Example
    from ckgen.learn.growth import Growth

F = TypeVar("F", bound=Callable[..., Any])

_ARCH = (
    "The arch, such as gfx942, or native; with a count as in gfx942:80, or a product behind it, only what was "
    "measured there."
)
_TABLES = "Tables or folders of them; may be repeated.  [default: the shipped ones]"
_JOURNAL = "Journals of `ckgen tune --exhaustive` in place of tables, of a signature; may be repeated."
_LIBRARY = "Only winners of this library, such as ck: tables differ in what was tried."
_UNSURE = "Share of the commonest winner below which a leaf has no answer; of journals, the part lost above which."


@dataclass(frozen=True, slots=True)
class Measurements:
    """Of a module of tables or a signature of journals, on an arch; `twice` are pairs of rows of one problem."""

    subject: str
    arch: str
    rows: tuple[Example, ...]
    twice: tuple[tuple[Example, Example], ...] = ()

    @property
    def sku(self) -> str:
        """The product that all of it was measured on; empty where there are several, or none is told."""
        from ckgen.learn.rule_file import product_of

        return product_of(self.rows)

    @property
    def is_timed(self) -> bool:
        """Whether it is known what every candidate costs."""
        return bool(self.rows[0].costs)


def rule_options(function: F) -> F:
    """The module or signature, the arch, and JSON."""
    for option in (
        json_option,
        click.option("--arch", "--target", "arch", required=True, metavar="GFX", help=_ARCH),
        click.argument("module"),
    ):
        function = option(function)
    return function


def tables_options(function: F) -> F:
    """Which measurements count."""
    for option in (
        click.option("--library", default="", metavar="NAME", help=_LIBRARY),
        click.option("--journal", "journals", type=PATH, multiple=True, metavar="JSONL", help=_JOURNAL),
        click.option("--tables", type=PATH, multiple=True, metavar="PATH", help=_TABLES),
    ):
        function = option(function)
    return function


def growth_options(function: F) -> F:
    """How far a tree grows."""
    for option in (
        click.option("--unsure", type=click.FloatRange(0, 1), default=0.25, show_default=True, help=_UNSURE),
        click.option("--least", type=click.IntRange(1), default=3, show_default=True, help="Rows of a leaf."),
        click.option("--leaves", type=click.IntRange(2, 4096), default=48, show_default=True, help="At most."),
    ):
        function = option(function)
    return function


def growth_of(params: Mapping[str, Any]) -> Growth:
    """As the options say."""
    from ckgen.learn.growth import Growth

    return Growth(params["leaves"], params["least"], params["unsure"])


@dataclass(frozen=True, slots=True)
class Devices:
    """Of an arch those with that count and of that product, where they are told."""

    gfx: str
    cu_num: int | None = None
    sku: str = ""

    def holds(self, one: Example) -> bool:
        """Whether it was measured there."""
        return self.cu_num in (None, one.asked.cu_num) and self.sku in ("", one.sku)


def arch_of(text: str) -> Devices:
    """What --arch says, where `native` is this CPU's level and product; UsageError for what means nothing."""
    from ckgen.specs.archs import load_arch
    from ckgen.specs.native import own_cpu

    name, *more = text.split(":")
    count, sku, *_ = [*more, "", ""]
    if len(more) > 2 or (more and not (count.isdecimal() and int(count))):
        raise UsageError(f"--arch: '{text}' is not GFX, GFX:CUS or GFX:CUS:PRODUCT")
    own = own_cpu() if name == "native" else None
    arch = load_arch(own.gfx if own is not None else name)
    if sku and not arch.has_product(int(count), sku):
        raise UsageError(f"--arch: {sku} is no product of {arch.name} with {count} CUs")
    return Devices(arch.name, int(count) if more else None, sku or (own.sku if own is not None else ""))


def measurements(params: Mapping[str, Any]) -> Measurements:
    """The winners of a module's tables, or all candidates' times of a signature's journals.

    InputError for wrong tables and journals; UsageError for an unknown arch, module or signature, or where none is
    left.
    """
    asked = arch_of(params["arch"])
    if params["journals"] and params["tables"]:
        raise UsageError("give --tables or --journal, not both: journals know what losers cost")
    found = _of_journals(params, asked.gfx) if params["journals"] else _of_tables(params, asked.gfx)
    rows = tuple(filter(asked.holds, found.rows))
    kept = tuple(one for one in rows if params["library"] in ("", one.winner.library))
    if not kept:
        libraries = ", ".join(sorted({one.winner.library for one in rows}))
        where = "journals" if params["journals"] else "tables"
        why = f"their winners are of {libraries}" if rows else "see `ckgen tables stats`"
        raise UsageError(f"no row of {params['module']} on {params['arch']} is selected in these {where}: {why}")
    return Measurements(found.subject, found.arch, kept, found.twice)


def _of_tables(params: Mapping[str, Any], arch: str) -> Measurements:
    from ckgen import paths
    from ckgen.families.gemm.modules import modules
    from ckgen.learn.examples import rows_of
    from ckgen.model.target import Target
    from ckgen.plan.options import PlanOptions
    from ckgen.plan.planner import make_plan
    from ckgen.specs.archs import load_arch, load_archs

    module = params["module"]
    if module not in modules():
        raise UsageError(f"no module {module!r} of GEMM tables (known: {', '.join(sorted(modules()))})")
    target = Target(arch, load_arch(arch).default_cu_num)
    tuning = tuple(params["tables"]) or paths.shipped_tables()
    with progress("reading tables"):
        plan = make_plan(PlanOptions(targets=(target,), tuning=tuning, every_count=True), load_archs())
    errors = errors_of(plan.diagnostics)
    if errors:
        raise InputError(errors)
    found = rows_of(plan, module, arch)
    return Measurements(module, arch, found.selected, found.twice)


def _of_journals(params: Mapping[str, Any], arch: str) -> Measurements:
    from ckgen.families.gemm.signature import parse_canonical
    from ckgen.learn.journals import examples_of_journals
    from ckgen.tune.journal import read_journals

    signature = parse_canonical(params["module"]).canonical()
    contents = read_journals(params["journals"])
    for text in contents.torn:
        say(f"note: {text}")
    return Measurements(signature, arch, examples_of_journals(contents, signature, arch))
