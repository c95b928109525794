"""The peer's table families, read from modules.json, and what aliases of signatures fix."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ckgen.families.common.m_policy import Rounding, read_roundings
from ckgen.families.common.signature_tables import ALIASES
from ckgen.families.gemm.enums import Layout, Quant
from ckgen.model.dtype import DType, Fp8Flavour
from ckgen.model.module import LibrarySplitK, Module, SplitK


@dataclass(frozen=True, slots=True)
class SignatureTemplate:
    """What a module's or alias's name fixes of a signature.

    `operand` is None where the name leaves A's and B's type open; `out` is C's type when nobody says another.
    """

    operands: tuple[DType, ...]
    operand: DType | None
    out: DType
    quant: Quant
    layout: Layout
    preshuffle_b: bool
    batched: bool

    def admits(self, dtype: DType) -> bool:
        """Whether `dtype` may be the operands' type; a plain fp8 admits both flavours."""
        return any(dtype is known or dtype in _flavours(known) for known in self.operands)


@dataclass(frozen=True, slots=True)
class GemmModule:
    """One of the peer's table families: the table adapter's view, the signature, and how the peer rounds M.

    `table_outs` are the output types that a row without an output type stands for.
    `kernel_m` and `split_k_m` are the roundings that the peer tries in order for the kernel and for k_batch.
    """

    module: Module
    template: SignatureTemplate
    table_outs: tuple[DType, ...]
    kernel_m: tuple[Rounding, ...]
    split_k_m: tuple[Rounding, ...]

    @property
    def name(self) -> str:
        """The module's name, as in file names and aliases."""
        return self.module.name


@cache
def modules() -> Mapping[str, GemmModule]:
    """Every module that has tables, by name."""
    return {name: _module(name, entry) for name, entry in _data()["modules"].items()}


@dataclass(frozen=True, slots=True)
class UnsignedModule:
    """A table family that no signature says, so that its rows answer nothing: `why` is said of them.

    Where it is empty, all are external: ckgen builds none of its kernels.
    """

    module: Module
    why: str


@cache
def unsigned_modules() -> Mapping[str, UnsignedModule]:
    """Those there are, by name."""
    entries = _data()["unsigned"]
    return {
        name: UnsignedModule(Module(name, entry["batched"], (), ()), entry["why"]) for name, entry in entries.items()
    }


@cache
def templates() -> Mapping[str, SignatureTemplate]:
    """Every name that `parse_signature` takes: modules, dense types, mxfp8."""
    return {name: _template(name) for name in ALIASES}


@cache
def roundings() -> Mapping[str, Rounding]:
    """The peer's roundings of M by name."""
    return read_roundings(_data()["roundings"])


@cache
def _data() -> dict[str, Any]:
    data: dict[str, Any] = json.loads(Path(__file__).with_name("modules.json").read_text(encoding="utf-8"))
    return data


def _flavours(dtype: DType) -> tuple[DType, ...]:
    return tuple(dtype.resolve(flavour) for flavour in Fp8Flavour)


def _template(name: str) -> SignatureTemplate:
    operands, operand, out, quant, preshuffle_b, batched = ALIASES[name]
    return SignatureTemplate(operands, operand, out, quant, Layout.RCR, preshuffle_b, batched)


def _module(name: str, entry: Mapping[str, Any]) -> GemmModule:
    split_k = tuple(LibrarySplitK(library, SplitK(meaning)) for library, meaning in entry["split_k"].items())
    template = _template(name)
    return GemmModule(
        module=Module(name, template.batched, tuple(entry["generated"]), split_k),
        template=template,
        table_outs=tuple(DType(out) for out in entry["table_outs"]),
        kernel_m=tuple(roundings()[word] for word in entry["kernel_m"]),
        split_k_m=tuple(roundings()[word] for word in entry["split_k_m"]),
    )
