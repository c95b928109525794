"""Attention kernels that AMD ships as code objects: asm_kernels.json, with what their names say.

A kernel of varlen says `group`; rtne and rtna say how a probability halfway between two of bf16 is rounded: to even, or
away from zero. Those of other names round to even, but for gradients (`AsmFmhaKernel.cut`). A backward kernel with
`causal` has a mask that starts at the first key, with `causal_br` one that ends at the last, with `swa` any window; one
that was compiled for gfx942 first says `recompile`, and `own` ends the names of those that were not.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any

from ckgen.families.common.asm_config import AsmConfig
from ckgen.families.common.shipped_kernel import AsmObject, ShippedKernel
from ckgen.families.fmha.cut import Cut
from ckgen.families.fmha.enums import FmhaCorner, FmhaEntry, FmhaKv, FmhaKvLayout
from ckgen.families.fmha.signature import FmhaSignature
from ckgen.model.config import Tile
from ckgen.model.dtype import DType

FORWARD, PAGED, BACKWARD = "fmha_fwd", "pa", "fmha_bwd"
OWN = "_own"
PAGE = 16
"""Tokens of a page of the kernels that take caches of 16-bit types."""
_PAGED_HEAD = 128
FORWARD_NAME = re.compile(
    r"fwd_hd(?P<q>\d+)(?:_hd(?P<v>\d+))?_bf16(?P<causal>_causal)?(?:_rt(?:ne|na))?(?P<group>_group)?$"
)
BACKWARD_NAME = re.compile(
    r"bwd_hd(?P<q>\d+)(?:_hd(?P<v>\d+))?_(?P<type>bf16|fp16)"
    r"(?:(?:_causal(?:_br)?|_swa)?_a32(?:_rt(?:ne|na|z))?_pssk(?:ddv)?(?:_group)?(?:_recompile)?"
    r"|(?:_causal)?_a32_pssk_own|_a32_psskddv(?:_group)?_own)$"
)
_WINDOWS, _CAUSAL, _TO_LAST = "_swa_", "_causal_", "_br_"
_CUTS, _FP16 = "_rtz_", "_fp16_"
_PAGED_NAME = re.compile(r"pa_(?P<type>bf16|fp16)_noquant_gqa(?P<group>\d+)_\dtg_4w$")


class BackwardForm(StrEnum):
    """Arguments of a backward kernel; words and order are those of `ckgen::asm_host::BackwardForm`."""

    PADDED = "padded"
    WINDOWS = "windows"
    GROUP = "group"
    OWN = "own"


@dataclass(frozen=True, slots=True)
class AsmFmhaKernel(ShippedKernel):
    """What an attention kernel computes. `config.tile`: rows of Q and columns of V of a workgroup, keys of a step; of
    backward keys and columns of K of a workgroup, rows of a step.

    q_tile: rows that a workgroup has at once; a forward kernel with a causal mask takes two such tiles, one after the
    other. max_group, page: query heads per KV head at most, and rows of a page; 0 of a forward kernel.
    """

    signatures: tuple[FmhaSignature, ...]
    hdim_q: int
    hdim_v: int
    q_tile: int
    max_group: int = 0
    page: int = 0

    @property
    def is_paged(self) -> bool:
        """Whether K and V lie in pages, and a sequence has one row of Q."""
        return self.page != 0

    @property
    def goes_back(self) -> bool:
        """Whether it computes gradients, between stages of ours."""
        return self.config.kind == BACKWARD

    @property
    def form(self) -> BackwardForm:
        """Of backward."""
        if self.config.name.endswith(OWN):
            return BackwardForm.OWN
        if self.varlen:
            return BackwardForm.GROUP
        return BackwardForm.WINDOWS if _WINDOWS in self.config.name else BackwardForm.PADDED

    @property
    def cut(self) -> Cut:
        """Of gradients: gfx950's own kernels round, others of fp16 have no instruction for it."""
        name = self.config.name
        if not self.goes_back or name.endswith(OWN):
            return Cut.NOTHING
        if _FP16 in name:
            return Cut.ALL
        return Cut.FACTORS if _CUTS in name else Cut.NOTHING

    @property
    def varlen(self) -> bool:
        """Whether it is of sequences one after the other."""
        return self.signatures[0].traits.varlen

    @property
    def masked(self) -> bool:
        """Whether some signature of it has a mask."""
        return any(one.traits.masked for one in self.signatures)

    @property
    def corner(self) -> FmhaCorner | None:
        """Of its mask, where that is causal and no other."""
        if not self.masked or (self.goes_back and self.form is BackwardForm.WINDOWS):
            return None
        ends_at_last = not self.goes_back or _TO_LAST in self.config.name
        return FmhaCorner.BOTTOM_RIGHT if ends_at_last else FmhaCorner.TOP_LEFT

    @property
    def needs_keys(self) -> bool:
        """Whether a sequence without keys gives wrong results: not those of a forward kernel with a mask, nor of
        gradients of sequences one after the other."""
        if self.goes_back:
            return not self.varlen
        return self.is_paged or not self.masked


@cache
def asm_fmha_kernels() -> Mapping[str, AsmFmhaKernel]:
    """Every kernel by its name."""
    file = Path(__file__).with_name("asm_kernels.json")
    made = (_kernel(entry) for entry in json.loads(file.read_text(encoding="utf-8"))["kernels"])
    return {kernel.config.name: kernel for kernel in made}


def asm_fmha_kernel_of(config: AsmConfig) -> AsmFmhaKernel:
    """The kernel that the Config names; KeyError where nothing does."""
    kernel = asm_fmha_kernels()[config.name]
    if kernel.config != config:
        raise KeyError(config)
    return kernel


def cut_of(config: object) -> Cut:
    """What the kernel of any Config cuts: only shipped ones cut anything of gradients."""
    return asm_fmha_kernel_of(config).cut if isinstance(config, AsmConfig) else Cut.NOTHING


def _kernel(entry: Mapping[str, Any]) -> AsmFmhaKernel:
    return {FORWARD: _forward, PAGED: _paged, BACKWARD: _backward}[entry["kind"]](entry)


def _forward(entry: Mapping[str, Any]) -> AsmFmhaKernel:
    said = FORWARD_NAME.match(entry["name"])
    assert said is not None, f"{entry['name']} is no name that tools/record_asm_fmha_kernels.py records"
    rows, keys = entry["tile"]
    hdim_q, hdim_v = int(said["q"]), int(said["v"] or said["q"])
    causal, group = said["causal"] is not None, said["group"] is not None
    return AsmFmhaKernel(
        symbol=entry["symbol"],
        config=AsmConfig(entry["kind"], entry["name"], Tile(2 * rows if causal else rows, hdim_v, keys)),
        objects=tuple(AsmObject(**found) for found in entry["objects"]),
        signatures=tuple(FmhaSignature.of(DType.BF16, varlen=group, masked=causal, lse=lse) for lse in (False, True)),
        hdim_q=hdim_q,
        hdim_v=hdim_v,
        q_tile=rows,
    )


def _paged(entry: Mapping[str, Any]) -> AsmFmhaKernel:
    """One row of Q in a sequence: it sees all keys with a causal mask too."""
    said = _PAGED_NAME.match(entry["name"])
    assert said is not None, f"{entry['name']} is no name that tools/record_asm_fmha_kernels.py records"
    rows, keys = entry["tile"]
    plain = FmhaSignature.of(DType(said["type"]), kv=FmhaKv.BLOCK_TABLE, kv_layout=FmhaKvLayout.VECTORIZED)
    return AsmFmhaKernel(
        symbol=entry["symbol"],
        config=AsmConfig(entry["kind"], entry["name"], Tile(rows, _PAGED_HEAD, keys)),
        objects=tuple(AsmObject(**found) for found in entry["objects"]),
        signatures=(plain, replace(plain, traits=replace(plain.traits, masked=True))),
        hdim_q=_PAGED_HEAD,
        hdim_v=_PAGED_HEAD,
        q_tile=rows,
        max_group=int(said["group"]),
        page=PAGE,
    )


def _backward(entry: Mapping[str, Any]) -> AsmFmhaKernel:
    """It writes dK and dV of each query head."""
    said = BACKWARD_NAME.match(entry["name"])
    assert said is not None, f"{entry['name']} is no name that tools/record_asm_fmha_kernels.py records"
    rows, keys = entry["tile"]
    hdim_q = int(said["q"])
    masked, group = any(word in entry["name"] for word in (_CAUSAL, _WINDOWS)), "_group" in entry["name"]
    of = FmhaSignature.of(DType(said["type"]), entry=FmhaEntry.BACKWARD, varlen=group, masked=masked)
    return AsmFmhaKernel(
        symbol=entry["symbol"],
        config=AsmConfig(entry["kind"], entry["name"], Tile(keys, hdim_q, rows)),
        objects=tuple(AsmObject(**found) for found in entry["objects"]),
        signatures=(of,),
        hdim_q=hdim_q,
        hdim_v=int(said["v"] or hdim_q),
        q_tile=rows,
        max_group=1,
    )
