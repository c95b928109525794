"""What is changed in C++ text, and what is left alone."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

pytest.importorskip("tree_sitter_cpp", reason="needs the optional dependencies `mutation`")
sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))

from mutation.cpp_changes import changes


def mutants(body: str) -> set[str]:
    """All that one line in a function can become."""
    text = f"void f() {{\n{body}\n}}\n"
    return {change.applied(text).splitlines()[1] for change in changes(text)}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("if (a < b) c();", {"if (a <= b) c();", "if (!(a < b)) c();", "if (a < b) ;"}),
        ("x = a <= b;", {"x = a < b;", "x = a > b;", ";"}),
        ("x = a && !b;", {"x = a || !b;", "x = a && b;", ";"}),
        ("if (!a) return;", {"if (a) return;", ";"}),
        ("x = a % 4u;", {"x = a / 4u;", "x = a % 5u;", "x = a % 3u;", ";"}),
        ("x -= 0;", {"x += 0;", "x -= 1;", "x -= (-1);", ";"}),
        ("x = 0x0f;", {"x = 0x10;", "x = 0xE;", ";"}),
        ("x = ~a ^ b << c;", {"x = a ^ b << c;", "x = ~a & b << c;", "x = ~a ^ b >> c;", ";"}),
        ("x = std::min(a, b);", {"x = std::max(a, b);", ";"}),
        ("while (a) ++b;", {"while (!(a)) ++b;", "while (a) --b;", "while (a) ;"}),
        ("for (;;) break;", {"for (;;) continue;"}),
        ("for (;;) continue;", {"for (;;) break;"}),
        ("return a ? b : c;", {"return !(a) ? b : c;"}),
    ],
)
def test_a_line_becomes(line: str, expected: set[str]) -> None:
    assert mutants(line) == expected


@pytest.mark.parametrize(
    "line",
    [
        "// a < 1", 'const char* x = "a < 1";', "char x = '1';", "#define X 1", "assert(a < 1);",
        "static_assert(sizeof(int) == 4);", "std::array<int, 4> x;", "enum class E { a = 1, b = 2 };",
        "switch (a) { default: break; }", "float x = 1.5F;",
    ],
)  # fmt: skip
def test_left_alone(line: str) -> None:
    assert mutants(line) == set()


def test_values_of_a_c_headers_enumerators_are_part_of_its_abi() -> None:
    text = "enum E { a = 1 };\n"
    assert {change.applied(text) for change in changes(text, c_header=True)} == {
        "enum E { a = 2 };\n", "enum E { a = 0 };\n",
    }  # fmt: skip


def test_lines_after_a_change_keep_their_numbers() -> None:
    text = "void f() {\n  g(a,\n    b);\n  h();\n}\n"
    removed = next(change for change in changes(text) if change.operator == "statement removed")
    assert removed.applied(text) == "void f() {\n  ;\n\n  h();\n}\n"


def test_generated_files_are_left_alone() -> None:
    assert changes("// Do not edit.\nint x = 1;\n") == []
