"""Shapes that a server's log says no table holds: lines of AITER, and of CKGEN_VERBOSE."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from ckgen.families.gemm.modules import modules
from ckgen.families.gemm.signature import signatures_of_row
from ckgen.families.gemm.table_module import resolve_module
from ckgen.families.moe.columns import REQUIRED
from ckgen.families.moe.tables import layer_signature, why_unsaid
from ckgen.model.dtype import TORCH_NAMES, DType, Fp8Flavour
from ckgen.model.errors import UsageError
from ckgen.model.moe_row import MoeDiscriminators
from ckgen.model.target import Target
from ckgen.model.tuned_row import Discriminators
from ckgen.tables.cell_readers import CellError, without_unknown
from ckgen.workload.shape_list import AskedShape

_GEMM = re.compile(
    r"shape is (?:B:(?P<b>\d{1,9}), ?)?M:(?P<m>\d{1,9}), ?N:(?P<n>\d{1,9}), ?K:(?P<k>\d{1,9})"
    r"(?P<about>.*?)not found tuned config in (?P<table>[^\s,]+)"
)
_FIELD = re.compile(r"(q_dtype_w|dtype|otype|bias|scaleAB|bpreshuffle)\s*[:=]\s*'?([\w.]+)'?")
_MOE = re.compile(r"\[fused_moe\] using \S+ default for \(([^()]*)\)")
_OTHER = re.compile(r"not found tuned config|\[fused_moe\] using \S+ default for")
_OWN = re.compile(
    r"ckgen_verbose,v1,select,(?P<signature>[^,]*),(?P<gfx>\w+):(?P<cu_num>\d{1,9})"
    r"(?::(?P<sku>\w+))?,(?P<sizes>[^,]*),(?P<tier>[^,]*),"
)
_WISHES = re.compile(r" (?:deterministic|batch_invariant)\b| strategy=\w+")
_SIZES = re.compile(
    r"b(\d+)m(\d+)n(\d+)k(\d+)(?:(?P<groups>[gG])\d+:(?P<each>[\d*x;]+))?(?:e(\d+)t(\d+))?(?:s\d+)?[di]?(?:/\w+)?"
)
_MISSED = frozenset({"heuristic", "predicted", "far", "other_cu", "default", "unsupported"})


@dataclass(slots=True)
class Heard:
    """What a log says: `missed` shapes and how often; lines that tell of a miss and cannot be read, by reason."""

    missed: Counter[AskedShape] = field(default_factory=Counter)
    unread: Counter[str] = field(default_factory=Counter)


def shapes_of_log(lines: Iterable[str], flavour: Fp8Flavour | None, target: Target | None = None) -> Heard:
    """The misses of a log; `flavour` and `target` are of the device that wrote it, where a line does not say its own.

    Of types that a line leaves open, the table's first.

    Source of AITER's lines: its aiter/ops/gemm_op_*.py, aiter/tuned_gemm.py and aiter/fused_moe.py.
    """
    heard = Heard()
    for line in lines:
        try:
            shape = _shape(line, flavour)
        except (_Unread, UsageError) as error:
            heard.unread[str(error)] += 1
            continue
        if shape is not None:
            known = replace(shape, **target._asdict()) if target and not shape.gfx else shape
            heard.missed[known] += 1
    return heard


class _Unread(Exception):
    """Why a line that tells of a miss is not understood."""


def _shape(line: str, flavour: Fp8Flavour | None) -> AskedShape | None:
    if (gemm := _GEMM.search(line)) is not None:
        return _gemm(gemm, flavour)
    if (moe := _MOE.search(line)) is not None:
        return _moe(moe[1], flavour)
    if (own := _OWN.search(line)) is not None:
        return _own(own) if own["tier"] in _MISSED else None
    if (other := _OTHER.search(line)) is not None:
        raise _Unread(f"a line with '{other[0]}' does not say its sizes as they are known")
    return None


def _gemm(found: re.Match[str], flavour: Fp8Flavour | None) -> AskedShape:
    known = {name: entry.module for name, entry in modules().items()}
    batch = int(found["b"] or 0)
    module = resolve_module(found["table"], batch > 0, None, (), known, lambda _: frozenset())
    if module is None:
        raise _Unread(f"the module of table '{found['table']}' is not known")
    said = dict(_FIELD.findall(found["about"]))
    discriminators = Discriminators(
        weight_dtype=_type(said.get("q_dtype_w")),
        in_dtype=_type(said.get("dtype")),
        out_dtype=_type(said.get("otype")),
        bias=said.get("bias") == "True",
        scale_ab=said.get("scaleAB") == "True",
        preshuffle_b=said.get("bpreshuffle") == "True",
    )
    signature = signatures_of_row(module.name, discriminators, flavour)[0]
    return AskedShape(signature.canonical(), batch, int(found["m"]), int(found["n"]), int(found["k"]))


def _type(text: str | None) -> DType | None:
    if text is not None and text not in TORCH_NAMES:
        raise _Unread(f"type '{text}' is not known")
    return TORCH_NAMES[text] if text is not None else None


def _moe(told: str, flavour: Fp8Flavour | None) -> AskedShape:
    """A key of the peer's: CUs, tokens, model_dim, inter_dim, experts, top_k, then the columns of REQUIRED."""
    cells = [cell.strip().strip("'\"") for cell in told.split(",")]
    if len(cells) < 6 + len(REQUIRED) or not all(cell.isdecimal() and len(cell) < 10 for cell in cells[:6]):
        raise _Unread("a [fused_moe] line of other columns")
    values: dict[str, Any] = {}
    for cell, (name, read) in zip(cells[6:], REQUIRED.values(), strict=False):
        values[name] = read(cell)
        if isinstance(values[name], CellError):
            raise _Unread(f"'{cell}' of a [fused_moe] line is not known")
    key = MoeDiscriminators(**without_unknown(values))
    if (why := why_unsaid(key)) is not None:
        raise _Unread(why)
    _, tokens, hidden, inter, experts, top_k = map(int, cells[:6])
    return AskedShape(layer_signature(key, flavour).canonical(), 0, tokens, inter, hidden, experts, top_k)


def _own(found: re.Match[str]) -> AskedShape:
    """A line of CKGEN_VERBOSE, which says its target; wishes are no part of a problem's sizes."""
    device: dict[str, Any] = {"gfx": found["gfx"], "cu_num": int(found["cu_num"]), "sku": found["sku"] or ""}
    if found["sizes"].startswith("batch="):
        return AskedShape(found["signature"], 0, 0, 0, 0, sizes=_WISHES.sub("", found["sizes"]), **device)
    sizes = _SIZES.fullmatch(found["sizes"])
    if sizes is None:
        raise _Unread(f"a line about {found['signature'].partition('_')[0]} does not say all sizes; CKGEN_RECORD does")
    batch, m, n, k, _, _, experts, top_k = sizes.groups()
    groups = {"g": "", "G": "on_device "}.get(sizes["groups"], "") + (sizes["each"] or "")
    routing = int(experts or 0), int(top_k or 0)
    return AskedShape(found["signature"], int(batch), int(m), int(n), int(k), *routing, sizes=groups, **device)
