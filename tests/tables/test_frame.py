"""Tables as a DataFrame: one row per row, what it says and what became of it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import ckgen.tables
from ckgen import paths
from ckgen.model.errors import InputError, UsageError
from ckgen.model.fate import FateKind
from plan_support import LARGE, SMALL_M, row, write_table

ROOMS = paths.package_dir()
ATTENTION = Path(__file__).parent.parent / "docs" / "attention.csv"
LIGHT = (
    ["tables", "stats"],
    ["--version"],
    ["generate", "--targets", "gfx942:304", "--signatures", "*_blockscale", "--name", "k", "--out", "out"],
    ["lookup", "gemm", "--signature", "a8w8_blockscale", "--target", "gfx942:304", "--shape", "16,512,1024"],
)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    lines = [row(16, SMALL_M), row(32, "nonsense"), "", row(64, libtype="hipblaslt"), row(128, us="inf"), "a,b,"]
    return write_table(tmp_path / "t" / "a8w8_blockscale_tuned_gemm.csv", lines)


def test_a_row_has_its_words_sizes_measurement_and_fate(table: Path) -> None:
    frame = ckgen.tables.frame(table)
    assert frame.loc[0].dropna().to_dict() == {
        "file": str(table), "line": 2, "op": "gemm", "module": "a8w8_blockscale", "gfx": "gfx942", "cu_num": 304,
        "m": 16, "n": 512, "k": 1024, "library": "ck", "kernel": SMALL_M, "k_batch": 1, "us": 10.0, "error_ratio": 0.0,
        "fate": "selected",
    }  # fmt: skip


def test_every_row_is_there_with_its_line_and_its_fate(table: Path) -> None:
    frame = ckgen.tables.frame(str(table.parent))
    assert list(zip(frame.line, frame.fate, frame.reason.fillna(""), strict=True)) == [
        (2, "selected", ""),
        (3, "invalid", "T012"),
        (5, "external", "hipblaslt"),
        (6, "refused_measurement", "us = inf"),
        (7, "invalid", "T006"),
    ]
    assert frame.m.tolist()[:4] == [16, 32, 64, 128] and frame.loc[4, ["op", "m", "us"]].isna().all()


def test_rows_of_files_that_are_only_counted_have_a_line_each(tmp_path: Path) -> None:
    write_table(tmp_path / "a_untuned.csv", ["16,512,1024", "", "32,512,1024"], "M,N,K")
    write_table(tmp_path / "b_nameless.csv", ["16,512,1024,name,1"], "M,N,K,kernelName,us")
    frame = ckgen.tables.frame([tmp_path])
    ends = [(Path(file).name, line, fate) for file, line, fate in zip(frame.file, frame.line, frame.fate, strict=True)]
    assert ends[:2] == [("a_untuned.csv", 2, "shape_list"), ("a_untuned.csv", 4, "shape_list")]
    assert ends[2:] == [("b_nameless.csv", 2, "invalid")] and frame.reason[2] == "T010"


def test_kinds_of_columns_are_those_that_analysis_wants(table: Path) -> None:
    types = ckgen.tables.frame([table, ATTENTION]).dtypes.astype(str).to_dict()
    words = {"file", "op", "module", "gfx", "library", "kernel", "corner", "fate"}
    assert {name for name, dtype in types.items() if dtype == "category"} == words
    assert {types[name] for name in ("cu_num", "batch", "m", "n", "k", "heads_q", "seqlen_k", "k_batch")} == {"Int64"}
    assert {types[name] for name in ("us", "error_ratio")} == {"float64"} and types["line"] == "int64"
    assert types["reason"] == "string" and types["split_merged"] == "boolean"


def test_fates_are_categories_in_the_order_of_their_kind(table: Path) -> None:
    assert list(ckgen.tables.frame(table).fate.cat.categories) == [kind.value for kind in FateKind]


def test_tables_of_several_operations_and_layers_keep_their_own_fates(tmp_path: Path) -> None:
    """Of one name and line in both layers, the first of attention, the second of GEMM, and the reverse."""
    attention = ATTENTION.read_text().splitlines()
    name = "a8w8_blockscale_tuned_gemm.csv"
    first = write_table(tmp_path / "1" / name, [attention[1]], attention[0])
    second = write_table(tmp_path / "2" / name, [row(16, libtype="hipblaslt")])
    for order in ([first, second], [second, first]):
        frame = ckgen.tables.frame(order)
        assert frame.file.tolist() == [str(path) for path in order]
        assert dict(zip(frame.op, frame.fate, strict=True)) == {"fmha": "selected", "gemm": "external"}


def test_a_later_table_overrides_an_earlier_one(tmp_path: Path) -> None:
    older = write_table(tmp_path / "1" / "a8w8_blockscale.csv", [row(16, SMALL_M)])
    newer = write_table(tmp_path / "2" / "a8w8_blockscale.csv", [row(16, LARGE)])
    frame = ckgen.tables.frame([older, newer])
    assert frame.fate.tolist() == ["overridden", "selected"]
    assert frame.reason[0] == f"{newer}:2"


def test_what_is_no_table_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file"):
        ckgen.tables.frame(tmp_path / "absent.csv")
    (tmp_path / "a8w8_blockscale.csv").write_bytes(b"")
    with pytest.raises(InputError) as caught:
        ckgen.tables.frame(tmp_path)
    assert [one.code for one in caught.value.diagnostics] == ["T002"]


@pytest.mark.parametrize("arguments", LIGHT, ids=lambda arguments: arguments[0])
def test_no_command_that_only_reads_tables_imports_pandas(arguments: list[str], table: Path, tmp_path: Path) -> None:
    table.write_text("\n".join(table.read_text().splitlines()[:2]) + "\n")
    given = {"--version": [], "tables": [str(table)]}
    tuning = given.get(arguments[0], ["--tuning", str(table)])
    code = (
        f"import sys\nfrom ckgen.cli import cli\ncli.main({[*arguments, *tuning]!r}, standalone_mode=False)\n"
        "print('pandas' in sys.modules)"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOMS.parent)}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env, cwd=tmp_path
    )
    assert done.stdout.splitlines()[-1] == "False" and len(done.stdout.splitlines()) > 1


def test_the_function_for_users_is_no_way_from_a_room_up_to_the_planner() -> None:
    """Nothing of ckgen imports `ckgen.tables` itself, and no module beneath it a room above."""
    surface = ROOMS / "tables" / "__init__.py"
    above = re.compile(
        r"^\s*(?:from|import) ckgen\.(?:families|plan|emit|build|report|runtime|cli|fuzz)\b", re.MULTILINE
    )
    by_name = re.compile(
        r"^\s*(?:from ckgen\.tables import|import ckgen\.tables$|from ckgen import .*\btables\b)", re.MULTILINE
    )
    assert above.search(surface.read_text())
    for source in {*ROOMS.rglob("*.py")} - {surface}:
        text = source.read_text()
        assert by_name.search(text) is None, source
        assert source.parent != ROOMS / "tables" or above.search(text) is None, source
