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
class KindEnvelope:
    """The numbers that kernels of one kind have."""

    m: tuple[int, ...]
    n_sub: tuple[int, ...]
    k_splits: tuple[int, ...]
    block_n: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ExpertEnvelope:
    """What one kind of expert kernels takes: K, and tokens, of which fewer where experts are few; 0 asks nothing."""

    k_multiple: int
    max_k: int
    most_tokens: int
    few_experts: int
    most_tokens_few: int


@dataclass(frozen=True, slots=True)
class Envelope:
    """All of it. `instruction`: of the archs that the kernels are for; `usual_product`: of tables that tell no target.

    `max_bytes` of each tensor; `narrow_rows`: the most rows of an expert's B for a narrow block_n.
    """

    instruction: str
    usual_product: str
    max_bytes: int
    kinds: Mapping[HipKind, KindEnvelope]
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
        kinds={HipKind(kind): KindEnvelope(**_tuples(values)) for kind, values in data["kinds"].items()},
        experts={kind: ExpertEnvelope(**data["experts"][kind.value]) for kind in HipKind if kind.is_moe},
        narrow_rows=_TILE * (data["narrow"]["tiles"] - 1),
    )


def config_of(kind: HipKind, m: int, n_sub: int, k_splits: int) -> HipConfig | None:
    """The GEMM kernel with these numbers of a tuning table; None where there is none."""
    known = envelope().kinds[kind]
    if m not in known.m or n_sub not in known.n_sub or k_splits not in known.k_splits:
        return None
    return HipConfig(kind, m, n_sub, k_splits, *known.block_n)


def _tuples(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) for name, value in values.items()}
