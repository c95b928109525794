"""`ckgen tune`: every candidate timed, and the table of the winners written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ckgen.cli.errors import Command
from ckgen.cli.option_values import kernel_sets_of, one_target, tuning_or_shipped
from ckgen.cli.options import (
    GRAPH,
    PATH,
    ROTATING,
    build_only_option,
    json_option,
    kernel_set_option,
    kernels_option,
    quiet_option,
    timing_scheduler_option,
    tuning_option,
    work_option,
)
from ckgen.cli.output import plural, progress, say, show, show_json
from ckgen.model.errors import UsageError

if TYPE_CHECKING:
    from ckgen.model.arch import ArchSpec
    from ckgen.model.target import Target
    from ckgen.tune.asked import Subjects
    from ckgen.tune.device import Device
    from ckgen.tune.gathered import Gathered
    from ckgen.tune.journal import Contents
    from ckgen.tune.problems import Key, Problem
    from ckgen.tune.prune import Prune
    from ckgen.tune.retune import Module
    from ckgen.tune.run import Options
    from ckgen.tune.table import Table

FINDINGS = 1
_SHAPES = "List of shapes (`ckgen shapes --out`, `ckgen record`); may be repeated."
_RETUNE = "The problems of a table or folder of tables, or all: of those that come with ckgen; may be repeated."
_MISSING = "Recorded misses: the folder of CKGEN_RECORD, or a list in it; may be repeated."
_JOURNAL = "Keeps every candidate's time; the first is written, further ones are read.  [default: OUT.journal.jsonl]"
_LEAST = "The part of its time by which a row must beat what selection takes."
_PRUNE = "Time only so many of a problem's candidates, the predicted best, and what selection takes."
_CONSTANTS = "Constants of this CPU for --prune, as `ckgen predict calibrate --out` writes them."
_EXHAUSTIVE = "Time all candidates of all problems, round by round, so that the journal says what each costs."
_FLUSH = "Empty the caches ahead of each call; where left out of a GPU alone, without --rotating."
_DIALECT = "How --out is written: mxfp8 is the table of the MX-FP8 kernels for few rows."
_CALLER = "Times of the caller's own kernel for mxfp8's use_hip: columns K, N, M, us."
_WITHIN = "As few kernels as lose at most this to the best, as in 1%."


@click.command(cls=Command, name="tune", short_help="Time every candidate, and write the table of the winners.")
@click.argument("op", envvar="PRETUNE_MODULES")
@click.option("--target", default="native", show_default=True, metavar="T", help="Device, such as native.")
@click.option("--shapes", type=PATH, multiple=True, metavar="CSV", help=_SHAPES)
@click.option("--retune", multiple=True, metavar="PATH|all", help=_RETUNE)
@click.option("--missing", type=PATH, multiple=True, metavar="PATH", help=_MISSING)
@click.option("--out", type=PATH, required=True, metavar="CSV", help="Table; rows of others in it stay as they are.")
@click.option("--dialect", type=click.Choice(("ckgen", "mxfp8")), default="ckgen", show_default=True, help=_DIALECT)
@click.option("--caller", type=PATH, metavar="CSV", help=_CALLER)
@click.option("--budget", metavar="TIME", help="For all problems together, as in 10m.")
@click.option("--journal", type=PATH, multiple=True, metavar="JSONL", help=_JOURNAL)
@click.option("--resume", is_flag=True, help="Go on with the journal: what it holds is not measured again.")
@click.option("--shard", metavar="I/N", help="Only part I of N of the problems.")
@click.option("--devices", metavar="LIST", help="GPUs of the target by number, as in 0,1, or all.")
@click.option("--min-improvement", default="2%", show_default=True, metavar="P", help=_LEAST)
@click.option("--within", metavar="P", help=_WITHIN)
@click.option("--flush/--no-flush", default=None, help=_FLUSH)
@click.option("--rotating", type=click.IntRange(0), default=0, show_default=True, metavar="N", help=ROTATING)
@click.option("--graph", is_flag=True, help=GRAPH)
@click.option("--prune", type=click.IntRange(1), metavar="N", help=_PRUNE)
@click.option("--constants", type=PATH, metavar="JSON", help=_CONSTANTS)
@click.option("--exhaustive", is_flag=True, help=_EXHAUSTIVE)
@click.option("--compare", type=PATH, metavar="CSV", help="Say how the winners differ from those of another table.")
@kernels_option
@kernel_set_option
@tuning_option
@timing_scheduler_option
@click.option("--date", default="", metavar="DATE", help="Stands in the rows; none is made up.")
@build_only_option
@work_option
@json_option
@quiet_option
def command(**params: Any) -> int:
    """Time every candidate, and write the table of the winners.

    OP is an operation, a module of tables (AITER's names too), a list of these, or all. Exit 1: a candidate was wrong
    or its process ended; its row stands in the journal, and the others were tuned.
    """
    from ckgen.measure.local import demand_place
    from ckgen.specs.archs import load_archs
    from ckgen.tune.asked import devices_of, subjects_of
    from ckgen.tune.problems import in_ladders, of_counts

    archs = load_archs()
    target = one_target(params["target"], archs)
    subjects = subjects_of(params["op"])
    devices = devices_of(target, params["devices"])
    if len(devices) > 1 and params["scheduler"] is not None:
        raise UsageError("--devices are this machine's: of a cluster give each device a worker of its own")
    if not params["build_only"] and params["scheduler"] is None and not params["resume"]:
        demand_place(target)
    _demand_source(params)
    keys, modules = _asked(params, subjects, target, archs)
    wanted = {key: count for key, count in keys.items() if subjects.holds(key)}
    ladders = in_ladders(of_counts(wanted, target))
    signatures = sorted({key.signature for key in wanted})  # of all parts, so that they have one library
    if params["shard"] is not None:
        from ckgen.tune.asked import shard_of
        from ckgen.tune.problems import shard

        part = shard(ladders, shard_of(params["shard"]))
        if ladders and not part:
            say(f"note: part {params['shard']} has no problem: there are fewer ladders of M than parts")
            return 0
        ladders = part
    _say_modules(modules)
    if not ladders:
        raise UsageError("there is nothing to tune: no problem of the lists and tables is meant")
    _demand_dialect(params, ladders)
    if params["build_only"]:
        return _build(params, target, signatures)
    return _tune(params, target, ladders, modules, signatures, devices)


def _build(params: Mapping[str, Any], target: Target, signatures: Sequence[str]) -> int:
    from ckgen.measure.library import build_library, digest_of

    with progress("planning") as line:
        library = build_library(_device(params, target, signatures).contents, line.step, params["work"])
    show_json({"library": str(library), "digest": digest_of(library)}) if params["as_json"] else show(
        f"{library}  {digest_of(library)}"
    )
    return 0


def _demand_source(params: Mapping[str, Any]) -> None:
    if not (params["shapes"] or params["retune"] or params["missing"]):
        raise UsageError("give --shapes, --retune or --missing: a tune needs problems")


def _demand_dialect(params: Mapping[str, Any], ladders: Sequence[Sequence[Problem]]) -> None:
    from ckgen.tune.mxfp8_table import SIGNATURE

    if params["dialect"] == "ckgen":
        if params["caller"] is not None:
            raise UsageError("--caller is for --dialect mxfp8: other tables do not say whether a kernel is used")
        return
    others = sorted({one.key.signature for ladder in ladders for one in ladder} - {SIGNATURE})
    if others:
        raise UsageError(f"--dialect mxfp8 has rows of {SIGNATURE} alone, none of {', '.join(others)}")


def _asked(
    params: Mapping[str, Any], subjects: Subjects, target: Target, archs: Mapping[str, ArchSpec]
) -> tuple[dict[Key, int], dict[str, Module]]:
    from ckgen.tune.lists import keys_of_lists
    from ckgen.tune.retune import problems_of_tables

    found = keys_of_lists((*params["shapes"], *params["missing"]), target, archs, say)
    modules: dict[str, Module] = {}
    if params["retune"]:
        shipped = "all" in params["retune"]
        others = [Path(one) for one in params["retune"] if one != "all"]
        with progress("reading tables"):
            tables = (*(tuning_or_shipped(()) if shipped else ()), *others)
            modules = problems_of_tables(tables, target, archs, subjects.holds)
    for module in modules.values():
        for key, count in module.keys.items():
            found[key] = found.get(key, 0) + count
    return found, modules


def _say_modules(modules: Mapping[str, Module]) -> None:
    for name, module in sorted(modules.items()):
        left = "; ".join(f"{count:,} {why}" for why, count in module.left_out.most_common())
        taken = f"{plural(module.rows, 'row')}, {plural(len(module.keys), 'problem')}"
        say(f"retune {name}: {taken}" + (f"; left out: {left}" if left else ""))


def _tune(
    params: Mapping[str, Any],
    target: Target,
    ladders: Sequence[Sequence[Problem]],
    modules: Mapping[str, Module],
    signatures: Sequence[str],
    devices: Sequence[int],
) -> int:
    from ckgen.cli.tune_text import module_lines, text_of
    from ckgen.tune.journal import read_journals
    from ckgen.tune.report import compare, document, older_choices
    from ckgen.tune.table import NO_TABLE, read_table

    out, options = Path(params["out"]), _options(params, target)
    table = read_table(out) if params["dialect"] == "ckgen" else NO_TABLE
    old = read_table(params["compare"]) if params["compare"] is not None else None
    journal, *others = params["journal"] or [out.with_name(f"{out.name}.journal.jsonl")]
    if journal.exists() and not params["resume"]:
        raise UsageError(f"{journal} is there: go on with it by --resume, or name another --journal")
    held = read_journals([*([journal] if journal.exists() else []), *others])
    for text in held.torn:
        say(f"note: {text}")
    if old is not None:
        problems = (one for ladder in ladders for one in ladder)
        options = replace(options, older=older_choices(problems, old, target))
    device = _device(params, target, signatures)
    if params["scheduler"] is not None:
        found = _by_workers(params["scheduler"], target, ladders, device, options, held, journal)
    else:
        found = _here(ladders, devices, device, options, held, journal)
    if params["dialect"] == "mxfp8":
        _write_mxfp8(params, target, device, found)
    else:
        _write(params, target, table, found)
    outcome, known = found.outcome, found.known
    changes = compare(outcome, known, old, target) if old is not None else []
    if params["as_json"]:
        ended = {name: dict(module.ended(outcome.every)) for name, module in modules.items()}
        retuned = {name: module.document() | {"ended": ended[name]} for name, module in sorted(modules.items())}
        show_json(document(outcome, known, changes) | {"retuned": retuned})
    else:
        show("\n".join([text_of(outcome, known, changes, out, journal), *module_lines(outcome, modules)]))
    return FINDINGS if outcome.failures or outcome.lost else 0


def _device(params: Mapping[str, Any], target: Target, signatures: Sequence[str]) -> Device:
    from ckgen.measure.library import Contents
    from ckgen.tune.asked import ops_to_plan
    from ckgen.tune.device import Device, conditions_on

    ops = ops_to_plan(signatures)
    tuning = tuning_or_shipped(params["tuning"]) if params["tuning"] else ()
    sets = kernel_sets_of(params["kernel_sets"], ops)
    tables, added = (tuple(path.absolute() for path in paths) for paths in (tuning, sets))
    contents = Contents(target, tuple(sorted(ops)), tuple(signatures), tables, added)
    conditions = conditions_on(target, params["rotating"], params["flush"], graph=params["graph"])
    return Device(contents, conditions, params["work"])


def _here(
    ladders: Sequence[Sequence[Problem]], devices: Sequence[int], device: Device, options: Options, held: Contents,
    journal: Path,
) -> Gathered:  # fmt: skip
    from ckgen.measure.local import demand_place
    from ckgen.tune.gathered import Gathered
    from ckgen.tune.journal import Journal
    from ckgen.tune.recorded import recorded
    from ckgen.tune.run import Tuner

    try:
        demand_place(device.contents.target)
    except UsageError as error:
        problems = (one for ladder in ladders for one in ladder)
        again = recorded(held, device.contents.target, problems, str(error))
        tuner = Tuner(again, again, held, replace(options, is_recorded=True))
        outcome = tuner.tune(ladders)
        return Gathered(outcome, tuner.known, {again.header: outcome})
    if len(devices) > 1:
        return _by_gpus(devices, ladders, device, options, held, journal)
    device = device.on_gpu(devices[0]) if devices[0] else device
    with progress("planning") as line, device.open(line.step) as (measurer, header), Journal(journal, header) as opened:
        tuner = Tuner(measurer, opened, held, options, line.show)
        outcome = tuner.tune(ladders)
    return Gathered(outcome, tuner.known, {header: outcome})


def _by_gpus(
    devices: Sequence[int], ladders: Sequence[Sequence[Problem]], device: Device, options: Options, held: Contents,
    journal: Path,
) -> Gathered:  # fmt: skip
    from ckgen.tune.several import tune_on_gpus

    with progress("planning") as line:
        device.build(line.step)
        return tune_on_gpus(devices, ladders, device, options, held, journal, line.counting("ladders"))


def _by_workers(
    scheduler: str, target: Target, ladders: Sequence[Sequence[Problem]], device: Device, options: Options,
    held: Contents, journal: Path,
) -> Gathered:  # fmt: skip
    from ckgen.tune.remote import tune_on

    with progress("waiting for workers") as line:
        return tune_on(scheduler, target, ladders, device, options, held, journal, line.counting("ladders"))


def _options(params: Mapping[str, Any], target: Target) -> Options:
    from ckgen.tune.asked import part_of, seconds_of
    from ckgen.tune.run import Options

    budget, within = params["budget"], params["within"]
    return Options(
        budget=seconds_of(budget) if budget is not None else None,
        min_improvement=part_of(params["min_improvement"], "--min-improvement"),
        within=part_of(within, "--within") if within is not None else None,
        kernels=tuple(params["kernels"]),
        prune=_prune(params, target),
        exhaustive=params["exhaustive"],
    )


def _prune(params: Mapping[str, Any], target: Target) -> Prune | None:
    if params["prune"] is None:
        if params["constants"] is not None:
            raise UsageError("--constants is for --prune")
        return None
    from ckgen.predict.calibrate import read
    from ckgen.tune.prune import Prune

    calibrated = read(params["constants"]) if params["constants"] is not None else ()
    return Prune(target, params["prune"], calibrated)


def _write(params: Mapping[str, Any], target: Target, table: Table, found: Gathered) -> None:
    """The rows. A problem that was timed and is worth none loses the row that it had."""
    from ckgen.tune.table import write_table

    gone = [one.problem.key for one in found.outcome.every if one.winner is not None and not one.is_row]
    write_table(params["out"], table, target, found.lines(params["date"]), gone)


def _write_mxfp8(params: Mapping[str, Any], target: Target, device: Device, found: Gathered) -> None:
    from ckgen.tune.mxfp8_table import caller_times, lines_of, write

    configs = {name: one.config for name, one in device.contents.space().all_instances.items()}
    caller = caller_times(params["caller"]) if params["caller"] is not None else {}
    keys = [one.problem.key for one in found.outcome.every if one.winner is not None]
    lines = lines_of(found.outcome, configs, caller)
    write(Path(params["out"]), target, lines, [(key.k, key.n, key.m) for key in keys])
