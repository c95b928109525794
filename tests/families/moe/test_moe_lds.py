"""LDS of classic CK's MoE kernels, held against every one that was compiled for docs/amd/families/moe.json."""

from __future__ import annotations

import json

from ckgen import paths
from ckgen.families.gemm.enums import MoePart
from ckgen.families.moe.ck_config import CkMoeConfig
from ckgen.families.moe.lds import lds_bytes
from ckgen.specs.archs import load_archs
from ckgen_emulator.moe.named import named_product

RECORDS = paths.tuning_dir().parent / "docs" / "amd" / "families" / "moe.json"
OF_SORTING = 36864
"""Of the kernel that sorts, which stands in gate_up's code object; the record has the most of all."""


def test_every_compiled_kernel_takes_what_the_formula_says() -> None:
    records = json.loads(RECORDS.read_text(encoding="utf-8"))["kernels"]
    compiled = {key: record["figures"]["lds"] for key, record in records.items() if "figures" in record}
    told = {}
    for key in compiled:
        arch, _, name = key.partition("/")
        one = named_product(name, load_archs()[arch])
        assert isinstance(one.config, CkMoeConfig)
        least = OF_SORTING if one.signature.moe.part is MoePart.GATE_UP else 0
        told[key] = max(lds_bytes(one.signature, one.config), least)
    assert len(compiled) >= 89 and told == compiled
    assert len({*compiled.values()}) >= 5, "kernels that tell formulas apart"
