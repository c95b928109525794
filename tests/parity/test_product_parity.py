"""Rows of products beside rows of all: Python's walk and C++'s choose and explain alike, whatever the device."""

from __future__ import annotations

import random
import re

import pytest
from parity_support import Parity
from test_explain_parity import PLACE, _without_measurements

from ckgen.families.gemm.query import GemmQuery
from ckgen.families.registry import FAMILIES
from ckgen.fuzz.decide import decide
from ckgen.fuzz.operations import operation_of
from ckgen.fuzz.space import Space
from ckgen.model.selection import NO_WISHES, Tier, Wishes
from ckgen.model.target import Target
from ckgen.model.tuned_row import Shape
from ckgen.plan.select import select
from ckgen.plan.trail import trail
from ckgen.specs.archs import load_archs
from ckgen.tune.problems import Key, case_of, signature_of
from plan_support import GFX942, HEADER, LARGE, MIDDLE, SMALL_M, plan_of, row, write_table

pytestmark = [pytest.mark.cpp, pytest.mark.slow]

SIGNATURE = "gemm_fp8_fnuz_bf16_rcr_blockscale"
ATTENTION = "fmha_bf16_blocktable"
PAGED = "batch=8 heads_q=32 heads_k=8 seqlen_q=1 hdim_q=128 hdim_v=128 page_size=16"
DEVICES = (
    GFX942,
    *(GFX942._replace(sku=sku) for sku in ("mi300x", "mi325x")),
    *(Target("gfx942", 38, sku) for sku in ("", "mi325x", "mi300a")),
    Target("gfx942", 80),
    Target("gfx942", 228, "mi300a"),
)


def _rows() -> list[str]:
    """Of two ladders all kinds of rows, of a third a product's alone, of a fourth none of a product; at 38 CUs an
    MI325X's alone."""
    lines = []
    for n, skus in ((512, ("", "mi325x", "mi300x")), (1024, ("", "mi325x")), (1536, ("mi325x",)), (2048, ("",))):
        for sku in skus:
            for m in random.sample([1, 8, 16, 32, 48, 64, 96, 128, 256, 300, 512, 1024, 4096], 6):
                kernel, library = random.choice([(SMALL_M, "ck"), (MIDDLE, "ck"), (LARGE, "ck"), ("other", "flydsl")])
                lines.append(row(m, kernel, N=n, libtype=library).replace("304,", f"304,{sku},", 1))
    lines += [row(m, MIDDLE, cu_num=38).replace("38,", "38,mi325x,", 1) for m in (16, 512)]
    return [*lines, row(64, MIDDLE, N=1536, cu_num=80).replace("80,", "80,,", 1)]


ATTENTION_ROWS = """\
gfx,cu_num,sku,batch,heads_q,heads_k,seqlen_q,seqlen_k,hdim_q,hdim_v,page_size,splitK,us,kernelName
gfx942,304,,8,32,8,1,4096,128,128,16,2,,fmha_bf16_blocktable_hip_decode_16x128_128x128
gfx942,304,,8,32,8,1,8192,128,128,16,4,,fmha_bf16_blocktable_hip_decode_16x128_128x128
gfx942,304,mi325x,8,32,8,1,8192,128,128,16,8,,fmha_bf16_blocktable_hip_decode_16x128_128x128
gfx942,304,mi325x,8,32,8,1,6144,128,128,16,6,,fmha_bf16_blocktable_hip_decode_16x128_128x128
gfx942,304,mi300x,4,32,8,1,8192,128,128,16,3,,fmha_bf16_blocktable_hip_decode_16x128_128x128
gfx942,304,,4,32,8,1,4096,128,128,16,5,,fmha_bf16_blocktable_hip_decode_16x128_128x128
"""


@pytest.fixture(scope="module")
def products(tmp_path_factory: pytest.TempPathFactory) -> Parity:
    random.seed(3)
    folder = tmp_path_factory.mktemp("products")
    table = write_table(folder / "a8w8_blockscale_tuned_gemm.csv", _rows(), HEADER.replace("cu_num", "cu_num,sku"))
    attention = folder / "attention.csv"
    attention.write_text(ATTENTION_ROWS, encoding="utf-8")
    targets = tuple(sorted({one.any_sku for one in DEVICES}))
    asked = {"ops": frozenset(FAMILIES), "signatures": (SIGNATURE, ATTENTION)}
    plan = plan_of(table, attention, targets=targets, **asked)
    return Parity(plan, "products", folder)


def test_selections_and_their_order_of_additions(products: Parity) -> None:
    (unit,) = (one for one in products.plan.units if one.name == SIGNATURE)
    random.seed(4)
    for target in DEVICES:
        shapes = [
            Shape(0, random.choice([random.randint(1, 140), random.randint(1, 9000)]), n, 1024)
            for n in (512, 1024, 1536, 2048, 640)
            for _ in range(60)
        ]
        for wishes in (NO_WISHES, Wishes(batch_invariant=True)):
            products.compare(unit, target, shapes, wishes)


def test_the_product_matters(products: Parity) -> None:
    """Of the shapes above, answers differ by product in tiers and kernels."""
    (unit,) = (one for one in products.plan.units if one.name == SIGNATURE)
    differing = set()
    for m in range(1, 300):
        found = [
            select(GemmQuery(products.plan, target, unit.signature, Shape(0, m, 512, 1024))) for target in DEVICES[:3]
        ]
        if len({(one.tier, one.instance, one.k_batch) for one in found}) > 1:
            differing |= {one.tier for one in found}
    assert {Tier.EXACT, Tier.NEAR} <= differing


def test_explanations(products: Parity) -> None:
    (unit,) = (one for one in products.plan.units if one.name == SIGNATURE)
    random.seed(5)
    for target in DEVICES:
        for n in (512, 1024, 1536, 2048, 640):
            shape = Shape(0, random.randint(1, 400), n, 1024)
            query = GemmQuery(products.plan, target, unit.signature, shape)
            mine = _of_any(_without_measurements(trail(query, lambda row: PLACE).text()))
            problem = products.library.problem(unit.name, shape.m, n, 1024)
            text = products.dispatcher.explain(problem, products.library.simulated(str(target)))
            assert mine == text.replace(" (simulated)\n", "\n", 1).splitlines(), (str(target), shape)


def _of_any(lines: list[str]) -> list[str]:
    """Without whose row it is where the count is the device's own: which only tables hold."""
    device = re.search(r"  on (\S+:\d+)", lines[0])
    assert device is not None
    return [re.sub(rf"(measured at M=\d+) on {device[1]}$", r"\1", line) for line in lines]


def test_attention(products: Parity) -> None:
    """Of each device at lengths that were measured, near below and beyond: who answers, in how many splits."""
    space = Space(products.plan, load_archs())
    exact = set()
    for target in DEVICES[:3]:
        device = products.library.simulated(str(target))
        for batch in (8, 4):
            for seqlen in (4096, 4000, 6144, 5000, 8192, 7000, 9000):
                sizes = PAGED.replace("batch=8", f"batch={batch}").replace(
                    "seqlen_q=1", f"seqlen_q=1 seqlen_k={seqlen}"
                )
                case, signature = case_of(Key(ATTENTION, sizes=sizes), target), signature_of(ATTENTION)
                decision = decide(space, case, signature, products.library.fmha_split)
                mine = decision.selection
                problem = operation_of(signature).work(case, decision).problem(products.library)
                theirs = products.dispatcher.select(problem, device)
                assert mine.instance is not None
                assert (str(mine.tier), mine.instance.name, mine.k_batch) == (
                    str(theirs.tier), theirs.instance, theirs.k_batch,
                ), (str(target), sizes)  # fmt: skip
                if mine.tier is Tier.EXACT:
                    exact.add((target.sku, batch, seqlen, mine.k_batch))
    assert exact == {
        ("", 8, 4096, 2), ("", 8, 8192, 4), ("", 4, 4096, 5),
        ("mi300x", 8, 4096, 2), ("mi300x", 8, 8192, 4), ("mi300x", 4, 4096, 5), ("mi300x", 4, 8192, 3),
        ("mi325x", 8, 4096, 2), ("mi325x", 8, 8192, 8), ("mi325x", 8, 6144, 6), ("mi325x", 4, 4096, 5),
    }  # fmt: skip
