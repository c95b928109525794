"""Words and defaults that files, documents and C++ share with the model."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError

import pytest

import ckgen.model.fmha_shape
from ckgen.model.config import Tile
from ckgen.model.diagnostic import Location
from ckgen.model.dtype import TORCH_NAMES, DType, Fp8Flavour, take_dtypes
from ckgen.model.expectation import Expectation
from ckgen.model.fate import Fate, FateKind
from ckgen.model.finding import RuleFinding
from ckgen.model.module import LibrarySplitK, Module, SplitK
from ckgen.model.op_words import OperandOp, Quant
from ckgen.model.selection import NO_WISHES, Tier, Wishes
from ckgen.model.strategy import Strategy
from surface import changeable, words_and_defaults


def test_the_words_and_defaults_are_those_of_the_files_that_hold_them(golden: Callable[[str, str], None]) -> None:
    golden("model/words.txt", words_and_defaults("ckgen.model"))


def test_values_of_the_model_cannot_be_changed() -> None:
    assert set(changeable("ckgen.model")) == {"Positions", "DocumentReader", "_Open"}  # which gather while they read
    with pytest.raises(FrozenInstanceError):
        Tile(1, 2, 3).m = 4  # type: ignore[misc]


def test_a_word_prints_as_it_is_and_is_one_object() -> None:
    assert f"{DType.FP8_FNUZ} {Tier.OTHER_CU} {Strategy.DATA_PARALLEL}" == "fp8_fnuz other_cu data_parallel"
    assert copy.deepcopy(DType.FP4) is pickle.loads(pickle.dumps(DType.FP4)) is DType.FP4
    assert {DType.FP4: 1}[DType("fp4")] == 1


def test_words_of_different_enums_are_different_whatever_their_text() -> None:
    assert Quant.NONE.value == OperandOp.NONE.value == "none"
    assert len({Quant.NONE, OperandOp.NONE}) == 2 and {Quant.NONE: 1}.get(OperandOp.NONE) is None  # type: ignore[call-overload]


def test_bits_are_what_the_name_of_a_type_says() -> None:
    for dtype in DType:
        digits = "".join(filter(str.isdigit, dtype.value.split("_")[0].removesuffix("m0")))
        assert dtype.bits == int(digits), dtype


def test_an_eight_bit_float_is_of_the_flavour_of_its_arch() -> None:
    assert {(d.value, f.value): d.resolve(f).value for d in (DType.FP8, DType.BF8) for f in Fp8Flavour} == {
        ("fp8", "fnuz"): "fp8_fnuz",
        ("fp8", "ocp"): "fp8_ocp",
        ("bf8", "fnuz"): "bf8_fnuz",
        ("bf8", "ocp"): "bf8_ocp",
    }
    assert DType.FP8.resolve(None) is DType.FP8
    assert DType.FP16.resolve(Fp8Flavour.OCP) is DType.FP16


def test_torch_spells_types_by_name() -> None:
    assert {name.removeprefix("torch."): dtype.value for name, dtype in TORCH_NAMES.items()} == {
        "float32": "fp32",
        "float16": "fp16",
        "bfloat16": "bf16",
        "int8": "int8",
        "int32": "int32",
        "float8_e4m3fnuz": "fp8_fnuz",
        "float8_e4m3fn": "fp8_ocp",
        "float8_e5m2fnuz": "bf8_fnuz",
        "float8_e5m2": "bf8_ocp",
        "float4_e2m1fn_x2": "fp4",
    }
    assert all(name.startswith("torch.") for name in TORCH_NAMES)


def test_types_are_taken_from_the_front_of_a_name_the_longest_word_first() -> None:
    taken, rest = take_dtypes(["fp8", "ocp", "fp8", "bf16", "tile", "fp32"])
    assert taken == [DType.FP8_OCP, DType.FP8, DType.BF16]
    assert rest == ["tile", "fp32"]
    assert take_dtypes(["int8"]) == ([DType.INT8], [])
    assert take_dtypes([]) == ([], [])
    assert take_dtypes(["tile", "fp8"]) == ([], ["tile", "fp8"])


def test_a_module_says_how_its_libraries_spell_splits() -> None:
    listed = (LibrarySplitK("ck", SplitK.LOG2), LibrarySplitK("asm", SplitK.IGNORED))
    module = Module("a8w8", False, ("ck",), listed)
    assert [module.split_k_of(library) for library in ("ck", "asm", "triton")] == [
        SplitK.LOG2,
        SplitK.IGNORED,
        SplitK.LITERAL,
    ]


def test_strategies_have_the_numbers_of_the_enum_in_cpp() -> None:
    assert [strategy.code for strategy in Strategy] == [0, 1, 2, 3, 4]
    assert [strategy.value for strategy in Strategy if strategy.is_stream_k] == ["atomic", "linear", "tree"]


def test_no_wishes_ask_for_nothing() -> None:
    assert Wishes(deterministic=False, strategy=Strategy.ANY) == NO_WISHES


def test_texts_that_people_read() -> None:
    assert str(Tile(256, 128, 64)) == "256x128x64"
    assert str(RuleFinding("ck.lds", "too much LDS", 70000, 65536)) == "ck.lds: too much LDS (70000, limit 65536)"
    place = Location("a.csv", 3)
    assert str(Fate(FateKind.SELECTED, place)) == "selected"
    assert str(Fate(FateKind.EXTERNAL, place, "asm")) == "external(asm)"


def test_an_expectation_names_its_matrix_instructions() -> None:
    expected = Expectation((("v_mfma_a", 4), ("v_mfma_b", 8)), 2, 65536, 0, 0, 2)
    assert expected.opcodes == ("v_mfma_a", "v_mfma_b")


def test_the_sizes_that_every_problem_of_attention_says_are_fields_of_its_shape() -> None:
    names = "batch heads_q heads_k seqlen_q seqlen_k hdim_q hdim_v"
    assert " ".join(ckgen.model.fmha_shape.SIZES) == names
