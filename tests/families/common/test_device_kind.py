from __future__ import annotations

import pytest

from ckgen.build.device_code import device_code
from ckgen.families.common.device.shipped import ShippedVariant
from ckgen.families.fmha.host_config import HostFmhaConfig
from ckgen.families.fmha.signature import parse_signature
from ckgen.families.gemm.config import HostConfig
from ckgen.families.gemm.instance import Instance
from ckgen.families.gemm.signature import parse_canonical
from ckgen.families.kernel_sets import shipped_set
from ckgen.families.registry import make_instance
from ckgen.model.backend import Backend


def instance() -> Instance:
    one = next(one for one in shipped_set("default") if one.backend is Backend.CK_TILE)
    return make_instance(one.signature, one.config, ("gfx942",))


def test_device_code_takes_its_own_variants_alone() -> None:
    code = device_code(instance())
    own, foreign = code.all_variants()[0], ShippedVariant()
    assert own.name in code.symbol(own) and code.symbol(own) in code.device_unit([own]).symbols
    for refused in (
        lambda: code.symbol(foreign),
        lambda: code.expected("gfx942", foreign),
        lambda: code.device_unit([own, foreign]),
        lambda: code.host_unit({"gfx942": [foreign]}),
    ):
        with pytest.raises(TypeError, match="shipped is no variant of this kind"):
            refused()


@pytest.mark.parametrize("name", ["gemm_bf16_rcr", "moe_bf16_rcr_down"])
def test_a_host_kernel_has_no_device_code(name: str) -> None:
    signature = parse_canonical(name)
    assert signature is not None
    host = next(one.config for one in shipped_set("default") if isinstance(one.config, HostConfig))
    one = make_instance(signature, host, ("x86_64_v3",))
    with pytest.raises(ValueError, match="has no device code"):
        device_code(one)


def test_a_host_kernel_of_attention_has_none_either() -> None:
    one = make_instance(parse_signature("fmha_bf16", None), HostFmhaConfig(16, 64), ("x86_64_v3",))
    with pytest.raises(ValueError, match="has no device code"):
        device_code(one)
