"""Lists of shapes as AITER's own tuners read them: a file for each of its modules and targets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import cache
from typing import Any

from ckgen.families.gemm.columns import BATCH_COLUMN, DISCRIMINATORS
from ckgen.families.gemm.modules import modules
from ckgen.families.gemm.signature import GemmSignature, parse_signature, signatures_of_row
from ckgen.model.dtype import Fp8Flavour
from ckgen.model.errors import UsageError
from ckgen.model.target import Target
from ckgen.model.tuned_row import Discriminators
from ckgen.workload.shape_list import AskedShape

_BESIDE_SIZES: Mapping[str, tuple[str, ...]] = {
    "a8w8": ("q_dtype_w",),
    "a8w8_bpreshuffle": ("q_dtype_w",),
    "bf16": ("bias", "dtype", "outdtype", "scaleAB", "bpreshuffle"),
}
"""What an untuned file of a module has beside sizes. Source: the `*_untuned_gemm.csv` in AITER's aiter/configs."""


def untuned_files(counts: Counter[AskedShape], device: Target | None) -> tuple[dict[str, str], Counter[str]]:
    """The files' texts by name, shapes most often asked first, and why how many shapes are in none.

    `device` is that of shapes without a target. A shape that several signatures of one file ask stands once.
    """
    lists: dict[str, dict[str, int]] = {}
    heads: dict[str, str] = {}
    left_out = Counter[str]()
    for shape, count in counts.items():
        gfx, cu_num = (shape.gfx, shape.cu_num) if shape.gfx else (device.gfx, device.cu_num) if device else ("", 0)
        found = _module_of(shape.signature)
        if found is None:
            left_out[f"no tuner of AITER's takes {shape.signature}"] += 1
        elif not gfx:
            left_out["the list does not say of which device; --target does"] += 1
        else:
            module, cells = found
            name = f"{module}_untuned_gemm_{gfx}_{cu_num}.csv"
            batch = modules()[module].module.batched
            heads[name] = ",".join([*[BATCH_COLUMN] * batch, "M", "N", "K", *cells])
            line = ",".join(map(str, [*[shape.batch] * batch, shape.m, shape.n, shape.k, *cells.values()]))
            asked = lists.setdefault(name, {})
            asked[line] = asked.get(line, 0) + count
    ordered = {name: sorted(lines, key=lambda line: (-lines[line], line)) for name, lines in sorted(lists.items())}
    return {name: "\n".join([heads[name], *lines, ""]) for name, lines in ordered.items()}, left_out


@cache
def _module_of(name: str) -> tuple[str, Mapping[str, str]] | None:
    """The module whose rows stand for a signature, and its cells beside the sizes."""
    if not name.startswith("gemm_"):
        return None
    try:
        signature = parse_signature(name, None)
    except UsageError:
        return None
    for module in modules():
        columns = _BESIDE_SIZES.get(module, ())
        fields: dict[str, Any] = {DISCRIMINATORS[column][0]: _value(signature, column) for column in columns}
        if _stands_for(module, Discriminators(**fields), signature):
            return module, {column: _text(_value(signature, column)) for column in columns}
    return None


def _stands_for(module: str, discriminators: Discriminators, signature: GemmSignature) -> bool:
    if not modules()[module].template.admits(signature.b):
        return False
    try:
        return any(signature in signatures_of_row(module, discriminators, flavour) for flavour in Fp8Flavour)
    except UsageError:
        return False


def _value(signature: GemmSignature, column: str) -> object:
    return {
        "q_dtype_w": signature.b,
        "dtype": signature.a,
        "outdtype": signature.c,
        "bias": signature.bias,
        "scaleAB": False,
        "bpreshuffle": signature.preshuffle_b,
    }[column]


def _text(value: object) -> str:
    return str(getattr(value, "torch", value))
