"""What every rule says, word for word, of Configs that are one change away from good ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import test_ck_moe_rules as ck_moe
import test_ck_rules as ck
import test_ck_tile_dense_rules as dense
import test_ck_tile_fmha_rules as fmha
import test_ck_tile_group_quant_rules as group_quant
import test_ck_tile_multi_abd_rules as multi_abd
import test_ck_tile_rules as tile
import test_ck_tile_stream_k_rules as stream_k
import test_fmha_append_rules as append
import test_hip_fmha_rules as hip_fmha

from ckgen.families.fmha.asm_kernels import asm_fmha_kernels
from ckgen.families.fmha.host_config import HostFmhaConfig
from ckgen.families.fmha.signature import parse_canonical as parse_fmha
from ckgen.families.fmha.signature import parse_signature
from ckgen.families.gemm.asm_kernels import asm_kernels
from ckgen.families.gemm.config import FmaConfig, HipConfig, HipKind
from ckgen.families.gemm.signature import parse_canonical
from ckgen.families.moe.asm_kernels import asm_moe_kernels
from ckgen.families.rules import all_rules, judge
from ckgen.model.backend import Backend
from ckgen.model.config import Tile
from ckgen.specs.archs import load_archs
from neighbours import neighbours

Base = tuple[str, Backend, Any, tuple[str, ...]]
"""Signature, backend, a Config, archs."""

CDNA = ("gfx942", "gfx950")
GEMMS: list[Base] = [
    *((name, Backend.CK, config, CDNA) for name, config in (
        ("gemm_int8_bf16_rcr_rowwise", ck.ROW), ("gemm_bf16_rcr_batched", ck.ROW),
        ("gemm_fp8_fnuz_bf16_rcr_blockscale", ck.SCALE), ("gemm_fp8_fnuz_bf16_rcr_rowwise_preshuffle", ck.PRE),
    )),
    *((f"moe_fp8_fnuz_bf16_rcr_rowwise_preshuffle_{part}", Backend.CK, ck_moe.CONFIG, ("gfx942", "gfx1201"))
      for part in ("gate_up_gated_epi_silu", "gate_up_epi_silu", "down", "layer_gated_epi_silu")),
    ("moe_fp8_fnuz_bf16_rcr_rowwise_down", Backend.CK, ck_moe.CONFIG, ("gfx942",)),
    ("gemm_fp16_rcr", Backend.CK_TILE, tile.DENSE, ("gfx90a", *CDNA, "x86_64_v4")),
    ("gemm_fp8_ocp_bf16_rcr_rowwise", Backend.CK_TILE, tile.WMMA, ("gfx1201", "gfx1250")),
    ("gemm_fp8_fnuz_bf16_rcr_rowwise_preshuffle", Backend.CK_TILE, tile.FLAT, CDNA),
    ("gemm_fp8_ocp_bf16_rcr_blockscale", Backend.CK_TILE, tile.QUANT, ("gfx950",)),
    ("gemm_fp8_fnuz_bf8_fnuz_bf16_rcr", Backend.CK_TILE, dense.DENSE, CDNA),
    (group_quant.SCALED_A, Backend.CK_TILE, replace(group_quant.CONFIG, transpose_c=True), CDNA),
    (group_quant.SCALED_B, Backend.CK_TILE, group_quant.CONFIG, CDNA),
    (group_quant.INT4, Backend.CK_TILE, group_quant.CONFIG, CDNA),
    *((name, Backend.CK_TILE, multi_abd.CONFIG, ("gfx942",)) for name in multi_abd.FUSED),
    ("gemm_fp16_rcr", Backend.CK_TILE, stream_k.STREAM_K, CDNA),
    ("gemm_fp8_ocp_bf16_rcr_mx", Backend.HIP, HipConfig.gemv(8, 4, 8), ("gfx942", "gfx950")),
    ("gemm_fp8_ocp_bf16_rcr_mx", Backend.HIP, HipConfig.mfma(64, 2, 8), ("gfx942", "gfx950")),
    *((name, Backend.HIP, FmaConfig(Tile(64, 64, 16)), ("gfx942", "gfx1100", "x86_64_v4"))
      for name in ("gemm_fp16_int4_fp16_rcr", "gemm_fp8_bf16_rcr", "moe_fp16_rcr_down")),
    ("moe_fp8_ocp_bf16_rcr_mx_down", Backend.HIP, HipConfig.moe(HipKind.MOE_DEEP, 16, 8, 8), ("gfx950",)),
]  # fmt: skip
ATTENTION: list[Base] = [
    *((words, Backend.CK_TILE, config, (arch,)) for words, config, arch in fmha.KEPT),
    *((words, Backend.CK_TILE, config, (arch,)) for _, words, config, _, arch in fmha.BROKEN),
    *((words, Backend.HIP, config, (arch,)) for words, config, arch in hip_fmha.KEPT),
    *((words, Backend.HIP, config, (arch,)) for _, words, config, _, arch in hip_fmha.BROKEN),
    *((words, config.backend, config, ("gfx90a", "gfx942"))
      for words in ("bf16_append", "fp32_append", "bf16_fp8_bf16_append_pertensor", "bf16_append_varlen", "bf16")
      for config in (append.TILE, append.OURS)),
    *((words, Backend.HOST, HostFmhaConfig(16, 64), ("x86_64_v3",)) for words in ("bf16", "fp8_ocp_append_pertensor")),
]  # fmt: skip


def said(bases: list[Base]) -> str:
    """Each thing that is found once, with how often it is."""
    archs, found = load_archs(), Counter[str]()
    for words, backend, base, names in bases:
        gemm = words.startswith(("gemm", "moe"))
        for arch in (archs[name] for name in names):
            signature = parse_canonical(words) if gemm else parse_signature(words, arch.fp8_flavour)
            for config in neighbours(base):
                found.update(f"{arch.name} {finding}" for finding in judge(signature, config, backend, arch))
    return "".join(f"{count:3} {text}\n" for text, count in sorted(found.items()))


@pytest.mark.parametrize(("name", "bases"), [("gemm", GEMMS), ("fmha", ATTENTION)])
def test_what_is_found_is_said_with_its_numbers(
    name: str, bases: list[Base], golden: Callable[[str, str], None]
) -> None:
    golden(f"rules/{name}_findings.txt", said(bases))


def test_every_rule_has_its_contract_and_its_source(golden: Callable[[str, str], None]) -> None:
    rules = (f"{rule.id} ({rule.backend}): {rule.contract} [{rule.source}]\n" for rule in all_rules())
    golden("rules/rules.txt", "".join(rules))


def test_kernels_that_amd_ships_are_judged_by_their_own_records() -> None:
    archs = load_archs()
    gemm = next(iter(asm_kernels().values()))
    moe = next(iter(asm_moe_kernels().values()))
    fmha = next(iter(asm_fmha_kernels().values()))
    own: list[tuple[Any, Any, Any]] = [
        (gemm.config, parse_canonical(gemm.signature), parse_canonical("gemm_fp16_rcr")),
        (moe.config, moe.signatures(archs[moe.archs[0]].fp8_flavour)[0], parse_canonical("moe_bf16_rcr_down")),
        (fmha.config, fmha.signatures[0], parse_fmha("fmha_fp32")),
    ]
    archs_of = (gemm.archs, moe.archs, fmha.archs)
    for (config, signature, other), shipped in zip(own, archs_of, strict=True):
        assert judge(signature, config, Backend.ASM, archs[shipped[0]]) == ()
        found = judge(other, config, Backend.ASM, archs["gfx1201"])
        assert [finding.rule for finding in found] == ["asm.kernel.arch", "asm.kernel.signature"]
        assert found[0].limit == " ".join(shipped)
        assert [finding.measured for finding in found] == ["gfx1201", other.canonical()]
        assert found[0].reason == f"{config.name} is shipped for these archs only"
        assert found[1].reason == f"{config.name} computes another {other.op}"
