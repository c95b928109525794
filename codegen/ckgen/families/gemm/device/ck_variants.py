"""Which of its device kernels a classic ck instance launches: the rules of the ops' invokers and of their callers.

The host side asks ck's own invoker; these rules say beforehand which kernels to compile, and tests hold both equal.
Source: the invokers and block pipelines of the CK tree (include/ck/tensor_operation/gpu), the wrappers of the tables'
owner for the padding.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import Enum
from functools import cache
from itertools import product

from ckgen.families.common.device.unit import Use
from ckgen.families.common.device.variant import Tail
from ckgen.families.gemm.config import CkConfig
from ckgen.families.gemm.instance import Instance


class Spec(Enum):
    """ck's GemmSpecialization: the sides of the problem that are padded to whole tiles."""

    DEFAULT = "Default"
    M = "MPadding"
    N = "NPadding"
    K = "KPadding"
    MN = "MNPadding"
    MK = "MKPadding"
    NK = "NKPadding"
    MNK = "MNKPadding"


@dataclass(frozen=True, slots=True)
class CkVariant:
    """One device kernel: padded sides, whether the main loop runs (`hot`), its tail, and whether C is added to."""

    spec: Spec
    hot: bool
    tail: Tail
    add: bool

    @property
    def name(self) -> str:
        """Such as `mnkpadding_hot_full_set`."""
        words = (self.spec.value, "hot" if self.hot else "cold", self.tail.value, "add" if self.add else "set")
        return "_".join(words).lower()

    def __lt__(self, other: CkVariant) -> bool:
        return self.name < other.name


class Padding(Enum):
    """How the caller of an op chooses its GemmSpecialization: none, all sides or none, or each side by itself."""

    NONE = "none"
    ALL = "all"
    EACH = "each"


@dataclass(frozen=True, slots=True)
class VariantRules:
    """An op's rules: its padding, whether K must divide by KBatch whole tiles, and what happens to K splits."""

    padding: Padding
    splits_k_padding: bool
    k_batch: bool


RULES = {
    "a8w8": VariantRules(Padding.ALL, splits_k_padding=True, k_batch=True),
    "a8w8_bpreshuffle": VariantRules(Padding.ALL, splits_k_padding=False, k_batch=True),
    "a8w8_blockscale": VariantRules(Padding.EACH, splits_k_padding=False, k_batch=False),
    "a8w8_blockscale_bpreshuffle": VariantRules(Padding.ALL, splits_k_padding=False, k_batch=False),
    "a4w4_blockscale": VariantRules(Padding.NONE, splits_k_padding=False, k_batch=True),
    "batched_a8w8": VariantRules(Padding.ALL, splits_k_padding=True, k_batch=False),
    "batched_bf16": VariantRules(Padding.NONE, splits_k_padding=False, k_batch=False),
}
"""By module."""

_EACH = {
    (False, False, False): Spec.DEFAULT,
    (True, False, False): Spec.M,
    (False, True, False): Spec.N,
    (False, False, True): Spec.K,
    (True, True, False): Spec.MN,
    (True, False, True): Spec.MK,
    (False, True, True): Spec.NK,
    (True, True, True): Spec.MNK,
}
_COUNTED = (Tail.FULL, Tail.ONE, Tail.TWO, Tail.THREE, Tail.FOUR, Tail.FIVE, Tail.SIX, Tail.SEVEN)


def variant_of(instance: Instance, use: Use) -> CkVariant | None:
    """The kernel that a problem reaches; None where the op has none for it (too few K steps, or no K splits)."""
    config, rules = _ck(instance), RULES[instance.module]
    if use.k_batch > 1 and not rules.k_batch:
        return None
    steps = -(-use.shape.k // (use.k_batch * config.macro_tile.k))
    loop = _loop(instance, steps)
    return None if loop is None else CkVariant(_spec(instance, use), *loop, use.k_batch > 1)


def reachable(instance: Instance, uses: Iterable[Use]) -> tuple[CkVariant, ...]:
    """What the uses reach, with and without a rest in M: a measured M also serves smaller ones. Sorted by name."""
    tile_m = _ck(instance).macro_tile.m
    found: set[CkVariant | None] = set()
    for use in uses:
        found.add(variant_of(instance, use))
        for m in (tile_m, tile_m + 1):
            found.add(variant_of(instance, _with_m(use, m)))
    return tuple(sorted(variant for variant in found if variant is not None))


@cache
def all_variants(instance: Instance) -> tuple[CkVariant, ...]:
    """Every kernel that a problem which the op supports can reach, sorted by name."""
    rules = RULES[instance.module]
    loops = {loop for steps in range(1, 3 * _MOST_STAGES) if (loop := _loop(instance, steps)) is not None}
    specs = tuple(_specs(instance))
    adds = (False, True) if rules.k_batch else (False,)
    return tuple(sorted(CkVariant(spec, *loop, add) for spec, loop, add in product(specs, loops, adds)))


_MOST_STAGES = 8


def stages(instance: Instance) -> int:
    """K steps that the pipeline has under way before its main loop (ck's PrefetchStages)."""
    config = _ck(instance)
    staged = instance.module in ("a8w8", "batched_a8w8", "batched_bf16")
    match config.pipeline:
        case 1:
            return 1 if staged else 2
        case 2 if staged:
            return _memory_stages(instance)
        case 2 | 4 | 5:
            return 3
    return 2


def _memory_stages(instance: Instance) -> int:
    """As many stages as fill 32 KiB per compute unit, 2 to 8."""
    config, bits = _ck(instance), instance.signature.a.bits
    groups = max(4 * 64 // config.block, 1)
    step = (config.tile.m + config.tile.n) * config.tile.k * bits // 8
    return min(max(-(-(32768 // groups) // step), 2), _MOST_STAGES)


def _loop(instance: Instance, steps: int) -> tuple[bool, Tail] | None:
    """Main loop and tail for so many K steps per split; None where the invoker launches nothing."""
    config = _ck(instance)
    hot = steps > stages(instance)
    parity = Tail.ODD if steps % 2 else Tail.EVEN
    match instance.module, config.pipeline:
        case ("a8w8_bpreshuffle", _):
            return (hot, parity) if hot else None
        case ("a8w8_blockscale_bpreshuffle", version):
            return (hot, parity) if hot or version == 1 else None
        case ("a4w4_blockscale", _):
            return (hot, parity) if hot else None
        case ("a8w8_blockscale", 1):
            return (hot, Tail.ODD if steps == 1 else Tail.FULL)
        case (_, 1):
            return (hot, Tail.FULL)
        case (_, 3):
            return (hot, Tail.FULL) if hot else None
        case (_, 2):
            return (hot, _COUNTED[steps % stages(instance)]) if hot else None
    return (hot, parity) if hot else None


def _spec(instance: Instance, use: Use) -> Spec:
    config, rules = _ck(instance), RULES[instance.module]
    tile, shape = config.macro_tile, use.shape
    k_grain = tile.k * (use.k_batch if rules.splits_k_padding else 1)
    rests = (shape.m % tile.m != 0, shape.n % tile.n != 0, shape.k % k_grain != 0)
    match rules.padding:
        case Padding.NONE:
            return Spec.DEFAULT
        case Padding.ALL:
            return Spec.MNK if any(rests) else Spec.DEFAULT
    return _EACH[rests]


def _specs(instance: Instance) -> Iterator[Spec]:
    match RULES[instance.module].padding:
        case Padding.NONE:
            yield Spec.DEFAULT
        case Padding.ALL:
            yield from (Spec.DEFAULT, Spec.MNK)
        case Padding.EACH:
            yield from Spec


def _with_m(use: Use, m: int) -> Use:
    return replace(use, shape=replace(use.shape, m=m))


def _ck(instance: Instance) -> CkConfig:
    config = instance.config
    assert isinstance(config, CkConfig), f"{instance.name} is no classic ck instance"
    return config
