"""The Python modules of keys, rules and aliases."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ckgen.emit.ops.description import Alias, Case, Condition, Conditions, Description, ProblemRule, Rule, UsualCase
from ckgen.emit.ops.text import HEAD


def head(what: str) -> list[str]:
    """The lines that a generated module of tables begins with."""
    return [
        f'"""{what} {HEAD}"""',
        "",
        "# fmt: off",
        "# ruff: noqa: E501",
        "from __future__ import annotations",
        "",
    ]


def python_key(description: Description) -> str:
    """ckgen/families/common/key_fields.py: what a key holds, and where; words of names."""
    sizes = ", ".join(f'"{one.name}": ({", ".join(map(str, one.values))})' for one in description.sizes.values())
    lines = head("What a signature's key holds, and where, and what canonical names say.")
    lines += [
        f"KEY_BITS = {description.key_bits}",
        f"SIZES: dict[str, tuple[int, ...]] = {{{sizes}}}",
        '"""Numbers that keys hold as their place."""',
        "FIELDS: tuple[tuple[str, str, int, int, tuple[str, ...]], ...] = (",
        *(
            f'    ("{one.name}", "{one.type}", {one.at}, {one.bits}, {words(one.of)}),'
            for one in description.fields.values()
        ),
        ")",
        '"""A member of ckgen::Signature, its type, its lowest bit, how many it has, and the ops of the keys."""',
    ]
    lines += ["NAME_WORDS: tuple[tuple[tuple[str, ...], str, str, str, bool, bool], ...] = ("]
    lines += [
        f'    ({words(one.of)}, "{one.field}", "{one.word}", "{one.prefix}", {one.always}, {one.in_alias}),'
        for one in description.names
    ]
    lines += [")"]
    lines += [
        '"""Ops, a field that names say: a flag\'s word, what is before an enum\'s text, if always, if in aliases."""'
    ]
    return "\n".join([*lines, ""])


def python_rules(description: Description) -> str:
    """ckgen/families/common/signature_tables.py: rules of signatures, usual members, aliases."""
    lines = head("Which signatures mean something, and their aliases.")
    lines += [
        "from ckgen.model.op_words import DType, Quant",
        "",
        "Conditions = tuple[tuple[str, int | str], ...]",
        '"""A field, and the mask of the codes that it may have; or `=` or `!=` and a field that it is like or not."""',
        "Case = tuple[Conditions, tuple[Conditions, ...], str]",
        '"""Where the first hold, one of the second must; what the one field that is asked about may be."""',
        "",
        "RULES: tuple[tuple[str, tuple[str, ...], str, tuple[Case, ...]], ...] = (",
        *("\n".join(_rule(rule)) for rule in description.rules if not rule.cpp_only),
        ")",
        '"""A rule\'s name, ops, sentence and cases."""',
        "ALIASES: dict[str, tuple[tuple[DType, ...], DType | None, DType, Quant, bool, bool]] = {",
        *map(_alias, description.aliases),
        "}",
        '"""What an alias fixes: types of operands, the usual one, that of C, quantisation, preshuffled B, batch."""',
        *("\n\n" + _usual(description, field, cases) for field, cases in description.usual.items()),
    ]
    return "\n".join([*lines, ""])


def _rule(rule: Rule) -> list[str]:
    cases = [
        f"        ({_conditions(case.when)}, {_must(case)}, {quoted(_allowed(rule, case))})," for case in rule.cases
    ]
    return [f"    ({quoted(rule.id)}, {words(rule.of)}, {quoted(rule.sentence)}, (", *cases, "    )),"]


def _allowed(rule: Rule, case: Case) -> str:
    return case.allowed if "{allowed}" in rule.sentence else ""


def _must(case: Case) -> str:
    return f"({''.join(f'{_conditions(one)}, ' for one in case.must).rstrip()})" if case.must else "()"


def _conditions(conditions: Conditions) -> str:
    return f"({''.join(f'{_condition(one)}, ' for one in conditions).rstrip()})" if conditions else "()"


def _condition(one: Condition) -> str:
    like = f'"{"!" * one.negated}={one.same}"' if one.same else f"{one.mask:#x}"
    return f'("{one.field}", {like})'


def words(texts: Sequence[str]) -> str:
    """A tuple of texts."""
    return f"({''.join(f'{quoted(word)}, ' for word in texts).rstrip()})"


def quoted(text: str) -> str:
    """A literal of both languages."""
    assert '"' not in text and "\\" not in text, text
    return f'"{text}"'


def _alias(one: Alias) -> str:
    operands = "".join(f"DType.{word.upper()}, " for word in one.operands).rstrip()
    operand = f"DType.{one.operand.upper()}" if one.operand else "None"
    rest = f"DType.{one.out.upper()}, Quant.{one.quant.upper()}, {one.preshuffle_b}, {one.batched}"
    return f'    "{one.name}": (({operands}), {operand}, {rest}),'


def _usual(description: Description, field: str, cases: tuple[UsualCase, ...]) -> str:
    asked = list(dict.fromkeys(one.field for case in cases for one in case.when))
    kind = description.fields[field].type
    absent = description.enums[kind].absent
    conditions = [one for case in cases for one in case.when]
    parameters = ", ".join(
        f"{name}: {_annotation(description, [one for one in conditions if one.field == name])}" for name in asked
    )
    optional = f"{kind} | None" if any(absent and absent.name == case.member for case in cases) else kind
    lines = [f"def default_{field}({parameters}) -> {optional}:", f'    """What {field} is where nothing says it."""']
    for case in cases:
        value = "None" if absent and absent.name == case.member else f"{kind}.{case.member.upper()}"
        tests = [_test(description, one) for one in case.when]
        lines += [f"    if {' and '.join(tests)}:", f"        return {value}"] if tests else [f"    return {value}"]
    return "\n".join(lines)


def _test(description: Description, one: Condition) -> str:
    words = _asked(description, one)
    return f"{one.field} in ({', '.join(words)})" if len(words) != 1 else f"{one.field} is {words[0]}"


def _annotation(description: Description, conditions: Iterable[Condition]) -> str:
    """The type of a field that these ask about: where one asks for what Python has not, it may be None."""
    found = list(conditions)
    kind = description.fields[found[0].field].type
    return f"{kind} | None" if any("None" in _asked(description, one) for one in found) else kind


def _asked(description: Description, one: Condition) -> list[str]:
    """The members of the condition as Python has them."""
    enum = description.enums[description.fields[one.field].type]
    found = [word for word in enum.members if one.mask >> word.code & 1]
    words = [f"{enum.name}.{word.python}" for word in found if not word.cpp_only]
    return [*words, "None"] if enum.absent in found else words


def python_problem_rules(description: Description) -> str:
    """ckgen/families/common/problem_tables.py: rules of problems."""
    lines = head("Rules of problems: their sentences, and what sizes must satisfy.")
    lines += [
        "MESSAGES: dict[str, str] = {",
        *(f"    {quoted(rule.id)}: {quoted(rule.sentence)}," for rule in description.problem_rules),
        "}",
        '"""By id, in the order of their numbers, which count from 1."""',
        "NEAR: dict[str, int] = {",
        *(f"    {quoted(rule.id)}: {rule.near}," for rule in description.problem_rules if rule.near),
        "}",
        '"""How near an instance is that a problem breaks the rule of; none: no instance says so."""',
        "SIGNATURE_RULES: tuple[tuple[str, str, str, int, dict[str, str | bool]], ...] = (",
        *(_size_rule(description, rule) for rule in description.problem_rules if rule.size),
        ")",
        '"""A rule\'s id, the size, the demand, its number, and the fields that signatures of such problems have."""',
    ]
    return "\n".join([*lines, ""])


def _size_rule(description: Description, rule: ProblemRule) -> str:
    when = ", ".join(f'"{field}": {_value(description, field, word)}' for field, word in rule.when)
    return f'    ({quoted(rule.id)}, "{rule.size}", "{rule.demand}", {rule.value}, {{{when}}}),'


def _value(description: Description, field: str, word: str) -> str:
    kind = description.fields[field].type
    if kind not in description.enums:
        return word.capitalize()
    return quoted(next(member.text for member in description.enums[kind].members if member.name == word))
