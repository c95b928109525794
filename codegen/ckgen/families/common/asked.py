"""What a command line says of a problem beside its device: its family makes one of it."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields
from typing import Any

from ckgen.model.errors import UsageError

_INTEGER = re.compile(r"[+-]?[0-9]{1,30}")


@dataclass(frozen=True, slots=True)
class Asked:
    """The argument OP, the values of options, None where they are not given, and the words KEY=VALUE."""

    op: str
    signature: str | None = None
    shape: str | None = None
    batch: str | None = None
    groups: str | None = None
    groups_on_device: str | None = None
    experts: int | None = None
    top_k: int | None = None
    block_m: int | None = None
    module: str | None = None
    sizes: tuple[str, ...] = ()

    @classmethod
    def of(cls, params: Mapping[str, Any]) -> Asked:
        """Of a command's parameters, by name."""
        return cls(**{one.name: params[one.name] for one in fields(cls)})

    def refuse_beside(self, op: str, known: Collection[str]) -> None:
        """UsageError for what is said that problems of `op` do not have; OP and --signature all have."""
        if self.sizes and "sizes" not in known:
            raise UsageError(f"'{self.sizes[0]}': the sizes of {op} are options, not KEY=VALUE")
        for name in (one.name for one in fields(self) if one.default is None):
            if name not in ("signature", *known) and getattr(self, name) is not None:
                raise UsageError(f"{flag(name)} is not an option of {op}")

    def demand(self, op: str, *names: str) -> None:
        """UsageError for options that are missing."""
        missing = [flag(name) for name in names if getattr(self, name) is None]
        if missing:
            raise UsageError(f"{op} needs {', '.join(missing)}")


def flag(name: str) -> str:
    """The option of a field."""
    return f"--{name.replace('_', '-')}"


def is_integer(text: str) -> bool:
    """Whether a text is an integer that Python reads at once."""
    return _INTEGER.fullmatch(text) is not None
