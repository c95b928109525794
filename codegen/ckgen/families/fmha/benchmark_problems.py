"""Attention problems of public models, for benchmarks and tests: what is in `benchmark_problems.yaml`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from ckgen.families.fmha.enums import FmhaBias, FmhaDropout, FmhaEntry, FmhaKv, FmhaQuant
from ckgen.families.fmha.mask import FmhaMask, parse_mask
from ckgen.families.fmha.signature import FLOAT8, FmhaSignature
from ckgen.model.dtype import DType
from ckgen.model.fmha_shape import FmhaShape
from ckgen.model.word import Word

_FILE = Path(__file__).with_name("benchmark_problems.yaml")
_OF_PROBLEM = frozenset({"phase", "batch", "lengths", "mask", "varlen", "dtype", "kv", "page", "kv_dtype", "dropout"})
_OF_MODEL = frozenset({"model", "dtype", "heads", "hdims", "softcap", "sink", "bias", "config", "problems"})


class Phase(Word):
    """Which part of a model's work."""

    PREFILL = "prefill"
    DECODE = "decode"
    VIT = "vit"
    ENCODER = "encoder"
    CROSS = "cross"
    DIFFUSION = "diffusion"
    TRAINING = "training"


@dataclass(frozen=True, slots=True)
class BenchmarkProblem:
    """One call; softcap is 0 where there is none. `config`: where the model's config.json has a field."""

    model: str
    phase: Phase
    signature: FmhaSignature
    shape: FmhaShape
    softcap: float
    config: tuple[tuple[str, str], ...]

    @property
    def mask(self) -> FmhaMask:
        """Of the shape."""
        return FmhaMask.of(self.shape, self.signature.traits.masked)


@cache
def benchmark_problems() -> tuple[BenchmarkProblem, ...]:
    """Those of forward, in the file's order; ValueError names the model of a bad entry."""
    return tuple(one for one in _all_problems() if one.phase is not Phase.TRAINING)


@cache
def training_problems() -> tuple[BenchmarkProblem, ...]:
    """Those of backward, in the file's order."""
    return tuple(one for one in _all_problems() if one.phase is Phase.TRAINING)


@cache
def _all_problems() -> tuple[BenchmarkProblem, ...]:
    import yaml

    models: list[dict[str, Any]] = yaml.safe_load(_FILE.read_text(encoding="utf-8"))
    return tuple(problem for model in models for problem in _of_model(model))


def _of_model(model: dict[str, Any]) -> list[BenchmarkProblem]:
    strange = (model.keys() - _OF_MODEL) | {key for entry in model["problems"] for key in entry.keys() - _OF_PROBLEM}
    if strange:
        raise ValueError(f"{_FILE.name}, {model['model']}: unknown {', '.join(sorted(strange))}")
    return [_problem(model, entry) for entry in model["problems"]]


def _problem(model: dict[str, Any], entry: dict[str, Any]) -> BenchmarkProblem:
    mask_text = entry.get("mask", "none")
    mask, (heads_q, heads_k), (hdim_q, hdim_v) = parse_mask(mask_text), model["heads"], model["hdims"]
    (queries, keys), batch = entry["lengths"], entry["batch"]
    shape = FmhaShape(batch, heads_q, heads_k, queries, keys, hdim_q, hdim_v)
    if mask_text != "none":
        shape = replace(
            shape, corner=mask.corner, window_left=mask.left, window_right=mask.right, sink_tokens=mask.sink_tokens
        )
    page = entry.get("page", 0)
    shape = replace(shape, page_size=page, pages=batch * -(-keys // page) if page else 0)
    dtype = DType(entry.get("dtype", model["dtype"]))
    kv_dtype = DType(entry.get("kv_dtype", dtype.value))
    signature = FmhaSignature.of(
        dtype,
        DType(model["dtype"]),
        b=kv_dtype,
        entry=FmhaEntry.BACKWARD if entry["phase"] == Phase.TRAINING.value else FmhaEntry.FORWARD,
        dropout=FmhaDropout.PHILOX if entry.get("dropout", False) else FmhaDropout.NONE,
        kv=FmhaKv(entry.get("kv", "contiguous")),
        varlen=entry.get("varlen", False),
        masked=mask_text != "none",
        bias=FmhaBias(model.get("bias", "none")),
        softcap="softcap" in model,
        sink=model.get("sink", False),
        quant=FmhaQuant.PER_TENSOR if kv_dtype in FLOAT8 else FmhaQuant.NONE,
    )
    found = BenchmarkProblem(
        model["model"], Phase(entry["phase"]), signature, shape, model.get("softcap", 0.0),
        tuple(sorted(model["config"].items())),
    )  # fmt: skip
    if reasons := signature.problems():
        raise ValueError(f"{_FILE.name}, {found.model}: {'; '.join(reasons)}")
    return found
