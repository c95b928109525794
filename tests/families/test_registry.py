from __future__ import annotations

import os
import subprocess
import sys

import pytest

from ckgen import paths
from ckgen.families import registry
from ckgen.families.gemm.enums import Op
from ckgen.families.gemm.family import GemmFamily
from ckgen.families.registry import FAMILIES, families_of, family_of_name
from ckgen.model.errors import UsageError


def test_ops_choose_families() -> None:
    assert [family.name for family in families_of([])] == list(FAMILIES)
    assert [family.name for family in families_of(["gemm", "gemm"])] == ["gemm"]
    with pytest.raises(UsageError, match=r"unknown op: fmah \(known: gemm, stream_k, grouped_gemm, moe, fmha\)"):
        families_of(["fmah", "gemm"])


def test_only_the_families_asked_for_are_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    both = {"gemm": FAMILIES["gemm"], "moe": GemmFamily("moe", Op.MOE)}
    monkeypatch.setattr(registry, "FAMILIES", both)
    assert [family.name for family in families_of(["moe"])] == ["moe"]
    assert [family.name for family in families_of([])] == ["gemm", "moe"]


@pytest.mark.parametrize(
    ("op", "alias", "canonical"),
    [
        ("gemm", "a8w8_blockscale", "gemm_fp8_bf16_rcr_blockscale"),
        ("stream_k", "a8w8_blockscale", "gemm_fp8_bf16_rcr_blockscale"),
        ("grouped_gemm", "a8w8_blockscale", "grouped_gemm_fp8_bf16_rcr_blockscale"),
        ("grouped_gemm", "grouped:a8w8_blockscale", "grouped_gemm_fp8_bf16_rcr_blockscale"),
        ("moe", "a8w8_blockscale:gated:silu", "moe_fp8_bf16_rcr_blockscale_layer_gated_epi_silu"),
        ("moe", "moe:bf16:down", "moe_bf16_rcr_down"),
        ("fmha", "bf16_masked_lse", "fmha_bf16_masked_lse"),
        ("fmha", "fmha:fp8_bf16_pertensor", "fmha_fp8_bf16_pertensor"),
    ],
)
def test_every_family_parses_its_own_aliases(op: str, alias: str, canonical: str) -> None:
    assert FAMILIES[op].parse_signature(alias, None).canonical() == canonical
    assert FAMILIES[op].parse_signature(canonical, None).canonical() == canonical


def test_only_gemm_and_moe_have_tables_and_every_family_shows_aliases_that_it_parses() -> None:
    assert {op: bool(family.modules) for op, family in FAMILIES.items()} == {
        "gemm": True, "stream_k": False, "grouped_gemm": False, "moe": False, "fmha": False,
    }  # fmt: skip
    assert FAMILIES["fmha"].aliases == ("bf16", "fp16", "fp32", "fp8_bf16")
    assert FAMILIES["gemm"].aliases[:2] == ("a8w8", "a8w8_bpreshuffle")
    for alias in FAMILIES["fmha"].aliases[:3]:
        assert FAMILIES["fmha"].parse_signature(alias, None).canonical() == f"fmha_{alias}"


@pytest.mark.parametrize("op", ["gemm", "stream_k"])
@pytest.mark.parametrize("text", ["grouped:bf16", "moe_bf16_rcr_down"])
def test_a_family_takes_no_signature_of_another(op: str, text: str) -> None:
    with pytest.raises(UsageError, match="is a signature of op"):
        FAMILIES[op].parse_signature(text, None)


def test_importing_the_families_is_light_and_one_brings_no_other() -> None:
    heavy = "import sys, ckgen.families.gemm.kernel_set, ckgen.families.gemm.constraints;"
    asked = "from ckgen.families.registry import FAMILIES, family_of_name; family_of_name('fmha_bf16');"
    loaded = "[name for name in FAMILIES if f'ckgen.families.{name}.family' in sys.modules]"
    code = f"{heavy}{asked} print(sorted({{'numpy', 'yaml', 'jinja2', 'click'}} & sys.modules.keys()), {loaded})"
    environment = os.environ | {"PYTHONPATH": str(paths.package_dir().parent)}
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert found.stdout.strip() == "[] ['fmha']"


def test_what_is_no_name_has_no_family() -> None:
    assert "attention" not in FAMILIES and FAMILIES.get("") is None
    assert len(FAMILIES) == len(list(FAMILIES)) == len({family.name for family in FAMILIES.values()})


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("gemm_bf16_rcr", "gemm"),
        ("grouped_gemm_bf16_rcr", "grouped_gemm"),
        ("moe_bf16_rcr_layer_epi_silu", "moe"),
        ("fmha_bf16_masked", "fmha"),
        ("fmha", "fmha"),
        ("fmhax_bf16", "gemm"),
        ("nothing", "gemm"),
    ],
)
def test_a_canonical_name_tells_its_family_by_whole_words(name: str, family: str) -> None:
    assert family_of_name(name).name == family
