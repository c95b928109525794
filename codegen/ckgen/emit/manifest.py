"""The manifest of a generated tree: what it was made from and which files it owns."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ckgen import paths
from ckgen.model.diagnostic import Diagnostic, Location
from ckgen.model.errors import InputError

MANIFEST = "manifest.json"
SCHEMA = "ckgen.manifest/1"

_GENERATOR_SUFFIXES = (".py", ".json", ".yaml", ".j2")


@dataclass(frozen=True, slots=True)
class Manifest:
    """`inputs` and `files` map a relative path to the SHA-256 of its bytes; nothing in it names a place or a time."""

    generator: str
    options: Mapping[str, Any]
    inputs: Mapping[str, str]
    files: Mapping[str, str]
    summary: Mapping[str, Any]

    def to_text(self) -> str:
        """The JSON document, sorted, ending in a newline."""
        document = {
            "schema": SCHEMA,
            "generator": self.generator,
            "options": self.options,
            "inputs": self.inputs,
            "files": self.files,
            "summary": self.summary,
        }
        return json.dumps(document, indent=1, sort_keys=True) + "\n"

    def same_source(self, other: Manifest) -> bool:
        """Whether both were made by one generator, from equal options and inputs."""
        return (self.generator, self.options, self.inputs) == (other.generator, other.options, other.inputs)


def read_manifest(out: Path) -> Manifest | None:
    """The manifest of a tree; None where there is none.

    InputError for one that cannot be read (G001), or a file in the tree's place (G003).
    """
    path = out / MANIFEST
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        return Manifest(
            str(data["generator"]),
            dict(data["options"]),
            dict(data["inputs"]),
            dict(data["files"]),
            dict(data["summary"]),
        )
    except FileNotFoundError:
        return None
    except NotADirectoryError:
        message, hint = "a file stands where a folder is meant", "move it away, or choose another --out"
        raise InputError([Diagnostic("G003", message, Location(str(out)), hint=hint)]) from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        hint = "move it away and generate again; no file that it lists will then be removed"
        raise InputError(
            [Diagnostic("G001", f"not a ckgen manifest: {error}", Location(str(path)), hint=hint)]
        ) from None


def digest(data: bytes) -> str:
    """The SHA-256 of a file's bytes, in hex."""
    return hashlib.sha256(data).hexdigest()


def generator_digest() -> str:
    """One number for everything that decides what a plan becomes: the package, its data, templates, arch specs."""
    total = hashlib.sha256()
    for path in generator_files():
        total.update(path.read_bytes())
        total.update(b"\0")
    return total.hexdigest()


def generator_files() -> tuple[Path, ...]:
    """Every file of the generator itself, sorted: what a build rule must depend on besides its tables."""
    folders = (paths.package_dir(), paths.templates_dir(), paths.arch_specs_dir())
    found: Iterable[Path] = (path for folder in folders for path in folder.rglob("*") if _is_generator(path))
    return tuple(sorted(set(found)))


def intact(out: Path, manifest: Manifest) -> bool:
    """Whether every listed file still has the bytes that were written."""
    try:
        return all(digest((out / path).read_bytes()) == known for path, known in manifest.files.items())
    except OSError:
        return False


def _is_generator(path: Path) -> bool:
    return path.suffix in _GENERATOR_SUFFIXES and "_data" not in path.relative_to(path.anchor).parts[-2:-1]
