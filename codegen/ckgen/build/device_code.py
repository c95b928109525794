"""What an instance becomes as device code, whichever backend it is of: one place that knows who makes which."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from ckgen.families.common.device.unit import DeviceUnit, Use, symbol_of
from ckgen.families.fmha.append_problem import appends
from ckgen.families.fmha.instance import FmhaInstance
from ckgen.families.fmha.signature import FmhaSignature
from ckgen.families.gemm.ck_tile_geometry import is_group_quant, is_multi_abd
from ckgen.families.gemm.config import CkTileConfig, HipConfig, TilePipeline
from ckgen.families.gemm.enums import Op, Quant
from ckgen.families.gemm.instance import Instance
from ckgen.model.backend import Backend
from ckgen.model.expectation import Expectation
from ckgen.plan.model import AnyInstance

BACKENDS = frozenset({Backend.CK, Backend.CK_TILE, Backend.HIP, Backend.ASM})
"""Whose instances have device code that a build makes or takes."""


@dataclass(frozen=True, slots=True)
class DeviceFamily:
    """What a kind of instances offers; a variant is whatever that kind takes it to be, with a name.

    `unavailable`: why the CK tree cannot make the instance's code for an arch, or None; `splits_unavailable`: why it
    can, but not with K splits. `reachable`: the variants that
    problems reach, by name; `all_variants`: those that any supported problem reaches. `device_unit` holds the given
    variants, `host_unit` those of every arch. `expected`: what the machine code of a variant must look like. `symbol`:
    its kernel's name in the code object.
    """

    unavailable: Callable[[Any, str], str | None]
    splits_unavailable: Callable[[Any, str], str | None]
    reachable: Callable[[Any, Iterable[Use]], Sequence[Any]]
    all_variants: Callable[[Any], Sequence[Any]]
    device_unit: Callable[[Any, Sequence[Any]], DeviceUnit]
    host_unit: Callable[[Any, Mapping[str, Sequence[Any]]], DeviceUnit]
    expected: Callable[[Any, str, Any], Expectation]
    symbol: Callable[[Any, Any], str] = symbol_of


def family_of(instance: AnyInstance) -> DeviceFamily:
    """The kind of the instance."""
    if isinstance(instance.signature, FmhaSignature):
        return _of_fmha(instance)
    if instance.backend is Backend.CK:
        return _ck() if instance.signature.op is not Op.MOE else _ck_moe()
    if instance.backend is Backend.ASM:
        return _asm() if instance.signature.op is not Op.MOE else _asm_moe()
    config = instance.config
    if isinstance(config, HipConfig):
        return _hip_mxfp8_moe() if config.kind.is_moe else _hip_mxfp8()
    assert isinstance(config, CkTileConfig)
    if instance.signature.op is Op.GROUPED_GEMM:
        return _grouped()
    if config.pipeline is TilePipeline.ABQUANT:
        return _hip_blockscale()
    if config.strategy.is_stream_k:
        return _stream_k()
    if config.pipeline is TilePipeline.FLATMM:
        return _flatmm()
    if is_multi_abd(instance.signature):
        return _multi_abd()
    if is_group_quant(instance.signature):
        return _group_quant()
    return _dense() if instance.signature.quant is Quant.NONE else _quant()


def variants_of(instance: AnyInstance, uses: Iterable[Use]) -> tuple[Any, ...]:
    """What the uses reach; all there are where there are no uses, as for an instance that only answers by default."""
    family, known = family_of(instance), tuple(uses)
    return tuple(family.reachable(instance, known) if known else family.all_variants(instance))


def _told_by(module: Any) -> DeviceFamily:
    """A kind whose module has a function for each field; it may leave out `splits_unavailable` and `symbol`."""
    return DeviceFamily(
        module.unavailable,
        getattr(module, "splits_unavailable", _none),
        module.reachable,
        module.all_variants,
        module.device_unit,
        module.host_unit,
        module.expected,
        getattr(module, "symbol", symbol_of),
    )


@cache
def _ck() -> DeviceFamily:
    from ckgen.families.gemm.device import ck, ck_absent, ck_expected, ck_host, ck_variants

    return DeviceFamily(
        ck_absent.unavailable,
        ck_absent.splits_unavailable,
        ck_variants.reachable,
        ck_variants.all_variants,
        ck.device_unit,
        ck_host.host_unit,
        ck_expected.expected,
    )


@cache
def _ck_moe() -> DeviceFamily:
    from ckgen.families.moe.device import ck_moe

    return _told_by(ck_moe)


@cache
def _asm() -> DeviceFamily:
    from ckgen.families.gemm.device import asm

    return _told_by(asm)


@cache
def _asm_moe() -> DeviceFamily:
    from ckgen.families.moe.device import asm_moe

    return _told_by(asm_moe)


@cache
def _hip_mxfp8() -> DeviceFamily:
    from ckgen.families.gemm.device import hip_mxfp8

    return _told_by(hip_mxfp8)


@cache
def _hip_mxfp8_moe() -> DeviceFamily:
    from ckgen.families.moe.device import hip_mxfp8_moe

    return _told_by(hip_mxfp8_moe)


@cache
def _hip_blockscale() -> DeviceFamily:
    from ckgen.families.gemm.device import hip_blockscale

    return _told_by(hip_blockscale)


@cache
def _dense() -> DeviceFamily:
    from ckgen.families.gemm.device import ck_tile

    return _told_by(ck_tile)


def _of_fmha(instance: FmhaInstance) -> DeviceFamily:
    if appends(instance.signature.traits):
        return _fmha_append() if instance.backend is Backend.HIP else _ck_tile_append()
    by_backend = {Backend.HIP: _fmha_decode, Backend.ASM: _asm_fmha}
    return by_backend.get(instance.backend, _fmha)()


@cache
def _fmha_append() -> DeviceFamily:
    from ckgen.families.fmha.device import hip_append

    return _told_by(hip_append)


@cache
def _ck_tile_append() -> DeviceFamily:
    from ckgen.families.fmha.device import ck_tile_append

    return _told_by(ck_tile_append)


@cache
def _fmha() -> DeviceFamily:
    from ckgen.families.fmha.device import ck_tile_fmha

    return _told_by(ck_tile_fmha)


@cache
def _fmha_decode() -> DeviceFamily:
    from ckgen.families.fmha.device import hip_decode

    return _told_by(hip_decode)


@cache
def _asm_fmha() -> DeviceFamily:
    from ckgen.families.fmha.device import asm_fmha

    return _told_by(asm_fmha)


@cache
def _stream_k() -> DeviceFamily:
    from ckgen.families.gemm.device import ck_tile_stream_k

    return _told_by(ck_tile_stream_k)


@cache
def _grouped() -> DeviceFamily:
    from ckgen.families.grouped_gemm.device import ck_tile_grouped

    return _told_by(ck_tile_grouped)


@cache
def _multi_abd() -> DeviceFamily:
    from ckgen.families.gemm.device import ck_tile as tile
    from ckgen.families.gemm.device import ck_tile_multi_abd as multi

    return DeviceFamily(
        multi.unavailable, _none, tile.reachable, tile.all_variants, multi.device_unit, multi.host_unit, tile.expected
    )


@cache
def _flatmm() -> DeviceFamily:
    from ckgen.families.gemm.device import ck_tile_flatmm as flatmm

    return _tabled(flatmm)


@cache
def _quant() -> DeviceFamily:
    from ckgen.families.gemm.device import ck_tile_quant as quant

    return _tabled(quant)


@cache
def _group_quant() -> DeviceFamily:
    from ckgen.families.gemm.device import ck_tile_group_quant as group_quant

    return _tabled(group_quant)


def _tabled(module: Any) -> DeviceFamily:
    """The kinds whose absence is data per instance, and whose expectations take the arch's facts."""
    from ckgen.families.gemm.device.ck_tile_absent import unavailable
    from ckgen.specs.archs import load_archs

    def absent(instance: Instance, arch: str) -> str | None:
        found = unavailable(instance)
        return found.text if found is not None else None

    def expected(instance: Instance, arch: str, variant: Any) -> Expectation:
        found: Expectation = module.expected(instance, load_archs()[arch], variant)
        return found

    return DeviceFamily(
        absent, _none, module.reachable, module.all_variants, module.device_unit, module.host_unit, expected
    )


def _none(instance: Instance, arch: str) -> None:
    return None
