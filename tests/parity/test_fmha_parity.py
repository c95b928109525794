"""Attention: both languages write the same trail for random sizes, and read and refuse the same signatures."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest
from parity_support import Parity

from ckgen.families.fmha.append_problem import appends
from ckgen.families.fmha.enums import FmhaCorner, FmhaTraits
from ckgen.families.fmha.measured import fmha_key
from ckgen.families.fmha.problem import check, supports
from ckgen.families.fmha.query import FmhaQuery
from ckgen.families.fmha.signature import FmhaSignature, parse_signature
from ckgen.families.kernel_sets import kernel_set_files
from ckgen.model.dtype import DType
from ckgen.model.errors import UsageError
from ckgen.model.fmha_shape import FmhaShape
from ckgen.model.selection import Wishes
from ckgen.model.strategy import Strategy
from ckgen.model.target import Target
from ckgen.plan.model import GenerationPlan
from ckgen.plan.select import select
from ckgen.plan.trail import trail
from ckgen.runtime.abi import RuntimeFailure
from plan_support import plan_of

pytestmark = [pytest.mark.cpp, pytest.mark.slow]

TARGETS = (
    Target("gfx90a", 104), Target("gfx942", 304), Target("gfx950", 256), Target("gfx1201", 32), Target("x86_64_v4", 2),
    Target("x86_64_v3", 1),
)  # fmt: skip
SIGNATURES = (
    "fmha_bf16", "fmha_bf16_masked", "fmha_fp16_varlen_masked_lse", "fmha_fp16_masked_elementwise", "fmha_fp32_masked",
    "fmha_fp8_*_bf16_varlen_pertensor", "fmha_bf16_masked_sink", "fmha_bf16_masked_blocktable",
    "fmha_bf16_append_rope_half", "fmha_fp16_append_varlen_pagelist", "fmha_bf16_bwd_varlen_masked",
)  # fmt: skip
UNBUILT = ("fmha_fp32_append_rope_half", "fmha_fp32_bwd_randval", "fmha_fp16_pagelist", "fmha_fp32_lse_randval")
PROBLEMS, MEASURED = 1000, 300
LENGTHS = (0, 1, 7, 64, 100, 128, 384, 1000, 4096, 131072)
HEAD_DIMS = (1, 8, 32, 36, 48, 64, 80, 96, 100, 128, 160, 192, 256)
WINDOWS = (-1, -1, 0, 3, 127, 128, 100000)
PLACE = "attention.csv"
ILLEGAL = (
    {"batch": 0}, {"batch": 2**31}, {"heads_q": 0}, {"heads_k": 65536}, {"heads_q": 7, "heads_k": 3}, {"hdim_q": 0},
    {"hdim_v": 257}, {"seqlen_q": -1}, {"seqlen_k": 2**31}, {"window_left": -2}, {"sink_tokens": -1}, {"total_q": -1},
    {"min_seqlen_k": -1}, {"page_size": 0}, {"pages": -1}, {"split_items": -1}, {"split_rows": 1},
    {"split_items": 3, "split_n0": 128},
)  # fmt: skip


@pytest.fixture(scope="module")
def attention(tmp_path_factory: pytest.TempPathFactory) -> Parity:
    shipped = kernel_set_files(Path("asm"), ("fmha",))
    folder = tmp_path_factory.mktemp("tables")
    asks = {"targets": TARGETS, "ops": frozenset({"fmha"}), "signatures": SIGNATURES, "kernel_sets": shipped}
    plan = plan_of(measured(plan_of(**asks), folder), **asks)
    assert {table.target for unit in plan.units for table in unit.tables} >= {*TARGETS[1:3], TARGETS[4]}
    assert len(plan.units) == 12  # fp8 in two encodings
    return Parity(plan, "attention", tmp_path_factory.mktemp("attention"))


def measured(plan: GenerationPlan, folder: Path) -> Path:
    """A table of random problems, each won by some kernel that takes it in some number of splits."""
    generator = random.Random(5)
    lines = ["gfx,cu_num,batch,heads_q,heads_k,seqlen_q,seqlen_k,hdim_q,hdim_v,mask,page_size,splitK,us,kernelName"]
    keys = set()
    for unit, target, _ in product(plan.units, TARGETS, range(40)):
        shape = measured_shape(generator)
        traits = unit.signature.traits
        key = (unit.name, target, fmha_key(traits, shape))
        taking = [
            instance
            for instance in unit.instances
            if target.gfx in instance.archs and supports(instance.constraints, traits, shape, 1) is None
        ]
        if key in keys or not taking or appends(traits) or check(traits, shape) is not None:
            continue
        keys.add(key)
        mask = f"b:{shape.window_left}:{shape.window_right}" if traits.masked else "none"
        page = shape.page_size if traits.is_paged else ""
        sizes = (shape.batch, shape.heads_q, shape.heads_k, shape.seqlen_q, shape.seqlen_k, shape.hdim_q, shape.hdim_v)
        cells = (target.gfx, target.cu_num, *sizes, mask, page, generator.choice(["", 1, 1, 2, 500]), "")
        lines.append(",".join(map(str, (*cells, generator.choice(taking).name))))
    (folder / "attention.csv").write_text("\n".join(lines) + "\n")
    return folder / "attention.csv"


def measured_shape(generator: random.Random) -> FmhaShape:
    """One of few contexts, with lengths from a few on."""
    seqlen_q, seqlen_k = generator.choice([1, 100, 128, 4096]), generator.choice([64, 128, 1000, 4096])
    hdim = generator.choice([64, 128])
    window = generator.choice([-1, 127])
    return FmhaShape(1, 8, 2, seqlen_q, seqlen_k, hdim, hdim, window_left=window, page_size=generator.choice([16, 128]))


def shorter(shape: FmhaShape, generator: random.Random) -> FmhaShape:
    """Lengths that are the same, near, and too far below."""
    seqlen_q = shape.seqlen_q - generator.choice([0, 0, 15, 17]) % shape.seqlen_q
    return replace(shape, seqlen_q=seqlen_q, seqlen_k=shape.seqlen_k // generator.choice([1, 1, 2, 3]))


def some_shape(generator: random.Random) -> FmhaShape:
    heads_k = generator.choice([1, 2, 8])
    hdim = generator.choice(HEAD_DIMS)
    shape = FmhaShape(
        batch=generator.choice([1, 2, 17, 300]),
        heads_q=heads_k * generator.choice([1, 4, 5]),
        heads_k=heads_k,
        seqlen_q=generator.choice(LENGTHS),
        seqlen_k=generator.choice(LENGTHS),
        hdim_q=hdim,
        hdim_v=hdim if generator.random() < 0.6 else generator.choice(HEAD_DIMS),
        corner=generator.choice(list(FmhaCorner)),
        window_left=generator.choice(WINDOWS),
        window_right=generator.choice(WINDOWS),
        sink_tokens=generator.choice([0, 0, 4]),
        page_size=generator.choice([1, 16, 128]),
        pages=generator.choice([0, 9]),
        total_q=generator.choice([0, 0, 77]),
        seqlen_new=generator.choice([0, 1, 7, 100, 4096]),
        rotary_dim=generator.choice([2, 16, 32, 100, 7]),
        min_seqlen_k=generator.choice([0, 1]),
        finite_kv=generator.random() < 0.5,
        gaps_q=generator.random() < 0.3,
    )
    if generator.random() < 0.15:
        return replace(shape, **generator.choice(ILLEGAL))  # type: ignore[arg-type]
    if generator.random() < 0.05:
        return replace(shape, split_items=4, split_m0=generator.choice([16, 64]), split_n0=128, split_combines=1)
    return replace(shape, batch=2**31 - 1, seqlen_q=2**31 - 1) if generator.random() < 0.02 else shape


def queries(parity: Parity) -> Iterator[FmhaQuery]:
    generator = random.Random(11)
    known = [*(unit.signature for unit in parity.plan.units), *(parse_signature(text, None) for text in UNBUILT)]
    for index in range(PROBLEMS + MEASURED):
        wishes = Wishes(
            deterministic=generator.random() < 0.1,
            strategy=generator.choice([Strategy.ANY] * 8 + [Strategy.DATA_PARALLEL, Strategy.TREE]),
            batch_invariant=index % 5 == 0,
        )
        target = generator.choice(TARGETS)
        shape = some_shape(generator) if index < PROBLEMS else shorter(measured_shape(generator), generator)
        yield FmhaQuery(parity.plan, target, known[index % len(known)], shape, wishes)


def of_cpp(parity: Parity, query: FmhaQuery) -> str:
    name, wishes = query.signature.canonical(), query.wishes
    problem = parity.library.fmha_problem(
        name,
        query.shape,
        deterministic=wishes.deterministic,
        strategy=wishes.strategy,
        batch_invariant=wishes.batch_invariant,
    )
    text = parity.dispatcher.explain(problem, parity.library.simulated(str(query.target)))
    return text.replace(" (simulated)\n", "\n", 1).rstrip("\n")


def test_both_write_the_same_trail(attention: Parity) -> None:
    seen: set[str] = set()
    for query in queries(attention):
        mine = trail(query, lambda row: PLACE).text().replace(f"{PLACE} ", "")
        assert mine == of_cpp(attention, query), (query.signature, query.shape)
        seen |= {*re.findall(r"\(rule (\S+)\)", mine), *re.findall(r"^  (\w+) +✔", mine, re.MULTILINE)}
    assert seen >= {
        "exact", "near", "default",
        "gemm.no-instance", "gemm.stream_k.strategy", "fmha.no-append", "fmha.no-backward", "fmha.no-paged-kv",
        "fmha.shape.batch",
        "fmha.shape.batch-max", "fmha.shape.heads", "fmha.shape.heads-max", "fmha.shape.head-groups", "fmha.shape.hdim",
        "fmha.shape.seqlen", "fmha.shape.window", "fmha.shape.total-q", "fmha.shape.page-size", "fmha.shape.pages",
        "fmha.shape.seqlen-new", "fmha.shape.rotary-dim",
        "fmha.instance.hdim", "fmha.instance.hdim-multiple", "fmha.instance.q-tile", "fmha.instance.k-tile",
        "fmha.instance.page-multiple", "fmha.shape.split-items", "fmha.shape.split-tile", "fmha.instance.items",
        "fmha.instance.mask", "fmha.instance.mask-topleft", "fmha.shape.min-seqlen",
    }  # fmt: skip


def test_both_select_the_same_kernel(attention: Parity) -> None:
    for query in queries(attention):
        found = select(query)
        problem = attention.library.fmha_problem(
            query.signature.canonical(),
            query.shape,
            deterministic=query.wishes.deterministic,
            strategy=query.wishes.strategy,
            batch_invariant=query.wishes.batch_invariant,
        )
        record = attention.dispatcher.select(problem, attention.library.simulated(str(query.target)))
        name = found.instance.name if found.instance else None
        assert (record.instance, record.tier, record.k_batch) == (name, found.tier, found.k_batch)
        assert record.reason == found.reason or found.instance is not None


def test_every_instance_of_the_plan_is_one_of_the_library(attention: Parity) -> None:
    planned = {instance.name: instance.id for instance in attention.plan.instances}
    there = {info.name: info.id for info in attention.dispatcher.instances()}
    assert there == planned and len(planned) > 100


def some_signature(generator: random.Random) -> FmhaSignature:
    """Mostly legal: each trait differs from its default with a chance."""
    usual, traits = FmhaTraits(), {}
    for name in FmhaTraits.__dataclass_fields__:
        kind = type(getattr(usual, name))
        if generator.random() < 0.2:
            traits[name] = generator.choice([True] if kind is bool else list(kind))
    types = [DType.BF16, DType.FP16, DType.FP32, DType.FP8_OCP, DType.FP8_FNUZ, DType.INT8]
    a = generator.choice(types)
    b = a if generator.random() < 0.8 else generator.choice(types)
    return FmhaSignature.of(a, a if generator.random() < 0.7 else generator.choice(types), b=b, **traits)


def test_both_read_and_refuse_the_same_signatures(attention: Parity) -> None:
    generator, legal = random.Random(3), 0
    for _ in range(600):
        signature = some_signature(generator)
        name = signature.canonical()
        try:
            number: int | None = attention.library.signature(name)
        except RuntimeFailure as failure:
            number, said = None, str(failure)
            assert any(reason in said for reason in signature.problems()), (name, said, signature.problems())
        assert (number is not None) == (not signature.problems()), name
        legal += number is not None
    assert 80 < legal < 500


@pytest.mark.parametrize("text", ["fmha_bf16_lse_masked", "fmha_bf16_bf16", "fmha_bf16_masked_masked", "fmha", "fmha_"])
def test_neither_reads_a_name_that_is_not_canonical(attention: Parity, text: str) -> None:
    with pytest.raises(RuntimeFailure):
        attention.library.signature(text)
    with pytest.raises(UsageError):
        parse_signature(text, None)
