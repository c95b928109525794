"""What the pinned CK tree can make of dense ck_tile GEMMs: the data of ck_tile_tree.json."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ckgen.families.gemm.config import CkTileConfig, TilePipeline
from ckgen.families.gemm.signature import GemmSignature
from ckgen.specs.archs import load_arch, processor_of

_ACCESS_BITS = 64
_ACCESSES = {1: "single", 2: "double", 4: "quad"}


@dataclass(frozen=True, slots=True)
class Lack:
    """What is missing: empty fields fit everything; `processors_other_than` fits every processor but those."""

    reason: str
    pipelines: tuple[str, ...] = ()
    layouts: tuple[str, ...] = ()
    epilogues: tuple[str, ...] = ()
    processors: tuple[str, ...] = ()
    processors_other_than: tuple[str, ...] = ()
    transpose_c: bool | None = None
    vector: bool | None = None
    mixed: bool | None = None

    def fits(self, signature: GemmSignature, config: CkTileConfig, processor: str) -> bool:
        """Whether the instance is one of those that are missing for the processor."""
        return (
            _in(config.pipeline.value, self.pipelines)
            and _in(signature.layout.value, self.layouts)
            and _in(config.epilogue.value, self.epilogues)
            and _in(processor, self.processors)
            and processor not in self.processors_other_than
            and self.transpose_c in (None, config.transpose_c)
            and self.vector in (None, config.vector != 0)
            and self.mixed in (None, signature.a is not signature.b)
        )


def tree_lacks(signature: GemmSignature, config: CkTileConfig, arch: str) -> str | None:
    """Why the tree cannot make this instance for the arch; None if it can."""
    processor = processor_of(arch)
    lack = next((lack for lack in _lacks() if lack.fits(signature, config, processor)), None)
    if lack is not None:
        return lack.reason
    form = warp_gemm_form(signature, config, arch)
    types = (_encoding(signature.a.value), _encoding(signature.b.value))
    known = _warp_gemms().get((*types, str(config.warp_tile)), ())
    if form in known:
        return None
    has = f"it has {', '.join(known)}" if known else "it has none"
    return f"no warp GEMM {config.warp_tile} of {'·'.join(types)} in the form {form or 'of other accesses'}: {has}"


def is_unknown(arch: str) -> bool:
    """Whether the tree has no code for an arch of arch_specs/."""
    return processor_of(arch) in _data()["unknown_processors"]


def warp_gemm_form(signature: GemmSignature, config: CkTileConfig, arch: str) -> str:
    """How a wave's operands come out of LDS, and whether C is transposed, as in `double_transposed`; "" for no form."""
    accesses = 1
    transposes = not signature.layout.a_is_row_major or signature.layout.b_is_row_major
    if transposes and load_arch(arch).transposing_lds_reads and config.pipeline is not TilePipeline.COMPV5:
        per_lane, rest = divmod(config.warp_tile.n * config.warp_tile.k, 64)
        accesses, uneven = divmod(per_lane, _ACCESS_BITS // signature.a.bits)
        if rest or uneven or accesses not in _ACCESSES:
            return ""
    return _ACCESSES[accesses] + ("_transposed" if config.transpose_c else "")


@cache
def _lacks() -> tuple[Lack, ...]:
    lists = ("pipelines", "layouts", "epilogues", "processors", "processors_other_than")
    return tuple(Lack(**row | {name: tuple(row.get(name, ())) for name in lists}) for row in _data()["lacks"])


@cache
def _warp_gemms() -> Mapping[tuple[str, str, str], tuple[str, ...]]:
    return {(row["types"][0], row["types"][1], row["tile"]): tuple(row["forms"]) for row in _data()["warp_gemms"]}


@cache
def _data() -> dict[str, Any]:
    data: dict[str, Any] = json.loads(Path(__file__).with_name("ck_tile_tree.json").read_text(encoding="utf-8"))
    return data


def _encoding(dtype: str) -> str:
    return dtype.removesuffix("_fnuz").removesuffix("_ocp")


def _in(word: str, words: tuple[str, ...]) -> bool:
    return not words or word in words
