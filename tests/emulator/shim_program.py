"""Programs over a generated registry and a device library, run on the HIP shim; device libraries of single kernels."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from pathlib import Path

from amd_support import amd_toolchain
from ckgen.build.artefacts import OutFolder
from ckgen.build.cache import Cache, default_cache
from ckgen.build.library import DeviceInstance, emit_library
from ckgen.build.planned import plan_host
from ckgen.build.pool import default_limits
from ckgen.build.unit_files import code_objects
from ckgen.families.fmha.grammar import AnyFmhaConfig
from ckgen.families.fmha.signature import parse_canonical
from ckgen.families.registry import make_instance
from ckgen_emulator.fmha.build import compile_units
from cpp_build import ROOT, SYSTEM_LIBRARIES, dispatcher_archive

NAME = "my_kernels"
"""Of the registry and the library, as the programs name it."""


def shim_program(folder: Path, source: str, optimised: str) -> Path:
    """`source`, a file beside this one, with the registry in folder/registry and the library in folder/device."""
    sources = [Path(__file__).with_name(source), *(folder / "registry").rglob("*.cpp")]
    includes = [ROOT / "dispatcher_cpp" / "include", folder / "registry" / "include", folder / "device"]
    archives = [
        folder / "device" / f"lib{NAME}.a",
        dispatcher_archive(),
    ]
    flags = ["-std=c++17", optimised, "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror"]
    words = [*flags, *(f"-I{place}" for place in includes), *map(str, [*sources, *archives]), *SYSTEM_LIBRARIES]
    subprocess.run(["g++", *words, "-o", str(folder / "program")], check=True)
    return folder / "program"


def fmha_device_library(folder: Path, kernels: Iterable[tuple[str, AnyFmhaConfig]]) -> None:
    """What `ckgen build --emit library` makes of instances of attention for gfx942."""
    made = []
    for signature, config in kernels:
        instance = make_instance(parse_canonical(signature), config, ("gfx942",))
        units = compile_units(instance, "gfx942")
        code, symbols = {"gfx942": code_objects(units.device.folder)}, plan_host(instance, {"gfx942": []}).symbols
        made.append(DeviceInstance(instance.name, instance.id, units.host, code, symbols))
    limits = default_limits(1, retry=True)
    emit_library(NAME, made, OutFolder(folder), amd_toolchain(), Cache(default_cache()), limits, print)
