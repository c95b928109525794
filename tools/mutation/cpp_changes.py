"""Mutants of C++ text: what a small slip of its author would have left, one change each.

The text is parsed (tree-sitter), so comments, literals of text, preprocessor directives, assertions and lists of
template parameters or arguments are left alone. So are values of enumerators, which are names, but for those of C
headers, which are part of the ABI.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import tree_sitter_cpp
from tree_sitter import Language, Node, Parser

from .mutant import is_generated

_PARSER = Parser(Language(tree_sitter_cpp.language()))

_NEIGHBOUR = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
_OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}
_ARITHMETIC = {"+": "-", "-": "+", "*": "/", "/": "*", "%": "/"}
_BITS = {"&": "|", "|": "&", "^": "&", "<<": ">>", ">>": "<<"}
_LOGIC = {"&&": "||", "||": "&&"}
_KINDS = {"arithmetic": _ARITHMETIC, "bits": _BITS, "logic": _LOGIC}
_STEPS = {"++": "--", "--": "++"}
_EXTREMES = {"std::min": "std::max", "std::max": "std::min"}

_LEFT_ALONE = {
    "comment", "string_literal", "raw_string_literal", "char_literal", "concatenated_string", "system_lib_string",
    "static_assert_declaration", "template_parameter_list", "template_argument_list", "preproc_include", "preproc_def",
    "preproc_function_def", "preproc_call", "preproc_directive", "preproc_defined", "attribute_declaration",
    "alignas_qualifier", "noexcept", "requires_clause", "linkage_specification_text",
}  # fmt: skip
_LOOPS = {"for_statement", "for_range_loop", "while_statement", "do_statement"}
_JUMPS = {"return_statement", "break_statement", "continue_statement", "throw_statement", "goto_statement"}
_INTEGER = re.compile(r"(0[xX][0-9a-fA-F']+|0[bB][01']+|[0-9][0-9']*)([uUlLzZ]*)")


@dataclass(frozen=True, slots=True)
class Change:
    """Bytes `start` to `end` of a text become `after`; `operator` names the kind of slip."""

    start: int
    end: int
    operator: str
    after: str

    def applied(self, text: str) -> str:
        """The whole text with this change; lines after it keep their numbers."""
        data = text.encode()
        lines = data.count(b"\n", self.start, self.end) - self.after.count("\n")
        return (data[: self.start] + self.after.encode() + b"\n" * lines + data[self.end :]).decode()


def changes(text: str, *, c_header: bool = False) -> list[Change]:
    """All mutants of a source's text, in its order; none of a generated file."""
    if is_generated(text):
        return []
    found = set(_walk(_PARSER.parse(text.encode()).root_node, c_header))
    return sorted(found, key=lambda one: (one.start, one.end, one.operator, one.after))


def _walk(node: Node, c_header: bool) -> Iterator[Change]:
    if node.type in _LEFT_ALONE or _asserts(node) or (node.type == "enumerator" and not c_header):
        return
    yield from _of(node)
    skipped = node.child_by_field_name("condition") if node.type in ("preproc_if", "preproc_elif") else None
    for child in node.children:
        if child != skipped:
            yield from _walk(child, c_header)


def _of(node: Node) -> Iterator[Change]:
    match node.type:
        case "binary_expression":
            yield from _binary(node)
        case "assignment_expression":
            yield from _compound(node)
        case "unary_expression":
            yield from _unary(node)
        case "update_expression":
            yield from _swap(node.child_by_field_name("operator"), "step", _STEPS)
        case "number_literal":
            yield from _integer(node)
        case "if_statement":
            yield from _condition(node)
            yield from _guard(node)
        case "while_statement" | "do_statement" | "for_statement" | "conditional_expression":
            yield from _condition(node)
        case "expression_statement":
            if node.named_child_count and node.parent is not None and node.parent.type != "for_statement":
                yield Change(node.start_byte, node.end_byte, "statement removed", ";")
        case "break_statement" if _breaks_a_loop(node):
            yield Change(node.start_byte, node.end_byte, "break to continue", "continue;")
        case "continue_statement":
            yield Change(node.start_byte, node.end_byte, "continue to break", "break;")
        case "call_expression":
            yield from _swap(node.child_by_field_name("function"), "extreme", _EXTREMES)


def _binary(node: Node) -> Iterator[Change]:
    operator = node.child_by_field_name("operator")
    yield from _swap(operator, "relation", _NEIGHBOUR)
    if not _is_condition(node):  # there, its negation is the same
        yield from _swap(operator, "relation", _OPPOSITE)
    for name, table in _KINDS.items():
        yield from _swap(operator, name, table)


def _compound(node: Node) -> Iterator[Change]:
    operator = node.child_by_field_name("operator")
    for name in ("arithmetic", "bits"):
        yield from _swap(operator, name, {f"{old}=": f"{new}=" for old, new in _KINDS[name].items()})


def _unary(node: Node) -> Iterator[Change]:
    operator, argument = node.child_by_field_name("operator"), node.child_by_field_name("argument")
    if operator is not None and argument is not None and _text(operator) in ("!", "~"):
        yield Change(node.start_byte, node.end_byte, f"{_text(operator)} dropped", _text(argument))


def _integer(node: Node) -> Iterator[Change]:
    matched = _INTEGER.fullmatch(_text(node))
    if not matched:
        return
    digits = matched[1].replace("'", "")
    octal = len(digits) > 1 and digits.isdigit() and digits[0] == "0"
    value = int(digits, 8) if octal else int(digits, 0)
    written = (lambda number: f"0x{number:X}") if digits[:2] in ("0x", "0X") else str
    for other in (value + 1, value - 1):
        after = written(other) + matched[2] if other >= 0 else f"(-1{matched[2]})"
        yield Change(node.start_byte, node.end_byte, f"constant: {_text(node)} to {after}", after)


def _condition(node: Node) -> Iterator[Change]:
    condition = _condition_of(node)
    if condition is None:
        return
    operator = condition.child_by_field_name("operator") if condition.type == "binary_expression" else None
    swapped = operator is not None and _text(operator) in ("==", "!=")
    negated = condition.type == "unary_expression" and _text(condition).startswith("!")
    if not swapped and not negated:  # what the relation's and the negation's own mutants are
        yield Change(condition.start_byte, condition.end_byte, "condition negated", f"!({_text(condition)})")


def _guard(node: Node) -> Iterator[Change]:
    """A jump under a condition, with no other branch: removed as a whole."""
    body = node.child_by_field_name("consequence")
    if body is None or node.child_by_field_name("alternative") is not None:
        return
    statements = [one for one in body.named_children if one.type != "comment"]
    only = statements[0] if body.type == "compound_statement" and len(statements) == 1 else body
    is_branch = node.parent is not None and node.parent.type == "else_clause"
    if only.type in _JUMPS and not is_branch and not _constexpr(node):
        yield Change(node.start_byte, node.end_byte, "guard removed", ";")


def _swap(operator: Node | None, name: str, table: dict[str, str]) -> Iterator[Change]:
    if operator is not None and (text := _text(operator)) in table:
        yield Change(operator.start_byte, operator.end_byte, f"{name}: {text} to {table[text]}", table[text])


def _condition_of(node: Node) -> Node | None:
    """The expression that decides; none where it is a declaration."""
    condition = node.child_by_field_name("condition")
    if condition is not None and condition.type == "condition_clause":
        condition = condition.child_by_field_name("value")
    if condition is not None and condition.type == "parenthesized_expression":
        condition = next(iter(condition.named_children), None)
    return None if condition is None or condition.type == "declaration" else condition


def _is_condition(node: Node) -> bool:
    above = node.parent
    while above is not None and above.type in ("parenthesized_expression", "condition_clause"):
        above = above.parent
    return above is not None and (decides := _condition_of(above)) is not None and decides == node


def _breaks_a_loop(node: Node) -> bool:
    above = node.parent
    while above is not None and above.type != "switch_statement" and above.type not in _LOOPS:
        above = above.parent
    return above is not None and above.type in _LOOPS


def _asserts(node: Node) -> bool:
    if node.type == "expression_statement" and node.named_child_count:
        node = node.named_children[0]
    function = node.child_by_field_name("function") if node.type == "call_expression" else None
    return function is not None and _text(function) in ("assert", "static_assert")


def _constexpr(node: Node) -> bool:
    return any(child.type == "constexpr" for child in node.children)


def _text(node: Node) -> str:
    assert node.text is not None
    return node.text.decode()
