"""A hand-written reduction over workgroups as a subject: what compiled GEMMs do not have.

Release and acquire between workgroups, a flag that is waited for, direct-to-LDS loads, DPP, EXEC masks, swizzles.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from ckgen.build.amd.model import AmdToolchain
from ckgen_emulator.assemble import link
from ckgen_emulator.bindings import Chip, Emulator, Module, Options
from ckgen_emulator.mutate.subject import Seen

SOURCE = Path(__file__).with_name("reduction.s")
_BLOCK = 256
_TURN = 1000  # instructions, so that those that wait do not wait long
SIZES = (256 + 219, 200, 700)
"""Elements of each problem."""


class ReductionSubject:
    """out[i] = sum(in) - in[i], with reduction.s."""

    name = "reduction over workgroups"

    def __init__(self, chip: Chip, table: str, toolchain: AmdToolchain, sizes: Sequence[int] = SIZES) -> None:
        self.chip, self.table = chip, table
        self.code = link(SOURCE.read_text(encoding="utf-8"), chip.arch, toolchain)
        self.problems, self._sizes = len(sizes), sizes

    def run(
        self, code: bytes, problems: Iterable[int], seed: int, most_instructions: int, trace: str = ""
    ) -> Iterator[Seen]:
        """As Subject says."""
        emulator = Emulator(self.chip, self.table)
        module = emulator.load(code)
        options = Options(seed=seed, most_instructions=most_instructions, trace=trace, turn=_TURN)
        for problem in problems:
            yield self._one(emulator, module, self._sizes[problem], options)

    def _one(self, emulator: Emulator, module: Module, size: int, options: Options) -> Seen:
        groups = -(-size // _BLOCK)
        values = np.random.default_rng(size).integers(1, 1000, size).astype(np.uint32)
        out = np.full(groups * _BLOCK, 0xDEAD, np.uint32)
        partial, sync = np.zeros(groups, np.uint32), np.full(64, 7, np.uint32)
        sync[[0, 16, 32]] = 0
        arrays = (values, out, partial, sync)
        written = (True, True, False, True)
        places = [emulator.add(array, written=known) for array, known in zip(arrays, written, strict=True)]
        args = np.array([*places, size, groups], np.uint64).tobytes()
        run = emulator.launch(module, module.kernels[0], [groups, 1, 1], [_BLOCK, 1, 1], args, options)
        for array in arrays:
            emulator.remove(array)
        expected = np.full_like(out, 0xDEAD)
        expected[:size] = values.sum() - values
        return Seen(
            tuple(one.rule for one in run.findings),
            tuple(one.address for one in run.findings),
            not np.array_equal(out, expected) or not (np.delete(sync, [0, 16, 32]) == 7).all(),
            "",
            run.instructions,
        )
