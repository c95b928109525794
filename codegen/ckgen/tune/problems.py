"""What is tuned: problems of lists of shapes and of tables, on one target, in ladders of M."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ckgen.families.common.asked import Asked
from ckgen.families.fmha.signature import FmhaSignature
from ckgen.families.fmha.told_row import told_sizes
from ckgen.families.gemm.enums import Op
from ckgen.families.gemm.signature import GemmSignature
from ckgen.families.registry import FAMILIES, family_of_name
from ckgen.fuzz.case import Case
from ckgen.fuzz.operations import operation_of
from ckgen.measure.problems import case_of as measured_case
from ckgen.model.errors import UsageError
from ckgen.model.fmha_shape import FmhaShape
from ckgen.model.groups import Groups, Routing
from ckgen.model.target import Target
from ckgen.model.tuned_row import Shape


@dataclass(frozen=True, slots=True)
class Key:
    """The cells of a row that say its problem. `sizes`: what M, N, K do not say."""

    signature: str
    batch: int = 0
    m: int = 0
    n: int = 0
    k: int = 0
    experts: int = 0
    top_k: int = 0
    sizes: str = ""

    @property
    def numbers(self) -> tuple[int, ...]:
        """B to top_k."""
        return self.batch, self.m, self.n, self.k, self.experts, self.top_k

    @property
    def ladder(self) -> tuple[object, ...]:
        """Equal for problems that differ in M alone; attention has no ladders."""
        return self.signature, self.n, self.k, self.batch, self.experts, self.top_k, "" if self.m else self.sizes

    @property
    def lookup(self) -> tuple[object, ...]:
        """What a library tells apart: of groups their largest sizes alone."""
        return self.signature, *self.numbers, "" if self.m else self.sizes

    def __str__(self) -> str:
        names = ("B", "M", "N", "K", "experts", "top_k")
        words = [f"{name}={value}" for name, value in zip(names, self.numbers, strict=True) if value]
        return " ".join([self.signature, *words, *([self.sizes] if self.sizes else [])])


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem as it is measured, the key of its row, and how often it is asked."""

    case: Case
    key: Key
    count: int = 1

    @property
    def text(self) -> str:
        """The case's line, by which journals know it."""
        return self.case.text()


def key_of(case: Case) -> Key:
    """The cells of the row that answers a case."""
    signature = signature_of(case.signature)
    if isinstance(signature, FmhaSignature):
        shape: FmhaShape = operation_of(signature).problem(case, signature)
        return Key(case.signature, sizes=told_sizes(signature, shape))
    assert isinstance(signature, GemmSignature)
    if signature.op is Op.GROUPED_GEMM:
        groups = Groups.of(case.groups or ())
        largest, sizes = groups.largest, grouped_text(case)
        return Key(case.signature, 0, largest.m, largest.n, largest.k, sizes=sizes)
    if signature.op is Op.MOE:
        return Key(case.signature, 0, case.m, case.n, case.k, case.experts, case.top_k)
    return Key(case.signature, case.batch if signature.batched else 0, case.m, case.n, case.k)


def grouped_text(case: Case) -> str:
    """`64x512x1024;8*32x512x1024`: each group's sizes, with a count before alike neighbours."""
    words: list[tuple[str, int]] = []
    for size in case.groups or ():
        text = str(size)
        count = words.pop()[1] if words and words[-1][0] == text else 0
        words.append((text, count + 1))
    return ";".join(f"{count}*{text}" if count > 1 else text for text, count in words)


@lru_cache(1024)
def signature_of(name: str) -> Any:
    """That of a canonical name; UsageError for any other. Tables ask of few names very often."""
    return family_of_name(name).parse_signature(name, None)


def case_of(key: Key, target: Target) -> Case:
    """The case of a key on a target; UsageError where the sizes make no problem."""
    signature = signature_of(key.signature)
    op = str(signature.op)
    try:
        case = measured_case(signature, target, FAMILIES[op].asked_problem(signature, _asked(op, key)))
    except UsageError as error:
        raise UsageError(f"{key}: {error}") from None
    if case.on_device:
        raise UsageError(f"{key}: what groups that only the device knows hold is not told")
    return case


def _asked(op: str, key: Key) -> Asked:
    """A key as a command line says it."""
    text = key.sizes.replace(";", ",")
    if op == "fmha":
        return Asked(op, sizes=tuple(text.split()))
    if op == "grouped_gemm":
        if ":" in text:
            return Asked(op, groups_on_device=text)
        return Asked(op, groups=text or f"{key.m}x{key.n}x{key.k}")
    shape = f"{key.m},{key.n},{key.k}"
    if op == "moe":
        return Asked(op, shape=shape, experts=key.experts, top_k=key.top_k)
    return Asked(op, shape=shape, batch=str(key.batch) if key.batch else None)


def key_of_shape(signature: str, shape: Shape, op: str, sizes: str = "") -> Key:
    """The key of a row's shape, as tables of GEMMs, groups and experts hold it."""
    if op == str(Op.MOE):
        routing = Routing.of_lookup_key(shape.batch)
        return Key(signature, 0, shape.m, shape.n, shape.k, routing.experts, routing.top_k)
    return Key(signature, shape.batch, shape.m, shape.n, shape.k, sizes=sizes)


def in_ladders(problems: Iterable[Problem]) -> tuple[tuple[Problem, ...], ...]:
    """Each ladder by ascending M, each problem once, in an order that the problems alone decide."""
    counts: dict[Key, Problem] = {}
    for one in problems:
        known = counts.get(one.key)
        counts[one.key] = Problem(one.case, one.key, one.count + (known.count if known is not None else 0))
    ladders: dict[tuple[object, ...], list[Problem]] = {}
    for one in sorted(counts.values(), key=lambda one: _order(one.key)):
        ladders.setdefault(one.key.ladder, []).append(one)
    return tuple(map(tuple, ladders.values()))


def _order(key: Key) -> tuple[object, ...]:
    return key.signature, key.n, key.k, key.batch, key.experts, key.top_k, key.m, key.sizes


def shard(ladders: Sequence[tuple[Problem, ...]], part: tuple[int, int]) -> tuple[tuple[Problem, ...], ...]:
    """The ladders of part i of n, counted from 1; each is in exactly one part."""
    index, count = part
    return tuple(ladder for at, ladder in enumerate(ladders) if at % count == index - 1)


def of_counts(counts: Mapping[Key, int], target: Target) -> list[Problem]:
    """Problems of keys; UsageError names the first that makes none."""
    return [Problem(case_of(key, target), key, count) for key, count in counts.items()]
