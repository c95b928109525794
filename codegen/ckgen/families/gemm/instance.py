"""One kernel that can be chosen: Signature + Config + Backend, under one injective name."""

from __future__ import annotations

from dataclasses import dataclass

from ckgen.families.gemm.config import GemmConfig
from ckgen.families.gemm.problem_rules import Constraints
from ckgen.families.gemm.signature import GemmSignature
from ckgen.model.backend import Backend


@dataclass(frozen=True, slots=True)
class Instance:
    """`archs` are the arch names that it is built for; `table_kernel` is the peer's own name, or empty."""

    name: str
    id: int
    signature: GemmSignature
    backend: Backend
    module: str
    config: GemmConfig
    constraints: Constraints
    table_kernel: str
    archs: tuple[str, ...]
