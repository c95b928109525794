"""`ckgen record from-log`: the shapes that a server's log says no table holds."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TextIO

import click

from ckgen.cli.errors import Command
from ckgen.cli.option_values import one_target
from ckgen.cli.options import PATH, json_option, target_option
from ckgen.cli.output import columns, plural, say, show, show_json
from ckgen.model.errors import UsageError

NOTHING_READ = 1


@click.command(cls=Command, name="from-log", short_help="List the shapes that a server's log says no table holds.")
@click.argument("logs", type=PATH, nargs=-1, required=True)
@target_option("The device that wrote the log, such as mi300x.")
@click.option("--out", type=PATH, metavar="CSV", help="Write them as a list of shapes.")
@json_option
def command(logs: tuple[Path, ...], target: str, out: Path | None, as_json: bool) -> int:
    """List the shapes that a server's log says no table holds, most often asked first.

    LOGS are files, - is standard input. Read are lines of AITER about missing tuned configs and default kernels of MoE,
    and those of CKGEN_VERBOSE. Exit 1: no line of the logs tells of a shape.
    """
    from ckgen.specs.archs import load_archs
    from ckgen.workload.log_lines import Heard, shapes_of_log
    from ckgen.workload.shape_list import write_shapes

    archs = load_archs()
    device = one_target(target, archs)
    heard = Heard()
    for log in logs:
        with _opened(log) as lines:
            one = shapes_of_log(lines, archs[device.gfx].fp8_flavour, device)
        heard.missed.update(one.missed)
        heard.unread.update(one.unread)
    for reason, count in heard.unread.most_common():
        say(f"note: {plural(count, 'line')} left out: {reason}")
    if out is not None:
        write_shapes(out, heard.missed)
        say(f"{out}: {plural(len(heard.missed), 'shape')}")
    listed = [(shape, heard.missed[shape]) for shape in sorted(heard.missed, key=lambda one: (-heard.missed[one], one))]
    if as_json:
        show_json([asdict(shape) | {"count": count} for shape, count in listed])
    else:
        show(columns([("count", "signature", "sizes"), *((str(n), one.signature, one.text) for one, n in listed)]))
    return 0 if heard.missed else NOTHING_READ


@contextmanager
def _opened(path: Path) -> Iterator[TextIO]:
    if str(path) == "-":
        yield sys.stdin
        return
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            yield file
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from error
