"""A registry document back into the plan of its instances: strict, every error at once, each with its line."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ckgen.families.gemm.config import GemmConfig, strategy_of
from ckgen.families.gemm.enums import Op
from ckgen.families.gemm.heuristic import heuristic_for
from ckgen.families.gemm.instance import Instance, make_instance
from ckgen.families.gemm.problem_rules import Constraints
from ckgen.families.gemm.signature import GemmSignature
from ckgen.families.tables import table_modules
from ckgen.model import fields
from ckgen.model.arch import ArchKind, ArchSpec
from ckgen.model.backend import Backend
from ckgen.model.diagnostic import Diagnostic, Location
from ckgen.model.errors import InputError, UsageError
from ckgen.model.fields import Unreadable, check_keys, decode, shown
from ckgen.model.strategy import Strategy
from ckgen.model.target import Target
from ckgen.plan.defaults import of_flavour
from ckgen.plan.identify import is_plain
from ckgen.plan.model import GenerationPlan, HeuristicPlan, UnitPlan
from ckgen.plan.registry_document import HEURISTIC_KEYS, INSTANCE_KEYS, SCHEMA, UNIT_KEYS, plan_of_units
from ckgen.rules import judge
from ckgen.specs.positions import scan
from ckgen.specs.targets import parse_targets

_CODES = {fields.UNKNOWN: "R003", fields.MISSING_KEY: "R004", fields.WRONG: "R005"}
_DOCUMENT_KEYS = ("schema", "targets", "units")
_PRINT_AGAIN = "print the document again with `ckgen export`, or correct the fields"

Place = fields.Path
Instances = list[Instance | None]
"""A unit's, None where one could not be read."""


def read_registry(path: Path, archs: Mapping[str, ArchSpec]) -> GenerationPlan:
    """The plan of a file's instances; InputError carries everything that is wrong with it (R001 to R007)."""
    file = str(path)
    text, document, repeats = _loaded(path)
    reader = _Reader(archs)
    plan = reader.document(document)
    if not reader.found and not repeats:
        return plan
    positions = scan(text)
    raise InputError(
        [
            *(
                Diagnostic(
                    "R002", f"key '{place[-1]}' stands twice", Location(file, line), related=(Location(file, first),)
                )
                for place, line, first in positions.duplicates
            ),
            *(
                Diagnostic(code, message, Location(file, positions.line_of(place)), hint=hint)
                for code, place, message, hint in reader.found
            ),
        ]
    )


def _loaded(path: Path) -> tuple[str, Any, bool]:
    """Text and value of a JSON file, and whether any key in it stands twice."""
    repeats = False

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal repeats
        found = dict(pairs)
        repeats = repeats or len(found) != len(pairs)
        return found

    try:
        text = path.read_text(encoding="utf-8")
        return text, json.loads(text, object_pairs_hook=members), repeats
    except json.JSONDecodeError as error:
        raise InputError([Diagnostic("R001", f"not JSON: {error.msg}", Location(str(path), error.lineno))]) from None
    except (OSError, UnicodeDecodeError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        hint = "give a file that `ckgen export` printed"
        raise InputError([Diagnostic("R001", f"cannot read: {reason}", Location(str(path)), hint=hint)]) from None


def _refusals(instance: Instance, arch: ArchSpec) -> list[str]:
    """Why the instance cannot be built for the arch."""
    if (instance.backend is Backend.HOST) != (arch.kind is ArchKind.CPU):
        return [f"{instance.backend} is not a backend of it"]
    found = (
        [] if arch.kind is ArchKind.CPU or of_flavour(instance.signature, arch.fp8_flavour) else ["other fp8 encoding"]
    )
    return [*found, *map(str, judge(instance.signature, instance.config, instance.backend, arch))]


class _Reader:
    """Keeps every error with its place; what it returns after one is not to be used."""

    def __init__(self, archs: Mapping[str, ArchSpec]) -> None:
        self.archs = archs
        self.found: list[tuple[str, Place, str, str | None]] = []
        self._names: set[str] = set()
        self._signatures: set[GemmSignature] = set()

    def report(self, kind: str, place: Place, message: str, hint: str | None) -> None:
        self.found.append((_CODES[kind], place, message, hint))

    def document(self, value: Any) -> GenerationPlan:
        empty = plan_of_units((), ())
        if not self._has_keys(value, _DOCUMENT_KEYS, ()):
            return empty
        if value["schema"] != SCHEMA:
            self._say("R005", ("schema",), f"expected {json.dumps(SCHEMA)}, got {shown(value['schema'])}")
            return empty
        targets = tuple(
            sorted({target for at, text in self._list(value, "targets", ()) for target in self._target(at, text)})
        )
        units = tuple(unit for at, item in self._list(value, "units", ()) if (unit := self._unit(item, at)) is not None)
        return plan_of_units(targets, units)

    def _unit(self, value: Any, at: Place) -> UnitPlan | None:
        if not self._has_keys(value, UNIT_KEYS, at):
            return None
        op: Op | None = self._decoded(Op, value["op"], (*at, "op"))
        signature: GemmSignature | None = self._decoded(GemmSignature, value["signature"], (*at, "signature"))
        module = self._decoded(str, value["module"], (*at, "module"))
        if signature is None or module is None:
            return None
        if module not in ("", *table_modules()):
            self._say(
                "R005", (*at, "module"), f"unknown module: {shown(module)}", f"known: {', '.join(table_modules())}"
            )
        if op is not None and op is not signature.op:
            self._say("R006", (*at, "op"), f"its signature is of op {signature.op}, not {op}", _PRINT_AGAIN)
        if signature.problems():
            for reason in signature.problems():
                self._say("R006", (*at, "signature"), f"the signature means nothing: {reason}")
            return None
        if signature in self._signatures:
            self._say("R006", at, f"the unit of {signature.canonical()} stands twice", "remove one")
        self._signatures.add(signature)
        if signature.canonical() != value["name"]:
            self._say(
                "R006",
                (*at, "name"),
                f"its fields spell {signature.canonical()}, not {shown(value['name'])}",
                _PRINT_AGAIN,
            )
        instances = [
            self._instance(item, signature, module, place) for place, item in self._list(value, "instances", at)
        ]
        heuristics = [self._heuristic(item, place, instances) for place, item in self._list(value, "heuristics", at)]
        defaults = self._defaults(value["defaults"], (*at, "defaults"), instances)
        return UnitPlan(
            signature=signature,
            module=module,
            instances=tuple(instance for instance in instances if instance is not None),
            tables=(),
            heuristics=tuple(found for found in heuristics if found is not None),
            defaults=defaults,
        )

    def _instance(self, value: Any, signature: GemmSignature, module: str, at: Place) -> Instance | None:
        if not self._has_keys(value, INSTANCE_KEYS, at):
            return None
        name: str | None = self._decoded(str, value["name"], (*at, "name"))
        backend: Backend | None = self._decoded(Backend, value["backend"], (*at, "backend"))
        config: GemmConfig | None = self._decoded(GemmConfig, value["config"], (*at, "config"))
        constraints: Constraints | None = self._decoded(Constraints, value["constraints"], (*at, "constraints"))
        table_kernel: str | None = self._decoded(str, value["table_kernel"], (*at, "table_kernel"))
        names = [self._arch(place, text) for place, text in self._list(value, "archs", at)]
        if name is None or backend is None or config is None or constraints is None or table_kernel is None:
            return None
        if None in names or not names:
            return None
        archs = [arch for arch in names if arch is not None]
        if config.backend is not backend:
            self._say("R006", (*at, "backend"), f"its config is of backend {config.backend}, not of {backend}")
            return None
        if strategy_of(config) is Strategy.ANY:
            self._say("R006", (*at, "config"), "strategy any is only a wish of a problem")
            return None
        if not is_plain(table_kernel):
            self._say("R005", (*at, "table_kernel"), f"not plain text: {shown(table_kernel)}")
            return None
        try:
            instance = make_instance(
                signature, backend, config, module=module, table_kernel=table_kernel, archs=[a.name for a in archs]
            )
            refusals = [(arch, refusal) for arch in archs for refusal in _refusals(instance, arch)]
        except (ArithmeticError, KeyError) as error:
            self._say(
                "R006", (*at, "config"), f"its fields make no kernel: {type(error).__name__} {error}", _PRINT_AGAIN
            )
            return None
        self._agrees(instance, value, constraints, at)
        for arch, refusal in refusals:
            self._say(
                "R007", at, f"{instance.name} cannot be built for {arch.name}: {refusal}", "see `ckgen list rules`"
            )
        return instance

    def _agrees(self, instance: Instance, value: Mapping[str, Any], constraints: Constraints, at: Place) -> None:
        """What the document says twice must be said alike: the fields decide."""
        if instance.name != value["name"]:
            self._say("R006", (*at, "name"), f"its fields spell {instance.name}, not {value['name']}", _PRINT_AGAIN)
        elif f"{instance.id:016x}" != value["id"]:
            self._say(
                "R006",
                (*at, "id"),
                f"the id of {instance.name} is {instance.id:016x}, not {shown(value['id'])}",
                _PRINT_AGAIN,
            )
        if instance.constraints != constraints:
            self._say("R006", (*at, "constraints"), f"not those of {instance.name}'s fields", _PRINT_AGAIN)
        if sorted(set(instance.archs)) != value["archs"]:
            self._say("R006", (*at, "archs"), "archs must be distinct and sorted")
        if instance.name in self._names:
            self._say("R006", (*at, "name"), f"{instance.name} stands twice", "remove one")
        self._names.add(instance.name)

    def _heuristic(self, value: Any, at: Place, instances: Instances) -> HeuristicPlan | None:
        if not self._has_keys(value, HEURISTIC_KEYS, at):
            return None
        rule = heuristic_for(str(value["module"]), str(value["arch"]))
        if rule is None:
            self._say("R005", at, f"no decision rule for {shown(value['module'])} on {shown(value['arch'])} ships")
            return None
        leaves = self._indices(value["leaves"], (*at, "leaves"), instances, rule.arch)
        if leaves is not None and len(leaves) != len(rule.arms):
            self._say("R006", (*at, "leaves"), f"the rule has {len(rule.arms)} arms, not {len(leaves)}")
        return HeuristicPlan(rule.arch, rule, leaves or ())

    def _defaults(self, value: Any, at: Place, instances: Instances) -> dict[str, tuple[int, ...]]:
        if not isinstance(value, dict):
            self._say("R005", at, f"expected an object, got {shown(value)}")
            return {}
        found = {}
        for arch, indices in value.items():
            self._arch((*at, arch), arch)
            found[arch] = self._indices(indices, (*at, arch), instances, arch) or ()
        return found

    def _indices(self, value: Any, at: Place, instances: Instances, arch: str) -> tuple[int, ...] | None:
        found: tuple[int, ...] | None = self._decoded(tuple[int, ...], value, at)
        for index in found or ():
            if not 0 <= index < len(instances):
                self._say("R006", at, f"there is no instance {index}: the unit has {len(instances)}")
                return None
            instance = instances[index]
            if instance is not None and arch not in instance.archs:
                self._say("R006", at, f"instance {index}, {instance.name}, is not built for {arch}")
        return found

    def _arch(self, at: Place, name: Any) -> ArchSpec | None:
        arch = self.archs.get(name) if isinstance(name, str) else None
        if arch is None:
            self._say("R005", at, f"unknown arch: {shown(name)}", f"known: {', '.join(self.archs)}")
        return arch

    def _target(self, at: Place, text: Any) -> tuple[Target, ...]:
        try:
            found = parse_targets(str(text), env={}, archs=self.archs, native=lambda: Target("native", 0))
        except UsageError as error:
            self._say("R005", at, str(error))
            return ()
        if [str(target) for target in found] != [text]:
            self._say("R005", at, f"expected an arch and its CU count, as in gfx942:304, got {shown(text)}")
        return found

    def _list(self, value: Mapping[str, Any], key: str, at: Place) -> list[tuple[Place, Any]]:
        items = value[key]
        if not isinstance(items, list):
            self._say("R005", (*at, key), f"expected an array, got {shown(items)}")
            return []
        if not items and key != "heuristics":
            self._say("R005", (*at, key), f"{key} must not be empty")
        return [((*at, key, index), item) for index, item in enumerate(items)]

    def _decoded(self, hint: Any, value: Any, at: Place) -> Any:
        try:
            return decode(hint, value, at, self.report)
        except Unreadable:
            return None

    def _has_keys(self, value: Any, keys: tuple[str, ...], at: Place) -> bool:
        try:
            check_keys(value, list(keys), list(keys), at, self.report)
        except Unreadable:
            return False
        return True

    def _say(self, code: str, at: Place, message: str, hint: str | None = None) -> None:
        self.found.append((code, at, message, hint))
