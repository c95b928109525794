"""Mutants of a kernel: sites of every operator, chosen by a seed and spread over the kernel's parts."""

from __future__ import annotations

import random
import struct
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ckgen.build.amd.model import AmdToolchain
from ckgen.build.inspect.elf import Source, read_elf
from ckgen_emulator.bindings import Emulator
from ckgen_emulator.mutate.change import Change
from ckgen_emulator.mutate.code import Code
from ckgen_emulator.mutate.lines import assembled
from ckgen_emulator.mutate.operators import OPERATORS
from ckgen_emulator.mutate.regions import Region, regions

ROUNDING = "rounding_changed"
_NOP = struct.pack("<I", 0xBF800000)
_DESCRIPTOR_RSRC1 = 48
_ROUND_16_64 = 14  # bits of compute_pgm_rsrc1 (LLVM's AMDGPU usage guide, "Kernel Descriptor")
_TOWARDS_ZERO = 3


@dataclass(frozen=True, slots=True)
class Mutant:
    """A code object `data` with one change at `address`; `problems` are those that execute it."""

    operator: str
    address: int
    region: Region
    before: str
    after: str
    problems: tuple[int, ...]
    data: bytes


def mutants(
    code: Code, ran: Sequence[Counter[int]], emulator: Emulator, toolchain: AmdToolchain, seed: int, most: int
) -> list[Mutant]:
    """At most `most` of every operator, from every region in turn; `ran` per problem."""
    sites = _sites(code, ran)
    candidates = [(name, index, change) for name, index, change in _candidates(code, sites)]
    lines = [line for _, _, change in candidates for line in change.lines]
    machine = dict(zip(lines, assembled(lines, emulator, toolchain), strict=True))
    made: dict[str, dict[Region, list[Mutant]]] = {}
    for name, index, change in candidates:
        mutant = _mutant(code, name, index, change, machine, sites)
        if mutant is not None:
            made.setdefault(name, {}).setdefault(mutant.region, []).append(mutant)
    chosen = random.Random(seed)
    found = [mutant for name in OPERATORS if name in made for mutant in _spread(made[name], most, chosen)]
    return found + list(_rounding(code, ran, emulator))


def _sites(code: Code, ran: Sequence[Counter[int]]) -> dict[int, tuple[Region, tuple[int, ...]]]:
    """Region and problems of every address that any problem executes; the first problem's region counts."""
    found: dict[int, tuple[Region, tuple[int, ...]]] = {}
    for problem, counts in enumerate(ran):
        for address, region in regions(code, counts).items():
            known, problems = found.get(address, (region, ()))
            found[address] = (known, (*problems, problem))
    return found


def _candidates(
    code: Code, sites: dict[int, object] | dict[int, tuple[Region, tuple[int, ...]]]
) -> Iterator[tuple[str, int, Change]]:
    for index, one in enumerate(code.instructions):
        if one.address in sites:
            for name, operator in OPERATORS.items():
                for change in operator(code, index):
                    yield name, index, change


def _mutant(
    code: Code,
    name: str,
    index: int,
    change: Change,
    machine: dict[str, bytes | None],
    sites: dict[int, tuple[Region, tuple[int, ...]]],
) -> Mutant | None:
    """None where a line is no instruction, or needs more room, or is the same."""
    parts = [machine[line] for line in change.lines]
    old = code.instructions[index - change.before : index + 1]
    before = b"".join(code.bytes_of(one) for one in old)
    after = b"".join(part or b"" for part in parts)
    if None in parts or len(after) > len(before) or (len(before) - len(after)) % 4:
        return None
    after += _NOP * ((len(before) - len(after)) // 4)
    if after == before:
        return None
    one = code.instructions[index]
    region, problems = sites[one.address]
    said = "; ".join(each.text for each in old), "; ".join(change.lines)
    return Mutant(name, one.address, region, *said, problems, code.changed(old[0].address, after))


def _spread(by_region: dict[Region, list[Mutant]], most: int, chosen: random.Random) -> list[Mutant]:
    """One of each region in turn, at random in each."""
    left = [chosen.sample(by_region[region], len(by_region[region])) for region in Region if region in by_region]
    found: list[Mutant] = []
    while left and len(found) < most:
        for each in left[: most - len(found)]:
            found.append(each.pop())
        left = [each for each in left if each]
    return sorted(found, key=lambda one: one.address)


def _rounding(code: Code, ran: Sequence[Counter[int]], emulator: Emulator) -> Iterator[Mutant]:
    """Kernels whose descriptor says that 16-bit results are rounded towards zero, where they make such results."""
    addresses = frozenset().union(*ran)
    if not any(one.name == "v_cvt_f16_f32" and one.address in addresses for one in code.instructions):
        return
    elf = read_elf(Source("mutant", code.data))
    data = code.data
    first = 0
    for name, symbol in elf.symbols().items():
        section = next((one for one in elf.sections if one.file_offset(symbol.address) is not None), None)
        if not name.endswith(".kd") or section is None:
            continue
        place = (section.file_offset(symbol.address) or 0) + _DESCRIPTOR_RSRC1
        word = int.from_bytes(data[place : place + 4], "little") | _TOWARDS_ZERO << _ROUND_16_64
        data = data[:place] + word.to_bytes(4, "little") + data[place + 4 :]
        first = first or symbol.address + _DESCRIPTOR_RSRC1
    before, after = "compute_pgm_rsrc1: f16 to nearest", "compute_pgm_rsrc1: f16 towards zero"
    yield Mutant(ROUNDING, first, Region.EPILOGUE, before, after, tuple(range(len(ran))), data)
