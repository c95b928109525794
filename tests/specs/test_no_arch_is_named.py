"""Only arch_specs/ names archs: no code, template, kernel set or build script does.

Comments may, and so may words by which a reader learns how an arch is written: "such as gfx942". What says what AMD's
own code objects, and third parties' sources, are for is data of them and names processors; so does
ckgen_emulator/production, which launches such objects.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ckgen import paths

ROOT = paths.root()
PLACES = ("codegen", "templates", "dispatcher_cpp", "emulator")
EXEMPT = (
    "dispatcher_cpp/tests/",
    "dispatcher_cpp/include/ckgen/arch_data.hpp",  # generated from arch_specs/
    "dispatcher_cpp/include/ckgen/product_data.hpp",  # likewise
    "emulator/ckgen_emulator/production/",
    "codegen/ckgen/families/fmha/kernel_sets/asm.yaml",  # AMD's own objects, by the archs that they are for
)
ARCH = re.compile(r"gfx[0-9][0-9a-f]{2,}(?![0-9a-z])|sm_[0-9]{2,}[a-z]?(?![0-9a-z])", re.IGNORECASE)
"""gfx10, gfx11 and gfx12, by which compilers tell generations apart, are none."""
BEGUN = re.compile("gfx|sm_", re.IGNORECASE)
"""With what a name begins, also where a string is written in parts: only such files are worth parsing."""
ONE = r"""["']?(?:[0-9]+=)?gfx[0-9a-f]+(?::[0-9]+)?["']?"""
EXAMPLE = re.compile(rf"(?:such as|for example(?: TARGETS)?|as in|--targets?) {ONE}(?:(?:[;, ]| or ){ONE})*")
COMMENT = re.compile(r'//[^\n]*|/\*.*?\*/|("(?:\\.|[^"\\\n])*")', re.DOTALL)

Named = Iterator[tuple[int, str]]


def names_in(text: str) -> Iterator[str]:
    """Archs that a text names but as an example."""
    yield from ARCH.findall(EXAMPLE.sub("", text))


def in_python(source: str) -> Named:
    """In identifiers and strings that are no docstrings."""
    if not BEGUN.search(source):
        return
    tree = ast.parse(source)
    documents = {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documents:
            yield from ((node.lineno, name) for name in names_in(node.value))
    if not ARCH.search(source):
        return
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.NAME:
            yield from ((token.start[0], name) for name in ARCH.findall(token.string))


def in_cpp(source: str) -> Named:
    """In all but comments; strings stay."""
    if not ARCH.search(source):
        return
    plain = COMMENT.sub(lambda found: found[1] or "\n" * found[0].count("\n"), source)
    for number, line in enumerate(plain.splitlines(), 1):
        yield from ((number, name) for name in names_in(line))


def in_lines(source: str) -> Named:
    """In all but what stands behind a #: YAML, CMake."""
    for number, line in enumerate(source.splitlines(), 1):
        yield from ((number, name) for name in names_in(line.partition("#")[0]))


def in_template(source: str) -> Named:
    """In all but comments of Jinja and C++."""
    yield from in_cpp(re.sub(r"\{#.*?#\}", lambda found: "\n" * found[0].count("\n"), source, flags=re.DOTALL))


READERS: dict[str, Callable[[str], Named]] = {
    ".py": in_python, ".cpp": in_cpp, ".hpp": in_cpp, ".h": in_cpp, ".j2": in_template, ".yaml": in_lines,
    ".cmake": in_lines, ".txt": in_lines, ".in": in_lines,
}  # fmt: skip


def named(root: Path) -> list[str]:
    """`file:line: arch` of every arch that is named under `root`."""
    found = []
    for place in PLACES:
        for file in sorted((root / place).rglob("*")):
            shown = file.relative_to(root).as_posix()
            if not file.is_file() or file.suffix not in READERS or shown.startswith(EXEMPT) or "-info/" in shown:
                continue
            read = READERS[file.suffix](file.read_text(encoding="utf-8"))
            found += [f"{shown}:{line}: {name}" for line, name in read]
    return found


def test_nothing_but_the_specs_names_an_arch() -> None:
    assert named(ROOT) == []


@pytest.mark.parametrize(
    ("file", "text", "line"),
    [
        ("codegen/a.py", '"""gfx942"""\n# gfx942\nif arch == "gfx942": pass\n', 3),
        ("codegen/b.py", 'f"{name} on gfx90a"\n', 1),
        ("codegen/c.py", "gfx950_tiles = 1\n", 1),
        ("codegen/d.py", "_GFX950 = 1\n", 1),
        ("codegen/e.py", '"give --targets, for example gfx942;gfx950:128"\nx = "gfx1100"\n', 2),
        ("codegen/kernel_sets/f.yaml", "# gfx942\ntargets: [gfx942, cdna4]\n", 2),
        ("dispatcher_cpp/g.hpp", "// gfx942\n/* gfx942\n */ int x;\n#if defined(__gfx942__)\n", 4),
        ("dispatcher_cpp/h.cpp", 'auto a = "// gfx942";\n', 1),
        ("dispatcher_cpp/cmake/i.cmake", "# gfx942\nset(ARCHS gfx942)\n", 2),
        ("emulator/j.cpp", "enum class Chip { gfx90a };\n", 1),
        ("templates/k.hpp.j2", "{# gfx942 #}\n// gfx942\nArch::gfx942\n", 3),
    ],
)
def test_a_name_is_found_with_its_line(tmp_path: Path, file: str, text: str, line: int) -> None:
    place = tmp_path / file
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text, encoding="utf-8")
    (found,) = named(tmp_path)
    assert found.lower().startswith(f"{file}:{line}: gfx")


def test_examples_and_comments_are_no_names(tmp_path: Path) -> None:
    folder = tmp_path / "codegen"
    folder.mkdir()
    (folder / "a.py").write_text('"""Of gfx942."""\nx = "a name such as gfx942 or x86_64_v4"  # gfx942\n', "utf-8")
    assert named(tmp_path) == []
