"""Python values as C++ text; every name is checked before it may stand in code."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from ckgen.families.common.cpp_words import why_not_a_name
from ckgen.families.common.instance import Instance
from ckgen.model.backend import Backend
from ckgen.model.config import Tile
from ckgen.model.dtype import DType
from ckgen.model.target import Target
from ckgen.model.word import Word

_PLAIN = re.compile(r"[ -!#-\[\]-~]*")


def identifier(name: str) -> str:
    """The name itself; ValueError, with the reason, where it could not be a C++ identifier that anybody may choose."""
    reason = why_not_a_name(name)
    if reason is not None:
        raise ValueError(f"not usable as a C++ identifier: {name!r} ({reason})")
    return name


def target_symbol(target: Target) -> str:
    """The name of what is of one target, as in sm_90a_132_h200."""
    return identifier("_".join(str(target).split(":")))


def quotable(text: str) -> str:
    """The text itself; ValueError where it could not stand between double quotes unchanged."""
    if not _PLAIN.fullmatch(text):
        raise ValueError(f"not usable in a C++ string: {text!r}")
    return text


def boolean(value: bool) -> str:
    """`true` or `false`."""
    return "true" if value else "false"


def hex64(value: int) -> str:
    """An unsigned 64-bit literal."""
    return f"0x{value:016x}ULL"


def dtype(value: DType | None) -> str:
    """A ckgen::DType; None is `none`."""
    return f"ckgen::DType::{value.value if value is not None else 'none'}"


def backend(value: Backend) -> str:
    """A ckgen::Backend: `asm` is a keyword there."""
    return f"ckgen::Backend::{'asm_' if value is Backend.ASM else value.value}"


def word(name: str, *arguments: object) -> str:
    """One word of ckgen::describe behind what it is said of: `.name(arguments)`."""
    return f".{name}({', '.join(map(str, arguments))})"


def said(values: Mapping[str, bool | int], unsaid: Mapping[str, bool | int]) -> list[str]:
    """The words of all values but those that are as they are when nobody says them; a flag's word alone means true."""
    return [
        word(name) if value is True else word(name, boolean(value) if value is False else value)
        for name, value in values.items()
        if value != unsaid[name]
    ]


def macro_tile(value: Tile) -> str:
    """The word of a ckgen::Tile."""
    return word("macro_tile", value.m, value.n, value.k)


def order(instance: Instance[Any, Any, Any]) -> list[str]:
    """The word of a ckgen::OrderClass; none where there is no order."""
    numbers = instance.order.numbers
    return [word("order", *(f"0x{number:08x}U" for number in numbers))] if any(numbers) else []


def on_archs(archs: Iterable[str]) -> str:
    """The word of an instance's archs, whose bits have their names in a unit."""
    return word("archs", " | ".join(identifier(arch) for arch in archs))


def described(instance: Instance[Any, Any, Any]) -> tuple[str, str]:
    """An instance's enumerator and the arguments of ckgen::describe::instance."""
    number = identifier(identifier(instance.name).removeprefix(f"{instance.signature.canonical()}_"))
    return number, f'"{instance.name}", {hex64(instance.id)}, signature, {backend(instance.backend)}'


def enumerator(value: Word) -> str:
    """An enumerator of the enum that C++ and Python share."""
    return f"ckgen::{type(value).__name__}::{value.name.lower()}"
