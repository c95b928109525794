"""`python -m ckgen.emit.ops`: holds the modules and headers of schema/ops.yaml against it; --write renews them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ckgen import paths
from ckgen.emit.checked_in import keep
from ckgen.emit.ops.builder import cpp_builder, python_builder
from ckgen.emit.ops.cpp_problem_rules import cpp_problem_rules
from ckgen.emit.ops.cpp_tables import cpp_aliases, cpp_fields, cpp_rules
from ckgen.emit.ops.cpp_words import cpp_fmha_words, cpp_key, cpp_words
from ckgen.emit.ops.description import Description
from ckgen.emit.ops.python_tables import python_key, python_problem_rules, python_rules
from ckgen.emit.ops.python_words import python_words
from ckgen.emit.ops.read import read_description
from ckgen.emit.ops.text import COMMAND

SOURCE = "schema/ops.yaml"
WRITERS: Mapping[str, Callable[[Description], str]] = {
    "codegen/ckgen/model/op_words.py": python_words,
    "codegen/ckgen/families/common/key_fields.py": python_key,
    "codegen/ckgen/families/common/signature_tables.py": python_rules,
    "codegen/ckgen/families/common/problem_tables.py": python_problem_rules,
    "codegen/ckgen/families/fmha/builder_tables.py": python_builder,
    "dispatcher_cpp/include/ckgen/words.hpp": cpp_words,
    "dispatcher_cpp/include/ckgen/fmha_words.hpp": cpp_fmha_words,
    "dispatcher_cpp/include/ckgen/key_bits.hpp": cpp_key,
    "dispatcher_cpp/include/ckgen/problem_rules.hpp": cpp_problem_rules,
    "dispatcher_cpp/src/signature/alias_tables.hpp": cpp_aliases,
    "dispatcher_cpp/src/signature/fields.hpp": cpp_fields,
    "dispatcher_cpp/src/signature/rule_tables.hpp": cpp_rules,
    "dispatcher_cpp/src/fmha/builder_tables.hpp": cpp_builder,
}
"""What each file is made with, by its path in a checkout."""


def render(description: Description) -> dict[str, str]:
    """The text of every file."""
    return {path: write(description) for path, write in WRITERS.items()}


def main(arguments: Sequence[str], root: Path | None = None) -> int:
    """With --write, brings the files of a checkout up to date; without, 1 if one is not. 3: the YAML is wrong."""
    root = paths.root() if root is None else root
    source = root / SOURCE
    if not source.is_file():
        print(f"{source} is missing: only a checkout has it", file=sys.stderr)
        return 2
    description = read_description(source.read_text(encoding="utf-8"), SOURCE)
    if isinstance(description, list):
        print("\n".join(one.render() for one in description), file=sys.stderr)
        return 3
    return max(keep(text, root / path, SOURCE, COMMAND, arguments) for path, text in render(description).items())


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
