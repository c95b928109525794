"""One attention kernel that can be chosen: Signature + Config + Backend, under one injective name."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from ckgen.families.common.naming import instance_id
from ckgen.families.fmha.constraints import FmhaConstraints, constraints_of
from ckgen.families.fmha.grammar import AnyFmhaConfig
from ckgen.families.fmha.signature import FmhaSignature
from ckgen.model.backend import Backend


@dataclass(frozen=True, slots=True)
class FmhaInstance:
    """`archs` are the arch names that it is built for, in order. No table names one, and none is made of parts."""

    name: str
    id: int
    signature: FmhaSignature
    backend: Backend
    config: AnyFmhaConfig
    constraints: FmhaConstraints
    archs: tuple[str, ...]

    @property
    def module(self) -> str:
        """There are no tables of attention."""
        return ""

    @property
    def table_kernel(self) -> str:
        """Nor names in them."""
        return ""

    @property
    def parts(self) -> tuple[FmhaInstance, ...]:
        """One kernel computes it all."""
        return ()


def make_fmha_instance(signature: FmhaSignature, config: AnyFmhaConfig, archs: Iterable[str]) -> FmhaInstance:
    """The instance with its name, id and what it asks of a problem; `archs` in any order."""
    return _made(signature, config, tuple(sorted(set(archs))))


@cache
def _made(signature: FmhaSignature, config: AnyFmhaConfig, archs: tuple[str, ...]) -> FmhaInstance:
    name = f"{signature.canonical()}_{config.backend}_{config.text()}"
    constraints = constraints_of(signature, config)
    return FmhaInstance(name, instance_id(name), signature, config.backend, config, constraints, archs)
