"""What a model asks on each target, by signature: the cells of maps that are about a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ckgen.model.arch import ArchSpec
from ckgen.model.target import Target
from ckgen.report.coverage_maps import Asked, Work
from ckgen.workload.coverage import canonical_of
from ckgen.workload.layer import Attention
from ckgen.workload.model_config import ModelConfig
from ckgen.workload.shard import Parallel, layers_of
from ckgen.workload.signatures import Spelled, signature_of


def asked_of_model(
    model: ModelConfig, divided: Sequence[Parallel], spelled: Spelled, targets: Sequence[Target],
    archs: Mapping[str, ArchSpec],
) -> dict[tuple[Target, str], Asked]:  # fmt: skip
    """By target and signature the layers of a rank, with their names; not attention, whose lengths no config tells.

    Layers whose signature neither the config nor `spelled` tells are left out. InputError as of `layers_of`.
    """
    found: dict[tuple[Target, str], dict[Work, list[str]]] = {}
    for parallel in divided:
        for layer in layers_of(model, parallel):
            text, work = signature_of(model, layer, spelled), layer.work
            if not text or isinstance(work, Attention):
                continue
            for target in targets:
                name = canonical_of(work, text, archs[target.gfx])
                found.setdefault((target, name), {}).setdefault(work, []).append(f"{layer.name} tp {parallel.tp}")
    return {key: {work: ", ".join(names) for work, names in works.items()} for key, works in found.items()}


def left_out(model: ModelConfig, divided: Sequence[Parallel], spelled: Spelled) -> list[str]:
    """The layers, attention apart, whose signature is not told, each once."""
    layers = (layer for parallel in divided for layer in layers_of(model, parallel))
    return list(
        dict.fromkeys(
            layer.name
            for layer in layers
            if not isinstance(layer.work, Attention) and not signature_of(model, layer, spelled)
        )
    )
