"""Signatures and instances of GEMMs, and of what is made of them, as C++ text."""

from __future__ import annotations

from typing import Any

from ckgen.families.common.cpp import backend, boolean, dtype, hex64, identifier, quotable, tile
from ckgen.families.gemm.config import CkTileConfig, HostConfig, strategy_of
from ckgen.families.gemm.enums import NO_MOE
from ckgen.families.gemm.instance import Instance
from ckgen.families.gemm.partition import blocks_per_cu
from ckgen.families.gemm.problem_rules import NOT_ROUTED, Constraints, RoutedConstraints
from ckgen.families.gemm.signature import GemmSignature
from ckgen.model.arch import CPU_LEVELS
from ckgen.model.config import Config


def constraints(value: Constraints) -> str:
    """A ckgen::Constraints."""
    numbers = (
        value.m_multiple,
        value.n_multiple,
        value.k_multiple,
        value.k_multiple_per_split,
        value.min_k,
        value.max_k_batch,
    )
    rest = [value.split_grain, value.max_ab, value.max_c, value.split_turn, value.split_lead, value.max_m]
    more = [_routed(value.routed)] if value.routed != NOT_ROUTED else []
    while rest and not rest[-1] and not more:
        rest.pop()
    return f"{{{', '.join((*map(str, numbers), boolean(value.atomic_split), *map(str, rest), *more))}}}"


def _routed(value: RoutedConstraints) -> str:
    """A ckgen::RoutedConstraints."""
    sizes = (value.min_n, value.max_n, value.max_k, value.few_experts, value.max_m_few)
    return f"{{{', '.join((*map(str, sizes), boolean(value.presorted), str(value.max_weights)))}}}"


def signature_fields(value: GemmSignature) -> dict[str, str]:
    """The members of a ckgen::Signature."""
    return {
        "op": f"ckgen::Op::{value.op}",
        "a": dtype(value.a),
        "b": dtype(value.b),
        "c": dtype(value.c),
        "acc": dtype(value.acc),
        "scale": dtype(value.scale),
        "layout": f"ckgen::Layout::{value.layout}",
        "quant": f"ckgen::Quant::{value.quant}",
        "preshuffle_b": boolean(value.preshuffle_b),
        "batched": boolean(value.batched),
        "bias": boolean(value.bias),
        "extras": _extras(value),
    }


def _extras(value: GemmSignature) -> str:
    """What few signatures have, each member behind a comma; empty where all are at their defaults."""
    block, steps = value.scale_block, ", ".join(f"ckgen::EpilogueOp::{op}" for op in value.epilogue)
    members = [f"{{{{{steps}}}}}" if steps else "{}"]
    members += [f"ckgen::OperandOp::{op}" for op in (value.a_op, value.b_op)]
    members.append(f"{{ckgen::ScaleSides::{block.sides}, {block.n}, {block.k}}}")
    usual = ["{}", "ckgen::OperandOp::none", "ckgen::OperandOp::none", "{ckgen::ScaleSides::both, 128, 128}"]
    if value.moe != NO_MOE:
        flags = ", ".join(boolean(flag) for flag in (value.moe.gated, value.moe.weight_first))
        members.append(f"{{ckgen::MoePart::{value.moe.part}, {flags}}}")
    return "" if members == usual else f", {', '.join(members)}"


def twin_config(config: Config, constraints: Constraints) -> str:
    """A ckgen::TwinConfig: the Config as its host twin honours it; all zero for a host instance.

    Splits are added to C, as every GPU kernel does it (mode 2). The K tile is what splits of K are whole multiples of,
    where that is smaller than the Config's.
    """
    if isinstance(config, HostConfig):
        return "{0, 0, 0, 0, false, false, false}"
    macro = config.macro_tile
    pads = _pads(config)
    step = constraints.split_grain or macro.k
    return f"{{{macro.m}, {macro.n}, {step}, 2, {', '.join(boolean(pad) for pad in pads)}}}"


def host_config(config: Config, isa: str | None) -> str:
    """A ckgen::HostConfig for that ISA; all zero for a GPU instance."""
    if not isinstance(config, HostConfig) or isa is None:
        return "{ckgen::Isa::x86_64_v3, 0, 0, 0, 0, 0, 0}"
    numbers = (config.mr, config.nr, config.mc, config.nc, config.kc, config.threads)
    return f"{{ckgen::Isa::{identifier(isa)}, {', '.join(map(str, numbers))}}}"


def descriptor_tail(instance: Instance) -> str:
    """The last members of a descriptor, each behind a comma: a ckgen::StreamK, then the ids of its parts.

    Empty for one kernel of another strategy.
    """
    strategy = strategy_of(instance.config)
    members = [f"{{ckgen::Strategy::{strategy}, {blocks_per_cu(instance.config)}}}" if strategy.is_stream_k else "{}"]
    if instance.parts:
        members.append(f"{{{', '.join(hex64(part.id) for part in instance.parts)}}}")
    return "" if members == ["{}"] else f", {', '.join(members)}"


def _pads(config: Config) -> tuple[bool, bool, bool]:
    """Classic CK and assembly kernels pad M, N and K by the problem's own needs; ck_tile says it in its Config."""
    if isinstance(config, CkTileConfig):
        return (config.pad_m, config.pad_n, config.pad_k)
    return (True, True, True)


def instance_view(instance: Instance) -> dict[str, Any]:
    """A ckgen::InstanceDesc as its template reads it."""
    host = isinstance(instance.config, HostConfig)
    kernel = f"{instance.signature.op}_{'host' if host else 'twin'}"
    isa = min(instance.archs, key=CPU_LEVELS.index) if host else None
    return {
        "name": identifier(instance.name),
        "id": hex64(instance.id),
        "backend": backend(instance.backend),
        "archs": [identifier(arch) for arch in instance.archs],
        "table_kernel": quotable(instance.table_kernel),
        "tile": tile(instance.config.macro_tile),
        "constraints": constraints(instance.constraints),
        "twin": twin_config(instance.config, instance.constraints),
        "host": host_config(instance.config, isa),
        "workspace": f"ckgen::{kernel}_workspace_of",
        "launch": f"ckgen::launch_{kernel}",
        "more": descriptor_tail(instance),
    }
