"""Lists of shapes: what is written is read, and what is none is refused line by line."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckgen.model.errors import InputError
from ckgen.workload.shape_list import COLUMNS, AskedShape, read_shapes, write_shapes

HEAD = ",".join(COLUMNS)
sizes = st.integers(1, 2**40)
shapes = st.builds(AskedShape, st.from_regex(r"[a-z][a-z0-9_]{0,30}", fullmatch=True), st.integers(0, 99), sizes, sizes,
                   sizes, st.integers(0, 512), st.integers(0, 16))  # fmt: skip


@given(st.dictionaries(shapes, st.integers(1, 10**9), max_size=8))
def test_what_is_written_is_read(tmp_path_factory: pytest.TempPathFactory, counts: dict[AskedShape, int]) -> None:
    path = tmp_path_factory.mktemp("shapes") / "shapes.csv"
    write_shapes(path, counts)
    assert read_shapes(path) == Counter(counts)


def test_a_shape_that_stands_twice_counts_as_both(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    path.write_text(f"{HEAD}\ngemm_bf16_rcr,0,1,2,3,0,0,4\n\ngemm_bf16_rcr,0,1,2,3,0,0,5\n")
    assert read_shapes(path) == {AskedShape("gemm_bf16_rcr", 0, 1, 2, 3): 9}


@pytest.mark.parametrize(
    "line",
    [
        "g,0,1,2,3,0,0", ",0,1,2,3,0,0,1", "g,0,0,2,3,0,0,1", "g,0,1,2,3,0,0,0", "g,0,1,-2,3,0,0,1",
        "g,0,1,2.5,3,0,0,1",
        "g,0,1,2,³,0,0,1", f"g,0,1,{'9' * 30},3,0,0,1",
    ],
)  # fmt: skip
def test_every_line_that_is_no_shape_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "s.csv"
    path.write_text(f"{HEAD}\ng,0,1,2,3,0,0,1\n{line}\n{line}\n", encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_shapes(path)
    places = [(found.code, found.location.line) for found in caught.value.diagnostics if found.location is not None]
    assert places == [("M005", 3), ("M005", 4)]


@pytest.mark.parametrize("text", ["", "M,N,K\n1,2,3\n"])
def test_another_file_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "s.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=r"M005.*its columns are not"):
        read_shapes(path)
