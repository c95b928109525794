"""ck_tile's gradients of attention as device code: names, units, what a problem must be, and their machine code."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ckgen.build.device_code import device_code
from ckgen.build.planned import plan_host, plan_kernel
from ckgen.families.common.device.unit import fmha_symbol, prepare_symbol
from ckgen.families.fmha.backward_config import CkTileBackwardConfig
from ckgen.families.fmha.constraints import constraints_of
from ckgen.families.fmha.grammar import parse_config, parse_instance_name
from ckgen.families.fmha.instance import FmhaInstance
from ckgen.families.fmha.problem import check_order, supports
from ckgen.families.fmha.signature import parse_canonical
from ckgen.families.fmha.tree import backward_configs
from ckgen.families.registry import make_instance
from ckgen.model.backend import Backend
from ckgen.model.fmha_shape import FmhaShape
from ckgen.specs.archs import load_arch

ALONE = CkTileBackwardConfig(0, 32, 128, 32, 64, 1)
GROUPED = CkTileBackwardConfig(8, 16, 128, 32, 128, 1, grouped=True)
ORDERED = replace(GROUPED, ordered=True)


def built(signature: str, config: CkTileBackwardConfig, arch: str = "gfx942") -> FmhaInstance:
    return make_instance(parse_canonical(signature), config, (arch,))


def test_names_are_read_back() -> None:
    for config in backward_configs(parse_canonical("fmha_bf16_bwd"), "gfx942"):
        name = built("fmha_bf16_bwd_masked", config).name
        assert parse_instance_name(name) == (parse_canonical("fmha_bf16_bwd_masked"), Backend.CK_TILE, config)
    assert ALONE.text() == "bwd_pad0_32x128x32x64_1" and GROUPED.text() == "bwd_pad8_16x128x32x128_1_grouped"
    assert ORDERED.text() == f"{GROUPED.text()}_ordered"
    for text in ("bwd_pad2_32x128x32x64_1", "bwd_pad0_32x128x32_1", "bwd_pad0_32x128x32x64_1_grouped_grouped"):
        assert parse_config(Backend.CK_TILE, text) is None


@pytest.mark.parametrize(
    ("signature", "config", "arch", "steps", "copies"),
    [
        ("fmha_bf16_bwd", ALONE, "gfx942", {"v_mfma_f32_16x16x16_bf16": 80}, 2),
        ("fmha_bf16_bwd", GROUPED, "gfx942", {"v_mfma_f32_16x16x16_bf16": 80}, 2),
        ("fmha_bf16_bwd", CkTileBackwardConfig(1, 32, 128, 32, 64, 1), "gfx942", {"v_mfma_f32_16x16x16_bf16": 80}, 1),
        ("fmha_bf16_bwd", ALONE, "gfx90a", {"v_mfma_f32_16x16x16bf16_1k": 80}, 2),
        # the two products for dK and dV are of the flat tile: 64 of 64 and 48 of 48 are two steps
        ("fmha_bf16_bwd", ALONE, "gfx950", {"v_mfma_f32_16x16x16_bf16": 64, "v_mfma_f32_16x16x32_bf16": 48}, 2),
        ("fmha_fp32_bwd", CkTileBackwardConfig(0, 16, 64, 16, 64, 1), "gfx942", {"v_mfma_f32_16x16x4_f32": 80}, 2),
    ],
)
def test_matrix_instructions_are_those_of_five_products(
    signature: str, config: CkTileBackwardConfig, arch: str, steps: dict[str, int], copies: int
) -> None:
    planned = plan_kernel(built(signature, config, arch), arch, [])
    of = {symbol.partition("_")[2].partition("_")[2]: one for symbol, one in planned.expected}
    assert (dict(of["dq_dk_dv"].steps), of["dq_dk_dv"].copies) == (steps, copies)
    assert 0 < of["dq_dk_dv"].lds_bytes <= load_arch(arch).lds_bytes
    others = [one for name, one in of.items() if name != "dq_dk_dv"]
    assert len(others) == 2 + config.grouped and all(one.steps == () and one.scratch_bytes == 0 for one in others)


def test_both_units_say_the_config_and_meet_at_the_symbols() -> None:
    for config in (ALONE, GROUPED, ORDERED):
        instance = built("fmha_bf16_bwd_varlen_masked", config)
        device, host = plan_kernel(instance, "gfx942", []), plan_host(instance, {"gfx942": []})
        symbols = [symbol for symbol, _ in device.expected]
        assert len(symbols) == (4 if config.grouped else 3)
        for text in (device.text, host.text):
            assert all(symbol in text for symbol in symbols)
            assert f".hdim = {config.hdim}," in text and ".entry = ckgen::FmhaEntry::backward" in text
            assert f".grouped = {'true' if config.grouped else 'false'}," in text
            assert f".ordered = {'true' if config.ordered else 'false'}," in text
        assert host.symbols == (prepare_symbol(instance.id), fmha_symbol(instance.id))
        assert ("sum_heads, convert_dq};" in host.text) == config.grouped
        assert device.text.count("CKGEN_FMHA_SUM_PARTS_KERNEL") == config.grouped + config.ordered
        assert ("CKGEN_TILE_FMHA_CONVERT_DQ_KERNEL" in device.text) != config.ordered


def test_code_for_an_arch_without_tiles_is_unavailable() -> None:
    reason = device_code(built("fmha_bf16_bwd", ALONE, "gfx1201")).unavailable("gfx1201")
    assert reason is not None and "not bridged" in reason


def test_problems_are_refused_by_what_the_kernel_cannot_do() -> None:
    traits = parse_canonical("fmha_bf16_bwd_masked").traits
    alone, grouped = (constraints_of(parse_canonical("fmha_bf16_bwd_masked"), one) for one in (ALONE, GROUPED))

    def refused(shape: FmhaShape, asked: object = alone) -> str:
        found = supports(asked, traits, shape)  # type: ignore[arg-type]
        return "" if found is None else found.rule

    assert refused(FmhaShape(2, 4, 4, 77, 300, 64, 64)) == ""
    assert refused(FmhaShape(2, 4, 2, 77, 300, 64, 64)) == "fmha.instance.group"
    assert refused(FmhaShape(2, 4, 2, 77, 300, 120, 64), grouped) == ""
    assert refused(FmhaShape(2, 4, 4, 77, 300, 64, 48)) == "fmha.instance.hdim-multiple"
    assert refused(FmhaShape(2, 4, 4, 77, 300, 64, 128)) == "fmha.instance.hdim"
    assert refused(FmhaShape(2, 4, 4, 77, 300, 64, 64, sink_tokens=1)) == "fmha.instance.sink-tokens"


@pytest.mark.parametrize(("keys", "rule"), [(0, ""), (256, ""), (257, "fmha.instance.unordered-dq")])
def test_a_deterministic_result_is_given_up_to_two_tiles_of_keys(keys: int, rule: str) -> None:
    asked = constraints_of(parse_canonical("fmha_bf16_bwd"), ALONE)
    found = check_order(asked, FmhaShape(1, 1, 1, 5, keys, 64, 64))
    assert ("" if found is None else found.rule) == rule
    ordered = constraints_of(parse_canonical("fmha_bf16_bwd"), ORDERED)
    assert check_order(ordered, FmhaShape(1, 1, 1, 5, keys, 64, 64)) is None


def test_the_tree_has_ordered_kernels_where_heads_are_summed() -> None:
    found = backward_configs(parse_canonical("fmha_bf16_bwd"), "gfx942")
    assert {(one.grouped, one.ordered) for one in found} == {(False, False), (True, False), (True, True)}
