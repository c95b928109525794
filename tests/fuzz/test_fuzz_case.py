"""Cases: their text, and what is drawn."""

from __future__ import annotations

from dataclasses import fields, replace
from random import Random
from typing import get_type_hints

import pytest

from ckgen.families.gemm.signature import GemmSignature, parse_canonical
from ckgen.families.registry import FAMILIES
from ckgen.fuzz.case import Case, Data, Route, parse_case
from ckgen.fuzz.draw import FIELDS, case_of
from ckgen.fuzz.prepare import inputs_of
from ckgen.fuzz.signatures import any_value, mutated
from ckgen.fuzz.space import Space
from ckgen.model.errors import UsageError
from ckgen.model.groups import GroupSize
from ckgen.model.selection import Wishes

PLAIN = Case("gemm_fp16_rcr", "gfx942:80")


@pytest.fixture(scope="module")
def space(tmp_path_factory: pytest.TempPathFactory) -> Space:
    return inputs_of(FAMILIES, tmp_path_factory.mktemp("space")).space()


@pytest.fixture(scope="module")
def cases(space: Space) -> list[Case]:
    return [case_of(space, 8, index) for index in range(12_000)]


def test_text_holds_the_whole_case(cases: list[Case]) -> None:
    assert all(parse_case(case.text()) == case for case in cases)
    assert PLAIN.text() == "signature=gemm_fp16_rcr target=gfx942:80"
    grouped = replace(PLAIN, groups=(GroupSize(-1, 2, 3), GroupSize(4, 5, 0)), on_device=True)
    assert grouped.text().endswith(" groups=-1x2x3,4x5x0 on_device=1") and parse_case(grouped.text()) == grouped
    assert parse_case(replace(PLAIN, groups=()).text()).groups == ()
    assert replace(PLAIN, data=Data.ZEROS, broadcast_a=True).text().endswith("data=zeros broadcast_a=1")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "m=1",
        "signature=x",
        "signature=x target=y z=1",
        "signature=x target=y m=one",
        "signature=x target=y data=x",
        "signature=x target=y groups=1x2",
    ],
)
def test_text_that_is_no_case_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--problem"):
        parse_case(text)


def test_every_field_is_drawn_and_every_wish_is_a_field() -> None:
    names = {one.name for one in fields(Case)}
    assert names == FIELDS.keys()
    assert {one.name for one in fields(Wishes)} <= names
    assert replace(PLAIN, deterministic=True).wishes == Wishes(deterministic=True)


def test_every_field_of_a_signature_has_values_to_draw() -> None:
    random = Random(1)
    hints = get_type_hints(GemmSignature)
    for one in fields(GemmSignature):
        assert len({any_value(random, hints[one.name]) for _ in range(100)}) > 1, one.name


def test_mutated_signatures_keep_their_names_apart(space: Space) -> None:
    random = Random(2)
    legal = 0
    for _ in range(2000):
        signature = mutated(random, random.choice(space.units).signature)
        assert parse_canonical(signature.canonical()) == signature
        legal += not signature.problems()
    assert 0 < legal < 2000


def test_a_case_is_decided_by_seed_and_number(space: Space) -> None:
    assert case_of(space, 5, 7) == case_of(space, 5, 7)
    assert len({case_of(space, seed, 7) for seed in range(20)}) == 20


def test_edges_are_among_the_cases(cases: list[Case], space: Space) -> None:
    sizes = {size for case in cases for size in (case.m, case.n, case.k)}
    assert {0, 1, 2, 31, 127, 128, 129, 255, 256, 257, 2**31 - 1, 2**31, 2**63 - 1} <= sizes
    assert any(2**31 < case.m * case.n < 2**62 for case in cases)
    assert any(case.m * case.n * max(case.k, 1) > 2**63 for case in cases)
    assert any(case.gap_a >= 2**30 for case in cases) and any(case.gap_c < 0 for case in cases)
    assert any(case.broadcast_a for case in cases) and any(case.batch > 1 for case in cases)
    assert {case.target.partition(":")[0] for case in cases} == {*space.archs}
    assert {case.data for case in cases} == {*Data}
    drawn = {case.signature for case in cases}
    assert {unit.name for unit in space.units} <= drawn
    assert sum(bool(case.instance) for case in cases) in range(3000, 7200)
    assert {case.route for case in cases} == {*Route} and {0, 16, 48} <= {case.block_m for case in cases}
    groups = [case.groups for case in cases if case.signature.startswith("grouped_gemm_")]
    sizes = {size for each in groups for size in each or ()}
    assert {0, 1, 3, 128} == {case.gap_scale for case in cases}
    assert None in groups and () in groups and any(case.on_device for case in cases)
    assert any(size.m == 0 for size in sizes) and any(size.k == 0 for size in sizes)
    assert any(case.top_k == case.experts > 2 for case in cases) and any(case.is_sorted for case in cases)
    few = [case for case in cases if case.signature == "gemm_fp8_ocp_bf16_rcr_mx"]
    assert {1, 4, 8, 16, 32, 64} <= {case.m for case in few}
    assert any(case.k % 32 for case in cases if case.signature.startswith("gemm_") and "_mx" in case.signature)
    assert any(case.k_batch > 1 for case in cases) and any(case.deterministic for case in cases)
