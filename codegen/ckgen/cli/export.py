"""`ckgen export`: a registry as one JSON document, from which `generate --registry` makes an equal one."""

from __future__ import annotations

from typing import Any

import click

from ckgen.cli.errors import Command
from ckgen.cli.options import assume_option, choosing_options, module_option, quiet_option
from ckgen.cli.output import errors_of, progress, show_verbatim
from ckgen.model.errors import InputError


@click.command(cls=Command, name="export", short_help="Print every instance as one JSON document.")
@choosing_options
@module_option
@assume_option
@quiet_option
def command(**params: Any) -> int:
    """Print every instance that `ckgen generate` would write for these options, as one JSON document.

    `ckgen generate --registry FILE` makes the same library of it, tables and all; its form is that of
    `ckgen schema registry`.
    """
    from ckgen.cli.chosen import chosen
    from ckgen.plan.planner import make_plan
    from ckgen.plan.registry_document import registry_text
    from ckgen.specs.archs import load_archs

    archs = load_archs()
    options = chosen(params, archs)
    with progress("reading tables"):
        plan = make_plan(options, archs)
    if errors_of(plan.diagnostics):
        raise InputError(errors_of(plan.diagnostics))
    show_verbatim(registry_text(plan).removesuffix("\n"))
    return 0
