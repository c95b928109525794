"""Makes a package be there, whole: nothing to do when it is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ckgen.build.packages import fetch as fetching
from ckgen.build.packages import unpack as unpacking
from ckgen.build.packages.pin import Pin

_DOWNLOADS = "downloads"


def clear_unfinished(prefix: Path) -> None:
    """Removes what a killed download or unpacking left in the prefix."""
    fetching.clear_unfinished(prefix / _DOWNLOADS)
    unpacking.clear_unfinished(prefix)


def prepare_package(pin: Pin, prefix: Path, say: Callable[[str], None]) -> list[str]:
    """Downloads and unpacks what is missing or damaged; a line where something was done, none where all is there."""
    package = unpacking.unpacked(pin, prefix)
    damage = package.damage() if package is not None else None
    intact = package is not None and damage is None
    if intact and (not pin.kept or (prefix / _DOWNLOADS / pin.file).is_file()):
        return []
    say(f"{pin.name} {pin.version}: downloading")
    archive = fetching.fetch(pin, prefix / _DOWNLOADS)
    if intact:
        return [f"downloaded {pin.name} {pin.version}"]
    say(f"{pin.name} {pin.version}: unpacking")
    unpacking.unpack(pin, archive, prefix)
    return [f"{'mended' if damage else 'unpacked'} {pin.name} {pin.version}{f': {damage}' if damage else ''}"]
