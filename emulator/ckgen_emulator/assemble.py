"""The toolchain's assembler: machine code of lines, and code objects linked from a whole source."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from ckgen.build.amd.model import AmdToolchain
from ckgen.build.inspect.elf import Source, read_elf
from ckgen.specs.archs import processor_of

_PROGBITS = 1  # .text is an object's first
_ERROR = re.compile(r"^k\.s:(\d+):\d+: error: (.*)$", re.MULTILINE)


def assemble(lines: Sequence[str], arch: str, toolchain: AmdToolchain) -> bytes | dict[int, str]:
    """The machine code, or the errors by line from 0. ValueError where the assembler fails and blames no line."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "k.s").write_text("\n".join([*lines, ""]), encoding="utf-8")
        said = _said((*toolchain.assemble(processor_of(arch)), "-ferror-limit=0", "-o", "k.o", "k.s"), folder)
        if said is None:
            data = (folder / "k.o").read_bytes()
            text = next(one for one in read_elf(Source("k.o", data)).sections if one.kind == _PROGBITS)
            return data[text.offset : text.offset + text.size]
    errors = {int(line) - 1: what for line, what in _ERROR.findall(said)}
    if not errors:
        raise ValueError(f"the assembler failed: {said[:400]}")
    return errors


def link(source: str, arch: str, toolchain: AmdToolchain) -> bytes:
    """The code object of a whole source. ValueError with what the assembler or linker says against it."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "k.s").write_text(source, encoding="utf-8")
        for command in (
            (*toolchain.assemble(processor_of(arch)), "-o", "k.o", "k.s"),
            (*toolchain.link(), "-o", "k.co", "k.o"),
        ):
            if (said := _said(command, folder)) is not None:
                raise ValueError(said)
        return (folder / "k.co").read_bytes()


def _said(command: Sequence[str], folder: Path) -> str | None:
    """What a failed command says; None of one that did its work."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return done.stderr if done.returncode else None
