"""Kernel sets as YAML, of GEMMs and of attention."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ckgen.families.kernel_sets import OPS, kernel_set_files, read_kernel_set
from parser_fuzz.target import Target, file_of, refusal


def run(data: bytes) -> None:
    """Reads a file as both families do."""
    for read in (read_kernel_set, read_kernel_set):
        with refusal():
            read(file_of(data, "set.yaml"))


def seeds() -> Sequence[bytes]:
    """The first document of each shipped set."""
    files = [file for name in ("ci", "default", "asm") for op in OPS for file in kernel_set_files(Path(name), (op,))]
    return [file.read_bytes().partition(b"\n---")[0][:3000] for file in files]


WORDS = (b'"*"', b"- ", b": ", b"&a ", b"*a", b"!!int 3", b"<<: ", b"? ", b"|\n", b"---\n", b"op: fmha\n", b"op: moe\n")
TARGET = Target("kernel_sets", run, seeds, WORDS)
