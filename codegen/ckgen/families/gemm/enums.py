"""What a GEMM signature says beside its types."""

from __future__ import annotations

from dataclasses import dataclass

from ckgen.model.op_words import ACTIVATIONS as ACTIVATIONS
from ckgen.model.op_words import MAX_D as MAX_D
from ckgen.model.op_words import MAX_EPILOGUE_OPS as MAX_EPILOGUE_OPS
from ckgen.model.op_words import SCALE_BLOCK_K as SCALE_BLOCK_K
from ckgen.model.op_words import SCALE_BLOCK_N as SCALE_BLOCK_N
from ckgen.model.op_words import EpilogueOp as EpilogueOp
from ckgen.model.op_words import Layout as Layout
from ckgen.model.op_words import MoePart as MoePart
from ckgen.model.op_words import Op as Op
from ckgen.model.op_words import OperandOp as OperandOp
from ckgen.model.op_words import Quant as Quant
from ckgen.model.op_words import ScaleSides as ScaleSides
from ckgen.model.op_words import Strategy as Strategy


@dataclass(frozen=True, slots=True)
class MoeTraits:
    """What an MoE signature says beside types and quantisation; the activation is its epilogue's one step.

    gated: W1 has gate and up rows. weight_first: the routing weight multiplies A's row, before the activation, not what
    the down product adds.
    """

    part: MoePart = MoePart.LAYER
    gated: bool = False
    weight_first: bool = False


@dataclass(frozen=True, slots=True)
class ScaleBlock:
    """Elements that share a block scale: 1 x `k` of A, `n` x `k` of B."""

    sides: ScaleSides = ScaleSides.BOTH
    n: int = 128
    k: int = 128

    @property
    def of_a(self) -> bool:
        """Whether A has scales."""
        return self.sides is not ScaleSides.B

    @property
    def of_b(self) -> bool:
        """Whether B has scales."""
        return self.sides is not ScaleSides.A

    def __str__(self) -> str:
        return f"{self.sides} {self.n}x{self.k}"


USUAL_SCALE_BLOCK = ScaleBlock()
MX_K = 32
"""Elements of K that share a scale of mx."""
NO_MOE = MoeTraits()
