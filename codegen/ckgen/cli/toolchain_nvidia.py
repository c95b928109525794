"""`ckgen toolchain nvidia`: prepare the compiler for NVIDIA GPUs, or take a CUDA into use."""

from __future__ import annotations

import time
from pathlib import Path

import click

from ckgen.cli.errors import Command
from ckgen.cli.options import json_option, quiet_option
from ckgen.cli.output import columns, progress, show, show_json

_FOLDER = click.Path(path_type=Path, file_okay=False)


@click.command(cls=Command, name="nvidia", short_help="Prepare nvcc, CUDA's headers and CUTLASS for NVIDIA GPUs.")
@click.option(
    "--prefix", type=_FOLDER, help="where it lies  [default: $CKGEN_NVIDIA_PREFIX, else nvidia in the user's cache]"
)
@click.option("--cuda", type=_FOLDER, help="use the CUDA 13 in this folder, with CUTLASS of the wheels")
@quiet_option
@json_option
def command(prefix: Path | None, cuda: Path | None, as_json: bool) -> int:
    """Prepare what compiles kernels for NVIDIA GPUs, with no GPU needed.

    Downloads pinned wheels with pip, by sha256; a second run has nothing to do. `generate` never needs it.
    """
    from ckgen.build.nvidia.prepare import prepare
    from ckgen.build.nvidia.toolchain import new_prefix

    started = time.monotonic()
    with progress("preparing") as line:
        prepared = prepare(prefix.absolute() if prefix is not None else new_prefix(), cuda, line.step)
    toolchain = prepared.toolchain
    document = {
        "kind": toolchain.kind.value,
        "prefix": str(toolchain.prefix),
        "root": str(toolchain.root),
        "compiler_version": toolchain.compiler_version,
        "compiler_id": toolchain.compiler_id,
        "cutlass": {"include": str(toolchain.cutlass), "id": toolchain.cutlass_id},
        "host_compiler": toolchain.host_compiler,
        "done": list(prepared.done),
        "seconds": round(time.monotonic() - started, 3),
    }
    if as_json:
        show_json(document)
        return 0
    rows = [
        ("toolchain", f"{toolchain.kind.value} in {toolchain.root}"),
        ("compiler", f"{toolchain.compiler_version}  {toolchain.compiler_id[:16]}"),
        ("CUTLASS", f"{toolchain.cutlass}  {toolchain.cutlass_id[:16]}"),
        ("host compiler", toolchain.host_compiler),
    ]
    show("\n".join([*(prepared.done or ("nothing to do",)), "", columns(rows)]))
    return 0
