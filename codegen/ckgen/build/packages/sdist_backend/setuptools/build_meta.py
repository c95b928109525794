"""A build backend that only says the name and version of an sdist, so that pip can download one without running it.

pip asks for a project's metadata before it keeps a downloaded sdist, and that would run the project's own setup.py. Put
on PYTHONPATH, with --no-build-isolation, this module answers from the archive's PKG-INFO instead.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any


def get_requires_for_build_wheel(config_settings: Any = None) -> list[str]:
    """Nothing is built, so nothing is needed."""
    return []


def prepare_metadata_for_build_wheel(metadata_directory: str, config_settings: Any = None) -> str:
    """The archive's own PKG-INFO as METADATA; the name of the folder that holds it."""
    text = Path("PKG-INFO").read_text(encoding="utf-8", errors="replace")
    fields = dict(re.findall(r"^(Name|Version): *(\S+)\s*$", text, re.MULTILINE))
    name = f"{re.sub('[-_.]+', '_', fields['Name'])}-{fields['Version']}.dist-info"
    folder = Path(metadata_directory, name)
    folder.mkdir()
    (folder / "METADATA").write_text(text, encoding="utf-8")
    return name


__legacy__ = sys.modules[__name__]
