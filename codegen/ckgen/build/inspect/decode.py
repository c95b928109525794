"""The instructions of a kernel's text, counted by mnemonic."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from ckgen.build.inspect.formats import Formats, Opcode

_SCALE_HALF = "v_mfma_ld_scale_b32"
_MATRIX = ("v_mfma_", "v_smfmac_", "v_wmma_", "v_swmmac_")


@dataclass(frozen=True, slots=True)
class Instructions:
    """Counts by mnemonic, in order of name; `undecoded` is the offset in the text where no instruction begins."""

    counts: Mapping[str, int]
    undecoded: int | None

    @property
    def matrix_ops(self) -> dict[str, int]:
        """The matrix instructions among them."""
        return {name: count for name, count in self.counts.items() if is_matrix_op(name)}


def is_matrix_op(mnemonic: str) -> bool:
    """Whether a mnemonic multiplies matrices: MFMA, WMMA and their sparse forms."""
    return mnemonic.startswith(_MATRIX)


def count_instructions(text: bytes, formats: Formats) -> Instructions:
    """Every instruction of a text that begins at its first byte; stops where none begins or one is cut short."""
    words = memoryview(text[: len(text) & ~3]).cast("I")
    found: Counter[str] = Counter()
    memo: dict[int, Opcode | None] = {}
    key_mask = formats.key_mask
    at, end = 0, len(words)
    while at < end:
        word = words[at]
        key = word & key_mask
        if key not in memo:
            memo[key] = formats.opcode(word)
        opcode = memo[key]
        if opcode is None:
            break
        dwords = opcode.size >> 2
        name = opcode.mnemonic
        if at + dwords <= end:
            if name == _SCALE_HALF:
                dwords, name = _scaled(words, at, formats)
            elif opcode.always_literal or any(
                (words[at + o.dword] >> o.shift) & o.mask in o.extends for o in opcode.operands
            ):
                dwords += 1
        if not name or at + dwords > end:
            break
        found[name] += 1
        at += dwords
    rest = None if at * 4 == len(text) else at * 4
    return Instructions(dict(sorted(found.items())), rest)


def _scaled(words: memoryview, at: int, formats: Formats) -> tuple[int, str]:
    """A scaled MFMA is two instructions long: its scales, then the product that its third dword names."""
    if at + 4 > len(words):
        return 4, ""
    second = words[at + 2]
    product = formats.opcode(second)
    return 4, formats.scaled.get((second >> 16) & 0x7F, "") if product is not None else ""
