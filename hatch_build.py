"""What an editable install of ckgen adds: the emulator, a distribution of its own in the same checkout."""

from __future__ import annotations

import shutil
import tempfile
import zipfile
from pathlib import Path, PurePath
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.builders.wheel import WheelBuilder, WheelBuilderConfig

_KEPT = ("METADATA", "entry_points.txt")


class CustomBuildHook(BuildHookInterface[WheelBuilderConfig]):
    """Writes what importlib.metadata reads of the emulator beside its package, where `dev-mode-dirs` makes it found."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Of an editable wheel only: what lies there of another build is replaced."""
        if version == "editable":
            write_metadata(Path(self.root, "emulator"))


def write_metadata(project: Path) -> None:
    """The .dist-info of that project, without a record of files, so that no installer takes them for its own."""
    for old in project.glob("*.dist-info"):
        shutil.rmtree(old)
    with tempfile.TemporaryDirectory() as folder:
        (wheel,) = WheelBuilder(str(project)).build(directory=folder, versions=["editable"])
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                if PurePath(name).name in _KEPT:
                    archive.extract(name, project)
