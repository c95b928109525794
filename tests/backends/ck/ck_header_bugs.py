"""docs/upstream/ck_exceptions.json: where ck's headers accept what their kernels compute wrongly."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from types import CodeType

from ck_host_units import Kind

from cpp_build import ROOT

UPSTREAM = ROOT / "docs" / "upstream"


@dataclass(frozen=True)
class HeaderBug:
    """`when` is true for the problems that the op may accept and ckgen refuses."""

    id: str
    modules: tuple[str, ...]
    when: CodeType
    document: str

    def covers(self, kind: Kind, row: list[int]) -> bool:
        """Whether this is why the op accepts the problem m, n, k, batch, k_batch."""
        if kind.instance.module not in self.modules:
            return False
        tile, signature = kind.instance.config.macro_tile, kind.instance.signature
        m, n, k, _, k_batch = row
        names = {"m": m, "n": n, "k": k, "k_batch": k_batch, "a_bits": signature.a.bits, "c_bits": signature.c.bits}
        names |= {"tile_m": tile.m, "tile_n": tile.n, "tile_k": tile.k, "max": max}
        return bool(eval(self.when, {"__builtins__": {}}, names))


@cache
def header_bugs() -> tuple[HeaderBug, ...]:
    """All of them, in the file's order."""
    data = json.loads((UPSTREAM / "ck_exceptions.json").read_text(encoding="utf-8"))
    return tuple(
        HeaderBug(each["id"], tuple(each["modules"]), compile(each["when"], each["id"], "eval"), each["document"])
        for each in data["exceptions"]
    )
