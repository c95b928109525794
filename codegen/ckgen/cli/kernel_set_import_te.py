"""`ckgen kernel-set import-te`: the kernel set that a config of Tile Engine means."""

from __future__ import annotations

from pathlib import Path

import click

from ckgen.cli.errors import Command
from ckgen.cli.option_values import words
from ckgen.cli.options import PATH
from ckgen.cli.output import plural, say, show_verbatim

_SIGNATURE = "What GEMMs compute, such as fp16 or gemm_bf16_rrr; may be repeated.  [default: the file's problem]"


@click.command(cls=Command, name="import-te", short_help="Write the kernel set that a config of Tile Engine means.")
@click.argument("config", type=PATH)
@click.option("--signature", "signatures", multiple=True, metavar="S", help=_SIGNATURE)
@click.option("--archs", multiple=True, metavar="LIST", help="Archs or families of them.  [default: all]")
@click.option("--name", default="tile_engine", show_default=True, help="The set's name.")
@click.option("--out", type=PATH, metavar="YAML", help="The file to write.  [default: stdout]")
def command(config: Path, signatures: tuple[str, ...], archs: tuple[str, ...], name: str, out: Path | None) -> int:
    """Write the kernel set that a config of Tile Engine means.

    CONFIG is a JSON config of GEMMs or of forward attention, as Tile Engine has them in `configs` folders. Each key
    that is not used is named with the reason; an unknown one is an error.
    """
    from ckgen.families.common.tile_engine import Wanted
    from ckgen.families.tile_engine import import_config, set_text

    imported = import_config(config, Wanted(name, words(archs) or ("*",), signatures))
    for note in imported.notes:
        say(f"note: {note}")
    text = set_text(imported.documents)
    if out is None:
        show_verbatim(text.removesuffix("\n"))
        return 0
    out.write_text(text, encoding="utf-8")
    say(f"{out}: {plural(len(imported.documents), 'document')}")
    return 0
