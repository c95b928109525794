"""Machine code of single lines, any of which may be wrong."""

from __future__ import annotations

from collections.abc import Sequence

from ckgen.build.amd.model import AmdToolchain
from ckgen_emulator.assemble import assemble
from ckgen_emulator.bindings import Emulator


def assembled(lines: Sequence[str], emulator: Emulator, toolchain: AmdToolchain) -> list[bytes | None]:
    """The machine code of each line, None where it is no instruction of the chip."""
    good = list(dict.fromkeys(lines))
    known: dict[str, bytes] = {}
    while good:
        data = assemble(good, emulator.chip.arch, toolchain)
        if isinstance(data, bytes):
            places = emulator.disassemble(data)
            if len(places) != len(good):
                raise ValueError(f"{len(good)} lines became {len(places)} instructions")
            known = {line: data[at : at + size] for line, (at, size, _) in zip(good, places, strict=True)}
            break
        good = [line for number, line in enumerate(good) if number not in data]
    return [known.get(line) for line in lines]
