"""Signatures and instances of GEMMs, and of what is made of them, as C++ text."""

from __future__ import annotations

from dataclasses import astuple, fields

from ckgen.families.common.cpp import (
    boolean,
    described,
    dtype,
    hex64,
    identifier,
    macro_tile,
    on_archs,
    order,
    quotable,
    said,
    word,
)
from ckgen.families.common.unit_view import InstanceView
from ckgen.families.gemm.config import CkTileConfig, CutlassConfig, HostConfig, strategy_of
from ckgen.families.gemm.enums import (
    NO_MOE,
    OperandOp,
    Quant,
    ScaleBlock,
)
from ckgen.families.gemm.instance import Instance
from ckgen.families.gemm.measured import GemmUnit
from ckgen.families.gemm.partition import blocks_per_cu
from ckgen.families.gemm.predicted.ticks import work_on
from ckgen.families.gemm.problem_rules import NOT_ROUTED, Constraints, RoutedConstraints
from ckgen.families.gemm.signature import GemmSignature
from ckgen.model.arch import CPU_LEVELS
from ckgen.model.config import Config

_ASKS_NOTHING = Constraints()
_ASKED = [field.name for field in fields(Constraints) if field.name != "routed"]
_ROUTED = [field.name for field in fields(RoutedConstraints)]


def constraints(value: Constraints) -> str:
    """The words of a ckgen::Constraints; nothing that is not asked is said."""
    asked = {name: getattr(value, name) for name in _ASKED}
    routed = {name: getattr(value.routed, name) for name in _ROUTED}
    words = said(asked, {name: getattr(_ASKS_NOTHING, name) for name in _ASKED})
    words += said(routed, {name: getattr(NOT_ROUTED, name) for name in _ROUTED})
    return f"constraints(){''.join(words)}"


def signature_words(value: GemmSignature) -> list[str]:
    """The words of a ckgen::Signature; fp32 and what few signatures have are said where they differ."""
    words = [f"computes(ckgen::Op::{value.op})"]
    words += [word(name, dtype(getattr(value, name))) for name in ("a", "b", "c", "acc")]
    words += [word("scale", dtype(value.scale))] if value.scale is not None else []
    words.append(word("layout", f"ckgen::Layout::{value.layout}"))
    words += [word("quant", f"ckgen::Quant::{value.quant}")] if value.quant is not Quant.NONE else []
    flags = {name: getattr(value, name) for name in ("preshuffle_b", "batched", "bias")}
    return [*words, *said(flags, dict.fromkeys(flags, False)), *_extras(value)]


def _extras(value: GemmSignature) -> list[str]:
    block = value.scale_block
    words = []
    if value.epilogue:
        words.append(word("epilogue", f"{{{{{', '.join(f'ckgen::EpilogueOp::{op}' for op in value.epilogue)}}}}}"))
    for name, op in (("a_op", value.a_op), ("b_op", value.b_op)):
        words += [word(name, f"ckgen::OperandOp::{op}")] if op is not OperandOp.NONE else []
    usual = ScaleBlock()
    words += [word("scale_sides", f"ckgen::ScaleSides::{block.sides}")] if block.sides is not usual.sides else []
    words += [word("scale_block", block.n, block.k)] if (block.n, block.k) != (usual.n, usual.k) else []
    if value.moe != NO_MOE:
        flags = {"gated": value.moe.gated, "weight_first": value.moe.weight_first}
        words += [word("moe", f"ckgen::MoePart::{value.moe.part}"), *said(flags, dict.fromkeys(flags, False))]
    return words


def _twin(config: Config, constraints: Constraints) -> str:
    """A ckgen::TwinConfig: the Config as its host twin honours it.

    Splits are added to C (mode 2), or meet ahead of it (mode 1), as CUTLASS's. The K tile is what splits of K are whole
    multiples of, where that is smaller than the Config's.
    """
    macro = config.macro_tile
    step = constraints.split_grain or macro.k
    pads = word("pads", *map(boolean, _pads(config)))
    mode = 1 if isinstance(config, CutlassConfig) else 2
    return f"twin({macro.m}, {macro.n}, {step}){word('k_batch_mode', mode)}{pads}"


def _host(config: HostConfig, isa: str) -> str:
    """A ckgen::HostConfig for that ISA."""
    words = [word("register_tile", config.mr, config.nr), word("blocks", config.mc, config.nc, config.kc)]
    words += [word("threads", config.threads)] if config.threads else []
    return f"host(ckgen::Isa::{identifier(isa)}){''.join(words)}"


def _pads(config: Config) -> tuple[bool, bool, bool]:
    """Classic CK and assembly kernels pad M, N and K by the problem's own needs; ck_tile says it in its Config."""
    if isinstance(config, CkTileConfig):
        return (config.pad_m, config.pad_n, config.pad_k)
    return (True, True, True)


def instance_view(instance: Instance) -> InstanceView:
    """A ckgen::InstanceDesc in words, a line for each."""
    config = instance.config
    if isinstance(config, HostConfig):
        kernel, made_as = "host", _host(config, min(instance.archs, key=CPU_LEVELS.index))
    else:
        kernel, made_as = "twin", _twin(config, instance.constraints)
    lines = [on_archs(instance.archs)]
    lines += [word("table_kernel", f'"{quotable(instance.table_kernel)}"')] if instance.table_kernel else []
    lines += [macro_tile(config.macro_tile), word("asks", constraints(instance.constraints)), word("runs_as", made_as)]
    lines += order(instance)
    kernel = f"{instance.signature.op}_{kernel}"
    lines.append(word("launch", f"ckgen::launch_{kernel}", f"ckgen::{kernel}_workspace_of"))
    strategy = strategy_of(config)
    if strategy.is_stream_k:
        lines.append(word("stream_k", f"ckgen::Strategy::{strategy}", blocks_per_cu(config)))
    lines += [word("parts", *(hex64(part.id) for part in instance.parts))] if instance.parts else []
    return InstanceView(*described(instance), lines)


def works(unit: GemmUnit) -> dict[str, dict[int, str]]:
    """Per arch, of each instance that predicted times choose among, the numbers of its ckgen::KernelWork."""
    return {
        arch: {at: ", ".join(map(str, astuple(work_on(unit.instances[at], arch)))) for at in numbers}
        for arch, numbers in unit.predicted.items()
    }
