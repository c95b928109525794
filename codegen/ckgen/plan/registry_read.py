"""A registry document back into the plan of its instances: strict, every error at once, each with its line."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ckgen.families.common.decision_rule import DecisionRule, Leaf
from ckgen.families.common.query import AnyInstance
from ckgen.families.common.unit import HeuristicPlan, UnitPlan
from ckgen.families.registry import AnyFamily, family_of
from ckgen.families.tables import table_modules
from ckgen.model.arch import ArchSpec
from ckgen.model.diagnostic import Diagnostic, Location
from ckgen.model.document import JSON, DocumentError, read_text
from ckgen.model.errors import InputError
from ckgen.model.fields import shown
from ckgen.model.json_document import parse_json
from ckgen.model.json_positions import scan
from ckgen.plan.model import AnyUnit, GenerationPlan
from ckgen.plan.registry_document import HEURISTIC_KEYS, SCHEMA, plan_of_units, unit_forms
from ckgen.plan.registry_fields import PRINT_AGAIN, Instances, Place
from ckgen.plan.registry_tables import TableReader

_DOCUMENT_KEYS = ("schema", "targets", "units")


def read_registry(path: Path, archs: Mapping[str, ArchSpec]) -> GenerationPlan:
    """The plan of a file's instances; InputError carries everything that is wrong with it (R001 to R007)."""
    file = str(path)
    try:
        text = read_text(path, JSON)
        document = parse_json(text)
    except DocumentError as error:
        raise InputError([error.diagnostic("R001", path, "give a file that `ckgen export` printed")]) from None
    reader = _RegistryReader(archs)
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


class _RegistryReader(TableReader):
    """Reads documents, units and what units hold."""

    def document(self, value: Any) -> GenerationPlan:
        empty = plan_of_units((), ())
        if not self.has_keys(value, _DOCUMENT_KEYS, ()):
            return empty
        if value["schema"] != SCHEMA:
            self.say("R005", ("schema",), f"expected {json.dumps(SCHEMA)}, got {shown(value['schema'])}")
            return empty
        targets = tuple(
            sorted({target for at, text in self.items(value, "targets", ()) for target in self.target(at, text)})
        )
        self.targets = frozenset(targets)
        units = (self._unit(item, at) for at, item in self.items(value, "units", ()))
        return plan_of_units(targets, tuple(unit for unit in units if unit is not None))

    def _unit(self, value: Any, at: Place) -> AnyUnit | None:
        op = value.get("op") if isinstance(value, dict) else None
        forms = unit_forms()
        form = forms.get(op) if isinstance(op, str) else None
        usual = form or next(iter(forms.values()))
        if not self.has_keys(value, usual.unit_keys, at):
            return None
        if form is None:
            self.say("R005", (*at, "op"), f"unknown value {shown(op)}", f"known: {', '.join(forms)}")
        signature = self.decoded(usual.signature, value["signature"], (*at, "signature"))
        module = self.decoded(str, value.get("module", ""), (*at, "module"))
        if signature is None or module is None:
            return None
        if module not in ("", *table_modules()):
            self.say(
                "R005", (*at, "module"), f"unknown module: {shown(module)}", f"known: {', '.join(table_modules())}"
            )
        if form is not None and op != str(signature.op):
            self.say("R006", (*at, "op"), f"its signature is of op {signature.op}, not {op}", PRINT_AGAIN)
        if signature.problems():
            for reason in signature.problems():
                self.say("R006", (*at, "signature"), f"the signature means nothing: {reason}")
            return None
        self.is_new_unit(signature, value["name"], at)
        given = self.items(value, "instances", at, may_be_empty=bool(value["tables"]))
        instances = [self.instance(item, usual, signature, module, place) for place, item in given]
        rules = self.items(value, "heuristics", at, may_be_empty=True) if "heuristics" in usual.unit_keys else []
        heuristics = [self._heuristic(item, family_of(signature), place, instances) for place, item in rules]
        known = tuple(instance for instance in instances if instance is not None)
        unit: AnyUnit = UnitPlan(
            signature=signature,
            instances=known,
            defaults=self.defaults(value["defaults"], (*at, "defaults"), instances),
            module=module,
            heuristics=tuple(found for found in heuristics if found is not None),
            predicted=family_of(signature).predicted(known),
        )
        return self.with_tables(unit, value["tables"], instances, (*at, "tables"))

    def _heuristic(self, value: Any, family: AnyFamily, at: Place, instances: Instances) -> HeuristicPlan | None:
        if not self.has_keys(value, HEURISTIC_KEYS, at):
            return None
        rules = family.rules(str(value["module"]), str(value["arch"]))
        rule = next((one for one in rules if one.sku == value["sku"]), None)
        if rule is None:
            device = ":".join(filter(None, (str(value["arch"]), str(value["sku"]))))
            self.say("R005", at, f"no decision rule for {shown(value['module'])} on {shown(device)} ships")
            return None
        place = (*at, "leaves")
        leaves: tuple[int | None, ...] | None = self.decoded(tuple[int | None, ...], value["leaves"], place)
        if (
            leaves is None
            or self.indices([one for one in leaves if one is not None], place, instances, rule.arch) is None
        ):
            return None
        if len(leaves) != len(rule.leaves):
            self.say("R006", place, f"the rule has {len(rule.leaves)} leaves, not {len(leaves)}")
            return None
        built = [instances[one] if one is not None else None for one in leaves]
        chosen = [
            self._choice(rule, leaf, instance, (*place, leaf)) if instance is not None else None
            for leaf, instance in enumerate(built)
        ]
        return HeuristicPlan(rule.arch, rule.choosing(chosen), leaves)

    def _choice(self, rule: DecisionRule, leaf: int, instance: AnyInstance, at: Place) -> Leaf | None:
        """Which choice of a leaf an instance is."""
        family = family_of(instance.signature)
        for choice in rule.choices(leaf):
            known = family.leaf(rule, choice, instance.signature)
            if known is not None and known.config == instance.config:
                return choice
        self.say("R006", at, f"{instance.name} is none of the kernels that the rule has there")
        return None
