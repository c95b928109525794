"""Where Python source can be changed, and its text once it is."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code

from .mutant import Mutant, Site, changed_line, is_generated, numbered
from .python_operators import operators


class _Place(NamedTuple):
    line: int
    column: int
    operator: str
    nth: int
    """Which of the operator's positions in the file."""


def python_sites(tree: Path, files: Sequence[str]) -> list[Site]:
    """Sites of all `files`, which are relative to `tree`."""
    return [site for file in files for site in _sites(file, (tree / file).read_text(encoding="utf-8"))]


def python_mutant(tree: Path, site: Site) -> Mutant | None:
    """The mutant of a site; None if its text does not compile or means the same to Python."""
    source = (tree / site.key.file).read_text(encoding="utf-8")
    place = _places(source)[_sites(site.key.file, source).index(site)]
    text = mutate_code(source, operators()[place.operator], place.nth)
    if text is None or not _differs(source, text):
        return None
    return Mutant(site, *changed_line(source, text), text)


@cache
def _sites(file: str, source: str) -> list[Site]:
    lines = source.splitlines()
    return numbered(
        (file, place.operator, lines[place.line - 1], place.line, place.column) for place in _places(source)
    )


@cache
def _places(source: str) -> list[_Place]:
    """In the order of the text; without what is for readers and type checkers only. None of a generated file."""
    if is_generated(source):
        return []
    left_out = list(_left_out(ast.parse(source)))
    nodes = list(ast_nodes(get_ast(source)))
    found = [
        _Place(*start, name, index)
        for name, operator in operators().items()
        for index, (start, _) in enumerate(at for node in nodes for at in operator.mutation_positions(node))
    ]
    return sorted(
        place for place in found if not any(begin <= (place.line, place.column) < end for begin, end in left_out)
    )


def _left_out(module: ast.Module) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Spans of docstrings, annotations and names of types, `__all__`, `if TYPE_CHECKING`, and a dataclass's `slots`,
    which saves memory."""
    for node in ast.walk(module):
        match node:
            case ast.Expr(value=ast.Constant(value=str())):
                yield _span(node)
            case ast.FunctionDef(returns=ast.expr() as returns):
                yield _span(returns)
            case ast.arg(annotation=ast.expr() as annotation) | ast.AnnAssign(annotation=annotation):
                yield _span(annotation)
            case ast.Assign(targets=[ast.Name(id="__all__")]) | ast.If(test=ast.Name(id="TYPE_CHECKING")):
                yield _span(node)
            case ast.Call(func=ast.Name(id="cast"), args=[kind, *_]):
                yield _span(kind)
            case ast.keyword(arg="slots"):
                yield _span(node.value)
            case ast.Assign(value=ast.BinOp(op=ast.BitOr()) as union) if node in module.body:
                yield _span(union)
            case _:
                pass


def _span(node: ast.stmt | ast.expr) -> tuple[tuple[int, int], tuple[int, int]]:
    assert node.end_lineno is not None and node.end_col_offset is not None
    return (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)


def _differs(source: str, text: str) -> bool:
    try:
        return ast.dump(ast.parse(source)) != ast.dump(compile(text, "mutant", "exec", ast.PyCF_ONLY_AST))
    except SyntaxError:
        return False
