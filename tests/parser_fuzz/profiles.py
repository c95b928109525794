"""Profiles as YAML."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ckgen.plan.profile_file import profile_file, read_profile, shipped_names
from parser_fuzz.kernel_sets import WORDS
from parser_fuzz.target import Target, file_of, refusal


def run(data: bytes) -> None:
    """Reads one."""
    with refusal():
        profile = read_profile(file_of(data, "profile.yaml"))
        assert profile.name and profile.keep


def seeds() -> Sequence[bytes]:
    """Those that come with ckgen."""
    return [profile_file(Path(name)).read_bytes() for name in shipped_names()]


TARGET = Target("profiles", run, seeds, (*WORDS, b"fmha:", b"signature:", b"without:", b"fp8", b"true"))
