"""`ckgen record untuned`: the GEMMs of a list as AITER's tuners read them."""

from __future__ import annotations

from pathlib import Path

import click

from ckgen.cli.errors import Command
from ckgen.cli.option_values import one_target
from ckgen.cli.options import PATH
from ckgen.cli.output import plural, say
from ckgen.model.errors import UsageError


@click.command(cls=Command, name="untuned", short_help="Write a list's GEMMs as the untuned files of AITER's tuners.")
@click.argument("shapes", type=PATH)
@click.option("--out", type=PATH, required=True, metavar="FOLDER", help="Where the files go.")
@click.option("--target", default="", metavar="T", help="Of shapes whose device the list does not say.")
def command(shapes: Path, out: Path, target: str) -> int:
    """Write a list's GEMMs as <module>_untuned_gemm_<gfx>_<cu_num>.csv, with the columns that the module's tuner reads.

    Each shape once, most often asked first. Signatures that the peer keeps in one list share it. What no tuner of its
    takes is left out and counted.
    """
    from ckgen.specs.archs import load_archs
    from ckgen.tables.files import write_files
    from ckgen.workload.shape_list import read_shapes
    from ckgen.workload.untuned import untuned_files

    archs = load_archs()
    device = one_target(target, archs) if target else None
    lists, left_out = untuned_files(read_shapes(shapes, lambda told: say(f"note: {told}")), device)
    for reason, count in left_out.most_common():
        say(f"note: {plural(count, 'shape')} left out: {reason}")
    if not lists:
        raise UsageError(f"no shape of {shapes} has an untuned list")
    out.mkdir(parents=True, exist_ok=True)
    write_files({out / name: text.encode() for name, text in lists.items()})
    for name, text in lists.items():
        say(f"{out / name}: {plural(text.count(chr(10)) - 1, 'shape')}")
    return 0
