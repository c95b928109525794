"""Classic ck's GEMMs of a mixture of experts: the constants of an op, its variants, what its machine code must be.

What a name leaves out are constants of the tables' owner's instance generators (csrc/ck_gemm_moe_2stages_codegen of the
amd-aiter wheel): XDL 16x16, vectors of 16 bytes, how C's tile is stored. Its tiles of 16 rows are of later generators:
there as many lanes store a row as there are lanes per row of the tile.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ckgen.families.common.device.kind import DeviceKind
from ckgen.families.common.device.unit import DeviceUnit, Use, moe_symbol, prepare_symbol, symbol_of
from ckgen.families.common.device.variant import Tail, cpp_bool
from ckgen.families.gemm.device.ck import OpAlias
from ckgen.families.gemm.device.ck_variants import CkVariant, Spec
from ckgen.families.gemm.device.recorded import recorded_overflow
from ckgen.families.gemm.enums import EpilogueOp, MoePart, Quant
from ckgen.families.gemm.instance import Instance
from ckgen.families.gemm.signature import GemmSignature
from ckgen.families.moe.ck_config import CkMoeConfig
from ckgen.families.moe.device.stages import StageVariant, expected_stage, stage_values, stage_variants
from ckgen.families.moe.lds import XDL, lds_bytes, per_wave, shuffle_m
from ckgen.model.dtype import DType
from ckgen.model.expectation import Expectation
from ckgen.model.tuned_row import Shape
from ckgen.specs import load_arch

ALIASES = {
    Quant.NONE: OpAlias("ck/ops/moe.hpp", "Moe"),
    Quant.PER_TENSOR: OpAlias("ck/ops/moe.hpp", "Moe"),
    Quant.ROWWISE: OpAlias("ck/ops/moe.hpp", "Moe"),
    Quant.BLOCKSCALE: OpAlias("ck/ops/moe_blockscale.hpp", "MoeBlockScale"),
    Quant.MX: OpAlias("ck/ops/moe_mx.hpp", "MoeMx"),
}
"""The header and the class template of a scheme of scales."""

_TYPES = {
    DType.INT8: ("int8_t", 1),
    DType.FP8_FNUZ: ("ck::f8_t", 1),
    DType.FP8_OCP: ("ck::f8_t", 1),
    DType.BF16: ("ck::bhalf_t", 2),
    DType.FP16: ("ck::half_t", 2),
    DType.FP4: ("ck::f4x2_pk_t", 1),
}
"""A type as ck names it, and the bytes of what it counts: pairs of fp4."""

_CHUNK = 16  # bytes that a lane moves at once
_WAVE = 64
_STAGES = 2  # K steps under way before the main loop, in every pipeline
_STEPS = 5  # of K, which reach every variant
_FEW_REGISTERS = 256
_MX_PRODUCT = 128 * 128 * 64 * 2


AnyVariant = CkVariant | StageVariant
"""A kernel that computes the part, or one beside it."""


@dataclass(frozen=True, slots=True)
class CkMoeProduct:
    """What decides the device code: the signature of a part, and how it is computed."""

    signature: GemmSignature
    config: CkMoeConfig

    @property
    def gate_up(self) -> bool:
        """Whether it is the first of the two products."""
        return self.signature.moe.part is MoePart.GATE_UP

    @property
    def weighted(self) -> bool:
        """Whether it multiplies by the routing weight."""
        return self.signature.moe.weight_first == self.gate_up

    @property
    def per_wave(self) -> tuple[int, int]:
        """XDL tiles per wave along M and N."""
        return per_wave(self.config)


def product_of(instance: Instance) -> CkMoeProduct:
    """The instance's."""
    config = instance.config
    assert isinstance(config, CkMoeConfig), f"{instance.name} is no MoE product of classic ck"
    return CkMoeProduct(instance.signature, config)


def refusal(product: CkMoeProduct) -> str | None:
    """Why the CK tree has no such kernel; None where it has one."""
    signature, config, (m, n) = product.signature, product.config, product.per_wave
    tile, (waves_m, waves_n) = config.tile, config.wave_grid
    if signature.moe.part is MoePart.LAYER:
        return "a part is one product, a layer two"
    if product.gate_up and not signature.moe.gated:
        return "the CK tree's first GEMM has gate and up rows"
    if not signature.preshuffle_b:
        return "the CK tree's MoE GEMMs read preshuffled weights"
    if config.block != _WAVE * waves_m * waves_n:
        return f"{config.block} work-items are not {waves_m}x{waves_n} waves"
    if (m * XDL * waves_m, n * XDL * waves_n) != (tile.m, tile.n):
        return f"a tile of {tile.m}x{tile.n} is no whole number of XDL tiles per wave"
    if config.op.splits_k:
        return "the CK tree's MoE GEMMs do not split K"
    if config.n_swizzle:
        return "swizzled workgroups read counts of the experts' rows, which sorted tokens do not have"
    if config.pipeline not in (1, 3):
        return f"the CK tree's MoE GEMMs have pipelines 1 and 3, not {config.pipeline}"
    if signature.quant is not Quant.MX:
        return f"pipeline 3 takes 4 XDL tiles per wave along M, not {m}" if config.pipeline == 3 and m < 4 else None
    if product.gate_up and config.pipeline == 1:
        return "the CK tree's fp4 gate_up has pipeline 3 only"
    return f"scales are packed for pairs of XDL tiles, a wave has {m}x{n}" if m % 2 or n % 2 else None


def op_values(product: CkMoeProduct) -> dict[str, Any]:
    """What names the op: the alias and its constants, for device units and host units alike."""
    alias = ALIASES[product.signature.quant]
    return {
        "header": alias.header,
        "module": alias.template,
        "types": list(_types(product)),
        "constants": list(_constants(product)),
        "scheduler": "Intrawave",
        "version": f"v{product.config.pipeline}",
    }


def _types(product: CkMoeProduct) -> tuple[tuple[str, str], ...]:
    signature = product.signature
    ak1, bk1 = _k1(signature.a), _k1(signature.b)
    k0_a, k0_b = product.config.tile.k // ak1, product.config.tile.k // bk1
    return (
        ("Operand", _TYPES[signature.a][0]),
        ("Weight", _TYPES[signature.b][0]),
        ("Out", _TYPES[signature.c][0]),
        ("ACluster", f"S<{k0_a}, {product.config.block // k0_a}, 1>"),
        ("BCluster", f"S<{k0_b}, {product.config.block // k0_b}, 1>"),
        ("CCluster", "S<1, {}, 1, {}>".format(*_c_lanes(product))),
        ("CVector", _c_vector(product)),
    )


def _constants(product: CkMoeProduct) -> tuple[tuple[str, int], ...]:
    signature = product.signature
    scale = (("scale_m", 1), ("scale_n", signature.scale_block.n), ("scale_k", signature.scale_block.k))
    return (
        ("block", product.config.block),
        *(scale if signature.quant is Quant.BLOCKSCALE else ()),
        ("m", product.config.tile.m),
        ("n", product.config.tile.n),
        ("k", product.config.tile.k),
        ("ak1", _k1(signature.a)),
        ("bk1", _k1(signature.b)),
        ("xdl_m", XDL),
        ("xdl_n", XDL),
        ("per_wave_m", product.per_wave[0]),
        ("per_wave_n", product.per_wave[1]),
        ("shuffle_m", shuffle_m(product.signature, product.config)),
        ("shuffle_n", product.per_wave[1]),
        ("gate_up", int(product.gate_up)),
        ("silu", int(signature.epilogue == (EpilogueOp.SILU,))),
        ("weighted", int(product.weighted)),
        ("per_token", int(signature.quant is not Quant.PER_TENSOR)),
        ("n_swizzle", int(product.config.n_swizzle)),
    )


def _k1(dtype: DType) -> int:
    return _CHUNK // _TYPES[dtype][1]


def _c_lanes(product: CkMoeProduct) -> tuple[int, int]:
    """Lanes along M and N that store C."""
    block, tile = product.config.block, product.config.tile
    if product.signature.quant is Quant.BLOCKSCALE:
        lanes = product.config.tile.k // _k1(product.signature.a)
        return block // lanes, lanes
    if product.gate_up:
        rows = min(32, shuffle_m(product.signature, product.config) * product.config.wave_grid[0] * XDL)
        return rows, block // rows
    lanes = tile.n // 2 // product.per_wave[1]
    if product.signature.quant is Quant.MX and block == _WAVE:
        lanes = tile.n // 2
    return block // lanes, lanes


def _c_vector(product: CkMoeProduct) -> str:
    """Elements of C that a lane stores at once, and those of the scales, which are not read here."""
    if product.signature.quant is Quant.BLOCKSCALE:
        return "S<2, 1, 1, 1>"
    vector = 2  # added two by two
    if product.gate_up:
        vector = min(_CHUNK // _TYPES[product.signature.c][1], product.config.tile.n // _c_lanes(product)[1])
    of_columns = 1 if product.signature.quant is Quant.PER_TENSOR else vector
    return f"S<{vector}, 1, {of_columns}, 1>"


def unavailable(instance: Instance, arch: str) -> str | None:
    """Why the CK tree cannot make the instance's code for the arch; None if it can."""
    if instance.signature.quant is Quant.MX and not any(row.scaled for row in load_arch(arch).matrix_instructions):
        return f"{arch} has no scaled matrix instructions"
    return refusal(product_of(instance))


def splits_unavailable(instance: Instance, arch: str) -> str | None:
    """Why K cannot be split."""
    return "the CK tree's MoE GEMMs do not split K"


def all_variants(instance: Instance) -> tuple[AnyVariant, ...]:
    """Every kernel of the code object that a supported problem can reach."""
    return reachable(instance, (Use(Shape(0, 1, 1, instance.config.k_grain * steps), 1) for steps in range(1, _STEPS)))


def reachable(instance: Instance, uses: Iterable[Use]) -> tuple[AnyVariant, ...]:
    """What the uses reach by their K, and the layer's stages."""
    product = product_of(instance)
    found = {variant_of(product, use.shape.k // instance.config.k_grain) for use in uses if use.k_batch == 1}
    return (*sorted(found), *stage_variants(instance.signature)) if found else ()


def variant_of(product: CkMoeProduct, steps: int) -> CkVariant:
    """The kernel for so many steps of K: whether the main loop runs, and an odd or even rest."""
    tail = Tail.ODD if steps % 2 else Tail.EVEN
    return CkVariant(Spec.DEFAULT, steps > _STAGES, tail, not product.gate_up)


def device_unit(instance: Instance, variants: Sequence[AnyVariant]) -> DeviceUnit:
    """The unit of these kernels, in the order given."""
    symbols = {variant: symbol_of(instance, variant) for variant in variants}
    rows = [_row(variant, symbol) for variant, symbol in symbols.items() if isinstance(variant, CkVariant)]
    values = {"instance": instance.name, "variants": rows, "stages": _stages(instance, symbols)}
    return DeviceUnit(
        "device/ck_moe_device.hip.j2", {**values, **op_values(product_of(instance))}, tuple(symbols.values())
    )


def host_unit(instance: Instance, variants: Mapping[str, Sequence[AnyVariant]]) -> DeviceUnit:
    """The host unit where the code object of each arch of `variants` holds its variants."""
    symbols = {variant: symbol_of(instance, variant) for variant in all_variants(instance)}
    rows = [
        {
            **_row(variant, symbol),
            "name": variant.name,
            "archs": sorted(arch for arch, compiled in variants.items() if variant in compiled),
        }
        for variant, symbol in symbols.items()
        if isinstance(variant, CkVariant)
    ]
    prepare, moe = prepare_symbol(instance.id), moe_symbol(instance.id)
    values = {"instance": instance.name, "prepare": prepare, "moe": moe, "variants": rows}
    stages = {"stages": _stages(instance, symbols)}
    return DeviceUnit(
        "device/ck_moe_host.cpp.j2", {**values, **stages, **op_values(product_of(instance))}, (prepare, moe)
    )


def _row(variant: CkVariant, symbol: str) -> dict[str, str]:
    return {
        "symbol": symbol,
        "spec": variant.spec.value,
        "hot": cpp_bool(variant.hot),
        "tail": variant.tail.value,
        "write": "AtomicAdd" if variant.add else "Set",
    }


def _stages(instance: Instance, symbols: Mapping[AnyVariant, str]) -> dict[str, Any]:
    found = {variant: symbol for variant, symbol in symbols.items() if isinstance(variant, StageVariant)}
    return stage_values(instance.signature, found)


def expected(instance: Instance, arch: str, variant: AnyVariant) -> Expectation:
    """The demands on a kernel of the code object for an arch; gate and up each have their matrix instructions."""
    if isinstance(variant, StageVariant):
        return expected_stage(variant)
    product, overflow = product_of(instance), recorded_overflow(instance, arch, variant.name)
    return Expectation(
        steps=steps(product, arch),
        copies=(2 if variant.hot else 0) + (1 if variant.tail is Tail.ODD else 2),
        lds_bytes=lds_bytes(product.signature, product.config),
        scratch_bytes=overflow.scratch_bytes,
        spills=overflow.spills,
        waves_per_simd=waves_per_simd(product),
    )


def steps(product: CkMoeProduct, arch: str) -> tuple[tuple[str, int], ...]:
    """Every instruction of the arch that computes the XDL tile in the signature's types, with its number per K step."""
    signature = product.signature
    types = (signature.a, signature.b, signature.acc)
    m, n = product.per_wave
    found: dict[str, int] = {}
    for row in load_arch(arch).matrix_instructions:
        fits = (row.a, row.b, row.acc) == types and (row.tile.m, row.tile.n) == (XDL, XDL) and row.blocks == 1
        if fits and row.scaled == (signature.quant is Quant.MX) and product.config.macro_tile.k % row.tile.k == 0:
            found[row.mnemonic] = m * n * product.config.macro_tile.k // row.tile.k * (2 if product.gate_up else 1)
    return tuple(found.items())


def waves_per_simd(product: CkMoeProduct) -> int:
    """The occupancy that the launch bounds ask for, as the op's invoker computes it."""
    tile, block = product.config.tile, product.config.block
    if product.signature.quant is Quant.MX:
        return 2 if product.config.pipeline == 3 and tile.m * tile.n * product.config.tile.k <= _MX_PRODUCT else 1
    both = 2 if product.gate_up else 1
    size_a, size_b = _TYPES[product.signature.a][1], _TYPES[product.signature.b][1]
    of_a = tile.m * tile.k * size_a // block // 4 * (1 + product.config.wave_grid[1])
    of_b = tile.n * tile.k * size_b // block // 4 * 2 * both
    of_c = tile.m * tile.n * 4 // block // 4 * both
    return 1 if of_a + of_b + of_c >= _FEW_REGISTERS else 2


KIND: DeviceKind[Instance, AnyVariant] = DeviceKind(
    variants=(CkVariant, StageVariant),
    unavailable=unavailable,
    reachable=reachable,
    all_variants=all_variants,
    device_unit=device_unit,
    host_unit=host_unit,
    expected=expected,
    splits_unavailable=splits_unavailable,
)
"""These instances as device code."""
