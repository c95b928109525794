"""Proves the emulator's decoder and text: machine code -> text -> the pinned clang's assembler -> the same bytes.

usage: round_trip.py [PLACE ...]   (code objects, wheels, folders; default: ckgen's build cache and AITER's wheel)

Every distinct instruction of every code object for a chip that the emulator executes. Its boundaries and mnemonics are
also compared with ckgen's own instruction counter, which has tables of its own. Exit code 1 with any mismatch.
"""

from __future__ import annotations

import re
import sys
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ckgen.build.amd.model import AmdToolchain
from ckgen.build.amd.toolchain import load
from ckgen.build.cache import default_cache
from ckgen.build.inspect.code_object import read_code_object
from ckgen.build.inspect.decode import count_instructions
from ckgen.build.inspect.elf import Source
from ckgen.build.inspect.formats import Formats, load_formats
from ckgen_emulator.assemble import assemble
from ckgen_emulator.bindings import Chip, Emulator
from ckgen_emulator.isa import executed_archs, isa_text
from ckgen_emulator.production.wheel import wheel_path

BATCH = 50_000
_ENDINGS = (".co", ".hsaco")
_ENCODING = re.compile(r"_(?:e32|e64|dpp|sdwa)$")
_SCALES = 0xD3AC  # upper half of the first dword of a scaled MFMA


@dataclass(frozen=True, slots=True)
class Mismatch:
    """An instruction that did not come back: `why` the assembler's error or the bytes that it made."""

    code: bytes
    text: str
    why: str


@dataclass(slots=True)
class Found:
    """What the code objects of one arch hold: each distinct instruction with its text."""

    kernels: int = 0
    instructions: int = 0
    texts: dict[bytes, str] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)


def meant(code: bytes) -> bytes:
    """The bytes without bits that mean nothing, which no text can express; LLVM's assembler writes them as 0.

    op_sel[2] and op_sel_hi[2] of a scaled MFMA's first half, which has two operands; AMD's compiler sets both.
    """
    first = int.from_bytes(code[:4], "little")
    if first >> 16 != _SCALES:
        return code
    return (first & ~0x6000).to_bytes(4, "little") + code[4:]


def add(found: Found, name: str, text: bytes, emulator: Emulator, formats: Formats) -> None:
    """Takes a kernel's instructions in, and compares their mnemonics with the other decoder's."""
    found.kernels += 1
    names = Counter[str]()
    end = 0
    for address, size, line in emulator.disassemble(text):
        found.texts.setdefault(text[address : address + size], line)
        names[_ENCODING.sub("", line.partition(" ")[0])] += 1
        end = address + size
    found.instructions += names.total()
    if end != len(text):
        found.wrong.append(f"{name}: no instruction at {end:#x}: {text[end : end + 16].hex()}")
    other = Counter(count_instructions(text, formats).counts)
    if other != names:
        found.wrong.append(f"{name}: not the counter's: {dict(names - other)} for {dict(other - names)}")


def mismatches(texts: Sequence[tuple[bytes, str]], arch: str, toolchain: AmdToolchain) -> Iterator[Mismatch]:
    """Assembles all of them, instructions of one size together so that places tell them apart."""
    for size in sorted({len(code) for code, _ in texts}):
        same = [each for each in texts if len(each[0]) == size]
        for start in range(0, len(same), BATCH):
            yield from _batch(same[start : start + BATCH], arch, toolchain)


def _batch(texts: Sequence[tuple[bytes, str]], arch: str, toolchain: AmdToolchain) -> Iterator[Mismatch]:
    made = assemble([text for _, text in texts], arch, toolchain)
    if isinstance(made, dict):
        yield from (Mismatch(*texts[line], why) for line, why in made.items())
        good = [each for line, each in enumerate(texts) if line not in made]
        if good:
            yield from _batch(good, arch, toolchain)
        return
    size = len(texts[0][0])
    if len(made) == size * len(texts):
        for place, (code, text) in enumerate(texts):
            one = made[place * size : (place + 1) * size]
            if one != meant(code):
                yield Mismatch(code, text, one.hex())
    elif len(texts) == 1:
        yield Mismatch(*texts[0], made.hex())
    else:
        half = len(texts) // 2
        yield from _batch(texts[:half], arch, toolchain)
        yield from _batch(texts[half:], arch, toolchain)


def _code_objects(places: Iterable[Path]) -> Iterator[tuple[str, bytes]]:
    for place in places:
        if place.is_dir():
            yield from ((str(path), path.read_bytes()) for path in sorted(place.rglob("*")) if path.suffix in _ENDINGS)
        elif place.suffix == ".whl":
            with zipfile.ZipFile(place) as wheel:
                yield from ((name, wheel.read(name)) for name in wheel.namelist() if name.endswith(_ENDINGS))
        else:
            yield str(place), place.read_bytes()


def _say(text: str, end: str = "\n") -> None:
    if end == "\n" or sys.stderr.isatty():
        sys.stderr.write(("\r" if end == "" else "") + text + end)
        sys.stderr.flush()


def main(places: Sequence[Path]) -> int:
    toolchain = load()
    assert toolchain.decoder is not None
    chips = {arch: Emulator(Chip(arch, 1, 1, 65536), isa_text(toolchain.decoder, arch)) for arch in executed_archs()}
    known = {arch: load_formats(toolchain.decoder, arch) for arch in executed_archs()}
    found = {arch: Found() for arch in executed_archs()}
    others = 0
    for number, (name, data) in enumerate(_code_objects(places or [default_cache(), wheel_path(toolchain)])):
        code = read_code_object(Source(name, data))
        if code.arch not in found:
            others += 1
            continue
        for kernel in code.kernels:
            add(found[code.arch], f"{name}: {kernel.name}", kernel.text, chips[code.arch], known[code.arch])
        _say(f"{number + 1} code objects, {sum(one.instructions for one in found.values())} instructions", end="")
    _say("", end="\n" if sys.stderr.isatty() else "")
    failed = False
    for arch, one in found.items():
        _say(f"{arch}: assembling {len(one.texts)} lines", end="")
        wrong = list(mismatches(list(one.texts.items()), arch, toolchain))
        ignored = sum(meant(code) != code for code in one.texts)
        print(
            f"{arch}: {one.kernels} kernels, {one.instructions} instructions, {len(one.texts)} distinct, "
            f"{ignored} of them with bits that mean nothing, {len(wrong)} mismatches, {len(one.wrong)} kernels misread"
        )
        for each in wrong[:20]:
            print(f"  {each.code.hex()}  {each.text}: {each.why}")
        for line in one.wrong[:20]:
            print(f"  {line}")
        failed = failed or bool(wrong or one.wrong)
    if others:
        print(f"{others} code objects of chips that are not executed left out")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main([Path(argument) for argument in sys.argv[1:]]))
