"""Arch specs as JSON."""

from __future__ import annotations

from collections.abc import Sequence

from ckgen import paths
from ckgen.specs.archs import SCHEMA_FILE, load_archs
from parser_fuzz.target import Target, file_of, refusal


def run(data: bytes) -> None:
    """Reads a folder of one spec."""
    place = file_of(data, "gfx942.json")
    folder = place.parent / "specs"
    folder.mkdir(exist_ok=True)
    place.replace(folder / place.name)
    with refusal():
        assert set(load_archs(folder)) == {"gfx942"}


def seeds() -> Sequence[bytes]:
    """The project's own."""
    return [file.read_bytes() for file in sorted(paths.arch_specs_dir().glob("*.json")) if file.name != SCHEMA_FILE]


TARGET = Target("arch_specs", run, seeds, (b'"gfx942"', b"1e400", b'"kind"', b"[]", b"{}", b"-5"), mutations=60)
