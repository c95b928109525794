"""What attention kernels on a CPU ask of a Config."""

from __future__ import annotations

from ckgen.families.fmha.host_config import HostFmhaConfig
from ckgen.families.fmha.signature import parse_signature
from ckgen.families.rules import judge
from ckgen.model.backend import Backend
from ckgen.specs.archs import load_archs


def test_host_kernels() -> None:
    arch = load_archs()["x86_64_v3"]

    def broken(text: str, config: HostFmhaConfig) -> list[str]:
        return [one.rule for one in judge(parse_signature(text, None), config, Backend.HOST, arch)]

    assert broken("bf16_fp8_ocp_bf16_sink_randval_pertensor", HostFmhaConfig(16, 64)) == []
    for config in (HostFmhaConfig(2048, 64), HostFmhaConfig(16, 512)):
        assert broken("bf16", config) == ["host.fmha.tile"]
    for text in ("bf16_pagelist_vectorized", "bf16_varlen_blocktable", "bf16_fp8_ocp_bf16_kvblockscale_pagelist"):
        assert broken(text, HostFmhaConfig(16, 64)) == [], text
    assert broken("fp8_ocp_pertensor", HostFmhaConfig(16, 64)) == []
    for text in ("fp32_append_vcolumn_rope_half", "bf16_fp8_ocp_bf16_append_kvblockscale_pagelist_vectorized"):
        assert broken(text, HostFmhaConfig(16, 64)) == [], text
    assert broken("bf16_bwd_varlen_masked", HostFmhaConfig(256, 256)) == []
    assert broken("bf16_bwd", HostFmhaConfig(257, 64)) == ["host.fmha.backward-tile"]
    assert broken("bf16", HostFmhaConfig(257, 64)) == []
    for text in ("fp8_ocp_append_pertensor", "bf16_fp8_ocp_bf16_append_blockscale"):
        assert broken(text, HostFmhaConfig(16, 64)) == ["host.fmha.append"], text
