"""Kernel names of the peer's MoE tables: the forms of grammars.json, to read and to write names."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from ckgen.families.common.name_forms import NameForm, name_form
from ckgen.families.gemm.enums import EpilogueOp, MoePart
from ckgen.families.moe.ck_config import CkMoeKernel, CkMoeOp, NamedQuant, NamedType

_WORDS: Mapping[str, Callable[[Any], Any]] = {
    "part": MoePart, "op": CkMoeOp, "pipeline": int, "quant": NamedQuant, "a": NamedType, "b": NamedType,
    "c": NamedType, "activation": lambda word: None if word is None else EpilogueOp(word),
}  # fmt: skip


@cache
def parse_name(name: str) -> CkMoeKernel | None:
    """What the name of a classic CK kernel says; None if it has no form of these."""
    return next((found for form in forms() if (found := form.parse(name)) is not None), None)


def kernel_name(kernel: CkMoeKernel) -> str | None:
    """The name that tables give to a kernel; None if none says it."""
    return next((name for form in forms() if (name := form.format(kernel)) is not None), None)


def hints(*, full: bool) -> tuple[str, ...]:
    """The forms for people, cut after the tile unless `full`."""
    return tuple(form.hint(_data()["labels"], full=full) for form in forms())


@cache
def forms() -> tuple[NameForm[CkMoeKernel], ...]:
    """The name forms of gate_up and down kernels."""
    return tuple(
        name_form(form["pattern"], _data()["macros"], CkMoeKernel, form["fixed"], _word) for form in _data()["grammars"]
    )


def _word(field: str, value: Any) -> Any:
    return _WORDS[field](value)


@cache
def _data() -> dict[str, Any]:
    data: dict[str, Any] = json.loads(Path(__file__).with_name("grammars.json").read_text(encoding="utf-8"))
    return data
