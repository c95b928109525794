"""What a package shows to whoever reads its values: words, defaults, and that nothing can be changed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from importlib import import_module
from pkgutil import walk_packages
from types import FunctionType
from typing import Any


def _classes(package: str) -> Iterator[type[Any]]:
    root = import_module(package)
    for found in sorted(walk_packages(root.__path__, f"{package}."), key=lambda module: module.name):
        module = import_module(found.name)
        for _, cls in sorted(vars(module).items()):
            if isinstance(cls, type) and cls.__module__ == module.__name__:
                yield cls


def words_and_defaults(package: str) -> str:
    """Members of all its enums with their values, and public fields of its dataclasses that have a default."""
    lines = []
    for cls in _classes(package):
        name = f"{cls.__module__.removeprefix(f'{package}.')}.{cls.__name__}"
        if issubclass(cls, Enum):
            lines += [f"{name}.{member.name} = {member.value!r}" for member in cls]
        elif is_dataclass(cls):
            lines += [f"{name}({one.name}={_text(one.default)})" for one in fields(cls) if one.default is not MISSING]
        elif issubclass(cls, tuple) and hasattr(cls, "_field_defaults"):
            lines += [f"{name}({key}={value!r})" for key, value in cls._field_defaults.items()]
    return "".join(f"{line}\n" for line in lines)


def _text(default: object) -> str:
    return f"{default.__name__}()" if isinstance(default, FunctionType) else repr(default)


def changeable(package: str) -> list[str]:
    """Dataclasses whose fields can be assigned to."""
    found = [cls for cls in _classes(package) if is_dataclass(cls)]
    assert found
    return [cls.__qualname__ for cls in found if not cls.__dataclass_params__.frozen]  # type: ignore[attr-defined]
