"""`ckgen toolchain`: the compilers for devices."""

from __future__ import annotations

import click

from ckgen.cli.groups import Entry, LazyGroup

COMMANDS = {
    "amd": Entry("ckgen.cli.toolchain_amd", "Prepare clang, lld, HIP headers and a CK tree for AMD GPUs."),
    "nvidia": Entry("ckgen.cli.toolchain_nvidia", "Prepare nvcc, CUDA's headers and CUTLASS for NVIDIA GPUs."),
}


@click.group(cls=LazyGroup, name="toolchain", entries=COMMANDS)
def command() -> None:
    """Prepare the compilers for devices."""
