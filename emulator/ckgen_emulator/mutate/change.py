"""What a mutation operator makes of an instruction."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Change:
    """Assembler lines in place of the mutated instruction and of `before` that precede it."""

    lines: tuple[str, ...]
    before: int = 0


def line(text: str) -> Iterator[Change]:
    """One line in place of one."""
    yield Change((text,))


def operands(text: str) -> tuple[str, list[str], str]:
    """Mnemonic, operands, and what follows the last operand."""
    name, _, rest = text.partition(" ")
    operands = rest.split(", ")
    last, _, after = operands[-1].partition(" ")
    return name, [*operands[:-1], last], f" {after}" if after else ""
