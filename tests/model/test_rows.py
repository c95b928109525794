"""Rows: what people read of their sizes, and what they answer."""

from __future__ import annotations

from dataclasses import asdict, replace

from ckgen.model.diagnostic import Location
from ckgen.model.fmha_row import FmhaRow
from ckgen.model.fmha_shape import FmhaShape
from ckgen.model.groups import NO_ROUTING, Groups, GroupSize, Routing
from ckgen.model.moe_row import MoeDiscriminators, MoeRow
from ckgen.model.op_words import FmhaEntry
from ckgen.model.target import Target
from ckgen.model.tuned_row import Discriminators, Shape, TunedRow

PLACE, TARGET = Location("a.csv", 2), Target("gfx942", 304)


def test_a_shape_tells_its_batch_only_if_it_has_one() -> None:
    assert str(Shape(0, 1, 2, 3)) == "M=1 N=2 K=3"
    assert str(Shape(4, 1, 2, 3)) == "B=4 M=1 N=2 K=3"


def test_a_row_of_a_gemm() -> None:
    row = TunedRow(PLACE, 0, "a8w8", TARGET, 304, Shape(0, 1, 2, 3), Discriminators(), "ck", "k", 4, 5.0, 0.0)
    assert (row.sizes, row.answer) == ("M=1 N=2 K=3", ("ck", "k", 4))
    assert list(row.named_sizes.items()) == [("batch", None), ("m", 1), ("n", 2), ("k", 3)]
    assert replace(row, shape=Shape(4, 1, 2, 3)).named_sizes["batch"] == 4
    assert (row.op, row.about) == ("gemm", (("a8w8", Discriminators()),))


def test_shapes_come_by_batch_m_n_and_k_as_numbers() -> None:
    ordered = [Shape(0, 9, 9, 9), Shape(0, 10, 1, 1), Shape(0, 10, 2, 1), Shape(0, 10, 2, 2), Shape(1, 0, 0, 0)]
    assert [min(ordered[at:]) for at in range(len(ordered))] == ordered and max(ordered) == ordered[-1]


def test_a_row_of_a_moe_layer() -> None:
    def row(top_k: int | None) -> MoeRow:
        shape = Shape(8 << 16, 1, 2, 3)
        return MoeRow(
            PLACE, 0, "fmoe", TARGET, 304, shape, MoeDiscriminators(), "ck", "k", 1, 5.0, 0.0, 8, top_k, (), 32
        )  # fmt: skip

    assert row(2).sizes == "tokens=1 inter=2 model=3 experts=8 top_k=2"
    assert row(None).sizes == "tokens=1 inter=2 model=3 experts=8 top_k=?"
    assert row(2).answer == ("ck", "k", 1, 32)
    named = {"m": 1, "n": 2, "k": 3, "experts": 8}
    assert row(2).named_sizes == {**named, "top_k": 2} and row(None).named_sizes == {**named, "top_k": None}
    assert (row(2).op, row(2).about) == ("moe", (("fmoe", MoeDiscriminators()),))


def test_a_row_of_attention_tells_its_page_size_if_keys_are_paged() -> None:
    def row(page_size: int) -> FmhaRow:
        shape = FmhaShape(1, 2, 3, 4, 5, 6, 7, page_size=page_size)
        return FmhaRow(PLACE, 0, TARGET, FmhaEntry.FORWARD, shape, True, "k", 8, 9.0)

    sizes = "batch=1 heads_q=2 heads_k=3 seqlen_q=4 seqlen_k=5 hdim_q=6 hdim_v=7"
    assert row(0).sizes == sizes
    assert row(16).sizes == f"{sizes} page_size=16"
    assert row(0).answer == ("k", 8)
    assert row(16).named_sizes == asdict(row(16).shape)
    assert (row(0).op, row(0).cu_num, row(0).about) == ("fmha", 304, ())
    assert (row(0).module, row(0).library, row(0).error_ratio) == ("", "", None)


def test_texts_of_groups_and_routings() -> None:
    assert str(Groups.of([GroupSize(1, 5, 3), GroupSize(4, 2, 6)])) == "2 groups of up to 4x5x6"
    assert str(Routing(256, 8)) == "experts=256 top_k=8"
    assert Routing(experts=0, top_k=0) == NO_ROUTING and NO_ROUTING.lookup_key == 0
