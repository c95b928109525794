"""`ckgen env`: versions, tools, the machine, the AMD toolchain, data folders."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import click

from ckgen import paths
from ckgen.cli.errors import Command
from ckgen.cli.options import json_option
from ckgen.cli.output import columns, show, show_json
from ckgen.model.errors import InputError
from ckgen.specs.archs import ENVIRONMENT as ARCH_SPECS
from ckgen.specs.targets import CU_NUM, ENVIRONMENT
from ckgen.version import __version__

_TOOLS = ("cmake", "ninja", "g++", "clang++", "hipcc", "amdclang++")
_SECONDS = 20
_VERSION = re.compile(r"[0-9]+(?:\.[0-9]+)+[^\s,;)]*")


@click.command(cls=Command, name="env", short_help="Show versions, tools and what this machine is.")
@json_option
def command(as_json: bool) -> int:
    """Show versions, tools and what this machine is."""
    found = _environment()
    if as_json:
        show_json(found)
    else:
        show(columns([(name, _text(value)) for name, value in _flat(found)]))
    return 0


def _environment() -> dict[str, Any]:
    from ckgen.specs.archs import load_archs
    from ckgen.specs.native import hip_target, native_target

    device = hip_target(load_archs())
    rocm = Path(os.environ.get("ROCM_PATH") or "/opt/rocm")
    return {
        "ckgen": __version__,
        "python": platform.python_version(),
        "tools": {tool: _tool(tool) for tool in _TOOLS},
        "cpu": _cpu_brand(),
        "native_target": str(native_target()),
        "rocm": str(rocm) if rocm.is_dir() else None,
        "hip_device": str(device) if device is not None else None,
        "amd_toolchain": _amd_toolchain(),
        "data": {
            "arch_specs": str(paths.arch_specs_dir()),
            "templates": str(paths.templates_dir()),
            "tuning": str(paths.tuning_dir()),
            "dispatcher_cpp": str(paths.dispatcher_dir()),
        },
        "environment": {name: os.environ.get(name) for name in (ARCH_SPECS, *ENVIRONMENT, CU_NUM)},
    }


def _amd_toolchain() -> dict[str, Any]:
    """The toolchain as `ckgen toolchain amd --json` shows it, or its prefix and why there is none; nothing is made."""
    from ckgen.build.amd.capabilities import known_capabilities
    from ckgen.build.amd.describe import describe
    from ckgen.build.amd.place import default_prefix
    from ckgen.build.amd.toolchain import load

    try:
        toolchain = load()
    except InputError as error:
        found = error.diagnostics[0]
        return {"kind": None, "prefix": str(default_prefix()), "reason": found.message, "hint": found.hint}
    return describe(toolchain, known_capabilities(toolchain))


def _tool(name: str) -> dict[str, str] | None:
    places = [os.environ.get("PATH", os.defpath), str(Path(sys.executable).parent)]
    program = shutil.which(name, path=os.pathsep.join(places))
    if program is None:
        return None
    try:
        command_line = [program, "--version"]
        done = subprocess.run(command_line, capture_output=True, text=True, timeout=_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired, UnicodeDecodeError):
        return {"path": program, "version": "unknown"}
    match = _VERSION.search(done.stdout)
    return {"path": program, "version": match.group() if match else "unknown"}


def _cpu_brand() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = ""
    match = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return match.group(1).strip() if match else platform.processor() or platform.machine()


def _flat(found: dict[str, Any]) -> list[tuple[str, Any]]:
    rows: list[tuple[str, Any]] = []
    for name, value in found.items():
        if name == "amd_toolchain":
            rows += _toolchain_rows(value)
        else:
            rows += list(value.items()) if name in ("tools", "data", "environment") else [(name, value)]
    return rows


def _toolchain_rows(found: dict[str, Any]) -> list[tuple[str, Any]]:
    if found["kind"] is None:
        return [("amd_toolchain", f"none in {found['prefix']}: {found['reason']}; {found['hint'] or ''}".rstrip("; "))]
    tree = found["ck"]
    judged = tree["capabilities"]
    return [
        ("amd_toolchain", f"{found['kind']}  {found['root']}"),
        ("amd_compiler", f"{found['compiler_version']}  {found['compiler_id'][:16]}"),
        ("ck_tree", f"{tree['include']}  {tree['id'][:16]}"),
        *(judged.items() if judged is not None else [("ck_capabilities", "not judged yet: `ckgen toolchain amd`")]),
    ]


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return f"{value['version']}  {value['path']}"
    return "–" if value is None else str(value)
