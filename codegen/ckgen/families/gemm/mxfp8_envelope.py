"""Which shapes ckgen's MX-FP8 kernels for few rows answer for: mxfp8_envelope.json, evaluated."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ckgen.families.gemm.hip_config import HipConfig, HipKind

SCALE_BLOCK = 32


@dataclass(frozen=True, slots=True)
class Outside:
    """A number that is outside of the envelope: which one, what it is, and what is taken."""

    rule: str
    measured: int | str
    taken: str

    def __str__(self) -> str:
        return f"{self.rule} = {self.measured}: taken is {self.taken}"


@dataclass(frozen=True, slots=True)
class KindEnvelope:
    """What one kind of kernel takes; K is a multiple of `k_multiple`, or one of `k_also`."""

    rows: tuple[int, ...]
    needs_row: tuple[int, ...]
    k_multiple: int
    k_also: tuple[int, ...]
    n_sub: tuple[int, ...]
    k_splits: tuple[int, ...]

    def takes_k(self, k: int) -> bool:
        """Whether K fits."""
        return k > 0 and (k % self.k_multiple == 0 or k in self.k_also)


@dataclass(frozen=True, slots=True)
class Depth:
    """A class of K, and the most tokens for a least number of experts each, ascending."""

    name: str
    k: tuple[int, ...]
    k_multiple: int
    routed_m: tuple[tuple[int, int], ...]

    def holds(self, k: int) -> bool:
        """Whether K is of this class."""
        return k in self.k or (self.k_multiple > 0 and k % self.k_multiple == 0)

    def most(self, experts: int) -> int:
        """The most tokens with so many experts."""
        return max((most for least, most in self.routed_m if experts >= least), default=0)


@dataclass(frozen=True, slots=True)
class Envelope:
    """All of it. `max_bytes` of each tensor; rows of A and B begin `row_bytes` apart, or a multiple of it."""

    arch: str
    max_bytes: int
    row_bytes: int
    kinds: Mapping[HipKind, KindEnvelope]
    usual: Mapping[HipKind, tuple[int, int]]
    depths: tuple[Depth, ...]
    block_n: tuple[int, ...]
    narrow_tiles: int

    def depth(self, k: int) -> Depth | None:
        """The class of K; None for one that no expert kernel takes."""
        return next((depth for depth in self.depths if depth.holds(k)), None)


@cache
def envelope() -> Envelope:
    """The data."""
    data: dict[str, Any] = json.loads(Path(__file__).with_name("mxfp8_envelope.json").read_text(encoding="utf-8"))
    moe = data["moe"]
    return Envelope(
        arch=data["arch"],
        max_bytes=data["max_bytes"],
        row_bytes=data["row_bytes"],
        kinds={HipKind(kind): KindEnvelope(**_tuples(values)) for kind, values in data["kinds"].items()},
        usual={HipKind(kind): (values["n_sub"], values["k_splits"]) for kind, values in data["usual"].items()},
        depths=tuple(_depth(entry) for entry in moe["depths"]),
        block_n=tuple(moe["block_n"]),
        narrow_tiles=moe["narrow_tiles"],
    )


def outside(kind: HipKind, m: int, n: int, k: int) -> Outside | None:
    """What of a GEMM's shape is outside of a kind's envelope, packed operands; None where it engages."""
    found = envelope().kinds[kind]
    if m not in found.rows:
        return Outside("rows", m, _listing(found.rows))
    return outside_k(kind, k) or outside_bytes({"A": m * k, "B": n * k, "C": 2 * m * n})


def outside_k(kind: HipKind, k: int) -> Outside | None:
    """Whether K is outside."""
    found = envelope().kinds[kind]
    if found.takes_k(k):
        return None
    also = f" or {_listing(found.k_also)}" if found.k_also else ""
    return Outside("K", k, f"a multiple of {found.k_multiple}{also}")


def outside_bytes(tensors: Mapping[str, int]) -> Outside | None:
    """The first tensor, of these sizes in bytes, that an offset cannot reach."""
    most = envelope().max_bytes
    return next(
        (Outside(f"bytes of {name}", size, f"up to {most}") for name, size in tensors.items() if size > most), None
    )


def config_of(kind: HipKind, m: int, n_sub: int, k_splits: int) -> HipConfig | Outside:
    """The GEMM kernel with these numbers of a tuning table."""
    found = envelope().kinds[kind]
    for rule, value, taken in (("n_sub", n_sub, found.n_sub), ("k_splits", k_splits, found.k_splits)):
        if value not in taken:
            return Outside(rule, value, _listing(taken))
    return HipConfig.gemv(m, n_sub, k_splits) if kind is HipKind.GEMV else HipConfig.mfma(m, n_sub, k_splits)


def _listing(values: Sequence[int]) -> str:
    return ", ".join(map(str, values))


def _depth(entry: Mapping[str, Any]) -> Depth:
    bounds = tuple((bound["experts"], bound["most"]) for bound in entry["routed_m"])
    return Depth(entry["name"], tuple(entry["k"]), entry["k_multiple"], bounds)


def _tuples(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}
