"""What is written of a small description: modules that run, headers that compile, lines of what the real one lacks."""

from __future__ import annotations

import runpy
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from small_description import TEXT, small

from ckgen import paths
from ckgen.emit.ops.__main__ import SOURCE, WRITERS, main
from ckgen.emit.ops.builder import cpp_builder, python_builder
from ckgen.emit.ops.cpp_problem_rules import cpp_problem_rules
from ckgen.emit.ops.cpp_tables import cpp_fields, cpp_rules
from ckgen.emit.ops.cpp_words import cpp_fmha_words, cpp_key, cpp_words
from ckgen.emit.ops.description import Description
from ckgen.emit.ops.python_tables import python_key, python_problem_rules, python_rules
from ckgen.emit.ops.python_words import python_words
from ckgen.emit.ops.read import read_description
from ckgen.emit.ops.text import COMMAND, docstring


def run(write: Callable[[Description], str], **known: Any) -> Any:
    """The module that a writer makes of the small description; `known` stands for what it imports."""
    text = "\n".join(line for line in write(small()).splitlines() if "import DType" not in line)
    module = ModuleType("written")
    vars(module).update(known)
    exec(compile(text, "written", "exec"), vars(module))
    return module


def lines(write: Callable[[Description], str]) -> list[str]:
    return [line.strip() for line in write(small()).splitlines()]


def test_words_in_python() -> None:
    words = run(python_words)
    assert [(one.name, one.value, one.code) for one in words.Quant] == [
        ("NONE", "none", 0), ("ROWS", "rows", 1), ("BLOCKS", "tiles", 2),
    ]  # fmt: skip
    types = {one.name: (one.code, one.bits, one.word, one.flip(words.Quant.ROWS).name) for one in words.DType}
    assert types == {"X16": (0, 16, "half", "X16"), "Y8": (1, 8, "", "Y8"), "X8": (2, 8, "", "Y8")}
    assert words.DType.X8.flip(None) is words.DType.X8.flip(words.Quant.NONE) is words.DType.X8
    assert [(one.is_one, one.is_none) for one in words.Op] == [(True, False), (False, False)]
    assert (words.Op.__doc__, words.Op.is_one.__doc__) == ("What is done; ONE comes first.", "Whether it is ONE.")
    assert (5, (64, 32, 16), tuple(words.Op)) == (words.MOST, words.RUNG, words.BOTH)
    assert words.ABSENT == {"DType": 3} and words.CODES["DType"]["none"] == 3
    assert {"Op": words.Op, "DType": words.DType, "Quant": words.Quant} == words.WORDS


def test_keys_and_names_in_python() -> None:
    key = run(python_key)
    assert (key.KEY_BITS, key.SIZES) == (13, {"rung": (64, 32, 16)})
    assert key.FIELDS[2:4] == (("b", "DType", 0, 3, ("one", "two")), ("quant", "Quant", 10, 2, ("one",)))
    assert key.NAME_WORDS == (
        (("one",), "quant", "", "by_", True, False), (("one",), "batched", "batched", "", False, True),
    )  # fmt: skip


def test_rules_in_python() -> None:
    words = run(python_words)
    rules = run(python_rules, DType=words.DType, Quant=words.Quant)
    assert [name for name, *_ in rules.RULES] == ["one.b", "two.types"]
    assert rules.RULES[1][3] == (
        ((("steps", 1 << 31), ("b", "!=a")), ((("a", 0xFFFFFFF5),),), "x16, x8"),
    )  # fmt: skip
    x16, y8, x8 = words.DType
    none, rows, blocks = words.Quant
    aliases = {"plain": ((x8, y8), x8, x16, none, False, False), "many": ((x16,), None, y8, rows, True, True)}
    assert aliases == rules.ALIASES
    found = {(a.name, quant.name): rules.default_b(a, quant) for a in words.DType for quant in words.Quant}
    assert found == {
        ("X16", "NONE"): None, ("X16", "ROWS"): x16, ("X16", "BLOCKS"): x16,
        **{(a, quant.name): y8 for a in ("X8", "Y8") for quant in (none, rows, blocks)},
    }  # fmt: skip


def test_what_python_has_not_is_none_where_usual_members_ask_for_it() -> None:
    words = run(python_words)
    for asked, said in (
        ("none", "    if a is None:"),
        ("[none, y8]", "    if a in (DType.Y8, None):"),
        ("not [y8, x8]", "    if a in (DType.X16, None):"),
    ):
        found = read_description(TEXT.replace("when: {a: eights}", f"when: {{a: {asked!r}}}"), "small.yaml")
        assert isinstance(found, Description)
        text = python_rules(found)
        assert said in text.splitlines()
        assert "def default_b(a: DType | None, quant: Quant) -> DType | None:" in text.splitlines()
        module = ModuleType("written")
        vars(module).update(DType=words.DType, Quant=words.Quant)
        exec(
            compile("\n".join(one for one in text.splitlines() if "import DType" not in one), "w", "exec"), vars(module)
        )
        assert module.default_b(None, words.Quant.NONE) is words.DType.Y8


def test_rules_of_problems_in_both_languages() -> None:
    problems = run(python_problem_rules)
    assert problems.SIGNATURE_RULES == (
        ("one.m", "m", "at_least", 1, {}),
        ("one.k", "k", "multiple_of", 2, {"quant": "rows", "batched": True}),
    )
    assert list(problems.MESSAGES) == ["one.m", "one.k", "last"]
    assert {
        "{1, ProblemSize::m, ProblemTest::at_least, 1, -1, -1, -1, -1},",
        "{2, ProblemSize::k, ProblemTest::multiple_of, 2, 1, -1, 1, -1},",
    } <= set(lines(cpp_problem_rules))


def test_what_builders_refuse_in_both_languages() -> None:
    builder = run(python_builder)
    assert builder.SETTERS == ("one", "two", "three") and builder.ADVICE == {
        "one.b": "say another B",
        "last": "build it",
    }
    assert builder.CONTRADICTIONS == (
        ("build.none", (), ("one", "two"), "say one"),
        ("build.both", ("one", "three"), (), "not both"),
    )
    assert {
        "enum class FmhaSetter : std::uint8_t { one, two, three };",
        '{"build.none", 0x0, 0x3,', '{"build.both", 0x5, 0x0,', '{0, "say another B"},', '{3, "build it"},',
    } <= set(lines(cpp_builder))  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("without: [one, two]", "without: [one, tow]", "'tow' is no setter"),
        ("    one.b: say", "    one.c: say", "'one.c' is no rule of a signature or problem"),
        ("[one, two, three]", "[one, two, one]", "at most 64 setters, each once"),
    ],
)
def test_a_builder_that_speaks_of_nothing_is_refused(old: str, new: str, says: str) -> None:
    assert TEXT.count(old) == 1
    found = read_description(TEXT.replace(old, new), "small.yaml")
    assert isinstance(found, list) and [one.message for one in found] == [says]


def test_conditions_on_other_fields_in_cpp() -> None:
    of_rules, of_fields = set(lines(cpp_rules)), set(lines(cpp_fields))
    assert {"{Field::b, 0x0, 0},", "{Field::b, 0xffffffff, 0},", "{Field::a, 0xfffffff5},"} <= of_rules
    assert "if (a == DType::x16 && (quant == Quant::rows || quant == Quant::blocks)) return DType::x16;" in of_fields
    assert {"if ((a == DType::y8 || a == DType::x8)) return DType::y8;", "return DType::none;"} <= of_fields


def test_the_op_of_a_key_is_visited_first() -> None:
    visits = [line for line in lines(cpp_key) if line.startswith("visit(s.")]
    assert visits == [
        "visit(s.op, 3, 1);", "visit(s.a, 4, 3);", "visit(s.b, 0, 3);", "visit(s.quant, 10, 2);",
        "visit(s.batched, 9, 1);", "visit(s.block, 7, 2, kRung);", "visit(s.preshuffle_b, 7, 1);",
    ]  # fmt: skip


PROGRAM = """\
#include <ckgen/key_bits.hpp>
#include <ckgen/problem_rules.hpp>
using namespace ckgen;
static_assert(is_one(Op::one) && !is_one(Op::two) && !is_none(Op::one) && name(Op::two) == "two");
static_assert(bits(DType::x16) == 16 && word(DType::x16) == "half" && word(DType::y8).empty());
static_assert(flip(DType::x8, Quant::rows) == DType::y8 && flip(DType::x8, Quant::blocks) == DType::x8);
static_assert(name(Quant::blocks) == "tiles" && kMost == 5 && kRung[2] == 16 && key_bits::signature == 13);
static_assert(problem_rule_count == 3 && static_cast<int>(ProblemRule::last) == 3);
static_assert(sizeof(signature_rules) / sizeof(signature_rules[0]) == 2);
"""


@pytest.mark.cpp
def test_headers_compile_without_a_warning(tmp_path: Path) -> None:
    folder = tmp_path / "ckgen"
    folder.mkdir()
    headers = {
        "words": cpp_words,
        "fmha_words": cpp_fmha_words,
        "key_bits": cpp_key,
        "problem_rules": cpp_problem_rules,
    }
    for name, write in headers.items():
        (folder / f"{name}.hpp").write_text(write(small()), encoding="utf-8")
    (tmp_path / "probe.cpp").write_text(PROGRAM, encoding="utf-8")
    compiler = shutil.which("g++") or shutil.which("clang++")
    assert compiler is not None
    flags = ["-std=c++17", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", f"-I{tmp_path}"]
    done = subprocess.run([compiler, *flags, str(tmp_path / "probe.cpp")], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("mark", ['"', "\\", '\\"'])
def test_a_sentence_that_ends_a_literal_is_never_written(mark: str) -> None:
    described = small()
    rule = replace(described.rules[0], sentence=f"a {mark} b")
    for write in (cpp_rules, python_rules):
        with pytest.raises(AssertionError, match="a "):
            write(replace(described, rules=(rule,)))


@pytest.mark.parametrize("over", [0, 1])
def test_a_line_of_cpp_has_120_columns_at_most(over: int) -> None:
    described = small()
    op = described.enums["Op"]
    missing = 120 + over - len('  constexpr std::string_view names[] = {"one", "two"};')
    long = replace(op, members=(op.members[0], replace(op.members[1], text="two" + "w" * missing)))
    written = cpp_words(replace(described, enums={**described.enums, "Op": long})).splitlines()
    names = [line for line in written if "two" + "w" * missing in line]
    texts = f'"one", "two{"w" * missing}"'
    assert names == [f"      {texts}" if over else f"  constexpr std::string_view names[] = {{{texts}}};"]


def of_length(length: int) -> str:
    """Words of four letters and one that fills up to that column."""
    words = "word " * (length // 5)
    return words.rstrip().ljust(length, "x")


@pytest.mark.parametrize("indent", ["", "    ", "        "])
@pytest.mark.parametrize("more", ["", "Another paragraph that stands behind it. " * 6])
@pytest.mark.parametrize("length", [-100, -7, -6, -5, -4, -3, -2, 90, 240])
def test_a_docstring_is_as_wide_as_it_may_be_and_no_wider(indent: str, more: str, length: int) -> None:
    room = 120 - len(indent)
    text = of_length(room + length)
    made = docstring(text, more, indent)
    written = made.split("\n")
    assert all(line.startswith(indent) and len(line) <= 120 for line in written if line)
    assert " ".join(made.replace('"""', " ").split()) == " ".join(f"{text} {more}".split())
    is_one = not more and length <= -6
    assert is_one == (len(written) == 1)
    if is_one:
        return
    opening, *rest, closing = written
    assert opening.startswith(f'{indent}"""') and closing == f'{indent}"""'
    assert rest[:1] == ([""] if more or length > -3 else [])
    full = [opening] * (length > -3) + rest[1:-1]
    behind = [rest[1]] * (length > -3) + rest[2:] if rest else []
    assert all(len(line) + 1 + len(next_line.split()[0]) > 120 for line, next_line in zip(full, behind, strict=True))


def checkout(folder: Path) -> Path:
    (folder / "schema").mkdir()
    (folder / SOURCE).write_text(TEXT, encoding="utf-8")
    return folder


def test_the_command_holds_files_and_writes_only_where_it_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    root = checkout(tmp_path)
    monkeypatch.setattr(paths, "root", lambda: root)

    def program(*arguments: str) -> object:
        monkeypatch.setattr(sys, "argv", [*arguments])
        monkeypatch.delitem(sys.modules, "ckgen.emit.ops.__main__", raising=False)
        with pytest.raises(SystemExit) as ended:
            runpy.run_module("ckgen.emit.ops", run_name="__main__")
        return ended.value.code

    assert program("--write") == 1  # the name of a program is no argument
    assert capsys.readouterr().err == "".join(
        f"{Path(path).name} is not what {SOURCE} says; run: {COMMAND}\n" for path in WRITERS
    )
    assert program("ops", "--write") == 0 and program("ops") == 0
    for path, write in WRITERS.items():
        assert (root / path).read_text(encoding="utf-8") == write(small())


def test_all_errors_are_printed_line_by_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = checkout(tmp_path)
    assert main([], tmp_path / "none") == 2
    assert capsys.readouterr().err == f"{tmp_path / 'none' / SOURCE} is missing: only a checkout has it\n"
    (root / SOURCE).write_text("a: 1\na: 2\n---\nb: [\n", encoding="utf-8")
    assert main([], root) == 3
    assert capsys.readouterr().err == (
        f"error[K002] {SOURCE}:2 and {SOURCE}:1: key 'a' stands twice\n"
        f"error[K001] {SOURCE}:5: not YAML: expected the node content, but found '<stream end>'\n"
    )
