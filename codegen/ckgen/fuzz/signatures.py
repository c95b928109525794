"""Signatures beside those that were built: one field of one that was, changed to any value of its type."""

from __future__ import annotations

import types
from collections.abc import Sequence
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from functools import cache
from random import Random
from typing import Any, Union, get_args, get_origin, get_type_hints

from ckgen.families.gemm.enums import MoeTraits, Op
from ckgen.families.gemm.signature import GemmSignature


def mutated(random: Random, signature: GemmSignature) -> GemmSignature:
    """The signature with one or two fields changed; it need not mean anything."""
    names = tuple(_types(GemmSignature))
    for name in random.sample(names, random.choice((1, 1, 2))):
        signature = replace(signature, **{name: any_value(random, _types(GemmSignature)[name])})
    return (
        signature if signature.op is Op.MOE else replace(signature, moe=MoeTraits())
    )  # no other op has a name for them


def any_value(random: Random, kind: Any) -> Any:
    """A value of a field's type: an Enum, a bool, an int, None, a tuple or a dataclass of such."""
    if get_origin(kind) in (Union, types.UnionType):
        return any_value(random, random.choice(get_args(kind)))
    if get_origin(kind) is tuple:
        return _tuple(random, get_args(kind))
    if kind is type(None):
        return None
    if kind is bool:
        return random.random() < 0.5
    if kind is int:
        return random.choice((0, 1, 2, 32, 64, 128, 256))
    if isinstance(kind, type) and issubclass(kind, Enum):
        return random.choice(list(kind))
    if isinstance(kind, type) and is_dataclass(kind):
        values = {name: any_value(random, one) for name, one in _types(kind).items()}
        return kind(**values)
    raise TypeError(f"a field of a signature has the type {kind}, of which no value can be drawn")


def _tuple(random: Random, kinds: Sequence[Any]) -> tuple[Any, ...]:
    if len(kinds) == 2 and kinds[1] is Ellipsis:
        return tuple(any_value(random, kinds[0]) for _ in range(random.randint(0, 3)))
    return tuple(any_value(random, kind) for kind in kinds)


@cache
def _types(kind: Any) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {one.name: hints[one.name] for one in fields(kind)}
