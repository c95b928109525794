"""The rules of schema/ops.yaml: sets, usual members, aliases, rules of signatures and of problems."""

from __future__ import annotations

from dataclasses import dataclass

from ckgen.emit.ops.description import (
    EVERY,
    FLAG,
    Alias,
    Case,
    Condition,
    Conditions,
    EnumWords,
    Field,
    Number,
    ProblemRule,
    Rule,
    Sizes,
    UsualCase,
)
from ckgen.emit.ops.read_words import OpsReader
from ckgen.emit.ops.reader import Broken, Reader
from ckgen.emit.ops.text import PLACE
from ckgen.model.located_yaml import Located
from ckgen.model.suggestion import nearest_or_all

PROBLEM_SIZES = ("m", "n", "k", "batch")
DEMANDS = ("at_least", "at_most", "multiple_of", "multiple_of_bits", "multiple_of_scale_k")
PROBLEM_FIELDS = ("batched", "preshuffle_b", "quant", "b")


@dataclass(frozen=True, slots=True)
class RuleReader:
    """Reads rules over the words that were read before."""

    reader: Reader
    enums: dict[str, EnumWords]
    sizes: dict[str, Sizes]
    numbers: dict[str, Number]
    fields: dict[str, Field]
    counted: dict[str, str]
    sets: dict[str, tuple[str, tuple[str, ...]]]
    read_ops: OpsReader

    def usual(self, node: Located) -> dict[str, tuple[UsualCase, ...]]:
        """What a field is where nothing says it; the last case has no conditions."""
        found = {}
        for name, cases in self.reader.mapping(node).items():
            field = self._field(name, cases)
            found[field] = tuple(self._usual_case(field, one) for one in cases.items())
            if not found[field] or found[field][-1].when:
                raise self.reader.fail("W003", cases, f"the last case of {name} must hold for all")
        return found

    def _usual_case(self, field: str, node: Located) -> UsualCase:
        entry = self.reader.mapping(node, ("when", "is"), ("is",))
        when = self._conditions(entry["when"]) if "when" in entry else ()
        for one in when:
            if one.same or one.field not in self.fields or self.fields[one.field].type not in self.enums:
                raise self.reader.fail("W003", node, f"usual members depend on enums: {one.field} is asked otherwise")
        return UsualCase(when, self.reader.one_of(entry["is"], self._codes(field), f"member of {field}"))

    def rules(self, node: Located, usual: dict[str, tuple[UsualCase, ...]]) -> tuple[Rule, ...]:
        """The rules of signatures, in order."""
        found = []
        for name, one in self.reader.mapping(node).items():
            try:
                found.append(self._rule(name, one, usual))
            except Broken:
                continue
        return tuple(found)

    def _rule(self, name: str, node: Located, usual: dict[str, tuple[UsualCase, ...]]) -> Rule:
        entry = self.reader.mapping(node, ("of", "sentence", "cpp_only", "cases", "when", "must"), ("of", "sentence"))
        of = self.read_ops(entry["of"])
        cases: list[Case] = []
        alone = {key: one for key, one in entry.items() if key in ("when", "must")}
        for one in entry["cases"].items() if "cases" in entry else [Located(alone, node.location)]:
            given = self.reader.mapping(one, ("when", "must", "usual"))
            if "usual" in given:
                cases += self._like_usual(self.reader.one_of(given["usual"], usual, "field with usual members"), usual)
            else:
                cases.append(self._case(given))
        sentence = self._sentence(entry["sentence"], cases)
        return Rule(name, of, sentence, self.reader.flag(entry.get("cpp_only")), tuple(cases))

    def _like_usual(self, field: str, usual: dict[str, tuple[UsualCase, ...]]) -> list[Case]:
        codes = self._codes(field)
        return [Case(one.when, ((Condition(field, 1 << codes[one.member]),),), one.member) for one in usual[field]]

    def _case(self, entry: dict[str, Located]) -> Case:
        when = self._conditions(entry["when"]) if "when" in entry else ()
        must = tuple(self._conditions(one) for one in entry["must"].items()) if "must" in entry else ()
        return Case(when, must, self._allowed(must))

    def _allowed(self, must: tuple[Conditions, ...]) -> str:
        """The words of the one field that is asked about: members of types by name, others in their order."""
        match must:
            case ((Condition(same="") as asked,),) if asked.field in self.fields:
                words = [word for word, code in self._codes(asked.field).items() if asked.mask >> code & 1]
                return ", ".join(sorted(words) if self.fields[asked.field].type == "DType" else words)
            case _:
                return ""

    def _sentence(self, node: Located, cases: list[Case]) -> str:
        """The sentence with what is known by now in its places: sets, sizes and numbers."""
        text = self.reader.text(node)
        for place in PLACE.findall(text):
            if place in self.fields or place in self.counted:
                continue
            if place == "allowed":
                if not all(case.allowed for case in cases if case.must):
                    raise self.reader.fail("W003", node, "{allowed} is what one field may be: `must` has others")
                continue
            text = text.replace(f"{{{place}}}", self._constant(place, node))
        return text

    def _constant(self, name: str, node: Located) -> str:
        if name in self.sets:
            return ", ".join(self._text(self.sets[name][0], word) for word in self.sets[name][1])
        if name in self.sizes:
            return ", ".join(map(str, self.sizes[name].values))
        if name in self.numbers:
            return str(self.numbers[name].value)
        known = (*self.fields, *self.counted, "allowed", *self.sets, *self.sizes, *self.numbers)
        raise self.reader.fail("W003", node, f"'{{{name}}}' of a sentence is nothing", nearest_or_all(name, known))

    def _text(self, enum: str, name: str) -> str:
        return next(member.text for member in self.enums[enum].members if member.name == name)

    def _conditions(self, node: Located) -> Conditions:
        return tuple(self._condition(name, one) for name, one in self.reader.mapping(node).items())

    def _condition(self, name: str, node: Located) -> Condition:
        field = self._field(name, node)
        codes = self._codes(field)
        text, negated = node.value, False
        if isinstance(text, str) and text.startswith("not "):
            text, negated = text.removeprefix("not "), True
        if isinstance(text, str) and text.startswith("="):
            same = self._field(text.removeprefix("="), node)
            return Condition(field, same=same, negated=negated)
        if isinstance(text, str):
            parts = [
                Located(word.strip(), node.location) for word in text.removeprefix("[").removesuffix("]").split(",")
            ]
        else:
            parts = node.items()
        mask = 0
        for part in parts:
            for word in self._members(part, field, codes):
                mask |= 1 << codes[word]
        return Condition(field, mask ^ EVERY if negated else mask)

    def _members(self, node: Located, field: str, codes: dict[str, int]) -> tuple[str, ...]:
        word = self.reader.text(node)
        kind = self.fields[field].type if field in self.fields else None
        if word in self.sets and self.sets[word][0] == kind:
            return self.sets[word][1]
        if word in self.sizes and word == kind:
            return tuple(codes)
        known = (*codes, *(name for name, (of, _) in self.sets.items() if of == kind))
        return (self.reader.one_of(node, known, f"value of {field}"),)

    def _field(self, name: str, node: Located) -> str:
        if name not in self.fields and name not in self.counted:
            known = (*self.fields, *self.counted)
            raise self.reader.fail("W003", node, f"'{name}' is no field of a signature", nearest_or_all(name, known))
        return name

    def _codes(self, field: str) -> dict[str, int]:
        """The codes of a field's values by word."""
        if field in self.counted:
            return {str(count): count for count in range(32)}
        kind = self.fields[field].type
        if kind == FLAG:
            return {"false": 0, "true": 1}
        if kind in self.sizes:
            return {str(value): code for code, value in enumerate(self.sizes[kind].values)}
        return {member.name: member.code for member in self.enums[kind].members}

    def aliases(self, node: Located) -> tuple[Alias, ...]:
        """What each alias fixes, in order."""
        dtypes, quants = self._codes("a"), self._codes("quant")
        found = []
        for name, one in self.reader.mapping(node).items():
            keys = ("operands", "operand", "out", "quant", "preshuffle_b", "batched")
            entry = self.reader.mapping(one, keys, ("operands",))
            operands = tuple(self.reader.one_of(word, dtypes, "type") for word in entry["operands"].items())
            found.append(
                Alias(
                    name,
                    operands,
                    self.reader.one_of(entry["operand"], operands, "operand of it") if "operand" in entry else "",
                    self.reader.one_of(entry["out"], dtypes, "type") if "out" in entry else "bf16",
                    self.reader.one_of(entry["quant"], quants, "quantisation") if "quant" in entry else "none",
                    self.reader.flag(entry.get("preshuffle_b")),
                    self.reader.flag(entry.get("batched")),
                )
            )
        return tuple(found)

    def problem_rules(self, node: Located) -> tuple[ProblemRule, ...]:
        """The rules of problems, in the order of their numbers: those with a size first."""
        return tuple(self._problem_rule(name, one) for name, one in self.reader.mapping(node).items())

    def _problem_rule(self, name: str, node: Located) -> ProblemRule:
        keys = ("sentence", "size", "must", "value", "when", "near")
        has_size = "size" in self.reader.mapping(node)
        entry = self.reader.mapping(node, keys, keys[:4] if has_size else keys[:1])
        sentence = self.reader.text(entry["sentence"])
        for place in PLACE.findall(sentence):
            if place not in ("measured", "limit"):
                raise self.reader.fail(
                    "W003", node, f"'{{{place}}}' of a sentence is neither {{measured}} nor {{limit}}"
                )
        if not has_size:
            return ProblemRule(name, sentence, near=self.reader.number(entry["near"]) if "near" in entry else 0)
        when = []
        for field, word in self.reader.mapping(entry["when"]).items() if "when" in entry else ():
            if field not in PROBLEM_FIELDS:
                hint = nearest_or_all(field, PROBLEM_FIELDS)
                raise self.reader.fail("W003", word, f"'{field}' is no field that rules of problems look at", hint)
            when.append((field, self.reader.one_of(word, self._codes(field), f"value of {field}")))
        return ProblemRule(
            name,
            sentence,
            self.reader.one_of(entry["size"], PROBLEM_SIZES, "size"),
            self.reader.one_of(entry["must"], DEMANDS, "demand"),
            self.reader.number(entry["value"]),
            tuple(when),
        )


def read_sets(reader: Reader, node: Located, enums: dict[str, EnumWords]) -> dict[str, tuple[str, tuple[str, ...]]]:
    """The enum and the members of every set."""
    found = {}
    for name, one in reader.mapping(node).items():
        entry = reader.mapping(one, ("of", "members"), ("of", "members"))
        of = reader.one_of(entry["of"], enums, "enum")
        words = tuple(member.name for member in enums[of].members)
        found[name] = (of, tuple(reader.one_of(word, words, f"member of {of}") for word in entry["members"].items()))
    return found
