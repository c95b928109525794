"""Tables of attention: their kind, their cells, and what is wrong with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckgen.families.tables import table_dialects
from ckgen.model.diagnostic import Location
from ckgen.model.fate import FateKind
from ckgen.model.fmha_shape import FmhaCorner, FmhaShape
from ckgen.model.target import Target
from ckgen.model.tuned_row import TunedRow
from ckgen.tables import LoadedTables, LoadOptions, load_tables
from table_support import MODULES, kind_of

HEADER = "gfx,cu_num,batch,heads_q,heads_k,seqlen_q,seqlen_k,hdim_q,hdim_v,mask,page_size,splitK,us,kernelName"
DECODE = "gfx942,304,8,32,8,1,4096,128,128,none,16,7,21.5,some_kernel"


def load(folder: Path, *lines: str, header: str = HEADER, ops: tuple[str, ...] = ("fmha",)) -> LoadedTables:
    (folder / "attention.csv").write_text("\n".join((header, *lines, "")))
    options = LoadOptions(frozenset(ops), None, MODULES, lambda _: frozenset(), {304: "gfx942"}.get, table_dialects())
    return load_tables((folder / "attention.csv",), options)


def test_the_header_tells_the_kind() -> None:
    assert kind_of(HEADER) == "fmha_tuned"
    assert kind_of("heads_q,seqlen_k,us") is None


def test_a_row_is_read_whole(tmp_path: Path) -> None:
    loaded = load(tmp_path, DECODE, "gfx942,304,1,8,8,512,512,64,64,t:-1:0:4,,,,other")
    assert not loaded.diagnostics and loaded.row_count == 2 and not list(loaded.of(TunedRow))
    first, second = loaded.rows
    sizes = {"batch": 8, "heads_q": 32, "heads_k": 8, "seqlen_q": 1, "seqlen_k": 4096, "hdim_q": 128, "hdim_v": 128}
    assert first.shape == FmhaShape(**sizes, page_size=16)
    assert (first.target, first.masked, first.answer, first.us) == (
        Target("gfx942", 304),
        False,
        ("some_kernel", 7),
        21.5,
    )
    assert loaded.place(first) == Location(str(tmp_path / "attention.csv"), 2)
    assert (second.masked, second.shape.corner, second.shape.sink_tokens) == (True, FmhaCorner.TOP_LEFT, 4)
    assert (second.shape.page_size, second.answer, second.us) == (0, ("other", None), None)


def test_columns_that_a_table_need_not_have(tmp_path: Path) -> None:
    header = ",".join(name for name in HEADER.split(",") if name not in ("mask", "page_size", "splitK"))
    (row,) = load(tmp_path, "gfx942,304,8,32,8,1,4096,128,128,2,k", header=header).rows
    assert (row.masked, row.shape.page_size, row.k_batch) == (False, 0, None)


def test_a_column_that_it_must_have(tmp_path: Path) -> None:
    loaded = load(tmp_path, DECODE.replace(",128,128", ",128"), header=HEADER.replace("hdim_v,", ""))
    assert [(one.code, one.message) for one in loaded.diagnostics] == [("T004", "column hdim_v is missing")]
    assert [file.counted for file in loaded.files] == [FateKind.INVALID]


@pytest.mark.parametrize(
    ("was", "cell", "code", "says"),
    [
        ("none", "causal", "T006", "mask 'causal' is not a mask"),
        ("none", "b:-2:0", "T006", "mask 'b:-2:0' is not a mask"),
        ("none", "b:1", "T006", "mask 'b:1' is not a mask"),
        (",32,", ",0,", "T005", "heads_q '0' is not an integer greater than 0"),
        (",7,", ",0,", "T008", "splitK '0' is not a number of splits"),
        (",7,", ",65536,", "T008", "splitK '65536' is not a number of splits"),
        ("21.5", "fast", "T008", "us 'fast' is not a number"),
        ("some_kernel", "", "T004", "kernelName is missing"),
        ("gfx942", "mi300", "T006", "gfx 'mi300' is not an arch name"),
    ],
)
def test_bad_cells_are_located(tmp_path: Path, was: str, cell: str, code: str, says: str) -> None:
    loaded = load(tmp_path, DECODE, DECODE.replace(was, cell, 1))
    assert [(one.code, one.message) for one in loaded.diagnostics] == [(code, says)]
    (problem,) = loaded.diagnostics
    assert problem.location == Location(str(tmp_path / "attention.csv"), 3)
    (file,) = loaded.files
    assert len(file.rows) == 1 and [(fate.kind, fate.reason) for fate in file.fates] == [(FateKind.INVALID, code)]


def test_other_ops_count_its_rows(tmp_path: Path) -> None:
    (file,) = load(tmp_path, DECODE, ops=("gemm",)).files
    assert (file.counted, file.row_count, file.rows) == (FateKind.OTHER_OP, 1, ())
