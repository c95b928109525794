"""The small vocabularies of a GEMM signature."""

from __future__ import annotations

from dataclasses import dataclass

from ckgen.model.strategy import Strategy as Strategy
from ckgen.model.word import Word


class Op(Word):
    """The operation: one product, many of their own sizes in one launch, or those of a mixture of experts."""

    GEMM = "gemm"
    GROUPED_GEMM = "grouped_gemm"
    MOE = "moe"


class Layout(Word):
    """Row or column major of A, B and C; with B as N rows of K elements, weights are `c` and the layout is `rcr`."""

    RCR = "rcr"
    RRR = "rrr"
    CCR = "ccr"
    CRR = "crr"


class Quant(Word):
    """Which elements of A and B share a scale.

    PER_TENSOR: all. ROWWISE: each row of A, each column of C. BLOCKSCALE: blocks, see ScaleBlock. MX: 32 along K.
    """

    NONE = "none"
    PER_TENSOR = "per_tensor"
    ROWWISE = "rowwise"
    BLOCKSCALE = "blockscale"
    MX = "mx"


class EpilogueOp(Word):
    """One step on the fp32 result after scales and bias; ADD and MUL take the next D tensor, SCALE takes alpha.

    GELU is the tanh form, as PyTorch's approximate="tanh"; SILU is x / (1 + e^-x).
    """

    ADD = "add"
    MUL = "mul"
    RELU = "relu"
    GELU = "gelu"
    SILU = "silu"
    SCALE = "scale"

    @property
    def takes_d(self) -> bool:
        """Whether it reads a D tensor."""
        return self in (EpilogueOp.ADD, EpilogueOp.MUL)


class OperandOp(Word):
    """How an operand comes from two tensors of its type, elementwise in fp32 and rounded once."""

    NONE = "none"
    ADD = "add"
    MUL = "mul"


class ScaleSides(Word):
    """Which operands have block scales."""

    BOTH = "both"
    A = "a"
    B = "b"


class MoePart(Word):
    """Which products of a mixture-of-experts layer: both, those before the activation, or the one behind it."""

    LAYER = "layer"
    GATE_UP = "gate_up"
    DOWN = "down"


@dataclass(frozen=True, slots=True)
class MoeTraits:
    """What an MoE signature says beside types and quantisation; the activation is its epilogue's one step.

    gated: W1 has gate and up rows. weight_first: the routing weight multiplies A's row, before the activation, not what
    the down product adds.
    """

    part: MoePart = MoePart.LAYER
    gated: bool = False
    weight_first: bool = False

    def __str__(self) -> str:
        flags = (("gated", self.gated), ("weightfirst", self.weight_first))
        return " ".join([str(self.part), *(word for word, present in flags if present)])


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
NO_MOE = MoeTraits()
ACTIVATIONS = (EpilogueOp.SILU, EpilogueOp.GELU, EpilogueOp.RELU)
SCALE_BLOCK_K = (128, 64, 32, 16)
SCALE_BLOCK_N = (128, 64, 32, 16, 8, 1)
MAX_EPILOGUE_OPS = 3
MAX_D = 2
