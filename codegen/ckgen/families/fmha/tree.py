"""The attention kernels that the pinned CK tree's own factories make, as tiles.json says."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

from ckgen.families.fmha.append_config import CkTileAppendConfig
from ckgen.families.fmha.backward_config import CkTileBackwardConfig
from ckgen.families.fmha.config import CkTileFmhaConfig, FmhaPipeline
from ckgen.families.fmha.enums import FmhaKv, FmhaRope
from ckgen.families.fmha.signature import FmhaSignature
from ckgen.model.config import Tile
from ckgen.model.dtype import DType
from ckgen.specs.archs import processor_of

_PLAIN = {DType.FP8_FNUZ: DType.FP8, DType.FP8_OCP: DType.FP8, DType.BF8_FNUZ: DType.BF8, DType.BF8_OCP: DType.BF8}


def why_no_tiles(arch: str) -> str | None:
    """Why there are none for the arch; None where there are."""
    data, processor = _data(), processor_of(arch)
    if processor in data["processors"]:
        return None
    found: str = data["absent"].get(processor, f"no attention tiles of the pinned CK tree are known for {arch}")
    return found


@cache
def types_of(arch: str) -> frozenset[tuple[DType, DType]]:
    """The types of Q and of O that an arch has tiles for, 8-bit floats as plain fp8."""
    return frozenset((DType(a), DType(c)) for entry in _of_arch("tiles", arch) for a, c in entry["types"])


def plain(dtype: DType) -> DType:
    """An 8-bit float without its flavour."""
    return _PLAIN.get(dtype, dtype)


def append_tiles() -> tuple[str, ...]:
    """Rows of Q, new rows and head dim of kernels that append, as in 64x64x128."""
    return tuple(_data()["append"]["tiles"])


def append_configs(signature: FmhaSignature, arch: str) -> tuple[CkTileAppendConfig, ...]:
    """What the factories of kernels that append make for the signature, fewer pads first; rules still judge them."""
    if why_no_tiles(arch) is not None:
        return ()
    data = _data()["append"]
    kinds = data["pads"]["plain" if signature.traits.rope is FmhaRope.NONE else "rope"]
    found = []
    for tile in data["tiles"]:
        m0, n0, hdim = map(int, tile.split("x"))
        for q, _, hdim_q, hdim_v in ((pad == "1" for pad in pads) for pads in kinds):
            found.append(CkTileAppendConfig(m0, n0, hdim, q, hdim_q, hdim_v))
    return tuple(found)


def why_no_backward(arch: str) -> str | None:
    """Why there are no kernels of gradients for the arch; None where there are."""
    data, processor = _data()["backward"], processor_of(arch)
    if processor in data["processors"]:
        return None
    return why_no_tiles(arch) or str(data["absent"].get(processor, f"no tiles of backward are known for {arch}"))


def backward_configs(signature: FmhaSignature, arch: str) -> tuple[CkTileBackwardConfig, ...]:
    """What the factory of gradients makes for the types, smaller heads and fewer pads first, what is summed last.

    Ordered ones sum heads too, which is right of one query head.
    """
    if why_no_backward(arch) is not None:
        return ()
    data = _data()["backward"]
    found = []
    for tiles in data["tiles"][data["processors"][processor_of(arch)]]:
        if str(signature.a) not in tiles["types"]:
            continue
        for (m0, n0, k4, hdim, waves), pad, grouped in product(tiles["rows"], data["pads"], (False, True)):
            found.append(CkTileBackwardConfig(pad, m0, n0, k4, hdim, waves, grouped))
            if grouped:
                found.append(CkTileBackwardConfig(pad, m0, n0, k4, hdim, waves, grouped, ordered=True))
    return tuple(found)


def tree_configs(signature: FmhaSignature, arch: str, *, splits: bool = False) -> tuple[CkTileFmhaConfig, ...]:
    """Tiles of the signature's types with their pipelines and paddings, fewer pads first; rules still judge them.

    Of kernels that share keys among workgroups, or of those that do not.
    """
    return _tree(_Wanted.of(signature), arch, splits)


@dataclass(frozen=True, slots=True)
class _Wanted:
    """All that tiles and pipelines name of a signature."""

    q: str
    o: str
    bias: str
    kv: str

    @classmethod
    def of(cls, signature: FmhaSignature) -> _Wanted:
        traits = signature.traits
        return cls(str(plain(signature.a)), str(plain(signature.c)), str(traits.bias), str(traits.kv))


@cache
def _tree(wanted: _Wanted, arch: str, splits: bool) -> tuple[CkTileFmhaConfig, ...]:
    return tuple(dict.fromkeys(one for one in _configs(wanted, arch) if one.pipeline.splits == splits))


def _configs(wanted: _Wanted, arch: str) -> Iterator[CkTileFmhaConfig]:
    for tiles in _of_arch("tiles", arch):
        if [wanted.q, wanted.o] not in tiles["types"]:
            continue
        for row in tiles["rows"]:
            m0, n0, k0, n1, k1, k0_max, waves, warp_tile, block_per_cu = row
            for kind in _of_arch("pipelines", arch):
                if not _goes_with(kind, tiles, wanted, n1, k0_max):
                    continue
                for pads in kind["pads"]:
                    q, k, hdim_q, hdim_v = (pad == "1" for pad in pads)
                    shape = (m0, n0, k0, n1, k1, k0_max, (waves, 1, 1), Tile(*map(int, warp_tile.split("x"))))
                    pipeline = FmhaPipeline(kind["pipeline"])
                    yield CkTileFmhaConfig(pipeline, *shape, q, k, hdim_q, hdim_v, block_per_cu)


def _goes_with(kind: Mapping[str, Any], tiles: Mapping[str, Any], wanted: _Wanted, n1: int, k0_max: int) -> bool:
    """A tile may name its pipelines, a pipeline its biases, head dims and pages; types are always said."""
    return (
        wanted.q in kind["types"]
        and kind["pipeline"] in tiles.get("pipelines", ["qr", "qr_async"])
        and n1 in kind.get("n1", [n1])
        and k0_max in kind.get("k0_max", [k0_max])
        and wanted.bias in kind.get("bias", [wanted.bias])
        and wanted.kv in kind.get("kv", [str(FmhaKv.CONTIGUOUS)])
    )


def _of_arch(part: str, arch: str) -> list[dict[str, Any]]:
    data = _data()
    family = data["processors"].get(processor_of(arch))
    inherited = data["inherits"].get(family)
    return [*data[part].get(inherited, []), *data[part].get(family, [])]


@cache
def _data() -> dict[str, Any]:
    data: dict[str, Any] = json.loads(Path(__file__).with_name("tiles.json").read_text(encoding="utf-8"))
    return data
