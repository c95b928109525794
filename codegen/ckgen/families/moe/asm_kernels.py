"""MoE kernels that AMD ships as code objects: asm_kernels.json, with what asm_kinds.json says of their kinds."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ckgen.families.common.asm_config import AsmConfig
from ckgen.families.common.shipped_kernel import AsmObject, ShippedKernel
from ckgen.families.gemm.enums import EpilogueOp, MoePart, MoeTraits, Op, Quant
from ckgen.families.gemm.signature import GemmSignature
from ckgen.model.config import Tile
from ckgen.model.dtype import DType, Fp8Flavour

NAME = re.compile(
    r"fmoe(?P<first>_stage1)?_bf16_(?P<quant>pertokenFp8|pertokenInt8|blockscaleFp8)_(?P<weighted>doweight_)?g1u1_"
    r"(?:(?:no)?vs_(?P<act>silu|gelu)_\dtg_(?P<shared>ps_)?)?(?P<m>\d+)x(?P<n>\d+)(?:_\dtg)?(?:_pf\d)?$"
)
"""Names of kernels that compute a layer or its gate_up as ckgen means it: gate_up with scales per token only, as that
with block scales rounds its result to fp8."""


@dataclass(frozen=True, slots=True)
class AsmMoeKernel(ShippedKernel):
    """What an MoE kernel computes. `config.tile`: its M is block_m, its N columns of H.

    `activation` None: whichever the call says. `groups_per_cu`: of one whose workgroups share all blocks, else 0.
    """

    part: MoePart
    operand: DType
    quant: Quant
    weight_first: bool
    activation: EpilogueOp | None
    groups_per_cu: int
    k_multiple: int

    def signatures(self, flavour: Fp8Flavour | None) -> tuple[GemmSignature, ...]:
        """What it computes on an arch of that fp8: one signature per activation."""
        activations = (self.activation,) if self.activation else (EpilogueOp.SILU, EpilogueOp.GELU)
        return tuple(
            GemmSignature.of(
                self.operand, DType.BF16, quant=self.quant, preshuffle_b=True, epilogue=(one,), op=Op.MOE,
                moe=MoeTraits(self.part, True, self.weight_first),
            ).resolved(flavour)
            for one in activations
        )  # fmt: skip


@cache
def asm_moe_kernels() -> Mapping[str, AsmMoeKernel]:
    """Every kernel by its symbol, as tables name it."""
    kinds = {kind["kind"]: kind for kind in _read("asm_kinds.json")["kinds"]}
    made = (_kernel(entry, kinds) for entry in _read("asm_kernels.json")["kernels"])
    return {kernel.symbol: kernel for kernel in made}


def asm_moe_kernel_of(config: AsmConfig) -> AsmMoeKernel:
    """The kernel that the Config names; KeyError where nothing does."""
    return _by_config()[config]


@cache
def _by_config() -> Mapping[AsmConfig, AsmMoeKernel]:
    return {kernel.config: kernel for kernel in asm_moe_kernels().values()}


def _read(file: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(Path(__file__).with_name(file).read_text(encoding="utf-8"))
    return data


def _kernel(entry: Mapping[str, Any], kinds: Mapping[str, Any]) -> AsmMoeKernel:
    said = NAME.match(entry["name"])
    assert said is not None, f"{entry['name']} is no name that tools/record_asm_moe_kernels.py records"
    kind = kinds["fmoe_stage1" if said["first"] else "fmoe"]
    return AsmMoeKernel(
        symbol=entry["symbol"],
        config=AsmConfig(kind["kind"], entry["name"], Tile(int(said["m"]), int(said["n"]), kind["tile_k"])),
        part=MoePart(kind["part"]),
        operand=DType.INT8 if said["quant"] == "pertokenInt8" else DType.FP8,
        quant=Quant.BLOCKSCALE if said["quant"] == "blockscaleFp8" else Quant.ROWWISE,
        weight_first=said["weighted"] is not None,
        activation=EpilogueOp(said["act"]) if said["act"] else None,
        groups_per_cu=entry["groups_per_cu"],
        k_multiple=kind["k_multiple"],
        objects=tuple(AsmObject(**found) for found in entry["objects"]),
    )
