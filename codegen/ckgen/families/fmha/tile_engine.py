"""Tile Engine's configs of forward attention as documents of a kernel set.

Of what the file leaves out all values are asked for, as there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product
from typing import Any

from ckgen.families.common.tile_engine import TileEngineFile, Wanted
from ckgen.families.fmha.config import FmhaPipeline
from ckgen.families.fmha.enums import FmhaBias, FmhaDropout, FmhaKv, FmhaQuant
from ckgen.families.fmha.signature import OP, FmhaSignature, parse_canonical
from ckgen.families.fmha.tree import tree_configs
from ckgen.model.errors import UsageError
from ckgen.specs.archs import load_archs

VARIANT = "fwd"
_OTHERS = ("bwd", "splitkv", "pagedkv", "appendkv", "batch_prefill")
_FLAG = {False: False, True: True}
_NO_SCALE = "ckgen knows no attention of these types"
_V3 = "the pinned CK tree has no such pipeline"
_OURS: Mapping[str, tuple[str, Mapping[Any, Any]]] = {
    "mask": ("masked", {"no": False, "top_left": True, "bottom_right": True, "window_generic": True}),
    "bias": ("bias", {"no": FmhaBias.NONE, "bias": FmhaBias.ELEMENTWISE, "alibi": FmhaBias.ALIBI}),
    "mode": ("varlen", {"batch": False, "group": True}),
    "lse": ("lse", _FLAG),
    "dropout": ("dropout", {False: FmhaDropout.NONE, True: FmhaDropout.PHILOX}),
    "logits": ("softcap", _FLAG),
    "sink": ("sink", _FLAG),
    "paged_kv": ("kv", {False: FmhaKv.CONTIGUOUS, True: FmhaKv.BLOCK_TABLE}),
}
"""By key, the trait here and what its values mean."""
_TYPES = {"fp32": "fp32", "fp16": "fp16", "bf16": "bf16", "fp8bf16": "fp8_bf16"}
_FOREIGN_TYPES = dict.fromkeys(("fp8", "bf8", "fp8fp16", "fp8fp32", "mxfp8", "mxfp4"), _NO_SCALE)
_PIPELINES = {str(one): one for one in FmhaPipeline}
_FOREIGN_PIPELINES = {"qr_async_trload_v3": _V3, "v3": _V3, "qs": _V3, "qr_nwarp_sshuffle": _V3}
_KEYS = ("data_type", "pipeline", *_OURS, "block_per_cu")


def fmha_documents(file: TileEngineFile, wanted: Wanted) -> list[dict[str, Any]]:
    """One for all signatures and archs that have the same kernels."""
    top = file.table((), ("variant", "trait_config"), ("trait_config",))
    variant = top.get("variant", VARIANT)
    if variant != VARIANT:
        hint = f"its kernels are no kernel set of {OP}" if variant in _OTHERS else f"known: {VARIANT}"
        file.say("K005", ("variant",), f"variant cannot be {variant!r}: only {VARIANT!r} is read", hint)
    if wanted.signatures:
        raise UsageError("--signature goes with configs of GEMMs: this one says its types and traits itself")
    given = file.table(("trait_config",), _KEYS) if "trait_config" in top else {}
    signatures = _signatures(file, given)
    pipelines = _words(file, given, "pipeline", _PIPELINES, _FOREIGN_PIPELINES)
    occupancies = _occupancies(file, given)
    if file.errors:
        return []
    together: dict[tuple[str, ...], dict[str, list[str]]] = {}
    for arch in _archs(wanted):
        without = []
        for one in signatures:
            kernels = tuple(
                replace(config, block_per_cu=count).text() if count else config.text()
                for config in tree_configs(one, arch)
                if config.pipeline in pipelines
                for count in occupancies
            )
            if kernels:
                together.setdefault(kernels, {}).setdefault(arch, []).append(str(one))
            else:
                without.append(str(one))
        if without:
            more = f" and {len(without) - 1} more" if len(without) > 1 else ""
            file.note(("trait_config",), f"the pinned CK tree has no such kernel on {arch} of {without[0]}{more}")
    return list(_documents(together, wanted.name))


def _documents(together: Mapping[tuple[str, ...], Mapping[str, list[str]]], name: str) -> Iterator[dict[str, Any]]:
    for kernels, by_arch in together.items():
        archs_of: dict[tuple[str, ...], list[str]] = {}
        for arch, signatures in by_arch.items():
            archs_of.setdefault(tuple(signatures), []).append(arch)
        for texts, archs in archs_of.items():
            head = {"op": OP, "name": name, "signatures": list(texts), "backend": "ck_tile"}
            yield {**head, "targets": archs, "kernels": list(kernels)}


def _words(
    file: TileEngineFile, given: Mapping[str, Any], key: str, ours: Mapping[Any, Any], foreign: Mapping[Any, str]
) -> list[Any]:
    if key not in given:
        return list(dict.fromkeys(ours.values()))
    before = len(file.errors)
    found = file.words(("trait_config", key), given[key], ours, foreign)
    if not found and len(file.errors) == before:
        file.say("K005", ("trait_config", key), f"no {key} of the file is known here")
    return found


def _occupancies(file: TileEngineFile, given: Mapping[str, Any]) -> list[int]:
    """0 is the pipeline's own, which the file calls -1."""
    if "block_per_cu" not in given:
        return [0]
    values: dict[Any, Any] = {-1: 0, **{count: count for count in range(1, 9)}}
    return file.words(("trait_config", "block_per_cu"), given["block_per_cu"], values)


def _signatures(file: TileEngineFile, given: Mapping[str, Any]) -> list[FmhaSignature]:
    """Every legal combination."""
    types = _words(file, given, "data_type", _TYPES, _FOREIGN_TYPES)
    axes = {trait: _words(file, given, key, ours, {}) for key, (trait, ours) in _OURS.items()}
    if "paged_kv" not in given:
        axes["kv"] = [FmhaKv.CONTIGUOUS]  # the variant's own kernels read no pages
    found = []
    for text in types:
        plain = parse_canonical(f"{OP}_{text}")
        scaled: dict[str, Any] = {"quant": FmhaQuant.PER_TENSOR} if text.startswith("fp8") else {}
        for values in product(*axes.values()):
            traits = replace(plain.traits, **scaled, **dict(zip(axes, values, strict=True)))
            signature = replace(plain, traits=traits)
            if not signature.problems():
                found.append(signature)
    if not found and not file.errors:
        file.say("K005", ("trait_config",), "no combination of these traits is legal")
    return found


def _archs(wanted: Wanted) -> list[str]:
    """Those that the words name, as archs or families, or all GPUs."""
    archs = load_archs()
    found = [
        arch.name
        for arch in archs.values()
        if "*" in wanted.targets or arch.name in wanted.targets or arch.family in wanted.targets
    ]
    plain = parse_canonical(f"{OP}_fp16")
    return [name for name in found if tree_configs(plain, name)]
