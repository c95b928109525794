"""The documents of op fmha in a kernel set: read strictly, with every error located.

`signatures` are names, or a mapping of `types` and traits whose values multiply out, without combinations that mean
nothing. `kernels` are texts of Configs, `tree`: all that the pinned CK tree's own factories make on each arch of those
that take all keys of a row, or `split_tree`: of those that share them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from enum import Enum
from itertools import product
from typing import Any

from ckgen.families.common.set_document import SetCandidate, SetReader, too_many_combinations
from ckgen.families.fmha.append_problem import appends, goes_back
from ckgen.families.fmha.enums import FmhaTraits
from ckgen.families.fmha.grammar import AnyFmhaConfig, describe_config, parse_config
from ckgen.families.fmha.signature import NO_TRAITS, OP, FmhaSignature, parse_canonical, parse_signature
from ckgen.families.fmha.tree import append_configs, backward_configs, tree_configs
from ckgen.model.backend import Backend
from ckgen.model.diagnostic import Location
from ckgen.model.errors import UsageError
from ckgen.model.located_yaml import Located
from ckgen.model.suggestion import nearest_or_all

KEYS = ("op", "name", "signatures", "backend", "targets", "kernels")
TREE, SPLIT_TREE = "tree", "split_tree"
_BACKENDS = (Backend.CK_TILE, Backend.HIP, Backend.ASM, Backend.HOST)
_TRAITS = {field.name: type(getattr(NO_TRAITS, field.name)) for field in fields(FmhaTraits)}


@dataclass(frozen=True, slots=True)
class FmhaCandidate(SetCandidate[FmhaSignature, AnyFmhaConfig | str]):
    """With `config` TREE or SPLIT_TREE all of it."""

    def configs(self, arch: str) -> tuple[AnyFmhaConfig, ...]:
        """What is asked for there, in order of preference."""
        if not isinstance(self.config, str):
            return (self.config,)
        if appends(self.signature.traits):
            return append_configs(self.signature, arch)
        if goes_back(self.signature.traits):
            return backward_configs(self.signature, arch)
        return tree_configs(self.signature, arch, splits=self.config == SPLIT_TREE)


def trait_words(name: str) -> tuple[str, ...]:
    """The words that a field of the traits may have."""
    kind = _TRAITS[name]
    return tuple(str(one.value) for one in kind) if issubclass(kind, Enum) else ("false", "true")


class FmhaSetReader(SetReader):
    """Turns documents into candidates."""

    def document(self, node: Located) -> Iterator[FmhaCandidate]:
        assert isinstance(node.value, dict)
        found = node.value
        if not self.has_keys(node, KEYS, KEYS):
            return
        backend = self.backend(found["backend"], _BACKENDS, f"op {OP} has no backend")
        archs, signatures = self.targets(found["targets"]), self._signatures(found["signatures"])
        name = self.name(found["name"])
        if backend is None:
            return
        kernels = list(self._kernels(backend, found["kernels"]))
        if wrong := too_many_combinations((len(kernels), len(signatures)), node.location):
            self.report(wrong)
            return
        for config, location in kernels:
            for signature in signatures:
                yield FmhaCandidate(name, signature, backend, config, archs, location)

    def _kernels(self, backend: Backend, node: Located) -> Iterator[tuple[AnyFmhaConfig | str, Location]]:
        if not node.items():
            self.say("K005", node, "kernels must name at least one")
        for item in node.items():
            if item.value in (TREE, SPLIT_TREE) and backend is Backend.CK_TILE:
                yield str(item.value), item.location
                continue
            config = parse_config(backend, str(item.value))
            if config is not None:
                yield config, item.location
            else:
                words = f", {TREE} or {SPLIT_TREE}" if backend is Backend.CK_TILE else ""
                expected = describe_config(backend) + words
                message = f"not a kernel of op {OP} for backend {backend}: {str(item.value)!r}"
                self.say("K007", item, message, f"expected {expected}")

    def _signatures(self, node: Located) -> list[FmhaSignature]:
        found: list[FmhaSignature] = []
        for item in node.items():
            if wrong := too_many_combinations((len(found),), node.location):
                self.report(wrong)
                return []
            if isinstance(item.value, dict):
                found += self._products(item, item.value)
                continue
            try:
                found.append(parse_signature(str(item.value), None))
            except UsageError as error:
                self.say("K006", item, str(error))
        if not node.items():
            self.say("K005", node, "signatures must name at least one")
        return found

    def _products(self, node: Located, given: dict[str, Located]) -> Iterator[FmhaSignature]:
        """Every legal combination of the types and the values of traits."""
        if "types" not in given:
            self.say("K004", node, "key 'types' is missing from signatures")
            return
        axes: dict[str, list[Any]] = {}
        for key, value in given.items():
            if key != "types" and key not in _TRAITS:
                self.say("K003", value, f"unknown key '{key}'", nearest_or_all(key, ("types", *_TRAITS)))
            elif key != "types":
                axes[key] = self._values(key, value)
        types = given["types"].items()
        if wrong := too_many_combinations((len(types), *map(len, axes.values())), node.location):
            self.report(wrong)
            return
        for item in types:
            try:
                plain = _of_types(str(item.value))
            except UsageError as error:
                self.say("K006", item, str(error))
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
                self.say("K005", item, f"{key} cannot be {item.value!r}", f"known: {', '.join(known)}")
        return found


def _of_types(text: str) -> FmhaSignature:
    """The types alone; the traits that make them legal come later."""
    return parse_canonical(f"{OP}_{text}")


def _value(kind: type, word: str) -> Any:
    return kind(word) if issubclass(kind, Enum) else word == "true"
