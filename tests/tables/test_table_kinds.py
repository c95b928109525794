"""What kind of table a file is, which module it belongs to, and what becomes of whole files."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from ckgen.model.fate import FateKind
from ckgen.tables import load_tables
from table_support import AITER, BLOCKSCALE_HEADER, kind_of, load, one, options, row, table, write

BATCHED_HEADER = "gfx,cu_num,B,M,N,K,kernelId,splitK,us,kernelName,errRatio"


@pytest.mark.parametrize(
    ("header", "kind"),
    [
        ("M,N,K", "gemm_shapes"),
        ("K,N,M,bias", "gemm_shapes"),
        ("M,N,K,us", "gemm_tuned"),
        ("M,N,K,kernelName", "gemm_tuned"),
        ("token,topk", "moe_shapes"),
        ("token,topk,M,N,K,us", "moe_tuned"),
        ("token,topk,kernelName1,kernelName2", "moe_tuned"),
        ("token,M,N,K", "gemm_shapes"),
        ("dtype,K,V,BT,H,N,us", None),
        ("m,n,k,us", "gemm_tuned"),
        ("m,n,k", "gemm_shapes"),
        ("m,N,k,us", None),
    ],
)
def test_the_header_decides_the_kind(header: str, kind: str | None) -> None:
    assert kind_of(header) == kind


@pytest.mark.parametrize(
    ("name", "header", "module"),
    [
        ("a8w8_tuned_gemm.csv", BLOCKSCALE_HEADER, "a8w8"),
        ("a8w8_blockscale_tuned_gemm_x.csv", BLOCKSCALE_HEADER, "a8w8_blockscale"),
        ("glm5_a8w8_blockscale_bpreshuffle_tuned.csv", BLOCKSCALE_HEADER, "a8w8_blockscale_bpreshuffle"),
        ("a8w8_tuned_batched_gemm.csv", BATCHED_HEADER, "batched_a8w8"),
        ("batched_a8w8.csv", BATCHED_HEADER, "batched_a8w8"),
        ("bf16_tuned_batched_gemm.csv", BATCHED_HEADER, "batched_bf16"),
        ("dsv4_batched_gemm_a8w8_blockscale_mxscale_tuned.csv", BATCHED_HEADER, "batched_a8w8_blockscale_mxscale"),
        ("deepgemm_tuned_gemm.csv", BLOCKSCALE_HEADER, "deepgemm"),
        ("bf16/a4w4_blockscale.csv", BLOCKSCALE_HEADER, "a4w4_blockscale"),
    ],
)
def test_the_longest_module_name_in_the_base_name_is_the_module(
    tmp_path: Path, name: str, header: str, module: str
) -> None:
    (file,) = load(tmp_path, {name: one(header)}).files
    assert file.module == module


def test_sizes_may_stand_in_small_letters_and_an_arch_without_its_count(tmp_path: Path) -> None:
    """As in tables of batched products with scales that are powers of two."""
    lines = "gfx,b,m,n,k,libtype,us\ngfx950,2,1,1024,4096,opus,7.8\ngfx99f,2,1,1024,4096,opus,7.8\n"
    loaded = load(tmp_path, {"batched_gemm_a8w8_blockscale_mxscale_tuned.csv": lines})
    assert loaded.diagnostics == ()
    assert [(str(found.shape), str(found.target), found.cu_num) for found in loaded.rows] == [
        ("B=2 M=1 N=1024 K=4096", "gfx950:256", 0), ("B=2 M=1 N=1024 K=4096", "None", 0),
    ]  # fmt: skip


def test_the_module_asked_for_comes_first(tmp_path: Path) -> None:
    (file,) = load(tmp_path, {"bf16_tuned.csv": one()}, options(module="a8w8_blockscale")).files
    assert file.module == "a8w8_blockscale"
    (file,) = load(tmp_path, {"bf16_tuned.csv": one(BATCHED_HEADER)}, options(module="a8w8")).files
    assert file.module == "batched_a8w8"


def test_a_module_that_contradicts_the_batch_column_is_refused(tmp_path: Path) -> None:
    loaded = load(tmp_path, {"x.csv": one()}, options(module="batched_bf16"))
    assert [problem.message for problem in loaded.diagnostics] == [
        "module 'batched_bf16' does not fit: the table has no batch column B"
    ]


def test_kernel_names_tell_the_module_if_all_that_parse_fit_just_one(tmp_path: Path) -> None:
    fits = {
        "both": {"a8w8_blockscale", "a8w8_blockscale_bpreshuffle"},
        "mine": {"a8w8_blockscale"},
        "batched": {"batched_bf16"},
    }
    names = table(row(kernelName=" both "), row(kernelName="mine"), row(kernelName="_ZN5aiter"))
    (file,) = load(tmp_path, {"x.csv": names}, options(fits=fits)).files
    assert file.module == "a8w8_blockscale"
    for ambiguous in (one(kernelName="both"), one(kernelName="_ZN5aiter"), table(), one(kernelName="batched")):
        loaded = load(tmp_path, {"x.csv": ambiguous}, options(fits=fits))
        assert [problem.code for problem in loaded.diagnostics] == ["T010"]


def test_two_equally_long_names_ask(tmp_path: Path) -> None:
    loaded = load(tmp_path, {"a8w8_or_bf16.csv": one()})
    assert [problem.code for problem in loaded.diagnostics] == ["T010"]


def test_each_argument_is_a_layer_sorted_by_relative_path(tmp_path: Path) -> None:
    write(tmp_path, {f"base/{name}_a8w8.csv": one() for name in ("b", "a/z", "a", "B")} | {"base/a8w8.txt": "x"})
    write(tmp_path, {"mine/bf16_tuned.csv": one()})
    loaded = load_tables([tmp_path / "base", tmp_path / "mine" / "bf16_tuned.csv"], options())
    assert [(file.layer, file.path) for file in loaded.files] == [
        (0, "B_a8w8.csv"), (0, "a/z_a8w8.csv"), (0, "a_a8w8.csv"), (0, "b_a8w8.csv"), (1, "bf16_tuned.csv"),
    ]  # fmt: skip
    assert [str(found.location) for found in loaded.rows][1] == "a/z_a8w8.csv:2"
    assert loaded.files[1].display == f"{tmp_path.as_posix()}/base/a/z_a8w8.csv"
    assert loaded.files[4].display == f"{tmp_path.as_posix()}/mine/bf16_tuned.csv"


def test_files_are_read_in_the_same_order_however_the_file_system_lists_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, {f"{number}/a8w8.csv": one(M=str(number), us="x" if number % 2 else "1") for number in range(1, 9)})
    forward = load_tables([tmp_path], options())
    listed = list(tmp_path.rglob("*.csv"))
    monkeypatch.setattr(Path, "rglob", lambda self, pattern: reversed(listed))
    assert load_tables([tmp_path], options()) == forward


def test_the_real_tables_load_whole() -> None:
    loaded = load_tables([AITER], options(gfx={304: "gfx942", 80: "gfx942"}))
    assert loaded.diagnostics == ()
    assert (len(loaded.files), loaded.row_count) == (102, 53_691)
    assert Counter(file.kind for file in loaded.files) == {
        "gemm_tuned": 31, "gemm_shapes": 25, "moe_tuned": 20, "moe_shapes": 20,
        "unknown": 6,
    }  # fmt: skip
    counted: Counter[FateKind | None] = Counter()
    modules: Counter[str | None] = Counter()
    for file in loaded.files:
        counted[file.counted] += file.row_count
        modules[file.module] += len(file.rows)
    assert counted == {
        FateKind.SHAPE_LIST: 5_912, FateKind.UNKNOWN_TABLE: 384, FateKind.OTHER_OP: 1_900, None: 45_495,
    }  # fmt: skip
    assert modules == {
        None: 0, "a8w8_blockscale": 37_416, "a8w8_bpreshuffle": 2_546, "a8w8_blockscale_bpreshuffle": 2_353,
        "a4w4_blockscale": 1_500, "bf16": 1_015, "a8w8": 613, "batched_a8w8": 26, "batched_bf16": 26,
    }  # fmt: skip
    assert Counter(str(found.target) for found in loaded.rows) == {
        "gfx942:304": 21_987, "gfx950:256": 20_751, "gfx942:80": 2_441, "gfx1250:256": 162, "gfx1250:96": 120,
        "None": 34,
    }  # fmt: skip
    assert {found.location.file for found in loaded.rows if found.target is None} == {"asm_a8w8_gemm.csv"}


def test_the_real_tables_keep_their_lines() -> None:
    loaded = load_tables([AITER], options())
    for file in loaded.files:
        lines = file.source.read_text(encoding="utf-8").split("\n")
        for found in file.rows:
            assert found.kernel in lines[found.location.line - 1]
            assert f",{found.shape.m},".replace(" ", "") in f",{lines[found.location.line - 1]}".replace(" ", "")
