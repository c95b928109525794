"""Lists of shapes: what is written is read, and what is none is refused line by line."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckgen.model.errors import InputError
from ckgen.workload.shape_list import COLUMNS, AskedShape, read_shapes, write_shapes

HEAD = ",".join(name for name in COLUMNS if name != "sku")
OLD = "signature,B,M,N,K,experts,top_k,count"
sizes = st.integers(1, 2**40)
names = st.from_regex(r"[a-z][a-z0-9_]{0,30}", fullmatch=True)
plain = st.builds(AskedShape, names, st.integers(0, 99), sizes, sizes, sizes, st.integers(0, 512), st.integers(0, 16))
told = st.from_regex(r"[a-z0-9_=;:*x -]{1,60}", fullmatch=True).filter(lambda text: text == text.strip())
shapes = st.one_of(
    plain,
    st.builds(replace, plain, gfx=names, cu_num=st.integers(1, 512), sku=st.sampled_from(["", "h200", "mi325x"])),
    st.builds(replace, plain, sizes=told, batch=st.just(0), m=st.just(0), n=st.just(0), k=st.just(0)),
)


@given(st.dictionaries(shapes, st.integers(1, 10**9), max_size=8))
def test_what_is_written_is_read(tmp_path_factory: pytest.TempPathFactory, counts: dict[AskedShape, int]) -> None:
    path = tmp_path_factory.mktemp("shapes") / "shapes.csv"
    write_shapes(path, counts)
    assert read_shapes(path) == Counter(counts)


def test_a_shape_that_stands_twice_counts_as_both(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    path.write_text(f"{OLD}\ngemm_bf16_rcr,0,1,2,3,0,0,4\n\ngemm_bf16_rcr,0,1,2,3,0,0,5\n")
    assert read_shapes(path) == {AskedShape("gemm_bf16_rcr", 0, 1, 2, 3): 9}


def test_targets_are_kept_apart(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    path.write_text(f"{HEAD}\ngfx942,304,g,0,1,2,3,0,0,,4\ngfx942,80,g,0,1,2,3,0,0,,5\n,,g,0,1,2,3,0,0,,6\n")
    shape = AskedShape("g", 0, 1, 2, 3)
    told = {"304": replace(shape, gfx="gfx942", cu_num=304), "80": replace(shape, gfx="gfx942", cu_num=80)}
    assert read_shapes(path) == {told["304"]: 4, told["80"]: 5, shape: 6}
    assert told["80"].target == "gfx942:80" and shape.target == ""


def test_lists_without_target_and_sizes_are_read(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    path.write_text("signature,B,M,N,K,experts,top_k,count\ng,0,1,2,3,0,0,4\n")
    assert read_shapes(path) == {AskedShape("g", 0, 1, 2, 3): 4}


def test_what_a_killed_process_had_begun_to_write_is_left_out_and_said(tmp_path: Path) -> None:
    path, told = tmp_path / "s.csv", list[str]()
    whole = f"{HEAD}\ngfx942,304,g,0,1,2,3,0,0,,4\n"
    last = "gfx942,304,h,0,1,2,3,0,0,,5"
    for cut in range(len(last)):
        path.write_text(whole + last[:cut])
        assert read_shapes(path, told.append) == {AskedShape("g", 0, 1, 2, 3, gfx="gfx942", cu_num=304): 4}, cut
    assert len(told) == len(last) - 1 and told[0].endswith("s.csv:3: the last line is torn and left out")
    path.write_text(f"{whole}torn,before\n{last[:9]}")
    with pytest.raises(InputError) as caught:
        read_shapes(path)
    assert [one.location.line for one in caught.value.diagnostics if one.location is not None] == [3]
    path.write_text(whole + last)
    assert sum(read_shapes(path, told.append).values()) == 9 and len(told) == len(last) - 1


@pytest.mark.parametrize(
    "line",
    [
        "gfx942,,g,0,1,2,3,0,0,,1", ",304,g,0,1,2,3,0,0,,1", "gfx942,0,g,0,1,2,3,0,0,,1", ",,g,0,0,2,3,0,0,,1",
        ",,g,0,1,2,3,0,0,", ",,g,0,0,0,0,0,0,8*1x1x1,0", ",,,0,0,0,0,0,0,8*1x1x1,1",
    ],
)  # fmt: skip
def test_every_line_of_all_columns_that_is_no_shape_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "s.csv"
    path.write_text(f"{HEAD}\n,,g,0,0,0,0,0,0,8*1x1x1,1\n{line}\n")
    with pytest.raises(InputError) as caught:
        read_shapes(path)
    assert [one.location.line for one in caught.value.diagnostics if one.location is not None] == [3]


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
    path.write_text(f"{OLD}\ng,0,1,2,3,0,0,1\n{line}\n{line}\n", encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_shapes(path)
    places = [(found.code, found.location.line) for found in caught.value.diagnostics if found.location is not None]
    assert places == [("M005", 3), ("M005", 4)]


@pytest.mark.parametrize("text", ["", "M,N,K\n1,2,3\n", f"{HEAD},more\n", f"{HEAD},gfx\n"])
def test_another_file_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "s.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=r"M005.*its columns are not"):
        read_shapes(path)
