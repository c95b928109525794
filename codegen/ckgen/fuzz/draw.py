"""Case i of a seed: one function per field, in the order of the fields; what is drawn may depend on earlier ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from random import Random
from typing import Any

from ckgen.families.fmha.signature import FmhaSignature
from ckgen.families.gemm.enums import Op, Quant, ScaleSides
from ckgen.fuzz.case import Case, Data
from ckgen.fuzz.draw_fmha import fmha_case
from ckgen.fuzz.draw_ops import block_m, decoding, groups, is_sorted, on_device, route, routing
from ckgen.fuzz.drawing import Draw, multiple_of, tile_of
from ckgen.fuzz.layout import lines_of
from ckgen.fuzz.signatures import mutated
from ckgen.fuzz.sizes import BELOW, edge, huge, rounded_up
from ckgen.fuzz.space import Space
from ckgen.model.backend import Backend
from ckgen.model.dtype import DType
from ckgen.model.strategy import Strategy

_TABLED = 0.5
"""Share of cases that take a signature which has tables: of hundreds few have any."""
_APART = 0.1
"""Share of measured M whose multiple is asked: few of these are near a rung."""
_DECODING = 0.03
_DRAWN_ALONE: Mapping[type, tuple[float, Callable[[Space, Random], Case]]] = {FmhaSignature: (0.15, fmha_case)}
"""Operations whose cases are not those of GEMMs: their share, and what draws one."""
_MOST = {"m": 160, "n": 192, "k": 384}
_PLAIN = {DType.FP8_FNUZ: DType.FP8, DType.FP8_OCP: DType.FP8, DType.BF8_FNUZ: DType.BF8, DType.BF8_OCP: DType.BF8}


def case_of(space: Space, seed: int, index: int) -> Case:
    """Case `index` of `seed`; the same for the same library, however many others are drawn."""
    random = Random(f"{seed}:{index}")
    for signatures, (share, case) in _DRAWN_ALONE.items():
        if space.units_of(signatures) and (not space.units or random.random() < share):
            return case(space, random)
    draw = Draw(random, space)
    for one in fields(Case):
        draw.values[one.name] = FIELDS[one.name](draw)
    return Case(**draw.values)


def _signature(draw: Draw) -> str:
    draw.unit = draw.random.choice(draw.space.tabled if draw.chance(_TABLED) else draw.space.units)
    draw.near = draw.random.choice(draw.unit.instances)
    if draw.space.decoding and draw.chance(_DECODING):
        draw.unit, draw.near = draw.random.choice(draw.space.decoding)
    draw.signature = draw.unit.signature
    draw.is_huge, draw.is_legal, draw.is_large = draw.chance(0.05), draw.chance(0.85), draw.chance(0.01)
    measured = draw.space.measured[draw.unit.name]
    if measured and draw.chance(0.6):
        draw.measured = draw.random.choice(measured)
    if draw.chance(0.04):
        draw.signature = mutated(draw.random, draw.signature)
    return draw.signature.canonical()


def _target(draw: Draw) -> str:
    if draw.measured is not None:
        target = draw.measured.target
        if draw.chance(0.6):
            return str(target)
        if draw.chance(0.6):
            return str(draw.random.choice(draw.space.by_arch[target.gfx]))
    archs = draw.near.archs if draw.chance(0.92) else tuple(draw.space.archs)
    arch = draw.random.choice([name for name in archs if name in draw.space.archs])
    flavour = draw.space.archs[arch].fp8_flavour
    if draw.chance(0.1) and {draw.signature.a, draw.signature.b} <= _PLAIN.keys():
        loose = replace(draw.signature, a=_PLAIN[draw.signature.a], b=_PLAIN[draw.signature.b])
        if loose.resolved(flavour) == draw.signature:
            draw.values["signature"] = loose.canonical()
    return str(draw.random.choice(draw.space.by_arch[arch]))


def _instance(draw: Draw) -> str:
    if draw.chance(0.6):
        return ""
    return draw.random.choice(draw.space.plan.instances).name if draw.chance(0.03) else draw.near.name


def _k_batch(draw: Draw) -> int:
    most = draw.near.constraints.max_k_batch
    if not draw.values["instance"] or draw.chance(0.5):
        return 1
    if draw.chance(0.1):
        return draw.random.choice((0, most + 1, 2**31))
    return draw.random.choice([splits for splits in (1, 2, 3, 4, 5, 8, 16, most) if splits <= most])


def _size(axis: str) -> Callable[[Draw], int]:
    def drawn(draw: Draw) -> int:
        if (draw.is_huge and draw.chance(0.6)) or draw.chance(0.002):
            return huge(draw.random)
        if not draw.is_legal and draw.chance(0.08):
            return draw.random.choice(BELOW)
        size = _measured(draw, axis)
        if draw.near.backend is Backend.HIP and draw.chance(0.8):
            return decoding(draw, axis)
        if size is None:
            most = _MOST[axis] * (4 if draw.is_large else 1)
            size = edge(draw.random, tile_of(draw.near, axis), most)
        return rounded_up(size, multiple_of(draw, axis)) if draw.is_legal else size

    return drawn


def _measured(draw: Draw, axis: str) -> int | None:
    if draw.measured is None:
        return None
    n, k, _ = draw.measured.key
    if axis != "m":
        return n if axis == "n" else k
    m = draw.random.choice(draw.measured.m)
    if draw.chance(_APART):
        return m * 3
    return max(1, m + draw.random.choice((0, 0, 0, -1, 1, -7, 16, 40)))


def _batch(draw: Draw) -> int:
    if draw.signature.op is Op.MOE:
        return 1
    if not draw.signature.batched:
        return 1 if draw.is_legal or draw.chance(0.8) else draw.random.choice((0, 2, -1, 2**31))
    if draw.is_huge and draw.chance(0.3):
        return huge(draw.random)
    if draw.measured is not None and draw.measured.key[2]:
        return draw.measured.key[2]
    return draw.random.choice((1, 1, 2, 2, 3, 5, 0 if not draw.is_legal else 4))


def _deterministic(draw: Draw) -> bool:
    return draw.chance(0.2)


def _batch_invariant(draw: Draw) -> bool:
    return not draw.values["instance"] and draw.chance(0.1)


def _strategy(draw: Draw) -> Strategy:
    return Strategy.ANY if draw.chance(0.85) else draw.random.choice(list(Strategy))


def _data(draw: Draw) -> Data:
    kinds = (Data.RANDOM, Data.INTEGERS, Data.ZEROS, Data.EXTREME, Data.SPECIAL)
    return draw.random.choices(kinds, (40, 30, 6, 12, 12))[0]


def _seed(draw: Draw) -> int:
    return draw.random.getrandbits(16)


def _gap(side: int) -> Callable[[Draw], int]:
    """Elements between lines; an even number where elements share a byte, as no line begins inside one."""

    def drawn(draw: Draw) -> int:
        dtype = (draw.signature.a, draw.signature.b, draw.signature.c)[side]
        grain = 8 // min(dtype.bits, 8)
        lines, _ = lines_of(draw.signature, *(draw.values[axis] for axis in "mnk"))[side]
        if draw.is_huge or draw.chance(0.5):
            return 0
        if draw.chance(0.02):
            return -draw.random.choice((1, 2, 64)) * grain
        if draw.chance(0.04) and 1 < lines <= 3 and draw.values["batch"] <= 2:
            return draw.random.choice((2**30, 2**31 - 64, 2**31, 2**32)) + 2 * draw.random.randint(0, 64)
        return draw.random.choice((1, 2, 7, 8, 63, 64, 65)) * grain

    return drawn


def _gap_d(draw: Draw) -> int:
    return _gap(2)(draw) if any(op.takes_d for op in draw.signature.epilogue) else 0


def _batch_gap(draw: Draw) -> int:
    if not draw.signature.batched or draw.is_huge or draw.chance(0.6):
        return 0
    if draw.chance(0.03):
        return -2 * draw.random.choice((1, 4))
    return 2 * draw.random.choice((1, 8, 33, 500))


def _broadcast(draw: Draw) -> bool:
    return draw.signature.batched and draw.chance(0.2)


def _scale_columns(draw: Draw) -> bool:
    return draw.signature.quant is Quant.BLOCKSCALE and draw.chance(0.4)


def _scale_shuffled(draw: Draw) -> bool:
    return draw.signature.quant is Quant.MX and draw.chance(0.5)


def _gap_scale(draw: Draw) -> int:
    signature = draw.signature
    has_lines = signature.op is Op.GROUPED_GEMM and signature.quant is Quant.BLOCKSCALE
    if not has_lines or signature.scale_block.sides is ScaleSides.B or draw.is_huge or draw.chance(0.7):
        return 0
    return draw.random.choice((1, 3, 128))


def _usual(name: str) -> Callable[[Draw], Any]:
    """What only attention has, and what only real devices do."""
    default = next(one.default for one in fields(Case) if one.name == name)
    return lambda draw: default


FIELDS: Mapping[str, Callable[[Draw], Any]] = {
    "signature": _signature,
    "target": _target,
    "instance": _instance,
    "k_batch": _k_batch,
    "m": _size("m"),
    "n": _size("n"),
    "k": _size("k"),
    "batch": _batch,
    "deterministic": _deterministic,
    "strategy": _strategy,
    "data": _data,
    "seed": _seed,
    "gap_a": _gap(0),
    "gap_b": _gap(1),
    "gap_c": _gap(2),
    "gap_d": _gap_d,
    "gap_batch_a": _batch_gap,
    "gap_batch_b": _batch_gap,
    "gap_batch_c": _batch_gap,
    "broadcast_a": _broadcast,
    "broadcast_b": _broadcast,
    "scale_columns": _scale_columns,
    "scale_shuffled": _scale_shuffled,
    "gap_scale": _gap_scale,
    "groups": groups,
    "on_device": on_device,
    "experts": routing("experts"),
    "top_k": routing("top_k"),
    "route": route,
    "block_m": block_m,
    "is_sorted": is_sorted,
    **{
        name: _usual(name)
        for name in (
            "sum_bits",
            "heads_q",
            "heads_k",
            "hdim_v",
            "corner",
            "window_left",
            "window_right",
            "sink_tokens",
            "own_lengths",
            "spare",
            "head_first",
            "page_size",
            "new",
            "rotary_dim",
            "in_place",
            "schedule",
            "split_cu_num",
            "fixed_split_size",
            "max_splits",
            "split_n0",
            "split_bound",
            "split_spare",
        )
    },
    "batch_invariant": _batch_invariant,
}
"""How each field of Case is drawn; a field that has no function here is an error of the first draw."""
