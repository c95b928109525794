"""One kernel that can be chosen: Signature + Config + Backend, under one injective name."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from ckgen.families.common.naming import instance_id, instance_name
from ckgen.families.gemm.config import GemmConfig, MoePairConfig
from ckgen.families.gemm.constraints import constraints_of
from ckgen.families.gemm.problem_rules import Constraints
from ckgen.families.gemm.signature import GemmSignature
from ckgen.families.moe.parts import part_signatures
from ckgen.model.backend import Backend


@dataclass(frozen=True, slots=True)
class Instance:
    """`archs` are the arch names that it is built for; `table_kernel` is the peer's own name, or empty.

    `parts` are the gate_up and down instances of an MoE layer that is made of two, else none.
    """

    name: str
    id: int
    signature: GemmSignature
    backend: Backend
    module: str
    config: GemmConfig
    constraints: Constraints
    table_kernel: str
    archs: tuple[str, ...]
    parts: tuple[Instance, ...] = ()


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
    return _made(signature, backend, config, module, table_kernel, tuple(sorted(archs)))


@cache
def _made(
    signature: GemmSignature,
    backend: Backend,
    config: GemmConfig,
    module: str,
    table_kernel: str,
    archs: tuple[str, ...],
) -> Instance:
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
        archs=archs,
        parts=_parts(signature, config, module, archs),
    )


def _parts(signature: GemmSignature, config: GemmConfig, module: str, archs: tuple[str, ...]) -> tuple[Instance, ...]:
    if not isinstance(config, MoePairConfig):
        return ()
    return tuple(
        make_instance(part, kernel.backend, kernel, module=module, table_kernel="", archs=archs)
        for part, kernel in zip(part_signatures(signature), (config.gate_up, config.down), strict=True)
    )
