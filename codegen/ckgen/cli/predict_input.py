"""What `predict eval` and `predict fit` have in common: the timed rows of tables, with what could have run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ckgen.cli.options import PATH, json_option
from ckgen.cli.output import errors_of, progress
from ckgen.model.errors import InputError, UsageError

if TYPE_CHECKING:
    from ckgen.predict.arrays import Weighed

_JOURNAL = "Journals of `ckgen tune --exhaustive`: what losers of the tables' rows took; may be repeated."
F = TypeVar("F", bound=Callable[..., Any])
_TABLES = "Tables or folders of them; may be repeated.  [default: the shipped ones]"


def rows_options(function: F) -> F:
    """Which rows count."""
    for option in (
        json_option,
        click.option("--module", metavar="NAME", help="Only rows of this module, such as a8w8_blockscale."),
        click.option("--arch", metavar="GFX", help="Only rows of this arch, such as gfx942."),
        click.option("--journal", "journals", type=PATH, multiple=True, metavar="JSONL", help=_JOURNAL),
        click.option("--tables", type=PATH, multiple=True, metavar="PATH", help=_TABLES),
    ):
        function = option(function)
    return function


def weighed_sets(params: Mapping[str, Any]) -> list[list[Weighed]]:
    """The rows by kind and target. InputError for wrong tables; UsageError where no row is left."""
    from ckgen import paths
    from ckgen.families.gemm.predicted.chip import chip_of
    from ckgen.learn.losers import times_of_losers
    from ckgen.model.arch import ArchKind
    from ckgen.model.target import Target
    from ckgen.plan.options import PlanOptions
    from ckgen.plan.planner import make_plan
    from ckgen.predict.arrays import Weighed
    from ckgen.predict.judge import of_kinds
    from ckgen.predict.measured import MeasuredSet, measured_sets, with_timed_problems
    from ckgen.specs.archs import load_arch, load_archs
    from ckgen.tune.journal import read_journals

    contents = read_journals(params.get("journals", ()))
    archs = load_archs()
    asked = {load_arch(params["arch"]).name: archs[params["arch"]]} if params["arch"] else archs
    targets = tuple(Target(a.name, a.default_cu_num) for a in asked.values() if a.kind is ArchKind.GPU)
    if not targets:
        raise UsageError(f"{params['arch']} is a CPU: `ckgen predict calibrate` judges by a journal of its own times")
    tuning = tuple(params["tables"]) or paths.shipped_tables()
    with progress("reading tables"):
        plan = make_plan(PlanOptions(targets=targets, tuning=tuning, every_count=True), archs)
    if errors_of(plan.diagnostics):
        raise InputError(errors_of(plan.diagnostics))
    sets = [one for one in measured_sets(plan) if params["module"] in (None, one.module)]
    if not sets:
        raise UsageError("no timed row of a GEMM that ckgen builds is in these tables: see `ckgen tables stats`")

    def weighed(one: MeasuredSet) -> Weighed:
        lost = times_of_losers(contents, one.signature, one.target)
        return Weighed(with_timed_problems(one, lost), chip_of(archs[one.target.gfx], one.target), lost)

    return of_kinds(sets, weighed)
