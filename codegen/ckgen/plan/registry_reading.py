"""What every part of a registry document is read with: fields and their errors, each with its place."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from ckgen.families.fmha.instance import FmhaInstance
from ckgen.families.gemm.instance import Instance
from ckgen.families.registry import Signature
from ckgen.families.rules import judge
from ckgen.model import fields
from ckgen.model.arch import ArchKind, ArchSpec
from ckgen.model.backend import Backend
from ckgen.model.fields import Unreadable, check_keys, decode, shown
from ckgen.plan.model import AnyInstance
from ckgen.plan.offers import of_flavour

PRINT_AGAIN = "print the document again with `ckgen export`, or correct the fields"
_CODES = {fields.UNKNOWN: "R003", fields.MISSING_KEY: "R004", fields.WRONG: "R005"}

Made = TypeVar("Made", Instance, FmhaInstance)

Place = fields.Path
Instances = Sequence[AnyInstance | None]
"""A unit's, None where one could not be read."""


def refusals_of(instance: AnyInstance, arch: ArchSpec) -> list[str]:
    """Why the instance cannot be built for the arch."""
    if (instance.backend is Backend.HOST) != (arch.kind is ArchKind.CPU):
        return [f"{instance.backend} is not a backend of it"]
    found = (
        [] if arch.kind is ArchKind.CPU or of_flavour(instance.signature, arch.fp8_flavour) else ["other fp8 encoding"]
    )
    return [*found, *map(str, judge(instance.signature, instance.config, instance.backend, arch))]


class Reading:
    """Keeps every error with its place; what is read after one is not to be used."""

    def __init__(self, archs: Mapping[str, ArchSpec]) -> None:
        self.archs = archs
        self.found: list[tuple[str, Place, str, str | None]] = []
        self.names: set[str] = set()
        self.signatures: set[Signature] = set()

    def report(self, kind: str, place: Place, message: str, hint: str | None) -> None:
        self.found.append((_CODES[kind], place, message, hint))

    def is_new_unit(self, signature: Signature, name: Any, at: Place) -> None:
        """A signature has one unit, whose name is its own."""
        if signature in self.signatures:
            self.say("R006", at, f"the unit of {signature.canonical()} stands twice", "remove one")
        self.signatures.add(signature)
        if signature.canonical() != name:
            self.say(
                "R006",
                (*at, "name"),
                f"its fields spell {signature.canonical()}, not {shown(name)}",
                PRINT_AGAIN,
            )

    def instance(
        self,
        value: Mapping[str, Any],
        kinds: tuple[Any, Any],
        made: Callable[[Any, Backend, list[str]], Made | None],
        at: Place,
    ) -> Made | None:
        """The instance of a document, of `kinds` of Config and constraints; `made` is None where it said what is wrong.

        Also None where fields cannot be read or make no kernel. `value` has all keys.
        """
        name = self.decoded(str, value["name"], (*at, "name"))
        backend: Backend | None = self.decoded(Backend, value["backend"], (*at, "backend"))
        kind, of_constraints = kinds
        config = self.decoded(kind, value["config"], (*at, "config"))
        constraints = self.decoded(of_constraints, value["constraints"], (*at, "constraints"))
        archs = [self.arch(place, text) for place, text in self.items(value, "archs", at)]
        known = [arch for arch in archs if arch is not None]
        if None in (name, backend, config, constraints) or backend is None or not known or len(known) < len(archs):
            return None
        if config.backend is not backend:
            self.say("R006", (*at, "backend"), f"its config is of backend {config.backend}, not of {backend}")
            return None
        try:
            instance = made(config, backend, [arch.name for arch in known])
            refusals = (
                [(arch, refusal) for arch in known for refusal in refusals_of(instance, arch)] if instance else []
            )
        except (ArithmeticError, KeyError) as error:
            self.say("R006", (*at, "config"), f"its fields make no kernel: {type(error).__name__} {error}", PRINT_AGAIN)
            return None
        if instance is not None:
            self.agrees(instance, value, constraints, at)
        for arch, refusal in refusals:
            text = f"{value['name']} cannot be built for {arch.name}: {refusal}"
            self.say("R007", at, text, "see `ckgen list rules`")
        return instance

    def agrees(self, instance: AnyInstance, value: Mapping[str, Any], constraints: object, at: Place) -> None:
        """What the document says twice must be said alike: the fields decide."""
        if instance.name != value["name"]:
            self.say("R006", (*at, "name"), f"its fields spell {instance.name}, not {value['name']}", PRINT_AGAIN)
        elif f"{instance.id:016x}" != value["id"]:
            self.say(
                "R006",
                (*at, "id"),
                f"the id of {instance.name} is {instance.id:016x}, not {shown(value['id'])}",
                PRINT_AGAIN,
            )
        if instance.constraints != constraints:
            self.say("R006", (*at, "constraints"), f"not those of {instance.name}'s fields", PRINT_AGAIN)
        if sorted(set(instance.archs)) != value["archs"]:
            self.say("R006", (*at, "archs"), "archs must be distinct and sorted")
        if instance.name in self.names:
            self.say("R006", (*at, "name"), f"{instance.name} stands twice", "remove one")
        self.names.add(instance.name)

    def defaults(self, value: Any, at: Place, instances: Instances) -> dict[str, tuple[int, ...]]:
        if not isinstance(value, dict):
            self.say("R005", at, f"expected an object, got {shown(value)}")
            return {}
        found = {}
        for arch, indices in value.items():
            self.arch((*at, arch), arch)
            found[arch] = self.indices(indices, (*at, arch), instances, arch) or ()
        return found

    def indices(self, value: Any, at: Place, instances: Instances, arch: str) -> tuple[int, ...] | None:
        found: tuple[int, ...] | None = self.decoded(tuple[int, ...], value, at)
        for index in found or ():
            if not 0 <= index < len(instances):
                self.say("R006", at, f"there is no instance {index}: the unit has {len(instances)}")
                return None
            instance = instances[index]
            if instance is not None and arch not in instance.archs:
                self.say("R006", at, f"instance {index}, {instance.name}, is not built for {arch}")
        return found

    def arch(self, at: Place, name: Any) -> ArchSpec | None:
        arch = self.archs.get(name) if isinstance(name, str) else None
        if arch is None:
            self.say("R005", at, f"unknown arch: {shown(name)}", f"known: {', '.join(self.archs)}")
        return arch

    def items(self, value: Mapping[str, Any], key: str, at: Place) -> list[tuple[Place, Any]]:
        items = value[key]
        if not isinstance(items, list):
            self.say("R005", (*at, key), f"expected an array, got {shown(items)}")
            return []
        if not items and key != "heuristics":
            self.say("R005", (*at, key), f"{key} must not be empty")
        return [((*at, key, index), item) for index, item in enumerate(items)]

    def decoded(self, hint: Any, value: Any, at: Place) -> Any:
        try:
            return decode(hint, value, at, self.report)
        except Unreadable:
            return None

    def has_keys(self, value: Any, keys: tuple[str, ...], at: Place) -> bool:
        try:
            check_keys(value, list(keys), list(keys), at, self.report)
        except Unreadable:
            return False
        return True

    def say(self, code: str, at: Place, message: str, hint: str | None = None) -> None:
        self.found.append((code, at, message, hint))
