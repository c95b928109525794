"""The models of examples/models, and what real tables were tuned for."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

from ckgen import paths
from ckgen.workload.layer import Experts, Layer, Product
from ckgen.workload.model_config import ModelConfig, read_model
from ckgen.workload.shard import Parallel, layers_of

MODELS = paths.root() / "examples" / "models"
TABLES = paths.root() / "tuning" / "aiter" / "model_configs"


def model(name: str) -> ModelConfig:
    return read_model(MODELS / f"{name}.json")


def products(name: str, ranks: tuple[int, ...]) -> set[tuple[int, int]]:
    """N and K of the quantized products."""
    return {
        (layer.work.n, layer.work.k)
        for tp in ranks
        for layer in layers_of(model(name), Parallel(tp))
        if layer.quantized and isinstance(layer.work, Product)
    }


def rows(table: str) -> list[dict[str, str]]:
    with (TABLES / f"{table}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def tuned(table: str) -> set[tuple[int, int]]:
    """N and K of a table's rows."""
    return {(int(row["N"]), int(row["K"])) for row in rows(table)}


def named(layers: tuple[Layer, ...]) -> dict[str, Layer]:
    return {layer.name: layer for layer in layers}


def experts(layers: tuple[Layer, ...]) -> Iterator[Experts]:
    yield from (layer.work for layer in layers if isinstance(layer.work, Experts))


def written(folder: Path, text: str) -> Path:
    path = folder / "config.json"
    path.write_text(text, encoding="utf-8")
    return path
