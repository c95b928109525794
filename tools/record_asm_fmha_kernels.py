"""Take the assembly attention kernels of the pinned amd-aiter wheel into families/fmha/asm_kernels.json.

usage: record_asm_fmha_kernels.py [WHEEL [OUT]]   (default: the wheel that `ckgen toolchain amd` downloaded)

Facts only: names and tiles from the wheel's host code, digests and resources from its code objects. Of gfx942 those for
304 compute units: those for fewer differ in how they schedule, and neither reads how many there are. Of backward those
that take any lengths, add to dQ in fp32 and are right in any order of waves.
"""

from __future__ import annotations

import csv
import io
import re
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ckgen.families.fmha import asm_kernels
from record_asm_kernels import code_object, record

_ROOT = "aiter_meta/hsa"
_RECORDED = Path(asm_kernels.__file__).with_suffix(".json")
_FORWARD = {"gfx942": "fmha_v3_fwd/MI300", "gfx950": "fmha_v3_fwd"}
_SAID = re.compile(
    r"^template<> struct FmhaFwdV3(Name|Ts)<fmha_fwd_kernel_selector<(.*?)>> \{(.*)\};\s*$", re.MULTILINE
)
_BACK_SAID = re.compile(
    r"^template<> struct FmhaBwdV3(Name|Ts)<fmha_bwd_dq_dk_dv_v3_traits_<(.*?)>> \{([^}]*)\};", re.MULTILINE
)
_BACK_NAME = re.compile(r'"fmha_(?P<name>bwd_\w+)"')
_BACK_PADDED = re.compile(r"bwd_hd\w+_a32_(?:rt(?:ne|na|z)_)?pssk(?:ddv)?(?:_group)?(?:_recompile)?$")
_OWN_ARGUMENTS = 704
_KEYS = 256
"""Of a step over pages: 64 work-items of a wave, four waves."""
_NAME = re.compile(r'"fmha_(?P<name>\w+)"')
_TILE = re.compile(r"ts_qo = (?P<rows>\d+);.* ts_kv = (?P<keys>\d+);")


def kernels(wheel: zipfile.ZipFile) -> Iterator[dict[str, Any]]:
    """Forward kernels, then those over pages, then backward."""
    yield from forward_kernels(wheel)
    yield from paged_kernels(wheel)
    yield from backward_kernels(wheel)


def paged_kernels(wheel: zipfile.ZipFile) -> Iterator[dict[str, Any]]:
    """Every kernel of a table of either arch for one row and a cache of Q's type, with its code objects, by name."""
    found: dict[str, dict[str, Any]] = {}
    for arch in _FORWARD:
        place = f"{_ROOT}/{arch}/pa"
        for row in csv.DictReader(io.StringIO(wheel.read(f"{place}/pa_asm.csv").decode("ascii"))):
            if row["qType"] != row["kvType"] or row["Mtp"] != "0":
                continue
            symbol, name = row["knl_name"], row["knl_file"].removesuffix(".co")
            usual = {"symbol": symbol, "kind": asm_kernels.PAGED, "name": name, "tile": [1, _KEYS], "objects": []}
            entry = found.setdefault(name, usual)
            entry["objects"].append(code_object(wheel, arch, f"{place}/{row['knl_file']}", symbol))
    yield from (found[name] for name in sorted(found))


def forward_kernels(wheel: zipfile.ZipFile) -> Iterator[dict[str, Any]]:
    """Every forward kernel that the host code of an arch launches and whose name is known, by arch and name."""
    for arch, folder in _FORWARD.items():
        text = wheel.read(f"{_ROOT}/{arch}/fmha_v3_fwd/codegen.py").decode()
        said: dict[str, dict[str, str]] = {"Name": {}, "Ts": {}}
        for what, selector, body in _SAID.findall(text):
            said[what][selector] = body
        tiles = {
            _found(_NAME, body)["name"]: [int(size) for size in _found(_TILE, said["Ts"][selector]).groups()]
            for selector, body in said["Name"].items()
        }
        for name, tile in sorted(tiles.items()):
            if asm_kernels.FORWARD_NAME.match(name) is None:
                continue
            function = f"fmha_{name}"
            symbol = f"_ZN5aiter{len(function)}{function}E"
            found = code_object(wheel, arch, f"{_ROOT}/{arch}/{folder}/{name}.co", symbol)
            yield {"symbol": symbol, "kind": asm_kernels.FORWARD, "name": name, "tile": tile, "objects": [found]}


def backward_kernels(wheel: zipfile.ZipFile) -> Iterator[dict[str, Any]]:
    """The same of backward, by arch and name; those with gfx950's own arguments have a word at their name's end.

    The host code names some that the wheel has no code object of.
    """
    held = frozenset(wheel.namelist())
    for arch in _FORWARD:
        place = f"{_ROOT}/{arch}/fmha_v3_bwd"
        said: dict[str, dict[str, str]] = {"Name": {}, "Ts": {}}
        for what, selector, body in _BACK_SAID.findall(wheel.read(f"{place}/codegen.py").decode()):
            said[what][re.sub(r"\s", "", selector)] = body
        for selector, body in sorted(said["Name"].items(), key=lambda one: _found(_BACK_NAME, one[1])["name"]):
            name = _found(_BACK_NAME, body)["name"]
            path = f"{place}/{name.removesuffix('_recompile')}.co"
            if _BACK_PADDED.match(name) is None or path not in held:
                continue
            symbol = f"_ZN5aiter{len(name) + len('fmha_')}fmha_{name}E"
            found = code_object(wheel, arch, path, symbol)
            own = asm_kernels.OWN if found["kernarg"] == _OWN_ARGUMENTS else ""
            if asm_kernels.BACKWARD_NAME.match(f"{name}{own}") is None:
                continue
            tile = [int(size) for size in _found(_TILE, said["Ts"][selector]).groups()]
            entry = {"symbol": symbol, "kind": asm_kernels.BACKWARD, "name": f"{name}{own}", "tile": tile}
            yield {**entry, "objects": [found]}


def _found(form: re.Pattern[str], text: str) -> re.Match[str]:
    match = form.search(text)
    if match is None:
        raise ValueError(f"no {form.pattern} in {text}")
    return match


def main(file: Path | None = None, place: Path = _RECORDED) -> None:
    about = (
        "AMD's attention kernels in assembly: written by tools/record_asm_fmha_kernels.py. Bytes; block in work-items."
    )
    record(kernels, about, file, place)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
