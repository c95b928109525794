"""`ckgen amd-check`: every AMD kernel that the tables name, compiled and judged; a report of all of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ckgen.cli.errors import Command
from ckgen.cli.option_values import assumed_dtype, assumptions, targets_or_env, tuning_or_shipped
from ckgen.cli.options import (
    PATH,
    assume_option,
    jobs_option,
    json_option,
    module_option,
    quiet_option,
    scheduler_option,
    targets_option,
    tuning_option,
)
from ckgen.cli.output import plural, progress, say, show, show_json
from ckgen.cli.shared import is_flag_given
from ckgen.model.errors import InputError, UsageError
from ckgen.plan.options import PlanOptions

if TYPE_CHECKING:
    from ckgen.build.journal import Checked, CheckedRun, Journal
    from ckgen.build.named import NamedKernel
    from ckgen.build.pool import Outcome
    from ckgen.extension import Execute
    from ckgen.model.arch import ArchSpec

FINDINGS = 1
_DEFAULT_ISA = "cdna"
"""Of the archs that a kernel set is compiled for where no targets are named."""


@click.command(cls=Command, name="amd-check", short_help="Compile and judge the AMD kernels that the tables name.")
@tuning_option
@module_option
@assume_option
@targets_option
@click.option("--kernel-set", type=PATH, metavar="SET", help="The kernels of this set, not those of tables.")
@click.option("--full", is_flag=True, help="All kernels (hours; resumes).  [default: one per module, library and arch]")
@click.option("--kernels", multiple=True, metavar="GLOB", help="Only kernels whose name fits one of the globs.")
@click.option("--limit", type=click.IntRange(1), metavar="N", help="Only the first N kernels by name.")
@jobs_option
@scheduler_option
@click.option("--retry", is_flag=True, help="Compile again what failed before.")
@click.option("--execute", is_flag=True, help="Also run one problem of each on the emulator.")
@click.option("--report-only", is_flag=True, help="Compile nothing: report what the journal says.")
@click.option("--journal", type=PATH, help="The file that every result is appended to.  [default: in ckgen's cache]")
@click.option("--out", type=PATH, help="Write summary.json, summary.html and baseline.json into this folder.")
@click.option("--against", type=PATH, metavar="JSON", help="Say what changed since this baseline.json.")
@click.option("--prefix", type=PATH, help="The toolchain's folder.  [default: as `ckgen toolchain amd`]")
@quiet_option
@json_option
def command(**params: Any) -> int:
    """Compile and judge the AMD kernels that the tables name, each on the archs that name it.

    Needs the toolchain of `ckgen toolchain amd`. What was compiled before is not compiled again; a run that was stopped
    goes on where it was. Exit 1 if a kernel fails to compile or to pass the gate.
    """
    from ckgen.build.journal import Journal
    from ckgen.build.packages.place import cache_room
    from ckgen.extension import AMD_CHECK, extension

    execute: Execute | None = None
    if params["execute"]:
        execute = extension(AMD_CHECK, "execute", "`ckgen amd-check --execute`")
    journal = Journal(params["journal"] or cache_room("amd-check") / "journal.jsonl")
    kernels = _named(params)
    if params["report_only"]:
        checked = tuple(journal.read().values())
        if params["kernel_set"] is not None:
            asked = {(one.module, one.library, one.name, one.arch) for one in kernels}
            checked = tuple(one for one in checked if one.place in asked)
        if not checked:
            raise UsageError(f"--report-only: nothing is recorded in {journal.path}")
    else:
        checked = _run(params, kernels, journal)
        if execute is not None:
            _execute(execute, params, kernels, journal)
    from ckgen.report.amd_check import summarize

    document = summarize(checked, tuple(journal.hosts().values()), kernels, tuple(journal.runs().values()))
    if params["against"] is not None:
        _compare(params["against"], document)
    return _report(document, params["out"], as_json=params["as_json"])


def _named(params: dict[str, Any]) -> tuple[NamedKernel, ...]:
    """What the tables name or the kernel set asks for, as far as it is wanted."""
    from ckgen.build.check import sample
    from ckgen.build.named import named_kernels
    from ckgen.specs.archs import load_archs

    archs = load_archs()
    if params["kernel_set"] is not None:
        with progress("reading kernel sets"):
            asked = _set_kernels(params, archs)
        return _chosen(asked, params["kernels"], params["limit"])
    options = PlanOptions(
        targets=targets_or_env(params["targets"], archs) if params["targets"] else None,
        tuning=tuning_or_shipped(params["tuning"]),
        module=params["module"],
        assume_gfx=assumptions(params["assume_gfx"], archs),
        assume_dtype=assumed_dtype(params["assume_dtype"]),
    )
    with progress("reading tables"):
        kernels = named_kernels(options, archs)
    whole = params["full"] or params["report_only"]
    return _chosen(kernels if whole else sample(kernels), params["kernels"], params["limit"])


def _set_kernels(params: dict[str, Any], archs: Mapping[str, ArchSpec]) -> tuple[NamedKernel, ...]:
    from ckgen.build.kernel_set_jobs import set_kernels
    from ckgen.families.kernel_sets import kernel_set_files, read_kernel_set

    if params["full"] or is_flag_given("tuning") or is_flag_given("module"):
        raise UsageError("--kernel-set takes a set's kernels, all of them: not with --full, --tuning or --module")
    targets = targets_or_env(params["targets"], archs) if params["targets"] else ()
    wanted = sorted({target.gfx for target in targets} or _usual_archs(archs))
    candidates = [one for file in kernel_set_files(params["kernel_set"]) for one in read_kernel_set(file)]
    return set_kernels(candidates, archs, wanted)


def _usual_archs(archs: Mapping[str, ArchSpec]) -> Iterator[str]:
    """Those of CDNA whose code can be decoded."""
    from ckgen.build.inspect.formats import ISAS

    return (arch.name for arch in archs.values() if ISAS.get(arch.family) == _DEFAULT_ISA)


def _run(params: dict[str, Any], kernels: tuple[NamedKernel, ...], journal: Journal) -> tuple[Checked, ...]:
    from ckgen.build.amd.toolchain import load
    from ckgen.build.cache import Cache, default_cache
    from ckgen.build.check import check
    from ckgen.build.launcher import launcher_for
    from ckgen.build.pool import default_limits
    from ckgen.progress import Progress
    from ckgen.specs.archs import load_archs

    archs = load_archs()
    toolchain = load(params["prefix"])
    line = Progress()

    def heard(checked: Checked, outcome: Outcome | None) -> None:
        text = _failure_text(checked, outcome)
        if text:
            line.clear()
            say(text)

    cache = Cache(default_cache())
    limits = default_limits(
        params["jobs"],
        launcher_for(toolchain.compiler, cache.folder),
        retry=params["retry"],
        scheduler=params["scheduler"] or "",
    )
    try:
        return check(kernels, toolchain, archs, cache, limits, journal, heard, line)
    finally:
        line.clear()


def _execute(execute: Execute, params: dict[str, Any], kernels: tuple[NamedKernel, ...], journal: Journal) -> None:
    from ckgen.build.amd.toolchain import load
    from ckgen.progress import Progress
    from ckgen.specs.archs import load_archs

    line = Progress()

    def told(text: str) -> None:
        line.clear()
        say(text)

    def heard(run: CheckedRun) -> None:
        if run.right and not run.findings:
            return
        why = "; ".join([*run.trouble, *(f"{rule}: {count}" for rule, count in run.findings.items())])
        told(f"{run.instance} on {run.arch}: {'right' if run.right else 'wrong'}{'; ' if why else ''}{why}")

    try:
        execute(kernels, load(params["prefix"]), load_archs(), journal, params["jobs"], told, heard, line)
    finally:
        line.clear()


def _chosen(kernels: tuple[NamedKernel, ...], globs: tuple[str, ...], limit: int | None) -> tuple[NamedKernel, ...]:
    from fnmatch import fnmatchcase

    kept = [
        k for k in kernels if not globs or any(fnmatchcase(k.name, g) or fnmatchcase(k.instance.name, g) for g in globs)
    ]
    if not kept:
        raise UsageError("no kernel of the tables is asked for")
    names = sorted({kernel.name for kernel in kept})[:limit]
    return tuple(kernel for kernel in kept if kernel.name in set(names))


def _failure_text(checked: Checked, outcome: Outcome | None) -> str:
    """What to say of a kernel at once: a failed command with all its output, findings that are errors."""
    from ckgen.build.failure_text import failure_text

    return failure_text(checked.result, outcome)


def _compare(place: Path, document: dict[str, Any]) -> None:
    """Every changed figure on stderr; UsageError where figures cannot be compared, InputError B004 for no JSON."""
    from ckgen.model.document import JSON, DocumentError, read_text
    from ckgen.model.json_document import parse_json
    from ckgen.report.baseline import baseline
    from ckgen.report.compare import compare

    try:
        old = parse_json(read_text(place, JSON)).value
    except DocumentError as error:
        raise InputError([error.diagnostic("B004", place, "give a baseline.json of `ckgen amd-check --out`")]) from None
    try:
        changes = compare(old, baseline([document]))
    except UsageError as error:
        raise UsageError(f"--against {place}: {error}") from None
    for change in changes:
        say(f"changed: {change}")
    say(f"{plural(len(changes), 'fact')} changed since {place}")


def _report(document: dict[str, Any], out: Path | None, *, as_json: bool) -> int:
    from ckgen.cli.amd_check_text import summary_text
    from ckgen.report.baseline import baseline, baseline_text
    from ckgen.report.html import summary_html

    if out is not None:
        import json

        out.mkdir(parents=True, exist_ok=True)
        (out / "summary.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
        (out / "summary.html").write_text(summary_html(document), encoding="utf-8")
        (out / "baseline.json").write_text(baseline_text(baseline([document])), encoding="utf-8")
    if as_json:
        show_json(document)
    else:
        show(summary_text(document))
    failed = [kernel for kernel in document["kernels"] if kernel["errors"]]
    if failed:
        say(f"{plural(len(failed), 'kernel')} of {len(document['kernels'])} failed")
    return FINDINGS if failed else 0
