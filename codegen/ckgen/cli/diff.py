"""`ckgen diff`: what tables choose otherwise than others did."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ckgen.cli.errors import Command
from ckgen.cli.option_values import targets_or_env
from ckgen.cli.options import PATH, module_option, quiet_option, targets_option
from ckgen.cli.output import errors_of, progress, say, show, show_json, show_verbatim
from ckgen.model.errors import InputError

if TYPE_CHECKING:
    from ckgen.model.arch import ArchSpec
    from ckgen.plan.inputs import PlanInputs
    from ckgen.plan.model import GenerationPlan
    from ckgen.plan.options import PlanOptions

FORMATS = ("text", "markdown", "json")
FINDINGS = 1


@click.command(cls=Command, name="diff", short_help="Say what tables choose otherwise than others did.")
@click.argument("old", type=PATH)
@click.argument("new", type=PATH)
@targets_option
@module_option
@click.option("--format", "form", type=click.Choice(FORMATS), default="text", show_default=True, help="What to print.")
@click.option("--html", type=PATH, metavar="HTML", help="Write a page too.")
@quiet_option
def command(**params: Any) -> int:
    """Say what tables choose otherwise than others did.

    OLD and NEW are tables or folders of tables. Of every problem that one of them measured: which kernel won, which
    answers now, and by which tier; rows and instances that came and went; times where both have them. Without
    --targets: of all that the rows name. Exit 1: something differs.
    """
    from ckgen.cli.diff_text import markdown_of, text_of
    from ckgen.report.difference import difference, differs

    with progress("reading tables"):
        old, new = _plans(params)
        document = difference(old, new, (str(params["old"]), str(params["new"])))
    if params["html"] is not None:
        _write(params["html"], document)
    if params["form"] == "json":
        show_json(document)
    elif params["form"] == "markdown":
        show_verbatim(markdown_of(document))
    else:
        show(text_of(document))
    return FINDINGS if differs(document) else 0


def _plans(params: Mapping[str, Any]) -> tuple[GenerationPlan, GenerationPlan]:
    """Both for the targets of both: what is built besides tables must be the same."""
    from ckgen.families.registry import FAMILIES
    from ckgen.plan.options import PlanOptions
    from ckgen.specs.archs import load_archs

    archs = load_archs()
    targets = targets_or_env(params["targets"], archs) if params["targets"] else None
    base = PlanOptions(targets=targets, ops=frozenset(FAMILIES), module=params["module"], every_row=True)
    asked = [replace(base, tuning=(Path(params[side]),)) for side in ("old", "new")]
    known = [_known(options, archs) for options in asked]
    every = tuple(sorted({target for one in known for target in one.targets}))
    known = [
        one if one.targets == every else _known(replace(options, targets=every), archs)
        for one, options in zip(known, asked, strict=True)
    ]
    old, new = map(_plan, known)
    return old, new


def _known(options: PlanOptions, archs: Mapping[str, ArchSpec]) -> PlanInputs:
    from ckgen.plan.inputs import plan_inputs

    return plan_inputs(options, archs)


def _plan(known: PlanInputs) -> GenerationPlan:
    from ckgen.plan.planner import has_errors, plan_of

    plan = plan_of(known, ())
    if has_errors(plan):
        raise InputError(errors_of(plan.diagnostics))
    return plan


def _write(place: Path, document: Mapping[str, Any]) -> None:
    from ckgen.report.difference_page import difference_page
    from ckgen.tables.files import write_files

    page = difference_page(document).encode()
    write_files({place: page})
    say(f"{place}: {len(page):,} bytes")
