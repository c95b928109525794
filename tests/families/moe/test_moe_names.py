"""Names of classic CK's MoE kernels: all of the shipped tables, and any that a form allows, read and written back."""

from __future__ import annotations

import csv
from dataclasses import fields, replace
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckgen import paths
from ckgen.families.gemm.enums import EpilogueOp, MoePart, Quant
from ckgen.families.moe.ck_config import CkMoeConfig, CkMoeKernel, CkMoeOp, NamedQuant, NamedType
from ckgen.families.moe.grammar import forms, hints, kernel_name, parse_name
from ckgen.model.config import Tile
from ckgen.model.dtype import DType

GATE_UP = (
    "moe_ck2stages_gemm1_256x32x64x128_1x4_TypeCastExpertWeight_v1_Nswizzle0_Quant0_MulRoutedWeight1_gelu_B16_B16_B16"
)
DOWN_FP4 = (
    "moe_ck2stages_gemm2_64x32x32x128_1x1_MulABScaleExpertWeightShuffled_v3_Nswizzle0_Quant3_MulRoutedWeight1"
    "_FP4X2_FP4X2_B16"
)


@cache
def names_of_tables() -> frozenset[str]:
    """Every ck name of the shipped MoE tables."""
    found = set()
    for path in (paths.tuning_dir() / "aiter").rglob("*moe*.csv"):
        with path.open(encoding="utf-8-sig", newline="") as lines:
            for raw in csv.DictReader(lines):
                found |= {(raw.get(column) or "").strip() for column in ("kernelName1", "kernelName2")}
    return frozenset(name for name in found if name.startswith("moe_"))


def test_every_name_of_the_tables_is_read_and_written_back() -> None:
    assert len(names_of_tables()) == 78
    for name in names_of_tables():
        kernel = parse_name(name)
        assert kernel is not None, name
        assert kernel_name(kernel) == name


def test_a_name_says_how_and_what() -> None:
    assert parse_name(GATE_UP) == CkMoeKernel(
        MoePart.GATE_UP, 256, Tile(32, 64, 128), (1, 4), CkMoeOp.CAST_WEIGHT, 1, False, NamedQuant.NONE, True,
        EpilogueOp.GELU, NamedType.BF16, NamedType.BF16, NamedType.BF16,
    )  # fmt: skip
    kernel = parse_name(DOWN_FP4)
    assert kernel is not None
    assert (kernel.part, kernel.activation, kernel.quant.quant) == (MoePart.DOWN, None, Quant.MX)
    assert (kernel.a.dtype, kernel.b.dtype, kernel.c.dtype) == (DType.FP4, DType.FP4, DType.BF16)
    assert kernel.config.macro_tile == Tile(32, 32, 256)
    assert (kernel.config.k_grain, kernel.config.waves) == (256, (1, 1, 1))


@given(st.data())
def test_what_a_form_reads_it_writes_back(data: st.DataObject) -> None:
    form = data.draw(st.sampled_from(forms()))
    name = data.draw(st.from_regex(form.regex, fullmatch=True))
    kernel = parse_name(name)
    assert kernel is not None
    assert kernel_name(kernel) == name


SIZES = st.integers(1, 999_999_999)
CONFIGS = st.builds(
    CkMoeConfig, SIZES, st.builds(Tile, SIZES, SIZES, SIZES), st.tuples(SIZES, SIZES), st.sampled_from(CkMoeOp),
    st.integers(1, 3), st.booleans(), st.integers(1, 4),
)  # fmt: skip


@given(CONFIGS, CONFIGS)
def test_configs_of_one_text_are_equal(first: CkMoeConfig, second: CkMoeConfig) -> None:
    assert (first == second) == (first.text() == second.text())


@given(CONFIGS, st.data())
def test_every_field_is_in_the_text(config: CkMoeConfig, data: st.DataObject) -> None:
    field = data.draw(st.sampled_from(fields(CkMoeConfig)))
    other = replace(config, **{field.name: getattr(data.draw(CONFIGS), field.name)})
    assert (config == other) == (config.text() == other.text())


@pytest.mark.parametrize(
    "bad",
    [
        "", f"{GATE_UP}x", f" {GATE_UP}", GATE_UP.replace("gemm1", "gemm3"), GATE_UP.replace("_gelu", ""),
        GATE_UP.replace("gelu", "relu"), GATE_UP.replace("TypeCast", "Cast"), GATE_UP.replace("_v1", "_v4"),
        GATE_UP.replace("Quant0", "Quant6"), GATE_UP.replace("256x", "0256x"), GATE_UP.replace("_B16", "_B17"),
        DOWN_FP4.replace("gemm2", "gemm1"), GATE_UP.replace("gemm1", "gemm2"),
    ],
)  # fmt: skip
def test_a_name_of_another_form_is_not_read(bad: str) -> None:
    assert parse_name(bad) is None


def test_the_forms_are_told_to_people() -> None:
    assert hints(full=False) == (
        "moe_ck2stages_gemm1_<block>x<M>x<N>x<K>_…",
        "moe_ck2stages_gemm2_<block>x<M>x<N>x<K>_…",
    )
    assert "_<waves_m>x<waves_n>_" in hints(full=True)[0]
