"""One measured fact of an MoE layer: on this target, for these sizes and this routing, that kernel or pair won."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import ClassVar

from ckgen.model.tuned_row import Discriminators, TunedRow


class MoeActivation(Enum):
    """The activation between a layer's products, in the tables' words."""

    SILU = "Silu"
    GELU = "Gelu"
    SWIGLU = "Swiglu"


class MoeScales(Enum):
    """Which elements share a scale, in the tables' words."""

    NONE = "No"
    PER_TENSOR = "per_Tensor"
    PER_TOKEN = "per_Token"
    PER_1X32 = "per_1x32"
    PER_1X128 = "per_1x128"
    PER_128X128 = "per_128x128"


class GateMode(Enum):
    """How W1's gate and up rows lie: all gate rows first, or in turns."""

    SEPARATED = "SEPARATED"
    INTERLEAVE = "INTERLEAVE"


@dataclass(frozen=True, slots=True)
class MoeDiscriminators(Discriminators):
    """The key columns of an MoE dialect besides target, sizes and routing; `in_dtype` and `weight_dtype` are of A, W.

    What most dialects have no column for has here the value that the others mean. `max_m` bounds the rows per expert,
    `shared_expert` is an expert that takes every token, the pads are columns behind the sizes.
    """

    activation: MoeActivation = MoeActivation.SILU
    scales: MoeScales = MoeScales.NONE
    gated: bool = True
    weight_first: bool = False
    gate_mode: GateMode = GateMode.SEPARATED
    max_m: int | None = None
    shared_expert: int | None = None
    hidden_pad: int = 0
    inter_pad: int = 0
    tag: str = ""


@dataclass(frozen=True, slots=True)
class MoeStage:
    """A kernel of the row, and its own measurement; its name is the table's own, verbatim."""

    library: str
    kernel: str
    us: float | None
    error_ratio: float | None


@dataclass(frozen=True, slots=True)
class MoeRow(TunedRow):
    """A row of a tuned MoE table, adapted; nothing that decides which kernel runs is lost.

    `shape` is the lookup key: M tokens, N inter_dim, K model_dim, batch Routing.lookup_key, of top_k 0 where `top_k` is
    None: the row does not tell it. `stages` is one kernel for the whole layer, or gate_up and down; `library` and
    `kernel` join theirs. `us` is the layer's time, `error_ratio` its worst stage's. `block_m` None: the dialect does
    not tell.
    """

    op: ClassVar[str] = "moe"
    experts: int
    top_k: int | None
    stages: tuple[MoeStage, ...]
    block_m: int | None

    @property
    def sizes(self) -> str:
        """What people read."""
        top_k = "?" if self.top_k is None else self.top_k
        return f"tokens={self.shape.m} inter={self.shape.n} model={self.shape.k} experts={self.experts} top_k={top_k}"

    @property
    def named_sizes(self) -> dict[str, object]:
        """The routing in place of its key."""
        return {name: getattr(self.shape, name) for name in "mnk"} | {"experts": self.experts, "top_k": self.top_k}

    @property
    def answer(self) -> tuple[object, ...]:
        """What the row answers."""
        return self.library, self.kernel, self.k_batch, self.block_m
