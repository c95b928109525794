"""Our kernels of attention's gradients as device code: names, units, and what a problem must be."""

from __future__ import annotations

import pytest

from ckgen.build.planned import plan_host, plan_kernel
from ckgen.families.common.device.unit import fmha_symbol, prepare_symbol
from ckgen.families.fmha.backward_config import HipBackwardConfig
from ckgen.families.fmha.constraints import constraints_of
from ckgen.families.fmha.device.hip_gradients import KIND
from ckgen.families.fmha.grammar import parse_config, parse_instance_name
from ckgen.families.fmha.instance import FmhaInstance
from ckgen.families.fmha.problem import check_order, supports
from ckgen.families.fmha.signature import parse_canonical
from ckgen.families.registry import make_instance
from ckgen.model.backend import Backend
from ckgen.model.config import Tile
from ckgen.model.fmha_shape import FmhaShape
from ckgen.specs.archs import load_arch

CONFIG = HipBackwardConfig(64, 64, 128)
ALL = "fmha_bf16_bwd_varlen_masked_elementwise_sink_randval"


def built(signature: str) -> FmhaInstance:
    return make_instance(parse_canonical(signature), CONFIG, ("gfx942",))


def test_names_are_read_back() -> None:
    assert built(ALL).name == f"{ALL}_hip_bwd_64x64x128"
    assert parse_instance_name(built(ALL).name) == (parse_canonical(ALL), Backend.HIP, CONFIG)
    assert (CONFIG.waves, CONFIG.macro_tile, CONFIG.k_grain) == ((4, 1, 1), Tile(64, 128, 64), 1)
    assert parse_config(Backend.HIP, "bwd_64x64") is parse_config(Backend.CK_TILE, CONFIG.text()) is None


@pytest.mark.parametrize(
    ("signature", "kernels"),
    [
        ("fmha_bf16_bwd", ["delta", "dk_dv", "dq"]),
        ("fmha_fp32_bwd_alibi_sink", ["delta", "dk_dv", "dq", "dsink"]),
        (ALL, ["delta", "dk_dv", "dq", "dbias", "dsink"]),
    ],
)
def test_there_is_a_kernel_for_each_gradient_of_the_signature(signature: str, kernels: list[str]) -> None:
    instance = built(signature)
    device, host = plan_kernel(instance, "gfx942", []), plan_host(instance, {"gfx942": []})
    assert [symbol.split("_", 2)[2] for symbol, _ in device.expected] == kernels
    for text in (device.text, host.text):
        assert all(symbol in text for symbol, _ in device.expected)
        assert ".entry = ckgen::FmhaEntry::backward" in text
    assert "ckgen::DType::fp32" in device.text or "ckgen::DType::bf16" in device.text
    assert host.symbols == (prepare_symbol(instance.id), fmha_symbol(instance.id))
    ends = ["dbias" if "dbias" in kernels else "nullptr", "dsink" if "dsink" in kernels else "nullptr"]
    assert " ".join(host.text.split()).endswith(
        f"workspace, nullptr, nullptr, delta, nullptr, nullptr, dq, {ends[0]}, {ends[1]}}};"
    )
    assert all(one.steps == () and one.scratch_bytes == 0 for _, one in device.expected)
    assert max(one.lds_bytes for _, one in device.expected) == 52224 <= load_arch("gfx1201").lds_bytes


def test_code_is_there_for_every_arch_and_keys_are_not_split() -> None:
    code = KIND.of(built(ALL))
    assert code.unavailable("gfx1100") is None
    assert "does not split keys" in str(code.splits_unavailable("gfx942"))


def test_any_size_up_to_the_head_dim_is_taken_and_deterministic() -> None:
    signature = parse_canonical(ALL)
    asked = constraints_of(signature, CONFIG)

    def refused(shape: FmhaShape) -> str:
        found = supports(asked, signature.traits, shape)
        return "" if found is None else found.rule

    assert refused(FmhaShape(2, 6, 2, 77, 300, 127, 1, sink_tokens=3)) == ""
    assert refused(FmhaShape(2, 6, 2, 77, 300, 129, 1)) == "fmha.instance.hdim"
    assert check_order(asked, FmhaShape(1, 1, 1, 5, 10_000, 64, 64)) is None
