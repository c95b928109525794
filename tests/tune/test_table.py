"""The writer of tables: rows of others stay byte for byte, all are sorted, what is written is read."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ckgen.model.errors import InputError
from ckgen.model.target import Target
from ckgen.tune.problems import Key
from ckgen.tune.table import HEADER, NO_TABLE, TunedLine, parse_table, read_table, with_rows, write_table
from examples import examples

CPU, GPU = Target("x86_64_v4", 2), Target("gfx942", 304)
KEYS = st.builds(
    Key,
    st.sampled_from(["gemm_bf16_rcr", "gemm_fp16_rcr", "fmha_bf16"]),
    *[st.integers(0, 3)] * 6,
    st.sampled_from(["", "batch=1 heads_q=2", "64x512x1024;8*32x512x1024"]),
)
LINES = st.builds(
    TunedLine, KEYS, st.sampled_from("abc"), st.integers(1, 4), st.floats(0.001, 1e9), st.floats(0, 1),
    st.integers(1, 99), st.integers(1, 99), st.sampled_from(['CPU "x", 2', "EPYC"]), st.just(""),
    st.just("flush=False"), st.just("ckgen"), st.sampled_from(["", "2026-11-23"]),
)  # fmt: skip
TARGETS = st.sampled_from([CPU, GPU, Target("gfx942", 80), GPU._replace(sku="mi325x")])


def line(m: int, kernel: str = "a", **changes: object) -> TunedLine:
    numbers = {"splits": 1, "us": 4.5, "spread": 0.01, "runs": 9, "tried": 4}
    said = numbers | {"device": "d", "driver": "", "conditions": "flush=False", "tool": "t"}
    return TunedLine(Key("gemm_bf16_rcr", 0, m, 64, 64), kernel, **(said | changes))  # type: ignore[arg-type]


def rows_of(data: bytes) -> list[bytes]:
    return [one for one in data.splitlines()[1:] if one]


@settings(max_examples=examples(60))
@given(st.lists(LINES, max_size=4), TARGETS, st.lists(LINES, max_size=4), TARGETS)
def test_rows_of_others_stay_and_all_are_sorted(
    before: list[TunedLine], first: Target, added: list[TunedLine], second: Target
) -> None:
    old = with_rows(NO_TABLE, first, before)
    new = with_rows(parse_table(old, "t.csv"), second, added)
    replaced = {one.key.lookup for one in added} if first == second else set()
    places = [one.place for one in parse_table(new, "t.csv").lines]
    assert places == sorted(places)
    assert len(places) == len(set(places)), "a problem has one row"
    kept = {one.key.lookup: one for one in before if one.key.lookup not in replaced}
    stay = set(rows_of(with_rows(NO_TABLE, first, kept.values())))
    assert stay <= set(rows_of(new))
    assert len(places) == len(kept) + len({one.key.lookup for one in added})
    assert with_rows(parse_table(new, "t.csv"), second, added) == new, "the same again changes nothing"


def test_rows_of_a_product_name_it_and_those_of_all_stay_beside_them() -> None:
    every = with_rows(NO_TABLE, GPU, [line(16)])
    both = with_rows(parse_table(every, "t.csv"), GPU._replace(sku="mi325x"), [line(16, "b")])
    head, old, new = both.decode().splitlines()
    assert head == f"{','.join(HEADER)},sku" and old == every.decode().splitlines()[1]
    assert new.startswith("gfx942,304,gemm_bf16_rcr,") and new.endswith(",mi325x")


def test_bytes_of_others_stay_whatever_they_look_like() -> None:
    head = ",".join(["note", *HEADER, "mine"])
    theirs = [
        'a, gfx942 ,0304,"gemm_bf16_rcr",,16, 64,64,,,,k,1,4.50,"0.1",,,,,,,"x, y"',
        " b,x86_64_v4,2,gemm_bf16_rcr,0,99,64,64 ",
        'c,x86_64_v4,2,gemm_bf16_rcr,0,1,64,64,0,0,,k,1,1,,,,,,,,"keep, me"',
    ]
    data = "\r\n".join([head, *theirs]).encode()
    new = with_rows(parse_table(data, "t.csv"), CPU, [line(1, "new"), line(5)])
    found = new.split(b"\r\n")
    assert found[0] == head.encode()
    assert found[-1] == b""
    assert found[1] == theirs[0].encode()
    assert theirs[1].encode() in found
    assert theirs[2].encode() not in found, "the same problem of the same target"
    assert [one.split(b",")[11:12] for one in found[1:-1] if b",new," in one] == [[b"new"]]
    assert len(found) == 6


def test_columns_that_an_older_table_lacks_are_added_behind_its_own() -> None:
    head = "gfx,cu_num,signature,B,M,N,K,experts,top_k,sizes,kernelName,splitK,us"
    row = "gfx942,304,gemm_bf16_rcr,0,1,64,64,0,0,,k,1,4.5"
    new = with_rows(parse_table(f"{head}\n{row}\n".encode(), "t.csv"), CPU, [line(2, date="2026-11-23")])
    found = new.decode().splitlines()
    assert found[0] == ",".join(HEADER)
    assert found[1] == row
    assert found[2].endswith(",d,,flush=False,t,2026-11-23")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "T002"), ("M,N,K,us\n1,2,3,4\n", "T004"), (f"{','.join(HEADER)}\nx86_64_v4,two\n", "T011"),
        (f"{','.join(HEADER)}\n<<<<<<< HEAD\n", "T003"), (f"{','.join(HEADER)}\n\0\n", "T001"),
        (f'{",".join(HEADER)}\n"a\n', "T011"), (f"{','.join(HEADER)}\n{',' * 99}\n", "T011"),
    ],
)  # fmt: skip
def test_what_is_no_such_table_is_refused_and_left_alone(tmp_path: Path, text: str, code: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text)
    with pytest.raises(InputError) as error:
        read_table(path)
    assert error.value.diagnostics[0].code == code
    assert path.read_text() == text


def test_a_file_is_replaced_whole_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    write_table(path, read_table(path), CPU, [line(1)])
    write_table(path, read_table(path), CPU, [line(2, "b")])
    assert [one.split(",")[4] for one in path.read_text().splitlines()[1:]] == ["1", "2"]
    assert [one.name for one in tmp_path.iterdir()] == ["t.csv"]


def test_a_problem_that_is_worth_no_row_loses_its_own_and_no_other() -> None:
    old = with_rows(NO_TABLE, CPU, [line(1), line(2), line(3)])
    old = with_rows(parse_table(old, "t.csv"), GPU, [line(2)])
    new = with_rows(parse_table(old, "t.csv"), CPU, [line(3, "b")], without=[line(2).key])
    kept = [(one.place[0], one.place[7], one.cells["kernelName"]) for one in parse_table(new, "t.csv").lines]
    assert kept == [(GPU, 2, "a"), (CPU, 1, "a"), (CPU, 3, "b")]


def test_a_date_stands_only_where_it_is_given() -> None:
    assert with_rows(NO_TABLE, CPU, [line(1)]).endswith(b",t,\n")
