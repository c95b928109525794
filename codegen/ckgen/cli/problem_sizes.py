"""The sizes that `lookup` and `explain` are asked for: of one product, of groups, of routed tokens."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ckgen.families.gemm.enums import Op
from ckgen.families.gemm.signature import GemmSignature
from ckgen.model.errors import UsageError
from ckgen.model.groups import NO_ROUTING, Groups, GroupSize, Routing
from ckgen.model.tuned_row import Shape

_SIZE = re.compile(r"[+-]?[0-9]{1,30}")
_GROUP = re.compile(r"(?:(?P<times>[0-9]{1,6})\*)?(?P<m>-?[0-9]{1,19})x(?P<n>-?[0-9]{1,19})x(?P<k>-?[0-9]{1,19})")
_ON_DEVICE = re.compile(r"(?P<count>[0-9]{1,9}):(?P<m>[0-9]{1,19})x(?P<n>[0-9]{1,19})x(?P<k>[0-9]{1,19})")
_OPTIONS = {
    Op.GEMM: ("shape", "batch"),
    Op.GROUPED_GEMM: ("groups", "groups_on_device"),
    Op.MOE: ("shape", "experts", "top_k", "block_m"),
}


@dataclass(frozen=True, slots=True)
class AskedSizes:
    """As a Query takes them."""

    shape: Shape
    groups: Groups | None = None
    routing: Routing = NO_ROUTING
    block_m: int = 0


def asked_sizes(signature: GemmSignature, params: Mapping[str, Any]) -> AskedSizes:
    """What the options of the signature's op say; UsageError for one that is missing, of another op, or no number."""
    known = _OPTIONS[signature.op]
    for name in dict.fromkeys(name for names in _OPTIONS.values() for name in names):
        if params[name] is not None and name not in known:
            raise UsageError(f"{_flag(name)} is not an option of {signature.op}")
    if signature.op is Op.GROUPED_GEMM:
        groups = _groups(params["groups"], params["groups_on_device"])
        return AskedSizes(Shape(0, 0, 0, 0), groups)
    if signature.op is Op.MOE:
        needed = {name: params[name] for name in ("shape", "experts", "top_k")}
        _demand(signature, needed)
        routing = Routing(needed["experts"], needed["top_k"])
        return AskedSizes(_shape(needed["shape"], None, signature), routing=routing, block_m=params["block_m"] or 0)
    _demand(signature, {"shape": params["shape"]})
    return AskedSizes(_shape(params["shape"], params["batch"], signature))


def sizes_document(signature: GemmSignature, asked: AskedSizes) -> dict[str, Any]:
    """The sizes as JSON."""
    groups, shape = asked.groups, asked.shape
    if groups is not None:
        sizes = [{"M": size.m, "N": size.n, "K": size.k} for size in groups.sizes]
        return {"count": groups.count, "most": sizes[0]} if groups.are_on_device else {"groups": sizes}
    found = {"M": shape.m, "N": shape.n, "K": shape.k}
    if signature.op is Op.MOE:
        return found | {"experts": asked.routing.experts, "top_k": asked.routing.top_k, "block_m": asked.block_m}
    return {"B": shape.batch, **found} if signature.batched else found


def _demand(signature: GemmSignature, needed: Mapping[str, Any]) -> None:
    missing = [_flag(name) for name, value in needed.items() if value is None]
    if missing:
        raise UsageError(f"{signature.op} needs {', '.join(missing)}")


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _groups(sizes: str | None, on_device: str | None) -> Groups:
    if (sizes is None) == (on_device is None):
        raise UsageError("grouped_gemm needs either --groups or --groups-on-device")
    if on_device is not None:
        match = _ON_DEVICE.fullmatch(on_device.strip())
        if match is None:
            raise UsageError(f"--groups-on-device takes COUNT:MxNxK, as in 16:256x4096x7168; got '{on_device}'")
        return Groups.on_device(*(int(match[name]) for name in ("count", "m", "n", "k")))
    found: list[GroupSize] = []
    for word in (word.strip() for word in (sizes or "").split(",")):
        match = _GROUP.fullmatch(word)
        if match is None:
            raise UsageError(f"--groups takes MxNxK,… with COUNT* before alike ones, as in 3*64x256x512; got '{word}'")
        found += [GroupSize(*(int(match[axis]) for axis in "mnk"))] * int(match["times"] or 1)
    return Groups.of(found)


def _shape(text: str, batch: str | None, signature: GemmSignature) -> Shape:
    parts = [part.strip() for part in text.split(",")]
    if batch is not None and len(parts) == 3:
        parts = [batch.strip(), *parts]
    elif batch is not None or len(parts) not in (3, 4) or (signature.batched and len(parts) == 3):
        expected = "B,M,N,K, or M,N,K with --batch," if signature.batched else "M,N,K"
        raise UsageError(f"--shape takes {expected} for {signature}; got '{text}'")
    for part in parts:
        if not _SIZE.fullmatch(part):
            raise UsageError(f"--shape '{text}': '{part}' is not an integer")
    m, n, k = (int(part) for part in parts[-3:])
    given = int(parts[0]) if len(parts) == 4 else 0
    return Shape(given if signature.batched or given != 1 else 0, m, n, k)
