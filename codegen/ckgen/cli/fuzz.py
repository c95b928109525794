"""`ckgen fuzz`: random problems, decided in Python and C++, run on this CPU and held against the definition."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

import click

from ckgen.cli.errors import Command
from ckgen.cli.options import json_option, ops_of, words
from ckgen.cli.output import plural, say, show, show_json
from ckgen.model.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from ckgen.fuzz.run import Report

FINDINGS = 1
_EVERY = 0.25


@click.command(cls=Command, name="fuzz", short_help="Run random problems and hold them against the definition.")
@click.option("--ops", multiple=True, metavar="LIST", help="Operations, separated by ; , or spaces.  [default: all]")
@click.option("--seconds", type=click.FloatRange(0.1), default=60.0, show_default=True, metavar="N", help="How long.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, metavar="S", help="Of all problems.")
@click.option("--problem", metavar="TEXT", help="Only this one, as a failure printed it.")
@click.option("--emulate", type=click.IntRange(0), default=0, metavar="N", help="Also N of each op on the emulator.")
@click.option("--verbose", is_flag=True, help="Also how small an error was seen, by kind of data.")
@json_option
def command(**params: Any) -> int:
    """Run random problems and hold them against the definition.

    Each is selected in Python and in C++, planned, run on the host twin of a simulated device or on this CPU, and
    compared with the exact result; illegal ones must be refused by both with the same reason. Exit 1 for failures, each
    with a line that shows it again.
    """
    from ckgen.fuzz.case import parse_case
    from ckgen.fuzz.prepare import NAME, prepare
    from ckgen.fuzz.run import Subject, fuzz, run_case

    case = parse_case(params["problem"]) if params["problem"] else None
    if case is not None and params["emulate"]:
        raise UsageError("--emulate does not go with --problem")
    line = _Line()
    prepared = prepare(ops_of(params["ops"]), line.say)
    ops = f"--ops {','.join(words(params['ops']))}" if params["ops"] else ""
    subject = Subject(prepared.library, NAME, prepared.inputs, prepared.space, ops, params["verbose"])
    if case is not None:
        report = run_case(subject, case)
    else:
        report = fuzz(subject, params["seed"], params["seconds"], lambda report: line.show(report, params["seconds"]))
    if params["emulate"]:
        _emulate(report, params, prepared.library, line)
    line.clear()
    if params["as_json"]:
        show_json(report.to_json())
    else:
        show(_text(report))
    return FINDINGS if report.failures else 0


def _emulate(report: Report, params: dict[str, Any], library: Path, line: _Line) -> None:
    from ckgen.build.amd.toolchain import load
    from ckgen.emulator.gemm.build import default_room
    from ckgen.emulator.gemm.runtime import build_runtime
    from ckgen.families.fmha.signature import OP as FMHA
    from ckgen.fuzz.emulated import run_sample
    from ckgen.fuzz.emulated_fmha import run_fmha_sample
    from ckgen.runtime import RuntimeLibrary
    from ckgen.specs.archs import load_archs

    def heard(kernel: str) -> None:
        line.say(f"emulated {kernel}")

    room = default_room(load(), load_archs(), say, lambda standing: None)
    ops, seed, count = ops_of(params["ops"]), params["seed"], params["emulate"]
    runtime = build_runtime(line.say) if ops - {FMHA} else None
    line.say("emulating")
    for op in sorted(ops):
        if op == FMHA:
            done = run_fmha_sample(seed, count, RuntimeLibrary(library).fmha_split, room, heard)
        else:
            assert runtime is not None
            done = run_sample(op, seed, count, runtime, room, lambda result: heard(result.kernel))
        report.emulated[op] = done.ran
        report.failures += done.failures


def _text(report: Report) -> str:
    document = report.to_json()
    lines = []
    for failure in report.failures:
        lines += [f"FAILED {failure.kind.value}: {failure.what}", f"  {failure.command}"]
    tiers = ", ".join(f"{tier} {count:,}" for tier, count in document["tiers"].items())
    counts = ", ".join(f"{document[fate]:,} {fate}" for fate in ("ran", "planned", "refused"))
    emulated = ", ".join(f"{op} {ran:,}" for op, ran in report.emulated.items())
    problems, instances = plural(report.cases, "problem"), plural(document["instances"], "instance")
    lines += [
        f"seed {report.seed}: {problems} in {report.seconds:.0f} s: {counts}; {instances}",
        f"tiers: {tiers}",
        *([f"emulated: {emulated}"] if emulated else []),
        *(f"sees, {data}: {one}" for data, one in report.sensitivity().items()),
        plural(len(report.failures), "failure"),
    ]
    return "\n".join(lines)


class _Line:
    """One line that is written over, on a terminal only."""

    def __init__(self) -> None:
        self._shows, self._last = sys.stderr.isatty(), 0.0

    def say(self, text: str) -> None:
        """A step."""
        if self._shows:
            click.echo(f"\r\x1b[K{text} …", err=True, nl=False)

    def show(self, report: Report, seconds: float) -> None:
        """How far a run is."""
        if self._shows and time.monotonic() - self._last >= _EVERY:
            self._last = time.monotonic()
            left = max(seconds - report.seconds, 0)
            failed = plural(len(report.failures), "failure")
            click.echo(f"\r\x1b[K{report.cases:,} problems, {failed}, {left:.0f} s left", err=True, nl=False)

    def clear(self) -> None:
        """Empties it."""
        if self._shows:
            click.echo("\r\x1b[K", err=True, nl=False)
