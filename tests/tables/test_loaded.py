"""What a set of loaded tables answers, and which tables are read for which operations and modules."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckgen.families.fmha.dialect import COLUMNS as FMHA_COLUMNS
from ckgen.families.gemm.decode_dialect import COLUMNS, EXPERT_COLUMNS
from ckgen.families.moe.columns import COLUMNS as MOE_COLUMNS
from ckgen.model.diagnostic import Location
from ckgen.model.fmha_row import FmhaRow
from ckgen.model.target import Target
from ckgen.tables import load_tables
from table_support import MOE_HEADER, load, one, options, row, table, write

NAME = "a8w8_blockscale.csv"
KERNEL = "fmha_bf16_ck_tile_qr_async_pad1011_128x128x32x128x32x128_4x1x1_32x32x16"
MOE_ROW = (
    "304,16,7168,256,8,2,ActivationType.Silu,torch.bfloat16,torch.float8_e4m3fnuz,torch.float8_e4m3fnuz,"
    "QuantType.per_Token,1,0,32,0,1.5,one,0.0,2.5,two,0.0,4.0,0,1,1,"
)
FILES = {
    NAME: table(row(), row(gfx="gfx950", cu_num="256"), row(M="x")),
    "attention.csv": f"{','.join(FMHA_COLUMNS)}\ngfx1201,64,1,8,8,16,16,64,64,{KERNEL},5\n",
    "decode.csv": f"{','.join(COLUMNS)}\n7168,512,16,0,0,0\n",
    "experts.csv": f"{','.join(EXPERT_COLUMNS)}\n512,7168,1,0,0\n",
    "fmoe.csv": f"gfx,{MOE_HEADER}\ngfx942,{MOE_ROW}\n",
    "shapes.csv": "M,N,K\n1,2,3\n",
    "strange.csv": "a,b\n1,2\n",
}
READ = {
    "gemm": {NAME, "decode.csv"},
    "moe": {"fmoe.csv", "experts.csv"},
    "fmha": {"attention.csv"},
    "stream_k": set(),
    "gemm moe fmha": {NAME, "decode.csv", "fmoe.csv", "experts.csv", "attention.csv"},
}


@pytest.mark.parametrize("ops", sorted(READ))
def test_tables_are_read_for_their_own_operations(ops: str, tmp_path: Path) -> None:
    loaded = load(tmp_path, FILES, options(ops=ops))
    assert {file.path for file in loaded.files if file.counted is None} == READ[ops]
    assert {file.path: str(file.counted and file.counted.value) for file in loaded.files if file.counted} == {
        name: {"shapes.csv": "shape_list", "strange.csv": "unknown_table"}.get(name, "other_op")
        for name in FILES.keys() - READ[ops]
    }
    assert [file.path for file in loaded.files] == sorted(FILES)
    assert loaded.row_count == 9


@pytest.mark.parametrize(
    ("module", "read"),
    [("a8w8_blockscale", {NAME}), ("mxfp8", {NAME, "decode.csv", "experts.csv"}), ("fmoe", {"fmoe.csv"})],
)
def test_a_module_that_is_asked_for_leaves_out_tables_of_other_operations(
    module: str, read: set[str], tmp_path: Path
) -> None:
    loaded = load(tmp_path, FILES, options(ops="gemm moe fmha", module=module))
    assert {file.path for file in loaded.files if file.counted is None} == read


def test_rows_targets_and_places(tmp_path: Path) -> None:
    loaded = load(tmp_path, FILES, options(ops="gemm moe fmha"))
    assert loaded.targets == {Target("gfx942", 304), Target("gfx950", 256), Target("gfx1201", 64)}
    assert [found.location for found in loaded.rows] == [
        Location(NAME, 2), Location(NAME, 3), Location("attention.csv", 2), Location("decode.csv", 2),
        Location("experts.csv", 2), Location("fmoe.csv", 2),
    ]  # fmt: skip
    (attention,) = loaded.of(FmhaRow)
    assert loaded.place(attention) == Location(f"{tmp_path.as_posix()}/attention.csv", 2)
    first = next(loaded.rows)
    assert loaded.place(first) == Location(f"{tmp_path.as_posix()}/{NAME}", 2)
    assert load(tmp_path / "open", {NAME: one("cu_num,M,N,K,us,kernelName")}).targets == frozenset()


def test_the_same_file_in_two_layers_has_two_places(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        write(tmp_path, {f"{folder}/{NAME}": one()})
    loaded = load_tables([tmp_path / "one", tmp_path / "two" / NAME], options())
    assert [(file.layer, file.path, file.display, file.module) for file in loaded.files] == [
        (0, NAME, f"{tmp_path.as_posix()}/one/{NAME}", "a8w8_blockscale"),
        (1, NAME, f"{tmp_path.as_posix()}/two/{NAME}", "a8w8_blockscale"),
    ]
    assert [str(loaded.place(found)) for found in loaded.rows] == [
        f"{tmp_path.as_posix()}/{folder}/{NAME}:2" for folder in ("one", "two")
    ]


@pytest.mark.parametrize("length", [200, 201])
def test_very_many_columns_are_cut_in_the_message(length: int, tmp_path: Path) -> None:
    header = "a," + "b" * (length - 3)
    write(tmp_path, {"x.csv": f"{header}\n1,2\n"})
    (problem,) = load_tables([tmp_path / "x.csv"], options()).diagnostics
    shown = header.replace(",", ", ")
    assert problem.message == f"unknown kind of table: its columns are {shown[:200]}{'…' if length > 200 else ''}"


REQUIRED = {
    "attention.csv": FMHA_COLUMNS[:-1],
    "decode.csv": tuple(COLUMNS),
    "experts.csv": tuple(EXPERT_COLUMNS),
    "fmoe.csv": MOE_COLUMNS,
}


@pytest.mark.parametrize(("name", "column"), [(name, column) for name in REQUIRED for column in REQUIRED[name]])
def test_a_column_that_must_be_there_is_missed_and_no_cell_of_it_may_be_empty(
    name: str, column: str, tmp_path: Path
) -> None:
    header, line = (text.split(",") for text in FILES[name].splitlines())
    at = header.index(column)

    def problems(cells: list[str], names: list[str]) -> list[tuple[str, str]]:
        text = f"{','.join(names)}\n{','.join(cells)}\n"
        found = load(tmp_path, {name: text}, options(ops="gemm moe fmha")).diagnostics
        return [(problem.code, problem.message) for problem in found]

    assert problems(line, header) == []
    assert problems([*line[:at], "", *line[at + 1 :]], header) == [("T004", f"{column} is missing")]
    renamed = problems(line, [*header[:at], "other", *header[at + 1 :]])
    assert renamed == [("T004", f"column {column} is missing")] or column in ("token", "topk", *TELLING)


TELLING = ("heads_q", "seqlen_k", "kernelName", "K", "N", "M", "use_hip", "a_div")
"""Columns that tell the kind of a table: without one of them it is another."""
