"""The words of a canonical signature that few signatures have; whoever parses checks that the name comes back."""

from __future__ import annotations

from ckgen.families.gemm.enums import (
    USUAL_SCALE_BLOCK,
    EpilogueOp,
    Op,
    OperandOp,
    ScaleBlock,
    ScaleSides,
)

_EPILOGUE_OPS = frozenset(op.value for op in EpilogueOp)
_OPERAND_OPS = frozenset(op.value for op in OperandOp if op is not OperandOp.NONE)
_SCALE_SIDES = frozenset(sides.value for sides in ScaleSides)


def op_of(words: list[str]) -> tuple[Op | None, list[str]]:
    """The operation that a canonical name begins with, and the words behind it; None where it names none."""
    for op in Op:
        prefix = op.value.split("_")
        if words[: len(prefix)] == prefix:
            return op, words[len(prefix) :]
    return None, words


def epilogue_of(words: list[str]) -> tuple[EpilogueOp, ...]:
    """The steps behind `epi`; words that name none are left out."""
    after = words[words.index("epi") + 1 :] if "epi" in words else []
    return tuple(EpilogueOp(word) for word in after if word in _EPILOGUE_OPS)


def operand_op_of(words: list[str], side: str) -> OperandOp:
    """The op that stands behind the side's letter: the words `scales a` have a size there."""
    for at, word in enumerate(words[:-1]):
        if word == side and words[at + 1] in _OPERAND_OPS:
            return OperandOp(words[at + 1])
    return OperandOp.NONE


def scale_block_of(words: list[str]) -> ScaleBlock:
    """The sides and size behind `scales`; the usual one where they do not parse."""
    if "scales" not in words:
        return USUAL_SCALE_BLOCK
    sides, size = (*words[words.index("scales") + 1 :], "", "")[:2]
    n, _, k = size.partition("x")
    if sides not in _SCALE_SIDES or not (n.isdecimal() and k.isdecimal()):
        return USUAL_SCALE_BLOCK
    return ScaleBlock(ScaleSides(sides), int(n), int(k))
