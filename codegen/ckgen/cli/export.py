"""`ckgen export`: a registry as one JSON document, from which `generate --registry` makes an equal one."""

from __future__ import annotations

from typing import Any

import click

from ckgen.cli.errors import Command
from ckgen.cli.option_values import (
    assumed_dtype,
    assumptions,
    backends_of,
    kernel_sets_of,
    ops_of,
    profiles_of,
    targets_or_env,
    tuning_or_shipped,
)
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
    from ckgen.plan.options import PlanOptions
    from ckgen.plan.planner import make_plan
    from ckgen.plan.registry_document import registry_text
    from ckgen.specs.archs import load_archs

    archs = load_archs()
    options = PlanOptions(
        targets=targets_or_env(params["targets"], archs),
        ops=ops_of(params["ops"]),
        tuning=tuning_or_shipped(params["tuning"]),
        module=params["module"],
        kernel_sets=kernel_sets_of(params["kernel_sets"], ops_of(params["ops"])),
        profiles=profiles_of(params["profiles"]),
        kernels=tuple(params["kernels"]),
        signatures=tuple(params["signatures"]),
        backends=backends_of(params["backends"]),
        assume_gfx=assumptions(params["assume_gfx"], archs),
        assume_dtype=assumed_dtype(params["assume_dtype"]),
    )
    with progress("reading tables"):
        plan = make_plan(options, archs)
    if errors_of(plan.diagnostics):
        raise InputError(errors_of(plan.diagnostics))
    show_verbatim(registry_text(plan).removesuffix("\n"))
    return 0
