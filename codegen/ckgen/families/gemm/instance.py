"""One kernel that can be chosen: Signature + Config + Backend, under one injective name."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ckgen.families.gemm.config import GemmConfig
from ckgen.families.gemm.constraints import constraints_of
from ckgen.families.gemm.naming import instance_id, instance_name
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


def make_instance(
    signature: GemmSignature,
    backend: Backend,
    config: GemmConfig,
    *,
    module: str,
    table_kernel: str,
    archs: Iterable[str],
) -> Instance:
    """The instance with its name, id and what it asks of a problem; `archs` in any order."""
    name = instance_name(signature, backend, config)
    return Instance(
        name=name,
        id=instance_id(name),
        signature=signature,
        backend=backend,
        module=module,
        config=config,
        constraints=constraints_of(signature, config),
        table_kernel=table_kernel,
        archs=tuple(sorted(archs)),
    )
