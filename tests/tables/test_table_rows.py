"""What a row becomes: every column, every library's splitK, targets, and the oddities that are legal."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ckgen.model.dtype import DType
from ckgen.model.target import Target
from ckgen.model.tuned_row import Discriminators, Shape, TunedRow
from ckgen.tables import load_tables
from examples import examples
from table_support import (
    BF16_HEADER,
    BLOCKSCALE_HEADER,
    BPRESHUFFLE_HEADER,
    load,
    one,
    only_row,
    options,
    row,
    table,
    write,
)

NAME = "a8w8_blockscale_tuned.csv"


def test_every_column_arrives_typed(tmp_path: Path) -> None:
    text = one(
        BF16_HEADER, bias="True", outdtype="torch.float32", scaleAB="True", libtype="opus", splitK="3", err_ratio="nan"
    )
    found = only_row(tmp_path, "bf16_tuned.csv", text)
    assert (str(found.location), found.layer, found.module) == ("bf16_tuned.csv:2", 0, "bf16")
    assert (found.target, found.cu_num, found.shape) == (Target("gfx942", 304), 304, Shape(0, 16, 512, 7168))
    assert found.discriminators == Discriminators(None, DType.BF16, DType.FP32, True, True, False)
    assert (found.library, found.kernel, found.k_batch, found.us) == ("opus", "k", 3, 4.5)
    assert found.error_ratio is not None
    assert math.isnan(found.error_ratio)


def test_weight_dtype_and_batch_arrive_typed(tmp_path: Path) -> None:
    weight = only_row(tmp_path / "w", "a8w8_bpreshuffle.csv", one(BPRESHUFFLE_HEADER, q_dtype_w="torch.int8"))
    assert weight.discriminators == Discriminators(weight_dtype=DType.INT8)
    batched = only_row(tmp_path / "b", "a8w8_batched.csv", one("gfx,cu_num,B,M,N,K,us,kernelName", B="16"))
    assert (batched.module, batched.shape) == ("batched_a8w8", Shape(16, 16, 512, 7168))


@pytest.mark.parametrize(
    ("module", "library", "cell", "k_batch"),
    [
        ("a8w8", "ck", "2", 4),
        ("a8w8_bpreshuffle", "ck", "3", 8),
        ("a8w8_bpreshuffle", "cktile", "3", 8),
        ("a8w8_bpreshuffle", "flydsl", "3", 3),
        ("a8w8_bpreshuffle", "asm", "6", 6),
        ("a8w8_bpreshuffle", "asm", "0", None),
        ("a8w8_blockscale", "ck", "0", 1),
        ("a8w8_blockscale", "ck", "30", 1 << 30),
        ("a8w8_blockscale", "ck", " 1.0 ", 2),
        ("a8w8_blockscale", "ck", "", 1),
        ("a8w8_blockscale", "cktile", "3", 8),
        ("a8w8_blockscale", "flydsl", "2", 2),
        ("a8w8_blockscale", "flydsl", "0", None),
        ("a8w8_blockscale", "flydsl", "", None),
        ("a8w8_blockscale_bpreshuffle", "ck", "3", 1),
        ("a8w8_blockscale_bpreshuffle", "ck", "nan", 1),
        ("a8w8_blockscale_bpreshuffle", "cktile", "1", 2),
        ("a8w8_blockscale_bpreshuffle", "opus", "5", 5),
        ("a8w8_blockscale_bpreshuffle", "triton", "0", None),
        ("a4w4_blockscale", "asm", "2", 4),
        ("a4w4_blockscale", "ck", "2", 4),
        ("bf16", "asm", "13", 13),
        ("bf16", "asm", "0", None),
        ("bf16", "torch", "0", None),
        ("bf16", "skinny", "4", 4),
    ],
)
def test_split_k_means_what_the_library_means_by_it(
    tmp_path: Path, module: str, library: str, cell: str, k_batch: int | None
) -> None:
    found = only_row(tmp_path, f"{module}.csv", one(libtype=library, splitK=cell))
    assert found.k_batch == k_batch


@pytest.mark.parametrize("module", ["batched_a8w8", "batched_bf16"])
def test_batched_ck_kernels_ignore_split_k(tmp_path: Path, module: str) -> None:
    found = only_row(tmp_path, f"{module}.csv", one("gfx,cu_num,B,M,N,K,splitK,us,kernelName", splitK="4"))
    assert (found.library, found.k_batch) == ("ck", 1)


def test_without_libtype_the_name_tells_the_library(tmp_path: Path) -> None:
    header = "gfx,cu_num,M,N,K,splitK,us,kernelName"
    rows = table(
        row(header, kernelName="_ZN5aiter3f4E", splitK="2"), row(header, kernelName="a4w4_x", splitK="1"), header=header
    )
    loaded = load(tmp_path, {"a4w4_blockscale.csv": rows})
    assert [(found.library, found.k_batch) for found in loaded.rows] == [("asm", 4), ("ck", 2)]


def test_without_a_name_column_the_library_is_unknown(tmp_path: Path) -> None:
    found = only_row(tmp_path, "asm_a8w8.csv", "M,N,K,bias,outdtype,splitK,us\n1,2,3,True,torch.bfloat16,4,9.5\n")
    assert (found.library, found.kernel, found.k_batch, found.target, found.cu_num) == ("unknown", "", 4, None, 0)


def test_columns_that_a_dialect_lacks_are_none(tmp_path: Path) -> None:
    found = only_row(tmp_path, "a8w8.csv", "gfx,cu_num,M,N,K,kernelName\ngfx942,304,1,2,3,k\n")
    assert (found.us, found.error_ratio, found.k_batch, found.discriminators) == (None, None, 1, Discriminators())


def test_a_time_that_is_not_finite_or_not_there_is_kept_as_a_number(tmp_path: Path) -> None:
    loaded = load(tmp_path, {NAME: table(row(us="inf"), row(us="NaN"), row(us=""), row(us="0"), row(us="1e-3"))})
    assert loaded.diagnostics == ()
    assert [repr(found.us) for found in loaded.rows] == ["inf", "nan", "nan", "0.0", "0.001"]


class TestTargets:
    HEADER = "cu_num,M,N,K,us,kernelName"

    def test_a_missing_gfx_is_filled_from_the_one_arch_with_that_count(self, tmp_path: Path) -> None:
        text = table(row(self.HEADER, cu_num="80"), row(self.HEADER, cu_num="256"), header=self.HEADER)
        loaded = load(tmp_path, {"a8w8.csv": text}, options(gfx={80: "gfx942"}))
        assert [(found.target, found.cu_num) for found in loaded.rows] == [(Target("gfx942", 80), 80), (None, 256)]

    def test_a_gfx_that_is_there_is_never_replaced(self, tmp_path: Path) -> None:
        found = only_row(tmp_path, NAME, one(gfx="gfx1250", cu_num="256"), options(gfx={256: "gfx950"}))
        assert found.target == Target("gfx1250", 256)

    def test_without_cu_num_the_target_is_the_arch_s_usual_product(self, tmp_path: Path) -> None:
        found = only_row(tmp_path, "a8w8.csv", one("gfx,M,N,K,us,kernelName"))
        assert (str(found.target), found.cu_num) == ("gfx942:304", 0)


class TestLegalOddities:
    def test_blank_lines_count_as_lines_but_not_as_rows(self, tmp_path: Path) -> None:
        text = f"\n{BLOCKSCALE_HEADER}\n\n{row()}\n   \n\n{row()}\n\n"
        (file,) = load(tmp_path, {NAME: text}).files
        assert [found.location.line for found in file.rows] == [4, 7]
        assert file.row_count == 2

    def test_a_header_alone_is_an_empty_table(self, tmp_path: Path) -> None:
        for text in (BLOCKSCALE_HEADER, f"{BLOCKSCALE_HEADER}\r\n\r\n"):
            loaded = load(tmp_path, {NAME: text})
            assert (loaded.row_count, loaded.diagnostics) == (0, ())

    def test_padding_bom_crlf_and_a_last_line_without_newline(self, tmp_path: Path) -> None:
        header = BLOCKSCALE_HEADER.replace(",", " , ")
        text = "\ufeff" + f"{header}\r\n{row(M=' 16', N='512 ', K='  7168  ', libtype=' ck ', kernelName=' k ')}"
        found = only_row(tmp_path, NAME, text)
        assert (found.shape, found.library, found.kernel) == (Shape(0, 16, 512, 7168), "ck", "k")

    def test_trailing_optional_cells_may_be_absent(self, tmp_path: Path) -> None:
        short = row().rsplit(",", 3)[0]
        found = only_row(tmp_path, NAME, table(short))
        assert (found.kernel, found.error_ratio) == ("k", None)

    def test_quoted_cells_may_hold_commas_and_quotes(self, tmp_path: Path) -> None:
        found = only_row(tmp_path, NAME, one(libtype="triton", kernelName='"a,""b"""', M='"16"'))
        assert (found.kernel, found.shape.m) == ('a,"b"', 16)

    def test_old_line_ends_are_line_ends(self, tmp_path: Path) -> None:
        loaded = load(tmp_path, {NAME: table(row(), row()).replace("\n", "\r")})
        assert [found.location.line for found in loaded.rows] == [2, 3]

    def test_words_that_other_readers_take_for_missing_are_kept(self, tmp_path: Path) -> None:
        assert only_row(tmp_path, NAME, one(libtype="NA", kernelName="null")).kernel == "null"

    def test_kernel_ids_are_never_read(self, tmp_path: Path) -> None:
        assert only_row(tmp_path, NAME, one(kernelId="?")).kernel == "k"


sizes = st.integers(1, 2**31 - 1)
padding = st.sampled_from(["", " ", "  "])
numbers = st.floats(min_value=0, allow_nan=False)


@st.composite
def tuned_tables(draw: st.DrawFn) -> tuple[bytes, list[tuple[object, ...]]]:
    """A CSV file with every legal disturbance, and what its rows mean."""
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    lines = [BPRESHUFFLE_HEADER]
    expected: list[tuple[object, ...]] = []
    for _ in range(draw(st.integers(0, 6))):
        lines += [draw(padding) for _ in range(draw(st.integers(0, 2)))]
        m, n, k, cu = (draw(sizes) for _ in range(4))
        dtype = draw(st.sampled_from(["torch.int8", "torch.float8_e4m3fn"]))
        library, split, k_batch = draw(
            st.sampled_from([("ck", 3, 8), ("cktile", 0, 1), ("asm", 3, 3), ("asm", 0, None)])
        )
        name = draw(st.from_regex(r"[a-z0-9_<>:]{1,30}", fullmatch=True))
        us, error = draw(numbers), draw(numbers)
        cells = [f"gfx942,{cu},{m},{n},{k},{dtype},{library},x,{split},{us!r},{name}", "1.0", "2.0", f"{error!r}"]
        kept = draw(st.integers(1, 4))
        padded = (draw(padding) + cell + draw(padding) for cell in ",".join(cells[:kept]).split(","))
        lines.append(",".join(padded))
        value = error if kept == 4 else None
        expected.append((len(lines), cu, Shape(0, m, n, k), dtype, library, k_batch, us, name, value))
    text = newline.join(lines) + draw(st.sampled_from(["", newline]))
    return draw(st.sampled_from([b"", b"\xef\xbb\xbf"])) + text.encode(), expected


@given(tuned_tables())
@settings(max_examples=examples(150))
def test_rows_survive_every_legal_way_of_writing_them(drawn: tuple[bytes, list[tuple[object, ...]]]) -> None:
    data, expected = drawn
    with tempfile.TemporaryDirectory() as folder:
        loaded = load_tables([write(Path(folder), {"a8w8_bpreshuffle.csv": data})], options())
    assert loaded.diagnostics == ()
    assert [seen(found) for found in loaded.rows] == expected


def seen(found: TunedRow) -> tuple[object, ...]:
    names = {DType.INT8: "torch.int8", DType.FP8_OCP: "torch.float8_e4m3fn"}
    dtype = found.discriminators.weight_dtype
    return (
        found.location.line, found.cu_num, found.shape, dtype and names[dtype], found.library, found.k_batch, found.us,
        found.kernel, found.error_ratio,
    )  # fmt: skip
