"""What cells of each operation's tables may hold, and what is said of one that holds something else."""

from __future__ import annotations

from typing import Any

import pytest

from ckgen.families.fmha import dialect as fmha_dialect
from ckgen.families.gemm import decode_dialect
from ckgen.families.gemm.columns import k_batch, library
from ckgen.families.moe import columns as moe_dialect
from ckgen.families.tables import table_dialects
from ckgen.model.fmha_shape import FmhaCorner
from ckgen.model.module import SplitK
from ckgen.tables.cell_readers import CellError, Reader

NUMBER = ("T008", "is not a number", "expected a decimal number, inf or nan")
DECODE = ("T005", "is not a count", "expected an integer from 0 to 2147483647")
EXPERTS = ("T005", "is not a number of experts", "expected a decimal integer from 1 to 65535")
PADS = ("T008", "is not a count", "expected a decimal integer of at least 0")
SHARE = ("T008", "is not a share", "expected a decimal number, or per cent such as 0.8%")
MASK = ("T006", "is not a mask", "expected none, or LEFT:RIGHT[:SINK] behind b: or t:, as in b:-1:0")
SPLITS = ("T008", "is not a number of splits", "expected a decimal integer from 1 to 65535")
LITERAL = ("T008", "is not a count of K splits", "expected an integer from 0 to 2147483647")
LOG2 = ("T008", "is not log2 of the K batch", "expected an integer from 0 to 30")


def literal(text: str) -> Any:
    return k_batch(SplitK.LITERAL, text)


def log2(text: str) -> Any:
    return k_batch(SplitK.LOG2, text)


def ignored(text: str) -> Any:
    return k_batch(SplitK.IGNORED, text)


@pytest.mark.parametrize(
    ("reader", "good"),
    [
        (decode_dialect.count, {"0": 0, "1": 1, "2147483647": 2**31 - 1}),
        (moe_dialect.routed, {"1": 1, "65535": 65535}),
        (moe_dialect.top_k, {"-1": None, "1": 1, "65535": 65535}),
        (moe_dialect.count, {"0": 0, "999999999": 999999999}),
        (moe_dialect.share, {"0.5": 0.5, "0.5%": 0.005, "100%": 1.0}),
        (moe_dialect.kernel, {"": "", "Null": "", "null": "null", "k": "k"}),
        (fmha_dialect.splits, {"1": 1, "65535": 65535}),
        (literal, {"": None, "0": None, "1": 1, "3": 3, "4.0": 4, "2147483647": 2**31 - 1}),
        (log2, {"": 1, "0": 1, "3": 8, "30": 2**30}),
        (ignored, {"": 1, "7": 1, "nan": 1}),
    ],
)
def test_what_is_read(reader: Reader, good: dict[str, object]) -> None:
    assert {text: reader(text) for text in good} == good


@pytest.mark.parametrize(
    ("reader", "problem", "bad"),
    [
        (decode_dialect.count, DECODE, ["-1", "x", "2147483648", "1.0"]),
        (moe_dialect.routed, EXPERTS, ["0", "65536", "x", "-1"]),
        (moe_dialect.top_k, EXPERTS, ["0", "65536", "x", "-2"]),
        (moe_dialect.count, PADS, ["-1", "x", "1.0", "1000000000"]),
        (moe_dialect.share, SHARE, ["x", "%", "0.5%%"]),
        (fmha_dialect.mask, MASK, ["", "b", "b:1", "x:1:1", "b:-2:0", "b:1:1:-1", "b:1:1:1:1", "b:1234567890:0"]),
        (fmha_dialect.splits, SPLITS, ["0", "65536", "x"]),
        (literal, LITERAL, ["-1", "1.5", "2147483648", "inf", "nan"]),
        (log2, LOG2, ["-1", "1.5", "31", "inf", "nan"]),
        (literal, NUMBER, ["x"]),
        (ignored, NUMBER, ["x"]),
    ],
)
def test_what_is_refused(reader: Reader, problem: tuple[str, str, str], bad: list[str]) -> None:
    assert {text: reader(text) for text in bad} == dict.fromkeys(bad, CellError(*problem))


@pytest.mark.parametrize(
    ("text", "mask"),
    [
        ("none", fmha_dialect.Mask(True)),
        ("b:-1:0", fmha_dialect.Mask(False, FmhaCorner.BOTTOM_RIGHT, -1, 0, 0)),
        ("t:127:-1", fmha_dialect.Mask(False, FmhaCorner.TOP_LEFT, 127, -1, 0)),
        ("b:123456789:5:4", fmha_dialect.Mask(False, FmhaCorner.BOTTOM_RIGHT, 123456789, 5, 4)),
    ],
)
def test_a_mask(text: str, mask: fmha_dialect.Mask) -> None:
    assert fmha_dialect.mask(text) == mask


def test_a_library_is_a_word_and_no_other_spelling_of_one_that_is_built() -> None:
    read = library(("ck", "cktile"))
    assert [read(text) for text in ("ck", "cktile", "asm", "hipblaslt.v2+x", "7a")] == [
        "ck", "cktile", "asm", "hipblaslt.v2+x", "7a",
    ]  # fmt: skip
    found = [read(text) for text in ("CK", "ck_tile", "c k", "-x", ".x")]
    assert all(isinstance(one, CellError) and one.code == "T006" for one in found)


def test_a_library_that_is_refused_is_told_what_is_wanted() -> None:
    read = library(("ck", "cktile"))
    assert read("CK-Tile") == CellError("T006", "is not a known value", "expected the spelling 'cktile'")
    named = "expected a library name such as ck, cktile, asm or flydsl"
    assert read("-x") == CellError("T006", "is not a known value", named)


def test_every_kind_of_table_is_known_once_and_told_by_its_header_alone() -> None:
    dialects = table_dialects()
    assert [f"{one.kind} of {one.op}" for one in dialects] == [
        "gemm_tuned of gemm", "gemm_shapes of gemm", "decode_tuned of gemm",
        "moe_tuned of moe", "moe_shapes of moe", "decode_experts of moe", "fmha_tuned of fmha",
        "tuned of ",
    ]  # fmt: skip
    assert [one.kind for one in dialects if one.reader is None] == ["gemm_shapes", "moe_shapes"]
    assert [one.kind for one in dialects if one.implied_gfx] == ["gemm_tuned", "moe_tuned"]
