"""The operations that `--ops` names; a new one is one more Family here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, TypeVar

from ckgen.families.common.family import Family
from ckgen.families.common.instance import Instance
from ckgen.families.common.naming import instance_id, instance_name
from ckgen.families.common.signature import Signature
from ckgen.families.fmha.family import FAMILY as FMHA
from ckgen.families.gemm.family import FAMILY as GEMM
from ckgen.families.grouped_gemm.family import FAMILY as GROUPED_GEMM
from ckgen.families.moe.family import FAMILY as MOE
from ckgen.families.stream_k.family import FAMILY as STREAM_K
from ckgen.model.config import Config
from ckgen.model.errors import UsageError

AnyFamily = Family[Any]
"""A family whose signatures are not known to the type checker."""

S = TypeVar("S", bound=Signature)
C = TypeVar("C", bound=Config)

FAMILIES: Mapping[str, AnyFamily] = {family.name: family for family in (GEMM, STREAM_K, GROUPED_GEMM, MOE, FMHA)}
"""Every operation that exists, by its `--ops` word."""


def families_of(ops: Iterable[str]) -> tuple[AnyFamily, ...]:
    """The families that `--ops` names, each once, in registry order; all where it names none."""
    wanted = set(ops)
    unknown = sorted(wanted - FAMILIES.keys())
    if unknown:
        raise UsageError(f"unknown op: {', '.join(unknown)} (known: {', '.join(FAMILIES)})")
    return tuple(family for name, family in FAMILIES.items() if not wanted or name in wanted)


def family_of(signature: Signature) -> AnyFamily:
    """The family that the signature is of."""
    return FAMILIES[str(signature.op)]


def family_of_name(name: str) -> AnyFamily:
    """The family of a canonical name, by the word that it begins with; the first of the registry where it is none's."""
    named = [family for family in FAMILIES.values() if f"{name}_".startswith(f"{family.op}_")]
    first = next(iter(FAMILIES.values()))
    return max(named, key=lambda family: len(family.op), default=first)


def make_instance(
    signature: S, config: C, archs: Iterable[str], *, module: str = "", table_kernel: str = ""
) -> Instance[S, C, Any]:
    """The instance with its name, id and what it asks of a problem; `archs` in any order."""
    found: Instance[S, C, Any] = _made(signature, config, tuple(sorted(set(archs))), module, table_kernel)
    return found


@cache
def _made(
    signature: Signature, config: Config, archs: tuple[str, ...], module: str, table_kernel: str
) -> Instance[Any, Any, Any]:
    family = family_of(signature)
    name = instance_name(signature, config.backend, config)
    return Instance(
        name=name,
        id=instance_id(name),
        signature=signature,
        backend=config.backend,
        config=config,
        constraints=family.constraints_of(signature, config),
        archs=archs,
        module=module,
        table_kernel=table_kernel,
        order=family.order_of(signature, config, archs),
        parts=tuple(_made(part, kernel, archs, module, "") for part, kernel in family.parts(signature, config)),
    )
