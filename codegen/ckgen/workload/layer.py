"""What one kernel of a model computes, for any number of tokens."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Product:
    """A GEMM whose M is the tokens; with a `batch`, one of that many."""

    n: int
    k: int
    batch: int = 0
    bias: bool = False

    @property
    def text(self) -> str:
        """What people read."""
        return f"{f'B={self.batch} ' if self.batch else ''}N={self.n} K={self.k}{' bias' if self.bias else ''}"


@dataclass(frozen=True, slots=True, order=True)
class Experts:
    """A layer of experts: `inter` rows of gate and as many of up each, `top_k` experts to a token."""

    inter: int
    hidden: int
    experts: int
    top_k: int

    @property
    def text(self) -> str:
        """What people read."""
        return f"inter={self.inter} hidden={self.hidden} experts={self.experts} top_k={self.top_k}"


@dataclass(frozen=True, slots=True, order=True)
class Attention:
    """Heads of one rank; in elements the sizes of a head of Q and K, and of V."""

    heads_q: int
    heads_k: int
    hdim_q: int
    hdim_v: int

    @property
    def text(self) -> str:
        """What people read."""
        return f"heads_q={self.heads_q} heads_k={self.heads_k} hdim_q={self.hdim_q} hdim_v={self.hdim_v}"


Work = Product | Experts | Attention


@dataclass(frozen=True, slots=True)
class Layer:
    """Work that `count` layers of the model have; `quantized` where the model's quantization reaches its weights."""

    name: str
    work: Work
    count: int
    quantized: bool = True
