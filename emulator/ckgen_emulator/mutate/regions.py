"""Which part of a kernel an instruction belongs to, by what was executed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from enum import Enum
from pathlib import Path

from ckgen_emulator.mutate.code import Code


class Region(Enum):
    """LOOP: loops with MFMAs that were run through more than once; TAIL: from there to the last MFMA.

    Without an MFMA everything is BODY.
    """

    PROLOGUE = "prologue"
    LOOP = "main loop"
    TAIL = "tail"
    EPILOGUE = "epilogue"
    BODY = "body"


def executed(trace: Path) -> Counter[int]:
    """How often waves executed the instruction at each address, from a trace of the core's."""
    with trace.open(encoding="ascii") as lines:
        return Counter(int(line.split(" ", 3)[2], 16) for line in lines)


def regions(code: Code, counts: Counter[int]) -> dict[int, Region]:
    """The region of every executed address."""
    matrix = [one.address for one in code.instructions if counts[one.address] and one.text.startswith("v_mfma")]
    if not matrix:
        return dict.fromkeys(counts, Region.BODY)
    loops = [loop for loop in _loops(code, counts) if any(address in loop for address in matrix)]
    first = min([loop.start for loop in loops], default=min(matrix))

    def of(address: int) -> Region:
        if any(address in loop for loop in loops):
            return Region.LOOP
        if address < first:
            return Region.PROLOGUE
        return Region.TAIL if address <= max(matrix) else Region.EPILOGUE

    return {address: of(address) for address in counts}


def _loops(code: Code, counts: Counter[int]) -> Iterable[range]:
    """From the target of each executed backward branch to the branch, where the target ran more often than what
    precedes it."""
    for one in code.instructions:
        target = one.target
        if counts[one.address] and target is not None and target <= one.address and target in code.at:
            before = code.instructions[code.at[target] - 1].address
            if counts[target] > counts[before]:
                yield range(target, one.end)
