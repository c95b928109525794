"""Every error of a tuning file: its code, its line, its text; all at once, nothing raised."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ckgen.model.diagnostic import Severity
from ckgen.model.errors import InputError, UsageError
from ckgen.model.fate import FateKind
from ckgen.tables import load_tables
from table_support import (
    BF16_HEADER,
    BLOCKSCALE_HEADER,
    BPRESHUFFLE_HEADER,
    MOE_HEADER,
    load,
    one,
    options,
    row,
    table,
    write,
)

NAME = "a8w8_blockscale_tuned_gemm.csv"
GOOD = row()

CASES: dict[str, tuple[str, str | bytes, list[tuple[str, int]]]] = {
    "nul_byte": (NAME, table(GOOD).encode() + b"gfx\0", [("T001", 3)]),
    "not_utf8": (NAME, table(GOOD).encode() + b"gfx942,\xff\n", [("T001", 3)]),
    "utf16": (NAME, table(GOOD).encode("utf-16"), [("T001", 1)]),
    "zero_bytes": (NAME, b"", [("T002", 0)]),
    "blank_lines_only": (NAME, b"\xef\xbb\xbf\n \n", [("T002", 0)]),
    "conflict": (
        NAME,
        table("<<<<<<< ours", GOOD, "=======", GOOD, ">>>>>>> theirs"),
        [("T003", 2), ("T003", 4), ("T003", 6)],
    ),
    "missing_m": (NAME, one(M="  "), [("T004", 2)]),
    "missing_gfx": (NAME, one(gfx=""), [("T004", 2)]),
    "missing_kernel": (NAME, one(kernelName=""), [("T004", 2)]),
    "missing_library": (NAME, one(libtype=""), [("T004", 2)]),
    "missing_dtype": ("a8w8_bpreshuffle.csv", one(BPRESHUFFLE_HEADER, q_dtype_w=""), [("T004", 2)]),
    "short_row": (NAME, table("gfx942,304,16,512"), [("T004", 2)] * 3),
    "zero_m": (NAME, one(M="0"), [("T005", 2)]),
    "negative_n": (NAME, one(N="-512"), [("T005", 2)]),
    "fraction_k": (NAME, one(K="512.0"), [("T005", 2)]),
    "underscored_k": (NAME, one(K="1_024"), [("T005", 2)]),
    "arabic_digits": (NAME, one(K="٥١٢"), [("T005", 2)]),
    "word_cu_num": (NAME, one(cu_num="all"), [("T005", 2)]),
    "beyond_any_problem": (NAME, one(M=str(2**31)), [("T005", 2)]),
    "unknown_arch": (NAME, one(gfx="MI300X"), [("T006", 2)]),
    "unknown_dtype": ("a8w8_bpreshuffle.csv", one(BPRESHUFFLE_HEADER, q_dtype_w="float9"), [("T006", 2)]),
    "unknown_bias": ("bf16_tuned_gemm.csv", one(BF16_HEADER, bias="yes"), [("T006", 2)]),
    "other_spelling_of_library": (NAME, one(libtype="ck_tile"), [("T006", 2)]),
    "us_not_a_number": (NAME, one(us="fast"), [("T008", 2)]),
    "error_ratio_not_a_number": (NAME, one(errRatio="0.8%"), [("T008", 2)]),
    "split_k_not_a_number": (NAME, one(splitK="two"), [("T008", 2)]),
    "split_k_log2_too_large": (NAME, one(splitK="31"), [("T008", 2)]),
    "split_k_log2_negative": (NAME, one(splitK="-1"), [("T008", 2)]),
    "split_k_log2_fraction": (NAME, one(splitK="1.5"), [("T008", 2)]),
    "split_k_count_nan": (NAME, one(libtype="flydsl", splitK="nan"), [("T008", 2)]),
    "module_ambiguous": ("tuned.csv", one(), [("T010", 0)]),
    "module_without_batch": ("batched_a8w8_tuned.csv", one(), [("T010", 0)]),
    "too_many_cells": (NAME, table(GOOD, f"{GOOD},", f"{GOOD},1,2,3"), [("T011", 3), ("T011", 4)]),
    "open_quote": (NAME, table(GOOD, row(kernelName='"k'), GOOD), [("T011", 3)]),
    "column_twice": (NAME, one(f"{BLOCKSCALE_HEADER},M"), [("T011", 1)]),
}


@pytest.mark.parametrize("case", CASES)
def test_each_mistake_has_its_code_line_and_text(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, golden: Callable[[str, str], None]
) -> None:
    name, content, expected = CASES[case]
    monkeypatch.chdir(tmp_path)
    loaded = load(Path("tables"), {name: content})
    assert [(d.code, d.location and d.location.line) for d in loaded.diagnostics] == expected
    assert all(d.location and d.location.file == f"tables/{name}" for d in loaded.diagnostics)
    assert all(d.detail and d.hint for d in loaded.diagnostics)
    golden(f"errors/tables/{case}.txt", "".join(f"{d.render()}\n" for d in loaded.diagnostics))


def test_all_mistakes_of_all_files_are_listed_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, golden: Callable[[str, str], None]
) -> None:
    monkeypatch.chdir(tmp_path)
    loaded = load(
        Path("tables"),
        {
            NAME: table(row(M="x", N="0"), "", GOOD, row(us="-", kernelName="")),
            "sub/empty.csv": b"",
            "sub/bf16_tuned_gemm.csv": one(BF16_HEADER, dtype="bf16", outdtype="half"),
            "a4w4_conflict.csv": "<<<<<<< HEAD\n",
        },
    )
    text = InputError(loaded.diagnostics).args[0]
    assert len(loaded.diagnostics) == 8
    golden("errors/tables/many.txt", f"{text}\n")


def test_a_merge_conflict_hides_no_other_error(tmp_path: Path) -> None:
    """What is within it contradicts itself, and that is not said; what is wrong in a cell is."""
    theirs = row(kernelName="other")
    lines = (
        GOOD,
        "<<<<<<< ours",
        GOOD,
        row(M="x"),
        "||||||| base",
        "=======",
        theirs,
        ">>>>>>> theirs",
        row(us="y"),
        GOOD,
    )
    loaded = load(tmp_path, {NAME: table(*lines)})
    assert [(d.code, d.location and d.location.line) for d in loaded.diagnostics] == [
        ("T003", 3), ("T005", 5), ("T003", 6), ("T003", 7), ("T003", 9), ("T008", 10),
    ]  # fmt: skip
    (file,) = loaded.files
    assert [found.location.line for found in file.rows] == [2, 11]
    assert [(fate.reason, fate.location.line) for fate in file.fates] == [
        ("T003", 4), ("T005", 5), ("T003", 8), ("T008", 10),
    ]  # fmt: skip
    assert file.row_count == 6


def test_conflicts_in_a_header_and_without_an_end_are_read_past(tmp_path: Path) -> None:
    loaded = load(tmp_path, {NAME: f"<<<<<<< ours\n{table(GOOD)}=======\n{GOOD}\n"})
    assert [(d.code, d.location and d.location.line) for d in loaded.diagnostics] == [("T003", 1), ("T003", 4)]
    assert [found.location.line for found in loaded.rows] == [3, 5]


def test_a_bad_row_is_invalid_once_and_its_neighbours_stay(tmp_path: Path) -> None:
    loaded = load(tmp_path, {NAME: table(GOOD, row(M="x", N="y", us="z"), GOOD, f"{GOOD},1")})
    (file,) = loaded.files
    assert [found.location.line for found in file.rows] == [2, 4]
    assert [(str(fate), fate.location.line) for fate in file.fates] == [("invalid(T005)", 3), ("invalid(T011)", 5)]
    assert file.row_count == 4


def test_a_file_that_cannot_be_read_as_a_table_is_invalid_as_a_whole(tmp_path: Path) -> None:
    (file,) = load(tmp_path, {"x.csv": b"\0"}).files
    assert file.counted is FateKind.INVALID
    (file,) = load(tmp_path, {"x.csv": table(GOOD, GOOD)}).files
    assert (file.counted, file.row_count) == (FateKind.INVALID, 2)


def test_an_unknown_table_is_an_error_only_if_the_command_line_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, golden: Callable[[str, str], None]
) -> None:
    monkeypatch.chdir(write(tmp_path, {"tables/chunk_gdn.csv": "gfx,dtype,K,V\ngfx942,a,1,2\n"}))
    directory = load_tables([Path("tables")], options())
    assert directory.diagnostics == ()
    assert directory.files[0].counted is FateKind.UNKNOWN_TABLE
    named = load_tables([Path("tables/chunk_gdn.csv")], options())
    golden("errors/tables/unknown_table.txt", "".join(f"{d.render()}\n" for d in named.diagnostics))
    assert [d.code for d in named.diagnostics] == ["T009"]


@pytest.mark.parametrize(("separator", "word"), [(";", "semicolons"), ("\t", "tabs"), ("|", "bars")])
def test_cells_that_no_comma_separates_are_warned_of_wherever_the_table_is(
    tmp_path: Path, separator: str, word: str
) -> None:
    folder = write(tmp_path, {"t/x.csv": one().replace(",", separator), "t/y.csv": "gfx,dtype,K,V\n"})
    (problem,) = load_tables([folder / "t"], options()).diagnostics
    assert (problem.code, problem.severity) == ("T009", Severity.WARNING)
    assert problem.message == f"cells are separated by {word}, so that no column is known"
    (named,) = load_tables([folder / "t" / "x.csv"], options()).diagnostics
    assert (named.code, named.severity, named.message) == ("T009", Severity.ERROR, problem.message)


def test_a_library_that_is_spelt_nearly_as_a_known_one_is_warned_of_once(tmp_path: Path) -> None:
    libraries = ("ck", "ckk", " ckk", "flydsl", "cktil", "opus", "triton", "torch", "skinny", "asmm")
    loaded = load(tmp_path, {NAME: table(*(row(libtype=library) for library in libraries))})
    assert [(d.code, d.severity, d.location and d.location.line, d.message, d.hint) for d in loaded.diagnostics] == [
        ("T017", Severity.WARNING, 3, "libtype 'ckk' is taken as it is: 2 rows", "did you mean 'ck'?"),
        ("T017", Severity.WARNING, 6, "libtype 'cktil' is taken as it is: 1 row", "did you mean 'cktile'?"),
        ("T017", Severity.WARNING, 11, "libtype 'asmm' is taken as it is: 1 row", "did you mean 'asm'?"),
    ]
    assert len(tuple(loaded.rows)) == len(libraries)


@pytest.mark.parametrize(
    ("content", "code"),
    [(b"", "T002"), (MOE_HEADER.encode() + b"\n\0", "T001"), (MOE_HEADER.encode() + b"\n<<<<<<< x\n", "T003")],
)
def test_files_of_other_ops_are_still_checked(tmp_path: Path, content: bytes, code: str) -> None:
    assert [problem.code for problem in load(tmp_path, {"x_fmoe.csv": content}).diagnostics] == [code]


def test_rows_of_other_ops_are_not_read(tmp_path: Path) -> None:
    loaded = load(tmp_path, {"fmoe.csv": f"{MOE_HEADER}\nx,y\n", NAME: one(M="x")}, options(ops="stream_k"))
    assert loaded.diagnostics == ()
    assert [(file.counted, file.row_count) for file in loaded.files] == [(FateKind.OTHER_OP, 1)] * 2


def test_paths_that_do_not_exist_are_usage_errors(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no such file or directory: .*nowhere"):
        load_tables([tmp_path / "nowhere"], options())
    with pytest.raises(UsageError, match=r"no \*\.csv beneath"):
        load_tables([tmp_path], options())


def test_an_unreadable_file_is_a_usage_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(self))

    write(tmp_path, {NAME: table()})
    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(UsageError, match=r"cannot read .*tuned_gemm\.csv: Permission denied"):
        load_tables([tmp_path], options())


def test_an_unknown_module_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="unknown module 'a9w9'; expected one of: a4w4_blockscale, a8w8, "):
        load(tmp_path, {NAME: table()}, options(module="a9w9"))
