"""What cases have beside GEMMs' sizes: groups, routing, and the few rows of decode kernels."""

from __future__ import annotations

from collections.abc import Callable

from ckgen.families.gemm.enums import MoePart, Op
from ckgen.fuzz.case import Route, Sizes
from ckgen.fuzz.drawing import Draw, multiple_of, tile_of
from ckgen.fuzz.sizes import BELOW, edge, huge, rounded_up
from ckgen.model.groups import GroupSize

_MOST = {"m": 80, "n": 96, "k": 160}
_COUNTS = (1, 1, 2, 2, 3, 4, 5, 7, 13)
_EXPERTS = (1, 2, 2, 3, 4, 4, 5, 8, 8, 13, 16, 31)
_ROWS = (1, 2, 4, 8, 16, 32, 64)


def groups(draw: Draw) -> Sizes:
    """None where there are none, which is wrong of a grouped GEMM; M, N and K of the case are among them."""
    if draw.signature.op is not Op.GROUPED_GEMM:
        return None
    if not draw.is_legal and draw.chance(0.1):
        return None
    if draw.chance(0.04):
        return ()
    count = draw.random.choice(_COUNTS)
    known = GroupSize(*(draw.values[axis] for axis in "mnk"))
    alike = draw.chance(0.3)
    found = [known, *(_group(draw, known if alike else None) for _ in range(count - 1))]
    draw.random.shuffle(found)
    return tuple(found)


def _group(draw: Draw, like: GroupSize | None) -> GroupSize:
    """One group; `like`: of its N and K."""
    m, n, k = (_size(draw, axis) for axis in "mnk")
    return GroupSize(m, n, k) if like is None else GroupSize(m, like.n, like.k)


def _size(draw: Draw, axis: str) -> int:
    if draw.chance(0.1):
        return 0
    if draw.is_huge and draw.chance(0.3):
        return huge(draw.random)
    if not draw.is_legal and draw.chance(0.05):
        return draw.random.choice(BELOW)
    size = edge(draw.random, tile_of(draw.near, axis), _MOST[axis])
    return rounded_up(size, multiple_of(draw, axis)) if draw.is_legal else size


def on_device(draw: Draw) -> bool:
    """Whether only the device knows the rows of groups."""
    return bool(draw.values["groups"]) and draw.chance(0.3)


def routing(name: str) -> Callable[[Draw], int]:
    """Of op moe; what a table measured, few experts, all of them for each token, or no routing."""

    def drawn(draw: Draw) -> int:
        if draw.signature.op is not Op.MOE:
            return 0
        if draw.measured is not None and draw.measured.key[2] and draw.chance(0.9):
            return draw.measured.key[2] >> 16 if name == "experts" else draw.measured.key[2] & 0xFFFF
        if not draw.is_legal and draw.chance(0.15):
            return draw.random.choice((0, 1, 255, 256, 65_535))
        if name == "experts":
            return draw.random.choice(_EXPERTS)
        experts = min(max(draw.values["experts"], 1), 255)
        return draw.random.choice((1, 1, 2, min(8, experts), experts)) if experts > 1 else 1

    return drawn


def route(draw: Draw) -> Route:
    """Which experts are busy."""
    if draw.signature.op is not Op.MOE or draw.chance(0.4):
        return Route.UNIFORM
    return draw.random.choice(list(Route))


def block_m(draw: Draw) -> int:
    """Mostly any, or that of the kernel in mind; some that no kernel takes."""
    if draw.signature.op is not Op.MOE or draw.chance(0.5):
        return 0
    own = draw.near.config.macro_tile.m
    return own if draw.chance(0.7) else draw.random.choice((16, 32, 48, 64, 128, own - 1, own + 1, 1, -1, 2**31 - 1))


def is_sorted(draw: Draw) -> bool:
    """Whether the caller of a layer has sorted."""
    is_layer = draw.signature.op is Op.MOE and draw.signature.moe.part is MoePart.LAYER
    return is_layer and draw.chance(0.4)


def decoding(draw: Draw, axis: str) -> int:
    """A size at a limit of the kernels for few rows: the rows that they have and their neighbours, whole blocks of K
    and some that are not."""
    if axis == "m":
        own = draw.near.constraints.max_m or draw.random.choice(_ROWS)
        if draw.chance(0.5):
            return own
        return max(draw.random.choice(_ROWS) + draw.random.choice((0, 0, 0, -1, 1)), 1)
    if axis == "n":
        return edge(draw.random, tile_of(draw.near, axis), 96)
    blocks = draw.random.choice((1, 2, 3, 4, 7, 8, 9, 16))
    return blocks * draw.random.choice((32, 128, 128)) + draw.random.choice((0,) * 8 + (-1, 1, 16, 64))
