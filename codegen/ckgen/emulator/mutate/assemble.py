"""The toolchain's assembler: machine code of single lines, and linked code objects."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from ckgen.build.amd.model import AmdToolchain
from ckgen.build.inspect.elf import Source, read_elf
from ckgen.emulator.core import Emulator

_PROGBITS = 1  # .text is an object's first
_ERROR = re.compile(r"^k\.s:(\d+):\d+: error: ", re.MULTILINE)


def assembled(lines: Sequence[str], emulator: Emulator, toolchain: AmdToolchain) -> list[bytes | None]:
    """The machine code of each line, None where it is no instruction of the chip."""
    good = list(dict.fromkeys(lines))
    known: dict[str, bytes] = {}
    while good:
        data = _text(good, emulator.chip.arch, toolchain)
        if isinstance(data, bytes):
            places = emulator.disassemble(data)
            if len(places) != len(good):
                raise ValueError(f"{len(good)} lines became {len(places)} instructions")
            known = {line: data[at : at + size] for line, (at, size, _) in zip(good, places, strict=True)}
            break
        good = [line for number, line in enumerate(good) if number not in data]
    return [known.get(line) for line in lines]


def linked(source: str, arch: str, toolchain: AmdToolchain) -> bytes:
    """The code object of a whole source. ValueError with what the assembler or linker says against it."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "k.s").write_text(source, encoding="utf-8")
        for command in ((*toolchain.assemble(arch), "-o", "k.o", "k.s"), (*toolchain.link(), "-o", "k.co", "k.o")):
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
            if done.returncode:
                raise ValueError(done.stderr)
        return (folder / "k.co").read_bytes()


def _text(lines: Sequence[str], arch: str, toolchain: AmdToolchain) -> bytes | frozenset[int]:
    """The machine code, or the numbers of the lines that are wrong."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "k.s").write_text("\n".join([*lines, ""]), encoding="utf-8")
        command = (*toolchain.assemble(arch), "-ferror-limit=0", "-o", "k.o", "k.s")
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            data = (folder / "k.o").read_bytes()
            text = next(one for one in read_elf(Source("k.o", data)).sections if one.kind == _PROGBITS)
            return data[text.offset : text.offset + text.size]
    wrong = frozenset(int(line) - 1 for line in _ERROR.findall(done.stderr))
    if not wrong:
        raise ValueError(f"the assembler failed: {done.stderr[:400]}")
    return wrong
