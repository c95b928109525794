"""Code objects: ELF, notes and MessagePack."""

from __future__ import annotations

from collections.abc import Sequence

from ckgen.build.inspect.code_object import read_code_object
from ckgen.build.inspect.elf import Source
from elf_writer import code_object, kernel
from parser_fuzz.target import Target, refusal


def run(data: bytes) -> None:
    """Reads a file; what it names lies inside of it."""
    with refusal():
        for kernel in read_code_object(Source("kernel.co", data)).kernels:
            assert len(kernel.text) <= len(data)


def seeds() -> Sequence[bytes]:
    """Objects made by hand, of one kernel and of two."""
    two = {"amdhsa.kernels": [kernel(), kernel(args=[])], "amdhsa.target": "amdgcn-amd-amdhsa--gfx942"}
    return [code_object(), code_object(bytes(64)), code_object(metadata=two)]


TARGET = Target("code_objects", run, seeds, (b"\x7fELF", b"\xdf\xff\xff\xff\xff", b"\xdd\xff\xff\xff\xff", b"\x91\x91"))
