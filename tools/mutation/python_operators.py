"""Which operators change Python source: those of cosmic-ray that say something, and a few in its form that it lacks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import parso
from cosmic_ray.operators.operator import Example, Operator
from cosmic_ray.plugins import get_operator
from parso.python.tree import FStringString, Keyword, PythonNode, String
from parso.python.tree import Operator as OperatorLeaf

Position = tuple[int, int]

# One partner for each arithmetic operator, the opposite and the nearest one for each comparison: all 132 pairs of
# arithmetic operators would be most of what is drawn, and most of them end in a TypeError whatever a test asserts.
_BINARY = (
    "Add_Sub", "Sub_Add", "Mul_FloorDiv", "Div_Mul", "FloorDiv_Mul", "Mod_FloorDiv", "Pow_Mul", "LShift_RShift",
    "RShift_LShift", "BitAnd_BitOr", "BitOr_BitAnd", "BitXor_BitOr",
)  # fmt: skip
_COMPARISON = (
    "Eq_NotEq", "NotEq_Eq", "Lt_LtE", "Lt_GtE", "LtE_Lt", "LtE_Gt", "Gt_GtE", "Gt_LtE", "GtE_Gt", "GtE_Lt", "Is_IsNot",
    "IsNot_Is",
)  # fmt: skip
_OTHER = (
    "ReplaceUnaryOperator_Delete_Not", "ReplaceUnaryOperator_Delete_USub", "ReplaceUnaryOperator_Delete_Invert",
    "AddNot", "ReplaceTrueWithFalse", "ReplaceFalseWithTrue", "ReplaceAndWithOr", "ReplaceOrWithAnd",
    "ReplaceBreakWithContinue", "ReplaceContinueWithBreak", "ExceptionReplacer", "NumberReplacer",
    "ZeroIterationForLoop",
)  # fmt: skip


class ReplaceIn(Operator):
    """`in` with `not in` and back."""

    def mutation_positions(self, node: Any) -> Iterator[tuple[Position, Position]]:
        if node.type == "comparison":
            yield from ((node.children[at].start_pos, node.children[at].end_pos) for at in self._places(node))

    def mutate(self, node: Any, index: int) -> Any:
        at = self._places(node)[index]
        node.children[at] = parso.parse(" not in" if node.children[at].get_code().strip() == "in" else " in")
        return node

    @staticmethod
    def _places(node: Any) -> list[int]:
        words = ("in", "not in")
        return [at for at in range(1, len(node.children), 2) if " ".join(node.children[at].get_code().split()) in words]

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        return Example("x in y", "x not in y"), Example("x not in y", "x in y")


class NegateFilter(Operator):
    """The condition of a comprehension."""

    def mutation_positions(self, node: Any) -> Iterator[tuple[Position, Position]]:
        if isinstance(node, PythonNode) and node.type == "comp_if":
            yield node.children[1].start_pos, node.children[1].end_pos

    def mutate(self, node: Any, index: int) -> Any:
        node.children[1] = parso.parse(f" not ({node.children[1].get_code().strip()})")
        return node

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        return (Example("[x for x in y if x]", "[x for x in y if not (x)]"),)


class RemoveCall(Operator):
    """A call that is a statement, made for what it does."""

    def mutation_positions(self, node: Any) -> Iterator[tuple[Position, Position]]:
        if node.type == "atom_expr" and node.parent is not None and node.parent.type == "simple_stmt" and _called(node):
            yield node.start_pos, node.end_pos

    def mutate(self, node: Any, index: int) -> Any:
        return Keyword("pass", node.start_pos, prefix=node.get_first_leaf().prefix)

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        return Example("f(x)\n", "pass\n"), Example("x.append(y)\n", "pass\n")


class ChangeText(Operator):
    """A string's text, or a piece of one between the braces of an f-string."""

    def mutation_positions(self, node: Any) -> Iterator[tuple[Position, Position]]:
        if isinstance(node, (String, FStringString)):
            yield node.start_pos, node.end_pos

    def mutate(self, node: Any, index: int) -> Any:
        if isinstance(node, FStringString):
            node.value = f"XX{node.value}"
            return node
        quote = min(at for at in (node.value.find('"'), node.value.find("'")) if at >= 0)
        width = 3 if node.value[quote : quote + 3] in ('"""', "'''") else 1
        node.value = f"{node.value[: quote + width]}XX{node.value[quote + width :]}"
        return node

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        return Example('x = "a"', 'x = "XXa"'), Example('x = f"{a} b"', 'x = f"{a}XX b"')


def _called(node: Any) -> bool:
    last = node.children[-1]
    opened = last.children[0] if last.type == "trailer" else None
    return isinstance(opened, OperatorLeaf) and opened.value == "("


def operators() -> dict[str, Operator]:
    """All operators by name, in a fixed order."""
    borrowed = (
        *(f"ReplaceBinaryOperator_{pair}" for pair in _BINARY),
        *(f"ReplaceComparisonOperator_{pair}" for pair in _COMPARISON),
        *_OTHER,
    )
    own = (ReplaceIn, NegateFilter, RemoveCall, ChangeText)
    return {name: get_operator(f"core/{name}")() for name in borrowed} | {cls.__name__: cls() for cls in own}
