"""The documents of op fmha in a kernel set: read strictly, with every error located.

`signatures` are names, or a mapping of `types` and traits whose values multiply out, without combinations that mean
nothing. `kernels` are texts of Configs, or `tree`: all that the pinned CK tree's own factories make on each arch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from enum import Enum
from itertools import product
from pathlib import Path
from typing import Any

from ckgen.families.fmha.enums import FmhaTraits
from ckgen.families.fmha.grammar import AnyFmhaConfig, describe_config, parse_config
from ckgen.families.fmha.signature import NO_TRAITS, OP, FmhaSignature, parse_canonical, parse_signature
from ckgen.families.fmha.tree import tree_configs
from ckgen.families.gemm.located_yaml import Located, read_documents
from ckgen.model.backend import Backend
from ckgen.model.diagnostic import Diagnostic, Location
from ckgen.model.errors import InputError, UsageError
from ckgen.specs.archs import load_archs

KEYS = ("op", "name", "signatures", "backend", "targets", "kernels")
TREE = "tree"
_BACKENDS = (Backend.CK_TILE, Backend.HIP, Backend.HOST)
_TRAITS = {field.name: type(getattr(NO_TRAITS, field.name)) for field in fields(FmhaTraits)}


@dataclass(frozen=True, slots=True)
class FmhaCandidate:
    """A kernel that a set asks for, or with `config` None all of the tree; a plain fp8 means the arch's flavour.

    `archs` None is every arch that the backend runs on.
    """

    set_name: str
    signature: FmhaSignature
    backend: Backend
    config: AnyFmhaConfig | None
    archs: frozenset[str] | None
    location: Location

    def is_for(self, arch: str) -> bool:
        """Whether the set names this arch."""
        return self.archs is None or arch in self.archs

    def configs(self, arch: str) -> tuple[AnyFmhaConfig, ...]:
        """What is asked for there, in order of preference."""
        return (self.config,) if self.config is not None else tree_configs(self.signature, arch)


def load_fmha_set(text: str, file: str) -> tuple[FmhaCandidate, ...]:
    """The candidates of a set's documents of op fmha, in file order, repeated ones once; InputError says what is wrong.

    Errors of syntax are those of whoever reads the other documents.
    """
    reader = _Reader()
    documents = (node for node in read_documents(text, file, lambda _: None) if is_fmha(node))
    found = [candidate for node in documents for candidate in reader.document(node)]
    if reader.errors:
        raise InputError(reader.errors)
    keys = {(c.signature, c.backend, c.config, c.archs): c for c in reversed(found)}
    return tuple(reversed(keys.values()))


def read_fmha_set(path: Path) -> tuple[FmhaCandidate, ...]:
    """The candidates of a file; none where it cannot be read, which whoever reads the other documents reports."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ()
    return load_fmha_set(text, str(path))


def is_fmha(node: Located) -> bool:
    """Whether a document is one of op fmha."""
    op = node.value.get("op") if isinstance(node.value, dict) else None
    return op is not None and op.value == OP


def trait_words(name: str) -> tuple[str, ...]:
    """The words that a field of the traits may have."""
    kind = _TRAITS[name]
    return tuple(str(one.value) for one in kind) if issubclass(kind, Enum) else ("false", "true")


class _Reader:
    """Turns documents into candidates and keeps every error."""

    def __init__(self) -> None:
        self.errors: list[Diagnostic] = []

    def document(self, node: Located) -> Iterator[FmhaCandidate]:
        assert isinstance(node.value, dict)
        found = node.value
        for key, value in found.items():
            if key not in KEYS:
                self._say("K003", value, f"unknown key '{key}'", _did_you_mean(key, KEYS))
        missing = [key for key in KEYS if key not in found]
        for key in missing:
            self._say("K004", node, f"key '{key}' is missing")
        if missing:
            return
        backend = self._backend(found["backend"])
        archs, signatures = self._targets(found["targets"]), self._signatures(found["signatures"])
        if not isinstance(found["name"].value, str) or not found["name"].value:
            self._say("K005", found["name"], "name must be a word")
        if backend is None:
            return
        for config, location in self._kernels(backend, found["kernels"]):
            for signature in signatures:
                yield FmhaCandidate(str(found["name"].value), signature, backend, config, archs, location)

    def _backend(self, node: Located) -> Backend | None:
        backend = next((backend for backend in _BACKENDS if backend.value == node.value), None)
        if backend is None:
            known = [str(backend) for backend in _BACKENDS]
            self._say("K005", node, f"op {OP} has no backend {node.value!r}", _did_you_mean(str(node.value), known))
        return backend

    def _targets(self, node: Located) -> frozenset[str] | None:
        if node.value == "*":
            return None
        names = [item for item in node.items() if isinstance(item.value, str)]
        if not names or len(names) != len(node.items()):
            self._say("K005", node, 'targets must be arch names or "*"')
        for item in names:
            if item.value not in load_archs():
                self._say("K005", item, f"unknown arch: {item.value!r}", _did_you_mean(str(item.value), load_archs()))
        return frozenset(str(item.value) for item in names)

    def _kernels(self, backend: Backend, node: Located) -> Iterator[tuple[AnyFmhaConfig | None, Location]]:
        if not node.items():
            self._say("K005", node, "kernels must name at least one")
        for item in node.items():
            if item.value == TREE and backend is Backend.CK_TILE:
                yield None, item.location
                continue
            config = parse_config(backend, str(item.value))
            if config is not None:
                yield config, item.location
            else:
                expected = describe_config(backend) + (f", or {TREE}" if backend is Backend.CK_TILE else "")
                message = f"not a kernel of op {OP} for backend {backend}: {str(item.value)!r}"
                self._say("K007", item, message, f"expected {expected}")

    def _signatures(self, node: Located) -> list[FmhaSignature]:
        found: list[FmhaSignature] = []
        for item in node.items():
            if isinstance(item.value, dict):
                found += self._products(item, item.value)
                continue
            try:
                found.append(parse_signature(str(item.value), None))
            except UsageError as error:
                self._say("K006", item, str(error))
        if not node.items():
            self._say("K005", node, "signatures must name at least one")
        return found

    def _products(self, node: Located, given: dict[str, Located]) -> Iterator[FmhaSignature]:
        """Every legal combination of the types and the values of traits."""
        if "types" not in given:
            self._say("K004", node, "key 'types' is missing from signatures")
            return
        axes: dict[str, list[Any]] = {}
        for key, value in given.items():
            if key != "types" and key not in _TRAITS:
                self._say("K003", value, f"unknown key '{key}'", _did_you_mean(key, ("types", *_TRAITS)))
            elif key != "types":
                axes[key] = self._values(key, value)
        for item in given["types"].items():
            try:
                plain = _of_types(str(item.value))
            except UsageError as error:
                self._say("K006", item, str(error))
                continue
            for values in product(*axes.values()):
                signature = replace(plain, traits=replace(plain.traits, **dict(zip(axes, values, strict=True))))
                if not signature.problems():
                    yield signature

    def _values(self, key: str, node: Located) -> list[Any]:
        known, kind = trait_words(key), _TRAITS[key]
        if node.value == "*":
            return [_value(kind, word) for word in known]
        found = []
        for item in node.items():
            if item.value in known:
                found.append(_value(kind, str(item.value)))
            else:
                self._say("K005", item, f"{key} cannot be {item.value!r}", f"known: {', '.join(known)}")
        return found

    def _say(self, code: str, node: Located, message: str, hint: str | None = None) -> None:
        found = Diagnostic(code, message, node.location, hint=hint)
        if found not in self.errors:
            self.errors.append(found)


def _of_types(text: str) -> FmhaSignature:
    """The types alone; the traits that make them legal come later."""
    return parse_canonical(f"{OP}_{text}")


def _value(kind: type, word: str) -> Any:
    return kind(word) if issubclass(kind, Enum) else word == "true"


def _did_you_mean(got: str, known: Iterable[str]) -> str:
    names = list(known)
    close = get_close_matches(got, names, n=1)
    return f"did you mean '{close[0]}'?" if close else f"known: {', '.join(names)}"
