"""What ckgen's MX-FP8 kernels for few rows are and take: mxfp8_envelope.json."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ckgen.families.gemm.hip_config import HipConfig, HipKind

SCALE_BLOCK = 32
_TILE = 16


@dataclass(frozen=True, slots=True)
class OwnNumbers:
    """What kernels of one kind have where a table says no number."""

    n_sub: int
    k_splits: int


@dataclass(frozen=True, slots=True)
class KindEnvelope:
    """The numbers that kernels of one kind have."""

    m: tuple[int, ...]
    n_sub: tuple[int, ...]
    k_splits: tuple[int, ...]
    block_n: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ExpertEnvelope:
    """What one kind of expert kernels takes: K, and routed rows, of which fewer where experts are few; 0 asks nothing.

    Routed rows are tokens · top_k.
    """

    k_multiple: int
    max_k: int
    most_routed: int
    few_experts: int
    most_routed_few: int


@dataclass(frozen=True, slots=True)
class Envelope:
    """All of it. `instruction`: of the archs that the kernels are for; `usual_product`: of tables that tell no target.

    `max_bytes` of each tensor; `measured_only`: the rows of A from which on only tables choose; `narrow_rows`: the most
    rows of an expert's B for a narrow block_n.
    """

    instruction: str
    usual_product: str
    max_bytes: int
    measured_only: int
    kinds: Mapping[HipKind, KindEnvelope]
    own: Mapping[HipKind, OwnNumbers]
    experts: Mapping[HipKind, ExpertEnvelope]
    narrow_rows: int


@cache
def envelope() -> Envelope:
    """The data."""
    data: dict[str, Any] = json.loads(Path(__file__).with_name("mxfp8_envelope.json").read_text(encoding="utf-8"))
    return Envelope(
        instruction=data["instruction"],
        usual_product=data["usual_product"],
        max_bytes=data["max_bytes"],
        measured_only=data["measured_only"],
        kinds={HipKind(kind): KindEnvelope(**_tuples(values)) for kind, values in data["kinds"].items()},
        own={HipKind(kind): OwnNumbers(**values) for kind, values in data["own"].items()},
        experts={kind: ExpertEnvelope(**data["experts"][kind.value]) for kind in HipKind if kind.is_moe},
        narrow_rows=_TILE * (data["narrow"]["tiles"] - 1),
    )


def config_of(kind: HipKind, m: int, n_sub: int, k_splits: int) -> HipConfig | None:
    """The GEMM kernel for `m` rows with these numbers of a tuning table, 0 being its own; None where there is none.

    A GEMV masks rows: the kernel is that of the least rows which are as many.
    """
    known = envelope().kinds[kind]
    rows = next((taken for taken in known.m if taken >= m > 0), m) if kind is HipKind.GEMV else m
    own = envelope().own[kind]
    n_sub, k_splits = n_sub or own.n_sub, k_splits or own.k_splits
    if rows not in known.m or n_sub not in known.n_sub or k_splits not in known.k_splits:
        return None
    return HipConfig(kind, rows, n_sub, k_splits, *known.block_n)


def least_rows(kind: HipKind, m: int) -> int:
    """The fewest rows of A that a GEMM kernel of `m` takes: more than the next smaller GEMV, or exactly its own."""
    smaller = (taken for taken in envelope().kinds[kind].m if taken < m)
    return max(smaller, default=0) + 1 if kind is HipKind.GEMV else m


def takes_experts(k: int) -> bool:
    """Whether there is a kernel of experts for so many elements of K."""
    return any(k % one.k_multiple == 0 and (not one.max_k or k <= one.max_k) for one in envelope().experts.values())


def _tuples(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) for name, value in values.items()}
