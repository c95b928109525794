"""The manifest of a generated tree: what it was made from and which files it owns."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

from ckgen import paths
from ckgen.model.diagnostic import Diagnostic, Location
from ckgen.model.document import JSON, DocumentError, read_text
from ckgen.model.errors import InputError
from ckgen.model.json_document import parse_json
from ckgen.specs.archs import spec_dirs

MANIFEST = "manifest.json"
SCHEMA = "ckgen.manifest/2"
_READABLE = (SCHEMA, "ckgen.manifest/1")
"""Of an older tree the files are known, so that it can be renewed."""

_MEMBERS = {"generator": str, "options": dict, "inputs": dict, "files": dict, "summary": dict}
_GENERATOR_SUFFIXES = (".py", ".json", ".yaml", ".j2")
_WHEEL_DATA = "_data"
"""The package's folder of a wheel for what a checkout has beside it."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """`inputs` and `files` map a relative path to the SHA-256 of its bytes; nothing in it names a place or a time."""

    generator: str
    options: Mapping[str, Any]
    inputs: Mapping[str, str]
    files: Mapping[str, str]
    summary: Mapping[str, Any]

    def to_text(self) -> str:
        """The JSON document, sorted, ending in a newline; its `digest` is that of all the rest."""
        document: dict[str, Any] = {
            "schema": SCHEMA,
            "generator": self.generator,
            "options": self.options,
            "inputs": self.inputs,
            "files": self.files,
            "summary": self.summary,
        }
        document["digest"] = digest(_dumped(document).encode())
        return _dumped(document)

    def changed_inputs(self, other: Manifest) -> tuple[str, ...]:
        """The inputs that only one of both was made from, or that had other bytes; sorted."""
        names = self.inputs.keys() | other.inputs.keys()
        return tuple(sorted(name for name in names if self.inputs.get(name) != other.inputs.get(name)))

    def same_source(self, other: Manifest) -> bool:
        """Whether both were made by one generator, from equal options and inputs."""
        return (self.generator, self.options, self.inputs) == (other.generator, other.options, other.inputs)


def read_manifest(out: Path) -> Manifest | None:
    """The manifest of a tree; None where there is none.

    InputError for one that cannot be read (G001), or a file in the tree's place (G003).
    """
    path = out / MANIFEST
    try:
        return _parsed(parse_json(read_text(path, JSON)).value)
    except DocumentError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            return None
        if isinstance(error.__cause__, NotADirectoryError):
            message, hint = "a file stands where a folder is meant", "move it away, or choose another --out"
            raise InputError([Diagnostic("G003", message, Location(str(out)), hint=hint)]) from None
        wrong = DocumentError(f"not a ckgen manifest: {error.message}", error.line)
        hint = "move it away and generate again; no file that it lists will then be removed"
        raise InputError([wrong.diagnostic("G001", path, hint)]) from None


def digest(data: bytes) -> str:
    """The SHA-256 of a file's bytes, in hex."""
    return hashlib.sha256(data).hexdigest()


def generator_digest() -> str:
    """One number for everything that decides what a plan becomes: the package, its data, templates, arch specs.

    It counts names and bytes, not places: a wheel and a checkout of the same sources have the same.
    """
    total = hashlib.sha256()
    for name, path in _generator().items():
        known = os.stat(path)  # noqa: PTH116  a path as an object takes as long as reading the file
        for part in (name.encode(), _digest_of(path, known.st_mtime_ns, known.st_size)):
            total.update(len(part).to_bytes(8, "big"))
            total.update(part)
    return total.hexdigest()


@cache
def _digest_of(path: str, mtime_ns: int, size: int) -> bytes:
    """Of a file's bytes, as long as it is the file that was read."""
    with open(path, "rb", buffering=0) as file:  # noqa: PTH123  see `generator_digest`
        return hashlib.sha256(file.read()).digest()


def generator_files() -> tuple[Path, ...]:
    """Every file of the generator itself, sorted: what a build rule must depend on besides its tables."""
    return tuple(sorted({Path(path) for path in _generator().values()}))


def _generator() -> Mapping[str, str]:
    """Its files by their names beneath the folder that they are of, in the names' order."""
    folders = (("package", paths.package_dir()), ("templates", paths.templates_dir()))
    specs = ((f"arch_specs {at}", folder) for at, folder in enumerate(spec_dirs()))
    found = {
        f"{label}/{name}": f"{folder}/{name}"
        for label, folder in (*folders, *specs)
        for name in _names(folder)
        if not (label == "package" and name.startswith(f"{_WHEEL_DATA}/"))
    }
    return dict(sorted(found.items()))


def _names(folder: Path) -> Iterator[str]:
    """The generator's files beneath a folder."""
    for inside, _, files in os.walk(folder):
        beneath = os.path.relpath(inside, folder).replace(os.sep, "/")
        for file in files:
            if file.endswith(_GENERATOR_SUFFIXES):
                yield file if beneath == "." else f"{beneath}/{file}"


def intact(out: Path, manifest: Manifest) -> bool:
    """Whether every listed file, and the manifest itself, still has the bytes that were written."""
    try:
        unchanged = (out / MANIFEST).read_bytes() == manifest.to_text().encode()
        return unchanged and all(digest((out / path).read_bytes()) == known for path, known in manifest.files.items())
    except OSError:
        return False


def _dumped(document: Mapping[str, Any]) -> str:
    return json.dumps(document, indent=1, sort_keys=True) + "\n"


def _parsed(data: Any) -> Manifest:
    """DocumentError for anything but a manifest of this schema whose files lie inside its folder."""
    if not isinstance(data, dict) or data.get("schema") not in _READABLE:
        raise DocumentError(f"its schema is not {SCHEMA}")
    for key in _MEMBERS:
        if not isinstance(data.get(key), _MEMBERS[key]):
            raise DocumentError(f"'{key}' is missing or of another type")
    for name in data["files"]:
        path = PurePosixPath(name)
        if not path.parts or path.is_absolute() or ".." in path.parts or "\0" in name:
            raise DocumentError(f"file {name!r} lies outside the folder")
    return Manifest(*(data[key] for key in _MEMBERS))
