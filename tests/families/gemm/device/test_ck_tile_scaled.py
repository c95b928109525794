"""The scaled ck_tile GEMMs as device code, without a compiler: variants, texts, demands, and what the tree lacks."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path

import pytest
from families_rows import Rows

from ckgen.build.device_code import device_code
from ckgen.emit.device import render_device_unit
from ckgen.families.common.device.unit import Use
from ckgen.families.gemm.ck_tile_geometry import store_vector
from ckgen.families.gemm.config import CkTileConfig, Scheduler, TilePipeline
from ckgen.families.gemm.device import ck_tile_absent
from ckgen.families.gemm.device import ck_tile_flatmm as flatmm
from ckgen.families.gemm.device import ck_tile_quant as quant
from ckgen.families.gemm.device.ck_tile_absent import absent
from ckgen.families.gemm.device.tile_parts import tile_config
from ckgen.families.gemm.grammar import identify
from ckgen.families.gemm.instance import Instance
from ckgen.families.gemm.problem_rules import supports
from ckgen.families.gemm.signature import parse_signature
from ckgen.families.kernel_sets import shipped_set
from ckgen.families.registry import make_instance
from ckgen.families.rules import judge
from ckgen.model.config import Tile
from ckgen.model.tuned_row import Shape
from ckgen.specs.archs import load_archs

ARCHS = load_archs()
TILE = "a8w8_bpreshuffle_cktile_0x0x8x4x1x0x0x0x0x2_64x256x128_1x4x1_16x16x64_default"
ROWWISE = CkTileConfig(
    Tile(128, 128, 128), (1, 4, 1), Tile(16, 16, 32), TilePipeline.COMPV3, Scheduler.INTRAWAVE, pad_n=True, pad_k=True
)


def named(kernel: str, arch: str, module: str = "a8w8_bpreshuffle", out: str = "bf16") -> Instance:
    found = identify(module, "cktile", kernel)
    assert found is not None, kernel
    return built(found.config, arch, f"{module}:{out}", module, kernel)


def built(config: object, arch: str, signature: str = "a8w8:fp8", module: str = "a8w8", kernel: str = "") -> Instance:
    assert isinstance(config, CkTileConfig)
    parsed = parse_signature(signature, ARCHS[arch].fp8_flavour)
    return make_instance(parsed, config, module=module, table_kernel=kernel, archs=(arch,))


def cktile_names(rows: Rows) -> dict[tuple[str, str, str], list[Use]]:
    """By module, arch and kernel: the problems of its rows; splitK is a power of two's exponent."""
    found: dict[tuple[str, str, str], list[Use]] = defaultdict(list)
    for row in rows:
        if row.library == "cktile" and row.gfx in ARCHS:
            found[row.module, row.gfx, row.kernel].append(Use(Shape(0, row.m, row.n, row.k), 1 << row.split_k))
    return found


def test_every_cktile_name_is_built(rows: Rows) -> None:
    """74 preshuffled names with ck_tile's kernels for each of their rows, 35 with block scales with one of ours."""
    kinds: Counter[str] = Counter()
    for (module, arch, kernel), uses in cktile_names(rows).items():
        instance = named(kernel, arch, module)
        code = device_code(instance)
        assert code.unavailable(arch) is None, kernel
        assert set(code.reachable(uses)) <= set(code.all_variants())
        if module == "a8w8_bpreshuffle":
            assert all(supports(instance.constraints, use.shape, use.k_batch) is None for use in uses), kernel
        kinds["flatmm" if module == "a8w8_bpreshuffle" else "blockscale"] += 1
    assert kinds == {"flatmm": 74, "blockscale": 35}


@pytest.mark.parametrize(
    ("k", "k_batch", "name"),
    [(128, 1, "odd_set"), (256, 1, "even_set"), (384, 1, "odd_set"), (512, 2, "even_add"), (768, 2, "odd_add")],
)
def test_flatmm_counts_k_tiles(k: int, k_batch: int, name: str) -> None:
    instance = named(TILE, "gfx942", out="fp16")
    assert flatmm.variant_of(instance, Use(Shape(0, 64, 256, k), k_batch)).name == name


def test_m_does_not_choose_a_kernel() -> None:
    uses = [Use(Shape(0, m, 256, 4096), 1) for m in (1, 63, 64, 65, 4096)]
    assert [variant.name for variant in flatmm.reachable(named(TILE, "gfx942"), uses)] == ["even_set"]


def test_flatmm_has_four_kernels() -> None:
    both = ["even_set", "even_add", "odd_set", "odd_add"]
    assert [each.name for each in flatmm.all_variants(named(TILE, "gfx942"))] == both


def test_flatmm_stores_no_wider_than_a_tile_where_pairs_would_leave_one_over(rows: Rows) -> None:
    """Eight 16-bit elements are two tiles of a wave: 12 of the tables' kernels have 3, 5 or 7 of them along M."""
    widths: Counter[tuple[int, bool]] = Counter()
    for module, arch, kernel in cktile_names(rows):
        if module == "a8w8_bpreshuffle":
            instance = named(kernel, arch, module)
            config = tile_config(instance)
            along_m = config.tile.m // (config.warps[0] * config.warp_tile.m)
            widths[store_vector(instance.signature, config), along_m > 1 and along_m % 2 == 1] += 1
    assert widths == {(8, False): 62, (4, True): 12}


@pytest.mark.parametrize(
    ("m", "out", "elements"), [(16, "bf16", 8), (32, "bf16", 8), (48, "bf16", 4), (48, "fp16", 4), (80, "bf16", 4)]
)
def test_flatmm_takes_columns_in_whole_stores(m: int, out: str, elements: int) -> None:
    """Padded along N, a problem's N is a multiple of B's groups of rows, which every store divides."""
    instance = named(
        f"a8w8_bpreshuffle_cktile_0x0x8x4x1x0x0x1x0x2_{m}x256x128_1x4x1_16x16x64_default", "gfx942", out=out
    )
    config = tile_config(instance)
    assert config.pad_n and store_vector(instance.signature, config) == elements
    assert instance.constraints.n_multiple == 16 and 16 % elements == 0


@pytest.mark.parametrize(("k", "name"), [(1, "one_set"), (128, "one_set"), (129, "two_set"), (257, "many_set")])
def test_quant_counts_k_tiles(k: int, name: str) -> None:
    assert quant.variant_of(built(ROWWISE, "gfx942"), Use(Shape(0, 8, 8, k), 1)).name == name


def test_quant_takes_no_splits() -> None:
    instance = built(ROWWISE, "gfx942")
    assert supports(instance.constraints, Shape(0, 8, 8, 4096), 1) is None
    assert supports(instance.constraints, Shape(0, 8, 8, 4096), 2) is not None


def test_expectation_of_a_measured_kernel() -> None:
    """64x256x128 on gfx942, as compiled: 256 and 192 instructions of 64 a K step, 16 KiB of LDS, nothing spilled."""
    even, _, odd, _ = flatmm.all_variants(named(TILE, "gfx942"))
    expected = flatmm.expected(named(TILE, "gfx942"), "gfx942", even)
    assert expected.steps == (("v_mfma_f32_16x16x32_fp8_fp8", 64),)
    assert (expected.copies, flatmm.expected(named(TILE, "gfx942"), "gfx942", odd).copies) == (4, 3)
    assert (expected.lds_bytes, expected.scratch_bytes, expected.spills, expected.waves_per_simd) == (16384, 0, 0, 2)


def test_expectation_of_a_measured_rowwise_kernel() -> None:
    wide = built(replace(ROWWISE, warp_tile=Tile(16, 16, 128)), "gfx950")
    copies = [quant.expected(wide, "gfx950", each).copies for each in quant.all_variants(wide)]
    first = quant.expected(wide, "gfx950", quant.all_variants(wide)[0])
    assert (first.steps, copies, first.lds_bytes) == ((("v_mfma_f32_16x16x128_f8f6f4", 16),), [1, 2, 2], 32768)


def test_units_name_their_kernels_and_nothing_of_the_machine() -> None:
    instance = named(TILE, "gfx942")
    variants = flatmm.all_variants(instance)
    unit = flatmm.UNITS.device_unit(instance, variants[:1])
    text = render_device_unit(unit)
    assert unit.symbols == (f"ckgen_{instance.id:016x}_even_set",)
    assert text.count('extern "C" __global__') == 1
    assert ".tile = {64, 256, 128}," in text and ".block_per_cu = 2," in text
    host = render_device_unit(flatmm.UNITS.host_unit(instance, {"gfx942": variants[:1]}))
    assert f"ckgen_prepare_{instance.id:016x}" in host
    assert "archs_of(Arch::gfx942)" in host
    assert "archs_of()" in host, "a kernel that no object has is named, to be refused by name"


def test_rowwise_units_say_what_is_scaled() -> None:
    instance = built(ROWWISE, "gfx942", "gemm_fp8_bf16_rcr_per_tensor")
    text = render_device_unit(quant.UNITS.device_unit(instance, quant.all_variants(instance)))
    assert ".per_tensor = true," in text and ".pad_k = true," in text
    assert [
        symbol.split("_", 2)[2] for symbol in quant.UNITS.device_unit(instance, quant.all_variants(instance)).symbols
    ] == [
        "one_set",
        "two_set",
        "many_set",
    ]


@pytest.mark.parametrize(
    ("signature", "changes", "rule"),
    [
        ("a8w8:int8", {}, "ck_tile.absent.scaled_int8"),
        ("a8w8:fp8:bias", {}, "ck_tile.absent.scaled_bias"),
        ("a8w8:fp8", {"pipeline": TilePipeline.COMPV4}, "ck_tile.absent.quant_pipeline"),
        ("a8w8:fp8", {"vector": 1}, "ck_tile.absent.quant_options"),
        ("a8w8:fp8", {"persistent": True}, "ck_tile.absent.quant_options"),
        ("a8w8_bpreshuffle", {"pipeline": TilePipeline.FLATMM, "warps": (2, 2, 1)}, "ck_tile.absent.flatmm_waves"),
        ("a8w8_bpreshuffle", {"pipeline": TilePipeline.FLATMM}, "ck_tile.absent.flatmm_chunks"),
        ("a8w8_blockscale", {}, "ck_tile.absent.ab_scale"),
        (
            "a8w8:fp8",
            {"tile": Tile(48, 128, 128), "warps": (1, 4, 1), "warp_tile": Tile(16, 16, 32)},
            "ck_tile.absent.cshuffle_odd",
        ),
    ],
)
def test_what_the_tree_lacks_has_a_reason(signature: str, changes: dict[str, object], rule: str) -> None:
    lack = absent(built(replace(ROWWISE, **changes), "gfx942", signature))
    assert lack is not None and lack.id == rule
    assert lack.text.endswith(f"(rule {rule})")


def test_every_absence_can_be_met() -> None:
    data = json.loads(Path(ck_tile_absent.__file__).with_suffix(".json").read_text(encoding="utf-8"))
    facts = {"quant", "operand", "bias", "preshuffle_b", "pipeline", "waves", "waves_m", "warp_n", "warp_k", "options"}
    facts |= {"odd_shuffle", "sides", "grouped", "chunk_bytes"}
    for entry in data["entries"]:
        assert set(entry["when"]) <= facts, entry["id"]
        assert bool(entry["absent"]) == bool(entry["newer"]), entry["id"]


def test_the_full_set_has_scaled_instances_for_both_archs() -> None:
    found: Counter[str] = Counter()
    for candidate in shipped_set("full"):
        for arch in ("gfx942", "gfx950"):
            signature = candidate.signature.resolved(ARCHS[arch].fp8_flavour)
            instance = make_instance(signature, candidate.config, module="a8w8", table_kernel="", archs=(arch,))
            if quant.is_quant(instance) and not judge(signature, candidate.config, candidate.backend, ARCHS[arch]):
                assert absent(instance) is None
                found[arch] += 1
    assert set(found) == {"gfx942", "gfx950"}
