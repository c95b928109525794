"""Manifests of generated trees: what is read is printed, and read again as the same."""

from __future__ import annotations

from collections.abc import Sequence

from ckgen.emit.manifest import MANIFEST, Manifest, read_manifest
from parser_fuzz.target import Target, file_of, refusal


def run(data: bytes) -> None:
    """Reads one; no file that it lists lies outside of its folder."""
    place = file_of(data, MANIFEST)
    with refusal():
        manifest = read_manifest(place.parent)
        assert manifest is not None
        for name in manifest.files:
            assert (place.parent / name).resolve().is_relative_to(place.parent.resolve()), name
        place.write_bytes(manifest.to_text().encode("utf-8", "surrogatepass"))
        assert read_manifest(place.parent) == manifest


def seeds() -> Sequence[bytes]:
    """A small one."""
    files = {"include/lib/register.hpp": "0" * 64, "a/unit.cpp": "1" * 64}
    return [Manifest("0" * 64, {"name": "lib", "targets": ["gfx942:304"]}, {}, files, {"rows": 3}).to_text().encode()]


TARGET = Target("manifests", run, seeds, (b'"../x"', b'"/x"', b'"a/../b"', b'"."', b'"\\u0000"', b'"\\ud800"'))
