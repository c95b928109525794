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
from ckgen.model.arch import ArchSpec
from ckgen.model.backend import Backend
from ckgen.model.diagnostic import Diagnostic, Location
from ckgen.model.document import JSON, DocumentError, read_text
from ckgen.model.errors import InputError, UsageError
from ckgen.model.fields import shown
from ckgen.model.json_document import parse_json
from ckgen.model.json_positions import scan
from ckgen.model.strategy import Strategy
from ckgen.model.target import Target
from ckgen.plan.fmha_registry import is_fmha, read_fmha_unit
from ckgen.plan.identify import is_plain
from ckgen.plan.model import GenerationPlan, HeuristicPlan, UnitPlan
from ckgen.plan.registry_document import HEURISTIC_KEYS, INSTANCE_KEYS, SCHEMA, UNIT_KEYS, plan_of_units
from ckgen.plan.registry_reading import PRINT_AGAIN, Instances, Place, Reading
from ckgen.specs.targets import parse_targets

_DOCUMENT_KEYS = ("schema", "targets", "units")


def read_registry(path: Path, archs: Mapping[str, ArchSpec]) -> GenerationPlan:
    """The plan of a file's instances; InputError carries everything that is wrong with it (R001 to R007)."""
    file = str(path)
    try:
        text = read_text(path, JSON)
        document = parse_json(text)
    except DocumentError as error:
        raise InputError([error.diagnostic("R001", path, "give a file that `ckgen export` printed")]) from None
    reader = _Reader(archs)
    plan = reader.document(document.value)
    if not reader.found and not document.repeats:
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


class _Reader(Reading):
    """Keeps every error with its place; what it returns after one is not to be used."""

    def document(self, value: Any) -> GenerationPlan:
        empty = plan_of_units((), ())
        if not self.has_keys(value, _DOCUMENT_KEYS, ()):
            return empty
        if value["schema"] != SCHEMA:
            self.say("R005", ("schema",), f"expected {json.dumps(SCHEMA)}, got {shown(value['schema'])}")
            return empty
        targets = tuple(
            sorted({target for at, text in self.items(value, "targets", ()) for target in self._target(at, text)})
        )
        given = self.items(value, "units", ())
        units = (self._unit(item, at) for at, item in given if not is_fmha(item))
        attention = (read_fmha_unit(self, item, at) for at, item in given if is_fmha(item))
        return plan_of_units(
            targets,
            tuple(unit for unit in units if unit is not None),
            tuple(unit for unit in attention if unit is not None),
        )

    def _unit(self, value: Any, at: Place) -> UnitPlan | None:
        if not self.has_keys(value, UNIT_KEYS, at):
            return None
        op: Op | None = self.decoded(Op, value["op"], (*at, "op"))
        signature: GemmSignature | None = self.decoded(GemmSignature, value["signature"], (*at, "signature"))
        module = self.decoded(str, value["module"], (*at, "module"))
        if signature is None or module is None:
            return None
        if module not in ("", *table_modules()):
            self.say(
                "R005", (*at, "module"), f"unknown module: {shown(module)}", f"known: {', '.join(table_modules())}"
            )
        if op is not None and op is not signature.op:
            self.say("R006", (*at, "op"), f"its signature is of op {signature.op}, not {op}", PRINT_AGAIN)
        if signature.problems():
            for reason in signature.problems():
                self.say("R006", (*at, "signature"), f"the signature means nothing: {reason}")
            return None
        self.is_new_unit(signature, value["name"], at)
        instances = [
            self._instance(item, signature, module, place) for place, item in self.items(value, "instances", at)
        ]
        heuristics = [self._heuristic(item, place, instances) for place, item in self.items(value, "heuristics", at)]
        defaults = self.defaults(value["defaults"], (*at, "defaults"), instances)
        return UnitPlan(
            signature=signature,
            module=module,
            instances=tuple(instance for instance in instances if instance is not None),
            tables=(),
            heuristics=tuple(found for found in heuristics if found is not None),
            defaults=defaults,
        )

    def _instance(self, value: Any, signature: GemmSignature, module: str, at: Place) -> Instance | None:
        if not self.has_keys(value, INSTANCE_KEYS, at):
            return None
        table_kernel: str | None = self.decoded(str, value["table_kernel"], (*at, "table_kernel"))

        def made(config: GemmConfig, backend: Backend, archs: list[str]) -> Instance | None:
            if strategy_of(config) is Strategy.ANY:
                self.say("R006", (*at, "config"), "strategy any is only a wish of a problem")
            elif table_kernel is not None and not is_plain(table_kernel):
                self.say("R005", (*at, "table_kernel"), f"not plain text: {shown(table_kernel)}")
            elif table_kernel is not None:
                return make_instance(signature, backend, config, module=module, table_kernel=table_kernel, archs=archs)
            return None

        return self.instance(value, (GemmConfig, Constraints), made, at)

    def _heuristic(self, value: Any, at: Place, instances: Instances) -> HeuristicPlan | None:
        if not self.has_keys(value, HEURISTIC_KEYS, at):
            return None
        rule = heuristic_for(str(value["module"]), str(value["arch"]))
        if rule is None:
            self.say("R005", at, f"no decision rule for {shown(value['module'])} on {shown(value['arch'])} ships")
            return None
        leaves = self.indices(value["leaves"], (*at, "leaves"), instances, rule.arch)
        if leaves is not None and len(leaves) != len(rule.arms):
            self.say("R006", (*at, "leaves"), f"the rule has {len(rule.arms)} arms, not {len(leaves)}")
        return HeuristicPlan(rule.arch, rule, leaves or ())

    def _target(self, at: Place, text: Any) -> tuple[Target, ...]:
        try:
            found = parse_targets(str(text), env={}, archs=self.archs, native=lambda: Target("native", 0))
        except UsageError as error:
            self.say("R005", at, str(error))
            return ()
        if [str(target) for target in found] != [text]:
            self.say("R005", at, f"expected an arch and its CU count, as in gfx942:304, got {shown(text)}")
        return found
