"""What the machine code of one kernel must look like: what a Config means, as numbers that a gate can check."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Expectation:
    """Demands on one kernel of a code object.

    `opcodes` are the matrix instructions' mnemonics that the Config may mean, without suffixes such as `_e64`; every
    matrix instruction must be one of them. `steps` maps each of them to its number per wave and K step; the kernel's
    number must be a multiple of it, and exactly `copies` times it where `copies` is not 0 (copies of the K step's
    body in the text: main loop and tail).
    `lds_bytes` bounds LDS with what the launch adds, `scratch_bytes` and `spills` (VGPRs) bound what must be 0 for a
    plain GEMM. `waves_per_simd` is the occupancy that the launch bounds ask for; `resident` where results
    depend on it, as workgroups wait for each other.
    """

    steps: tuple[tuple[str, int], ...]
    copies: int
    lds_bytes: int
    scratch_bytes: int
    spills: int
    waves_per_simd: int
    resident: bool = False

    @property
    def opcodes(self) -> tuple[str, ...]:
        """The acceptable matrix instructions."""
        return tuple(opcode for opcode, _ in self.steps)
