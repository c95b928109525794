"""Lists of targets: each is printed and read back."""

from __future__ import annotations

from collections.abc import Sequence

from ckgen.model.target import Target as Device
from ckgen.specs.archs import load_archs
from ckgen.specs.targets import resolve_targets
from parser_fuzz.target import Target, refusal, text_of


def run(data: bytes) -> None:
    """Reads a list as `--targets` and as the environment."""
    archs = load_archs()
    for text, env in ((text_of(data), {}), (None, {"GPU_ARCHS": text_of(data)})):
        with refusal():
            found = resolve_targets(text, env=env, archs=archs, native=lambda: Device("gfx942", 304)).targets
            printed = ";".join(map(str, found))
            again = resolve_targets(printed, env={}, archs=archs, native=lambda: Device("gfx942", 80)).targets
            assert again == found, printed


def seeds() -> Sequence[bytes]:
    """Lists with every form of an element."""
    return [b"gfx942", b"gfx942:304;gfx950:256", b"gfx90a:sramecc+:xnack-:104", b"native", b"x86_64_v4:8, gfx942:80"]


TARGET = Target("target_text", run, seeds, (b"gfx950", b":", b";", b"xnack+", b"2147483648"), mutations=600)
