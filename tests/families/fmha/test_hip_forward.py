"""Our attention kernel of any options as device code: names, units, what a problem must be, and when it is chosen."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ckgen.build.planned import plan_host, plan_kernel
from ckgen.families.common.device.unit import fmha_symbol, prepare_symbol
from ckgen.families.common.order import Order
from ckgen.families.fmha.config import CkTileFmhaConfig, FmhaPipeline
from ckgen.families.fmha.constraints import constraints_of
from ckgen.families.fmha.cost import best_split, cost
from ckgen.families.fmha.enums import FmhaTraits
from ckgen.families.fmha.forward_config import HipForwardConfig
from ckgen.families.fmha.grammar import parse_config, parse_instance_name
from ckgen.families.fmha.instance import FmhaInstance
from ckgen.families.fmha.order import order_of
from ckgen.families.fmha.problem import supports
from ckgen.families.fmha.signature import parse_canonical
from ckgen.families.registry import make_instance
from ckgen.model.backend import Backend
from ckgen.model.config import Tile
from ckgen.model.fmha_shape import FmhaShape
from ckgen.specs.archs import load_arch

CONFIG = HipForwardConfig(64, 64, 128)
ALL = "fmha_bf16_fp8_fnuz_bf16_varlen_masked_softcap_sink_lse_dropout_kvblockscale_pagelist_vectorized"
SHAPE = FmhaShape(2, 6, 2, 77, 300, 128, 16, sink_tokens=3, page_size=16, pages=99)


def built(signature: str) -> FmhaInstance:
    return make_instance(parse_canonical(signature), CONFIG, ("gfx942",))


def test_names_are_read_back() -> None:
    assert built(ALL).name == f"{ALL}_hip_fwd_64x64x128"
    assert parse_instance_name(built(ALL).name) == (parse_canonical(ALL), Backend.HIP, CONFIG)
    assert (CONFIG.waves, CONFIG.macro_tile, CONFIG.k_grain) == ((4, 1, 1), Tile(64, 128, 64), 1)
    assert parse_config(Backend.HIP, "fwd_64x64") is parse_config(Backend.CK_TILE, CONFIG.text()) is None
    assert order_of(CONFIG, ("gfx942",)) == Order(CONFIG.text())


def test_both_units_say_the_kernel_and_meet_at_the_symbol() -> None:
    instance = built(ALL)
    device, host = plan_kernel(instance, "gfx942", []), plan_host(instance, {"gfx942": []})
    (symbol, expected), (combine, _) = device.expected
    assert symbol == f"ckgen_{instance.id:016x}_forward" and combine == f"ckgen_{instance.id:016x}_combine"
    types = "ckgen::DType::bf16, ckgen::DType::fp8_fnuz, ckgen::DType::bf16"
    assert f"CKGEN_FMHA_FORWARD_KERNEL({symbol}, {types},\n" in device.text and "}, 128)\n" in device.text
    assert f"CKGEN_FMHA_COMBINE_KERNEL({combine}, __bf16)" in device.text and f'"{combine}"' in host.text
    assert f'"{symbol}"' in host.text and ",\n    16};" in host.text
    assert host.symbols == (prepare_symbol(instance.id), fmha_symbol(instance.id))
    assert expected.steps == () and expected.scratch_bytes == 0
    assert expected.lds_bytes == 36864 <= load_arch("gfx1201").lds_bytes


def test_o_of_8_bits_has_nothing_that_combines_splits() -> None:
    instance = built("fmha_fp8_fnuz_masked_pertensor")
    device, host = plan_kernel(instance, "gfx942", []), plan_host(instance, {"gfx942": []})
    assert len(device.expected) == 1 and "COMBINE" not in device.text
    assert host.symbols == (prepare_symbol(instance.id),) and instance.constraints.max_splits == 1
    assert built(ALL).constraints.max_splits > 1


@pytest.mark.parametrize("hdim_v", [1, 77, 128])
def test_any_size_up_to_the_head_dim_is_taken(hdim_v: int) -> None:
    signature = parse_canonical(ALL)
    asked = constraints_of(signature, CONFIG)
    assert supports(asked, signature.traits, replace(SHAPE, hdim_v=hdim_v)) is None
    refused = supports(asked, signature.traits, replace(SHAPE, hdim_q=144, hdim_v=hdim_v))
    assert refused is not None and refused.rule == "fmha.instance.hdim"


def test_it_answers_where_no_other_does_whatever_that_costs() -> None:
    signature = parse_canonical("fmha_bf16")
    large = CkTileFmhaConfig(FmhaPipeline.QR, 128, 64, 32, 256, 32, 256, (4, 1, 1), Tile(32, 32, 16))
    ours, other = constraints_of(signature, CONFIG), constraints_of(signature, large)
    one = FmhaShape(64, 64, 1, 1, 2**20, 16, 16)
    assert ours.last_resort and not other.last_resort
    assert cost(replace(ours, last_resort=False), FmhaTraits(), one, 1) < cost(other, FmhaTraits(), one, 1)
    assert best_split(ours, FmhaTraits(), one, 1).cost > best_split(other, FmhaTraits(), one, 1).cost
