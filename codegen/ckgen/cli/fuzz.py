"""`ckgen fuzz`: random problems, decided in Python and C++, run on this CPU and held against the definition."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from ckgen.cli.errors import Command
from ckgen.cli.option_values import ops_of, words
from ckgen.cli.options import json_option, ops_option, quiet_option
from ckgen.cli.output import plural, progress, say, show, show_json
from ckgen.model.errors import UsageError
from ckgen.progress import PartDone, duration, rate_text

if TYPE_CHECKING:
    from ckgen.extension import Emulate
    from ckgen.fuzz.case import Case
    from ckgen.fuzz.run import Report
    from ckgen.progress import Progress

FINDINGS = 1


@click.command(cls=Command, name="fuzz", short_help="Run random problems and hold them against the definition.")
@ops_option
@click.option("--seconds", type=click.FloatRange(0.1), default=60.0, show_default=True, metavar="N", help="How long.")
@click.option("--count", type=click.IntRange(1), metavar="N", help="At most so many problems.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, metavar="S", help="Of all problems.")
@click.option("--problem", metavar="TEXT", help="Only this one, as a failure printed it.")
@click.option("--emulate", type=click.IntRange(0), default=0, metavar="N", help="Also N of each op on the emulator.")
@click.option("--verbose", is_flag=True, help="Also how small an error was seen, by kind of data.")
@quiet_option
@json_option
def command(**params: Any) -> int:
    """Run random problems and hold them against the definition.

    Each is selected in Python and in C++, planned, run on the host twin of a simulated device or on this CPU, and
    compared with the exact result; illegal ones must be refused by both with the same reason. Exit 1 for failures, each
    with a line that shows it again.
    """
    from ckgen.extension import FUZZ, extension
    from ckgen.fuzz.case import parse_case

    case = parse_case(params["problem"]) if params["problem"] else None
    if case is not None and params["emulate"]:
        raise UsageError("--emulate does not go with --problem")
    emulate: Emulate | None = None
    if params["emulate"]:
        emulate = extension(FUZZ, "emulate", "`ckgen fuzz --emulate`")
    with progress("planning") as line:
        report = _run(params, case, emulate, line)
    if params["as_json"]:
        show_json(report.to_json())
    else:
        show(_text(report))
    return FINDINGS if report.failures else 0


def _run(params: Mapping[str, Any], case: Case | None, emulate: Emulate | None, line: Progress) -> Report:
    from ckgen.fuzz.prepare import NAME, prepare
    from ckgen.fuzz.run import Subject, fuzz, run_case

    wanted, seconds, count = ops_of(params["ops"]), params["seconds"], params["count"]
    prepared = prepare(wanted, line.step)
    ops = f"--ops {','.join(words(params['ops']))}" if params["ops"] else ""
    subject = Subject(prepared.library, NAME, prepared.inputs, prepared.space, ops, params["verbose"])
    if case is not None:
        line.step("running")
        report = run_case(subject, case)
    else:
        report = fuzz(
            subject,
            params["seed"],
            seconds,
            lambda report: line.show(_standing(report, seconds, count)),
            count,
        )
    if emulate is not None:
        sampled = emulate(wanted, params["seed"], params["emulate"], prepared.library, line, say)
        for op, done in sampled.items():
            report.emulated[op] = done.ran
            report.failures += done.failures
    return report


def _text(report: Report) -> str:
    document = report.to_json()
    lines = []
    for failure in report.failures:
        lines += [f"FAILED {failure.kind.value}: {failure.what}", f"  {failure.command}"]
    tiers = ", ".join(f"{tier} {count:,}" for tier, count in document["tiers"].items())
    counts = ", ".join(f"{document[status]:,} {status}" for status in ("ran", "planned", "refused"))
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


def _standing(report: Report, seconds: float, count: int | None) -> PartDone:
    """How far a run is: by time, or by problems where that is further."""
    left = max(seconds - report.seconds, 0)
    rate = rate_text(report.cases / report.seconds) if report.seconds else "–"
    failures = plural(len(report.failures), "failure")
    text = f"{plural(report.cases, 'problem')}, {failures}, {rate}, {duration(left)} left"
    return PartDone(text, min(max(report.seconds / seconds, report.cases / (count or math.inf)), 1))
