"""The operations that `--ops` names; a new one is one more word here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Any, TypeVar

from ckgen.families.common.family import Family
from ckgen.families.common.instance import Instance
from ckgen.families.common.naming import instance_id, instance_name
from ckgen.families.common.signature import Signature
from ckgen.model.config import Config
from ckgen.model.errors import UsageError

AnyFamily = Family[Any]
"""A family whose signatures are not known to the type checker."""

S = TypeVar("S", bound=Signature)
C = TypeVar("C", bound=Config)

_NAMES = ("gemm", "stream_k", "grouped_gemm", "moe", "fmha")


class _Families(Mapping[str, AnyFamily]):
    """The FAMILY of each name's package. It is imported when it is first asked for: what needs one operation, or only
    the names, starts without the others."""

    def __getitem__(self, name: str) -> AnyFamily:
        if name not in _NAMES:
            raise KeyError(name)
        return _imported(name)

    def __iter__(self) -> Iterator[str]:
        return iter(_NAMES)

    def __len__(self) -> int:
        return len(_NAMES)


@cache
def _imported(name: str) -> AnyFamily:
    family: AnyFamily = import_module(f"ckgen.families.{name}.family").FAMILY
    return family


FAMILIES: Mapping[str, AnyFamily] = _Families()
"""Every operation that exists, by its `--ops` word."""


def names_of(ops: Iterable[str]) -> tuple[str, ...]:
    """The families' names among the words of `--ops`, each once, in registry order; all where there are no words."""
    wanted = set(ops)
    unknown = sorted(wanted - FAMILIES.keys())
    if unknown:
        raise UsageError(f"unknown op: {', '.join(unknown)} (known: {', '.join(FAMILIES)})")
    return tuple(name for name in FAMILIES if not wanted or name in wanted)


def families_of(ops: Iterable[str]) -> tuple[AnyFamily, ...]:
    """The families that `--ops` names, each once, in registry order; all where it names none."""
    return tuple(FAMILIES[name] for name in names_of(ops))


def family_of(signature: Signature) -> AnyFamily:
    """The family that the signature is of."""
    return _imported(str(signature.op))


def family_of_name(name: str) -> AnyFamily:
    """The family of a canonical name, by the word that it begins with; the first of the registry where it is none's."""
    begun = [FAMILIES[word] for word in FAMILIES if f"{name}_".startswith(f"{word}_")]
    named = [family for family in begun if family.op == family.name]  # names of stream_k begin with another's word
    return max(named, key=lambda family: len(family.op)) if named else FAMILIES[next(iter(FAMILIES))]


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
