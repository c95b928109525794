"""Tile Engine's configs of GEMMs as documents of a kernel set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import prod
from typing import Any

from ckgen.families.common.set_document import MOST_COMBINATIONS
from ckgen.families.common.tile_engine import TileEngineFile, Wanted
from ckgen.families.gemm.enums import Op
from ckgen.families.gemm.signature import GemmSignature, parse_signature
from ckgen.model.errors import UsageError

_TILES = ("tile", "warp", "warp_tile")
_AXES = tuple(f"{name}_{axis}" for name in _TILES for axis in "mnk")
_FLAG = {False: False, True: True}
_SHUFFLED = "kernels of a preshuffled B are named by their tables' names here: give them as 'kernels'"
_TRAITS: Mapping[str, Mapping[Any, Any]] = {
    "pipeline": {word: word for word in ("mem", "compv3", "compv4", "compv5", "compv6", "comp_async")},
    "scheduler": {word: word for word in ("intrawave", "interwave", "default")},
    "epilogue": {word: word for word in ("cshuffle", "default")},
    "pad_m": _FLAG,
    "pad_n": _FLAG,
    "pad_k": _FLAG,
    "persistent": _FLAG,
}
_FOREIGN = {"preshufflev1": _SHUFFLED, "preshufflev2": _SHUFFLED}
_STRATEGIES = {"atomic": "atomic", "linear": "linear", "reduction": "linear", "tree": "tree"}
_PROBLEM = tuple(f"{what}_{operand}" for what in ("layout", "datatype") for operand in "abc")
_TYPES = ("fp32", "fp16", "bf16", "fp8", "bf8", "int8", "int32")
_ELSEWHERE = {
    "multi_d_config": "tensors of D and what is done with them are the signature's: gemm_fp16_rcr_epi_add_relu",
    "multi_abd_config": "further tensors of A, B and D are the signature's",
}
_KEYS = ("problem", "tile_config", "trait_config", "k_block_per_cu", "permute_n", "streamk_config", *_ELSEWHERE)


def gemm_documents(file: TileEngineFile, wanted: Wanted) -> list[dict[str, Any]]:
    """One for each op that the signatures are of, and more where one block would multiply out to too many."""
    top = file.table((), _KEYS, ("tile_config", "trait_config"))
    configs = _configs(file, top)
    strategies = _strategies(file) if "streamk_config" in top else []
    for key, why in _ELSEWHERE.items():
        if key in top:
            file.note((key,), why)
    if file.errors:
        return []
    signatures = _signatures(file, wanted, "problem" in top)
    if file.errors:
        return []
    found = []
    for op, names in _by_op(signatures, is_stream_k=bool(strategies)).items():
        block = {**configs, "strategy": strategies} if op == "stream_k" else configs
        for part in _parts(block, len(names)):
            head = {"op": op, "name": wanted.name, "signatures": names, "backend": "ck_tile"}
            found.append({**head, "targets": wanted.targets_value(), "configs": part})
    return found


def _configs(file: TileEngineFile, top: Mapping[str, Any]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    axes = file.table(("tile_config",), _AXES, _AXES) if "tile_config" in top else {}
    sizes = {name: file.sizes(("tile_config", name), value) for name, value in axes.items()}
    for name, ours in zip(_TILES, ("tile", "warps", "warp_tile"), strict=True):
        triples = product(*(sizes.get(f"{name}_{axis}", []) for axis in "mnk"))
        found[ours] = ["x".join(map(str, one)) for one in triples]
    traits = file.table(("trait_config",), _TRAITS, ("pipeline",)) if "trait_config" in top else {}
    for name, value in traits.items():
        foreign = _FOREIGN if name == "pipeline" else None
        before = len(file.errors)
        found[name] = file.words(("trait_config", name), value, _TRAITS[name], foreign)
        if not found[name] and len(file.errors) == before:
            file.say("K005", ("trait_config", name), f"no {name} of the file is one of backend ck_tile")
    if "k_block_per_cu" in top:
        count = top["k_block_per_cu"]
        if type(count) is not int or count < 1:
            file.say("K005", ("k_block_per_cu",), "k_block_per_cu must be an integer of at least 1")
        found["block_per_cu"] = [count]
    if "permute_n" in top:
        if not isinstance(top["permute_n"], bool):
            file.say("K005", ("permute_n",), "permute_n must be true or false")
        found["permute_n"] = [top["permute_n"]]
    return found


def _strategies(file: TileEngineFile) -> list[Any]:
    keys = file.table(("streamk_config",), ("reduction_strategy",), ("reduction_strategy",))
    path = ("streamk_config", "reduction_strategy")
    return file.words(path, keys["reduction_strategy"], _STRATEGIES) if keys else []


def _signatures(file: TileEngineFile, wanted: Wanted, has_problem: bool) -> list[GemmSignature]:
    """Those that are asked for; else those of the file's problem, whose types and layouts multiply out."""
    if wanted.signatures:
        if has_problem:
            file.note(("problem",), "--signature says it")
        return [parse_signature(text, None) for text in wanted.signatures]
    if not has_problem:
        raise UsageError("the file has no 'problem': say with --signature what is computed, such as fp16")
    keys = file.table(("problem",), _PROBLEM, _PROBLEM)
    words = {name: _problem_words(file, name, value) for name, value in keys.items()}
    found = []
    for la, lb, lc, a, b, c in product(*(words.get(name, []) for name in _PROBLEM)):
        types = [a] if a == b == c else [a, c] if a == b else [a, b, c]
        text = f"gemm_{'_'.join(types)}_{la}{lb}{lc}"
        try:
            found.append(parse_signature(text, None))
        except UsageError as error:
            file.note(("problem", text), f"{error}; say what is meant with --signature")
    if not found and not file.errors:
        file.say("K005", ("problem",), "no signature is left", "say with --signature what is computed")
    return found


def _problem_words(file: TileEngineFile, name: str, value: Any) -> list[str]:
    if name.startswith("layout"):
        return file.words(("problem", name), value, {"r": "r", "c": "c"})
    return file.words(
        ("problem", name), value, {one: one for one in ("fp32", "fp16", "bf16", "fp8", "bf8", "int8", "int32")}
    )


def _by_op(signatures: Sequence[GemmSignature], *, is_stream_k: bool) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for one in signatures:
        op = "stream_k" if is_stream_k and one.op is Op.GEMM else str(one.op)
        found.setdefault(op, []).append(one.canonical())
    return found


def _parts(block: Mapping[str, list[Any]], signatures: int) -> Iterator[Mapping[str, list[Any]]]:
    """The block in halves of its longest list, until each multiplies out to no more than a document may."""
    if prod(map(len, block.values())) * signatures <= MOST_COMBINATIONS:
        yield block
        return
    key = max(block, key=lambda name: len(block[name]))
    half = len(block[key]) // 2
    for part in (block[key][:half], block[key][half:]):
        yield from _parts({**block, key: part}, signatures)
