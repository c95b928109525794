"""`ckgen generate`: options in, a published tree or a report of what would change."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ckgen.cli.chosen import chosen
from ckgen.cli.errors import Command, error_document
from ckgen.cli.generate_report import Mode, Request, report_json, report_text, reported, stale_note
from ckgen.cli.option_values import check_target_name
from ckgen.cli.options import (
    PATH,
    assume_option,
    backends_option,
    json_option,
    kernel_set_option_with,
    kernels_option,
    module_option,
    ops_option,
    policy_option,
    profile_option,
    quiet_option,
    signatures_option,
    targets_option,
    tuning_option,
)
from ckgen.cli.output import error_summary, errors_of, plural, progress, say, say_diagnostics, show_json
from ckgen.cli.settings import settings
from ckgen.cli.shared import is_flag_given
from ckgen.cli.why_not import text_of
from ckgen.families.common.policy import MPolicy
from ckgen.model.diagnostic import Diagnostic, Location, Severity
from ckgen.model.errors import InputError, UsageError
from ckgen.model.fate import FateKind
from ckgen.plan.options import PlanOptions

if TYPE_CHECKING:
    from ckgen.emit.generate import Generation
    from ckgen.model.arch import ArchSpec
    from ckgen.plan.model import GenerationPlan

DRIFT = 1
_CHOOSING = {
    "targets": "--targets",
    "ops": "--ops",
    "tuning": "--tuning",
    "module": "--module",
    "assume_gfx": "--assume-gfx",
    "assume_dtype": "--assume-dtype",
    "kernel_sets": "--kernel-set",
    "kernels": "--kernels",
    "signatures": "--signatures",
    "backends": "--backend",
    "profiles": "--profile",
    "strict": "--strict",
    "m_policy": "--m-policy",
    "strict_layers": "--strict-layers",
}
"""The options that say which instances there are, by parameter."""
STRICT_HELP = "A row whose kernel cannot be built is an error; with --check, so is another table that changes nothing."
VERBOSE_HELP = "List every row that a filter leaves out or that cannot be built."
KERNEL_SET_HELP = "Further kernels to build: a file, or a shipped set (ci, full)."


@click.command(cls=Command, name="generate", short_help="Write the C++ library for a list of targets.")
@targets_option
@ops_option
@tuning_option
@module_option
@assume_option
@kernel_set_option_with(KERNEL_SET_HELP)
@kernels_option
@signatures_option
@backends_option()
@profile_option
@click.option("--registry", type=PATH, metavar="JSON", help="Exactly the instances that `ckgen export` printed there.")
@policy_option
@click.option("--strict", is_flag=True, help=STRICT_HELP)
@click.option("--strict-layers", is_flag=True, help="A row that a later --tuning overrides is an error.")
@click.option("--out", type=PATH, default="ckgen_generated", show_default=True, help="The folder to write.")
@click.option("--name", default="ckgen_generated", show_default=True, help="C++ namespace and CMake target.")
@click.option("--check", is_flag=True, help="Write nothing; exit 1 with a diff if a generated file is out of date.")
@click.option("--diff", is_flag=True, help="Write nothing; show what would change as a diff.")
@click.option("--dry-run", is_flag=True, help="Write nothing; list what would be added, changed and removed.")
@click.option("--list-outputs", is_flag=True, help="Write nothing; list every file of the folder.")
@click.option("--depfile", type=PATH, help="Write a Makefile rule of everything that was read.")
@click.option("--stamp", type=PATH, help="Touch this file last; the target of the rule in --depfile.")
@click.option("--verbose", is_flag=True, help=VERBOSE_HELP)
@click.option("--time-phases", is_flag=True, help="Say how long each phase took.")
@quiet_option
@json_option
def command(**params: Any) -> int:
    """Write the C++ library for a list of targets.

    Without --targets, CKGEN_TARGETS, GPU_ARCHS or a ckgen.toml says what to build for. A second run with nothing new
    touches nothing. With --registry, the document alone says what to build.
    """
    from ckgen.emit.generate import generate
    from ckgen.specs.archs import load_archs

    mode = _mode(params)
    archs = load_archs()
    options = _registry_options(params) if params["registry"] is not None else _options(params, archs)
    told = ("tuning", "kernel_sets", "profiles")
    layers, sets, profiles = (() if params["registry"] is not None else tuple(params[name]) for name in told)
    request = Request(options, params["name"], params["out"], layers, sets, profiles, mode)
    check_target_name(request.name)
    out = _usable_out(request.out)
    if mode is Mode.WRITE:
        _keep_working_directory(request.out)
    try:
        with progress("generating"):
            made = generate(
                options, archs, request.name, out, dry_run=mode is not Mode.WRITE, plans_anyway=params["verbose"]
            )
    except InputError as error:
        return _refused(error, options, params["as_json"])
    _say_findings(made)
    if params["verbose"] and made.plan is not None:
        _say_rows(made.plan)
    if params["time_phases"]:
        _say_phases(made)
    if mode is Mode.WRITE:
        _finish(options, out, params["depfile"], params["stamp"])
    if params["as_json"]:
        show_json(report_json(request, made, out, phases=params["time_phases"]))
    else:
        if (note := stale_note(request, made)) is not None:
            say(note)
        report_text(request, made, out)
    return DRIFT if mode is Mode.CHECK and reported(request, made) else 0


def _options(params: Mapping[str, Any], archs: Mapping[str, ArchSpec]) -> PlanOptions:
    return replace(
        chosen(params, archs),
        m_policy=MPolicy(params["m_policy"]),
        strict=params["strict"],
        strict_layers=params["strict_layers"],
    )


def _registry_options(params: Mapping[str, Any]) -> PlanOptions:
    """UsageError for any other option that chooses instances."""
    given = next((word for name, word in _CHOOSING.items() if is_flag_given(name)), None)
    if given is not None:
        raise UsageError(f"--registry tells all instances; {given} does not go with it")
    return PlanOptions(targets=(), registry=params["registry"])


def _mode(params: Mapping[str, Any]) -> Mode:
    asked = [mode for mode in Mode if mode is not Mode.WRITE and params[mode.value.replace("-", "_")]]
    if len(asked) > 1:
        raise click.UsageError(f"--{asked[0].value} and --{asked[1].value} exclude each other")
    if asked and (params["depfile"] or params["stamp"]):
        raise click.UsageError(f"--depfile and --stamp need a run that writes; --{asked[0].value} does not")
    return asked[0] if asked else Mode.WRITE


def _usable_out(out: Path) -> Path:
    """The folder, its links followed; InputError (G003) where a file stands in its place or above it."""
    if out.name in ("", "..") or out.is_symlink():
        out = out.resolve()
    if not out.name:
        raise UsageError(f"--out {out}: choose a folder below it")
    standing = next((place for place in (out, *out.parents) if os.path.lexists(place)), None)
    if standing is not None and not standing.is_dir():
        hint = "choose an --out that can be written"
        raise InputError(
            [Diagnostic("G003", "cannot write the tree: not a directory", Location(str(standing)), hint=hint)]
        )
    return out


def _keep_working_directory(out: Path) -> None:
    """UsageError where publishing would replace the folder that this process and its shell stand in."""
    if Path.cwd().is_relative_to(out.resolve()):
        raise UsageError(
            f"--out {out} is or holds the working directory: the folder is replaced as a whole, which would leave the "
            "shell in a deleted one; choose a folder below, or run from outside it"
        )


def _refused(error: InputError, options: PlanOptions, as_json: bool) -> int:
    from ckgen.tables.load import find_tables

    if as_json:
        show_json(error_document(error))
    say_diagnostics(d for d in error.diagnostics if d.severity is not Severity.NOTE)
    files = len(find_tables(options.tuning)) + len(_further_files(options))
    say(f"{error_summary(error.diagnostics, files)}; nothing was written")
    return error.exit_code


def _say_findings(made: Generation) -> None:
    """Warnings in full, notes by number: `ckgen validate` shows them."""
    if made.plan is None:
        return
    notes = [d for d in made.plan.diagnostics if d.severity is Severity.NOTE]
    assert not errors_of(made.plan.diagnostics)
    say_diagnostics(d for d in made.plan.diagnostics if d.severity is Severity.WARNING)
    if notes:
        say(f"{plural(len(notes), 'note')} on the tables: ckgen validate shows them")


def _say_rows(plan: GenerationPlan) -> None:
    """Every row whose kernel is left out or cannot be built."""
    from ckgen.report.rows import row_fates

    for one in row_fates(plan):
        if one.fate.kind in (FateKind.LEFT_OUT, FateKind.UNAVAILABLE):
            say(text_of(one))


def _say_phases(made: Generation) -> None:
    total = sum(seconds for _, seconds in made.phases)
    for name, seconds in (*made.phases, ("total", total)):
        say(f"{name:<8} {seconds:8.3f} s")


def _further_files(options: PlanOptions) -> tuple[Path, ...]:
    """What is read beside tables."""
    registry = (options.registry,) if options.registry is not None else ()
    return (*options.kernel_sets, *options.profiles, *registry)


def _finish(options: PlanOptions, out: Path, depfile: Path | None, stamp: Path | None) -> None:
    """The depfile, then the stamp."""
    if depfile is not None:
        from ckgen.emit.depfile import depfile_text
        from ckgen.emit.manifest import MANIFEST, generator_files
        from ckgen.tables.load import find_tables

        tables = (table.source for table in find_tables(options.tuning))
        file = settings(click.get_current_context())
        read = (*tables, *_further_files(options), *((file.path,) if file is not None else ()))
        text = depfile_text(stamp or out / MANIFEST, (*generator_files(), *read))
        depfile.parent.mkdir(parents=True, exist_ok=True)
        depfile.write_text(text, encoding="utf-8", errors="surrogateescape")
    if stamp is not None:
        stamp.parent.mkdir(parents=True, exist_ok=True)
        stamp.touch()
