"""What schema/ops.yaml says once is what both languages have, and nothing else has to be edited."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from ckgen import paths
from ckgen.emit.ops.__main__ import SOURCE, WRITERS, main
from ckgen.emit.ops.description import Description
from ckgen.emit.ops.read import read_description
from ckgen.emit.ops.text import COMMAND
from ckgen.emit.schema import words_schema

TEXT = (paths.root() / SOURCE).read_text(encoding="utf-8")
PYTHON = "codegen/ckgen/model/op_words.py"
INCLUDE = "dispatcher_cpp/include"


def described(text: str) -> Description:
    description = read_description(text, SOURCE)
    assert isinstance(description, Description), description
    return description


def changed(old: str, new: str) -> str:
    assert TEXT.count(old) == 1, old
    return TEXT.replace(old, new)


def checkout(folder: Path, text: str = TEXT) -> Path:
    """A folder with the YAML and what is written of it."""
    (folder / "schema").mkdir(parents=True)
    (folder / SOURCE).write_text(text, encoding="utf-8")
    assert main(["--write"], folder) == 0
    return folder


@pytest.mark.parametrize("path", WRITERS)
def test_what_is_checked_in_is_what_the_yaml_says(path: str, request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--update-goldens", default=False):
        main(["--write"])
    text = (paths.root() / path).read_text(encoding="utf-8")
    assert text == WRITERS[path](described(TEXT)), f"{SOURCE} and {path} differ; run `{COMMAND}`"
    assert "Do not edit" in "\n".join(text.splitlines()[:2])


PLANTS = [
    (PYTHON, '"rowwise": 2', '"rowwise": 3'),
    (f"{INCLUDE}/ckgen/words.hpp", "  rrr,\n  ccr,\n", "  ccr,\n  rrr,\n"),
    (f"{INCLUDE}/ckgen/key_bits.hpp", "visit(s.quant, 3, 4)", "visit(s.quant, 4, 4)"),
    ("dispatcher_cpp/src/signature/rule_tables.hpp", "an MoE signature has no bias", "an MoE signature has a bias"),
]


@pytest.mark.parametrize(("path", "old", "new"), PLANTS)
def test_what_is_changed_by_hand_is_told_and_mended(
    path: str, old: str, new: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = checkout(tmp_path)
    assert main([], root) == 0
    file = root / path
    right = file.read_text(encoding="utf-8")
    assert old in right
    file.write_text(right.replace(old, new), encoding="utf-8")
    assert main([], root) == 1
    said = capsys.readouterr().err
    assert file.name in said and COMMAND in said
    assert main(["--write"], root) == 0
    assert file.read_text(encoding="utf-8") == right


ADDED = """\
  Hue:
    doc: A colour of light.
    bits: 2
    traits:
      is_warm: {type: flag, doc: Whether it is a warm one.}
    members:
      red: {code: 0, is_warm: true}
      deep_blue: {code: 1, text: deepblue}

  Layout:
"""
MX = "      mx: {code: 4}\n"
NONE = "      none: {code: 15, bits: 0, cpp_only: true}\n"
FP6 = "      fp6: {code: 16, bits: 6, torch: torch.float6_e2m3fn}\n"


@pytest.fixture(scope="module")
def added(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout of a YAML with an enum more, and a member more in two others."""
    text = changed("  Layout:\n", ADDED).replace(MX, f"{MX}      tile: {{code: 5}}\n").replace(NONE, NONE + FP6)
    return checkout(tmp_path_factory.mktemp("added"), text)


def module_of(root: Path) -> ModuleType:
    module = ModuleType("added_words")
    exec(compile((root / PYTHON).read_text(encoding="utf-8"), PYTHON, "exec"), vars(module))
    return module


def test_a_new_enum_and_a_new_member_are_in_the_python_module(added: Path) -> None:
    words = module_of(added)
    assert [(hue.value, hue.code, hue.is_warm) for hue in words.Hue] == [("red", 0, True), ("deepblue", 1, False)]
    assert words.Hue.__doc__ == "A colour of light."
    assert (words.Quant.TILE.code, words.Quant("tile")) == (5, words.Quant.TILE)
    assert (words.DType.FP6.code, words.DType.FP6.bits) == (16, 6)


def test_they_are_in_the_schema_of_words_and_of_columns(added: Path) -> None:
    schema = words_schema(module_of(added).WORDS)["$defs"]
    assert schema["Hue"] == {"description": "A colour of light.", "enum": ["red", "deepblue"]}
    assert schema["Quant"]["enum"][-2:] == ["mx", "tile"]
    assert schema["DType"]["enum"][-1] == "fp6" and schema["TableDType"]["enum"][-1] == "torch.float6_e2m3fn"


@pytest.mark.cpp
def test_they_are_in_the_cpp_header_with_their_texts(added: Path, tmp_path: Path) -> None:
    source = tmp_path / "added.cpp"
    source.write_text(
        """\
#include <ckgen/key_bits.hpp>
using namespace ckgen;
constexpr Hue read(std::string_view text) {
  Hue hue = Hue::red;
  return parse(text, hue) ? hue : static_cast<Hue>(9);
}
static_assert(kHueCount == 2 && name(Hue::deep_blue) == "deepblue" && read("deepblue") == Hue::deep_blue);
static_assert(is_warm(Hue::red) && !is_warm(Hue::deep_blue) && key_bits::hue == 2);
static_assert(static_cast<int>(read("deep_blue")) == 9 && name(static_cast<Hue>(2)) == "unknown");
static_assert(static_cast<int>(Quant::tile) == 5 && name(Quant::tile) == "tile" && kQuantCount == 6);
static_assert(bits(DType::fp6) == 6 && name(DType::fp6) == "fp6" && kDTypeCount == 17);
""",
        encoding="utf-8",
    )
    compiler = shutil.which("g++") or shutil.which("clang++")
    assert compiler is not None
    command = [compiler, "-std=c++17", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", f"-I{added / INCLUDE}"]
    done = subprocess.run([*command, str(source)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


WRONG: dict[str, tuple[str, str, str, str]] = {
    "duplicate code": (
        "      rowwise: {code: 2}",
        "      rowwise: {code: 1}",
        "W001|Quant: rowwise has code 1, and per_tensor has it too",
        "      rowwise:",
    ),
    "gap": (
        "      mx: {code: 4}",
        "      mx: {code: 5}",
        "W001|Quant: mx has code 5, and 4 is missing before it",
        "      mx:",
    ),
    "too wide": (
        "      half: {code: 2}",
        "      half: {code: 2}\n      third: {code: 3}\n      fourth: {code: 4}",
        "W002|FmhaRope has 5 members, and its bits hold 4",
        "    bits: 2",
    ),
    "too many sizes": (
        "{bits: 3, values: [128, 64, 32, 16, 8, 1]",
        "{bits: 3, values: [128, 64, 32, 16, 8, 4, 2, 1]",
        "W002|scale_block_n has 8 sizes, and its bits hold 7",
        "  scale_block_n:",
    ),
    "bits of another": (
        "    - at: 51\n",
        "    - at: 50\n",
        "W002|scale_block.n lies on bits of another field in keys of op gemm",
        "scale_block.n: scale_block_n",
    ),
    "beyond the key": (
        "    - at: 51\n",
        "    - at: 52\n",
        "W002|scale_block.sides ends at bit 60, and a key has 59",
        "scale_block.sides: ScaleSides",
    ),
    "unknown field in a rule": (
        "    must: {batched: false}",
        "    must: {batch: false}",
        "W003|'batch' is no field of a signature",
        "    must: {batch: false}",
    ),
    "unknown member in a rule": (
        "    when: {b: fp4}",
        "    when: {b: fp5}",
        "W003|'fp5' is no value of b",
        "    when: {b: fp5}",
    ),
    "unknown place in a sentence": (
        'sentence: "Q cannot be {a}"',
        'sentence: "Q cannot be {q}"',
        "W003|'{q}' of a sentence is nothing",
        "Q cannot be {q}",
    ),
    "unknown place in a message": (
        "{measured} rows of Q in a sequence",
        "{rows} rows of Q in a sequence",
        "W003|'{rows}' of a sentence is neither {measured} nor {limit}",
        "{rows} rows of Q",
    ),
    "unknown member in a doc": (
        "{alibi} takes off",
        "{alibis} takes off",
        "W003|'{alibis}' in a doc is no member of FmhaBias",
        "  FmhaBias:",
    ),
    "unknown member of another": (
        "resolve: {fnuz: fp8_fnuz, ocp: fp8_ocp}",
        "resolve: {fnuz: fp8_fnuz, ocd: fp8_ocp}",
        "W003|fp8: 'ocd' is no member of Fp8Flavour",
        "  DType:",
    ),
    "unknown key": (
        "    must: {batched: false}",
        "    musst: {batched: false}",
        "K003|unknown key 'musst'",
        "    musst:",
    ),
    "no code": ("      mx: {code: 4}", "      mx: {text: mx}", "K004|key 'code' is missing", "      mx:"),
    "no YAML": ("enums:", "enums: [", "K001|not YAML", ":"),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_with_the_yaml_is_said_with_its_line(
    what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new, says, line = WRONG[what]
    code, message = says.split("|")
    (tmp_path / "schema").mkdir()
    (tmp_path / SOURCE).write_text(changed(old, new), encoding="utf-8")
    assert main(["--write"], tmp_path) == 3
    said = capsys.readouterr().err
    found = re.match(rf"error\[{code}\] {SOURCE}:(\d+): (.*)", said)
    assert found is not None and message in found[2], said
    assert line in changed(old, new).splitlines()[int(found[1]) - 1], said
    assert not (tmp_path / PYTHON).exists()


def test_all_that_is_wrong_comes_together() -> None:
    text = changed("    must: {batched: false}", "    must: {batch: false}").replace("{b: fp4}", "{b: fp5}")
    found = read_description(text, SOURCE)
    assert isinstance(found, list) and len(found) == 2


def test_without_the_yaml_the_command_says_where_it_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([], tmp_path) == 2
    assert "only a checkout has it" in capsys.readouterr().err


def test_no_yaml_is_read_for_words_and_rules() -> None:
    program = (
        "import sys; import ckgen.families.gemm.signature, ckgen.families.fmha.signature; "
        "import ckgen.families.common.problem_finding; sys.exit('yaml' in sys.modules)"
    )
    for command in ([sys.executable, "-c", program], [sys.executable, "-X", "importtime", "-m", "ckgen", "--version"]):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0 and "yaml" not in done.stderr, done.stderr


def test_the_schema_of_the_words(golden: Callable[[str, str], None]) -> None:
    import json

    from ckgen.model.op_words import WORDS

    golden("emit/words.schema.json", json.dumps(words_schema(WORDS), indent=1, ensure_ascii=False) + "\n")
