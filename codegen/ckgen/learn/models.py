"""Which rows are of a model on a number of ranks: those of its layers' N and K."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ckgen.learn.examples import Example
from ckgen.learn.judge import Chooser, Score, score
from ckgen.workload.layer import Product
from ckgen.workload.model_config import read_model
from ckgen.workload.shard import Parallel, layers_of


@dataclass(frozen=True, slots=True)
class Configuration:
    """A model, by its config's file name, on `tp` ranks, and the layers (batch, N, K) of its quantized products."""

    model: str
    tp: int
    layers: frozenset[tuple[int, int, int]]


def configurations(configs: Sequence[Path], ranks: Sequence[int]) -> tuple[Configuration, ...]:
    """Each model on each number of ranks; errors as read_model's."""
    models = [(path.stem, read_model(path)) for path in configs]
    return tuple(
        Configuration(
            name,
            tp,
            frozenset(
                (max(layer.work.batch, 1), layer.work.n, layer.work.k)
                for layer in layers_of(model, Parallel(tp, False, False))
                if isinstance(layer.work, Product) and layer.quantized
            ),
        )
        for name, model in models
        for tp in ranks
    )


def by_model(
    examples: Sequence[Example], every: Sequence[Configuration], ways: Mapping[str, Chooser]
) -> list[tuple[Configuration, Mapping[str, Score]]]:
    """Of each configuration that has rows, each way's score over all M."""
    found: list[tuple[Configuration, Mapping[str, Score]]] = []
    for one in every:
        rows = [example for example in examples if example.group in one.layers]
        if rows:
            found.append((one, {name: score(rows, way)["all"] for name, way in ways.items()}))
    return found
