"""Whatever is wrong with words and rules is said in full: its code, its line, the words, and what to do."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest
from small_description import FILE, TEXT, small

from ckgen.emit.ops.description import EVERY, Case, Condition, Description, ProblemRule
from ckgen.emit.ops.read import read_description

MORE_BITS = "give it more bits, and move what lies above it in the key: keys that were packed before change"
CODES = "codes count from 0, in order and without gaps"
SPOKEN_OF = "add it: rules and aliases speak of it"
ALL_USUAL = TEXT[TEXT.index("  b:\n") : TEXT.index("aliases:")]
KNOWN_FIELDS = "known: a, op, b, quant, batched, block, preshuffle_b, steps"

WRONG: dict[str, tuple[str, str, str, str, str | None]] = {
    # what: old text, new text, the line's beginning, code and message, hint
    "no mapping": ("numbers:\n  most: {value: 5, doc: The most.}", "numbers: 7", "numbers:",
                   "W003 a mapping is needed here", None),
    "no text": ("    doc: Scales.", "    doc: [Scales.]", "    doc: [", "W003 a text is needed here", None),
    "no integer": ("{value: 5,", "{value: -5,", "  most:", "W003 '-5' is no integer", None),
    "no flag": ("cpp_only: true}\nsizes", "cpp_only: yes}\nsizes", "      none: {code: 3",
                "W003 'yes' is no flag", "known: true, false"),
    "unknown kind of trait": ("type: int, doc: Its", "type: inn, doc: Its", "      bits: {type",
                              "W003 'inn' is no type", "did you mean 'int'?"),
    "no number of a trait": ("y8: {code: 1, bits: 8}", "y8: {code: 1}", "      y8:", "K004 y8 has no 'bits'", None),
    "no member in a doc": ("it is {one}.", "it is {ones}.", "  Op:",
                           "W003 '{ones}' in a doc is no member of Op", "did you mean 'one'?"),
    "no member of the other enum": ("flip: {rows: y8", "flip: {row: y8", "  DType:",
                                    "W003 x8: 'row' is no member of Quant", "did you mean 'rows'?"),
    "no member of its own": ("flip: {rows: y8", "flip: {rows: y88", "  DType:",
                             "W003 x8: 'y88' is no member of DType", "did you mean 'y8'?"),
    "two of one code": ("rows: {code: 1}", "rows: {code: 0}", "      rows:",
                        "W001 Quant: rows has code 0, and none has it too", "the next free one is 3"),
    "gap": ("rows: {code: 1}", "rows: {code: 5}", "      rows:",
            "W001 Quant: rows has code 5, and 1 is missing before it", CODES),
    "too few bits": ("    bits: 2\n    members:\n      none", "    bits: 1\n    members:\n      none", "    bits: 1",
                     "W002 Quant has 3 members, and its bits hold 2",
                     MORE_BITS),
    "too many members": ("  Quant:\n    doc: Scales.\n    bits: 2\n    members:\n",
                         "  Many:\n    doc: Many.\n    members: {"
                         + ", ".join(f"m{code}: {{code: {code}}}" for code in range(33))
                         + "}\n  Quant:\n    doc: Scales.\n    bits: 2\n    members:\n", "  Many:",
                         "W002 Many has 33 members, and its bits hold 32",
                         MORE_BITS),
    "too many sizes": ("values: [64, 32, 16]", "values: [64, 32, 16, 8]", "  rung:",
                       "W002 rung has 4 sizes, and its bits hold 3", None),
    "no op": ("      of: [two]\n      fields", "      of: [twos]\n      fields", "      of: [twos]",
              "W003 'twos' is no op", "did you mean 'two'?"),
    "in two parts": ("{preshuffle_b: flag}", "{batched: flag}", "      fields: {batched",
                     "W002 batched stands in two parts of the key", None),
    "no type of a field": ("{preshuffle_b: flag}", "{preshuffle_b: flog}", "      fields: {preshuffle_b",
                           "W003 'flog' is no enum with bits, sizes or flag", "did you mean 'flag'?"),
    "on the lowest bit of another": ("    - at: 7\n      of: [two]", "    - at: 6\n      of: [two]",
                                     "      fields: {pre",
                                     "W002 preshuffle_b lies on bits of another field in keys of op two", None),
    "on the only bit of another": ("    - at: 7\n      of: [two]", "    - at: 3\n      of: [two]", "      fields: {pre",
                                   "W002 preshuffle_b lies on bits of another field in keys of op two", None),
    "beyond the key": ("    - at: 7\n      of: [two]", "    - at: 13\n      of: [two]", "      fields: {pre",
                       "W002 preshuffle_b ends at bit 14, and a key has 13", None),
    "an op without the op": ("      of: both\n", "      of: [one]\n", "key:",
                             "W002 every op's key has the op, in their order", None),
    "no field of a name": ("{field: quant, prefix", "{field: quants, prefix", "      - {field: quants",
                           "W003 'quants' is no field", "did you mean 'quant'?"),
    "a flag without a word": ("{field: batched, word: batched,", "{field: batched,", "      - {field: batched",
                              "W003 flags have a word, and enums their own texts", None),
    "an enum with a word": ("prefix: by_", "word: by", "      - {field: quant",
                            "W003 flags have a word, and enums their own texts", None),
    "no enum of a set": ("{of: DType, members: [x8", "{of: DTyp, members: [x8", "  eights:",
                         "W003 'DTyp' is no enum", "did you mean 'DType'?"),
    "no member of a set": ("members: [x8, y8]", "members: [x8, y88]", "  eights:",
                           "W003 'y88' is no member of DType", "did you mean 'y8'?"),
    "no enum of ops": ("  Op:\n", "  Ops:\n", "enums:", "K004 enum 'Op' is missing", SPOKEN_OF),
    "no enum of types": ("  DType:\n", "  Type:\n", "enums:", "K004 enum 'DType' is missing", SPOKEN_OF),
    "no field of ops": ("op: Op, b", "ops: Op, b", "key:", "W002 every op's key has the op, in their order", None),
    "no field of A": ("{a: DType, op", "{aa: DType, op", "key:", "K004 field 'a' is missing", SPOKEN_OF),
    "no field of quantisation": ("{quant: Quant, b", "{quants: Quant, b", "key:", "K004 field 'quant' is missing",
                                 SPOKEN_OF),
    "no demand of a problem": ("size: m, must: at_least, value", "size: m, value", "  one.m:",
                               "K004 key 'must' is missing", None),
    "no value of a problem": ("must: at_least, value: 1", "must: at_least", "  one.m:",
                              "K004 key 'value' is missing", None),
    "no usual case": (ALL_USUAL, "  b: []\n", "  b: []", "W003 the last case of b must hold for all", None),
    "usual of a flag": ("{a: eights}, is: y8", "{batched: true}, is: y8", "    - {when: {batched",
                        "W003 usual members depend on enums: batched is asked otherwise", None),
    "usual like another": ("{a: eights}, is: y8", "{a: =b}, is: y8", "    - {when: {a: =b",
                           "W003 usual members depend on enums: a is asked otherwise", None),
    "no last case": ("    - {is: none}\n", "", "  b:", "W003 the last case of b must hold for all", None),
    "no usual member": ("- {is: none}", "- {is: nine}", "    - {is",
                        "W003 'nine' is no member of b", "did you mean 'none'?"),
    "no operand": ("operands: [x8, y8]", "operands: [x8, y88]", "  plain:",
                   "W003 'y88' is no type", "did you mean 'y8'?"),
    "no operand of it": ("operand: x8, out", "operand: x16, out", "  plain:",
                         "W003 'x16' is no operand of it", "known: x8, y8"),
    "no out": ("out: x16}", "out: x17}", "  plain:", "W003 'x17' is no type", "did you mean 'x16'?"),
    "no quantisation": ("quant: rows, pre", "quant: row, pre", "  many:",
                        "W003 'row' is no quantisation", "did you mean 'rows'?"),
    "no usual field": ("- usual: b", "- usual: bb", "      - usual",
                       "W003 'bb' is no field with usual members", "did you mean 'b'?"),
    "no field": ("must: {a: \"not", "must: {z: \"not", "    must: {z", "W003 'z' is no field of a signature",
                 KNOWN_FIELDS),
    "no field behind =": ("b: not =a}", "b: not =z}", "    when: {steps", "W003 'z' is no field of a signature",
                          KNOWN_FIELDS),
    "no value": ("not [y8, none]", "not [y88, none]", "    must: {a", "W003 'y88' is no value of a",
                 "did you mean 'y8'?"),
    "no set of that type": ("not [y8, none]", "not [both, none]", "    must: {a", "W003 'both' is no value of a",
                            "known: x16, y8, x8, none, eights"),
    "sizes of another field": ("not [y8, none]", "not [rung, none]", "    must: {a", "W003 'rung' is no value of a",
                               "known: x16, y8, x8, none, eights"),
    "beyond what is counted": ("steps: 31", "steps: 32", "    when: {steps", "W003 '32' is no value of steps",
                               "did you mean '3'?"),
    "no flag's value": ("batched: false, block", "batched: no, block", "    must: [",
                        "W003 'no' is no value of batched", "known: false, true"),
    "nothing in a sentence": ("{most};", "{alowed};", "    sentence: \"with",
                              "W003 '{alowed}' of a sentence is nothing", "did you mean 'allowed'?"),
    "several fields in a sentence": ("sentence: no batch", "sentence: \"{allowed}\"", "    sentence: \"{allowed}",
                                     "W003 {allowed} is what one field may be: `must` has others", None),
    "neither number of a problem": ("\"K = {measured}\"", "\"K = {messured}\"", "  one.k:",
                                    "W003 '{messured}' of a sentence is neither {measured} nor {limit}", None),
    "no field of problems": ("when: {quant: rows, batched", "when: {quants: rows, batched", "  one.k:",
                             "W003 'quants' is no field that rules of problems look at", "did you mean 'quant'?"),
    "no value in problems": ("when: {quant: rows, batched", "when: {quant: tiles, batched", "  one.k:",
                             "W003 'tiles' is no value of quant", "known: none, rows, blocks"),
    "no size": ("size: k,", "size: q,", "  one.k:", "W003 'q' is no size", "known: m, n, k, batch"),
    "no demand": ("must: multiple_of,", "must: multipleof,", "  one.k:", "W003 'multipleof' is no demand",
                  "did you mean 'multiple_of'?"),
}  # fmt: skip


def wrong(text: str) -> list[tuple[str, str, str | None]]:
    """The line, the code and message, and the hint of all that is wrong."""
    found = read_description(text, FILE)
    assert isinstance(found, list)
    lines = ["", *text.splitlines()]
    assert all(one.location is not None and one.location.file == FILE for one in found)
    return [(lines[one.location.line], f"{one.code} {one.message}", one.hint) for one in found if one.location]


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_is_said_with_its_line_and_what_to_do(what: str) -> None:
    old, new, line, message, hint = WRONG[what]
    assert TEXT.count(old) == 1, old
    ((found, said, advice),) = wrong(TEXT.replace(old, new))
    assert found.startswith(line) and (said, advice) == (message, hint)


@pytest.mark.parametrize("text", ["", f"{TEXT}---\na: 1\n", "--- a\n--- b\n"])
def test_one_document_is_needed(text: str) -> None:
    found = read_description(text, FILE)
    assert isinstance(found, list)
    assert [one.render() for one in found] == [f"error[W003] {FILE}: one document is needed"]


def test_broken_syntax_is_all_that_is_said() -> None:
    found = read_description("a: [\n", FILE)
    assert isinstance(found, list) and [one.code for one in found] == ["K001"]


def test_each_enum_and_each_rule_tells_its_own_error() -> None:
    text = TEXT.replace("two: {code: 1,", "two: {code: 0,").replace("x8: {code: 2,", "x8: {code: 9,")
    text = text.replace("rows: {code: 1}", "rows: {code: 0}")
    assert [(line.strip()[:4], said[:4], hint) for line, said, hint in wrong(text)] == [
        ("two:", "W001", "the next free one is 1"),
        ("rows", "W001", "the next free one is 3"),
        ("x8: ", "W001", CODES),
    ]
    text = TEXT.replace("steps: 31", "steps: 32").replace("batched: false, block", "bached: false, block")
    assert [said for _, said, _ in wrong(text)] == [
        "W003 '32' is no value of steps",
        "W003 'bached' is no field of a signature",
    ]


def test_codes_behind_a_gap_or_a_double_one_are_not_told() -> None:
    members = "      none: {code: 0}\n      rows: {code: 1}\n      blocks: {code: 2, text: tiles}\n"
    assert members in TEXT
    for codes, messages in {
        (0, 2, 3): ["rows has code 2, and 1 is missing before it"],
        (0, 2, 4): ["rows has code 2, and 1 is missing before it"],
        (0, 0, 1): ["rows has code 0, and none has it too"],
        (1, 1, 1): ["none has code 1, and 0 is missing before it", "rows has code 1, and none has it too",
                    "blocks has code 1, and none has it too"],
    }.items():  # fmt: skip
        others = "".join(f"      {name}: {{code: {code}}}\n" for name, code in zip(("none", "rows", "blocks"), codes,
                                                                                  strict=True))  # fmt: skip
        assert [said for _, said, _ in wrong(TEXT.replace(members, others))] == [f"W001 Quant: {m}" for m in messages]


def test_as_many_members_sizes_and_bits_as_fit_are_taken() -> None:
    many = ", ".join(f"m{code}: {{code: {code}}}" for code in range(32))
    text = TEXT.replace("  Quant:\n    doc", f"  Many:\n    doc: Many.\n    members: {{{many}}}\n  Quant:\n    doc")
    text = text.replace("blocks: {code: 2, text: tiles}", "blocks: {code: 2, text: tiles}\n      more: {code: 3}")
    found = read_description(text, FILE)
    assert isinstance(found, Description) and len(found.enums["Many"].members) == 32
    assert {name: (field.at, field.bits) for name, field in found.fields.items()} == {
        "a": (4, 3), "op": (3, 1), "b": (0, 3), "quant": (10, 2), "batched": (9, 1), "block": (7, 2),
        "preshuffle_b": (7, 1),
    }  # fmt: skip
    assert isinstance(read_description(TEXT.replace("  bits: 13", "  bits: 12"), FILE), Description)
    assert isinstance(read_description(TEXT.replace("  bits: 13", "  bits: 11"), FILE), list)


def test_rules_are_masks_of_codes_and_sentences_without_what_is_known() -> None:
    found = small()
    of_usual, types, batch = found.rules
    assert of_usual.sentence == "with {a}, B is {allowed}; x8, y8; 64, 32, 16; 5; {steps}"
    assert of_usual.cases == (
        Case((Condition("a", 0b1), Condition("quant", 0b110)), ((Condition("b", 0b1),),), "x16"),
        Case((Condition("a", 0b110),), ((Condition("b", 0b10),),), "y8"),
        Case((), ((Condition("b", 0b1000),),), "none"),
    )
    assert types.cases == (
        Case(
            (Condition("steps", 1 << 31), Condition("b", same="a", negated=True)),
            ((Condition("a", EVERY ^ 0b1010),),),
            "x16, x8",
        ),
    )
    assert batch.cases == (
        Case(
            (),
            (
                (Condition("batched", 0b1), Condition("block", 0b111)),
                (Condition("steps", 0b1),),
                (Condition("b", same="a"),),
            ),
            "",
        ),
    )
    assert [(rule.of, rule.cpp_only) for rule in found.rules] == [
        (("one",), False),
        (("one", "two"), False),
        (("two",), True),
    ]


def test_members_of_types_are_told_by_name_and_others_in_their_order() -> None:
    for must, allowed in (
        ("{quant: [rows, none]}", "none, rows"),
        ("{a: [y8, x16, x8]}", "x16, x8, y8"),
        ("{block: [16, 64]}", "64, 16"),
        ("{steps: 3}", ""),
        ("{a: =b}", ""),
        ("{a: x8, b: y8}", ""),
        ("[{a: x8}, {b: y8}]", ""),
    ):
        text = TEXT.replace("[{batched: false, block: rung}, {steps: 0}, {b: =a}]", must)
        found = read_description(text, FILE)
        assert isinstance(found, Description) and [case.allowed for case in found.rules[2].cases] == [allowed]


def test_a_rule_of_problems_without_a_size_has_a_sentence_alone() -> None:
    of_m, of_k, last = small().problem_rules
    assert of_m == ProblemRule("one.m", "M = {measured} is below {limit}", "m", "at_least", 1, ())
    assert of_k == ProblemRule(
        "one.k", "K = {measured}", "k", "multiple_of", 2, (("quant", "rows"), ("batched", "true"))
    )
    assert last == ProblemRule("last", "nothing was built", "", "", 0, ())


def test_a_description_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        small().rules[0].cases[0].when[0].mask = 1  # type: ignore[misc]
