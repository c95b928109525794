"""Kernel sets: YAML that says which instances may be built, read strictly, with every error located.

Each of a file's documents is read by the family that its key `op` names.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path

from ckgen.families.common.set_document import AnyCandidate, SetReader, once
from ckgen.families.registry import FAMILIES
from ckgen.model.diagnostic import Diagnostic, Location
from ckgen.model.document import YAML, DocumentError, read_text
from ckgen.model.errors import InputError, UsageError
from ckgen.model.located_yaml import DocumentReader, Located, read_documents

SHIPPED = ("default", "ci", "full", "matrix", "asm")
OPS = tuple(FAMILIES)
_KEYS = ("op", "name", "signatures", "backend", "targets", "kernels", "configs")


@cache
def load_kernel_set(text: str, file: str) -> tuple[AnyCandidate, ...]:
    """The candidates of a set, in file order, repeated ones once; InputError carries everything that is wrong."""
    reader = _SetFileReader()
    documents = read_documents(text, file, reader.report)
    found = [candidate for node in documents for candidate in reader.document(node)]
    if not found and not reader.errors:
        reader.report(Diagnostic("K008", "the kernel set asks for nothing", Location(file)))
    if reader.errors:
        raise InputError(reader.errors)
    return once(found)


def read_kernel_set(path: Path) -> tuple[AnyCandidate, ...]:
    """The candidates of a file, as `--kernel-set` takes it."""
    try:
        text = read_text(path, YAML)
    except DocumentError as error:
        hint = f"give a YAML file, or one of {', '.join(SHIPPED)}"
        raise InputError([error.diagnostic("K001", path, hint)]) from error
    return load_kernel_set(text, str(path))


def kernel_set_files(given: Path, ops: Iterable[str] = OPS) -> tuple[Path, ...]:
    """The files that `--kernel-set` means: a shipped set of these ops by its bare name, else the path itself."""
    if str(given) not in SHIPPED:
        return (given,)
    files = (_shipped_file(str(given), op) for op in OPS if op in ops)
    return tuple(file for file in files if file.is_file())


def shipped_name(path: Path) -> str | None:
    """The bare name of a file that comes with ckgen; None for any other."""
    return next((name for name in SHIPPED for op in OPS if path == _shipped_file(name, op)), None)


@cache
def shipped_set(name: str, op: str = OPS[0]) -> tuple[AnyCandidate, ...]:
    """One of SHIPPED of an op; empty where the op has none of that name."""
    if name not in SHIPPED:
        raise UsageError(f"unknown kernel set: '{name}' (a file, or one of {', '.join(SHIPPED)})")
    path = _shipped_file(name, op)
    return read_kernel_set(path) if path.is_file() else ()


def _shipped_file(name: str, op: str) -> Path:
    return Path(__file__).parent / op / "kernel_sets" / f"{name}.yaml"


class _SetFileReader(DocumentReader):
    """Gives each document to its op's reader; one of no known op to the first's, which says what else is wrong."""

    def __init__(self) -> None:
        super().__init__()
        self.readers: dict[str, SetReader] = {}

    def document(self, node: Located) -> Iterable[AnyCandidate]:
        if not isinstance(node.value, dict):
            self.say("K005", node, "a document must be a mapping", f"keys: {', '.join(_KEYS)}")
            return ()
        said = node.value.get("op")
        op = str(said.value) if said is not None and said.value in OPS else OPS[0]
        if said is not None and said.value != op:
            self.say("K005", said, f"unknown op: {said.value!r}", f"known: {', '.join(OPS)}")
        if op not in self.readers:
            self.readers[op] = FAMILIES[op].set_reader(self.errors)
        return self.readers[op].document(node)


def shipped_set_files(ops: Iterable[str]) -> tuple[Path, ...]:
    """The files of all shipped sets for these ops."""
    wanted = frozenset(ops)
    return tuple(file for name in SHIPPED for file in kernel_set_files(Path(name), wanted))
