"""What is mutated: a kernel with problems of which each has one right result."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from ckgen_emulator.bindings import Chip


@dataclass(frozen=True, slots=True)
class Seen:
    """What one run of a problem showed.

    `rules` and `where` (addresses) of findings in their order; `wrong`: the result is not right; `refused`: why there
    is none.
    """

    rules: tuple[str, ...]
    where: tuple[int, ...]
    wrong: bool
    refused: str
    instructions: int

    @property
    def caught(self) -> tuple[str, ...]:
        """Everything that tells the code from right code, the findings first."""
        other = (["result"] if self.wrong else []) + (["refused"] if self.refused else [])
        return (*dict.fromkeys(self.rules), *other)


class Subject(Protocol):
    """A kernel on a chip, and problems that together run all of it that is to be mutated."""

    name: str
    chip: Chip
    table: str
    code: bytes
    problems: int

    def run(
        self, code: bytes, problems: Iterable[int], seed: int, most_instructions: int, trace: str = ""
    ) -> Iterator[Seen]:
        """Problems with this code in place of the kernel's own, one by one. Once per process, which ends then."""
