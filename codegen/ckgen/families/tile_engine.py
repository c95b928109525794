"""Tile Engine's JSON configs as kernel sets: which reader, and the YAML."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ckgen.families.common.tile_engine import Imported, TileEngineFile, Wanted
from ckgen.families.fmha.tile_engine import fmha_documents
from ckgen.families.gemm.tile_engine import gemm_documents
from ckgen.model.diagnostic import Diagnostic, Location
from ckgen.model.document import JSON, DocumentError, read_text
from ckgen.model.errors import InputError, UsageError
from ckgen.model.json_document import parse_json
from ckgen.model.json_positions import scan
from ckgen.model.suggestion import nearest_or_all
from ckgen.specs.archs import load_archs

_OF_FMHA = ("variant", "data_type", "mask", "bias")
"""Keys that configs of attention have, and those of GEMMs do not."""


def import_config(path: Path, wanted: Wanted) -> Imported:
    """The kernel set that a config means; InputError (K001 to K005) carries everything that is wrong with it."""
    _check_targets(wanted.targets)
    try:
        text = read_text(path, JSON)
        parsed = parse_json(text)
    except DocumentError as error:
        raise InputError([error.diagnostic("K001", path, "give a JSON config of Tile Engine")]) from None
    if parsed.repeats:
        raise InputError(_repeated(text, str(path)))
    if not isinstance(parsed.value, dict):
        raise InputError([Diagnostic("K005", "a config must be an object", Location(str(path), 1))])
    file = TileEngineFile(parsed.value, text, str(path))
    documents = fmha_documents(file, wanted) if _is_fmha(parsed.value) else gemm_documents(file, wanted)
    if file.errors:
        raise InputError(file.errors)
    if not documents:
        raise InputError([Diagnostic("K008", "the config asks for nothing that ckgen has", Location(str(path)))])
    return Imported(documents, tuple(dict.fromkeys(file.notes)))


def set_text(documents: Iterable[Mapping[str, Any]]) -> str:
    """The kernel set as YAML."""
    import yaml

    text: str = yaml.safe_dump_all(documents, sort_keys=False, width=120, default_flow_style=None)
    return text


def _is_fmha(document: Mapping[str, Any]) -> bool:
    traits = document.get("trait_config")
    return any(key in document or (isinstance(traits, dict) and key in traits) for key in _OF_FMHA)


def _check_targets(words: Iterable[str]) -> None:
    archs = load_archs()
    known = list(dict.fromkeys(["*", *archs, *(arch.family for arch in archs.values())]))
    for word in words:
        if word not in known:
            raise UsageError(f"--archs: unknown arch or family '{word}' ({nearest_or_all(word, known)})")


def _repeated(text: str, file: str) -> list[Diagnostic]:
    return [
        Diagnostic("K002", f"key '{path[-1]}' stands twice", Location(file, second), related=(Location(file, first),))
        for path, first, second in scan(text).duplicates
    ]
